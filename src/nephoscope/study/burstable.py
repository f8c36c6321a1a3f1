"""Machine types that earn CPU credits and spend them above their baseline, by name.

Sources: AWS, "Burstable performance instances" (T2, T3, T3a, T4g); Google Cloud, "Shared-core machine types" (e2-micro,
e2-small, e2-medium, f1-micro, g1-small); Azure, "B family" (Standard_B1s, Standard_B2ats_v2).
"""

import re
from typing import Final

_BURSTABLE: Final = re.compile(
    r"t[23][a-z]?\.\w+|t4g\.\w+|e2-(?:micro|small|medium)|f1-micro|g1-small|Standard_B\d\w*", re.IGNORECASE
)


def is_burstable(machine_type: str | None) -> bool:
    """True for a type that is sold with CPU credits; False for every other one, and for None."""
    return machine_type is not None and _BURSTABLE.fullmatch(machine_type) is not None
