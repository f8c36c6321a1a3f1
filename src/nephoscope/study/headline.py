"""Whether the report can be about what it should: what its headline and its author's texts name is in the study."""

from collections.abc import Iterator, Mapping

from nephoscope.model.references import references
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


def text_problems(study: Study) -> Iterator[Problem]:
    """Benchmarks and configurations that an author's text refers to and the study does not have."""
    labels = [one.label for one in study.benchmarks]
    names = [one.name for one in study.configurations]
    for place, text in enumerate(study.report.text):
        for reference in references(text.markdown):
            named = [("configuration", name, names) for name in reference.configurations]
            named += [("benchmark", reference.benchmark, labels)] if reference.benchmark else []
            for key, name, there in named:
                if name not in there:
                    hint = meant_by(key, name, there) or f"there are: {', '.join(there)}"
                    said = f"“{reference.text}”: the study has no {key} {shown(name)}; {hint}"
                    yield Problem(("report", "text", place, "markdown"), said)


def _unknown(key: str, given: str, there: list[str]) -> Problem:
    hint = meant_by(key, given, there) or f"there are: {', '.join(there)}"
    return Problem((*_PATH, key), f"the study has no {key} {shown(given)}; {hint}")
