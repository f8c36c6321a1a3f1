"""`nephoscope claims`, `compare` and `query`: what a results folder answers. Arguments and wiring, no decisions."""

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Column, Table

from nephoscope.app import stages
from nephoscope.app.console import output, talk
from nephoscope.model.errors import ClaimsFailed
from nephoscope.model.rows import ClaimRow
from nephoscope.store.folder import ResultsFolder

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="a results folder")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for machines instead of a table for people")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command(epilog="Example: nephoscope claims results/clouds --file claims.toml")(claims)
    app.command(epilog="Example: nephoscope compare results/2025 results/2026 --html changes.html")(compare)
    app.command(epilog='Example: nephoscope query results/laptop "select configuration, median from statistics"')(query)


def claims(
    folder: Folder,
    file: Annotated[Path | None, typer.Option("--file", help="a claims file [default: DIR/claims.toml]")] = None,
    as_json: AsJson = False,
) -> None:
    """Hold claims against the numbers: supported, refuted or not decided. Exit code 7 when one does not hold."""
    rows = stages.claims(ResultsFolder.existing(folder), file)
    if as_json:
        _print_json([row.model_dump(mode="json") for row in rows])
    else:
        table = Table("verdict", Column("claim", overflow="fold"), Column("by what", overflow="fold"))
        for row in rows:
            verdict = row.verdict if row.holds else f"[bold red]{row.verdict}: does not hold[/bold red]"
            table.add_row(verdict, escape(row.claim), escape(_grounds(row)))
        output().print(table)
    failed = sorted({row.claim for row in rows if not row.holds})
    if failed:
        raise ClaimsFailed(
            f"{len(failed)} of {len({row.claim for row in rows})} claims do not hold: {', '.join(failed)}",
            hint='look at the rows behind them: nephoscope query DIR "select * from claims"',
        )


def _grounds(row: ClaimRow) -> str:
    by = f"{row.benchmark} {row.metric}" + (f", {row.view}" if row.view != "plain" else "")
    if row.ratio is None:
        return f"{by}: {row.reason}"
    interval = f" ({_interval(row.low, row.high)})" if row.low is not None else ""
    blocks = f" in {row.blocks} blocks" if row.blocks > 1 else ""
    n = f"n = {row.n_left} against {row.n_right} {row.unit_of_n}{blocks}"
    return f"{by}: {row.ratio:.4g} ×{interval}, {n}" + (f"; {row.reason}" if row.reason else "")


def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="a results folder")],
    after: Annotated[Path, typer.Argument(metavar="B", help="another one, of the same configurations")],
    basis: Annotated[str, typer.Option("--basis", help="of the prices")] = "on-demand",
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="write a page, too")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two reports like for like: change in performance, in price, and in performance per dollar."""
    found = stages.compare(ResultsFolder.existing(before), ResultsFolder.existing(after), basis)
    if html is not None:
        stages.write_comparison(html, found, (before.name, after.name))
    if as_json:
        rows = [row.model_dump(mode="json") for row in found.rows]
        overall = [row.model_dump(mode="json") for row in found.overall]
        _print_json({"rows": rows, "overall": overall, "left_out": found.left_out})
        return
    table = Table("configuration", "metric", "performance B / A", "price B / A", "per dollar B / A", "n")
    for row in found.rows:
        table.add_row(
            *(escape(row.configuration), escape(f"{row.benchmark} {row.metric}")),
            *(_change(row.ratio, row.low, row.high, row.verdict), _ratio(row.price_ratio)),
            *(_change(row.dollar_ratio, row.dollar_low, row.dollar_high, row.dollar_verdict),),
            f"{row.n_after}, {row.n_before}",
        )
    output().print(table)
    for one in found.overall:
        interval = f" [{one.low:.4g}, {one.high:.4g}]" if one.low is not None and one.high is not None else ""
        what = escape(f"{one.benchmark} {one.metric} over {one.configurations} configurations")
        output().print(f"{what}: {one.ratio:.4g}{escape(interval)} times, in the mean", highlight=False)
    for line in found.left_out:
        talk().print(f"left out: {line}", highlight=False, markup=False)
    output().print(f"{len(found.rows)} comparisons like for like", highlight=False)


def query(
    folder: Folder,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="one select; tables are named as the Parquet files are")],
    form: Annotated[Literal["table", "csv", "json"], typer.Option("--format", help="of the answer")] = "table",
) -> None:
    """Ask the tables of a results folder by SQL (DuckDB). Reads only."""
    columns, rows = stages.query(ResultsFolder.existing(folder), sql)
    if form == "json":
        _print_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif form == "csv":
        sys.stdout.write(stages.csv_of(columns, rows))
    else:
        table = Table(*columns)
        for row in rows:
            table.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
        output().print(table)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.4g} to {high:.4g}"


def _change(ratio: float | None, low: float | None, high: float | None, verdict: str | None) -> str:
    interval = _interval(low, high)
    return "" if ratio is None else f"{ratio:.4g}" + (f" ({interval})" if interval else "") + f" {verdict}"


def _print_json(content: object) -> None:
    sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n")
