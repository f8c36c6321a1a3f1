"""The table of what reliability aims at and what was reached, from stored counts and from the tests themselves."""

from pathlib import Path

from bench.soak.stored import load
from bench.soak.systems import table
from bench.soak.tables import INPUTS_AIM, KILLS_AIM, inputs_reached, kills_reached, tables
from tests.support.broken_studies import MISTAKES, planned_ones

BROKEN_AIM = 300
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "concepts" / "proofs.md"
FUZZED = ROOT / "load" / "fuzz" / "corpus"


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
        (
            "[answers of servers](#answers-of-servers)",
            "a minute of fuzzing finds nothing",
            f"{len(list(FUZZED.iterdir()))} decoders, in `make test-all`",
        ),
        ("[faults](#faults)", "each named, none silent", _faults_tested()),
        ("[systems](#systems)", "the README's commands, in a fresh clone", "see the tables"),
        ("[dependencies](#dependencies)", "no known advisory", "`make audit`, by hand"),
    ]
    lines = ["| what | aim | reached |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _faults_tested() -> str:
    """Counts the page's own table, which names the test of each kind."""
    table = PAGE.read_text(encoding="utf-8").partition("### Faults")[2].partition("\n### ")[0]
    kinds = [line for line in table.splitlines() if line.startswith("| ")][1:]
    return f"{sum(not line.endswith('| no |') for line in kinds)} of {len(kinds)} kinds tested"


def systems() -> str:
    """On which systems the README's commands passed in a fresh clone."""
    return table()


def soak() -> str:
    """The stored counts by place and kind."""
    return tables(load())
