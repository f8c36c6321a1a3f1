"""The answer of each benchmark: which configuration is better in the headline metric, by how much, and how certain."""

from nephoscope.analysis.answers import Answer, Question, answered, questions_of
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.answers import Writer
from nephoscope.insights.names import names_of
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import Draft, keyed, say
from nephoscope.model.numbers import Between, Number
from nephoscope.model.questions import BestRow
from nephoscope.stats.decide import POWER

NAME = "answer"
MAX_RANKED = 12
"""With more configurations than this, no sentence gives every rank."""


def answer(lookup: Lookup) -> list[Draft]:
    """The answer of each headline metric, decided ones first; of three or more configurations also their ranks."""
    decided: list[Draft] = []
    undecided: list[Draft] = []
    for question in questions_of(lookup, sorted(lookup.study.benchmarks, key=lambda row: row.benchmark)):
        found = answered(question)
        if found is None:
            continue
        drafts = undecided if found.state == "open" and len(question.rows) > 1 else decided
        drafts.append(drafted(NAME, found))
        best = question.best if len(question.rows) > 2 and question.view == "plain" else None
        if best is not None and best.method != "none" and best.of <= MAX_RANKED:
            drafts.append(_ranks(question, best))
    return decided + undecided


def drafted(rule: str, found: Answer) -> Draft:
    """An answer with all that is known of it, as the sentence that every page and command prints."""
    question = found.question
    writer = Writer(found, names_of(question.lookup))
    draft = Draft(
        rule=rule,
        kind="answer",
        template="{answer}",
        numbers={name: value for name, value in sorted(_numbers(found).items()) if value is not None},
        words={"answer": writer.paragraph},
        trials=sorted({*question.trials}),
        benchmark=question.benchmark.benchmark,
        case="",
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
    if found.pair is not None and len(question.rows) == 2:
        row = question.pair(*found.pair)
        more = row.more_to_measure if row else None
        numbers |= {"margin": row.margin_percent if row else None, "more": more, "power": 100 * POWER}
    if found.effort is not None:
        numbers |= {"hours": found.effort.hours, "usd": found.effort.usd}
    for key, stolen in keyed(question.lookup.study.delivered):
        if (stolen.benchmark, stolen.metric, stolen.per_cpu) == (*question.key, question.view == "per CPU"):
            numbers |= {f"rejected_{key}": stolen.n_rejected, f"with_rejected_{key}": stolen.median_with_rejected}
    if best is not None and len(question.rows) > 2:
        numbers |= {"of": best.of, "competing": found.competing, "left": len(best.best), "excluded": best.excluded}
        numbers |= {"unknown": len(best.open), "margin": best.margin_percent, "detectable": best.detectable_percent}
        numbers |= {"out": len(best.left_out), "n_least": best.n_least, "n_most": best.n_most}
        numbers |= {f"behind_{key}": abs(row.change_percent) for key, row in keyed(best.behind)}
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
    return say(
        NAME,
        "answer",
        "{benchmark_name}: ranks of the {configurations:count} configurations by {title} (a range means that the exact "
        "rank is not certain; error rate {alpha:limit} % for all together): " + ", ".join(parts) + ".",
        numbers=numbers,
        trials=question.trials,
        benchmark=question.benchmark.benchmark,
        benchmark_name=question.benchmark.benchmark,
        title=question.metric.title,
        **words,
    )
