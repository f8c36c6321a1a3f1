"""Numbers in sentences, where several packages say them."""

from nephoscope.model.units import SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE

SIMULATED = "Simulated, not measured"
"""What the title and every figure of a rehearsal say."""
NOBODY_MEASURED = (
    "Nobody measured this: no machine exists, and a program drew every number. It shows what a report of this study "
    "would look like, and nothing about real machines."
)
"""The first paragraph of its report."""


def counted(count: int, noun: str) -> str:
    """'1 row', '3,102 rows'."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration(seconds: float) -> str:
    """'8 s', '2 min 05 s', '3 h 10 min', '1,234 h (51.4 days)'."""
    whole = round(seconds)
    if whole < SECONDS_PER_MINUTE:
        return f"{whole} s"
    if whole < SECONDS_PER_HOUR:
        return f"{whole // SECONDS_PER_MINUTE} min {whole % SECONDS_PER_MINUTE:02d} s"
    if whole < SECONDS_PER_DAY:
        return f"{whole // SECONDS_PER_HOUR} h {whole % SECONDS_PER_HOUR // SECONDS_PER_MINUTE:02d} min"
    return f"{whole / SECONDS_PER_HOUR:,.0f} h ({whole / SECONDS_PER_DAY:,.1f} days)"


def dollars(usd: float) -> str:
    """'$0.10', '$101,491.71'."""
    return f"${usd:,.2f}"
