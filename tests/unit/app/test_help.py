"""Help says what a value stands for, in words."""

import re

import pytest
from typer.testing import CliRunner

from nephoscope.app.cli import app
from tests.docs.generated import COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_no_type_of_python_and_no_formula(command: str) -> None:
    text = CliRunner().invoke(app, [command, "--help"]).stdout.replace("<study>", "")
    assert "Options:" in text
    assert not re.findall(r"<[^>]*>|\[\[[^]]*\]\.\.\.|x[<>]=", text)


def test_numbers_have_names_and_ranges_in_words() -> None:
    text = " ".join(CliRunner().invoke(app, ["plan", "--help"]).stdout.split())
    assert "--max-clusters N " in text
    assert "for this amount [at least 0.01]" in text
    assert "stay the same [from 0.001 to 1.0]" in text
    assert " STUDY study file (TOML)" in text
    chosen = CliRunner().invoke(app, ["query", "--help"]).stdout
    assert "--format table|csv|json " in chosen
