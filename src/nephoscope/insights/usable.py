"""How many trials can be used, and what repairs the cells that lost some."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, say
from nephoscope.model.usable import UsableCell

NAME = "usable"
MAX_CELLS = 5
"""With more cells than this, only those that lost most are named."""


def usable(lookup: Lookup) -> list[Draft]:
    """One sentence about the study and one about each cell with trials that cannot be used, the worst first.

    Silent where all can be used, and for imports, which nobody here can repeat.
    """
    lost = lookup.study.lost
    if not lost:
        return []
    numbers = {
        "usable": sum(row.counts for row in lookup.study.trials),
        "planned": sum(row.state != "not needed" for row in lookup.study.trials),
        "cells": len(lost),
        "more": len(lost) - MAX_CELLS,
    }
    template = "Usable: {usable:count} of {planned:count} " + plural(numbers["planned"], "trial") + "."
    if len(lost) > MAX_CELLS:
        template += " {cells:count} cells lost some; the worst follow, and `nephoscope status DIR` names all."
    trials = [trial for cell in lost for group in cell.unusable for trial in group.trials]
    return [
        say(NAME, "warning", template, numbers=numbers, trials=trials),
        *(_cell(cell) for cell in lost[:MAX_CELLS]),
    ]


def _cell(cell: UsableCell) -> Draft:
    """As `sentence` of the command line, with its numbers by name."""
    numbers: dict[str, float] = {"usable": cell.usable, "planned": cell.planned}
    words: dict[str, str] = {}
    parts: list[str] = []
    for key, group in keyed(cell.unusable):
        numbers[f"count_{key}"], words[f"why_{key}"] = len(group.trials), str(group.why)
        parts.append(f"{{count_{key}:count}} {{why_{key}}}")
    return say(
        NAME,
        "warning",
        "{benchmark_name} on {name}: {usable:count} of {planned:count} usable (" + ", ".join(parts) + "). {repair}",
        numbers=numbers,
        trials=[trial for group in cell.unusable for trial in group.trials],
        benchmark=cell.benchmark,
        benchmark_name=cell.benchmark,
        name=cell.configuration,
        repair=" ".join(dict.fromkeys(group.repair for group in cell.unusable)),
        **words,
    )
