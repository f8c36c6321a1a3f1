"""What a study must know of the benchmarks that it may use: this package imports none of them."""

from dataclasses import dataclass
from typing import Any, Protocol

from nephoscope.model.frozen import Frozen
from nephoscope.model.subjects import Subject


class KnownBenchmark(Protocol):
    """What a study asks of a benchmark; every `benchmarks.base.Benchmark` has it."""

    @property
    def parameters(self) -> type[Frozen]:
        """Model of its parameters."""
        ...

    def subject_of(self, parameters: Any) -> Subject:
        """What it measures with these parameters."""
        ...


@dataclass(frozen=True)
class Stated:
    """A benchmark without code in nephoscope: somebody else ran it."""

    parameters: type[Frozen]
    subject: Subject

    def subject_of(self, parameters: Any) -> Subject:  # noqa: ARG002 - whatever they are
        """As stated."""
        return self.subject
