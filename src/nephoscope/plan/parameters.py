"""The parameters of a plan's benchmarks as models."""

from collections.abc import Mapping
from typing import Any

from nephoscope.model.records import BenchmarkUse
from nephoscope.plan.expand import Plannable


class ParametersOnce:
    """Parameters of the trials of one plan, where a benchmark of one name has the same in each; read once by name."""

    def __init__(self, benchmarks: Mapping[str, Plannable]) -> None:
        self._benchmarks = benchmarks
        self._read: dict[str, Any] = {}

    def of(self, use: BenchmarkUse) -> Any:
        """Of one trial."""
        if use.name not in self._read:
            self._read[use.name] = self._benchmarks[use.uses].parameters.model_validate(use.parameters)
        return self._read[use.name]
