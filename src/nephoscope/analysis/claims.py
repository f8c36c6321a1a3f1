"""Checks claims against results: supported, refuted or not decided, each with n, effect and interval.

A claim about two configurations reads their comparison, so that both have one verdict. Groups are compared by the
medians of their configurations within blocks of matching properties, so that n counts configurations and differences
of cloud or size are not mistaken for differences of machines.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from statistics import median

import numpy as np

from nephoscope.analysis.boards import Board, boards, per_dollar, refitted
from nephoscope.analysis.cells import Cell
from nephoscope.analysis.comparisons import comparisons_of
from nephoscope.analysis.configurations import configurations
from nephoscope.analysis.costs import costs, months_by_basis
from nephoscope.analysis.delivered import claims_as_delivered, disturbed
from nephoscope.analysis.families import matched_words
from nephoscope.analysis.one_question import cells
from nephoscope.analysis.renamed import extents
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.price_rows import CostRow
from nephoscope.model.questions import View
from nephoscope.model.records import Direction
from nephoscope.model.rows import ClaimRow, Comparison, ConfigurationRow
from nephoscope.model.subjects import Extent, Subject
from nephoscope.stats.blocked import compare_in_blocks
from nephoscope.stats.decide import ALPHA, holm, relation, tie_range
from nephoscope.stats.median import median_interval
from nephoscope.stats.ratio import RatioInterval
from nephoscope.study.claims import Claim, Claims, Kind, Selector, Verdict

_VIEWS: Mapping[str, View] = {"": "plain", "cpu": "per CPU", "dollar": "per dollar"}
_WHY_OPEN: Mapping[Kind, str] = {
    "tie": "the interval is neither entirely within the margin nor entirely outside it",
    "not-worse": "the interval is not entirely on one side of the margin",
}
"""Kinds that only the margin decides: why an interval decides nothing."""
LEAST_OTHERS = 2
"""Configurations whose median one is held against."""
_WHY_OPEN_OTHERWISE = "the interval includes equality and is not entirely within the margin"


@dataclass(frozen=True)
class _Estimate:
    ratio: float
    interval: RatioInterval | None
    p_value: float
    n_left: int
    n_right: int
    blocks: int
    unit_of_n: str
    matched: Sequence[str]
    trials: tuple[str, ...]
    p_adjusted: float | None = None
    """As the comparison of the two has it; None: to be corrected with the other claims."""
    disputed: bool = False
    """The medians are the other way round."""


@dataclass(frozen=True)
class _Asked:
    claim: Claim
    benchmark: str
    subject: Subject | None
    """None: no such benchmark was measured."""
    metric: str
    higher: bool
    estimate: _Estimate | None
    reason: str


def claims_of(
    claims: Claims | None,
    configurations: Sequence[ConfigurationRow],
    cells: Sequence[Cell],
    boards: Sequence[Board],
    costs: Sequence[CostRow],
    extents: Mapping[str, Extent],
    *,
    margin_percent: float,
    alpha: float = ALPHA,
) -> list[ClaimRow]:
    """A row for each claim and each headline metric that it is about, in the order of the file.

    A claim about two configurations has the estimate and the corrected p-value of their comparison, and so its verdict.
    All claims about groups are corrected together (Holm: the chance of even one false verdict is at most 5 %). A claim
    with too few values to be decided takes no part in the correction.

    Args:
        claims: the file; None: there is none.
        configurations: what selectors look at.
        cells: values of every metric.
        boards: the leaderboards of these cells, plain and per CPU.
        costs: for claims per dollar.
        extents: benchmark -> the part of a configuration that these dollars pay for.
        margin_percent: the study's equivalence margin.
        alpha: level of the verdicts.
    """
    pairs = _Pairs({(one.benchmark, one.metric, one.view): one for one in boards}, margin_percent)
    asked = [
        one
        for claim in (claims.claims if claims else ())
        for one in _asked(claim, configurations, cells, pairs, costs, extents)
    ]
    adjusted = iter(holm([one.estimate.p_value for one in asked if one.estimate and _is_corrected(one.estimate)]))
    rows = []
    for one in asked:
        p_adjusted = 1.0
        if one.estimate and one.estimate.p_adjusted is not None:
            p_adjusted = one.estimate.p_adjusted
        elif one.estimate and _is_corrected(one.estimate):
            p_adjusted = next(adjusted)
        rows.append(_row(one, p_adjusted, margin_percent / 100, alpha))
    return rows


def _is_corrected(estimate: _Estimate) -> bool:
    """Whether it is one of the claims that are corrected together."""
    return estimate.interval is not None and estimate.p_adjusted is None


@dataclass(frozen=True)
class _Pairs:
    """The comparisons of all pairs of a leaderboard, made when a claim first asks for one of them."""

    boards: Mapping[tuple[str, str, View], Board]
    margin_percent: float
    made: dict[tuple[str, str, View, str], list[Comparison]] = field(default_factory=dict)

    def board(self, cell: Cell) -> Board | None:
        """The leaderboard of what a cell holds a value of."""
        return self.boards.get((cell.benchmark, cell.same_as or cell.metric, "per CPU" if cell.per_cpu else "plain"))

    def of(
        self, cell: Cell, left: str, right: str, months: Mapping[str, float] | None, basis: str
    ) -> Comparison | None:
        """Left against right; None: they have no comparison, as one has too few values on a large leaderboard.

        Args:
            cell: what is compared.
            left: a configuration.
            right: another one.
            months: dollars of a month by configuration, for a claim per dollar.
            basis: of these prices.
        """
        view: View = "per CPU" if cell.per_cpu else "plain"
        key = (cell.benchmark, cell.same_as or cell.metric, view, basis if months is not None else "")
        if key not in self.made:
            board = self.boards[key[:3]]
            board = board if months is None else per_dollar(board, months, basis)
            self.made[key] = comparisons_of([board], Comparison, margin_percent=self.margin_percent)
        found = next((row for row in self.made[key] if {row.left, row.right} == {left, right}), None)
        if found is None:
            return None
        found = found if found.left == left else found.mirrored()
        less_is_better = cell.direction is Direction.LOWER and months is not None
        return found.mirrored().model_copy(update={"left": left, "right": right}) if less_is_better else found


def _asked(
    claim: Claim,
    configurations: Sequence[ConfigurationRow],
    cells: Sequence[Cell],
    pairs: _Pairs,
    costs: Sequence[CostRow],
    extents: Mapping[str, Extent],
) -> Iterator[_Asked]:
    found: dict[tuple[str, str], dict[str, Cell]] = defaultdict(dict)
    for cell in cells:
        fits = fnmatchcase(cell.benchmark, claim.benchmark) and fnmatchcase(cell.metric, claim.metric)
        named = cell.metric == claim.metric
        asked = (cell.headline and cell.same_as is None) or named
        if fits and asked and cell.per_cpu == (claim.per == "cpu") and cell.values[0] > 0:
            found[cell.benchmark, cell.metric][cell.configuration] = cell
    if not found:
        reason = "no such headline metric was measured"
        yield _Asked(claim, claim.benchmark, None, claim.metric, higher=True, estimate=None, reason=reason)
    for (benchmark, metric), by_name in sorted(found.items()):
        one = next(iter(by_name.values()))
        higher = one.direction is Direction.HIGHER
        known = [row for row in configurations if row.configuration in by_name]
        values = {row.configuration: by_name[row.configuration].values for row in known}
        months: Mapping[str, float] | None = None
        if claim.per == "dollar":
            months = months_by_basis(costs, extents[benchmark]).get(claim.basis, {})
            values = {name: _per_dollar(many, months[name], higher) for name, many in values.items() if name in months}
            known, higher = [row for row in known if row.configuration in values], True
        left = [row for row in known if _fits(row, claim.left)]
        right = (
            [row for row in known if _fits(row, claim.right) if row not in left]
            if claim.right
            else [row for row in known if row not in left]
        )
        if claim.kind == "not-worse" and claim.right is None:
            estimate, reason = _of_the_others(pairs, one, left, by_name)
        elif len(left) == len(right) == 1:
            names = left[0].configuration, right[0].configuration
            pair = pairs.of(one, *names, months, claim.basis)
            estimate, reason = (_of_pair(pair, (left, right), by_name), "") if pair else (None, "too few values")
        else:
            estimate, reason = _of_groups(claim, left, right, values, by_name)
        yield _Asked(claim, benchmark, one.subject, metric, higher, estimate, reason)


def _per_dollar(values: Sequence[float], month_usd: float, higher: bool) -> tuple[float, ...]:
    """Makes higher better: times are replaced by their inverse."""
    return tuple(value / month_usd if higher else 1 / (value * month_usd) for value in values)


def _fits(row: ConfigurationRow, selector: Selector | None) -> bool:
    if selector is None:
        return False
    for key, wanted in selector.model_dump(exclude_none=True).items():
        if key in {"least_vcpus", "most_vcpus"}:
            cpus = row.vcpus
            if cpus is None or (cpus < wanted if key == "least_vcpus" else cpus > wanted):
                return False
        elif not fnmatchcase(getattr(row, key) or "", wanted):
            return False
    return True


def _of_pair(
    pair: Comparison, sides: tuple[Sequence[ConfigurationRow], Sequence[ConfigurationRow]], cells: Mapping[str, Cell]
) -> _Estimate:
    """What the comparison of two configurations says."""
    interval = None
    if pair.low is not None and pair.high is not None and pair.coverage is not None:
        interval = RatioInterval(pair.low, pair.high, pair.coverage)
    return _Estimate(
        ratio=pair.ratio,
        interval=interval,
        p_value=pair.p_value,
        n_left=pair.n_left,
        n_right=pair.n_right,
        blocks=1,
        unit_of_n="machines" if {pair.counted_left, pair.counted_right} == {"machines"} else "replicates",
        matched=_words([sides]),
        trials=_trials([*sides[0], *sides[1]], cells),
        p_adjusted=pair.p_adjusted,
        disputed=pair.is_disputed,
    )


def _of_the_others(
    pairs: _Pairs, cell: Cell, left: Sequence[ConfigurationRow], cells: Mapping[str, Cell]
) -> tuple[_Estimate | None, str]:
    """One configuration against the median of all others, block by block: no reference that may itself be slow."""
    board = pairs.board(cell)
    if len(left) != 1:
        return None, f"without a right side, left is one configuration; here it is {len(left):,}"
    name = left[0].configuration
    if board is None or name not in board.names or len(board.names) <= LEAST_OTHERS:
        return None, f"fewer than {LEAST_OTHERS} others were measured"
    at, logs = board.names.index(name), board.sign * board.fit.logs
    with np.errstate(all="ignore"):
        apart = logs[at] - np.nanmedian(np.delete(logs, at, axis=0), axis=0)
    ratios = np.exp(apart[np.isfinite(apart)])
    found = median_interval(ratios) if ratios.size else None
    if found is None:
        return None, "too few values"
    is_sure = found.coverage >= 1 - ALPHA
    interval = RatioInterval(found.low, found.high, found.coverage) if is_sure else None
    p_value = 1 - found.coverage if interval and not found.low <= 1 <= found.high else 1.0
    return _Estimate(
        ratio=float(np.median(ratios)),
        interval=interval,
        p_value=p_value,
        n_left=ratios.size,
        n_right=ratios.size,
        blocks=1,
        unit_of_n="replicates",
        matched=[f"{name} against the median of {len(board.names) - 1:,} others"],
        trials=_trials(left, cells),
        p_adjusted=p_value,
    ), ""


def _of_groups(
    claim: Claim,
    left: Sequence[ConfigurationRow],
    right: Sequence[ConfigurationRow],
    values: Mapping[str, Sequence[float]],
    cells: Mapping[str, Cell],
) -> tuple[_Estimate | None, str]:
    for side, rows in (("left", left), ("right", right)):
        if not rows:
            return None, f"no configuration on the {side} side has a value" + (" and a price" * (claim.per == "dollar"))
    blocks: dict[tuple[object, ...], tuple[list[ConfigurationRow], list[ConfigurationRow]]] = {}
    for index, rows in enumerate((left, right)):
        for row in rows:
            key = tuple(getattr(row, name) for name in claim.matched_by)
            blocks.setdefault(key, ([], []))[index].append(row)
    matched = [block for _, block in sorted(blocks.items(), key=lambda item: str(item[0])) if all(block)]
    if not matched:
        return None, f"no configurations of both sides are equal in {', '.join(claim.matched_by)}"
    medians = [
        ([median(values[row.configuration]) for row in a], [median(values[row.configuration]) for row in b])
        for a, b in matched
    ]
    found = compare_in_blocks(medians)
    trials = _trials([row for block in matched for side in block for row in side], cells)
    return _Estimate(
        ratio=found.ratio,
        interval=found.interval,
        p_value=found.p_value,
        n_left=found.n_left,
        n_right=found.n_right,
        blocks=found.blocks,
        unit_of_n="configurations",
        matched=_words(matched),
        trials=trials,
    ), ""


def _words(blocks: Sequence[tuple[Sequence[ConfigurationRow], Sequence[ConfigurationRow]]]) -> list[str]:
    return matched_words([([row.configuration for row in a], [row.configuration for row in b]) for a, b in blocks])


def _trials(rows: Sequence[ConfigurationRow], cells: Mapping[str, Cell]) -> tuple[str, ...]:
    return tuple(sorted({trial for row in rows for trial in cells[row.configuration].trials}))


def _row(asked: _Asked, p_adjusted: float, margin: float, alpha: float) -> ClaimRow:
    claim, estimate = asked.claim, asked.estimate
    interval = estimate.interval if estimate else None
    verdict = _verdict(claim.kind, interval, p_adjusted, higher=asked.higher, margin=margin, alpha=alpha)
    reason = asked.reason
    if estimate and estimate.disputed:
        verdict, reason = "not decided", "the medians are the other way round: a few values make the difference"
    elif estimate and verdict == "not decided":
        reason = (
            f"too few {estimate.unit_of_n} for an interval"
            if interval is None
            else f"after correction, {_WHY_OPEN.get(claim.kind, _WHY_OPEN_OTHERWISE)}"
        )
    return ClaimRow(
        claim=claim.id,
        text=claim.text,
        source=claim.source,
        kind=claim.kind,
        benchmark=asked.benchmark,
        subject=asked.subject,
        metric=asked.metric,
        view=_VIEWS[claim.per],
        basis=claim.basis if claim.per == "dollar" else None,
        verdict=verdict,
        expected=claim.expected,
        holds=verdict == claim.expected if claim.expected else verdict != "refuted",
        reason=reason,
        unit_of_n=estimate.unit_of_n if estimate else "",
        n_left=estimate.n_left if estimate else 0,
        n_right=estimate.n_right if estimate else 0,
        blocks=estimate.blocks if estimate else 0,
        ratio=estimate.ratio if estimate else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        coverage=interval.coverage if interval else None,
        p_value=estimate.p_value if estimate else None,
        p_adjusted=p_adjusted if interval else None,
        matched=list(estimate.matched) if estimate else [],
        trials=list(estimate.trials) if estimate else [],
    )


def _verdict(
    kind: Kind, interval: RatioInterval | None, p_adjusted: float, *, higher: bool, margin: float, alpha: float
) -> Verdict:
    """What an interval of left / right says about the claim; a refutation must survive the correction, too."""
    if interval is None:
        return "not decided"
    least, most = tie_range(margin)
    if kind == "tie":
        supported, refuted = (
            least <= interval.low and interval.high <= most,
            interval.high < least or interval.low > most,
        )
    elif kind == "not-worse":
        supported = interval.low >= least if higher else interval.high <= most
        refuted = interval.high < least if higher else interval.low > most
    else:
        said = relation(interval, p_adjusted, equivalence_margin=margin, alpha=alpha)
        wanted = "above" if (kind == "last") != higher else "below"
        return "not decided" if said == "unresolved" else "supported" if said == wanted else "refuted"
    return "supported" if supported else "refuted" if refuted and p_adjusted < alpha else "not decided"


def claim_rows(of: Workings) -> list[ClaimRow]:
    """What the numbers say of each claim, in the order of the claims file."""

    def judged(values: Sequence[Cell], on: Sequence[Board]) -> list[ClaimRow]:
        return claims_of(
            of.inputs.claims,
            of(configurations),
            values,
            on,
            of(costs).rows,
            of(extents),
            margin_percent=of.inputs.study.equivalence_margin_percent,
        )

    def again(quiet: Sequence[Cell]) -> list[ClaimRow]:
        return judged(quiet, of(refitted)(quiet))

    return claims_as_delivered(judged(of(cells), of(boards)), again, of(cells), of(disturbed))


CLAIMS = Table("claims", ClaimRow, claim_rows, order=lambda row: (row.claim, row.benchmark, row.metric))
