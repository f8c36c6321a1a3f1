"""`nephoscope analyze`, `report`, `query`, `claims` and `parse`: what a results folder says."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nephoscope.app.commands.options import RESULTS, AsJson, Folder, JunitFile, PrometheusFile, add_command
from nephoscope.app.console import print_answer, print_json, print_table, say, say_document, tell
from nephoscope.model.errors import EXIT_DEFECT, EXIT_TRIALS_FAILED, ClaimsFailed, ResultsAltered
from nephoscope.model.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nephoscope.model.analysed import AnalysedStudy
    from nephoscope.model.missing import MissingPart
    from nephoscope.model.rows import ClaimRow

Strict = Annotated[
    bool, typer.Option("--strict", help="exit code 1 if a part is missing because of a defect in nephoscope")
]
MAX_FAILING = 3
"""More results than this that contradict one claim are counted."""


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    add_command(
        app, report, under=RESULTS, example="report results/laptop", then="open results/laptop/report/index.html"
    )
    add_command(
        app, analyze, under=RESULTS, example="analyze results/laptop --json", then="nephoscope report results/laptop"
    )
    add_command(
        app, query, under=RESULTS, example='query results/laptop "select configuration, median from statistics"'
    )
    add_command(app, claims, under=RESULTS, example="claims results/clouds --file claims.toml")
    add_command(app, parse, under=RESULTS, example="parse results/laptop", then="nephoscope report results/laptop")
    add_command(app, verify, under=RESULTS, example="verify results/laptop")


def parse(folder: Folder) -> None:
    """Read the raw output of every trial again and rebuild measurements and verdicts. Needs no machine."""
    from nephoscope.app.stages import evaluation
    from nephoscope.run.clock import SystemClock
    from nephoscope.store.folder import ResultsFolder

    outcome = evaluation.parse(ResultsFolder.existing(folder), SystemClock())
    tell(f"{counted(outcome.parsed, 'trial')} parsed; {len(outcome.unreadable):,} could not be read")
    for line in outcome.unreadable:
        tell(f"    {line}")
    for file, trials in outcome.differ.items():
        tell(f"{file} of {listed(trials, 3)} differs from what was stored: the new one is used, the stored one is kept")
    if outcome.unreadable:
        raise typer.Exit(EXIT_TRIALS_FAILED)


def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="results folder, or a published report: its folder or bundle.zip")
    ],
    as_json: AsJson = False,
) -> None:
    """Check that no stored file was changed since its trial ended. Exit code 8 if one was.

    It reads every file and compares it with the digest that the trial stored. Trials with such a file are left out of
    every analysis as `altered`.

    Of a published report (its bundle.zip, or the folder of its pages) it computes the statistics, comparisons and
    leaderboards again from the measurements that are published with them, and names each table that states otherwise.
    """
    from nephoscope.app.stages import verifying
    from nephoscope.store.folder import ResultsFolder

    if bundle := verifying.bundle_of(folder):
        _verify_bundle(bundle, as_json=as_json)
        return
    found = verifying.verify(ResultsFolder.existing(folder))
    if as_json:
        print_json(found)
    else:
        for line in found.differences:
            say(line)
        say(f"{counted(found.attempts, 'attempt')} with {counted(found.files, 'file')} checked")
        if found.without_digests:
            say(f"{counted(found.without_digests, 'attempt')} cannot be checked: no digests are stored")
        if found.not_ended:
            say(f"{counted(found.not_ended, 'attempt')} not checked: running now, or interrupted and not used")
    if found.differences:
        raise ResultsAltered(
            f"{counted(len(found.differences), 'stored file')} in {folder} cannot be read, or changed after a trial",
            hint="restore them from a copy; if only derived files differ, such as measurements.jsonl, `nephoscope "
            "parse` derives them again; or delete the folder of the attempt, and `nephoscope run` measures it again",
        )


def _verify_bundle(bundle: Path, *, as_json: bool) -> None:
    from nephoscope.app.stages import verifying

    found = verifying.verify_bundle(bundle)
    if as_json:
        print_json(found)
    else:
        for line in found.differences:
            say(line)
        say(f"the answers of {found.study} were computed again from {counted(found.measurements, 'measurement')}")
    if found.differences:
        raise ResultsAltered(
            f"{counted(len(found.differences), 'table')} of {bundle} states otherwise than its measurements give",
            hint="ask its author for a report by a current nephoscope; if that differs, too, believe none of it",
        )


def analyze(
    folder: Folder,
    disturbance: Annotated[
        Literal["reject", "record"] | None,
        typer.Option(
            "--disturbance",
            help="judge stored steal again: reject trials that lost over 2 % of CPU time, or count them "
            "[default: as when they ran]",
        ),
    ] = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Compute statistics, comparisons and conclusions from the measurements."""
    from nephoscope.app.stages import evaluation
    from nephoscope.store.folder import ResultsFolder

    results = ResultsFolder.existing(folder)
    study = evaluation.analyze(results, disturbance)
    _print_analysis(study, as_json=as_json)
    _tell_missing(study.missing, results.analysis_path, strict=strict)


def _print_analysis(study: "AnalysedStudy", *, as_json: bool) -> None:
    if as_json:
        from nephoscope.model.questions import BestRow, ContrastRow
        from nephoscope.model.rows import Comparison, Statistic

        print_json(
            {
                "statistics": study[Statistic],
                "best": study[BestRow],
                "contrasts": study[ContrastRow],
                "comparisons": study[Comparison],
                "insights": study.insights,
            }
        )
        return
    for insight in study.insights:
        if insight.kind != "note":
            say(f"- {insight.text}")


def _tell_missing(missing: "Sequence[MissingPart]", details: Path, *, strict: bool) -> None:
    """Args: `details` is the file with the tracebacks."""
    for part in missing:
        tell(f"missing: {part.text}", style="red")
    if missing:
        tell(f"this is a defect in nephoscope: please report it with {details}", style="red")
        if strict:
            raise typer.Exit(EXIT_DEFECT)


def report(
    folder: Folder,
    pdf: Annotated[bool, typer.Option("--pdf", help="also print both pages as PDF; needs Chromium or Chrome")] = False,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="FOLDER", help="also write every figure there, as SVG, PNG and CSV"),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="OLD", help="an earlier results folder or report: also write what changed since"
        ),
    ] = None,
    strict: Strict = False,
) -> None:
    """Write the report (HTML, CSV, Parquet, a data bundle) and print its path. Needs no machine."""
    from nephoscope.app.stages import evaluation
    from nephoscope.store.folder import ResultsFolder

    results = ResultsFolder.existing(folder)
    if pdf:
        tell("a browser prints both pages, which takes some seconds")
    written = evaluation.report(results, pdf=pdf, figures=figures, against=against)
    say(str(written.path))
    if figures is not None:
        say(str(figures))
    if written.set_aside:
        tell(
            f"{results.report_dir} held what this report did not write, so it was moved: "
            + listed([str(path) for path in written.set_aside], MAX_FAILING),
            style="yellow",
        )
    if against is not None:
        from nephoscope.report.files import CHANGES

        say(str(results.report_dir / CHANGES))
    _tell_missing(written.missing, written.missing_path, strict=strict)


def claims(
    folder: Folder,
    file: Annotated[Path | None, typer.Option("--file", help="a claims file [default: DIR/claims.toml]")] = None,
    junit: JunitFile = None,
    prometheus: PrometheusFile = None,
    as_json: AsJson = False,
) -> None:
    """Check claims against results: supported, refuted or not decided. Exit code 7 if one does not hold."""
    from rich.text import Text

    from nephoscope.app.stages import evaluation
    from nephoscope.store.folder import ResultsFolder

    rows = evaluation.claims(ResultsFolder.existing(folder), file)
    if junit or prometheus:
        from nephoscope.app import outcomes

        outcomes.write("claims", outcomes.of_claims(rows), junit, prometheus)
    if as_json:
        print_json(rows)
    else:
        print_table(
            ("verdict", "claim", "evidence"),
            (
                (
                    row.verdict if row.holds else Text(f"{row.verdict}: does not hold", style="bold red"),
                    row.claim,
                    _grounds(row),
                )
                for row in rows
            ),
        )
    failed: dict[str, list[str]] = {}
    for row in rows:
        if not row.holds:
            failed.setdefault(row.claim, []).append(_failing(row))
    if failed:
        claims = counted(len({row.claim for row in rows}), "claim")
        named = "; ".join(f"{claim} ({listed(why, MAX_FAILING)})" for claim, why in sorted(failed.items()))
        raise ClaimsFailed(
            f"{len(failed)} of {claims} {'does' if len(failed) == 1 else 'do'} not hold: {named}",
            hint='see the rows behind them: nephoscope query DIR "select * from claims"',
        )


def _failing(row: "ClaimRow") -> str:
    """The ratio tells which way: a tie fails with either side ahead."""
    from nephoscope.model.numbers import interval, ratio

    by = _measured_by(row)
    return f"{by} {row.verdict if row.ratio is None else ratio(interval(row.ratio, row.low, row.high))}"


def _measured_by(row: "ClaimRow") -> str:
    return f"{row.benchmark} {row.metric}" + (f", {row.view}" if row.view != "plain" else "")


def _grounds(row: "ClaimRow") -> str:
    from nephoscope.model.numbers import ends, interval, ratio, ratio_form

    by = _measured_by(row)
    if row.ratio is None:
        return f"{by}: {row.reason}"
    of = interval(row.ratio, row.low, row.high)
    between = f" ({ends(of, ratio_form(of))})" if not isinstance(of, float) else ""
    blocks = f" in {row.blocks} blocks" if row.blocks > 1 else ""
    n = f"n = {row.n_left} against {row.n_right} {row.unit_of_n}{blocks}"
    return f"{by}: {ratio(of)}{between}, {n}" + (f"; {row.reason}" if row.reason else "")


def query(
    folder: Folder,
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="a SELECT statement; each Parquet file is a table with its name")
    ],
    form: Annotated[Literal["table", "csv", "json"], typer.Option("--format", help="output format")] = "table",
) -> None:
    """Query the tables of a results folder with SQL (DuckDB). Changes nothing."""
    from nephoscope.app.stages import evaluation
    from nephoscope.store.folder import ResultsFolder

    columns, rows = evaluation.query(ResultsFolder.existing(folder), sql)
    if form == "json":
        print_json([dict(zip(columns, map(_plain, row), strict=True)) for row in rows])
    elif form == "csv":
        say_document(evaluation.csv_of(columns, rows).removesuffix("\n"))
    else:
        print_answer(columns, (["" if cell is None else str(cell) for cell in row] for row in rows))


def _plain(cell: Any) -> Any:
    """What JSON has a form of; times and decimals as SQL writes them."""
    return cell if cell is None or isinstance(cell, int | float | str | list | dict) else str(cell)
