"""What a release is made of: the workflow, the container and the tag of the wheels. None of them runs in CI."""

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = [line.rsplit(" :: ", 1)[1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    loaded: dict[str, Any] = yaml.safe_load(text.replace("\non:", '\n"on":'))  # YAML 1.1 reads on as true
    return loaded


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_every_job_of_the_release_comes_after_the_one_before_and_has_a_deadline(workflow: dict[str, Any]) -> None:
    assert workflow["on"] == {"push": {"tags": ["v*"]}}
    jobs = workflow["jobs"]
    assert [(name, job.get("needs")) for name, job in jobs.items()] == [
        ("build", None),
        ("try", "build"),
        ("publish", "try"),
    ]
    assert all(0 < int(job["timeout-minutes"]) <= 60 for job in jobs.values())
    assert {step["with"]["name"] for step in steps(workflow) if "artifact" in step.get("uses", "")} == {"wheels"}


def test_only_the_job_that_publishes_may_do_more_than_read(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    permissions = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert permissions == {"publish": {"id-token": "write"}}
    for step in steps(workflow):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./]*v\d+", step.get("uses", "a/b@v1")), "an action without a version"
        assert "${{" not in step.get("run", ""), "a shell would run what an expression contains"


def test_what_the_workflow_runs_exists(workflow: dict[str, Any]) -> None:
    commands = "\n".join(step.get("run", "") for step in steps(workflow))
    targets = re.findall(r"^make (\S+)", commands, re.MULTILINE)
    assert targets == ["wheels"]
    assert re.search(r"^wheels:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "--quick" in commands


def test_every_python_of_the_metadata_is_tried_on_both_architectures(workflow: dict[str, Any]) -> None:
    matrix = workflow["jobs"]["try"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert len(matrix["runner"]) == 2


def test_the_container_has_the_tools_and_runs_without_root() -> None:
    lines = DOCKERFILE.replace("\\\n", " ").splitlines()
    instructions = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    names = [name for name, _ in instructions]
    assert names[0] == "FROM"
    assert re.fullmatch(r"\S+:(?!latest$)\S+", instructions[0][1]), "an image without a version"
    assert [rest for name, rest in instructions if name == "USER"] == ["1000"], "a name means nothing on the host"
    assert names.index("USER") < names.index("ENTRYPOINT")
    for name, rest in instructions:
        if name == "RUN" and "apt-get install" in rest:
            assert rest.startswith("apt-get update")
            assert {"--yes", "--no-install-recommends"} <= set(rest.split())
            assert "rm -rf /var/lib/apt/lists/*" in rest
    copied = {rest.split()[0] for name, rest in instructions if name == "COPY"}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{path}" for path in copied} == {line for line in ignored if line.startswith("!")}
    assert (ROOT / "scripts" / "debian-tools.txt").exists()


@pytest.mark.parametrize(
    ("program", "minor"),
    [
        (b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.17\0GLIBC_2.34\0libc.so.6\0", 34),
        (b"\x7fELF\0GLIBC_2.4\0needs GLIBC_2.99 or later\0", 4),
        (b"\x7fELF a static program\0", 0),
    ],
)
def test_the_tag_of_a_wheel_is_the_glibc_that_its_program_needs(program: bytes, minor: int) -> None:
    assert runpy.run_path(str(ROOT / "hatch_build.py"))["glibc_minor"](program) == minor
