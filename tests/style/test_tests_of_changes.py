"""`make quick` runs the tests that a change can touch."""

from pathlib import Path

from scripts.tests_of_changes import affected_by

SOURCE = "src/nephoscope/stats/median.py"


def test_tests_that_import_what_changed_are_run_in_every_form_of_import(tmp_path: Path) -> None:
    tests = {
        "by_name": "from nephoscope.stats.median import median\n",
        "of_its_package": "from nephoscope.stats import ratio, median as middle\n",
        "in_brackets": "from nephoscope.stats import (\n    ratio,\n    median,\n)\n",
        "of_another_package": "from nephoscope.analysis.median import median\n",
        "longer": "from nephoscope.stats.medians import medians\n",
        "elsewhere": "from nephoscope.stats import ratio\n\nmedian = 1\n",
    }
    for name, text in tests.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    run = affected_by([SOURCE, "README.md"], [tmp_path / name for name in tests])
    assert [path.name for path in run] == ["by_name", "of_its_package", "in_brackets"]


def test_tests_that_changed_are_run_and_without_a_change_none(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text("")
    assert affected_by([str(test)], [test]) == [test]
    assert affected_by(["docs/index.md"], [test]) == []
