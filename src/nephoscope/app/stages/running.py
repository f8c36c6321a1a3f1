"""A plan -> stored trials: how a run is conducted, and what to tell at its end of what went wrong around trials."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches

from nephoscope.app.stages.stopping import stopping_rule
from nephoscope.checks.interference import ForeignLoad
from nephoscope.checks.repeatable import POLICIES, Cause, policy_of
from nephoscope.machines.telemetry import parse_telemetry
from nephoscope.model.errors import DamagedFile, InputError, OutputUnreadable
from nephoscope.model.numbers import duration
from nephoscope.model.records import Plan, VerdictKind
from nephoscope.model.words import counted
from nephoscope.plan.calendar import clusters_by_default
from nephoscope.plan.cut import check_budget
from nephoscope.run.conductor import Rules
from nephoscope.run.derive import TELEMETRY_PREFIX, TELEMETRY_SUFFIX
from nephoscope.run.gate import PAUSE_S
from nephoscope.run.ledger import Limits
from nephoscope.run.preflight import preflight
from nephoscope.run.repeats import RepeatRules
from nephoscope.run.states import Patience
from nephoscope.run.study import RunOptions, StudyOutcome, adopt_plan, run_study
from nephoscope.run.world import World
from nephoscope.store import plain
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.address import MYSQL_SCHEMES, holds_password, problem_of
from nephoscope.study.model import Study


@dataclass(frozen=True)
class CliOptions:
    """What the command line says about a run beyond its study."""

    max_clusters: int | None = None
    """None: see `clusters_by_default`."""
    max_usd: float | None = None
    """Limit on all that this results folder has cost and will cost."""
    state_url: str | None = None
    until: str | None = None
    """'margin=1.5%'."""
    retry_rejected: bool = False
    """Repeat rejected trials of earlier runs, too."""
    checks: tuple[str, ...] = ()
    pause_s: float = PAUSE_S
    """Repeat only trials that these checks rejected, even those that wait for somebody to change something."""


def run_options(folder: ResultsFolder, study: Study, options: CliOptions) -> RunOptions:
    """How the study runs.

    Raises:
        InputError: an option is malformed, or two options exclude each other.
    """
    limits = [usd for usd in (study.budget.max_usd, options.max_usd) if usd is not None]
    if options.state_url is not None and (
        holds_password(options.state_url)
        or problem_of(options.state_url)
        or options.state_url.startswith(MYSQL_SCHEMES)
    ):
        raise InputError(
            "--state must be the address of one PostgreSQL server, without a password or unknown parameters",
            hint="--state postgresql://user@host:port/database, and the password in PGPASSWORD",
        )
    if options.state_url is not None and study.equal_machines is not None:
        raise InputError(
            "equal_machines and --state cannot be combined: the usual kind of machine is found from all trials of a "
            "configuration, and with --state each controller stores only some of them",
            hint="drop --state, or remove `equal_machines` from the study",
        )
    if options.state_url is not None and study.placement == "per-replicate":
        raise InputError(
            "--state gives each trial to one of several controllers, but the trials of a replicate share a cluster",
            hint='drop --state, and use --max-clusters for several clusters at once; or use placement = "fresh"',
        )
    if options.state_url is not None and any(one.database.dsn for one in study.configurations):
        raise InputError(
            "--state gives trials to several controllers, which would measure your own server at the same time",
            hint="drop --state: trials on one server run one after another anyway",
        )
    return RunOptions(
        limits=Limits(
            max_usd=min(limits, default=None), max_clusters=options.max_clusters or clusters_by_default(study)
        ),
        rules=Rules(study.placement, Patience(), options.pause_s),
        state_url=options.state_url,
        look=stopping_rule(folder, study, options.until, shared=options.state_url is not None),
        repeats=_repeats(study, options),
    )


def _repeats(study: Study, options: CliOptions) -> RepeatRules:
    """What the study says, or what somebody asks for now.

    Raises:
        InputError: a check is not known, or its rejections are never repeated.
    """
    if not options.retry_rejected:
        if options.checks:
            raise InputError("--check needs --retry-rejected", hint="add --retry-rejected, or drop --check")
        return RepeatRules(study.repeat_rejected, equal_machines=study.equal_machines)
    for name in options.checks:
        if name not in POLICIES:
            near = get_close_matches(name, POLICIES, n=3) or sorted(POLICIES)
            raise InputError(f"there is no check {name!r}", hint=f"did you mean: {', '.join(near)}?")
        policy = policy_of(name)
        if policy.cause in {Cause.OUTCOME, Cause.WRONG}:
            raise InputError(
                f"trials that {name} rejected are not repeated: {policy.why}", hint=policy.advice or "see the report"
            )
    return RepeatRules(
        max(1, study.repeat_rejected),
        times_planned=None,
        on_request=True,
        equal_machines=study.equal_machines,
        checks=frozenset(options.checks),
    )


def adopt(
    folder: ResultsFolder, text: str, study: Study, planned: Plan, *, replan: bool, whole: Plan | None = None
) -> None:
    """Checks the budget and stores study and plan in the folder; drops an analysis of the trials before.

    `whole` is the plan of the whole study, where `planned` is a part of it.
    """
    check_budget(planned, study.budget)
    adopt_plan(folder, text, planned, replan=replan, whole=whole)
    folder.forget_analysis()


async def run(folder: ResultsFolder, study: Study, world: World, options: RunOptions | None = None) -> StudyOutcome:
    """plan -> stored trials."""
    await preflight(folder, study, world)
    return await run_study(folder, world, options)


_MAX_NAMED = 3


def incident_lines(folder: ResultsFolder) -> Iterator[str]:
    """One line on programs of others, if trials were rejected for them; one for each failure of cleaning up."""
    disturbed = [
        attempt for _, trial in folder.planned() for attempt in trial.finished_attempts() if _disturbed(attempt)
    ]
    seconds: defaultdict[str, float] = defaultdict(float)
    trials: Counter[str] = Counter()
    for attempt in disturbed:
        used = _foreign_s(attempt)
        trials.update(used.keys())
        for name, cpu_s in used.items():
            seconds[name] += cpu_s
    if seconds:
        most = sorted(seconds, key=lambda name: (-seconds[name], name))[:_MAX_NAMED]
        named = (f"{name} ({duration(seconds[name])} of CPU time in {counted(trials[name], 'trial')})" for name in most)
        yield f"programs of others that disturbed rejected trials: {', '.join(named)}"
    for planned, trial in folder.planned():
        for attempt in trial.attempts()[-1:]:
            for failure in attempt.cleanup_failures():
                yield f"warning: {planned.intent.configuration_name} · {planned.intent.benchmark.name}: {failure}"


def _disturbed(attempt: Attempt) -> bool:
    return any(row.check == ForeignLoad.name and row.verdict is VerdictKind.INVALID for row in attempt.verdicts())


def _foreign_s(attempt: Attempt) -> dict[str, float]:
    """CPU time of programs of others by name, as far as the sampler read them."""
    found: defaultdict[str, float] = defaultdict(float)
    for log in sorted(attempt.raw_dir.glob(f"{TELEMETRY_PREFIX}*{TELEMETRY_SUFFIX}")):
        with suppress(OutputUnreadable, DamagedFile, OSError):
            for sample in parse_telemetry(plain.read(log).decode(errors="replace")):
                for process in sample.foreign_processes:
                    found[process.name] += process.cpu_s
    return found
