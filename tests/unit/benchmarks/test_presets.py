"""Editions of microbenchmarks: what they fill in, what is told of them, and the one knob."""

from pathlib import Path

import pytest

from nephoscope.app.stages.planning import plan, read_study
from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.cpu.stress_ng import StressNgParameters
from nephoscope.benchmarks.presets import EditionParameters, Presets, deviations, scale_words
from nephoscope.benchmarks.registry import BENCHMARKS

ROOT = Path(__file__).resolve().parents[3]


def presets_of(benchmark: Benchmark) -> Presets:
    """None for a benchmark without editions."""
    return benchmark.parameters.presets if issubclass(benchmark.parameters, EditionParameters) else {}


WITH_EDITIONS = [
    (benchmark.parameters, edition) for benchmark in BENCHMARKS.values() for edition in presets_of(benchmark)
]
EVERY = pytest.mark.parametrize(("model", "edition"), WITH_EDITIONS)


def test_an_edition_fills_in_what_is_not_given() -> None:
    filled = StressNgParameters(edition="cr2018")
    assert (filled.stressor, filled.duration_s, filled.repeats, filled.workers) == ("cpu", 60, 5, "cpus")
    assert StressNgParameters(edition="cr2018", duration_s=7).duration_s == 7


@EVERY
def test_what_a_publication_ranks_by_are_the_headlines_in_its_order(
    model: type[EditionParameters], edition: str
) -> None:
    reported = model.presets[edition].reported
    (benchmark,) = [one for one in BENCHMARKS.values() if one.parameters is model]
    metrics = benchmark.metrics(model.model_validate({"edition": edition}))
    found = tuple(metric.name for metric in metrics if metric.headline)
    assert found == reported if reported else len(found) >= 1


def test_the_edition_of_2022_ranks_as_its_report_does() -> None:
    """All contexts of CoreMark; of fio writes with fsync, then reads and writes in the sizes of TPC-C."""
    said = {name: presets_of(BENCHMARKS[name])["cr2022"].reported for name in ("coremark", "fio")}
    assert said == {
        "coremark": ("multi.iterations_per_s",),
        "fio": ("wr-iops-tpcc-fsync.iops", "rd-iops-tpcc.iops", "wr-iops-tpcc.iops"),
    }


def test_a_study_file_may_give_lists_beside_an_edition() -> None:
    for model, edition in WITH_EDITIONS:
        read = model.model_validate_json(f'{{"edition": "{edition}"}}', strict=True)
        assert model.model_validate_json(read.model_dump_json(), strict=True) == read


def test_faithful_keeps_the_defects_and_fixed_mends_them() -> None:
    assert StressNgParameters(edition="cr2018", mode="faithful").workers == 16
    assert "Known defect, kept: always 16 workers" in StressNgParameters(edition="cr2018", mode="faithful").notes()[1]
    assert "Known defect, fixed: always 16 workers" in StressNgParameters(edition="cr2018").notes()[1]


def test_what_differs_is_told() -> None:
    (method, *_) = StressNgParameters(edition="cr2018", duration_s=7, workers=3).notes()
    said = "cr2018 (fixed), with duration_s 7 instead of 60; workers 3 instead of cpus: not comparable with published"
    assert method == f"{said} numbers."


def test_without_edition_and_scale_there_is_nothing_to_tell() -> None:
    assert StressNgParameters().notes() == []


def test_the_scale_is_told_and_is_no_deviation() -> None:
    notes = StressNgParameters(edition="cr2020", scale=0.05).notes()
    assert notes[0].startswith("cr2020 (fixed), as published")
    assert notes[-1] == "Scaled to 5 % of the edition's times: not comparable with published numbers."
    assert scale_words(0.125).startswith("scaled to 12.5 %")


def test_sizes_stay_above_what_a_tool_needs_and_below_what_was_asked() -> None:
    tenth = EditionParameters(scale=0.1)
    assert [tenth.scaled(value, minimum=2) for value in (100, 15, 1)] == [10, 2, 1]


@EVERY
def test_an_edition_says_where_it_comes_from_and_deviates_from_nothing(
    model: type[EditionParameters], edition: str
) -> None:
    for mode in ("fixed", "faithful"):
        parameters = model.model_validate({"edition": edition, "mode": mode})
        assert deviations(parameters) == parameters.own_deviations()
        assert parameters.notes()[0].startswith(f"{edition} ({mode}), ")
    assert model.presets[edition].source


def test_the_study_of_all_editions_takes_minutes_and_leaves_out_what_it_says() -> None:
    study = read_study(ROOT / "studies" / "microbench.toml")
    planned = plan(study, scale=0.05)
    assert planned.expected_duration_s < 12 * 60
    used = {(row.intent.benchmark.uses, row.intent.benchmark.parameters.get("edition")) for row in planned.trials}
    every = {(one.name, edition) for one in BENCHMARKS.values() for edition in presets_of(one)}
    same_parameters = {("coremark", "cr2021"), ("request-response", "cr2021"), ("sysbench-fileio", "cr2018")}
    for name, edition in same_parameters:
        there = next(str(year) for uses, year in used if uses == name)
        assert presets_of(BENCHMARKS[name])[edition].parameters == presets_of(BENCHMARKS[name])[there].parameters
    left_out = {("fio", "cr2021-local-ssd"), ("fio", "cr2022-local-ssd"), ("act", "act-6")}
    assert every - used == same_parameters | left_out


@EVERY
def test_every_time_of_an_edition_shrinks_with_the_scale(model: type[EditionParameters], edition: str) -> None:
    benchmark = next(one for one in BENCHMARKS.values() if one.parameters is model)
    whole = benchmark.expected_duration_s(model.model_validate({"edition": edition}))
    small = benchmark.expected_duration_s(model.model_validate({"edition": edition, "scale": 0.05}))
    assert small < whole / 5
