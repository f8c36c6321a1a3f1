"""Who is best per CPU, and within each cloud and each size."""

from collections.abc import Sequence
from itertools import groupby

from nephoscope.analysis.findings import Findings
from nephoscope.insights.bests import RATE, short, told
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import Draft, keyed, say
from nephoscope.model.numbers import Number
from nephoscope.model.questions import BestRow, View
from nephoscope.model.records import Metric
from nephoscope.model.scopes import OVERALL
from nephoscope.model.words import scope_name

NAME = "leaders"
MIN_COMPETING = 3
"""Of two configurations, other rules tell the whole difference."""
_VIEWS: Sequence[View] = ("plain", "per CPU")


def leaders(findings: Findings) -> list[Draft]:
    """For each headline metric: the best per CPU of all, and the best of each cloud and each size.

    Nothing where each was measured once: the answer over all configurations has said so.
    """
    insights = []
    for benchmark, metric in findings.headlines():
        overall = findings.best_of(benchmark, metric.name, view="per CPU")
        if overall is not None and overall.of >= MIN_COMPETING and overall.method != "none":
            answer = told(overall)
            insights.append(
                say(
                    NAME,
                    "answer",
                    "{benchmark_name}: " + answer.template,
                    numbers=answer.numbers,
                    trials=overall.trials,
                    benchmark=benchmark,
                    benchmark_name=benchmark,
                    title=f"{metric.title} per CPU",
                    **answer.words,
                )
            )
        for view in _VIEWS:
            rows = [row for row in findings.bests_of(benchmark, metric.name, view=view) if row.scope != OVERALL]
            for kind, within in groupby(rows, key=lambda row: row.scope.kind):
                parts = list(within)
                if any(row.method != "none" for row in parts):
                    insights.append(_within(parts, metric, kind, view))
    return [cautioned(insight, findings) for insight in insights]


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
