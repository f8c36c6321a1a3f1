"""Can the highest load continue? What its confirmations cost the database besides response times."""

from nephoscope.checks.thresholds import DISK_LASTS
from nephoscope.checks.verdicts import invalid, percent
from nephoscope.model.records import Evidence, SustainedEvidence, Verdict, VerdictKind
from nephoscope.model.units import MIB

_SECONDS_PER_HOUR = 3600


class Sustained:
    """A level that fills the disk within the hour cannot be sustained."""

    name = "sustained"
    text = (
        f"Rejects a highest load at which the disk would be full within {DISK_LASTS.words}, at the rate of its "
        "confirmations, or at which the database rejected writes or dropped records. The volume written to the log, "
        "the cache hit ratio and the backlog of compaction are reported. The free space of the user's own server "
        "cannot be observed, and this is reported. A store that rewrites blocks (Aerospike) loses free blocks until "
        "those in use have emptied enough to be rewritten. Such a loss is accepted if the number of blocks that "
        "wait for this does not grow and, at worst, the data still leave blocks free."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Free space over the space lost per second; None without a search, or if the database reports nothing."""
        found = evidence.operations.sustained if evidence.operations else None
        if found is None:
            return None
        told = _told(found)
        if found.trouble:
            return invalid(self.name, "; ".join([str(found.trouble), *told]))
        kind, said = _room(found)
        return Verdict(check=self.name, verdict=kind, reason="; ".join([said, *told]))


def _room(found: SustainedEvidence) -> tuple[VerdictKind, str]:
    """The verdict on free space alone."""
    if found.disk_unseen:
        return VerdictKind.VALID, "free space was not observed: the server is the user's own"
    if found.free_bytes is None or found.free_lost_per_s is None:
        return VerdictKind.UNKNOWN, "the free space is not known"
    if found.free_lost_per_s <= 0:
        return VerdictKind.VALID, "no free space was lost in the confirmations"
    lasts_s = found.free_bytes / found.free_lost_per_s
    said = f"free space lasts {lasts_s / _SECONDS_PER_HOUR:.2g} h at the rate of the confirmations"
    if lasts_s >= DISK_LASTS.value:
        return VerdictKind.VALID, said
    if _levels_off(found):
        return VerdictKind.VALID, (
            f"free space shrank while blocks filled, but at least {(found.assured_bytes or 0) / MIB:.0f} MiB remain "
            "free: defragmentation kept up"
        )
    return VerdictKind.INVALID, f"{said} (required: {DISK_LASTS.words})"


def _levels_off(found: SustainedEvidence) -> bool:
    """The loss of free space ends by itself; False where the database does not report it."""
    if not found.assured_bytes or found.assured_lost_per_s is None:
        return False
    lost_per_s = found.assured_lost_per_s
    return lost_per_s <= 0 or found.assured_bytes / lost_per_s >= DISK_LASTS.value


def _told(found: SustainedEvidence) -> list[str]:
    said = []
    if found.log_per_s is not None:
        said.append(f"log {found.log_per_s / MIB:.3g} MiB/s")
    if found.cache_hit_share is not None:
        said.append(f"the cache served {percent(found.cache_hit_share)} of reads")
    if found.debt_per_s is not None:
        said.append(f"the backlog of compaction grew by {found.debt_per_s / MIB:.3g} MiB/s")
    return said
