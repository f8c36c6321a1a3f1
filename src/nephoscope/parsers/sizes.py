"""Amounts as tools of util-linux and /proc print them: '46080K', '35.8 MiB (1 instance)', '37486592'."""

import re

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.units import KIB
from nephoscope.parsers.text import INTEGER, shown

_SIZE = re.compile(
    rf"(?P<number>[0-9]{{1,15}}(?:[.,][0-9]{{1,9}})?) ?(?P<unit>(?:[KMGTP](?:i?B)?|B)?)"
    rf"(?: \((?P<instances>{INTEGER}) instances?\))?"
)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


def size_of(text: str, what: str) -> tuple[int, int]:
    """(bytes of all instances together, number of instances; 1 where none is printed).

    Some languages print a comma for the point; units are powers of 1024, whatever their name.

    Raises:
        OutputUnreadable: no amount.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match or (match["instances"] and int(match["instances"]) == 0):
        raise OutputUnreadable(f"{what}: {shown(text)} is not a size")
    power = _POWER[match["unit"][:1].replace("B", "")]
    return round(float(match["number"].replace(",", ".")) * KIB**power), int(match["instances"] or 1)
