"""`nephoscope prices`: look at the price book, check one, read price lists. Arguments and wiring, no decisions."""

import json
import os
import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Column, Table

from nephoscope.app import stages
from nephoscope.app.console import output, talk
from nephoscope.app.prices_download import LISTS, download
from nephoscope.model.errors import InputError
from nephoscope.prices.book import PriceBook, shipped
from nephoscope.prices.findings import check
from nephoscope.prices.importers.base import Origin
from nephoscope.prices.importers.registry import IMPORTERS
from nephoscope.prices.rows import Basis, Price, first_day, read_csv, to_csv

_KINDS = ", ".join(f"{name} ({importer.what})" for name, importer in IMPORTERS.items())

prices = typer.Typer(
    help="The price book: dated prices of machines, storage and transfer, each with its basis and source.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

ProviderName = Annotated[str | None, typer.Option("--provider", help="aws, gcp, azure or another name")]
Day = Annotated[str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="a day; a month or a year will do")]


@prices.command(
    epilog="Example: nephoscope prices show --provider aws --item 'm6i.*' --basis on-demand --date 2022-06-30"
)
def show(
    provider: ProviderName = None,
    region: Annotated[str | None, typer.Option("--region", help="the provider's name of it")] = None,
    item: Annotated[str | None, typer.Option("--item", help="machine type or kind of volume; may hold * and ?")] = None,
    basis: Annotated[Basis | None, typer.Option("--basis", help="under which bargain")] = None,
    on: Day = None,
    book: Annotated[Path | None, typer.Option("--book", metavar="FILE", help="a book of yours, not ours")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON for machines instead of a table")] = False,
) -> None:
    """Print rows of the price book; with --date those alone that a study of that day would use."""
    chosen = PriceBook(read_csv(book)) if book else shipped()
    rows = chosen.select(provider=provider, region=region, item=item, basis=basis, on=_day(on))
    if as_json:
        sys.stdout.write(json.dumps([row.model_dump(mode="json") for row in rows], indent=1, ensure_ascii=False) + "\n")
        return
    table = Table("provider", "region", "item", "basis", "USD", "per", "date", Column("source", overflow="fold"))
    for row in rows:
        table.add_row(
            *(row.provider, row.region, row.item, f"{row.basis}, {row.terms}" if row.terms else row.basis),
            *(_tiered(row), row.unit, row.date, row.source + (" (disputed)" if row.disputed else "")),
        )
    out = output()
    if rows:
        out.print(table)
    out.print(f"{len(rows)} of {_counted(len(chosen.rows), 'row')}", highlight=False)


@prices.command("check", epilog="Example: nephoscope prices check my-prices.csv --today 2026-11-21")
def check_(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="a book of yours [default: ours]")] = None,
    today: Annotated[str | None, typer.Option("--today", metavar="YYYY-MM-DD", help="[default: today, UTC]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON for machines instead of lines")] = False,
) -> None:
    """Look for prices of 0, duplicates, old prices, sources that disagree and mixed bases (refused: exit code 2).

    A book of yours is also held against ours.
    """
    book = PriceBook(read_csv(file)) if file else shipped()
    day = _day(today) or datetime.now(UTC).date()
    findings = check(book, day, against=shipped() if file else None)
    if as_json:
        sys.stdout.write(json.dumps([one.model_dump(mode="json") for one in findings], indent=1) + "\n")
    else:
        out = output()
        for finding in findings:
            mark = "refused" if finding.refused else "warning"
            out.print(f"{mark}: {finding.message}", highlight=False, markup=False)
        out.print(f"{_counted(len(book.rows), 'row')}, {_counted(len(findings), 'finding')}", highlight=False)
    if any(finding.refused for finding in findings):
        raise InputError(
            f"{file or 'the price book'} must not be used as it is: a column mixes bases",
            hint="give each row its own basis",
        )


@prices.command("import", epilog="Example: nephoscope prices import aws index.json --out aws-prices.csv")
def import_(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=_KINDS)],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the price list, downloaded")],
    out: Annotated[Path | None, typer.Option("--out", metavar="CSV", help="a new file [default: print]")] = None,
    provider: ProviderName = None,
    on: Annotated[str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="day of the download")] = None,
    source: Annotated[str | None, typer.Option("--source", help="what rows name as source [default: FILE]")] = None,
    licence: Annotated[str | None, typer.Option("--licence", help="of the list")] = None,
) -> None:
    """Read a price list into our own CSV. Says what it left out, and why. Uses no network."""
    importer = IMPORTERS.get(kind)
    if importer is None:
        raise InputError(f"no price list of kind {kind!r}", hint=f"there are: {', '.join(IMPORTERS)}")
    _day(on)
    given = {"provider": provider, "date": on, "source": source, "licence": licence}
    useless = [f"--{name}" for name, value in given.items() if value is not None and name not in importer.takes]
    if useless:
        raise InputError(f"a list of kind {kind!r} says that itself: {', '.join(useless)}", hint="leave it out")
    origin = Origin(source=source or file.name, licence=licence or importer.licence, provider=provider, date=on)
    imported = importer.read(file, origin)
    text = to_csv(imported.rows)
    if out is None:
        sys.stdout.write(text)
    else:
        stages.write_new(out, text)
    _tell(imported.skipped.items(), len(imported.rows), out)


@prices.command(epilog="Example: nephoscope prices update --provider azure --region eastus --out azure.csv")
def update(
    provider: Annotated[str, typer.Option("--provider", help="aws, azure or gcp (which needs GCP_API_KEY)")],
    region: Annotated[str, typer.Option("--region", help="the provider's name of it; gcp gives all at once")],
    out: Annotated[Path, typer.Option("--out", metavar="CSV", help="a new file")],
    base: Annotated[str | None, typer.Option("--base-url", help="of a mirror of the provider's list")] = None,
) -> None:
    """Download a provider's price list as our CSV; as prices.csv in a results folder the next report uses it."""
    if out.exists():
        raise InputError(f"{out} exists already", hint="name another file; nothing was changed")
    today = datetime.now(UTC).date().isoformat()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "list.json"
        name = download(provider, region, file, base=base, key=os.environ.get("GCP_API_KEY"))
        source = f"{base or LISTS[provider].base}, downloaded {today}"
        importer = IMPORTERS[name]
        day = None if importer.states_its_day else today
        imported = importer.read(file, Origin(source=source, licence=importer.licence, date=day))
    if not imported.rows:
        raise InputError(
            f"the list of {provider} {region} holds no price that is read here", hint="is the region right?"
        )
    stages.write_new(out, to_csv(imported.rows))
    _tell(imported.skipped.items(), len(imported.rows), out)


def _tell(skipped: Iterable[tuple[str, int]], rows: int, out: Path | None) -> None:
    err = talk()
    err.print(_counted(rows, "row") + (f" in {out}" if out else ""), highlight=False, markup=False)
    for reason, count in sorted(skipped):
        err.print(f"    {count} left out: {reason}", highlight=False, markup=False)


def _day(text: str | None) -> date | None:
    """The day that an option names."""
    if text is None:
        return None
    try:
        return first_day(text)
    except ValueError as error:
        raise InputError(str(error), hint="write it as 2022-06-30") from None


def _counted(count: int, noun: str) -> str:
    """'1 row', '2 rows'."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _tiered(row: Price) -> str:
    """'0.085 (10240 to 51200)'."""
    if row.up_to is not None:
        return f"{row.usd:g} ({row.above:g} to {row.up_to:g})"
    return f"{row.usd:g} (above {row.above:g})" if row.above else f"{row.usd:g}"
