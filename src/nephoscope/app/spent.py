"""What `run` says of its time."""

from nephoscope.model.numbers import duration
from nephoscope.run.timing import TimeSpent

_LEAST_S = 0.5
"""A step that took less is not worth a word."""


def in_one_line(spent: TimeSpent) -> str:
    """'took 5 min 40 s: benchmarks 4 min 38 s (82%), checking machines 28 s, databases and data 25 s, the rest 9 s'.

    Clusters that are in use at the same time spend more than has elapsed; then there is no rest, and no share of it.
    """
    total_s = sum(spent.by_step_s.values())
    beside = total_s > spent.elapsed_s
    share_of_s = total_s if beside else spent.elapsed_s
    steps = [
        f"{step} {duration(round(seconds))}" + (f" ({seconds / share_of_s:.0%})" if place == 0 else "")
        for place, (step, seconds) in enumerate(spent.by_step_s.items())
        if seconds >= _LEAST_S
    ]
    rest_s = spent.elapsed_s - total_s
    if rest_s >= _LEAST_S:
        steps.append(f"the rest {duration(round(rest_s))}")
    said = f"took {duration(round(spent.elapsed_s))}"
    if not steps:
        return said
    return f"{said}: {', '.join(steps)}" + (", added up over clusters" if beside else "")
