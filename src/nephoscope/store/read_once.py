"""An attempt whose files are read only once: an analysis asks for the same ones many times."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeVar

from typing_extensions import override

from nephoscope.model.control import Lease
from nephoscope.model.records import (
    CommandRecord,
    FactsRecord,
    Measurement,
    NetworkBytes,
    OperationErrors,
    ResourceUse,
    StartedRecord,
    Status,
    Verdict,
)
from nephoscope.store.attempt import Attempt
from nephoscope.store.digests import STATUS

Read = TypeVar("Read")


class ReadOnce(Attempt):
    """For readers only: it does not notice what is written after its first look."""

    def __init__(self, attempt: Attempt, names: Collection[str] | None = None) -> None:
        """`names`: of all its files, by their paths below its folder; None: not known."""
        super().__init__(attempt.folder)
        self._names = names
        self._known: dict[str, Any] = {}

    def _once(self, name: str, read: Callable[[], Read]) -> Read:
        if name not in self._known:
            self._known[name] = read()
        found: Read = self._known[name]
        return found

    @override
    def _derived_status(self) -> Status | None:
        return self._once("derived status", super()._derived_status)

    @override
    def committed(self) -> Status | None:
        return self._once("committed", super().committed)

    @override
    def _content(self, name: str) -> bytes | None:
        """Only the commit marks are asked for more than once as they are."""
        read = super()._content
        return self._once(name, partial(read, name)) if name.endswith(STATUS) else read(name)

    def forget(self) -> None:
        """Forgets everything that was read."""
        self._known.clear()

    @override
    def lease(self) -> Lease | None:
        return self._once("lease", super().lease)

    @override
    def started(self) -> StartedRecord | None:
        return self._once("started", super().started)

    @override
    def facts(self) -> list[FactsRecord]:
        return self._once("facts", super().facts)

    @override
    def commands(self) -> list[CommandRecord]:
        return self._once("commands", super().commands)

    @override
    def measurements(self) -> list[Measurement]:
        return self._once("measurements", super().measurements)

    @override
    def errors(self) -> list[OperationErrors]:
        return self._once("errors", super().errors)

    @override
    def network(self) -> list[NetworkBytes]:
        return self._once("network", super().network)

    @override
    def resources(self) -> list[ResourceUse]:
        return self._once("resources", super().resources)

    @override
    def verdicts(self) -> list[Verdict]:
        return self._once("verdicts", super().verdicts)
