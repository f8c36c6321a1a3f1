"""Writes the tables of public CPU and memory results: `python -m scripts.public_cpu_results FOLDER`.

FOLDER is `data` of SpareCores/sc-inspector-data (CC BY-SA 4.0), or a part of it with `stressngfull` and `lscpu` of each
type. The importer `spare-cores` reads it. Only facts are kept, of types in the catalogue: rates of stress-ng's method
div16 with one worker and with one on every vCPU, what membench read by all vCPUs in its largest working set, versions
and days. A table of which FOLDER has nothing is left as it is. Trials that the importer's checks reject are
left out, and so are series that end before the last vCPU.
"""

import argparse
import csv
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from nephoscope.importers.imported import ImportedTrial
from nephoscope.importers.spare_cores.report import read
from nephoscope.model.records import VerdictKind
from nephoscope.model.standing import PublicMemory, PublicResult
from nephoscope.prices.catalogue.search import Question, search

OUT = Path(__file__).resolve().parents[1] / "src/nephoscope/prices/catalogue"
_ALL, _ONE = "bogo_ops_per_s", "bogo_ops_per_s_one_worker"


def results_of(trials: Iterable[ImportedTrial], vcpus: dict[tuple[str, str], int]) -> list[PublicResult]:
    """Those of known types that no check rejected, with a worker on every vCPU; by provider and type."""
    found = []
    for trial in trials:
        sold = (trial.machine.provider, trial.machine.machine_type)
        rejected = any(one.verdict is VerdictKind.INVALID for one in trial.verdicts)
        version = trial.tool_versions.get("stress-ng")
        cores = (trial.identity.tool, trial.identity.workload) == ("stress-ng", "cores")
        if not cores or trial.failure or rejected or version is None or trial.started_unix_ms is None:
            continue
        if sold not in vcpus or trial.cpus != vcpus[sold]:
            continue
        rates = {one.metric: one.value for one in trial.measurements}
        found.append(
            PublicResult(
                provider=sold[0],
                type=sold[1],
                vcpus=vcpus[sold],
                per_s=rates[_ALL],
                one_worker_per_s=rates[_ONE],
                version=version,
                date=datetime.fromtimestamp(trial.started_unix_ms / 1000, UTC).date().isoformat(),
            )
        )
    return sorted(found, key=lambda one: (one.provider, one.type))


def memory_of(trials: Iterable[ImportedTrial], vcpus: dict[tuple[str, str], int]) -> list[PublicMemory]:
    """Those of known types that no check rejected; by provider and type."""
    found = []
    for trial in trials:
        sold, version = (trial.machine.provider, trial.machine.machine_type), trial.identity.version
        rejected = any(one.verdict is VerdictKind.INVALID for one in trial.verdicts)
        if trial.identity.tool != "membench" or trial.failure or rejected or trial.started_unix_ms is None:
            continue
        if sold not in vcpus or not version:
            continue
        read_bytes_per_s = next(one.value for one in trial.measurements if one.metric == "read_bytes_per_s")
        day = datetime.fromtimestamp(trial.started_unix_ms / 1000, UTC).date().isoformat()
        found.append(
            PublicMemory(
                provider=sold[0],
                type=sold[1],
                vcpus=vcpus[sold],
                read_bytes_per_s=read_bytes_per_s,
                version=version,
                date=day,
            )
        )
    return sorted(found, key=lambda one: (one.provider, one.type))


def written(name: str, rows: Sequence[PublicResult | PublicMemory]) -> None:
    """Writes a table, unless there is nothing."""
    sys.stdout.write(f"{name}: {len(rows)} types\n")
    if rows:
        with (OUT / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(type(rows[0]).model_fields)
            writer.writerows(one.model_dump().values() for one in rows)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    vcpus = {(one.provider, one.type): one.vcpus for one in search(Question())}
    trials = read(given.folder).trials
    written("measured.csv", results_of(trials, vcpus))
    written("memory.csv", memory_of(trials, vcpus))


if __name__ == "__main__":
    main()
