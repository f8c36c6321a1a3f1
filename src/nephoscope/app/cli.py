"""The command line: arguments and wiring, no decisions. Data on stdout, talk on stderr."""

import asyncio
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table
from typer.exceptions import TyperException

import nephoscope
from nephoscope.app import stages
from nephoscope.app.commands import answers as cli_answers
from nephoscope.app.commands import fleet as cli_fleet
from nephoscope.app.commands.prices import prices
from nephoscope.app.console import LiveProgress, duration, output, talk
from nephoscope.app.doctor import diagnose
from nephoscope.app.fleet import CliOptions, run_options
from nephoscope.app.memory import tune_gc
from nephoscope.app.wiring import real_world, shipped_study
from nephoscope.importers.cloud_report_2019.logs import words_of
from nephoscope.importers.registry import IMPORTERS, Importer
from nephoscope.machines.doctor import Finding, Health, diagnosis, require_fit
from nephoscope.model.errors import (
    EXIT_DEFECT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_TRIALS_FAILED,
    STORAGE_ERRNOS,
    InputError,
    Move,
    NephoscopeError,
    StorageFailed,
)
from nephoscope.model.records import Plan
from nephoscope.run.clock import SystemClock
from nephoscope.run.signals import Stopped, run_until_stopped
from nephoscope.run.study import StudyOutcome
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.starter import starter_study

EXIT_CODES = """
Exit codes: 0 done · 1 a defect in nephoscope · 2 the input is wrong · 3 something needed is missing or unreachable ·
4 trials failed or could not be read · 5 the results folder is in use · 6 results could not be stored ·
7 a claim does not hold · 129/130/143 stopped by SIGHUP/Ctrl-C/SIGTERM (`run` again resumes).
"""

app = typer.Typer(
    help="Which cloud machine should my database run on, what does it cost, and how sure are we?\n\n"
    "study --plan--> plan --run--> trials --parse--> measurements --analyze--> statistics --report--> report",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)

app.add_typer(prices, name="prices")
cli_answers.register(app)

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="a study file (TOML); `nephoscope init` writes one")]
Examined = Annotated[
    Path | None,
    typer.Argument(metavar="STUDY", help="a study file; its needs count, else those of every benchmark"),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="a results folder, as `run --out` wrote it")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="results folder [default: results/<study>]")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for machines instead of a table for people")]
Logs = Annotated[Path, typer.Argument(metavar="PATH", help="the folder that holds PROVIDER/TYPE/DATE/RUN/*.log")]
ImportOut = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="write measurements (CSV, Parquet) and verdicts (JSON) here")
]
Replan = Annotated[bool, typer.Option("--replan", help="replace a plan of which trials would be lost")]
MaxClusters = Annotated[int, typer.Option("--max-clusters", min=1, help="trials at once, each on a cluster of its own")]
MaxUsd = Annotated[
    float | None,
    typer.Option("--max-usd", min=0.01, help="begin no trial beyond it, and end what is under way before it is spent"),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="margin=X%", help="stop at a whole block with intervals so narrow"),
]
State = Annotated[
    str | None, typer.Option("--state", metavar="URL", help="PostgreSQL of several controllers that share the study")
]

Scale = Annotated[
    float | None,
    typer.Option(
        "--scale",
        metavar="SHARE",
        min=0.001,
        max=1.0,
        help="sizes and run times of microbenchmarks times this, as 0.05; threads, block sizes and queue depths stay",
    ),
]

importers = typer.Typer(help="Read what others measured, and judge it from its logs.", rich_markup_mode=None)
app.add_typer(importers, name="import", no_args_is_help=True)


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="print the version and leave")] = False) -> None:
    if version:
        output().print(nephoscope.__version__, highlight=False, markup=False)
        raise typer.Exit(EXIT_OK)


@app.command(epilog="Example: nephoscope plan studies/laptop.toml")
def plan(study: StudyFile, scale: Scale = None, as_json: AsJson = False) -> None:
    """Print what a study would do: trials in order, hours, dollars. Starts nothing."""
    planned = stages.plan(stages.read_study(study), scale=scale)
    if as_json:
        _print_json(planned.model_dump(mode="json", by_alias=True))
        return
    table = Table("#", "block", "configuration", "benchmark", "replicate", "expected", "trial")
    for row in planned.trials:
        intent = row.intent
        table.add_row(
            *(str(intent.position), str(intent.block), intent.configuration_name, intent.benchmark.name),
            *(str(intent.replicate), duration(row.expected_duration_s), intent.id),
        )
    output().print(table)
    output().print(_summary(planned), highlight=False, markup=False)
    _warn(planned)


@app.command(epilog="Example: nephoscope run studies/laptop.toml --out results/laptop")
def run(
    study: StudyFile,
    out: Out = None,
    scale: Scale = None,
    replan: Replan = False,
    max_clusters: MaxClusters = 1,
    max_usd: MaxUsd = None,
    until: Until = None,
    state: State = None,
) -> None:
    """Run a study; run it again to resume. Finished trials are never repeated, killed ones are begun anew."""
    text = stages.read_text(study)
    _run(text, str(study), out, CliOptions(max_clusters, max_usd, state, until), scale=scale, replan=replan)


cli_fleet.register(app)


@app.command(epilog="Example: nephoscope demo --out results/laptop")
def demo(out: Out = None) -> None:
    """Measure this machine with the laptop study and write its report: plan, run and report in one."""
    text = shipped_study("laptop")
    folder = out or Path("results/laptop")
    try:
        _run(text, "laptop.toml", folder, CliOptions(), scale=None, replan=False)
    except typer.Exit as ended:
        if ended.exit_code != EXIT_TRIALS_FAILED:
            raise
        talk().print("some trials failed: the report says which, and why")
    report(folder)


@app.command(epilog="Example: nephoscope parse results/laptop")
def parse(folder: Folder) -> None:
    """Read the raw output of every trial again: measurements and verdicts anew, without any machine."""
    outcome = stages.parse(ResultsFolder.existing(folder), SystemClock())
    talk().print(
        f"{outcome.parsed} trials parsed; {len(outcome.unreadable)} could not be read", highlight=False, markup=False
    )
    for line in outcome.unreadable:
        talk().print(f"    {line}", highlight=False, markup=False)
    if outcome.unreadable:
        raise typer.Exit(EXIT_TRIALS_FAILED)


@app.command(epilog="Example: nephoscope analyze results/laptop --json")
def analyze(folder: Folder, as_json: AsJson = False) -> None:
    """Compute statistics, comparisons and sentences from the measurements."""
    study = stages.analyze(ResultsFolder.existing(folder))
    if as_json:
        _print_json(
            {
                "statistics": [row.model_dump(mode="json") for row in study.statistics],
                "comparisons": [row.model_dump(mode="json") for row in study.comparisons],
                "insights": [row.model_dump(mode="json") for row in study.insights],
            }
        )
        return
    for insight in study.insights:
        if insight.kind != "note":
            output().print(f"- {insight.text}", highlight=False, markup=False)


@app.command(epilog="Example: nephoscope report results/laptop")
def report(
    folder: Folder,
    pdf: Annotated[bool, typer.Option("--pdf", help="as PDF, too; needs pip install 'nephoscope[pdf]'")] = False,
) -> None:
    """Write the report (one HTML file, CSV, Parquet, a data bundle) and print its path. Touches no machine."""
    page = stages.report(ResultsFolder.existing(folder), pdf=pdf)
    output().print(str(page), highlight=False, markup=False)


@app.command(epilog="Example: nephoscope doctor studies/laptop.toml --folder /mnt/data")
def doctor(
    study: Examined = None,
    folder: Annotated[Path, typer.Option("--folder", help="an existing folder for results and data")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Is this machine fit to measure? Governor, steal, foreign load, clock source, free disk, tools.

    Exit code 3 when it is not: something that is needed is missing.
    """
    planned = None if study is None else stages.plan(stages.read_study(study))
    findings = asyncio.run(diagnose(folder, planned))
    if as_json:
        _print_json([finding.model_dump(mode="json") for finding in findings])
    else:
        output().print(_findings(findings))
    require_fit(findings)
    if not as_json:
        output().print(diagnosis(findings), highlight=False, markup=False)


def _findings(findings: list[Finding]) -> Table:
    table = Table("", "what", "found", "hint")
    for finding in findings:
        table.add_row(_MARKS[finding.health], escape(finding.what), escape(finding.found), escape(finding.hint))
    return table


@app.command(epilog="Example: nephoscope init my-study.toml")
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the file to write")] = Path("study.toml"),
) -> None:
    """Write a starter study with every key explained."""
    stages.write_new(file, starter_study())
    talk().print(f"wrote {file}; now: nephoscope plan {file}", highlight=False, markup=False)


@importers.command(
    "cloud-report-2019", epilog="Example: nephoscope import cloud-report-2019 results-logs --out imported"
)
def import_cloud_report_2019(path: Logs, out: ImportOut = None, as_json: AsJson = False) -> None:
    """Judge the raw pilot logs of the Cloud Report of 2019: is each machine the one on its label, and undisturbed?"""
    record = stages.import_cloud_report_2019(path, out)
    if as_json:
        _print_json(record.model_dump(mode="json", by_alias=True))
        return
    table = Table("provider", "type", "runs", "valid", "invalid", "unknown", Column("reasons", min_width=17))
    for row in record.counts:
        counts = (str(count) for count in (row.runs, row.valid, row.invalid, row.unknown))
        table.add_row(row.provider, row.machine_type, *counts, words_of(row.reasons))
    output().print(table)
    for run in record.runs:
        for reason in [*(f"{one.check}: {one.reason}" for one in run.refused), *run.unreadable, *run.notes]:
            output().print(f"{run.folder} {reason}", highlight=False, markup=False)
    verdicts = [str(run.verdict) for run in record.runs]
    counts_of = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("valid", "invalid", "unknown"))
    output().print(f"{len(verdicts)} runs: {counts_of}", highlight=False, markup=False)
    talk().print(f"source: {record.source}; licence: {record.licence}", highlight=False, markup=False)


def _add_importer(name: str, importer: Importer) -> None:
    """`nephoscope import NAME PATH --out DIR`."""
    path_of = Annotated[Path, typer.Argument(metavar="PATH", help=importer.path)]
    into = Annotated[Path, typer.Option("--out", metavar="DIR", help="results folder: new, or of an earlier import")]

    def command(path: path_of, out: into, as_json: AsJson = False) -> None:
        _imported(stages.import_results(name, path, ResultsFolder(out)), out, as_json=as_json)

    example = f"Example: nephoscope import {name} PATH --out results/{name}"
    importers.command(name, help=importer.what, short_help=importer.what, epilog=example)(command)


for _name, _importer in IMPORTERS.items():
    _add_importer(_name, _importer)


def _imported(found: stages.ImportedFolder, out: Path, *, as_json: bool) -> None:
    source, trials = found.source, found.trials
    if as_json:
        _print_json({"source": source.model_dump(mode="json", by_alias=True), "trials": len(trials)})
        return
    for text in (*(f"not known: {one}" for one in source.unknown), *(f"left out: {one}" for one in source.left_out)):
        output().print(text, highlight=False, markup=False)
    for row in trials:
        for reason in row.reasons:
            output().print(f"{row.configuration} {row.benchmark}: {reason}", highlight=False, markup=False)
    configurations = len({row.configuration for row in trials})
    output().print(
        f"{len(trials)} trials of {configurations} configurations, {sum(row.counts for row in trials)} count",
        highlight=False,
        markup=False,
    )
    talk().print(f"source: {source.source}; licence: {source.licence}", highlight=False, markup=False)
    talk().print(f"now: nephoscope report {out}", highlight=False, markup=False)


_MARKS = {Health.GOOD: "[green]ok[/green]", Health.WARNING: "[yellow]warning[/yellow]", Health.BAD: "[red]bad[/red]"}


def _run(text: str, name: str, out: Path | None, wishes: CliOptions, *, scale: float | None, replan: bool) -> None:
    study = stages.load(text, name)
    planned = stages.plan(study, scale=scale)
    talk().print(_summary(planned), highlight=False, markup=False)
    _warn(planned)
    folder = ResultsFolder(out or Path("results") / study.name)
    conduct = run_options(folder, study, wishes)
    with folder.lock():
        stages.adopt(folder, text, study, planned, replan=replan)
        left_s = stages.expected_left_s(folder)
        with LiveProgress(talk(), SystemClock(), len(planned.trials), left_s) as progress:
            outcome = run_until_stopped(stages.run(folder, study, real_world(progress), conduct))
    _say_what_was_not_begun(outcome)
    talk().print(
        f"{outcome.finished} of {len(planned.trials)} trials finished, {outcome.valid} of them count, "
        f"{outcome.failed} failed; results in {folder.path}",
        highlight=False,
    )
    if outcome.failed or outcome.refused:
        raise typer.Exit(EXIT_TRIALS_FAILED)


def _say_what_was_not_begun(outcome: StudyOutcome) -> None:
    if outcome.stopped:
        talk().print(outcome.stopped, highlight=False, markup=False)
    if outcome.refused:
        reason = next(iter(outcome.refused.values()))
        talk().print(f"{len(outcome.refused)} trials beyond the budget: {reason}", highlight=False, markup=False)


def _summary(planned: Plan) -> str:
    price = "not priced" if planned.price_usd is None else f"${planned.price_usd:.2f}"
    if planned.price_usd is None and planned.unpriced:
        price += f" ({'; '.join(planned.unpriced)})"
    return f"{len(planned.trials)} trials, about {duration(planned.expected_duration_s)}, {price}"


def _warn(planned: Plan) -> None:
    for warning in planned.warnings:
        talk().print(f"warning: {warning}", style="yellow", highlight=False, markup=False)


def _print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    tune_gc()
    try:
        result = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except NephoscopeError as error:
        return _tell(error)
    except TyperException as error:
        return _tell(InputError(error.format_message(), hint="nephoscope --help, nephoscope COMMAND --help"))
    except (Stopped, KeyboardInterrupt, typer.Abort) as stopped:
        talk().print("stopped; the same command resumes", style="yellow", highlight=False, markup=False)
        return stopped.exit_code if isinstance(stopped, Stopped) else EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads: be silent at exit too
        return EXIT_OK
    except Exception as error:
        return _tell_unexpected(error)
    return result if isinstance(result, int) else EXIT_OK


def _tell_unexpected(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno in STORAGE_ERRNOS:
        return _tell(StorageFailed.of(Path(error.filename or "output"), error))
    traceback.print_exc()
    talk().print("this is a defect in nephoscope: please report it with the lines above", style="red")
    return EXIT_DEFECT


_WHOSE_MOVE = {
    Move.OURS: "this is for nephoscope to mend: please report it",
    Move.NOBODY: "nobody has to do anything: it may pass by itself",
}
"""Said where it is not the reader's: what the reader can do is the hint."""


def _tell(error: NephoscopeError) -> int:
    console = talk()
    console.print("error: ", style="bold red", end="")
    console.print(error.message, highlight=False, markup=False)
    if error.hint:
        console.print(f"hint: {error.hint}", highlight=False, markup=False)
    if error.move in _WHOSE_MOVE:
        console.print(_WHOSE_MOVE[error.move], style="dim", highlight=False, markup=False)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
