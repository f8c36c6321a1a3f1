"""Every importer of the registry says what it is, and refuses what is not its own with words."""

from pathlib import Path

import pytest

from nephoscope.importers.registry import IMPORTERS
from nephoscope.model.errors import InputError


@pytest.mark.parametrize("name", IMPORTERS)
def test_each_says_in_one_line_what_it_reads(name: str) -> None:
    importer = IMPORTERS[name]
    assert "\n" not in importer.what + importer.path
    assert importer.what.endswith(".")


@pytest.mark.parametrize("name", IMPORTERS)
def test_an_empty_folder_garbage_and_nothing_are_wrong_input(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    garbage = tmp_path / "garbage"
    garbage.write_bytes(bytes(range(256)) * 8)
    for path in (tmp_path / "empty", garbage, tmp_path / "nothing"):
        with pytest.raises(InputError):
            IMPORTERS[name].read(path)
