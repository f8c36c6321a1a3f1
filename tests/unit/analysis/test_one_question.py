"""A metric that is a constant times another one is not asked a second time, and has no second answer."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.questions import BestRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import ClaimRow, Comparison, FamilyComparison, Statistic
from nephoscope.study.claims import Claims
from tests.unit.analysis.study_builder import inputs, measurement, observed, rows

IOPS = Metric(name="iops", unit="IO/s", direction=Direction.HIGHER, title="I/O rate", headline=True)
BANDWIDTH = Metric(name="bandwidth", unit="B/s", direction=Direction.HIGHER, title="Throughput")
WAIT = Metric(name="wait", unit="s", direction=Direction.LOWER, title="Wait")
BLOCK_BYTES = 4096


def study_of(bandwidth: Metric = BANDWIDTH, factor: float = BLOCK_BYTES, *, uneven: bool = False) -> AnalysedStudy:
    return analyse(inputs_of(bandwidth, factor, uneven=uneven))


def inputs_of(bandwidth: Metric = BANDWIDTH, factor: float = BLOCK_BYTES, *, uneven: bool = False) -> Any:
    generator = np.random.default_rng(3)
    drift = generator.lognormal(0, 0.3, 6)
    values = {name: [float(50_000 * d * generator.lognormal(0, 0.04)) for d in drift] for name in ("a", "b", "c")}
    trials, measurements = rows(values, metric=IOPS)
    more = [measurement(trials[i], float(int(row.value * factor)), bandwidth) for i, row in enumerate(measurements)]
    waits = [measurement(trials[i], 1e3 / row.value, WAIT) for i, row in enumerate(measurements)]
    if uneven:
        more[0] = more[0]._replace(value=more[0].value * 1.001)
    return inputs((trials, [*measurements, *more, *waits]), {"tpcc": [IOPS, bandwidth, WAIT]})


def pairs(study: AnalysedStudy, metric: str) -> list[Comparison]:
    return [row for row in study[Comparison] if row.metric == metric and not row.per_cpu]


@pytest.mark.parametrize("headline", [False, True])
def test_both_have_the_one_answer(headline: bool) -> None:
    study = study_of(BANDWIDTH.model_copy(update={"headline": headline}))
    same = {"metric": "bandwidth", "unit": "B/s"}
    assert pairs(study, "bandwidth") == [row.model_copy(update=same) for row in pairs(study, "iops")] != []
    levels = {(row.metric, row.configuration): row.level or 0 for row in study[Statistic]}
    for name in ("a", "b", "c"):
        assert levels["bandwidth", name] == pytest.approx(BLOCK_BYTES * levels["iops", name], rel=1e-7)


def test_two_headline_metrics_have_one_answer() -> None:
    study = study_of(BANDWIDTH.model_copy(update={"headline": True}))
    best = {row.metric: (row.best, row.excluded) for row in study[BestRow] if row.view == "plain"}
    assert best["iops"] == best["bandwidth"]


@pytest.mark.parametrize("headline", [False, True])
def test_families_do_not_count_it_twice(headline: bool) -> None:
    types = {f"{vendor}-{n}": ("aws", f"m6{vendor}.{2 * n}xlarge") for vendor in "ai" for n in (1, 2, 3, 4)}
    generator = np.random.default_rng(5)
    trials, measurements = rows({name: [float(generator.lognormal(9, 0.1))] for name in types}, metric=IOPS)
    bandwidth = BANDWIDTH.model_copy(update={"headline": headline})
    more = [measurement(trials[i], row.value * BLOCK_BYTES, bandwidth) for i, row in enumerate(measurements)]
    seen = [
        observed(row, cpu_vendor="AuthenticAMD" if "-a" in f"-{row.configuration}" else "GenuineIntel")
        for row in trials
    ]
    found = analyse(inputs((trials, [*measurements, *more]), {"tpcc": [IOPS, bandwidth]}, types, machines=seen))
    assert found[FamilyComparison]
    assert {row.metric for row in found[FamilyComparison]} == {"iops"}


def test_the_headline_metric_stands_for_all_though_another_is_declared_before_it() -> None:
    made = inputs_of()
    (row,) = made.benchmarks
    turned = row.model_copy(update={"metrics": [WAIT, BANDWIDTH, IOPS]})
    study = analyse(replace(made, benchmarks=[turned]))
    assert pairs(study, "bandwidth")[0].ratio == pairs(study, "iops")[0].ratio


def test_a_multiple_counts_in_no_correction() -> None:
    """Bytes of the wait, which is no headline: the corrected p-values are those without them."""
    alone = study_of(uneven=True)
    seconds = Metric(name="wait_ms", unit="ms", direction=Direction.LOWER, title="Wait in ms")
    made = inputs_of(uneven=True)
    waits = [row for row in made.measurements if row.metric == "wait"]
    of = {row.trial: row for row in made.trials}
    more = [measurement(of[row.trial], 1000 * row.value, seconds) for row in waits]
    (row,) = made.benchmarks
    rows_of = [row.model_copy(update={"metrics": [*row.metrics, seconds]})]
    both = analyse(replace(made, measurements=[*made.measurements, *more], benchmarks=rows_of))
    assert [row.p_adjusted for row in pairs(both, "wait")] == [row.p_adjusted for row in pairs(alone, "wait")]
    assert [row.p_adjusted for row in pairs(both, "wait_ms")] == [row.p_adjusted for row in pairs(both, "wait")]


def test_nearly_a_multiple_and_an_inverse_are_questions_of_their_own() -> None:
    study = study_of(uneven=True)
    assert pairs(study, "bandwidth")[0].p_value != pairs(study, "iops")[0].p_value
    assert pairs(study, "wait")[0].p_value != pairs(study, "iops")[0].p_value


def test_a_claim_may_name_the_other_metric_and_has_the_same_verdict() -> None:
    sides = {"left": {"configuration": "a"}, "right": {"configuration": "b"}}
    about: dict[str, object] = {
        "text": "a is better",
        "source": "page 3",
        "kind": "better",
        "benchmark": "tpcc",
        **sides,
    }
    named = {"first": "iops", "second": "bandwidth", "any": "*"}
    claims = [{"id": name, "metric": metric, **about, **sides} for name, metric in named.items()]
    study = analyse(replace(inputs_of(), claims=Claims.model_validate({"claims": claims})))
    assert len({(row.verdict, row.ratio) for row in study[ClaimRow]}) == 1
    found = {row.claim: row.metric for row in study[ClaimRow]}
    assert found == {"first": "iops", "second": "bandwidth", "any": "iops"}
