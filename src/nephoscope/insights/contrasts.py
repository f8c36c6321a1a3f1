"""What one difference changes: a setting, a volume, more CPUs, the family of a machine, the size of a cluster."""

from collections.abc import Iterator, Sequence

from nephoscope.analysis.answers import answered, question_of
from nephoscope.analysis.lookup import Lookup, grouped
from nephoscope.insights.best import drafted
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import Draft, answer, keyed, note, percent_range, quantity_style
from nephoscope.model.numbers import Number, interval
from nephoscope.model.price_rows import CostRow
from nephoscope.model.questions import ContrastRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison, ComparisonVerdict, FamilyComparison, GrowthRow, TrialRow
from nephoscope.model.words import HIGH, NOT_DECIDED, enumeration, storage_class
from nephoscope.stats.decide import ALPHA, POWER

SCALING = frozenset({"size", "CPUs", "machines"})
"""Questions about more of the same; `per_cpu` asks whether it pays."""


def contrasts(lookup: Lookup) -> Iterator[Draft]:
    """One sentence for each contrast of a headline metric as measured.

    Silent where a benchmark has only two configurations: their comparison says it.
    """
    for row in lookup[ContrastRow]:
        several = len(lookup.statistics_of(row.benchmark, row.metric)) > 2
        if row.view == "plain" and (several or row.declared) and row.question not in SCALING:
            yield sentence(lookup, row)


def sentence(lookup: Lookup, stored: ContrastRow, ending: str | None = None, as_measured: float | None = None) -> Draft:
    """'tpcc: volume kind, io2 against gp3: 1.21× the New-Orders (95 % interval …), in 20 of 23 pairs (error rate 5 %)'.

    Args:
        lookup: for the title of the metric.
        stored: the answer.
        ending: part of a template that is added where better or worse is certain; default: nothing.
        as_measured: the ratio of the plain values, to add to one of costs.
    """
    of_costs = stored.view == "per dollar"
    row = stored.as_costs() if of_costs else stored
    numbers: dict[str, Number] = {
        "ratio": interval(row.ratio, row.low, row.high),
        "alpha": 100 * row.alpha,
        "agreeing": row.pairs_agreeing,
        "pairs": row.pairs,
        "margin": row.margin_percent,
    }
    ends = ""
    if row.low is not None and row.high is not None and row.coverage is not None:
        numbers["coverage"] = 100 * row.coverage
        ends = " ({coverage:coverage} interval {ratio:ends:ratio})"
    prices = "" if row.basis is None else ", {basis} prices"
    what = "cost of the same {title}" if of_costs else "{title}"
    template = f"{{benchmark_name}}{prices}: {{question}}, {{left}} against {{right}}: {{ratio:ratio}} the {what}{ends}"
    if as_measured is not None:
        numbers["speed"] = as_measured
        template += " and {speed:ratio} as much of it"
    if row.pairs > 1:
        template += ", in {agreeing:count} of {pairs:counted:pair} on that side of equality"
    told = answer(
        template + " (error rate {alpha:limit} %)" + _end(row, numbers, ending),
        numbers=numbers,
        trials=row.trials,
        benchmark=row.benchmark,
        question=row.question,
        left=row.left,
        right=row.right,
        basis=row.basis or "",
        reason=str(row.reason),
        title=lookup.title(row.benchmark, row.metric) + (" per CPU" if row.view == "per CPU" else ""),
    )
    return cautioned(told, lookup)


def _end(row: ContrastRow, numbers: dict[str, Number], ending: str | None) -> str:
    if row.verdict is ComparisonVerdict.TIE:
        return ": a tie, as the whole interval is within ±{margin:limit} %."
    if row.delivered not in {None, row.verdict}:
        return ": not decided, because {left} is {reason}."
    if row.verdict is ComparisonVerdict.UNRESOLVED:
        detectable = ""
        if row.detectable_percent is not None:
            numbers |= {"detectable": row.detectable_percent, "power": 100 * POWER}
            detectable = "; a difference of {detectable:percent} would show with a chance of {power:count} %"
        return ": not decided, as the interval includes equality" + detectable + "."
    if ending is not None:
        return ending
    return "." if row.direction is Direction.HIGHER else "; lower is better."


_INTERVAL = (
    "{coverage:coverage} interval {ratio:ends:ratio}, n = {n_first:count} and {n_second:count}, error rate "
    "{alpha:limit} %"
)
_ENDINGS_PER_CPU = {
    ComparisonVerdict.BETTER: ": it scales better than in proportion to its CPUs.",
    ComparisonVerdict.WORSE: ": it scales less than in proportion to its CPUs.",
    ComparisonVerdict.TIE: ": it scales in proportion to its CPUs, within ±{margin:limit} %.",
}
_CONTRAST_ENDINGS = {
    ComparisonVerdict.BETTER: ": more than in proportion.",
    ComparisonVerdict.WORSE: ": less than in proportion.",
}


def per_cpu(lookup: Lookup) -> Iterator[Draft]:
    """Where higher is better: two configurations with different numbers of CPUs; of more, each contrast of sizes.

    The ratio of the values per CPU, larger over smaller, is the scaling efficiency.
    """
    rows = {row.benchmark: row for row in lookup.study.benchmarks}
    for benchmark, metric in lookup.headlines():
        cpus = {row.configuration: row.cpus for row in lookup.statistics_of(benchmark, metric.name, per_cpu=True)}
        if metric.direction is not Direction.HIGHER:
            continue
        if len(cpus) > 2:
            yield from (
                sentence(lookup, row, _CONTRAST_ENDINGS.get(row.verdict))
                for row in lookup[ContrastRow]
                if (row.benchmark, row.metric, row.view) == (benchmark, metric.name, "per CPU")
                and row.question in SCALING
            )
            continue
        for comparison in lookup.comparisons_of(benchmark, metric.name, per_cpu=True):
            left, right = cpus.get(comparison.left), cpus.get(comparison.right)
            if left is None or right is None or left == right:
                continue
            if comparison.verdict is not ComparisonVerdict.UNRESOLVED:
                yield _per_cpu_sentence(lookup, comparison, metric, left, right)
            elif found := answered(question_of(lookup, rows[benchmark], metric, "per CPU")):
                yield drafted(found)


def _per_cpu_sentence(lookup: Lookup, comparison: Comparison, metric: Metric, left: int, right: int) -> Draft:
    row = comparison if left > right else comparison.mirrored()
    numbers: dict[str, Number] = {
        "ratio": interval(row.ratio, row.low, row.high),
        "n_first": row.n_left,
        "n_second": row.n_right,
        "alpha": 100 * ALPHA,
        "coverage": 100 * (row.coverage or 0.0),
        "cpus_large": max(left, right),
        "cpus_small": min(left, right),
        "margin": comparison.margin_percent,
    }
    return answer(
        "{benchmark_name}: {first}, with {cpus_large:count} CPUs, has {ratio:ratio} the {title} of {second}, with "
        f"{{cpus_small:counted:CPU}} ({_INTERVAL}){_ENDINGS_PER_CPU[row.verdict]}",
        numbers=numbers,
        trials=lookup.trials_of_pair(comparison),
        benchmark=comparison.benchmark,
        first=row.left,
        second=row.right,
        title=f"{metric.title} per CPU",
    )


CPU_COST = "server_cpu_per_operation"
_ENDINGS_OF_COST = {
    ComparisonVerdict.BETTER: ": an operation got cheaper for the server, too.",
    ComparisonVerdict.WORSE: ": an operation costs the server more, so a part of the gain is lost.",
    ComparisonVerdict.TIE: ": an operation costs the server the same, within ±{margin:limit} %.",
}


def operation_costs(lookup: Lookup) -> Iterator[Draft]:
    """Two configurations whose rates differ: what an operation costs the server on the faster one."""
    for benchmark, metric in lookup.headlines():
        pairs = lookup.comparisons_of(benchmark, metric.name)
        if metric.direction is not Direction.HIGHER or len(pairs) != 1:
            continue
        row = pairs[0] if pairs[0].verdict is ComparisonVerdict.BETTER else pairs[0].mirrored()
        cost = lookup.pair(benchmark, CPU_COST, row.left, row.right)
        if row.verdict is not ComparisonVerdict.BETTER or cost is None or cost.verdict not in _ENDINGS_OF_COST:
            continue
        template = (
            "{benchmark_name}: {first} has {ratio:ratio} the {title} of {second}, for {cost:ratio} the CPU time of the "
            "server per operation ({coverage:coverage} interval {cost:ends:ratio}, n = {n_first:count} and "
            "{n_second:count}, error rate {alpha:limit} %)" + _ENDINGS_OF_COST[cost.verdict]
        )
        numbers: dict[str, Number] = {
            "ratio": interval(row.ratio, row.low, row.high),
            "cost": interval(cost.ratio, cost.low, cost.high),
            "coverage": 100 * (cost.coverage or 0.0),
            "n_first": cost.n_left,
            "n_second": cost.n_right,
            "alpha": 100 * ALPHA,
            "margin": cost.margin_percent,
        }
        yield answer(
            template,
            numbers=numbers,
            trials=[*lookup.trials_of_pair(row), *lookup.trials_of_pair(cost)],
            benchmark=benchmark,
            first=row.left,
            second=row.right,
            title=metric.title,
        )


KIND = "volume kind"
"""The question about it."""
LARGE_SHARE = 0.25
"""Volumes are mentioned from this share of the monthly cost: then a discount on machines helps little."""


def storage(lookup: Lookup) -> Iterator[Draft]:
    """A sentence per contrast of both classes of storage and price basis, and one about large shares of volumes."""
    rows = [row for row in map(_high_first, lookup[ContrastRow]) if row is not None]
    plain = {(row.benchmark, row.metric, row.left, row.right): row.ratio for row in rows if row.view == "plain"}
    for row in rows:
        if row.view == "per dollar":
            as_measured = plain.get((row.benchmark, row.metric, row.left, row.right))
            yield sentence(lookup, row, _ENDINGS_STORAGE.get(row.verdict), as_measured)
    yield from _shares(lookup)


def _high_first(row: ContrastRow) -> ContrastRow | None:
    """The contrast with the high-performance kind on the left; None if it is about something else."""
    high = [storage_class(kind) == HIGH for kind in (row.left, row.right)]
    if row.question != KIND or high.count(True) != 1:
        return None
    return row if high[0] else row.mirrored()


_ENDINGS_STORAGE = {
    ComparisonVerdict.BETTER: ": it is worth its price.",
    ComparisonVerdict.WORSE: ": it is not worth its price.",
}


def _shares(lookup: Lookup) -> Iterator[Draft]:
    """One note per price basis; a share comes from prices, not from measurements, so it has no verdict."""
    large = (row for row in lookup[CostRow] if row.storage_share is not None and row.storage_share >= LARGE_SHARE)
    for basis, rows in sorted(grouped(large, lambda row: row.basis).items()):
        shares = [100 * row.storage_share for row in rows if row.storage_share is not None]
        names = {row.configuration for row in rows}
        numbers = {"least": min(shares), "most": max(shares), "count": len(rows), "limit": 100 * LARGE_SHARE}
        yield note(
            f"{{basis}} prices: volumes make up {percent_range('least', 'most', numbers)} of the monthly cost of "
            "{count:counted:configuration} (listed from {limit:limit} % up): {names}.",
            numbers=numbers,
            trials=[row.trial for row in lookup[TrialRow] if row.configuration in names and row.counts],
            basis=basis,
            names=enumeration(sorted(names)),
        )


_DECIDED = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE, ComparisonVerdict.TIE}
_VERDICTS = {
    ComparisonVerdict.BETTER: "better in",
    ComparisonVerdict.WORSE: "worse in",
    ComparisonVerdict.TIE: "a tie in",
    ComparisonVerdict.UNRESOLVED: f"{NOT_DECIDED} in",
}
"""In the order in which sentences give them."""


def families(lookup: Lookup) -> Iterator[Draft]:
    """One sentence per pair of groups with at least one decided metric, and one note that counts open questions."""
    pairs = grouped(lookup[FamilyComparison], lambda row: (row.question, row.left, row.right))
    for _, rows in sorted(pairs.items()):
        if any(row.verdict in _DECIDED for row in rows):
            yield _families_sentence(lookup, rows)
    open_rows = [row for row in lookup[FamilyComparison] if row.verdict is ComparisonVerdict.UNRESOLVED]
    if open_rows:
        yield _open(lookup, open_rows)


def _families_sentence(lookup: Lookup, rows: Sequence[FamilyComparison]) -> Draft:
    numbers: dict[str, Number] = {}
    words: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    sizes = {(row.n_left, row.n_right, row.blocks) for row in rows}
    for key, row in keyed(rows):
        numbers |= {f"ratio_{key}": interval(row.ratio, row.low, row.high)} | _sizes(row, key)
        words[f"metric_{key}"] = f"{lookup.title(row.benchmark, row.metric)}" + (" per vCPU" if row.per_cpu else "")
        ends = ", too few types for an interval"
        if row.low is not None and row.high is not None and row.coverage is not None:
            numbers[f"coverage_{key}"] = 100 * row.coverage
            ends = f", {{coverage_{key}:coverage}} interval {{ratio_{key}:ends:ratio}}"
        lower = "" if row.direction is Direction.HIGHER else ", lower is better"
        own = f", {_types(key)}" if len(sizes) > 1 else ""
        said = f"{{metric_{key}}} ({{ratio_{key}:ratio}}{ends}{lower}{own})"
        parts.setdefault(_VERDICTS[row.verdict], []).append(said)
    first = rows[0]
    numbers |= _sizes(first, "all") if len(sizes) == 1 else {}
    told = "; ".join(f"{verdict} {enumeration(parts[verdict])}" for verdict in _VERDICTS.values() if verdict in parts)
    return answer(
        f"{{left_group}} compared with {{right_group}}: {told}. Matched types: {{matched_by}}"
        + (f"; {_types('all')}." if len(sizes) == 1 else "."),
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        left_group=first.left,
        right_group=first.right,
        matched_by=first.matched_by,
        **words,
    )


def _sizes(row: FamilyComparison, key: str) -> dict[str, float]:
    return {f"left_{key}": row.n_left, f"right_{key}": row.n_right, f"blocks_{key}": row.blocks}


def _types(key: str) -> str:
    return f"n = {{left_{key}:count}} and {{right_{key}:count}} types in {{blocks_{key}:counted:block}}"


def _open(lookup: Lookup, rows: Sequence[FamilyComparison]) -> Draft:
    few = [row for row in rows if row.low is None]
    kinds = sorted({row.question for row in rows})
    return note(
        "{open:count} of {all:counted:question} about families of machine types {open:goes:is|are} not decided "
        "({kinds}): {few:count} {few:goes:has|have} too few matched types for any claim; for the others, the data fit "
        "both equality and a difference of more than {margin:limit} % after correction for the number of questions.",
        numbers={
            "open": len(rows),
            "all": len(lookup[FamilyComparison]),
            "few": len(few),
            "margin": lookup.study.equivalence_margin_percent,
        },
        trials=[trial for row in rows for trial in row.trials],
        kinds=enumeration(kinds),
    )


COPIES = {
    "postgres": " One machine takes all writes; the others hold replicas.",
    "mariadb": " Each machine has all data, and makes every write.",
}
"""Databases whose machines share no data out, and what more of them are for."""
_ENDINGS_GROWTH = {
    "linear": ": growth is linear.",
    "sub-linear": ": it grows, but less than linearly.",
    "none": ": it does not grow with the number of machines.",
    "not decided": ": these data do not show whether growth is linear.",
}


def growth(lookup: Lookup) -> Iterator[Draft]:
    """One sentence for each rate that was measured on different numbers of machines."""
    yield from (_growth_sentence(lookup, row) for row in lookup[GrowthRow])


def _growth_sentence(lookup: Lookup, row: GrowthRow) -> Draft:
    numbers: dict[str, float] = {"exponent": row.exponent}
    parts = []
    for key, (machines, median) in keyed(zip(row.machines, row.medians, strict=True)):
        numbers |= {f"machines_{key}": machines, f"median_{key}": median}
        parts.append(f"{{median_{key}:{quantity_style(row.unit)}}} on {{machines_{key}:count}}")
    interval = "too few trials for an interval"
    if row.low is not None and row.high is not None and row.coverage is not None:
        numbers |= {"low": row.low, "high": row.high, "coverage": 100 * row.coverage}
        interval = "{coverage:coverage} interval {low:signed} to {high:signed}"
    copies = COPIES.get(row.system, "") if row.growth in {"none", "sub-linear", "not decided"} else ""
    return answer(
        f"{{benchmark_name}}, {{group}}: {{title}} is {enumeration(parts)} machines, which grows as the number of "
        f"machines to the power of {{exponent:signed}} ({interval}){_ENDINGS_GROWTH[row.growth]}{copies}",
        numbers=numbers,
        trials=row.trials,
        benchmark=row.benchmark,
        group=row.group,
        title=lookup.title(row.benchmark, row.metric),
    )
