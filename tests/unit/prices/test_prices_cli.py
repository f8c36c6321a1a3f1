"""`nephoscope prices` as a person calls it: in this process, for speed."""

import json
import sys
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.prices.book import shipped
from nephoscope.prices.rows import read_csv

HEADER = "provider,region,kind,item,unit,basis,usd,source,licence,date\n"
TABLE = "aws,us-west-2,machine,{},hour,{},{},{},MIT,2026-06-01\n"
CYCLENERD = """about: {timestamp: 1646689654}
compute:
  instance:
    n2-standard-8: {cost: {us-east4: {hour: 0.2, month: 146.0, month_1y: 0}}}
  storage: {}
"""


def test_show_as_json_is_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prices", "show", "--provider", "aws", "--item", "m6i.2*", "--basis", "on-demand", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["usd"] for row in rows} == {0.384}
    assert {row["item"] for row in rows} == {"m6i.2xlarge"}
    assert main(["prices", "show", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(shipped().rows)


def test_case_of_a_provider_does_not_matter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prices", "show", "--provider", "AWS", "--json"]) == 0
    assert {row["provider"] for row in json.loads(capsys.readouterr().out)} == {"aws"}


def test_show_on_a_day_and_of_a_book_of_yours(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["prices", "show", "--item", "m6i.2xlarge", "--date", "2022-06-30", "--json"]) == 0
    assert [row["date"] for row in json.loads(capsys.readouterr().out)] == ["2022-06-23"]
    (tmp_path / "b.csv").write_text(HEADER + TABLE.format("m", "on-demand", 1, "list"))
    assert main(["prices", "show", "--book", str(tmp_path / "b.csv")]) == 0
    assert "1 of 1 row" in capsys.readouterr().out


def test_show_marks_disputed_rows_and_tiers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["prices", "show", "--item", "c5.4xlarge"]) == 0
    assert capsys.readouterr().out.count("(disputed)") == 1
    assert main(["prices", "show", "--provider", "aws", "--item", "internet egress"]) == 0
    said = capsys.readouterr().out
    assert "0.085 (10240 to 51200)" in said
    assert "0.05 (above 153600)" in said


def test_check_of_a_good_book_ends_with_0(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text(HEADER + TABLE.format("m", "on-demand", 1, "list"))
    assert main(["prices", "check", str(tmp_path / "b.csv"), "--today", "2026-11-21"]) == 0
    assert capsys.readouterr().out == "1 row, 0 findings\n"


def test_check_warns_with_0_and_refuses_with_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["prices", "check", "--today", "2026-11-21"]) == 0
    assert "warning: sources disagree by 6.0 %: aws us-east-1 c5.4xlarge" in capsys.readouterr().out
    rows = [("i", "on-demand", 0.424, "table"), ("i", "on-demand", 0.853, "list"), ("i", "reserved-1y", 0.424, "list")]
    (tmp_path / "b.csv").write_text(HEADER + "".join(TABLE.format(*row) for row in rows))
    assert main(["prices", "check", str(tmp_path / "b.csv"), "--today", "2026-11-21"]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("rejected: one column mixes bases: table states on-demand, but i 0.424 is reserved-1y")
    assert "cannot be used as it is" in said.err
    assert main(["prices", "check", str(tmp_path / "b.csv"), "--today", "2026-11-21", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)[0]["problem"] == "mixed-basis"


def test_import_prints_or_writes_rows_and_says_what_it_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pricing.yml").write_text(CYCLENERD)
    command = ["prices", "import", "cyclenerd", str(tmp_path / "pricing.yml"), "--date", "2026-07"]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "1 row\n    1 left out: price of 0" in printed.err
    assert main([*command, "--out", str(tmp_path / "own.csv")]) == 0
    assert (tmp_path / "own.csv").read_text() == printed.out
    (row,) = read_csv(tmp_path / "own.csv")
    assert (row.source, row.licence, row.date, row.usd) == ("pricing.yml", "Apache-2.0", "2026-07", 0.2)
    assert main([*command, "--out", str(tmp_path / "own.csv")]) == 2
    assert "already exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["import", "aws", "none.json"], "none.json: cannot be read"),
        (["import", "azur", "none.json"], "unknown kind of price list: 'azur'"),
        (["import", "csv", "none.csv", "--date", "2026"], "a list of kind 'csv' already contains this: --date"),
        (["import", "aws", "none.json", "--date", "June"], "not a date, month or year: 'June'"),
        (["show", "--provider", "amazon"], "the price book has no provider 'amazon'; did you mean \"aws\"?"),
        (["show", "--basis", "reserved"], "Invalid value for '--basis': 'reserved' is not one of"),
        (["show", "--date", "June"], "not a date, month or year: 'June'"),
        (["check", "none.csv"], "none.csv: cannot be read: No such file or directory"),
    ],
)
def test_wrong_input_ends_with_2(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(["prices", *arguments]) == 2
    assert words in capsys.readouterr().err.replace("\n", " ")


def test_a_terminal_of_80_columns_shows_the_whole_book_in_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table for each provider's machines, volumes and transfer, as all rows together do not fit."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["prices", "show"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 80
    kinds = len({(row.provider, row.kind) for row in shipped().rows})
    assert len(shown) <= len(shipped().rows) + 3 * kinds + 1, "a row is a line"
