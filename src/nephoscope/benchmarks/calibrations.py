"""Calibrations of the load generator that are still good: made on the same machines since they were booted."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Calibration:
    """What the load generator wrote when it was calibrated."""

    output: bytes
    made_in: str
    """The attempt: '03b116bb56f3/1'."""


class Calibrations:
    """Those of one run of a study. A resumed run calibrates again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, tuple[str, ...], str], Calibration] = {}

    def of(self, attempt: str, configuration: str, boots: Sequence[str | None]) -> "OwnCalibrations":
        """Those that an attempt may use.

        Args:
            attempt: its name, for what it adds.
            configuration: the name of its configuration: another server on the same machine answers otherwise.
            boots: the boot id of each machine of its cluster. None: it is not known, so that nothing is kept.
        """
        known = tuple(boot for boot in boots if boot is not None)
        return OwnCalibrations(attempt, configuration, known if len(known) == len(boots) else None, self._kept)


@dataclass(frozen=True)
class OwnCalibrations:
    """Those of one configuration on the same machines."""

    _attempt: str = ""
    _configuration: str = ""
    _boots: tuple[str, ...] | None = None
    _kept: dict[tuple[str, tuple[str, ...], str], Calibration] = field(default_factory=dict)

    def find(self, load: str) -> Calibration | None:
        """The one with the same load: connections, threads, protocol."""
        return None if self._boots is None else self._kept.get((self._configuration, self._boots, load))

    def keep(self, load: str, output: bytes) -> None:
        """Later attempts may use it."""
        if self._boots is not None:
            self._kept[self._configuration, self._boots, load] = Calibration(output, self._attempt)
