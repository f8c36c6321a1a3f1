"""Where a study's machines stand among public CPU results, as the report and `nephoscope place` say it."""

from nephoscope.analysis.lookup import unique
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import MachineRow
from nephoscope.model.standing import Standing, StandingRow
from nephoscope.model.words import counted


def placed(study: AnalysedStudy) -> Standing | None:
    """Where its machines stand, or why they do not; None unless they exist and ran what the public results are of."""
    found = study.standing
    return None if not found.is_asked or study.plan.simulated else found


def why_not(study: AnalysedStudy) -> str:
    """A sentence for a study that ran what the public results are of, and still cannot be placed; else empty."""
    found = placed(study)
    if found is None or found.rows:
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
        f"A CPU of {row.configuration}{alone} is faster than a vCPU{alone} of {share:.0%} of {len(standing.among):,} "
        f"cloud types ({row.per_vcpu_per_s:,.0f} bogo operations a second)."
    )
