"""[choices] of a study: one option counts, --choose takes another, and the stored study says which."""

import json
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import InputError, StudyError
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.load import expanded_text, load_study
from nephoscope.study.shorthands import with_chosen

STUDY = """name = "s"
replicates = 4
[choices.size]
is = "small" # the default
small = { seconds = 1.0, cpus = "all" }
large = { seconds = 9.0, cpus = "all" }
[defaults]
provider = "fake"
database.system = "fake"
database_machine.cpus = "{cpus}"
[[configurations]]
name = "a"
[[matrix]]
name = "m-{buffers:slug}"
axes.buffers = ["b"]
database.settings.time = "{seconds}s"
[[benchmarks]]
uses = "fake"
parameters = { duration_s = "{seconds}" }
"""


def durations(text: str) -> set[float]:
    return {one.parameters["duration_s"] for one in load_study(text, "s.toml", BENCHMARKS).benchmarks}


def test_the_chosen_option_gives_defaults_matrices_and_benchmarks_their_values() -> None:
    study = load_study(STUDY, "s.toml", BENCHMARKS)
    assert [one.database.settings for one in study.configurations] == [{}, {"time": "1.0s"}]
    assert durations(STUDY) == {1.0}
    assert durations(with_chosen(STUDY, ["size=large"])) == {9.0}
    assert "choices" not in expanded_text(STUDY, "s.toml", BENCHMARKS)


def test_choosing_changes_one_word_of_the_text_and_no_line_number() -> None:
    changed = with_chosen(STUDY, ["size = large"])
    assert changed == STUDY.replace('is = "small"', 'is = "large"')
    assert with_chosen(changed, ["size=small"]) == STUDY
    assert with_chosen(f"\ufeff{STUDY}", ["size=large"]) == f"\ufeff{changed}"


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("size", "--choose size: not a choice"),
        ("sizes=large", 'the study has no choice "sizes"; it has: size'),
        ("size=larg", 'there is no option "larg"; did you mean "large"?'),
        ("size=is", 'there is no option "is"; there are: small, large'),
    ],
)
def test_an_unknown_choice_or_option_is_named_with_those_that_there_are(chosen: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        with_chosen(STUDY, [chosen])
    assert said in caught.value.message


@pytest.mark.parametrize("of", ["small", "large"])
def test_a_placeholder_that_nothing_takes_is_told_whether_or_not_its_option_is_chosen(of: str) -> None:
    text = STUDY.replace(f"{of} = {{ seconds", f"{of} = {{ second = 2.0, seconds")
    with pytest.raises(StudyError, match=r"nothing in the study uses the placeholder `second`; did you mean `seconds`"):
        load_study(text, "s.toml", BENCHMARKS)


@pytest.mark.parametrize("value", ["2020-01-01", "07:32:00"])
def test_a_date_for_an_option_is_told(value: str) -> None:
    with pytest.raises(StudyError, match=f"{value} is a date or a time"):
        load_study(STUDY.replace('"small"', value), "s.toml", BENCHMARKS)


def test_a_choice_that_is_not_on_a_line_of_its_own_is_not_guessed() -> None:
    text = 'name = "s"\nchoices.size = { "is" = "small", small = { x = 1 }, large = { x = 2 } }\n'
    with pytest.raises(InputError, match="must say on a separate line which option") as caught:
        with_chosen(text, ["size=large"])
    assert caught.value.hint == 'write `is = "large"` below [choices.size]'
    with pytest.raises(InputError, match=r"it has no \[choices\]"):
        with_chosen('name = "s"\n', ["size=large"])
    for text in ("not TOML", f"a = {'[' * 5_000}", f"a = {'9' * 5_000}"):
        assert with_chosen(text, ["size=large"]) == text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('is = "small"', 'is = "smal"', 's.toml:4: choices.size.is: there is no option "smal"; did you mean "small"?'),
        ('is = "small"', "", "s.toml:3: choices.size.is: missing"),
        ("seconds = 1.0,", "Seconds = 1.0,", "s.toml:5: choices.size.small.Seconds: the name of a placeholder has"),
        ("small = {", "medium = 3\nsmall = {", "s.toml:5: choices.size.medium: 3 is not allowed; expected: a table of"),
        ("{seconds}s", "{second}s", "nothing gives a value to `{second}`; did you mean `{seconds}`?"),
        ('"{seconds}" }', '"{second}" }', "s.toml:19: benchmarks[0].parameters.duration_s: nothing gives a value to"),
        ("[defaults]", "[choices.b]\nis = 'x'\nx = { cpus = 1 }\n[defaults]", "another choice gives a value to `cpus`"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_choice_is_said_at_its_line(old: str, new: str, said: str) -> None:
    assert old in STUDY
    with pytest.raises(StudyError) as caught:
        load_study(STUDY.replace(old, new, 1), "s.toml", BENCHMARKS)
    assert said in str(caught.value)


def test_plan_and_run_take_another_option_and_the_folder_stores_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text(STUDY)
    file, out = str(tmp_path / "s.toml"), tmp_path / "out"
    assert main(["plan", file, "--choose", "size=large", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert {row["intent"]["benchmark"]["parameters"]["duration_s"] for row in planned["trials"]} == {9.0}
    assert main(["run", file, "--choose", "size=large", "--rehearse", "--out", str(out)]) == 0
    folder = ResultsFolder.existing(out)
    assert folder.study_text() == with_chosen(STUDY, ["size=large"])
    assert main(["run", str(out), "--choose", "size=small"]) == 2
    assert "--choose" in capsys.readouterr().err
    assert main(["plan", file, "--choose", "size=huge"]) == 2
