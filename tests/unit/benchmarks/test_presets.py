"""Editions of microbenchmarks: what they fill in, what is told of them, and the one knob."""

import pytest

from nephoscope.benchmarks.presets import EditionParameters, deviations, preset_notes, scale_words
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.benchmarks.stress_ng import StressNgParameters

WITH_EDITIONS = [
    (benchmark.parameters, edition)
    for benchmark in BENCHMARKS.values()
    if issubclass(benchmark.parameters, EditionParameters)
    for edition in benchmark.parameters.presets
]
EVERY = pytest.mark.parametrize(("model", "edition"), WITH_EDITIONS)


def test_an_edition_fills_in_what_is_not_given() -> None:
    filled = StressNgParameters(edition="cr2018")
    assert (filled.stressor, filled.duration_s, filled.repeats, filled.workers) == ("cpu", 60, 5, "cpus")
    assert StressNgParameters(edition="cr2018", duration_s=7).duration_s == 7


def test_a_study_file_may_give_lists_beside_an_edition() -> None:
    for model, edition in WITH_EDITIONS:
        read = model.model_validate_json(f'{{"edition": "{edition}"}}', strict=True)
        assert model.model_validate_json(read.model_dump_json(), strict=True) == read


def test_faithful_keeps_the_defects_and_fixed_mends_them() -> None:
    assert StressNgParameters(edition="cr2018", mode="faithful").workers == 16
    assert "Known defect, kept: 16 workers" in preset_notes(StressNgParameters(edition="cr2018", mode="faithful"))[1]
    assert "Known defect, mended: 16 workers" in preset_notes(StressNgParameters(edition="cr2018"))[1]


def test_what_differs_is_told() -> None:
    (method, *_) = preset_notes(StressNgParameters(edition="cr2018", duration_s=7, workers=3))
    said = "cr2018 (fixed), with duration_s 7 instead of 60; workers 3 instead of cpus: not comparable with published"
    assert method == f"{said} numbers."


def test_without_edition_and_scale_there_is_nothing_to_tell() -> None:
    assert preset_notes(StressNgParameters()) == []


def test_the_scale_is_told_and_is_no_deviation() -> None:
    notes = preset_notes(StressNgParameters(edition="cr2020", scale=0.05))
    assert notes[0].startswith("cr2020 (fixed), as published")
    assert notes[-1] == "Scaled to 5 % of the edition's times: not comparable with published numbers."
    assert scale_words(0.125).startswith("scaled to 12.5 %")


def test_sizes_stay_above_what_a_tool_needs_and_below_what_was_asked() -> None:
    tenth = EditionParameters(scale=0.1)
    assert [tenth.scaled(value, least=2) for value in (100, 15, 1)] == [10, 2, 1]


@EVERY
def test_an_edition_says_where_it_comes_from_and_deviates_from_nothing(
    model: type[EditionParameters], edition: str
) -> None:
    for mode in ("fixed", "faithful"):
        parameters = model.model_validate({"edition": edition, "mode": mode})
        assert deviations(parameters) == parameters.own_deviations()
        assert preset_notes(parameters)[0].startswith(f"{edition} ({mode}), ")
    assert model.presets[edition].source


@EVERY
def test_every_time_of_an_edition_shrinks_with_the_scale(model: type[EditionParameters], edition: str) -> None:
    benchmark = next(one for one in BENCHMARKS.values() if one.parameters is model)
    whole = benchmark.expected_duration_s(model.model_validate({"edition": edition}))
    small = benchmark.expected_duration_s(model.model_validate({"edition": edition, "scale": 0.05}))
    assert small < whole / 5
