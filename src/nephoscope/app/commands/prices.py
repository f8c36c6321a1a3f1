"""`nephoscope prices`: look at the price book, check one, read and download price lists."""

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nephoscope.app.commands.options import OTHERS, AsJson, Group, add_command
from nephoscope.app.console import print_answer, print_json, say, say_document, tell
from nephoscope.app.files import write_new
from nephoscope.model.errors import InputError
from nephoscope.model.words import counted
from nephoscope.prices.importers.registry import IMPORTERS

if TYPE_CHECKING:
    from nephoscope.prices.findings import Changes
    from nephoscope.prices.rows import Price

_SHOWN = 20
_HEADERS = ("provider", "region", "item", "basis", "USD", "per", "date")
_KINDS = ", ".join(f"{name} ({importer.what})" for name, importer in IMPORTERS.items())

ProviderName = Annotated[str | None, typer.Option("--provider", metavar="NAME", help="aws, gcp, azure or another name")]
Day = Annotated[
    str | None,
    typer.Option(
        "--date", metavar="YYYY-MM-DD", help="only the prices in force on this day; a month or a year works too"
    ),
]
BasisName = Literal[
    "on-demand",
    "spot",
    "reserved-1y",
    "reserved-3y",
    "savings-plan-1y",
    "savings-plan-3y",
    "sustained-use",
    "not-stated",
]
"""The values of `prices.rows.Basis`, which takes time to load."""


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(
        cls=Group,
        help="Show, check and update the price book: dated prices of machines, storage and transfer.",
        rich_markup_mode=None,
    )
    add_command(
        group,
        show,
        example="prices show --provider aws --item 'm6i.*' --basis on-demand --date 2022-06-30",
    )
    add_command(group, check, example="prices check my-prices.csv --today 2026-11-21")
    add_command(
        group,
        import_,
        name="import",
        example="prices import aws index.json --out aws-prices.csv",
        then="nephoscope prices check aws-prices.csv",
    )
    add_command(
        group,
        update,
        example="prices update --provider azure --region eastus --out azure.csv",
        then="copy it to prices.csv in a results folder; its next report uses these prices",
    )
    app.add_typer(group, name="prices", rich_help_panel=OTHERS)


def show(
    provider: ProviderName = None,
    region: Annotated[
        str | None, typer.Option("--region", metavar="NAME", help="region, as the provider names it")
    ] = None,
    item: Annotated[
        str | None,
        typer.Option("--item", metavar="PATTERN", help="machine type or kind of volume; * and ? are wildcards"),
    ] = None,
    basis: Annotated[BasisName | None, typer.Option("--basis", help="only prices of this kind of contract")] = None,
    on: Day = None,
    book: Annotated[
        Path | None, typer.Option("--book", metavar="FILE", help="your own price book [default: nephoscope's own]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print rows of the price book; with --date the one price that a study of that day uses, or why there is none."""
    from nephoscope.prices.book import PriceBook, shipped
    from nephoscope.prices.rows import Basis, read_csv

    chosen = PriceBook(read_csv(book)) if book else shipped()
    provider = _known_provider(provider, chosen.providers)
    wanted = Basis(basis) if basis else None
    rows, reasons = chosen.select(provider=provider, region=region, item=item, basis=wanted), []
    if (day := _day(on)) is not None:
        picks = chosen.picks(rows, day)
        rows = [price for pick in picks for price in pick.prices]
        reasons = [pick.reason_missing for pick in picks if pick.reason_missing]
    if as_json:
        print_json(rows)
        return
    for group in _groups(rows):
        terms = ("terms",) if any(row.terms for row in group) else ()
        print_answer(
            (*_HEADERS, *terms, "source"),
            (_cells(row, terms=bool(terms)) for row in group),
            ("source", *terms, "date"),  # left out first where a terminal is too narrow
        )
    for reason in dict.fromkeys(reasons[:_SHOWN]):
        say(f"no price: {reason}")
    if len(reasons) > _SHOWN:
        say(f"no price: {len(reasons) - _SHOWN:,} more; name an --item")
    say(f"{len(rows):,} of {counted(len(chosen.rows), 'row')}")


def _known_provider(name: str | None, known: Collection[str]) -> str | None:
    """The provider as the book writes it.

    Raises:
        InputError: it has no such provider.
    """
    from nephoscope.study.suggest import meant_by

    found = next((one for one in known if name is not None and one.casefold() == name.casefold()), None)
    if name is not None and found is None:
        meant = meant_by("provider", name, known)
        raise InputError(
            f"the price book has no provider {name!r}{f'; {meant}' if meant else ''}",
            hint=f"its providers: {', '.join(sorted(known))}",
        )
    return found


def check(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="your own price book [default: nephoscope's own]")
    ] = None,
    today: Annotated[str | None, typer.Option("--today", metavar="YYYY-MM-DD", help="[default: today, UTC]")] = None,
    as_json: AsJson = False,
) -> None:
    """Look for prices of 0, duplicates, old prices, sources that disagree, and mixed bases.

    Exit code 2 if one column mixes bases. Your own book is also compared with nephoscope's.
    """
    from nephoscope.prices import findings as rules
    from nephoscope.prices.book import PriceBook, shipped
    from nephoscope.prices.rows import read_csv

    book = PriceBook(read_csv(file)) if file else shipped()
    day = _day(today) or datetime.now(UTC).date()
    findings = rules.check(book, day, against=shipped() if file else None)
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            say(f"{'rejected' if finding.rejected else 'warning'}: {finding.message}")
        say(f"{counted(len(book.rows), 'row')}, {counted(len(findings), 'finding')}")
    if any(finding.rejected for finding in findings):
        raise InputError(
            f"{file or 'the price book'} cannot be used as it is: a column mixes bases",
            hint="correct the basis of the rows listed above",
        )


def import_(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=_KINDS)],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the price list, already downloaded")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="CSV", help="write this new file [default: print]")
    ] = None,
    on: Annotated[str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="day of the download")] = None,
    source: Annotated[str | None, typer.Option("--source", help="source to note in every row [default: FILE]")] = None,
    licence: Annotated[str | None, typer.Option("--licence", help="licence of the list")] = None,
) -> None:
    """Convert a downloaded price list to a price book (CSV), and say what was left out and why. Uses no network."""
    from nephoscope.prices.importers.base import Origin
    from nephoscope.prices.rows import to_csv

    importer = IMPORTERS.get(kind)
    if importer is None:
        raise InputError(f"unknown kind of price list: {kind!r}", hint=f"known kinds: {', '.join(IMPORTERS)}")
    _day(on)
    given = {"date": on, "source": source, "licence": licence}
    useless = [f"--{name}" for name, value in given.items() if value is not None and name not in importer.takes]
    if useless:
        raise InputError(
            f"a list of kind {kind!r} already contains this: {', '.join(useless)}", hint="remove the option"
        )
    origin = Origin(source=source or file.name, licence=licence or importer.licence, date=on)
    imported = importer.read(file, origin)
    text = to_csv(imported.rows)
    if out is None:
        say_document(text.removesuffix("\n"))
    else:
        write_new(out, text)
    _tell_rows(imported.skipped.items(), len(imported.rows), out)


def update(
    provider: Annotated[
        str, typer.Option("--provider", metavar="NAME", help="aws, azure or gcp (gcp needs GCP_API_KEY)")
    ],
    region: Annotated[
        str, typer.Option("--region", metavar="NAME", help="region, as the provider names it; gcp always lists all")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="CSV", help="write this new file")],
    base: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="address of a mirror of the provider's list")
    ] = None,
) -> None:
    """Download a provider's price list, write it as a price book (CSV), and say what changed.

    The list is compared with the built-in price book.
    """
    from nephoscope.app.prices_download import LISTS, download
    from nephoscope.prices.book import shipped
    from nephoscope.prices.findings import changes
    from nephoscope.prices.importers.base import Origin
    from nephoscope.prices.rows import to_csv

    if out.exists():
        raise InputError(f"{out} already exists", hint="name another file; nothing was changed")
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
            f"found no usable price for {region} in the list of {provider}", hint="check the name of the region"
        )
    write_new(out, to_csv(imported.rows))
    _tell_rows(imported.skipped.items(), len(imported.rows), out)
    _tell_changes(changes(imported.rows, shipped(), datetime.now(UTC).date()))


def _tell_changes(found: "Changes") -> None:
    tell(
        f"compared with the built-in price book: {len(found.changed):,} changed, {found.unchanged:,} unchanged, "
        f"{found.new:,} new"
    )
    for change in found.changed[:_SHOWN]:
        tell(f"    {change}")
    if len(found.changed) > _SHOWN:
        tell(f"    {counted(len(found.changed) - _SHOWN, 'smaller change')}")


def _tell_rows(skipped: Iterable[tuple[str, int]], rows: int, out: Path | None) -> None:
    tell(counted(rows, "row") + (f" in {out}" if out else ""))
    for reason, count in sorted(skipped):
        tell(f"    {count:,} left out: {reason}")


def _day(text: str | None) -> date | None:
    """The day that an option names."""
    if text is None:
        return None
    from nephoscope.prices.rows import first_day

    try:
        return first_day(text)
    except ValueError as error:
        raise InputError(str(error), hint="write it as 2022-06-30") from None


def _groups(rows: "Sequence[Price]") -> "list[list[Price]]":
    """What a terminal shows as one table: machines or volumes of one provider; all rows as one where it is piped."""
    found: dict[tuple[str, ...], list[Price]] = {}
    for row in rows:
        found.setdefault((row.provider, row.kind) if sys.stdout.isatty() else (), []).append(row)
    return list(found.values())


def _cells(row: "Price", *, terms: bool) -> tuple[str, ...]:
    usd = _tiered(row) + (" (disputed)" if row.disputed else "")
    of_terms = (row.terms or "",) if terms else ()
    return row.provider, row.region, row.item, row.basis, usd, row.unit, row.date, *of_terms, row.source


def _tiered(row: "Price") -> str:
    """'0.085 (10240 to 51200)'."""
    if row.up_to is not None:
        return f"{row.usd:g} ({row.above:g} to {row.up_to:g})"
    return f"{row.usd:g} (above {row.above:g})" if row.above else f"{row.usd:g}"
