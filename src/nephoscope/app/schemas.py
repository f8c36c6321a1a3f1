"""JSON Schemas of every file that crosses a boundary, generated from the models; checked in under `schema/`.

`scripts/regenerate` writes them.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from nephoscope.benchmarks.load import contract as load_contract
from nephoscope.importers.cloud_report_2019.logs import ImportRecord
from nephoscope.model import control, records
from nephoscope.model.frozen import Frozen
from nephoscope.model.looks import Look
from nephoscope.model.records import MachineKind
from nephoscope.study.shorthands import StudyFile

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_MODELS: dict[str, Any] = {
    "study-1": StudyFile,
    "plan-1": records.Plan,
    "trial-1": records.TrialIntent,
    "started-1": records.StartedRecord,
    "facts-1": records.FactsRecord,
    "kind-1": MachineKind,
    "status-1": records.Status,
    "lease-1": control.Lease,
    "resume-1": control.Resumption,
    "state-1": control.StateRecord,
    "look-1": Look,
    "measurement-1": records.Measurement,
    "verdict-1": list[records.Verdict],
    "command-1": records.CommandRecord,
    "errors-1": records.OperationErrors,
    "network-1": records.NetworkBytes,
    "import-1": ImportRecord,
    "source-1": records.SourceRecord,
    "load-output-1": load_contract.OutputLine,
}
"""What a reader accepts. Of files that hold one value a line (measurements, commands, load output): of one line."""


WRITTEN_BY_RUST = frozenset({"load-spec-1.json"})
"""`nephoscope-load schema` prints it; tests/contract compares the models with it."""


def schemas(parameter_models: Mapping[str, type[Frozen]] | None = None) -> dict[str, str]:
    """File name -> text of its JSON Schema.

    `parameter_models` maps a benchmark's name to the model of its parameters; default: every registered benchmark.
    """
    models = registered_parameters() if parameter_models is None else parameter_models
    parameters = {f"benchmark-parameters-{name}-1": model for name, model in models.items()}
    return {f"{name}.json": _text(name, model) for name, model in (_MODELS | parameters).items()}


def registered_parameters() -> dict[str, type[Frozen]]:
    """Name -> model of the parameters, of every registered benchmark."""
    from nephoscope.benchmarks.registry import BENCHMARKS

    return {name: benchmark.parameters for name, benchmark in BENCHMARKS.items()}


def main(arguments: list[str] | None = None) -> int:
    """Writes every schema into a folder and removes those that are no longer generated."""
    parser = argparse.ArgumentParser(prog="python -m nephoscope.app.schemas", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    generated = schemas()
    for old in folder.glob("*.json"):
        if old.name not in generated and old.name not in WRITTEN_BY_RUST:
            old.unlink()
    for name, text in generated.items():
        (folder / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(generated)} schemas written to {folder}\n")
    return 0


def _text(name: str, model: Any) -> str:
    schema = {"$schema": _DIALECT, "$id": f"urn:nephoscope:{name}", **TypeAdapter(model).json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
