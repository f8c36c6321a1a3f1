"""The table of what reliability aims at and what was reached, from stored counts and from the tests themselves."""

from bench.soak.stored import load
from bench.soak.tables import INPUTS_AIM, KILLS_AIM, inputs_reached, kills_reached, tables
from tests.support.broken_studies import MISTAKES, planned_ones

BROKEN_AIM = 300


def reliability() -> str:
    """One row for each aim."""
    stored = load()
    rows = [
        (
            "[controller killed with -9](#killed-controllers)",
            f"{KILLS_AIM:,} kills: 0 trials lost, 0 measured twice, 0 things left",
            kills_reached(stored),
        ),
        (
            "[damaged inputs](#damaged-inputs)",
            f"{INPUTS_AIM:,}: 0 uncaught, 0 over 10 s, 0 over 1 GiB",
            inputs_reached(stored),
        ),
        (
            "[broken studies](#broken-studies)",
            f"{BROKEN_AIM}: exit code 2 with file and line, each in less than 2 s",
            f"{len(planned_ones())} with {len(MISTAKES)} kinds of mistakes: all",
        ),
        ("[faults](#faults)", "each named, none silent", "8 of 10 kinds tested"),
        ("[systems](#systems)", "a study runs and is reported", "see the table"),
        ("[dependencies](#dependencies)", "no known advisory", "`make audit`, by hand"),
    ]
    lines = ["| what | aim | reached |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def soak() -> str:
    """The stored counts by place and kind."""
    return tables(load())
