"""Every study that ships plans: trials, hours, and dollars where a cloud makes the machines."""

import re
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.app.stages.planning import plan, read_study
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.providers.local import LocalProvider

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "studies").glob("*.toml"))
ON_CLOUDS = {
    "aerospike-clouds": 12,
    "cloud-report-2018": 102,
    "cloud-report-2020": 756,
    "cloud-report-2022": 6282,
    "cloud-report-2026": 4668,
    "small-against-large": 72,
}
"""Those whose machines a cloud makes, with the number of their trials."""

LIMITS = {one.name: one.at_once for one in (LocalProvider, EmulatedProvider)}


def test_none_is_forgotten() -> None:
    assert set(ON_CLOUDS) < {file.stem for file in STUDIES}


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_it_plans(file: Path) -> None:
    planned = plan(read_study(file))
    assert planned.trials
    assert planned.expected_duration_s > 0
    if file.stem in ON_CLOUDS:
        assert len(planned.trials) == ON_CLOUDS[file.stem]
        assert planned.unpriced == []
        assert planned.price_usd is not None


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_it_keeps_no_more_clusters_than_its_providers_have(file: Path) -> None:
    """Kept clusters are held at once; a `run` would be refused."""
    study = read_study(file)
    limits = [LIMITS[one.provider] for one in study.configurations if one.provider in LIMITS]
    assert study.placement == "fresh" or len(study.configurations) <= min(limits, default=len(study.configurations))


def test_the_command_prints_trials_hours_and_dollars(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(ROOT / "studies" / "cloud-report-2018.toml")]) == 0
    said = capsys.readouterr()
    summary = (
        r"102 trials \(9 configurations, .*\n"
        r"about [\d,]+ h .* at once, [\d,]+ h .* one trial after another; \$[\d.,]+.*\n"
    )
    assert re.search(summary, said.out), said.out[-300:]
    assert "the hours include estimates" in said.err
