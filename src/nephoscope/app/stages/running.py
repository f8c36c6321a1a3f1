"""A plan -> stored trials: how a run is conducted, and when its study has enough."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import nephoscope
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.checks.registry import CHECKS
from nephoscope.checks.repeatable import POLICIES, Cause, policy_of
from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.model.rows import Statistic
from nephoscope.plan.budget import check_budget
from nephoscope.run.conductor import Rules
from nephoscope.run.ledger import Limits
from nephoscope.run.preflight import preflight
from nephoscope.run.repeats import RepeatRules, due
from nephoscope.run.states import Patience
from nephoscope.run.study import RunOptions, StudyOutcome, adopt_plan, run_study
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.address import names_one_server
from nephoscope.study.model import Study
from nephoscope.study.secrets import holds_password

_MARGIN = re.compile(r"margin=(?P<percent>\d+(\.\d+)?)%")


@dataclass(frozen=True)
class CliOptions:
    """What the command line says about a run beyond its study."""

    max_clusters: int = 1
    max_usd: float | None = None
    """Limit on all that this results folder has cost and will cost."""
    state_url: str | None = None
    until: str | None = None
    """'margin=1.5%'."""
    retry_refused: bool = False
    """Repeat rejected trials of earlier runs, too."""
    checks: tuple[str, ...] = ()
    """Repeat only trials that these checks rejected, even those that wait for somebody to change something."""


def run_options(folder: ResultsFolder, study: Study, options: CliOptions) -> RunOptions:
    """How the study runs.

    Raises:
        InputError: an option is malformed, or two options exclude each other.
    """
    limits = [usd for usd in (study.budget.max_usd, options.max_usd) if usd is not None]
    if options.state_url is not None and (holds_password(options.state_url) or not names_one_server(options.state_url)):
        raise InputError(
            "--state must be the address of one PostgreSQL server, without a password",
            hint="--state postgresql://user@host:port/database, and the password in PGPASSWORD",
        )
    enough = None
    if options.until is not None:
        if options.state_url is not None:
            raise InputError(
                "--until and --state exclude each other: --until needs every trial of a block, and with --state each "
                "controller runs only some of them",
                hint="drop one of the two",
            )
        enough = enough_at(folder, study, margin_of(options.until))
    return RunOptions(
        limits=Limits(max_usd=min(limits, default=None), max_clusters=options.max_clusters),
        rules=Rules(study.placement, Patience()),
        state_url=options.state_url,
        enough=enough,
        repeats=_repeats(study, options),
    )


def _repeats(study: Study, options: CliOptions) -> RepeatRules:
    """What the study says, or what somebody asks for now.

    Raises:
        InputError: a check is not known, or its rejections are never repeated.
    """
    if not options.retry_refused:
        if options.checks:
            raise InputError("--check needs --retry-refused", hint="add --retry-refused, or drop --check")
        return RepeatRules(study.repeat_refused)
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
        max(1, study.repeat_refused), times_planned=None, on_request=True, checks=frozenset(options.checks)
    )


def margin_of(until: str) -> float:
    """In percent, of 'margin=1.5%'.

    Raises:
        InputError: it has another form.
    """
    found = _MARGIN.fullmatch(until.replace(" ", ""))
    if found is None or float(found["percent"]) == 0:
        raise InputError(f"cannot read --until {until!r}", hint="write it as --until margin=1.5%, above 0")
    return float(found["percent"])


def enough_at(folder: ResultsFolder, study: Study, margin_percent: float) -> Callable[[int], str]:
    """Says after a block whether the study has enough: every headline median is within the margin.

    Only the width of the intervals decides, never who is ahead: stopping as soon as one looks better finds differences
    that do not exist.
    """

    def enough(block: int) -> str:
        found = _headlines(folder, study)
        cells = len(study.configurations) * len({(row.benchmark, row.metric) for row in found})
        widest = max((_margin(row) for row in found), default=float("inf"))
        if not found or len(found) < cells or widest > margin_percent:
            return ""
        return (
            f"stopped after block {block} of {study.replicates}: the 95 % interval of every headline median is within "
            f"±{widest:.2g} % (--until asked for ±{margin_percent:g} %)"
        )

    return enough


def _margin(row: Statistic) -> float:
    """Of the interval, in percent of the median; infinite where there is no 95 % interval yet, or the median is 0."""
    if row.margin_percent is None or row.more_replicates_needed:
        return float("inf")
    return row.margin_percent


def _headlines(folder: ResultsFolder, study: Study) -> list[Statistic]:
    from nephoscope.analysis.analyse import analyse
    from nephoscope.analysis.collect import collect

    analysed = analyse(collect(folder, study, BENCHMARKS, CHECKS, nephoscope.__version__))
    headlines = {
        (one.benchmark, metric.name) for one in analysed.benchmarks for metric in one.metrics if metric.headline
    }
    return [row for row in analysed.statistics if (row.benchmark, row.metric) in headlines and not row.per_cpu]


def adopt(folder: ResultsFolder, text: str, study: Study, planned: Plan, *, replan: bool) -> None:
    """Checks the budget and stores study and plan in the folder; drops an analysis of the trials before."""
    check_budget(planned, study.budget)
    adopt_plan(folder, text, planned, replan=replan)
    folder.forget_analysis()


def expected_left_s(folder: ResultsFolder) -> float:
    """What the plan expects of the trials that are not finished."""
    return sum(planned.expected_duration_s for planned, trial in folder.planned() if due(trial))


async def run(folder: ResultsFolder, study: Study, world: World, options: RunOptions | None = None) -> StudyOutcome:
    """plan -> stored trials."""
    await preflight(folder, study, world)
    return await run_study(folder, world, options)
