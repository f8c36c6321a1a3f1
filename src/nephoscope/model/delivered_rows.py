"""Rows about CPU time that hypervisors withheld; see `analysis.delivered`."""

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Direction
from nephoscope.model.subjects import Subject


class StealRow(Frozen):
    """How often the hypervisor withheld CPU time from the trials of one configuration. steal.parquet."""

    configuration: str
    limit_share: float = Field(description="of CPU time; a trial that lost more is counted in `over`")
    n: int = Field(ge=1, description="finished trials whose loss is known, rejected ones included")
    over: int = Field(ge=0)
    share: float = Field(description="over / n")
    low: float = Field(description="end of the share's interval with a coverage of 95 % or more (Clopper-Pearson)")
    high: float
    rejected: int = Field(ge=0, description="trials rejected for steal and for nothing else")
    median_stolen_share: float = Field(description="of CPU time, over the trials")
    highest_stolen_share: float
    trials: list[str] = Field(description="trials that lost more than the limit")


class DeliveredRow(Frozen):
    """A metric as delivered and in quiet trials, where some trial lost CPU time. delivered.parquet."""

    configuration: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    per_cpu: bool
    n: int = Field(ge=0, description="valid trials; 0: steal rejected all")
    median: float | None = Field(description="as delivered: of all valid trials")
    n_quiet: int = Field(ge=0, description="valid trials behind the quiet median: they lost at most 2 % of CPU time")
    quiet_median: float | None
    quiet_low: float | None = Field(description="end of the interval of the quiet median")
    quiet_high: float | None
    quiet_coverage: float | None
    n_rejected: int = Field(ge=0, description="trials rejected for steal and for nothing else")
    rejected_share: float = Field(description="n_rejected / (n + n_rejected)")
    median_with_rejected: float | None = Field(description="None: none was rejected for steal")
    trials: list[str] = Field(description="trials that lost more, whether they count or not")
    subject: Subject
