"""What comes before a trial on a cloud: making machines, loading or restoring its data set. Guesses, told as such."""

from typing import Any, Literal, Protocol, runtime_checkable

from nephoscope.study.cloud import CLOUDS
from nephoscope.study.model import Configuration
from nephoscope.units import MIB

MAKE_S = 240.0
"""To make machines, boot them, take the tools there and start the database; and at last to give them back."""
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
        self._kept: set[tuple[str, int]] = set()
        self._loads_anew: set[str] = set()
        """Providers where every trial does."""

    def of(self, configuration: Configuration, fixture_bytes: int) -> float:
        """Of the next trial; 0 where no cloud makes the machines.

        Backups in a bucket outlive a cluster and serve every configuration that names it; what is kept on a cluster is
        gone with it.
        """
        if configuration.provider not in CLOUDS:
            return 0.0
        fresh = self._placement == "fresh"
        make_s = MAKE_S if fresh or configuration.name not in self._made else 0.0
        self._made.add(configuration.name)
        if not fixture_bytes:
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
        found = [f"hours hold guesses: {MAKE_S:g} s to make a cluster, loading at {load}, restoring at {restore}"]
        if self._loads_anew:
            where = ", ".join(sorted(self._loads_anew))
            found.append(
                f"{where}: every trial loads its data set anew, as its cluster is fresh and nothing outlives it; give "
                '`database.fixtures` of a bucket, or take `placement = "per-configuration"`'
            )
        return found
