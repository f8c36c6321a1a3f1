"""What files of earlier versions say in other ways: the one place that reads sentences, and a unit's old name."""

import re
from typing import Any

_SHARE = "_share"
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


def unit_of_metric(name: str, unit: str) -> str:
    """The unit of a metric; shares were stored as plain numbers, which people read as no percentages."""
    return "share" if unit == "1" and name.endswith(_SHARE) else unit
