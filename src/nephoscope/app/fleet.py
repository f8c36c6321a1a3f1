"""Of studies on machines that cost money or hours: what is enough, how it stands, what is left. See `stages`."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import nephoscope
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.checks.registry import CHECKS, overall
from nephoscope.model.errors import InputError
from nephoscope.model.records import PlannedTrial, VerdictKind
from nephoscope.model.rows import Statistic
from nephoscope.run.cleaning import CleanupResult, clean, find
from nephoscope.run.conductor import Rules
from nephoscope.run.ledger import Limits
from nephoscope.run.spending import spent_usd
from nephoscope.run.states import ENDS, STOPS, Patience, State
from nephoscope.run.study import RunOptions, study_key
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder, Trial
from nephoscope.study.address import names_one_server
from nephoscope.study.model import Study
from nephoscope.study.secrets import holds_password

_MARGIN = re.compile(r"margin=(?P<percent>\d+(\.\d+)?)%")


@dataclass(frozen=True)
class CliOptions:
    """What a command line asks of a run beyond its study."""

    max_clusters: int = 1
    max_usd: float | None = None
    """For all that the folder's study has cost and will cost."""
    state_url: str | None = None
    until: str | None = None
    """'margin=1.5%'."""


def run_options(folder: ResultsFolder, study: Study, wishes: CliOptions) -> RunOptions:
    """How the study is conducted.

    Raises:
        InputError: wishes that cannot be understood, or not together.
    """
    limits = [usd for usd in (study.budget.max_usd, wishes.max_usd) if usd is not None]
    if wishes.state_url is not None and (holds_password(wishes.state_url) or not names_one_server(wishes.state_url)):
        raise InputError(
            "--state is not the address of one PostgreSQL server without a password",
            hint="--state postgresql://user@host:port/database, and the password in PGPASSWORD",
        )
    enough = None
    if wishes.until is not None:
        if wishes.state_url is not None:
            raise InputError(
                "--until looks at all trials of a block, and with --state each controller has some of them",
                hint="leave one of the two out",
            )
        enough = enough_at(folder, study, margin_of(wishes.until))
    return RunOptions(
        limits=Limits(max_usd=min(limits, default=None), max_clusters=wishes.max_clusters),
        rules=Rules(study.placement, Patience()),
        state_url=wishes.state_url,
        enough=enough,
    )


def margin_of(until: str) -> float:
    """In percent, of 'margin=1.5%'.

    Raises:
        InputError: it says something else.
    """
    found = _MARGIN.fullmatch(until.replace(" ", ""))
    if found is None or float(found["percent"]) == 0:
        raise InputError(f"--until {until!r} is not understood", hint="--until margin=1.5%")
    return float(found["percent"])


def enough_at(folder: ResultsFolder, study: Study, margin_percent: float) -> Callable[[int], str]:
    """Whether the intervals of the medians of all headline metrics are narrow enough after a block.

    Their width is what is asked for, never who wins: stopping when something looks better finds what is not there.
    """

    def enough(block: int) -> str:
        found = _headlines(folder, study)
        cells = len(study.configurations) * len({(row.benchmark, row.metric) for row in found})
        widest = max((_margin(row) for row in found), default=float("inf"))
        if not found or len(found) < cells or widest > margin_percent:
            return ""
        return (
            f"after block {block} of {study.replicates} every 95 % interval of a headline metric's median lies within "
            f"±{widest:.2g} %, and ±{margin_percent:g} % were asked for"
        )

    return enough


def _margin(row: Statistic) -> float:
    """Of its interval, in percent of the median; none of 95 % yet, or of a median of 0: not narrow."""
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


@dataclass(frozen=True)
class StudyProgress:
    """How a study stands."""

    states: dict[str, State]
    """By trial."""
    left_s: float
    """Until its end, by the plan and by how long ended trials took."""
    spent_usd: float | None
    """`None`: no price is known."""

    @property
    def ended(self) -> int:
        """Trials at their end."""
        return sum(state in ENDS for state in self.states.values())

    @property
    def words(self) -> str:
        """'3 done, 2 running'."""
        counts = Counter(self.states.values())
        return ", ".join(f"{counts[state]} {state}" for state in State if counts[state])


def progress(folder: ResultsFolder, now_unix_ms: int) -> StudyProgress:
    """How a study stands, from what is stored alone; somebody may be working on it."""
    rows = list(folder.planned())
    states = {planned.intent.id: state_of(trial) for planned, trial in rows}
    active = sum(state not in STOPS and state is not State.PLANNED for state in states.values())
    priced = any(planned.price_usd is not None for planned, _ in rows)
    return StudyProgress(
        states=states,
        left_s=_left_s(rows, states) / max(1, active),
        spent_usd=spent_usd(folder, now_unix_ms) if priced else None,
    )


def state_of(trial: Trial) -> State:
    """Of one trial; what is finished is at its end, also where its controller died before it wrote that down."""
    states = trial.states()
    last = State(states[-1].state) if states else State.PLANNED
    if last in ENDS or not trial.finished():
        return last
    attempt = trial.decisive_attempt()
    valid = attempt is not None and overall(attempt.verdicts()) is VerdictKind.VALID
    return State.DONE if valid else State.INVALID


def _left_s(rows: list[tuple[PlannedTrial, Trial]], states: dict[str, State]) -> float:
    expected = took = left = 0.0
    for planned, trial in rows:
        if states[planned.intent.id] not in ENDS:
            left += planned.expected_duration_s
            continue
        attempt = trial.decisive_attempt()
        status = attempt.status() if attempt else None
        if status is not None and status.duration_s is not None and status.state == "finished":
            expected += planned.expected_duration_s
            took += status.duration_s
    return left * (took / expected if expected > 0 else 1.0)


async def clean_up(folder: ResultsFolder, world: World) -> CleanupResult:
    """Gives back every cluster of the folder's study that any provider of its plan still lists.

    Raises:
        NephoscopeError: a provider cannot be asked.
    """
    rows, key = [planned for planned, _ in folder.planned()], study_key(folder)
    names = sorted({str(planned.intent.configuration["provider"]) for planned in rows})
    providers = [world.providers[name] for name in names if name in world.providers]
    unreachable = await find(providers, key, rows)
    return replace(await clean(providers, key, world.clock), unreachable=unreachable)


def created(folder: ResultsFolder) -> int:
    """Clusters that the folder's attempts asked for."""
    leases = (attempt.lease() for _, trial in folder.planned() for attempt in trial.attempts())
    return len({lease.cluster for lease in leases if lease is not None})
