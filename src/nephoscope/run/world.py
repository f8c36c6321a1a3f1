"""Everything a trial touches that is not a value, handed in: ports, clock, listeners."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.calibrations import Calibrations
from nephoscope.databases.base import Database
from nephoscope.machines.doctor import HostFindings
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.records import Facts, PlannedTrial, Status, VerdictKind
from nephoscope.providers.base import Provider
from nephoscope.run.clock import Clock

Observe = Callable[[MachineHandle], Awaitable[tuple[Facts, dict[str, str]]]]
"""Observes a machine: facts, and the verbatim answers they were read from."""


class Listener(Protocol):
    """Listener for the progress of a study."""

    def hosts_examined(self, hosts: Sequence[HostFindings]) -> None:
        """Before the first call below: what was found out about the study's own hosts, whether they fit or not."""

    def study_started(self, planned: int, finished_before: int) -> None:
        """The first call."""

    def trial_started(self, trial: PlannedTrial) -> None:
        """A trial starts."""

    def notice(self, text: str) -> None:
        """Something outside of trials that a person should know."""

    def value(self, text: str) -> None:
        """The last thing seen inside the trial ('12,345 operations/s')."""

    def loading(self, trial_id: str, share: float | None) -> None:
        """A trial loads its data set, of which `share` is there; None: not known. May be repeated."""

    def loaded(self, trial_id: str) -> None:
        """It has loaded its data set."""

    def trial_again(self, trial: PlannedTrial, reasons: list[str], wait_s: float) -> None:
        """An attempt failed for `reasons` that are not the trial's fault; it is retried after `wait_s` seconds."""

    def pausing(self, rejected: int, why: str, wait_s: float) -> None:
        """So many trials in a row were disturbed; the next one waits for a quiet machine, at most `wait_s` seconds."""

    def trial_repeated(self, trial: PlannedTrial, why: str) -> None:
        """A rejected trial will be measured once more, in addition to the plan."""

    def left_out(self, trials: Collection[str]) -> None:
        """A look was taken after a block: no open question needs the trials with these ids."""

    def trial_ended(self, trial: PlannedTrial, status: Status, verdict: VerdictKind | None, reasons: list[str]) -> None:
        """A trial ended; `reasons` say why it is not valid, if it is not."""


@dataclass(frozen=True)
class World:
    """The shell around the pure core; a test builds one from fakes."""

    providers: Mapping[str, Provider]
    databases: Mapping[str, Database]
    benchmarks: Mapping[str, Benchmark]
    observe: Observe
    clock: Clock
    listener: Listener
    load_program: str
    """Path of nephoscope-load on the machines."""
    version: str
    """Version of nephoscope."""
    calibrations: Calibrations = field(default_factory=Calibrations)
    """Grows while the study runs."""
    new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None
    """Makes the event loop that its clock needs; None: any will do."""
