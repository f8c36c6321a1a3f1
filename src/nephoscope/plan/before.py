"""What comes before a trial: making its machines, loading or restoring its data set. Guesses, told as such."""

from typing import Any, Literal, Protocol, runtime_checkable

from nephoscope.model.units import MIB
from nephoscope.study.cloud import CLOUDS
from nephoscope.study.model import Configuration

_EMULATED = "emulated"
MAKE_S = 240.0
"""To make machines, boot them, take the tools there and start the database; and at last to give them back."""
EMULATED_HOST_S = 6.0
"""To make an emulated machine with a fifth of a CPU, look at it, and start its part of the database; one with more
takes less."""
GIVE_BACK_S = 60.0
"""Of that: what is left of the money for a cluster when it is ended for the budget."""
LOAD_BYTES_PER_S = 60 * MIB
"""A cluster's, with three copies and its indexes."""
RESTORE_BYTES_PER_S = 200 * MIB
"""A cluster's, from a copy on its own disks or in a bucket of its region."""


@runtime_checkable
class HasDataSet(Protocol):
    """A benchmark that loads a data set."""

    def fixture_bytes(self, parameters: Any) -> int:
        """Disk that it needs when it is loaded."""
        ...


class Before:
    """Seconds before each trial, in the order of the plan: what is kept is not made twice."""

    def __init__(self, placement: Literal["fresh", "per-configuration"]) -> None:
        self._placement = placement
        self._made: set[str] = set()
        self._providers: set[str] = set()
        self._kept: set[tuple[str, int]] = set()
        self._loads_anew: set[str] = set()
        """Providers where every trial does."""

    def of(self, configuration: Configuration, fixture_bytes: int) -> float:
        """Of the next trial; 0 where nobody makes the machines.

        Backups in a bucket outlive a cluster and serve every configuration that names it; what is kept on a cluster is
        gone with it.
        """
        whole_s = _make_s(configuration)
        if not whole_s:
            return 0.0
        fresh = self._placement == "fresh"
        make_s = whole_s if fresh or configuration.name not in self._made else 0.0
        self._made.add(configuration.name)
        self._providers.add(configuration.provider)
        if not fixture_bytes or configuration.provider == _EMULATED:
            return make_s
        bucket = configuration.database.fixtures
        kept = (bucket or configuration.name, fixture_bytes)
        loaded = kept in self._kept and (bucket is not None or not fresh)
        self._kept.add(kept)
        if fresh and bucket is None:
            self._loads_anew.add(configuration.provider)
        restore_s = fixture_bytes / RESTORE_BYTES_PER_S
        return make_s + restore_s + (0.0 if loaded else fixture_bytes / LOAD_BYTES_PER_S)

    def notes(self) -> list[str]:
        """What a reader of the hours should know."""
        if not self._made:
            return []
        load, restore = f"{LOAD_BYTES_PER_S / MIB:g} MiB/s", f"{RESTORE_BYTES_PER_S / MIB:g} MiB/s"
        found: list[str] = []
        if self._providers - {_EMULATED}:
            found.append(
                f"hours hold guesses: {MAKE_S:g} s to make a cluster, loading at {load}, restoring at {restore}"
            )
        if _EMULATED in self._providers:
            found.append(f"the time holds a guess: {EMULATED_HOST_S:g} s for each emulated machine of a database")
        if self._loads_anew:
            where = ", ".join(sorted(self._loads_anew))
            found.append(
                f"{where}: every trial loads its data set anew, as its cluster is fresh and nothing outlives it; give "
                '`database.fixtures` of a bucket, or take `placement = "per-configuration"`'
            )
        return found


def _make_s(configuration: Configuration) -> float:
    """Of the machines of one cluster; 0: nobody makes them."""
    if configuration.provider == _EMULATED:
        return EMULATED_HOST_S * configuration.database_machine.count
    return MAKE_S if configuration.provider in CLOUDS else 0.0
