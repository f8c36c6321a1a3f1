"""Pictures of the report in README and tutorial are not older than what they show."""

import importlib.util
import json

from tests.docs.pages import ROOT

PROGRAM = ROOT / "website" / "pictures.py"


def test_pictures_were_taken_from_the_stored_study_and_the_present_page() -> None:
    spec = importlib.util.spec_from_file_location("pictures", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    assert json.loads(pictures.TAKEN_FROM.read_text()) == pictures.digests(), "stale: run make pictures"
    assert all((pictures.IMAGES / f"{name}.png").exists() for name in pictures.HEIGHTS)
