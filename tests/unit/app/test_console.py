import sys

import pytest

from nephoscope.app.console import print_answer


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
