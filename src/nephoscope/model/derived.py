"""What is derived from an attempt's raw output and facts: in the trial, and again by `parse`."""

from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Measurement, NetworkBytes, OperationErrors, ResourceUse, Verdict


class Derived(Frozen):
    """Measurements and verdicts of one attempt."""

    measurements: list[Measurement]
    errors: list[OperationErrors] | None
    """None: the benchmark does not count its operations."""
    network: list[NetworkBytes]
    """By machine, without machines whose counters were not read."""
    resources: list[ResourceUse]
    """By machine, without machines that were not sampled."""
    verdicts: list[Verdict]
