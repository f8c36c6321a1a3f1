"""`nephoscope parse-output`: which tool wrote a file, and its metrics."""

import io
import json
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.parsers.identify import PARSERS
from tests.support.parser_samples import IDENTIFIED, path_of

FIO = path_of("fio-write-logs-3.33.json")
OLTP = path_of("sysbench-oltp-1.0.20.txt")
NOTHING_DONE = path_of("sysbench-load-again-1.0.20.txt")
DAMAGED = path_of("damaged-fio.txt")

Captured = pytest.CaptureFixture[str]


def cells(table: str) -> list[list[str]]:
    """The body of a rich table."""
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in table.splitlines() if line[:1] == "│"]


def test_it_tells_the_tool_of_every_recording(capsys: Captured) -> None:
    files = [(tool, path_of(name)) for tool, name, _ in IDENTIFIED if path_of(name).is_file()]
    assert {tool for tool, _ in files} == set(PARSERS)
    assert main(["parse-output", "--json", *(str(path) for _, path in files)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["tool"], one["file"]) for one in found] == [(tool, str(path)) for tool, path in files]
    assert [one["file"] for one in found if not one["metrics"]] == [str(NOTHING_DONE)]


def test_a_table_has_metric_value_and_unit_as_people_read_them(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["parse-output", str(OLTP)]) == 0
    said = capsys.readouterr().out
    assert f"{OLTP}: sysbench-oltp, version 1.0.20 (line 16 holds 'SQL statistics:')" in said
    rows = cells(said)
    assert ["transactions", "440", ""] in rows
    assert ["queries_per_s", "2,973", "1/s"] in rows
    assert ["latency_mean_s", "13.66", "ms"] in rows
    assert not [row for row in rows if row[0] == "version"]


def test_the_values_of_a_list_share_a_unit(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["parse-output", str(path_of("ping-20221126.txt"))]) == 0
    assert ["replies_s", "672, 48, 38, 34, 40", "µs"] in cells(capsys.readouterr().out)


def test_json_holds_si_values_and_whole_lists(capsys: Captured) -> None:
    assert main(["parse-output", "--json", str(path_of("cpuinfo.txt")), str(OLTP)]) == 0
    cpuinfo, oltp = json.loads(capsys.readouterr().out)
    assert (cpuinfo["version"], oltp["version"]) == (None, "1.0.20")
    assert {"metric": "latency_mean_s", "value": pytest.approx(0.01366), "unit": "s"} in oltp["metrics"]
    assert {"metric": "transactions", "value": 440, "unit": ""} in oltp["metrics"]


def test_output_without_metrics_says_so_in_place_of_an_empty_table(capsys: Captured) -> None:
    assert main(["parse-output", str(NOTHING_DONE)]) == 0
    assert capsys.readouterr().out.endswith("The file has no metrics: the tool measured nothing.\n")


def test_it_reads_standard_input(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(FIO.read_bytes())))
    assert main(["parse-output", "-"]) == 0
    assert "standard input: fio, version 3.33 (" in capsys.readouterr().out


def test_a_version_is_a_number_without_the_name_of_the_tool(capsys: Captured) -> None:
    assert main(["parse-output", str(path_of("iperf3-tcp-3.12.json"))]) == 0
    assert "iperf3, version 3.12 (" in capsys.readouterr().out


def test_a_damaged_file_is_named_with_its_tool_and_place_and_the_others_are_printed(capsys: Captured) -> None:
    assert main(["parse-output", str(DAMAGED), str(OLTP)]) == 4
    said = capsys.readouterr()
    assert "sysbench-oltp, version 1.0.20" in said.out
    assert "error: 1 of 2 files could not be read\n" in said.err
    assert f"  {DAMAGED}: this looks like output of fio, but it cannot be read: fio JSON: damaged JSON: " in said.err
    assert "line 209 column 2" in said.err
    assert "hint: truncated or edited output is rejected" in said.err
    assert "nephoscope to mend" not in said.err


def test_a_file_of_no_known_tool_is_refused_with_the_tools_that_are_known(capsys: Captured, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear reader,\n")
    assert main(["parse-output", "--json", str(file)]) == 4
    said = capsys.readouterr()
    assert json.loads(said.out) == [
        {"file": str(file), "tool": None, "error": "no known tool printed this: it starts with 'Dear reader,'"}
    ]
    assert "error: the file could not be read\n" in said.err
    assert f"hint: nephoscope reads the output of: {', '.join(PARSERS)}\n" in said.err


def test_a_file_that_is_not_there_is_wrong_input(capsys: Captured, tmp_path: Path) -> None:
    assert main(["parse-output", str(OLTP), str(tmp_path / "nowhere")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"error: cannot read {tmp_path / 'nowhere'}: No such file or directory\n" in said.err
