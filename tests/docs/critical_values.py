"""Writes the critical values that plans read: `python -m tests.docs.critical_values`, in the repository."""

import json
import sys
from pathlib import Path

import numpy as np
from scipy import special  # type: ignore[import-untyped]

import nephoscope.stats
from nephoscope.stats import studentized_range
from nephoscope.stats.decide import ALPHA, POWER
from nephoscope.stats.detectable_table import CriticalValues
from nephoscope.stats.leaderboard import MIN_VALUES

FILE = Path(nephoscope.stats.__path__[0]) / "critical_values.json"
FREEDOM_OF_T = (1e9, 1000, 300, 150, 100, 75, 60, 50, 45, 40, 36, 33, *range(30, 0, -1))
"""Between the inverses of these, Student's t is right to four digits."""


def computed() -> CriticalValues:
    """The table."""
    freedom = studentized_range._FREEDOM[::-1]
    places = range(freedom.size - 1, -1, -1)
    return {
        "alpha": ALPHA,
        "power": POWER,
        "min_replicates": MIN_VALUES,
        "groups": studentized_range._GROUPS.tolist(),
        "range_inverse_freedom": (1 / freedom).tolist(),
        "log_ranges": [studentized_range._row(place, ALPHA).tolist() for place in places],
        "t_inverse_freedom": [1 / one for one in FREEDOM_OF_T],
        "t_two_sided": special.stdtrit(np.array(FREEDOM_OF_T), 1 - ALPHA / 2).tolist(),
        "t_power": special.stdtrit(np.array(FREEDOM_OF_T), POWER).tolist(),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(computed()).replace(', "', ',\n"').replace("], [", "],\n[") + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {FILE.name}\n")
