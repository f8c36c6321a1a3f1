"""Whether the study can have its headline: the benchmark, the metric and the scope exist."""

from collections.abc import Iterator, Mapping

from nephoscope.model.scopes import OVERALL
from nephoscope.study.contrasts import scopes_of
from nephoscope.study.explain import Problem
from nephoscope.study.model import KnownBenchmark, Study
from nephoscope.study.suggest import meant_by, shown

_PATH = ("report", "headline")


def headline_problems(study: Study, known: Mapping[str, KnownBenchmark]) -> Iterator[Problem]:
    """Everything that `[report.headline]` names and the study does not have."""
    headline = study.report.headline
    if headline is None:
        return
    entry = next((one for one in study.benchmarks if one.label == headline.benchmark), None)
    if entry is None:
        labels = [one.label for one in study.benchmarks]
        yield _unknown("benchmark", headline.benchmark, labels)
        return
    benchmark = known[entry.uses]
    metrics = benchmark.metrics(benchmark.parameters.model_validate(entry.parameters))
    if headline.metric is not None and metrics and headline.metric not in {one.name for one in metrics}:
        yield _unknown("metric", headline.metric, [one.name for one in metrics])
    chosen = next((one for one in metrics if headline.metric in {one.name, None} and one.headline), None)
    if metrics and chosen is None:
        yield Problem((*_PATH, "metric"), f"{shown(str(headline.metric))} is no metric that machines are ranked by")
    elif chosen is not None and headline.view == "per CPU" and not chosen.per_cpu:
        yield Problem((*_PATH, "view"), f"{chosen.name} means nothing per CPU; use 'plain' or 'per dollar'")
    names = set(entry.configurations) or {one.name for one in study.configurations}
    competing = {one.name: one for one in study.configurations if one.name in names}
    scopes = [str(OVERALL), *(str(one) for one in scopes_of(competing) if one != OVERALL)]
    if headline.scope not in scopes:
        yield _unknown("scope", headline.scope, scopes)


def _unknown(key: str, given: str, there: list[str]) -> Problem:
    hint = meant_by(key, given, there) or f"there are: {', '.join(there)}"
    return Problem((*_PATH, key), f"the study has no {key} {shown(given)}; {hint}")
