"""`nephoscope place`: where measured machines stand among cloud types."""

from typing import TYPE_CHECKING

import typer

from nephoscope.app.commands.options import RESULTS, AsJson, Folder, add_command
from nephoscope.app.console import print_answer, print_json, say
from nephoscope.model.errors import EnvironmentProblem, InputError
from nephoscope.model.numbers import quantity, share
from nephoscope.model.words import counted

if TYPE_CHECKING:
    from nephoscope.model.standing import Standing

_OF_MEMORY = ("machine", "CPUs", "memory read per CPU", "faster than", "all CPUs read about as much as")
_HEADERS = ("machine", "CPUs", "per CPU", "faster than", "all CPUs are as fast as")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, place, under=RESULTS, example="place results/place", then="nephoscope types 'aws c8g*'")


def place(folder: Folder, as_json: AsJson = False) -> None:
    """Show where the measured machines stand among 2,000 cloud types, by public results. Uses no network.

    Exit code 3: no machine ran the version of stress-ng that the public results are of, nor the benchmark memory. Exit
    code 2: the study has no benchmark that can be compared with them.
    """
    from nephoscope.app.stages import evaluation
    from nephoscope.insights.standing import memory_sentence, memory_source, sentence
    from nephoscope.store.folder import ResultsFolder

    found = evaluation.analysed(ResultsFolder.existing(folder)).standing
    if as_json:
        print_json(found)
        _require_placed(found)
        return
    _require_placed(found)
    if found.memory:
        print_answer(_OF_MEMORY, _memory_cells(found))
        say(memory_sentence(found))
        say(memory_source(found))
    if not found.rows:
        say(f"Not placed by CPU: {found.why_not}")
        return
    print_answer(_HEADERS, _cells(found))
    say(sentence(found))
    if found.why_not:
        say(str(found.why_not))
    days = sorted(one.date for one in found.among)
    say(
        f"Among {counted(len(found.among), 'machine type')}, each measured once with stress-ng {found.version} between "
        f"{days[0]} and {days[-1]}: bogo operations a second, method div16. {found.source}, {found.licence}."
    )


def _require_placed(found: "Standing") -> None:
    """Rejects a standing without rows.

    Raises:
        InputError, EnvironmentProblem: nothing can be placed.
    """
    if found.rows or found.memory:
        return
    failure = EnvironmentProblem if found.is_asked else InputError
    raise failure(f"nothing can be placed: {found.why_not}", hint=str(found.then).removesuffix("."))


def _memory_cells(found: "Standing") -> list[tuple[str, ...]]:
    return [
        (
            row.configuration,
            f"{row.cpus}",
            quantity(row.per_vcpu_per_s, "B/s"),
            f"{share(row.slower_per_vcpu / len(found.memory_among))} of types",
            ", ".join(row.nearest),
        )
        for row in found.memory
    ]


def _cells(found: "Standing") -> list[tuple[str, ...]]:
    return [
        (
            row.configuration,
            "1, alone" if row.alone else f"{row.cpus}",
            f"{row.per_vcpu_per_s:,.0f}",
            f"{share(row.slower_per_vcpu / len(found.among))} of types",
            ", ".join(row.nearest),
        )
        for row in found.rows
    ]
