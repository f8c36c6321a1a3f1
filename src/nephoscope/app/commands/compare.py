"""`nephoscope compare`: what changed from one study to another, and whether that is acceptable."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nephoscope.app.commands.options import RESULTS, AsJson, JunitFile, PrometheusFile, add_command
from nephoscope.app.console import print_json, print_table, say, say_document, tell
from nephoscope.model.errors import ComparisonFailed, InputError

if TYPE_CHECKING:
    from nephoscope.analysis.edition_gate import Judged
    from nephoscope.model.editions import EditionCard, EditionRow, Editions


class FailIf(StrEnum):
    """What ends `compare` with code 8."""

    WORSE = "worse"
    UNDECIDED = "undecided"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(
        app,
        compare,
        under=RESULTS,
        example="compare results/main results/branch --fail-if worse --by 3% --markdown summary.md",
        then="nephoscope report results/branch --against results/main writes it as a page",
    )


def compare(
    before: Annotated[
        Path, typer.Argument(metavar="OLD", help="the earlier results folder, or a report's folder or bundle.zip")
    ],
    after: Annotated[Path, typer.Argument(metavar="NEW", help="the later one")],
    basis: Annotated[
        str | None, typer.Option("--basis", help="basis of the prices to compare [default: the first of NEW]")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="also write an HTML page")] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="also write a Markdown summary; - prints only it")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="compare this metric, too, beside the headline ones; repeatable"),
    ] = None,
    fail_if: Annotated[
        list[FailIf] | None,
        typer.Option(
            "--fail-if", help="exit with code 8 if NEW is certainly worse, or if that is not decided; repeatable"
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="PERCENT", help="worse by at least this much; default: as the verdicts say"),
    ] = None,
    junit: JunitFile = None,
    prometheus: PrometheusFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare two studies: what changed in performance, in price, and in what a unit of performance costs."""
    from nephoscope.analysis.edition_gate import judge
    from nephoscope.app.stages import evaluation
    from nephoscope.store.atomic import write_text
    from nephoscope.store.folder import ResultsFolder

    if by is not None and not fail_if:
        raise InputError("--by needs --fail-if", hint="add --fail-if worse")
    by_percent = None if by is None else _percent(by)
    new = ResultsFolder.existing(after)
    found, names = evaluation.compare(before, new, basis, metric or ()), evaluation.names_of(before, after)
    wanted = {str(kind) for kind in fail_if or ()}
    judged = judge(found, by_percent)
    if html is not None:
        evaluation.write_comparison(html, found, names)
    if markdown is not None:
        from nephoscope.report.edition_markdown import render_markdown

        summary = render_markdown(found, judged if wanted else None, names)
        if str(markdown) == "-":
            say_document(summary.rstrip("\n"))
        else:
            write_text(markdown, summary)
    if junit or prometheus:
        from nephoscope.app import outcomes

        fails = {"worse_fails": FailIf.WORSE in wanted, "undecided_fails": FailIf.UNDECIDED in wanted}
        outcomes.write("compare", outcomes.of_comparison(judged, **fails), junit, prometheus)
    if as_json:
        print_json(found)
    elif str(markdown) != "-":
        _tell_all(found)
    if wanted:
        _fail(judged, wanted, found)


def _percent(text: str) -> float:
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 100:
        raise InputError(f"--by {text!r} is not a percentage from 0 to 100", hint="write --by 3%")
    return value


def _tell_all(found: "Editions") -> None:
    from nephoscope.analysis.edition_gate import reasons
    from nephoscope.model.words import SIMULATED
    from nephoscope.report import edition_words as words

    if found.simulated:
        say(f"{SIMULATED}: both studies are rehearsals")
    if found.rows:
        priced = any(row.price_ratio is not None for row in found.rows)
        money = ("price", "$ per unit") if priced else ()
        heads = ("configuration", "metric", "change", "it is", *money, "n OLD", "n NEW")
        print_table(heads, (_cells(row, priced=priced) for row in found.rows))
    for card in found.cards:
        if len(card.configurations) > 1:
            over = f"{len(card.configurations)} configurations"
            say(f"{card.benchmark}: {card.title} over {over}: {words.result(card)}")
    for line in sorted({text for card in found.cards for text in card.differs}):
        tell(f"differs: {line}")
    for line in found.also_different:
        tell(f"also different: {line}")
    for line in reasons(found.left_out):
        tell(f"left out: {line}")
    say(f"compared like for like: {len(found.rows):,}; left out: {len(found.left_out):,}")


def _cells(row: "EditionRow", *, priced: bool) -> tuple[str, ...]:
    from nephoscope.model.words import verdict_name
    from nephoscope.report import edition_words as words

    interval = words.interval(row.low, row.high)
    money = (
        "" if row.price_ratio is None else words.change(row.price_ratio),
        "" if row.cost_ratio is None else f"{words.change(row.cost_ratio)} {verdict_name(row.cost_verdict or '')}",
    )
    return (
        words.who(row),
        f"{row.benchmark}: {row.title}",
        words.change(row.ratio) + (f" ({interval})" if interval else ""),
        words.word(row),
        *(money if priced else ()),
        str(row.n_before),
        str(row.n_after),
    )


def _fail(judged: "Judged", wanted: set[str], found: "Editions") -> None:
    """Raises where the change is not accepted; says what is not decided where it is."""
    from nephoscope.analysis.edition_gate import named
    from nephoscope.report import edition_words as words

    if not found.cards:
        raise InputError(
            "nothing in the two studies can be compared, so --fail-if has nothing to check",
            hint="see what was left out: the same benchmarks, versions and parameters are needed on both sides",
        )
    if judged.worse and "worse" in wanted:
        raise ComparisonFailed(words.worse(judged), hint="nephoscope report NEW --against OLD shows each configuration")
    names = [f"{named(row)}: {words.word(row)}{_within(row)}" for row in judged.undecided]
    names += [f"{row.configuration}, {row.benchmark}: {row.metric}: no counterpart" for row in judged.missing]
    if not names:
        say(words.nothing_worse(judged))
        return
    listed = "; ".join(names[:3]) + (f"; and {len(names) - 3} more" if len(names) > 3 else "")
    said = f"not known whether worse{judged.by()}: {listed}"
    if "undecided" in wanted:
        raise ComparisonFailed(said, hint="measure more replicates in both studies, or allow a larger --by")
    tell(said, style="yellow")


def _within(row: "EditionCard") -> str:
    from nephoscope.report import edition_words as words

    interval = words.interval(row.low, row.high)
    return f" ({interval})" if interval else ""
