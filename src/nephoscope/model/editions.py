"""Rows that compare two analysed studies, such as the reports of two years."""

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Direction
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.model.subjects import Subject


class EditionRow(Frozen):
    """One configuration and headline metric in two studies, after / before."""

    configuration: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    n_before: int
    n_after: int
    ratio: float
    low: float | None
    high: float | None
    coverage: float | None
    p_adjusted: float
    verdict: ComparisonVerdict
    basis: str
    month_before_usd: float | None
    month_after_usd: float | None
    price_ratio: float | None
    dollar_ratio: float | None = Field(description="of performance per dollar")
    dollar_low: float | None
    dollar_high: float | None
    dollar_p_adjusted: float | None
    dollar_verdict: ComparisonVerdict | None
    subject: Subject


class EditionOverall(Frozen):
    """One headline metric over all configurations that two studies have in common, after / before."""

    benchmark: str
    metric: str
    direction: Direction
    configurations: int
    least_n: int = Field(description="replicates of the configuration and study with the fewest")
    ratio: float = Field(description="geometric mean of the ratios of medians")
    low: float | None = Field(description="end of its BCa bootstrap interval; None below six replicates")
    high: float | None
    coverage: float | None = Field(description="nominal: a bootstrap has no exact coverage")
    subject: Subject
