"""Which configuration is the best: the answers, the best of each cloud and size, and what costs least for its work."""

from collections.abc import Iterator, Mapping, Sequence

from nephoscope.analysis.answers import Answer, Question, answered, question_of, questions_of
from nephoscope.analysis.lookup import Lookup, grouped
from nephoscope.insights.answers import Writer
from nephoscope.insights.names import names_of
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import Draft, answer, interval_of_one, keyed, plural
from nephoscope.model.numbers import Between, Number
from nephoscope.model.price_rows import STATED, PricePerformance, priced_quantity
from nephoscope.model.questions import BestRow, View
from nephoscope.model.records import Metric
from nephoscope.model.rows import DeliveredRow
from nephoscope.model.words import enumeration, scope_name
from nephoscope.model.written import OVERALL
from nephoscope.prices.rows import Basis
from nephoscope.stats.decide import POWER

MAX_RANKED = 12
"""With more configurations than this, no sentence gives every rank."""


def answers(lookup: Lookup) -> list[Draft]:
    """The answer of each headline metric, decided ones first; of three or more configurations also their ranks."""
    decided: list[Draft] = []
    undecided: list[Draft] = []
    for question in questions_of(lookup, sorted(lookup.study.benchmarks, key=lambda row: row.benchmark)):
        found = answered(question)
        if found is None:
            continue
        drafts = undecided if found.state == "open" and len(question.rows) > 1 else decided
        drafts.append(drafted(found))
        best = question.best if len(question.rows) > 2 and question.view == "plain" else None
        if best is not None and best.method != "none" and best.of <= MAX_RANKED:
            drafts.append(_ranks(question, best))
    return decided + undecided


def drafted(found: Answer) -> Draft:
    """An answer with all that is known of it, as the sentence that every page and command prints."""
    question = found.question
    writer = Writer(found, names_of(question.lookup))
    draft = Draft(
        kind="answer",
        template="{answer}",
        numbers={name: value for name, value in sorted(_numbers(found).items()) if value is not None},
        words={"answer": writer.paragraph},
        trials=sorted({*question.trials}),
        benchmark=question.benchmark.benchmark,
        says_where=True,
    )
    return draft if writer.words.caution else cautioned(draft, question.lookup)


def _numbers(found: Answer) -> dict[str, Number | None]:
    """Those of its sentence by name; percentages as such."""
    question, best = found.question, found.question.best
    numbers: dict[str, Number | None] = {f"level_{key}": row.compared for key, row in keyed(question.rows[:3])}
    numbers |= {f"n_{key}": row.n for key, row in keyed(question.rows[:2])}
    numbers |= {"alpha": None if found.alpha is None else 100 * found.alpha, "ratio": found.ratio}
    numbers |= {"coverage": None if found.coverage is None else 100 * found.coverage}
    if len(question.rows) == 1:
        numbers |= {"median": question.rows[0].middle}
        numbers |= {f"tried_{key}": len(rows) for key, rows in keyed(question.tried.values())}
    if found.ratio is not None:
        ends = (found.ratio.value, found.ratio.high, found.ratio.low)
        numbers["less"] = Between(*(100 * (1 - end) for end in ends))
    if found.medians is not None:
        pulling = found.medians.pulling
        numbers |= {"medians": found.medians.ratio, "pulling": pulling.values, "pulling_percent": pulling.percent}
    numbers |= _unlike_the_model(question)
    if found.pair is not None and len(question.rows) == 2:
        row = question.pair(*found.pair)
        more = row.more_to_measure if row else None
        numbers |= {"margin": row.margin_percent if row else None, "more": more, "power": 100 * POWER}
    if found.effort is not None:
        numbers |= {"hours": found.effort.hours, "usd": found.effort.usd}
    for key, stolen in keyed(question.lookup[DeliveredRow]):
        if (stolen.benchmark, stolen.metric, stolen.per_cpu) == (*question.key, question.view == "per CPU"):
            numbers |= {f"rejected_{key}": stolen.n_rejected, f"with_rejected_{key}": stolen.median_with_rejected}
    if best is not None and len(question.rows) > 2:
        numbers |= {"of": best.of, "competing": found.competing, "left": len(best.best), "excluded": best.excluded}
        numbers |= {"unknown": len(best.open), "margin": best.margin_percent, "detectable": best.detectable_percent}
        numbers |= {"out": len(best.left_out), "n_least": best.n_least, "n_most": best.n_most}
        numbers |= {f"behind_{key}": abs(row.change_percent) for key, row in keyed(best.behind)}
    return numbers


def _unlike_the_model(question: Question) -> dict[str, Number | None]:
    """Of values that are far off, of two kinds, or not independent."""
    numbers: dict[str, Number | None] = {}
    for key, row in keyed(question.rows):
        if row.set_aside or row.second_kind or row.widened > 1:
            numbers |= {f"aside_{key}": len(row.set_aside), f"aside_percent_{key}": row.set_aside_percent}
            numbers |= {f"kind_{key}": row.second_kind, f"kind_percent_{key}": row.second_kind_percent}
            numbers |= {"widened": row.widened, f"of_{key}": row.n}
    return numbers


def _ranks(question: Question, best: BestRow) -> Draft:
    ranks = list(question.lookup.ranks[(*question.key, "plain", None)].values())
    numbers: dict[str, float] = {"configurations": len(ranks), "alpha": 100 * best.alpha}
    words: dict[str, str] = {}
    parts: list[str] = []
    for key, row in keyed(ranks):
        numbers |= {f"first_{key}": row.first, f"last_{key}": row.last}
        words[f"name_{key}"] = row.configuration
        exact = row.first == row.last
        rank = f"{{first_{key}:count}}" if exact else f"{{first_{key}:count}} to {{last_{key}:count}}"
        parts.append(f"{{name_{key}}} {rank}")
    return answer(
        "{benchmark_name}: ranks of the {configurations:count} configurations by {title} (a range means that the exact "
        f"rank is not certain; error rate {{alpha:limit}} % for all together): {', '.join(parts)}.",
        numbers=numbers,
        trials=question.trials,
        benchmark=question.benchmark.benchmark,
        title=question.metric.title,
        **words,
    )


MIN_COMPETING = 3
"""Of two configurations, other rules tell the whole difference."""
MAX_NAMED = 12
"""More configurations than this are counted instead of named."""
RATE = "(error rate {alpha:limit} %)"
_VIEWS: Sequence[View] = ("plain", "per CPU")


def leaders(lookup: Lookup) -> Iterator[Draft]:
    """For each headline metric: the best per CPU of all, and the best of each cloud and each size.

    Nothing where each was measured once: the answer over all configurations has said so.
    """
    asked = lookup.study.headline
    rows = {row.benchmark: row for row in lookup.study.benchmarks}
    for benchmark, metric in lookup.headlines():
        overall = lookup.best_of(benchmark, metric.name, view="per CPU")
        is_answered = asked is not None and (asked.benchmark, asked.view) == (benchmark, "per CPU")
        if overall is not None and overall.of >= MIN_COMPETING and overall.method != "none" and not is_answered:
            found = answered(question_of(lookup, rows[benchmark], metric, "per CPU"))
            yield from [drafted(found)] if found else []
        for view in _VIEWS:
            scoped = [row for row in lookup.bests_of(benchmark, metric.name, view=view) if row.scope != OVERALL]
            for kind, parts in grouped(scoped, lambda row: row.scope.kind).items():
                if any(row.method != "none" for row in parts):
                    yield cautioned(_within(parts, metric, kind, view), lookup)


def _within(rows: Sequence[BestRow], metric: Metric, kind: str, view: View) -> Draft:
    parts = []
    numbers: dict[str, Number] = {"alpha": 100 * rows[0].alpha, "scopes": len(rows)}
    words: dict[str, str] = {}
    for key, row in keyed(rows):
        said, more, named = short(row, key)
        numbers |= more
        words |= {f"scope_{key}": scope_name(row.scope), **named}
        parts.append(f"{{scope_{key}}}: {said}")
    return answer(
        f"{{benchmark_name}}: the best {{title}} within each of {{scopes:count}} "
        f"{'clouds' if kind == 'cloud' else 'sizes'} {RATE.replace(' %)', ' % each)')}: {'; '.join(parts)}.",
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=rows[0].benchmark,
        title=metric.title + (" per CPU" if view == "per CPU" else ""),
        **words,
    )


def short(row: BestRow, key: str) -> tuple[str, Mapping[str, float], Mapping[str, str]]:
    """The answer in a few words, such as 'a, 1 unknown' or 'one of 2 (a and b)'; why, if steal left it open."""
    numbers = {f"left_{key}": float(len(row.best)), f"unknown_{key}": float(len(row.open))}
    words = {f"names_{key}": enumeration(row.best)}
    unknown = f", {{unknown_{key}:count}} unknown" if row.open else ""
    if row.method == "none":
        return "not decided", {}, {}
    reason = f" ({{reason_{key}}})" if row.reason else ""
    reasons = {f"reason_{key}": str(row.reason)} if row.reason else {}
    if len(row.best) == 1 and row.excluded:
        return f"{{names_{key}}}{unknown}{reason}", numbers, words | reasons
    if not row.excluded:
        return f"any of {{left_{key}:count}}{unknown}{reason}", numbers, reasons
    named = f" ({{names_{key}}})" if len(row.best) <= MAX_NAMED else ""
    return f"one of {{left_{key}:count}}{named}{unknown}{reason}", numbers, (words if named else {}) | reasons


_TERMS: Mapping[str, str] = {Basis.RESERVED_1Y: "one-year", Basis.RESERVED_3Y: "three-year"}
"""What a reader calls the price of a commitment."""


def price_leaders(lookup: Lookup) -> Iterator[Draft]:
    """A sentence for each metric on the first basis, and for each other one on which another configuration costs least.

    Of at least two configurations with a price.
    """
    boards = grouped(lookup[PricePerformance], lambda row: (row.benchmark, row.metric))
    for _, of_metric in sorted(boards.items()):
        by_basis = grouped(of_metric, lambda row: row.basis)
        of_many = {basis: rows for basis, rows in sorted(by_basis.items()) if len(rows) > 1}
        first = min(of_many, key=lambda basis: (basis != lookup.basis, basis), default=None)
        if first is None:
            continue
        leads = {basis: _best(rows).configuration for basis, rows in of_many.items()}
        same = [basis for basis in of_many if basis != first and leads[basis] == leads[first]]
        told_of = [first, *(basis for basis in of_many if leads[basis] != leads[first])]
        yield from (_sentence(lookup, of_many[basis], same if basis == first else ()) for basis in told_of)


def _called(basis: str) -> str:
    return _TERMS.get(basis, basis)


def _measured(row: PricePerformance) -> str:
    """What the month is of; a price that the study states is of the cluster."""
    if row.basis == STATED:
        return ""
    return ", {machines:counted:machine}" + (" without volumes" if row.without_volumes else "")


def _best(rows: Sequence[PricePerformance]) -> PricePerformance:
    return min(rows, key=lambda row: (row.usd_per_unit, row.configuration))


def _sentence(lookup: Lookup, rows: Sequence[PricePerformance], same: Sequence[str]) -> Draft:
    """`same`: other bases on which the same configuration costs least."""
    best = _best(rows)
    row = lookup.best_of(best.benchmark, best.metric, view="per dollar", basis=best.basis)
    sold = priced_quantity(
        best.unit, min(row.usd_per_unit for row in lookup[PricePerformance] if row.unit == best.unit)
    )
    numbers: dict[str, Number] = {
        "usd": sold.price(best),
        "quantity": sold.count,
        "month": best.month_usd,
        "coverage": 100 * best.coverage,
        "n": best.n,
        "machines": best.machines,
    }
    rate, certainty, delivered = "", "", ""
    words: Mapping[str, str] = {}
    if row is not None and row.best == [best.configuration] and row.excluded and not row.reason:
        rate = "; error rate {alpha:limit} %"
        if row.close:
            certainty = " {close} " + plural(len(row.close), "costs", "cost") + " less than {margin:limit} % more."
        words = {"close": enumeration(row.close)}
        numbers |= {"alpha": 100 * row.alpha, "margin": row.margin_percent}
    elif row is not None:
        may_be, more, words = short(row, "cheapest")
        certainty = f" Which one costs least: {may_be} {RATE}."
        certainty += " Any two of them differ by less than {margin:limit} %." if row.tied else ""
        numbers |= {**more, "alpha": 100 * row.alpha, "margin": row.margin_percent}
        delivered = "as delivered " if row.reason else ""
    measured = len(lookup.statistics_of(best.benchmark, best.metric))
    numbers |= {"priced": len(rows), "measured": measured}
    known = ", known for only {priced:count} of {measured:count}" if len(rows) < measured else ""
    insight = answer(
        f"{{benchmark_name}}: at {{basis}} prices{known}, {delivered}{{name}} costs least for its {{title}}: "
        f"{{usd:money}} a month per {'{quantity:count}' if sold.needs_count else ''}{{unit}} "
        f"({interval_of_one(best.n, 'usd', 'money')}; price from {{date}}{_measured(best)}{rate}).{certainty}"
        + (" It also costs least at {same} prices." if same else ""),
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=best.benchmark,
        basis=_called(best.basis),
        name=best.configuration,
        title=lookup.title(best.benchmark, best.metric),
        unit=sold.suffix if sold.needs_count else sold.suffix.strip(),
        date=best.date or "the study",
        same=enumeration([_called(basis) for basis in same]),
        **words,
    )
    return cautioned(insight, lookup)
