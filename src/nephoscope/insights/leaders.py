"""Who is best per CPU, and within each cloud and each size."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from nephoscope.analysis.answers import answered, question_of
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.answer import drafted
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import Draft, keyed, say
from nephoscope.model.numbers import Number
from nephoscope.model.questions import BestRow, View
from nephoscope.model.records import Metric
from nephoscope.model.scopes import OVERALL
from nephoscope.model.words import enumeration, scope_name

NAME = "leaders"
MIN_COMPETING = 3
"""Of two configurations, other rules tell the whole difference."""
MAX_NAMED = 12
"""More configurations than this are counted instead of named."""
RATE = "(error rate {alpha:limit} %)"
_VIEWS: Sequence[View] = ("plain", "per CPU")


def leaders(lookup: Lookup) -> list[Draft]:
    """For each headline metric: the best per CPU of all, and the best of each cloud and each size.

    Nothing where each was measured once: the answer over all configurations has said so.
    """
    insights = []
    asked = lookup.study.headline
    rows = {row.benchmark: row for row in lookup.study.benchmarks}
    for benchmark, metric in lookup.headlines():
        overall = lookup.best_of(benchmark, metric.name, view="per CPU")
        is_answered = asked is not None and (asked.benchmark, asked.view) == (benchmark, "per CPU")
        if overall is not None and overall.of >= MIN_COMPETING and overall.method != "none" and not is_answered:
            found = answered(question_of(lookup, rows[benchmark], metric, "per CPU"))
            insights += [drafted(NAME, found)] if found else []
        for view in _VIEWS:
            scoped = [row for row in lookup.bests_of(benchmark, metric.name, view=view) if row.scope != OVERALL]
            for kind, within in groupby(scoped, key=lambda row: row.scope.kind):
                parts = list(within)
                if any(row.method != "none" for row in parts):
                    insights.append(cautioned(_within(parts, metric, kind, view), lookup))
    return insights


def _within(rows: Sequence[BestRow], metric: Metric, kind: str, view: View) -> Draft:
    parts = []
    numbers: dict[str, Number] = {"alpha": 100 * rows[0].alpha}
    words: dict[str, str] = {}
    for key, row in keyed(rows):
        answer, more, named = short(row, key)
        numbers |= more
        words |= {f"scope_{key}": scope_name(row.scope), **named}
        parts.append(f"{{scope_{key}}}: {answer}")
    numbers["scopes"] = len(rows)
    return say(
        NAME,
        "answer",
        "{benchmark_name}: the best {title} within each of {scopes:count} "
        + ("clouds" if kind == "cloud" else "sizes")
        + f" {RATE.replace(' %)', ' % each)')}: "
        + "; ".join(parts)
        + ".",
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=rows[0].benchmark,
        benchmark_name=rows[0].benchmark,
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
