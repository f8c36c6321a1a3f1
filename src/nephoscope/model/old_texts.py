"""The one place that reads sentences: those in files of earlier versions, which stored no facts beside them."""

import re
from typing import Any

_WARNINGS = {
    "hours": r"^the (hours|time) includes? (an )?estimates?|^the first read of a volume|loads? (its )?data sets? again",
    "prices": r"the plan uses another region's",
    "placement": r"all replicates of a configuration (share one machine|run on the same hosts)",
}


def plan_warning(stored: Any) -> Any:
    """The fields of a plan's warning that was stored as a sentence alone."""
    if not isinstance(stored, str):
        return stored
    kind = next((kind for kind, pattern in _WARNINGS.items() if re.search(pattern, stored)), "other")
    return {"kind": kind, "text": stored}
