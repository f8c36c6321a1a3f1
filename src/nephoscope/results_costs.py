"""Rows about ranks, costs and claims, and about two studies; `results` hands them on."""

from typing import Literal

from pydantic import Field

from nephoscope.frozen import Frozen
from nephoscope.records import Direction
from nephoscope.results_types import ComparisonVerdict


class RankRow(Frozen):
    """One configuration's place on one leaderboard, as far as it is certain. ranks.parquet."""

    benchmark: str
    metric: str
    view: Literal["plain", "per CPU", "per dollar"]
    basis: str | None = Field(description="of the prices, of the view per dollar")
    configuration: str
    place: int = Field(ge=1, description="by the median alone; equal medians share one")
    first: int = Field(ge=1, description="1 + the number of configurations that are certainly better")
    last: int = Field(description="all - the number of configurations that are certainly worse")
    of: int = Field(description="configurations on the leaderboard")
    ties: list[str] = Field(
        description="configurations that are a tie with it: shown to differ by less than the margin"
    )


class CostRow(Frozen):
    """A month of one configuration under one basis, or why it has no price. costs.parquet."""

    configuration: str
    basis: str = Field(description="of the machines' price: on-demand, reserved-1y, ..., or 'stated' by the study")
    terms: str = Field(description="of a commitment, as far as the source says")
    provider: str | None
    region: str | None
    machine_type: str | None
    family: str | None = Field(description="'m6i', 'n2-standard', 'Ds_v5'")
    vcpus: int | None = Field(description="as the name of the type says")
    method: str = Field(description="of counting a month")
    hours: float = Field(description="of a month")
    counted: str = Field(description="which machines count")
    machines: int = Field(description="how many they are")
    usd_per_hour: float | None = Field(description="of one machine, without volumes; of the cluster when stated")
    machine_month_usd: float | None = Field(description="of one machine with its volumes; of the cluster when stated")
    month_usd: float | None = Field(description="of all machines that count")
    storage_share: float | None = Field(description="part of the volumes, from 0 to 1")
    break_even_hours: float | None = Field(
        description="hours of use a month from which the commitment is cheaper than on-demand; None: never, or no price"
    )
    formula: str = Field(description="as it prints itself, with prices, sources and what is missing")
    reason_missing: str | None
    price_row: str | None = Field(description="id of the machine's row in the price book")
    source: str | None
    date: str | None
    age_days: int | None = Field(description="of the price on the day of the study")


class CostLineRow(Frozen):
    """One product of the formula: amount x hours x rate. cost_lines.parquet."""

    configuration: str
    basis: str
    what: str
    amount: float
    unit: str
    hours: float | None = Field(description="None: the rate is by the month")
    rate_usd: float
    usd: float = Field(description="a month, of one machine")
    price_row: str
    source: str
    licence: str
    date: str


class NetworkRow(Frozen):
    """What one machine sent and received in one trial, while its load was driven. network.parquet."""

    trial: str
    configuration: str
    benchmark: str
    machine: str
    role: str
    sampled_s: float
    received_bytes: float = Field(description="over every interface but loopback, whoever sent them")
    sent_bytes: float
    valid: bool = Field(description="the trial counts")


class TransferRow(Frozen):
    """A month of the bytes between the machines of a cluster, one way, as measured. transfers.parquet."""

    configuration: str
    benchmark: str
    way: str = Field(description="'same zone', 'between zones', 'between regions', or 'none'")
    here: str | None = Field(description="region that the bytes leave")
    there: str | None
    stood: bool = Field(description="the machines stood so; False: what it would cost if they did")
    billed: Literal["sent", "sent and received", "sent by load", "received by load"] = Field(
        description="of all machines, or of the load machine alone"
    )
    n: int = Field(description="trials that count, with counters of every machine")
    bytes_per_s: float = Field(description="that are billed: median of the trials")
    month_usd: float | None = Field(description="when it goes on all month; None: no price")
    hours: float = Field(description="of a month")
    unit: str | None = Field(description="'GB' of 10^9 bytes, or 'GiB' of 2^30")
    tiers: list[str] = Field(description="'above up_to dollars' of each tier, in its unit; '-': no end is known")
    formula: str
    reason_missing: str | None
    price_row: str | None
    source: str | None
    date: str | None
    trials: list[str]


class PricePerformance(Frozen):
    """What one unit of a headline metric costs a month. price_performance.parquet.

    The cost is a constant, so the ends of the interval are those of the median, divided.
    """

    configuration: str
    benchmark: str
    metric: str
    basis: str
    unit: str = Field(description="of the metric; dollars a month are for one of it")
    n: int
    month_usd: float
    median: float = Field(description="of the metric, in its unit")
    usd_per_unit: float = Field(description="month_usd / median: $/tpmC where the metric is tpmC")
    low: float
    high: float
    coverage: float
    usd_per_unit_with_transfer: float | None = Field(
        description="(month_usd + transfer where the machines stood) / median; None: that transfer has no price"
    )
    usd_per_million: float | None = Field(
        description="operations of machines that are busy all month; None: it counts none"
    )
    front: Literal["on it", "open", "behind"] = Field(
        description="of cost against the median: nobody is cheaper and better; open: somebody is, not for certain"
    )
    discount_to_lead_percent: float | None = Field(
        description="on its machines alone, to cost as little as the leader; 0: it leads; None: none does"
    )
    price_row: str | None
    source: str | None
    date: str | None
    trials: list[str]


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


class EditionOverall(Frozen):
    """One headline metric over all configurations that two studies hold like for like, after / before."""

    benchmark: str
    metric: str
    direction: Direction
    configurations: int
    least_n: int = Field(description="replicates of the configuration and study that has fewest")
    ratio: float = Field(description="geometric mean of the ratios of medians")
    low: float | None = Field(description="of its BCa bootstrap interval; None below six replicates")
    high: float | None
    coverage: float | None = Field(description="nominal: a bootstrap has no exact one")


class ClaimRow(Frozen):
    """What these data say of one claim, by one metric. claims.parquet."""

    claim: str = Field(description="its id in the claims file")
    text: str
    source: str
    kind: Literal["better", "tie", "first", "last"]
    benchmark: str
    metric: str
    view: Literal["plain", "per CPU", "per dollar"]
    basis: str | None
    verdict: Literal["supported", "refuted", "not decided"]
    expected: Literal["supported", "refuted", "not decided"] | None
    holds: bool = Field(description="the verdict is the expected one; without one: it is not refuted")
    reason: str = Field(description="why it is not decided")
    unit_of_n: str = Field(description="'replicates' of two configurations, or 'configurations' of two groups")
    n_left: int
    n_right: int
    blocks: int
    ratio: float | None = Field(description="left / right")
    low: float | None
    high: float | None
    coverage: float | None
    p_value: float | None
    p_adjusted: float | None = Field(description="Holm over all claims of the file that could be decided")
    matched: list[str] = Field(description="'block side configuration' of each: '1 left aws-m6a.2xlarge'")
    trials: list[str]
