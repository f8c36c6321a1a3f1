"""What a study may expect of a machine, one key each: `expect_sockets = 1`. Keys it does not set are not checked.

One class for all of them: an expectation is a field of `Expected`, the observed fact, and the rule by which the two
match.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nephoscope.checks.machine import as_expected
from nephoscope.checks.thresholds import CACHE_DIFFERS, DISK_MISSING
from nephoscope.model.records import Evidence, Facts, Verdict
from nephoscope.model.units import GIB, MIB
from nephoscope.model.words import counted

_NO_BARRIER = {"nobarrier", "barrier=0"}
_BARRIER = {"barrier", "barrier=1"}


@dataclass(frozen=True)
class Expectation:
    """Compares one fact of a machine with what the study expects."""

    name: str
    text: str
    field: str
    """Field of `Expected`."""
    observed: Callable[[Facts], Any]
    meets: Callable[[Any, Any], bool]
    """(observed, expected) -> True if they match"""
    said: Callable[[Any], str]
    """The value in words, for messages."""

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """The fact observed before the trial; None if the study expects nothing."""
        expected = getattr(evidence.expected, self.field)
        if expected is None:
            return None

        def judge(facts: Facts) -> tuple[bool | None, str]:
            observed = self.observed(facts)
            if observed is None:
                return None, "the machine does not report it"
            return self.meets(observed, expected), f"{self.said(observed)}, expected {self.said(expected)}"

        return as_expected(self.name, evidence, judge)


def _equal(observed: Any, expected: Any) -> bool:
    return bool(observed == expected)


def _holds(observed: str, expected: str) -> bool:
    return expected.casefold() in observed.casefold()


def _kind(rotational: bool | None) -> str | None:
    return None if rotational is None else "hdd" if rotational else "ssd"


def _mounted_as(observed: str, expected: Sequence[str]) -> bool:
    return all(_is_mounted(set(observed.split(",")), option) for option in expected)


def _is_mounted(options: set[str], wanted: str) -> bool:
    """ext4 shows `nobarrier` however it was written, and shows nothing if barriers are on."""
    if wanted in _BARRIER:
        return not options & _NO_BARRIER
    return bool(options & _NO_BARRIER) if wanted in _NO_BARRIER else wanted in options


EXPECTATIONS = (
    Expectation(
        "sockets",
        "Rejects a machine whose number of sockets differs from what the study expects (`expect_sockets`).",
        "sockets",
        lambda facts: facts.sockets,
        _equal,
        lambda count: counted(count, "socket"),
    ),
    Expectation(
        "numa-nodes",
        "Rejects a machine whose number of NUMA nodes differs from what the study expects (`expect_numa_nodes`).",
        "numa_nodes",
        lambda facts: facts.numa_nodes,
        _equal,
        lambda count: counted(count, "NUMA node"),
    ),
    Expectation(
        "cpu-cache",
        "Rejects a machine whose last-level cache, all instances together, differs by more than "
        f"{CACHE_DIFFERS.percent} "
        "from what the study expects (`expect_l3_mib`).",
        "l3_bytes",
        lambda facts: facts.l3_bytes,
        lambda observed, expected: abs(observed - expected) <= CACHE_DIFFERS.value * expected,
        lambda size: f"{size / MIB:g} MiB of last-level cache",
    ),
    Expectation(
        "disk-size",
        f"Rejects a machine whose data folder is on a filesystem more than {DISK_MISSING.percent} smaller than the "
        "study expects (`expect_disk_gib`).",
        "disk_bytes",
        lambda facts: facts.disk.size_bytes,
        lambda observed, expected: observed >= expected * (1 - DISK_MISSING.value),
        lambda size: f"{size / GIB:.1f} GiB",
    ),
    Expectation(
        "disk-kind",
        "Rejects a machine whose disk, according to its kernel, is not of the kind the study expects "
        "(`expect_disk_kind`).",
        "disk_kind",
        lambda facts: _kind(facts.disk.rotational),
        _equal,
        str,
    ),
    Expectation(
        "filesystem",
        "Rejects a machine whose data folder is not on the kind of filesystem the study requires (`filesystem`).",
        "filesystem",
        lambda facts: facts.disk.filesystem,
        _equal,
        str,
    ),
    Expectation(
        "mount-options",
        "Rejects a machine whose data folder is not mounted as the study requires (`mount_options`, and of an emulated "
        "machine `disk_barriers`).",
        "mount_options",
        lambda facts: facts.disk.mount_options,
        _mounted_as,
        lambda options: options if isinstance(options, str) else ",".join(options),
    ),
    Expectation(
        "clock-source",
        "Rejects a machine whose clock source is not the one the study expects (`expect_clock_source`).",
        "clock_source",
        lambda facts: facts.clock_source,
        _equal,
        str,
    ),
    Expectation(
        "kernel",
        "Rejects a machine whose kernel release does not contain what the study expects (`expect_kernel`).",
        "kernel_contains",
        lambda facts: facts.kernel,
        _holds,
        str,
    ),
)
"""All expectations, in the order of the report."""
