"""Every statement for CockroachDB, held against the parser of each version that its makers publish.

`NEPHOSCOPE_COCKROACH_PARSER` names a clone of github.com/cockroachdb/cockroachdb-parser, which has a tag for each
version; Go builds it, with its dependencies from the network.
"""

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.databases.base import Endpoint
from nephoscope.databases.cockroachdb.database import CockroachDatabase
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.real_parts import needs_server_in
from tests.unit.databases.test_cockroachdb import statements, with_servers

pytestmark = [
    *needs_server_in("NEPHOSCOPE_COCKROACH_PARSER"),
    pytest.mark.skipif(not shutil.which("go"), reason="no Go"),
]
CLONE = os.environ.get("NEPHOSCOPE_COCKROACH_PARSER", "")
MAIN = Path(__file__).parents[1] / "support" / "cockroach_grammar" / "main.go"
WORKLOADS = ("tpcc", "point-select", "oltp-insert", "oltp-read-write", "oltp-read-only", "tpcb", "kv", "ycsb")


def of_the_load_generator() -> set[str]:
    """What `nephoscope-load` can send."""
    found: set[str] = set()
    for workload in WORKLOADS:
        command = [load_program(), "sql", "--dialect", "cockroachdb", "--workload", workload]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        assert len(said) > 5, workload
        found |= {*said}
    return found


def of_the_controller(folder: Path) -> set[str]:
    """What `cockroach sql` is told while a data set is made, kept and restored."""

    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        empty = await database.create_fixture(cluster, endpoint, "tpcc_1")
        await database.seal_fixture(cluster, empty, "tpcc_1")
        await database.clone_fixture(cluster, endpoint, "tpcc_1")
        await database.settings(cluster, endpoint)
        await database.replication(cluster)
        await database.upkeep(cluster, endpoint)

    settings = DatabaseSettings(edition="cr2022", secure=False, fixtures="s3://bucket/sets/?AUTH=implicit")
    found = {*statements(with_servers(folder, scenario, settings))}
    words = {statement.split()[0] for statement in found}
    assert {"SET", "BACKUP", "RESTORE", "SHOW", "CREATE", "ALTER", "DROP", "SELECT"} <= words
    return found


def parser_of(tag: str, folder: Path) -> Path:
    """The program that reads statements with the parser of a tag."""
    sources = subprocess.run(["git", "-C", CLONE, "archive", tag], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(sources)) as archive:
        archive.extractall(folder, filter="data")
    own = folder / "cmd" / "nephoscope"
    own.mkdir(parents=True)
    shutil.copy(MAIN, own)
    subprocess.run(["go", "build", "-o", str(folder / "grammar"), "./cmd/nephoscope"], cwd=folder, check=True)
    return folder / "grammar"


@pytest.mark.parametrize("tag", ["v0.22.2.0.beta3.3", "v0.23.1.0.2", "v0.23.2.0.0", "v0.25.2.0.2"])
def test_each_version_parses_every_statement(tmp_path: Path, tag: str) -> None:
    every = of_the_load_generator() | of_the_controller(tmp_path)
    parser = parser_of(tag, tmp_path / "parser")
    text = "\n".join([*sorted(every), "DELETE FORM warehouse", ""])
    said = subprocess.run([str(parser)], input=text, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(said) == 2, said
    assert said[0].endswith(": DELETE FORM warehouse"), "it takes anything"
    assert said[1] == f"{len(every)} parsed"
    assert len(every) > 280
