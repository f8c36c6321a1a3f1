"""Where a study's machines stand among public results of CPUs and memory, as the report and `place` say it."""

from nephoscope.analysis.lookup import unique
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.numbers import quantity
from nephoscope.model.numbers import share as percentage
from nephoscope.model.rows import MachineRow
from nephoscope.model.standing import MemoryStanding, Standing, StandingRow
from nephoscope.model.words import counted, enumeration


def placed(study: AnalysedStudy) -> Standing | None:
    """Where its machines stand, or why they do not; None unless they exist and ran what the public results are of."""
    found = study.standing
    return found if (found.is_asked or found.memory) and not study.plan.simulated else None


def why_not(study: AnalysedStudy) -> str:
    """A sentence for a study that ran what the public results are of, and still cannot be placed; else empty."""
    found = placed(study)
    if found is None or found.rows or found.memory:
        return ""
    hosts = unique(row.facts.hostname or row.machine for row in study[MachineRow])
    subject = "The machine is" if len(hosts) == 1 else "The machines are"
    return f"{subject} not placed among cloud types: {found.why_not}."


def sentence(standing: Standing) -> str:
    """Where the fastest CPU of the study stands."""
    best = standing.rows[0]
    together = "It is" if best.alone else f"All its {counted(best.cpus, 'CPU')} together are"
    return f"{place_of(best, standing)} {together} about as fast as {', '.join(best.nearest)}."


def place_of(row: StandingRow, standing: Standing) -> str:
    """How a CPU of one machine compares with those of all types."""
    share, alone = row.slower_per_vcpu / len(standing.among), " that works alone" if row.alone else ""
    return (
        f"A CPU of {row.configuration}{alone} is faster than a vCPU{alone} of {percentage(share)} of "
        f"{len(standing.among):,} cloud types ({row.per_vcpu_per_s:,.0f} bogo operations a second)."
    )


def memory_sentence(standing: Standing) -> str:
    """Where the memory of the study's fastest machine stands."""
    best = standing.memory[0]
    return (
        f"{memory_place_of(best, standing)} All its {counted(best.cpus, 'CPU')} together read about as much as "
        f"{', '.join(best.nearest)}."
    )


def memory_place_of(row: MemoryStanding, standing: Standing) -> str:
    """How the memory of one machine compares with that of all types."""
    share = row.slower_per_vcpu / len(standing.memory_among)
    return (
        f"A CPU of {row.configuration} reads memory faster than a vCPU of {percentage(share)} of "
        f"{len(standing.memory_among):,} types of Google Cloud ({quantity(row.per_vcpu_per_s, 'B/s')})."
    )


def memory_source(standing: Standing) -> str:
    """Who measured the memory of the types, and what that is worth."""
    days = sorted(one.date for one in standing.memory_among)
    versions = enumeration(sorted({one.version for one in standing.memory_among}))
    return (
        f"Each type was measured once, between {days[0]} and {days[-1]}, with membench {versions}, which is another "
        f"program: differences of some percent mean nothing. {standing.source}, {standing.licence}."
    )
