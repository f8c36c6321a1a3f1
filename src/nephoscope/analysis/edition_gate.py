"""Whether a change is acceptable: surely worse by a margin, surely not, or undecided."""

from collections.abc import Iterable
from dataclasses import dataclass

from nephoscope.model.editions import EditionCard, EditionRow, Editions, LeftOut
from nephoscope.model.records import Direction
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.model.words import listed, named_or_counted

_MAX_IN_ONE = 3
"""More configurations of one card than this are counted."""


@dataclass(frozen=True)
class Judged:
    """Headline metrics by what is certain about them."""

    by_percent: float | None
    """None: by the verdicts themselves."""
    worse: list[EditionCard]
    """Surely worse by at least the margin."""
    undecided: list[EditionCard]
    """Neither surely worse by the margin nor surely not."""
    missing: list[LeftOut]
    """Results of the earlier study that the later one has no counterpart for: nothing is known about them."""
    accepted: list[EditionCard]
    """Surely not worse by the margin."""

    def by(self, words: str = "by") -> str:
        """' by 3 %', for a sentence; empty where the verdicts decide."""
        return "" if self.by_percent is None else f" {words} {self.by_percent:g} %"


def judge(found: Editions, by_percent: float | None) -> Judged:
    """Every card, and every configuration of a card that has several, by its interval.

    The intervals of the cards hold together with a chance of 95 %, and so do those of the rows. Each end is wrong in
    half of the other cases, so a study in which nothing is worse by the margin is called worse in at most 5 % of cases.

    Args:
        found: the comparison.
        by_percent: the margin, from 0 up: 3 is a ratio of 0.97 where higher is better, and of 1.03 where lower is.
            None: the verdict of each result decides, for which the equivalence margin of the later study is known.
    """
    alone = {(row.benchmark, row.metric, *row.configurations) for row in found.cards if len(row.configurations) == 1}
    rows = [row for row in found.rows if (row.benchmark, row.metric, row.configuration) not in alone]
    judged = [*found.cards, *rows]
    worse = [row for row in judged if _surely_worse(row, by_percent) and not row.reason]
    accepted = [row for row in judged if row not in worse and _surely_not_worse(row, by_percent)]
    return Judged(
        by_percent=by_percent,
        worse=worse,
        undecided=[row for row in judged if row not in worse and row not in accepted],
        missing=[row for row in found.left_out if row.in_before],
        accepted=accepted,
    )


def _surely_worse(row: EditionCard, by_percent: float | None) -> bool:
    if by_percent is None:
        return row.verdict is ComparisonVerdict.WORSE
    if row.low is None or row.high is None:
        return False
    if row.direction is Direction.HIGHER:
        return row.high < 1 - by_percent / 100
    return row.low > 1 + by_percent / 100


def _surely_not_worse(row: EditionCard, by_percent: float | None) -> bool:
    if by_percent is None:
        return row.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.TIE}
    if row.low is None or row.high is None or row.reason:
        return False
    if row.direction is Direction.HIGHER:
        return row.low > 1 - by_percent / 100
    return row.high < 1 + by_percent / 100


def named(row: EditionCard) -> str:
    """'pg18, tpcb: transactions': one result as a message names it."""
    who = row.configuration if isinstance(row, EditionRow) else named_group(row.configurations)
    return f"{who}, {row.benchmark}: {row.title}"


def named_group(names: list[str]) -> str:
    """'a', 'a, b and c', '12 configurations'."""
    return named_or_counted(names, _MAX_IN_ONE)


def reasons(left_out: Iterable[LeftOut]) -> list[str]:
    """What was left out, by reason: 'tpcc version 1 in the earlier study, ...: 4 results of a, b and 2 more'."""
    grouped: dict[str, list[LeftOut]] = {}
    for row in left_out:
        grouped.setdefault(str(row.reason), []).append(row)
    return [f"{_results(rows)}: {reason}" for reason, rows in sorted(grouped.items())]


MAX_NAMED = 6
"""More names than this are counted."""


def _results(rows: list[LeftOut]) -> str:
    configurations = list(dict.fromkeys(row.configuration for row in rows))
    benchmarks = list(dict.fromkeys(f"{row.benchmark} {row.metric}" for row in rows))
    return f"{listed(configurations, MAX_NAMED)} ({listed(benchmarks, MAX_NAMED)})"
