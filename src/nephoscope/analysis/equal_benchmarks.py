"""Benchmarks with equal parameters are one benchmark, whatever a study calls them.

The Cloud Report of 2022 drove 150 warehouses per vCPU on all machines and 1,200 on large ones. On a machine with 8
vCPUs these are the same test, which was run once: its values belong on both leaderboards. The same load on another
database, or from another region, is another test.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from nephoscope.benchmarks.base import Benchmark
from nephoscope.model.records import BenchmarkUse
from nephoscope.model.rows import TrialRow
from nephoscope.model.subjects import Subject

Distance = Literal["within a zone", "between zones", "between regions"]


def distance(asked: Mapping[str, Any]) -> Distance:
    """From the load machine of a configuration, as the study asks for it, to those under test."""
    load = asked.get("load_machine") or {}
    if load.get("region") not in {None, asked.get("region")}:
        return "between regions"
    return "within a zone" if load.get("zones") in (None, [], [asked.get("zone")]) else "between zones"


def under_test(asked: Mapping[str, Any], subject: Subject) -> Hashable:
    """What a trial measures beside machines: which database, and over which distance it or a network is reached.

    Args:
        asked: its configuration, as the study asks for it.
        subject: of its benchmark.
    """
    system = (asked.get("database") or {}).get("system")
    away = distance(asked)
    return {Subject.DATABASE: (system, away), Subject.NETWORK: (away,)}.get(subject)


def with_equals(
    trials: Sequence[TrialRow],
    node_cpus: Mapping[str, int],
    uses: Mapping[str, BenchmarkUse],
    benchmarks: Mapping[str, Benchmark],
    tested: Mapping[str, Hashable],
) -> list[TrialRow]:
    """The trials, each with the benchmark of which it is a trial, too.

    A benchmark takes the trials of another one where that had its parameters, on configurations that it does not
    measure itself and that are under test in the same way as those which it does. Of several benchmarks that are equal
    on every machine, the first takes those of the rest.

    Args:
        trials: in any order.
        node_cpus: trial -> CPUs of one machine under test; of trials that began.
        uses: the study's benchmarks by name, in the order of the study.
        benchmarks: those that this version knows.
        tested: trial -> what it measures beside machines, see `under_test`.
    """

    @cache
    def on_machine(name: str, cpus: int) -> str | None:
        """What it is on a machine of so many CPUs; None: an imported one, which is equal to none that it is not."""
        use = uses.get(name)
        benchmark = benchmarks.get(use.uses) if use else None
        if use is None or benchmark is None:
            return None
        parameters = benchmark.as_run(benchmark.parameters.model_validate(use.parameters), cpus)
        return f"{use.uses} {use.version} {parameters.model_dump_json()}"

    first: dict[str, str] = {}
    for name in uses:
        small, large = on_machine(name, 1), on_machine(name, 2)
        if small is not None and small == large:
            first.setdefault(small, name)
    planned = {(row.benchmark, row.configuration) for row in trials}
    measured: dict[str, set[Hashable]] = defaultdict(set)
    for row in trials:
        measured[row.benchmark].add(tested.get(row.trial))
    what = {(row.benchmark, row.configuration): tested.get(row.trial) for row in trials}
    cpus: dict[tuple[str, str], set[int]] = defaultdict(set)
    for row in trials:
        if row.trial in node_cpus:
            cpus[row.benchmark, row.configuration].add(node_cpus[row.trial])
    also: dict[tuple[str, str], list[str]] = {}
    for (benchmark, configuration), seen in cpus.items():
        same = {on_machine(benchmark, count) for count in seen}
        only = same.pop() if len(same) == 1 else None
        taking = None if only is None else first.get(only)
        if (
            taking is not None
            and (taking, configuration) not in planned
            and what[benchmark, configuration] in measured[taking]
        ):
            also[benchmark, configuration] = [taking]
    return [
        row.model_copy(update={"also": also[row.benchmark, row.configuration]})
        if (row.benchmark, row.configuration) in also
        else row
        for row in trials
    ]
