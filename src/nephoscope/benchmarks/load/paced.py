"""What workloads share that may be driven at a rate: the pace, one main rate, and what ranks configurations."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from typing_extensions import override

from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.benchmark import LoadBenchmark
from nephoscope.benchmarks.load.data_size import size_metrics
from nephoscope.benchmarks.load.metrics import generator_metrics, latency_metrics, rate
from nephoscope.model.records import Measurement, Metric


def ended_per_s(what: str, title: str | None = None) -> Metric:
    """The main rate of a workload, in what a person counts ('inserts')."""
    return Metric.higher(
        f"{what}_per_s",
        "1/s",
        title or f"{what} per second",
        f"{what} that ended in the measurement interval / its length",
        headline=True,
        per_cpu=True,
    )


class PacedLoadBenchmark(LoadBenchmark):
    """A workload whose parameters are `PacedParameters`."""

    main_rate: ClassVar[Metric]
    """In a closed pace it ranks configurations."""

    @abstractmethod
    def drawn(self, parameters: Any) -> Sequence[str]:
        """Its operations. At a rate that is given, the response time of the first ranks configurations."""

    @override
    def pace(self, parameters: Any) -> load_spec.AnyPace:
        pace: load_spec.AnyPace = parameters.spec_pace()
        return pace

    @override
    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        paced, drawn = parameters.pace != "closed", self.drawn(parameters)
        ranked = f"{drawn[0]}.response_p99"
        latency = tuple(
            metric.model_copy(update={"headline": True}) if metric.name == ranked else metric
            for name in drawn
            for metric in latency_metrics(name, paced=paced)
        )
        main = self.main_rate.model_copy(update={"headline": not paced})
        return (main, *latency, *generator_metrics(paced=paced), *size_metrics(parameters))

    @override
    def rates(self, output: load_output.LoadOutput, parameters: Any) -> list[Measurement]:
        """Operations per second."""
        return rate(self.main_rate, output, 1, *self.drawn(parameters))
