"""What a person is told when a command ends with an error."""

import pytest

from nephoscope.app.cli import main
from nephoscope.model.errors import CapacityLacking, InputError, NephoscopeError, OutputUnreadable


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (InputError("no such key", hint="look it up"), "error: no such key\nhint: look it up\n"),
        (OutputUnreadable("garbage"), "error: garbage\nthis is a defect in nephoscope: please report it\n"),
        (
            CapacityLacking("none left"),
            "error: none left\nthis is probably temporary: try again later\n",
        ),
    ],
)
def test_an_error_says_whose_move_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: NephoscopeError, told: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("nephoscope.app.cli.app", fails)
    assert (main(), capsys.readouterr().err) == (error.exit_code, told)
