"""Writes the table of public CPU results: `python -m scripts.public_cpu_results FOLDER`.

FOLDER is `data` of SpareCores/sc-inspector-data (CC BY-SA 4.0), or a part of it with `stressngfull` and `lscpu` of each
type. The importer `spare-cores` reads it. Only facts are kept, of types in the catalogue: rates of stress-ng's method
div16 with one worker and with one on every vCPU, the version and the day. Trials that the importer's checks reject are
left out, and so are series that end before the last vCPU.
"""

import argparse
import csv
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from nephoscope.importers.imported import ImportedTrial
from nephoscope.importers.spare_cores.report import read
from nephoscope.model.records import VerdictKind
from nephoscope.model.standing import PublicResult
from nephoscope.prices.catalogue.search import Question, search

OUT = Path(__file__).resolve().parents[1] / "src/nephoscope/prices/catalogue/measured.csv"
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


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    vcpus = {(one.provider, one.type): one.vcpus for one in search(Question())}
    found = results_of(read(given.folder).trials, vcpus)
    with OUT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(PublicResult.model_fields)
        writer.writerows(one.model_dump().values() for one in found)
    sys.stdout.write(f"{len(found)} types\n")


if __name__ == "__main__":
    main()
