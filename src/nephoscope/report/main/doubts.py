"""What a reader should doubt: at most ten points, worst first: the warnings of the analysis, then those of the plan."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.model.records import PlanWarning
from nephoscope.model.rows import Insight
from nephoscope.model.words import capitalised, counted
from nephoscope.report.parts import Book

MAX_DOUBTS = 10
_OF_THE_PLAN_ALONE = frozenset({"prices", "placement"})
"""Warnings of prices from elsewhere and of placement: a line below the cards reports the last."""
_ABOVE_THE_CARDS = frozenset({"usable"})
"""Rules whose subject `repair` shows."""
MAX_WORDS = 45
"""A longer warning of the plan is not repeated here."""


@dataclass(frozen=True)
class Doubt:
    """One point, and where its evidence stands."""

    text: str
    href: str
    label: str


def doubts(book: Book) -> list[Doubt]:
    """The warnings of all rules in their order, then what the plan warned of."""
    study = book.lookup.study
    found = [_doubt(book, row) for row in study.insights if row.kind == "warning" and row.rule not in _ABOVE_THE_CARDS]
    return [*found, *_of_the_plan(book, study.plan.warnings)][:MAX_DOUBTS]


def plan_notes(every: Sequence[PlanWarning]) -> list[PlanWarning]:
    """What the plan warned of that concerns results or prices; readers of results need not know how long it took."""
    return [warning for warning in every if warning.kind != "hours"]


def _doubt(book: Book, row: Insight) -> Doubt:
    evidence = book.evidence.cite(row.trials, f"insight “{row.rule}”")
    if evidence is None:
        return Doubt(str(row.text), book.href("warnings"), "details")
    return Doubt(str(row.text), book.href(evidence.anchor), counted(len(evidence.trials), "trial"))


def _of_the_plan(book: Book, every: Sequence[PlanWarning]) -> list[Doubt]:
    """What the plan warned of that concerns results; those of prices and placement are on the page of evidence only."""
    warnings = [str(warning) for warning in plan_notes(every) if warning.kind not in _OF_THE_PLAN_ALONE]
    if not warnings:
        return []
    if len(warnings[0].split()) > MAX_WORDS:
        text = f"The plan had {counted(len(warnings), 'warning')}."
    else:
        more = f" The plan had {counted(len(warnings) - 1, 'more warning')}." if len(warnings) > 1 else ""
        text = capitalised(warnings[0]).removesuffix(".") + f".{more}"
    return [Doubt(text, book.href("warnings"), "details")]
