import sys

import pytest
from rich.text import Text

from nephoscope.app.cli import tell_error
from nephoscope.app.console import print_answer, print_table, say, tell
from nephoscope.model.errors import InputError
from nephoscope.model.words import visible


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


HOSTILE = "\x1b]0;title\x07\x1b[31mred\x9b2J\rover\u202egnp.exe\n\tnext"
SHOWN = r"\x1b]0;title\x07\x1b[31mred\x9b2J\rover\u202egnp.exe" + "\n\tnext"


def test_what_a_server_or_a_file_says_does_not_command_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert visible(HOSTILE) == SHOWN
    tell(HOSTILE)
    tell_error(InputError(HOSTILE, hint=HOSTILE))
    print_table(["name"], [[HOSTILE], [Text(HOSTILE)]])
    said = capsys.readouterr()
    assert not set("\x1b\x07\x9b\r\u202e") & {*said.out, *said.err}
    assert r"\x1b]0;title" in said.out
    say(HOSTILE)
    assert capsys.readouterr().out == f"{HOSTILE}\n", "into a file or a pipe as it is"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    say(HOSTILE)
    print_answer(["name"], [[HOSTILE]])
    assert not set("\x1b\x07\x9b\r\u202e") & {*capsys.readouterr().out}
