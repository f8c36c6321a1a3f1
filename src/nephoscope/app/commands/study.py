"""`nephoscope init`, `plan`, `run` and `demo`: from a study file to stored trials. Loads what a command uses in it."""

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nephoscope.app.commands import results
from nephoscope.app.commands.options import MEASURE, AsJson, Out, StudyFile, add_command
from nephoscope.app.console import print_json, print_rows, print_table, say, say_document, talk, tell
from nephoscope.app.files import read_text, write_new
from nephoscope.model.errors import EXIT_TRIALS_FAILED, InputError, NephoscopeError
from nephoscope.model.words import SIMULATED, counted

if TYPE_CHECKING:
    from nephoscope.app.redraw import KeptReport
    from nephoscope.app.stages.running import CliOptions
    from nephoscope.model.analysed import AnalysedStudy
    from nephoscope.model.records import PlanWarning
    from nephoscope.plan.cut import Cut
    from nephoscope.run.study import RunOptions, StudyOutcome
    from nephoscope.store.folder import ResultsFolder
    from nephoscope.study.model import Study

Scale = Annotated[
    float | None,
    typer.Option(
        "--scale",
        metavar="SHARE",
        min=0.001,
        max=1.0,
        help="multiply sizes and run times of microbenchmarks by this, e.g. 0.05; threads, block sizes and queue "
        "depths stay the same",
    ),
]
Quick = Annotated[
    bool,
    typer.Option("--quick", help="one trial of each kind, in a minute or two: shows how it works, and decides nothing"),
]
Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="RESULTS",
        help="results folder of an earlier study; its spread is used to estimate which differences this study can "
        "detect",
    ),
]
Expand = Annotated[
    bool,
    typer.Option("--expanded", help="print the study without [defaults], [[matrix]] and `for`, as a study file"),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="CHAPTER",
        help="only this chapter: cpu, memory, storage, network, oltp or key-value; database: the last two; repeatable",
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--types",
        metavar="PATTERN",
        help="only configurations whose machine type matches this pattern, such as 'm6i.*'; repeatable",
    ),
]
BudgetUsd = Annotated[
    float | None,
    typer.Option(
        "--budget", min=0.01, metavar="USD", help="only the part that answers the most questions for this amount"
    ),
]
Choose = Annotated[
    list[str] | None,
    typer.Option(
        "--choose", metavar="NAME=OPTION", help="choose another OPTION for NAME in the study's [choices]; repeatable"
    ),
]
Rows = Annotated[bool, typer.Option("--rows", help="print every trial, in a pager on a terminal")]
Rehearse = Annotated[
    bool,
    typer.Option(
        "--rehearse",
        help="measure nothing: run the whole study on machines that do not exist, with numbers that a program draws; "
        "its report says so [default folder: results/<study>-rehearsal]",
    ),
]
Replan = Annotated[bool, typer.Option("--replan", help="replace the stored plan, even if that drops trials")]
MaxClusters = Annotated[
    int | None,
    typer.Option(
        "--max-clusters",
        min=1,
        help="how many clusters may exist at once; default: on clouds as many as budget and quotas allow, up to 96; "
        "elsewhere 1",
    ),
]
MaxUsd = Annotated[
    float | None,
    typer.Option(
        "--max-usd",
        metavar="USD",
        min=0.01,
        help="budget in US dollars: start no trial that could exceed it, and stop one that would",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="margin=X%",
        help="stop after the first block at which every headline median is known to within X % (95 % interval)",
    ),
]
State = Annotated[
    str | None,
    typer.Option("--state", metavar="URL", help="PostgreSQL database through which several controllers share a study"),
]

Dsns = Annotated[
    list[str] | None,
    typer.Option(
        "--dsn",
        metavar="URL",
        help="a server of your own, postgresql:// or mysql://user@host:port/database; with --compare once, or once for "
        "each value. The password goes into PGPASSWORD or MYSQL_PWD, never here",
    ),
]
Compare = Annotated[
    str | None,
    typer.Option(
        "--compare", metavar="SETTING=A,B", help="a setting of PostgreSQL or MariaDB, or `version`, and the values"
    ),
]
Reproduce = Annotated[
    tuple[Path, str] | None,
    typer.Option(
        "--reproduce",
        metavar="REPORT CONFIGURATION",
        help="the folder or bundle.zip of a report, or a results folder; and which of its configurations",
    ),
]

StudyOrFolder = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY", help="study file (TOML); or the results folder of a study, to continue it as it was planned"
    ),
]
RetryRejected = Annotated[
    bool,
    typer.Option(
        "--retry-rejected",
        help="also repeat trials that a check rejected in earlier runs, if the cause lies outside them (foreign load, "
        "a changed machine); `status` lists them",
    ),
]
RejectedBy = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        metavar="NAME",
        help="with --retry-rejected: only trials that this check rejected; also for checks whose cause you must fix "
        "first, such as cgroup-limit; repeatable",
    ),
]
WaitForQuiet = Annotated[
    float,
    typer.Option(
        "--wait-for-quiet",
        metavar="SECONDS",
        min=0,
        help="how long the next trial waits at most for a quiet machine, after other programs disturbed three in a "
        "row; then it starts anyway",
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    add_command(
        app,
        init,
        under=MEASURE,
        example="init my-study.toml",
        more=(
            "init --compare shared_buffers=128MB,1GB",
            "init --compare version=15,18 versions.toml",
            "init --dsn postgresql://bench@db.example.com/bench",
            "init --reproduce bundle.zip n2-standard-8 again.toml",
        ),
        then="nephoscope plan my-study.toml",
    )
    add_command(app, plan, under=MEASURE, example="plan studies/laptop.toml", then="nephoscope run studies/laptop.toml")
    add_command(
        app,
        run,
        under=MEASURE,
        example="run studies/laptop.toml --out results/laptop",
        then="nephoscope report results/laptop",
    )
    add_command(
        app, demo, under=MEASURE, example="demo --out results/laptop", then="open results/laptop/report/index.html"
    )


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the file to write")] = Path("study.toml"),
    dsn: Dsns = None,
    compare: Compare = None,
    reproduce: Reproduce = None,
) -> None:
    """Write a study: an example that explains every key or, with options, the study of an everyday question.

    With --dsn it measures a server of your own. With --compare it compares values of a setting, or versions, on servers
    that nephoscope starts on this machine; with both, on servers of your own. One server is enough for a setting that a
    session may change, such as work_mem; others need one server for each value.

    With --reproduce it measures one configuration of somebody's report again; `compare` then says what differs.
    """
    from nephoscope.study.starter import starter_study

    if reproduce is not None:
        if dsn or compare:
            raise InputError("--reproduce takes everything from the report", hint="drop --dsn and --compare")
        from nephoscope.app.stages.repeating import repeated_study

        text, warnings = repeated_study(*reproduce)
        write_new(file, text)
        for sentence in warnings:
            tell(f"warning: {sentence}", style="yellow")
    elif dsn or compare:
        write_new(file, _everyday(dsn or [], compare))
    else:
        write_new(file, starter_study())
    tell(f"wrote {file}; next: nephoscope plan {file}")


def _everyday(dsns: list[str], compare: str | None) -> str:
    """The text of a study, once its servers have been asked."""
    import asyncio

    from nephoscope.app.stages.beginning import require_addresses, require_comparable, system_of
    from nephoscope.study.starter import everyday_study, read_change

    require_addresses(dsns)
    change = None if compare is None else read_change(compare)
    system = asyncio.run(system_of(change, dsns))
    for sentence in asyncio.run(require_comparable(change, dsns, system)):
        tell(f"warning: {sentence}", style="yellow")
    return everyday_study(change, dsns, system)


def plan(
    study: StudyFile,
    scale: Scale = None,
    only: Only = None,
    types: Types = None,
    budget: BudgetUsd = None,
    choose: Choose = None,
    like: Like = None,
    max_clusters: MaxClusters = None,
    rows: Rows = False,
    expanded: Expand = False,
    as_json: AsJson = False,
) -> None:
    """Show what a study would measure and could decide, how long it takes and what it costs. Starts nothing.

    For clouds it also shows what the hours and dollars are spent on, and the quotas needed. --json has all
    of it. Exit code 3: no load generator here runs on the machines' architecture.
    """
    from nephoscope.app import planned as words
    from nephoscope.app.stages import planning
    from nephoscope.app.stages.advice import unpriced_transfer, warnings_with_lines
    from nephoscope.app.stages.architecture import missing_build
    from nephoscope.study.shorthands import with_chosen

    text = with_chosen(read_text(study), choose or ())
    if expanded:
        say_document(planning.expanded_study(text, str(study)))
        return
    loaded, lines = planning.load_for_advice(text, str(study))
    cut = _cut(only, types, budget)
    part = planning.cut_out(loaded, cut)
    planned = planning.plan(loaded, scale=scale, part=part)
    if rows:
        print_rows(words.ROW_HEADERS, words.rows(planned))
        return
    clusters = max_clusters or planning.clusters_by_default(part or loaded)
    shared = planning.clusters(loaded, planned)
    bill, needs = planning.bill(loaded, planned, shared), planning.quotas(loaded, planned, clusters, shared)
    left_out = planning.left_out(loaded, cut, planned)
    if as_json:
        without = {"left_out": left_out} if left_out else {}
        print_json({**planned.model_dump(mode="json", by_alias=True), "bill": bill, "quotas": needs, **without})
        return
    blocked = missing_build(part or loaded)
    if blocked is not None:
        tell(f"cannot run yet: {blocked.message}", style="bold red")
    calendar = planning.calendar_with(part or loaded, planned, clusters, shared)
    head = words.summary(planned, words.transfer_words(bill.transfers), calendar)
    bought = planning.next_dollars(loaded, cut, planned)
    _say_all(head, words.left_out_lines(left_out, cut), words.purchase_lines(bought, cut, planned))
    details = [*words.bill_lines(bill)]
    saved = planning.saved_by_sharing(loaded, planned, scale=scale, part=part)
    hosts = planning.saved_by_hosts(part or loaded, planned, clusters)
    hints = (*words.stop_lines(planned, bill), *words.placement_lines(saved), *words.host_lines(hosts))
    _say_all(details, hints, words.quota_lines(needs, clusters))
    if not details:
        print_table(words.HEADERS, words.groups(planned))
    _say_all(planning.decides(planned, _analysed(like), "" if like is None else str(like)))
    _warn(planned.warnings, warnings_with_lines(lines, str(study), loaded, _cpus_here()))
    _warn(unpriced_transfer(bill.transfers))
    tell(f"every trial: nephoscope plan {study} --rows", style="dim")
    if blocked is not None:
        raise blocked


def _analysed(like: Path | None) -> "AnalysedStudy | None":
    if like is None:
        return None
    from nephoscope.app.stages import evaluation
    from nephoscope.store.folder import ResultsFolder

    return evaluation.analysed(ResultsFolder.existing(like))


def run(
    study: StudyOrFolder,
    out: Out = None,
    scale: Scale = None,
    only: Only = None,
    types: Types = None,
    budget: BudgetUsd = None,
    choose: Choose = None,
    rehearse: Rehearse = False,
    replan: Replan = False,
    max_clusters: MaxClusters = None,
    max_usd: MaxUsd = None,
    until: Until = None,
    state: State = None,
    retry_rejected: RetryRejected = False,
    check: RejectedBy = None,
    wait_for_quiet: WaitForQuiet = 120.0,
) -> None:
    """Run a study, or resume it: finished trials are kept, interrupted ones restart.

    A trial that was rejected for something outside it, such as the load of other programs, is repeated after its block
    and after the study, at most `repeat_rejected` times. Every attempt is kept; the first valid one is used.
    --retry-rejected repeats more of them, later.

    --only and --types run a part of the study. The rest may follow in the same folder: a trial is the same in every
    part.
    """
    from nephoscope.app.stages.running import CliOptions
    from nephoscope.study.shorthands import with_chosen

    options = CliOptions(max_clusters, max_usd, state, until, retry_rejected, tuple(check or ()), wait_for_quiet)
    cut = _cut(only, types, budget)
    if study.is_dir():
        if out is not None or scale is not None or replan or cut or rehearse or choose:
            raise InputError(
                f"{study} is a results folder, which has its own study and plan",
                hint="drop --out, --scale, --only, --types, --budget, --choose, --rehearse and --replan, or name a "
                "study file instead of the folder",
            )
        _resume(study, options)
    else:
        if rehearse:
            _require_alone(options)
        wanted = _Wanted(cut, scale, rehearse=rehearse, replan=replan)
        _run(with_chosen(read_text(study), choose or ()), str(study), out, options, wanted)


def demo(out: Out = None, *, quick: Quick = False) -> None:
    """Measure this machine with the laptop study and write its report: plan, run and report in one command."""
    from nephoscope.app.stages.running import CliOptions
    from nephoscope.app.wiring import shipped_study
    from nephoscope.plan.cut import Cut

    text = shipped_study("laptop")
    folder = out or Path("results/laptop-quick" if quick else "results/laptop")
    try:
        _run(once(text) if quick else text, "laptop.toml", folder, CliOptions(), _Wanted(Cut()))
    except typer.Exit as ended:
        if ended.exit_code != EXIT_TRIALS_FAILED:
            raise
        tell("some trials failed: the report says which ones, and why")
    results.report(folder)


def once(text: str) -> str:
    """A study file -> the same study, with one trial of each kind that is not repeated if a check rejects it."""
    return re.sub(r"(?m)^replicates = \d+.*$", "replicates = 1\nrepeat_rejected = 0", text, count=1)


def _require_alone(options: "CliOptions") -> None:
    """Checks that no other controller takes part in a rehearsal: none sees its list of machines and its clock.

    Raises:
        InputError: others would.
    """
    if options.state_url is not None:
        raise InputError("a rehearsal cannot be shared by several controllers", hint="drop --state")


def _cut(only: list[str] | None, types: list[str] | None, budget_usd: float | None) -> "Cut":
    from nephoscope.plan.cut import Cut

    return Cut(tuple(only or ()), tuple(types or ()), budget_usd)


@dataclass(frozen=True)
class _Wanted:
    """What of a study file is run, and how."""

    cut: "Cut"
    scale: float | None = None
    rehearse: bool = False
    replan: bool = False


def _run(text: str, name: str, out: Path | None, options: "CliOptions", wanted: _Wanted) -> None:
    from nephoscope.app.planned import in_one_line, left_out_lines
    from nephoscope.app.stages import planning, running
    from nephoscope.app.stages.advice import require_cpus
    from nephoscope.app.stages.architecture import require_builds
    from nephoscope.store.folder import ResultsFolder

    study = planning.load(text, name)
    part = planning.cut_out(study, wanted.cut)
    if not wanted.rehearse:
        require_cpus(part or study, _cpus_here())
        require_builds(part or study)
    planned = planning.plan(study, scale=wanted.scale, part=part, simulated=wanted.rehearse)
    default = f"{study.name}-rehearsal" if wanted.rehearse else study.name
    folder = ResultsFolder.for_results(out or Path("results") / default)
    if part is not None:
        folder = folder.only([row.intent.id for row in planned.trials])
    how = running.run_options(folder, part or study, options)
    clusters = how.limits.max_clusters or 1
    tell(in_one_line(planned, planning.calendar_with(part or study, planned, clusters)))
    for line in left_out_lines(planning.left_out(study, wanted.cut, planned), wanted.cut):
        tell(line)
    _warn(planned.warnings)
    with folder.lock():
        whole = None if part is None else planning.plan(study, scale=wanted.scale, simulated=wanted.rehearse)
        running.adopt(folder, text, study, planned, replan=wanted.replan, whole=whole)
        outcome = _conduct(folder, study, how, part)
    _tell_outcome(outcome, folder)


def _resume(path: Path, options: "CliOptions") -> None:
    """Continues a results folder by its own study and plan."""
    from nephoscope.app.stages import evaluation, running
    from nephoscope.store.folder import ResultsFolder

    folder = ResultsFolder.existing(path)
    if folder.source() is not None:
        raise InputError(f"{path} holds imported results, which cannot be measured again here")
    if folder.plan().simulated:
        _require_alone(options)
    study = evaluation.stored_study(folder)
    how = running.run_options(folder, study, options)
    with folder.lock():
        outcome = _conduct(folder, study, how)
    _tell_outcome(outcome, folder)


def _conduct(folder: "ResultsFolder", study: "Study", how: "RunOptions", part: "Study | None" = None) -> "StudyOutcome":
    """Runs what is left of a folder; `part` is what is asked for of the study, None: all of it."""
    from nephoscope.app.progress import LiveProgress
    from nephoscope.app.stages import data_sets, running, tracking
    from nephoscope.app.wiring import world_of
    from nephoscope.run.clock import SystemClock
    from nephoscope.run.signals import run_until_stopped

    folder.forget_analysis()
    if folder.claim_scratch():
        tell("the data in scratch/ was not made in this folder: it was deleted and will be made again when needed")
    may_stop = how.look is not None and study.stop != "decided"
    with LiveProgress(talk(), SystemClock(), tracking.remaining(folder), may_stop=may_stop) as progress:
        world = world_of(folder, study, progress)
        since_unix_ms = world.clock.unix_ms()
        report = _kept_report(folder, may_stop=may_stop)
        how = how if report is None else replace(how, pause=report.pause)
        work = running.run(folder, part or study, world, how)
        outcome = run_until_stopped(work if report is None else report.during(work), world.new_loop)
    _tell_time(folder, since_unix_ms)
    if not folder.plan().simulated and (kept := data_sets.reminder(study, str(folder.path))):
        tell(kept)
    return outcome


def _kept_report(folder: "ResultsFolder", *, may_stop: bool) -> "KeptReport | None":
    """None: a rehearsal is over before anybody has looked at it."""
    from nephoscope.app.redraw import KeptReport, changed_ns, write_beside, written_ns
    from nephoscope.run.clock import SystemClock

    if folder.plan().simulated:
        return None

    def outdated() -> bool:
        return 0 < written_ns(folder) < changed_ns(folder)

    def warn(problem: str) -> None:
        _warn([problem])

    return KeptReport(partial(write_beside, folder.path), SystemClock(), warn, outdated, may_stop=may_stop)


def _tell_time(folder: "ResultsFolder", since_unix_ms: int) -> None:
    """How long the run took and what for; a rehearsal's time is simulated, and of interest to nobody."""
    from nephoscope.app.usable import in_one_line
    from nephoscope.run.states import time_spent

    if folder.plan().simulated:
        return
    spent = time_spent((trial.states() for _, trial in folder.planned()), since_unix_ms)
    if spent is not None:
        tell(in_one_line(spent))


def _tell_outcome(outcome: "StudyOutcome", folder: "ResultsFolder") -> None:
    """Says how a run ended and what to do about trials that cannot be used.

    Raises:
        typer.Exit: some trials failed or did not start.
    """
    from nephoscope.app.stages import evaluation, running
    from nephoscope.app.usable import lines

    if outcome.stopped:
        tell(outcome.stopped)
    if outcome.refused:
        reason = next(iter(outcome.refused.values()))
        tell(f"{counted(len(outcome.refused), 'trial')} did not start because of the budget: {reason}")
    for reason in dict.fromkeys(outcome.not_repeated.values()):
        many = sum(other == reason for other in outcome.not_repeated.values())
        tell(f"{many:,} rejected {'trial was' if many == 1 else 'trials were'} not repeated: {reason}")
    rows = evaluation.status(folder)
    rejected = outcome.finished - outcome.valid
    left_out = f"{outcome.not_needed:,} not needed; " if outcome.not_needed else ""
    if outcome.valid and not outcome.stopped and is_watched():
        _tell_answers(folder)
    for line in lines(evaluation.usable(folder, rows), str(folder.path), waiting=bool(outcome.stopped)):
        tell(line)
    for line in running.incident_lines(folder):
        tell(line)
    tell(
        f"{outcome.finished:,} of {counted(len(rows), 'trial')} finished: {outcome.valid:,} valid, "
        f"{rejected:,} rejected; {left_out}{outcome.failed:,} failed; results in {folder.path}"
    )
    if outcome.failed or outcome.refused:
        raise typer.Exit(EXIT_TRIALS_FAILED)


def is_watched() -> bool:
    """Somebody reads at a terminal. Scripts do not wait for an analysis that they did not ask for."""
    return sys.stderr.isatty()


def _tell_answers(folder: "ResultsFolder") -> None:
    """What the trials so far say; a study that cannot be analysed was measured all the same."""
    from nephoscope.app.stages import evaluation

    try:
        answers = evaluation.answers(folder)
    except (NephoscopeError, ValueError) as error:
        _warn([f"the study could not be analysed: {error}"])
        return
    if answers and folder.plan().simulated:
        tell(f"{SIMULATED}:")
    for answer in answers:
        tell(f"- {answer}")


def _cpus_here() -> int:
    """Number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def _say_all(*texts: Iterable[str]) -> None:
    for line in chain(*texts):
        say(line)


def _warn(*warnings: "Iterable[str | PlanWarning]") -> None:
    for warning in chain(*warnings):
        tell(f"warning: {warning}", style="yellow")
