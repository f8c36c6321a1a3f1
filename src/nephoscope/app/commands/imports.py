"""`nephoscope import`: results that others measured."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nephoscope.app.commands.options import OTHERS, AsJson, Group, add_command
from nephoscope.app.console import print_json, print_table, say, tell
from nephoscope.importers.registry import IMPORTERS, Importer
from nephoscope.model.words import counted

if TYPE_CHECKING:
    from nephoscope.app.stages.imports import ImportedFolder

Logs = Annotated[Path, typer.Argument(metavar="PATH", help="the folder that holds PROVIDER/TYPE/DATE/RUN/*.log")]
Tables = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="results folder for all numbers and, as import.json, the verdicts"),
]
Into = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="results folder: a new one, or that of an earlier import")
]

Strict = Annotated[
    bool, typer.Option("--strict", help="import nothing if a file cannot be read; default: report it and continue")
]
Same = Annotated[
    bool,
    typer.Option(
        "--same", help="files that do not say their parameters are replicates; default: each is a benchmark of its own"
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(
        cls=Group,
        help="Import results that others measured into a results folder.",
        epilog="Example: nephoscope import fio fio-output --out results/fio",
        rich_markup_mode=None,
    )
    add_command(
        group,
        import_cloud_report_2019,
        name="cloud-report-2019",
        example="import cloud-report-2019 results-logs --out imported",
        then="nephoscope report imported",
    )
    for name, importer in IMPORTERS.items():
        add_command(
            group,
            _command(name, importer),
            name=name,
            example=f"import {name} PATH --out results/{name}",
            then=f"nephoscope report results/{name}",
        )
    app.add_typer(group, name="import", rich_help_panel=OTHERS)


def import_cloud_report_2019(path: Logs, out: Tables = None, as_json: AsJson = False) -> None:
    """Raw logs of the 2019 Cloud Report's pilot runs; checks that each machine was as labelled, and undisturbed."""
    from nephoscope.app.stages import imports
    from nephoscope.importers.cloud_report_2019.logs import words_of

    record = imports.import_cloud_report_2019(path, out)
    if as_json:
        print_json(record)
        return
    print_table(
        ("provider", "type", "runs", "valid", "invalid", "unknown", "reasons"),
        (
            (
                *(row.provider, row.machine_type),
                *map(str, (row.runs, row.valid, row.invalid, row.unknown)),
                words_of(row.reasons),
            )
            for row in record.counts
        ),
    )
    for run in record.runs:
        for reason in [*(f"{one.check}: {one.reason}" for one in run.refused), *run.unreadable, *run.notes]:
            say(f"{run.folder} {reason}")
    verdicts = [str(run.verdict) for run in record.runs]
    counts = ", ".join(f"{verdicts.count(kind):,} {kind}" for kind in ("valid", "invalid", "unknown"))
    say(f"{counted(len(verdicts), 'run')}: {counts}")
    tell(f"source: {record.source}; licence: {record.licence}")


def _command(name: str, importer: Importer) -> Callable[..., None]:
    """`nephoscope import NAME PATH --out DIR`."""
    source = Annotated[Path, typer.Argument(metavar="PATH", help=importer.path)]

    def command(path: source, out: Into, strict: Strict = False, same: Same = False, as_json: AsJson = False) -> None:
        from nephoscope.app.stages import imports
        from nephoscope.store.folder import ResultsFolder

        found = imports.import_results(name, path, ResultsFolder(out), strict=strict, same=same)
        _print_imported(found, out, as_json=as_json)

    command.__doc__ = importer.what
    return command


def _print_imported(found: "ImportedFolder", out: Path, *, as_json: bool) -> None:
    source, trials = found.source, found.trials
    if as_json:
        print_json({"source": source, "trials": len(trials), "refused": len(found.refused)})
        return
    for text in (*(f"not known: {one}" for one in source.unknown), *(f"left out: {one}" for one in source.left_out)):
        say(text)
    for row in trials:
        for reason in row.reasons:
            say(f"{row.configuration} {row.benchmark}: {reason}")
    if found.refused:
        was = "file could not be read and was" if len(found.refused) == 1 else "files could not be read and were"
        say(f"{len(found.refused):,} {was} skipped; --strict stops at the first")
    configurations = len({row.configuration for row in trials})
    valid = sum(row.counts for row in trials)
    say(
        f"{counted(len(trials), 'trial')} of {counted(configurations, 'configuration')}: {valid:,} valid, "
        f"{len(trials) - valid:,} rejected"
    )
    say(str(source.rule))
    tell(f"source: {source.source}; licence: {source.licence}")
    tell(f"next: nephoscope report {out}", style="dim")
