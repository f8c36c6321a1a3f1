"""How long a study still takes, learnt from what has ended: loads of data sets and trials apart. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from nephoscope.model.records import PlannedTrial
from nephoscope.plan.bill import FULL_BLOCKS, LATER_SHARE
from nephoscope.study.managed import provider_of_machines

_Place = tuple[str, str]
"""A benchmark and the server that keeps its data set."""

_PLAN_KNOWS_NO_LOADS = frozenset({"local", "ssh"})
"""Providers whose plan counts no loads: machines stay, and so do data sets, so that a load happens once."""

KEPT_BY_A_BLOCK = 0.92
"""Of the trials of a block that open questions need, how many the next one still needs, in the simulated studies of
docs/concepts/statistics.md: 0.86 to 0.98 after the first look."""


@dataclass
class _Running:
    trial: PlannedTrial
    began_s: float
    load_s: float = 0.0
    loading_since_s: float | None = None
    load_ends_s: float = 0.0
    """When the load will end, as far as its share tells."""

    def load_left_s(self, now_s: float) -> float:
        return 0.0 if self.loading_since_s is None else max(0.0, self.load_ends_s - now_s)


@dataclass
class _Learnt:
    """What ended trials of one benchmark took."""

    expected_s: float = 0.0
    took_s: float = 0.0
    loads_s: list[float] = field(default_factory=list)


class Remaining:
    """Trials that have not ended; every moment is in seconds of one monotonic clock.

    Those that wait are counted, not listed: it is asked after each of thousands of trials.
    """

    def __init__(self, left: Iterable[PlannedTrial], *, stops: bool = False, looked: bool = False) -> None:
        """Of trials that have not ended.

        Args:
            left: the trials.
            stops: whether looks leave out what no open question needs, so that all of them are the most that is left.
            looked: whether a look already did.
        """
        self._stops, self._looked = stops, looked
        self._at_once = 0
        """The most trials that ran at the same time: at the end of a block few do, because the next one waits."""
        self._waiting: dict[str, PlannedTrial] = {}
        self._waiting_by_length: Counter[tuple[str, float, int]] = Counter()
        """Benchmark, expected duration in seconds and block -> trials."""
        self._waiting_to_load: Counter[_Place] = Counter()
        for trial in left:
            self._waits(trial)
        self._running: dict[str, _Running] = {}
        self._learnt: dict[str, _Learnt] = defaultdict(_Learnt)
        self._loaded: set[_Place] = set()

    def _waits(self, trial: PlannedTrial) -> None:
        self._waits_no_more(trial)
        self._waiting[trial.intent.id] = trial
        self._count(trial, 1)

    def _waits_no_more(self, trial: PlannedTrial) -> None:
        earlier = self._waiting.pop(trial.intent.id, None)
        if earlier is not None:
            self._count(earlier, -1)

    def _count(self, trial: PlannedTrial, change: int) -> None:
        intent = trial.intent
        self._waiting_by_length[intent.benchmark.name, trial.expected_duration_s, intent.block] += change
        if _loads_apart(trial):
            self._waiting_to_load[_place(trial)] += change

    def started(self, trial: PlannedTrial, now_s: float) -> None:
        """A trial starts."""
        self._waits_no_more(trial)
        self._running[trial.intent.id] = _Running(trial, now_s)
        self._at_once = max(self._at_once, len(self._running))

    def loading(self, trial_id: str, now_s: float, share: float | None = None) -> None:
        """A trial loads its data set, of which `share` is there; None: not known. May be repeated."""
        running = self._running.get(trial_id)
        if running is None:
            return
        if running.loading_since_s is None:
            running.loading_since_s = now_s
        if share:
            running.load_ends_s = running.loading_since_s + (now_s - running.loading_since_s) / share

    def loaded(self, trial_id: str, now_s: float) -> None:
        """It has loaded it."""
        running = self._running.get(trial_id)
        if running is not None and running.loading_since_s is not None:
            running.load_s += now_s - running.loading_since_s
            running.loading_since_s, running.began_s = None, now_s

    def ended(self, trial: PlannedTrial, took_s: float | None, load_s: float | None = None) -> None:
        """A trial ended.

        Args:
            trial: of the plan.
            took_s: its whole duration with its load; None: not known, or it failed and says nothing about the others.
            load_s: how much of it was the load; None: what `loading` and `loaded` told.
        """
        self._waits_no_more(trial)
        running = self._running.pop(trial.intent.id, None)
        if took_s is None:
            return
        if load_s is None:
            load_s = running.load_s if running is not None else 0.0
        load_s = load_s if _loads_apart(trial) else 0.0
        learnt = self._learnt[trial.intent.benchmark.name]
        learnt.expected_s += trial.expected_duration_s
        learnt.took_s += max(0.0, took_s - load_s)
        if _place(trial) not in self._loaded:
            learnt.loads_s.append(load_s)
        self._loaded.add(_place(trial))

    def left_out(self, trials: Collection[str]) -> None:
        """A look was taken, and nothing needs these trials any more."""
        self._looked = True
        for trial in [self._waiting[name] for name in trials if name in self._waiting]:
            self._waits_no_more(trial)

    def again(self, trial: PlannedTrial) -> None:
        """A trial will be measured once more."""
        self._running.pop(trial.intent.id, None)
        self._waits(trial)

    def seconds(self, now_s: float) -> float:
        """Until the last trial ends, if as many run at once as have, and looks leave out as much as in simulations."""
        scales = {benchmark: self._scale(benchmark) for benchmark, *_ in self._waiting_by_length}
        following = min((block for (*_, block), trials in self._waiting_by_length.items() if trials), default=0)
        waiting_s = sum(
            trials * self._share(block, following) * expected_s * scales[benchmark]
            for (benchmark, expected_s, block), trials in self._waiting_by_length.items()
        )
        running = {_place(one.trial) for one in self._running.values()}
        loads_s = sum(
            self._load_s(place[0])
            for place, trials in self._waiting_to_load.items()
            if trials and place not in self._loaded and place not in running
        )
        running_s = [
            one.load_left_s(now_s) + max(0.0, self.expected_s(one.trial) - self.spent_s(one.trial, now_s))
            for one in self._running.values()
        ]
        at_once = min(self._at_once, len(self._waiting) + len(self._running))
        return (waiting_s + loads_s + sum(running_s)) / max(1, at_once)

    def _share(self, block: int, following: int) -> float:
        """How many of the waiting trials of a block will be measured, where `following` is the next one."""
        if not self._stops:
            return 1.0
        if self._looked:
            return float(KEPT_BY_A_BLOCK ** (block - following))
        return LATER_SHARE if block > FULL_BLOCKS else 1.0

    def spent_s(self, trial: PlannedTrial, now_s: float) -> float:
        """By a trial since it started or, later, since its data set was there; 0 while it loads or does not run."""
        running = self._running.get(trial.intent.id)
        if running is None:
            return 0.0
        return 0.0 if running.loading_since_s is not None else now_s - running.began_s

    def expected_s(self, trial: PlannedTrial) -> float:
        """Of one trial without its load.

        By its own benchmark if one has ended, else by all others: a machine that is slow is slow for all.
        """
        return trial.expected_duration_s * self._scale(trial.intent.benchmark.name)

    def _scale(self, benchmark: str) -> float:
        own = self._learnt.get(benchmark)
        known = [own] if own is not None and own.expected_s else list(self._learnt.values())
        expected_s = sum(one.expected_s for one in known)
        return sum(one.took_s for one in known) / expected_s if expected_s else 1.0

    def _load_s(self, benchmark: str) -> float:
        """The mean of its loads so far; 0 before the first one."""
        learnt = self._learnt.get(benchmark)
        return sum(learnt.loads_s) / len(learnt.loads_s) if learnt is not None and learnt.loads_s else 0.0


def _place(trial: PlannedTrial) -> _Place:
    """Configurations on one server of the user's share its data sets."""
    database = trial.intent.configuration.get("database") or {}
    return trial.intent.benchmark.name, str(database.get("dsn") or trial.intent.configuration_name)


def _loads_apart(trial: PlannedTrial) -> bool:
    return provider_of_machines(trial.intent.configuration) in _PLAN_KNOWS_NO_LOADS
