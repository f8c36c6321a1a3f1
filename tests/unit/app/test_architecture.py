"""A plan knows which architecture a machine type has, and refuses what could not run on it."""

import platform
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.cli import main
from nephoscope.app.stages import architecture
from nephoscope.app.stages.advice import warnings_with_lines
from nephoscope.app.stages.architecture import require_builds, require_images
from nephoscope.app.stages.planning import load, load_for_advice
from nephoscope.machines.remote import build_for
from nephoscope.model.errors import EnvironmentProblem, InputError
from nephoscope.providers.cloud.check import architecture_of_image
from nephoscope.study.model import Study

DEBIAN = "projects/debian-cloud/global/images/debian-13-trixie-v20261012"
DEBIAN_ARM = "projects/debian-cloud/global/images/debian-13-trixie-arm64-v20261012"


@pytest.mark.parametrize(
    ("image", "architecture"),
    [
        (DEBIAN, "amd64"),
        (DEBIAN_ARM, "arm64"),
        ("Debian:debian-13:13-arm64:0.20261012.1", "arm64"),
        ("Debian:debian-13:13-gen2:0.20261012.1", "amd64"),
        ("canonical:ubuntu-24_04-lts:server-arm64:24.04.202610120", "arm64"),
        ("resolve:ssm:/aws/service/debian/release/13/latest/x86_64", "amd64"),
        ("ami-0123456789abcdef0", None),
        ("projects/mine/global/images/charm64", None),
        ("/subscriptions/1/images/mine", None),
    ],
)
def test_the_name_of_an_image_says_its_architecture_or_nothing(image: str, architecture: str | None) -> None:
    assert architecture_of_image(image) == architecture


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ({"database_machine": {"type": "c4a-standard-8"}, "image": DEBIAN}, "database machine c4a-standard-8 is Arm"),
        ({"database_machine": {"type": "n4-standard-8"}, "image": DEBIAN_ARM}, "n4-standard-8 is x86 .amd64., but"),
        (
            {
                "provider": "aws",
                "database_machine": {"type": "m8g.2xlarge"},
                "load_machine": {"type": "m8i.2xlarge"},
                "image": "ami-1",
            },
            "one image cannot start both the database machine m8g.2xlarge .arm64. and the load machine m8i.2xlarge",
        ),
    ],
)
def test_an_image_of_another_architecture_is_refused(configuration: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        require_images(study(**configuration))
    assert "_machine.image" in str(refused.value.hint)


def test_images_that_fit_or_that_say_nothing_are_not_refused() -> None:
    require_images(study(database_machine={"type": "c4a-standard-8"}, image=DEBIAN_ARM))
    require_images(study(provider="aws", database_machine={"type": "m8g.2xlarge"}, image="ami-1"))
    require_images(study(database_machine={"type": "c4a-standard-8"}, image=DEBIAN_ARM, load_machine=None))
    both = {"load_machine": {"type": "n4-standard-8", "image": DEBIAN}}
    require_images(study(database_machine={"type": "c4a-standard-8"}, image=DEBIAN_ARM, **both))


def test_the_build_of_the_load_generator_follows_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    program = tmp_path / "nephoscope-load"
    assert build_for(program, "x86_64") == program
    arm = study(database_machine={"type": "c4a-standard-8"}, image=DEBIAN_ARM)
    with pytest.raises(
        EnvironmentProblem, match="c4a-standard-8: there is no build of nephoscope-load for aarch64"
    ) as no:
        require_builds(arm, program)
    assert "make static ARCH=aarch64" in str(no.value.hint)
    static = tmp_path / "nephoscope-load-static"
    cross = tmp_path / "nephoscope-load-static-aarch64"
    static.touch()
    cross.touch()
    assert build_for(program, "x86_64") == static
    assert build_for(program, "aarch64") == cross
    require_builds(arm, program)


def test_a_plan_that_cannot_run_here_says_so_first_and_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(architecture, "load_program", lambda: str(tmp_path / "nephoscope-load"))
    file = tmp_path / "s.toml"
    file.write_text(_text(database_machine={"type": "c4a-standard-8"}, image=DEBIAN_ARM))
    assert main(["plan", str(file)]) == 3
    told = capsys.readouterr().err.splitlines()
    lacks = "configuration 'a', database machine c4a-standard-8: there is no build of nephoscope-load for aarch64"
    assert told[0].startswith(f"cannot run yet: {lacks}")
    assert told[-2].startswith(f"error: {lacks}")


def test_a_misspelt_machine_type_is_answered_with_similar_ones() -> None:
    text = _text(provider="aws", database_machine={"type": "m8g.2xlarg"}, image="ami-1")
    loaded, lines = load_for_advice(text, "s.toml")
    warnings = warnings_with_lines(lines, "s.toml", loaded, cpus=2)
    assert "s.toml:10: aws has no machine type 'm8g.2xlarg' in the catalogue; similar ones: m8g.2xlarge" in warnings[0]


def study(**configuration: Any) -> Study:
    """A study of one configuration in a cloud."""
    return load(_text(**configuration), "s.toml")


def _text(image: str, provider: str = "gcp", **roles: Any) -> str:
    lines = [
        'schema = "nephoscope/study/1"',
        'name = "s"',
        "[[benchmarks]]",
        'uses = "stress-ng"',
        "[[configurations]]",
        'name = "a"',
        f'provider = "{provider}"',
        'region = "r"\nzone = "z"',
    ]
    for role, machine in roles.items():
        inside = ", ".join(f'{key} = "{value}"' for key, value in (machine or {}).items())
        lines += [f"{role} = {{ {inside} }}"] if machine else []
    return "\n".join([*lines, f'cloud = {{ image = "{image}", ingress = "203.0.113.7/32" }}', ""])
