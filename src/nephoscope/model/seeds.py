"""Seeds of parts from the seed of a whole: a study's, its replicates', the points of a search."""

import hashlib


def derive_seed(whole: int, *part: str | int) -> int:
    """A seed below 2**63 that is always the same for a part, and independent of the seeds of all other parts."""
    text = "/".join(str(one) for one in (whole, *part))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
