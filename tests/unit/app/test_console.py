import json
import sys

import pytest
from rich.text import Text

from nephoscope.app.cli import tell_error
from nephoscope.app.console import (
    print_answer,
    print_json,
    print_rows,
    print_table,
    say,
    say_document,
    talk,
    tell,
    tell_lines,
)
from nephoscope.model.errors import InputError


def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, terminal: bool, width: int, cells: list[str]
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    print_answer(["name", "longest"], [cells])
    return capsys.readouterr().out.splitlines()


def test_an_answer_is_never_cut(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    short, long = ["a", "b\nc"], ["a", "x" * 100]
    as_columns = ["name  longest", f"a     {long[1]}"]
    assert printed(monkeypatch, capsys, terminal=False, width=80, cells=long) == as_columns
    assert printed(monkeypatch, capsys, terminal=True, width=120, cells=long) == as_columns
    as_rows = ["row 1", "  name     a", f"  longest  {long[1]}"]
    assert printed(monkeypatch, capsys, terminal=True, width=80, cells=long) == as_rows
    assert printed(monkeypatch, capsys, terminal=True, width=80, cells=short) == ["name  longest", "a     b c"]


HOSTILE = "\x1b]0;title\x07\x1b[31mred\x9b2J\rover\u202egnp.exe\ud800\n\tnext"
SHOWN = r"\x1b]0;title\x07\x1b[31mred\x9b2J over\u202egnp.exe\ud800 next"


@pytest.mark.parametrize("terminal", [False, True])
def test_what_a_server_or_a_file_says_is_one_line_that_commands_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, terminal: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setenv("COLUMNS", "200")
    tell(HOSTILE)
    tell_error(InputError(HOSTILE, hint=HOSTILE))
    talk().print(Text("a\n::b"))
    assert capsys.readouterr().err.splitlines() == [SHOWN, f"error: {SHOWN}", f"hint: {SHOWN}", "a ::b"]
    say(HOSTILE)
    print_answer(["name"], [[HOSTILE]])
    assert capsys.readouterr().out.splitlines() == [SHOWN, "name", SHOWN]
    print_table(["name"], [[HOSTILE], [Text(HOSTILE)]])
    print_rows(["name"], [[HOSTILE]])
    drawn = capsys.readouterr().out
    assert not set("\x07\x9b\r\u202e\ud800") & {*drawn}
    assert "\x1b]" not in drawn
    assert "\x1b[31m" not in drawn


def test_json_escapes_what_cannot_be_seen(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"\u202e": "\x1b\x85\U000e0041 ##[error]x µ"}
    print_json(value)
    printed = capsys.readouterr().out
    assert json.loads(printed) == value
    assert not set("\u202e\x1b\x85\U000e0041") & {*printed}
    assert "##[" not in printed
    assert "µ" in printed


@pytest.mark.parametrize("text", ["::error file=x,line=1::forged", "  ::stop-commands::x"])
def test_no_text_commands_the_runner_that_reads_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for command in (text, f"a {text}"):
        tell(command)
        say(command)
        say_document(f"ours\n{command}")
        print_rows(["name"], [[command]])
        tell_lines(f"Traceback\n{command}")
    said = capsys.readouterr()
    assert not [row for row in (*said.out.splitlines(), *said.err.splitlines()) if row.lstrip().startswith("::")]
    command, inert = "a ##[error]b ##vso[task.x]c ## [d] ::1", "a \\x23#[error]b \\x23#vso[task.x]c ## [d] ::1"
    tell(command)
    tell(Text(command))
    tell_error(InputError(command, hint=command))
    assert capsys.readouterr().err.splitlines() == [inert, inert, f"error: {inert}", f"hint: {inert}"]
    print_table(["name"], [[command], [Text(command)]])
    drawn = capsys.readouterr().out
    assert inert in drawn
    assert "##[" not in drawn
    assert "##vso[" not in drawn


def test_an_error_of_several_lines_is_given_as_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    tell_error(InputError(["a.toml:1: name: wrong", "a.toml:2: seed: b\nhint: none"], hint="c\nd"))
    assert capsys.readouterr().err.splitlines() == [
        "error: a.toml:1: name: wrong",
        "a.toml:2: seed: b hint: none",
        "hint: c d",
    ]


def test_a_narrow_terminal_says_equal_columns_once_and_leaves_out_optional_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = ["provider", "type", "region", "source"]
    rows = [["aws", f"type-{n}", "r" * (20 + n), f"{n}" * 60] for n in range(4)]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    print_answer(headers, rows, ("source", "region"))
    assert capsys.readouterr().out.splitlines()[0].split() == headers
    monkeypatch.setenv("COLUMNS", "40")
    print_answer(headers, rows, ("source", "region"))
    shown = capsys.readouterr()
    assert [text.split() for text in shown.out.splitlines()[:3]] == [
        ["All:", "provider", "aws"],
        ["type", "region"],
        ["type-0", "r" * 20],
    ]
    assert "left out, as the terminal is too narrow: source;" in " ".join(shown.err.split())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    print_answer(headers, rows, ("source", "region"))
    assert rows[3] in [text.split() for text in capsys.readouterr().out.splitlines()], "what is piped is whole"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_answer(headers, rows)
    assert "row 4" in capsys.readouterr().out, "without optional columns, row by row"
