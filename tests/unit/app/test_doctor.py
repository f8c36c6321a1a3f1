"""`doctor`: what it looks for follows from the study, and its exit code says what its words say."""

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.stages import planning
from nephoscope.app.stages.doctor import diagnose
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.machines.doctor import Finding, Health, diagnosis, examine
from nephoscope.model.errors import EnvironmentProblem, NephoscopeError, ToolMissing
from nephoscope.model.records import Facts
from nephoscope.providers.emulated.provider import EmulatedProvider
from tests.docs.pages import ROOT, studies
from tests.support.command_line import here, nephoscope

LOCAL = """
name = "s"
replicates = 2

[[configurations]]
name = "here"
database = {{ {database} }}

[[benchmarks]]
uses = "{uses}"
parameters = {{ {parameters} }}
"""


def local(uses: str, parameters: str = "", database: str = "") -> str:
    return LOCAL.format(uses=uses, parameters=parameters, database=database)


def findings_of(folder: Path, text: str | None) -> dict[str, Finding]:
    planned = None if text is None else planning.plan(planning.load(text, "study.toml"))
    return {found.what: found for found in asyncio.run(diagnose(folder, planned))}


def test_without_a_study_the_tools_of_every_real_benchmark_count(tmp_path: Path) -> None:
    found = findings_of(tmp_path, None)
    for benchmark in BENCHMARKS.values():
        parameters: Any = benchmark.parameters()
        tools = {tool.name for tool in benchmark.needs(parameters).tools}
        assert (tools <= found.keys()) == (benchmark.name != "fake")
    for name in ("fio", "iperf"):
        assert (found[name].health is Health.GOOD) == (shutil.which(name) is not None)


RENTED = [("Amazon EC2", "t3.micro"), ("Google", "Google Compute Engine"), ("Microsoft Corporation", "Virtual Machine")]


@pytest.mark.parametrize(("vendor", "product"), RENTED)
def test_a_machine_whose_firmware_names_a_cloud_is_proposed_as_rented(vendor: str, product: str) -> None:
    facts = Facts(at_unix_ms=0, system_vendor=vendor, product=product)
    owner = {found.what: found for found in examine(facts, {})}["owner"]
    assert (owner.health, "rented = true" in owner.hint) == (Health.WARNING, True)
    said = {found.what: found for found in examine(facts, {}, rented=True)}["owner"]
    assert (said.health, "rented = true" in said.found) == (Health.GOOD, True)


@pytest.mark.parametrize("vendor", [None, "QEMU", "Dell Inc.", "Microsoft Corporation"])
def test_a_machine_of_ones_own_is_not(vendor: str | None) -> None:
    assert "owner" not in {found.what for found in examine(Facts(at_unix_ms=0, system_vendor=vendor), {})}


def test_a_study_needs_the_tools_of_its_own_benchmarks_alone(tmp_path: Path) -> None:
    found = findings_of(tmp_path, local("coremark", 'checkout = "/somewhere"'))
    assert {"make", "cc", "taskset", "nephoscope-load"} <= found.keys()
    assert not {"git", "fio", "iperf", "server of postgres"} & found.keys()


def test_a_study_needs_the_disk_space_of_its_largest_benchmark(tmp_path: Path) -> None:
    disk = findings_of(tmp_path, local("fio", "file_size_mib = 16_777_216"))["free disk"]
    assert disk.health is Health.BAD
    assert "16384.0 GiB" in disk.hint


@pytest.mark.parametrize(
    ("database", "health", "words"),
    [
        ('system = "cockroachdb", binary = "/no/such/cockroach"', Health.BAD, "/no/such/cockroach does not exist"),
        ('system = "cockroachdb", binary = "/bin/sh"', Health.GOOD, "/bin/sh"),
        ('system = "cockroachdb"', Health.BAD, "no CockroachDB was found on PATH"),
        ('system = "cockroachdb", version = "22.1.6"', Health.GOOD, "is downloaded when the study runs"),
        ('system = "aerospike"', Health.BAD, "no Aerospike was found on PATH"),
    ],
)
def test_a_study_needs_a_server_of_its_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str, health: Health, words: str
) -> None:
    for program in ("sh", "setpriv", "taskset", "lscpu", "findmnt", "head", "date"):
        (tmp_path / program).symlink_to(str(shutil.which(program)))
    monkeypatch.setenv("PATH", str(tmp_path))
    system = "aerospike" if "aerospike" in database else "cockroachdb"
    parameters = "" if system == "aerospike" else f'dialect = "{system}", isolation = "serializable"'
    found = findings_of(tmp_path, local("kv", parameters, database))[f"server of {system}"]
    assert (found.health, words in found.found) == (health, True), found


def test_a_server_of_the_users_is_not_looked_for(tmp_path: Path) -> None:
    found = findings_of(tmp_path, local("tpcc", database='dsn = "postgresql://me@192.0.2.1:5432/db"'))
    assert "server of postgres" not in found


EMULATED = """
name = "s"
replicates = 2

[[machine_types]]
name = "small"
vcpus = 1

[[configurations]]
name = "two"
provider = "emulated"
database_machine = { type = "small", count = 2 }

[[benchmarks]]
uses = "ping"
"""


def test_emulated_machines_need_root_and_the_tools_that_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = findings_of(tmp_path, EMULATED)
    assert {tool.name for tool in EmulatedProvider.tools} | {"ping"} <= found.keys()
    assert found["root, for provider emulated"].health is Health.BAD


def test_tools_of_machines_elsewhere_are_not_looked_for_here(tmp_path: Path) -> None:
    machines = 'provider = "ssh"\ndatabase_machine = { hosts = ["127.0.0.1:1", "127.0.0.1:2"] }'
    text = EMULATED.replace('provider = "emulated"\ndatabase_machine = { type = "small", count = 2 }', machines)
    found = findings_of(tmp_path, text)
    assert "ping" not in found
    for host in ("127.0.0.1-1", "127.0.0.1-2"):
        assert found[f"{host}: reach"].health is Health.BAD


class Answering:
    """A cloud of which only the list of machines is asked."""

    def __init__(self, error: NephoscopeError | None) -> None:
        self.error = error

    async def list(self, study: str) -> list[str]:
        assert study == "three-types"
        if self.error is not None:
            raise self.error
        return []


GUIDE = dict(studies((ROOT / "docs" / "how-to" / "choose-a-machine.md").read_text())).get("three-types.toml", "")


@pytest.mark.parametrize(
    ("error", "health"),
    [
        (None, Health.GOOD),
        (EnvironmentProblem("no access to AWS: no credentials", hint="log in"), Health.BAD),
        (ToolMissing("boto3 is not installed", hint="install the extra"), Health.BAD),
    ],
)
def test_of_a_study_on_a_cloud_access_is_checked_and_not_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: NephoscopeError | None, health: Health
) -> None:
    monkeypatch.setattr("nephoscope.app.stages.doctor.real_providers", lambda: {"aws": Answering(error)})
    found = findings_of(tmp_path, GUIDE)
    assert set(found) == {"free disk", "nephoscope-load", "access to aws", "image", "ingress"}
    access = found["access to aws"]
    assert (access.health, access.hint) == (health, error.hint if error else "")
    assert error is None or access.found == error.message


def test_what_a_study_still_has_of_the_guides_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephoscope.app.stages.doctor.real_providers", lambda: {"aws": Answering(None)})
    found = findings_of(tmp_path, GUIDE)
    assert [found[what].health for what in ("image", "ingress")] == [Health.WARNING] * 2
    assert diagnosis([*found.values()], here=False).startswith("ready to run, with warnings: ")
    own = GUIDE.replace("ami-0123456789abcdef0", "ami-036490d46656c4818").replace("203.0.113.7", "8.8.4.4")
    assert not {"image", "ingress"} & findings_of(tmp_path, own).keys()


def test_a_missing_tool_is_named_and_ends_doctor_with_3(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(local("fake"))
    said = nephoscope("doctor", study, "--folder", tmp_path)
    assert said.exit_code == 3
    assert "error: this machine is not fit to measure yet: fake-benchmark" in said.stderr
    assert "fit to measure" not in said.stdout
    as_json = here("doctor", study, "--folder", tmp_path, "--json")
    assert as_json.exit_code == 3
    bad = [row["what"] for row in json.loads(as_json.stdout) if row["health"] == "bad"]
    assert bad == ["fake-benchmark"]


def test_a_study_that_needs_nothing_ends_doctor_with_0(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(local("fake").replace('name = "here"', 'name = "here"\nprovider = "fake"'))
    said = here("doctor", study, "--folder", tmp_path)
    assert said.exit_code == 0, said.stderr
    assert said.stdout.splitlines()[-1].startswith("fit")


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    said = here("doctor", "--folder", tmp_path / "no" / "such")
    assert (said.exit_code, said.stdout) == (2, "")
    assert f"error: there is no folder {tmp_path}/no/such" in said.stderr
