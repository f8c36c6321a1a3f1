"""What Patroni reads, and how a machine that lacks it is refused."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.databases.postgres import patroni
from nephoscope.databases.postgres.remote import Programs, are_complete, role_of_standbys, standbys_password
from nephoscope.machines.fake import Answer, FakeRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import DatabaseFailed, InputError
from nephoscope.providers.base import Cluster
from nephoscope.run.clock import FakeClock
from nephoscope.study.model import Database as DatabaseSettings
from nephoscope.study.model import Patroni

ADDRESSES = ("10.0.0.1", "fd00::2", "10.0.0.3")


def three(shell: Answer) -> Cluster:
    remote = FakeRemote({"sh": lambda argv, stdin: shell}, FakeClock())
    machines = tuple(
        MachineHandle(f"database-{number}", remote, address, (), "/data") for number, address in enumerate(ADDRESSES, 1)
    )
    return Cluster("s/c/t-1", machines, MachineHandle("load", remote, "10.0.0.9", (), "/data"))


def group(settings: Patroni, **parameters: str) -> patroni.Group:
    programs = (Programs("/usr/lib/postgresql/15/bin", "15.3", by_root=True),) * 3
    return patroni.Group(three(Answer()), settings, parameters, Path("server.log"), programs, "the secret")


def read(of: patroni.Group, number: int) -> Any:
    machine = of.cluster.database[number]
    return json.loads(json.dumps(patroni.configuration(of, machine, of.programs[number])))


def test_patroni_gets_the_settings_of_the_study_and_lets_in_the_machines_alone() -> None:
    settings = Patroni(synchronous_mode=True, ttl=20, loop_wait=4, retry_timeout=8)
    of = group(settings, max_connections="500", shared_buffers="1GB")
    first, second = read(of, 0), read(of, 1)
    shared = first["bootstrap"]["dcs"]
    assert {name: shared[name] for name in ("ttl", "loop_wait", "retry_timeout", "synchronous_mode")} == {
        "ttl": 20,
        "loop_wait": 4,
        "retry_timeout": 8,
        "synchronous_mode": True,
    }
    assert shared["postgresql"]["parameters"] == {
        "wal_keep_size": "1GB",
        "max_connections": "500",
        "shared_buffers": "1GB",
    }
    assert first["etcd3"]["hosts"] == ["10.0.0.1:22379", "[fd00::2]:22379", "10.0.0.3:22379"]
    assert (first["name"], second["name"]) == ("database-1", "database-2")
    assert second["restapi"]["listen"] == "[fd00::2]:28008"
    assert second["postgresql"]["listen"] == "[fd00::2]:54329"
    rules = first["postgresql"]["pg_hba"]
    assert len(rules) == 10  # a socket and four machines, for data and for replication
    assert all(rule.endswith(" scram-sha-256") for rule in rules)
    assert {rule.split()[3] for rule in rules[2:]} == {"10.0.0.1/32", "fd00::2/128", "10.0.0.3/32", "10.0.0.9/32"}
    logins = first["postgresql"]["authentication"]
    for login in (first["restapi"]["authentication"], logins["superuser"], logins["rewind"]):
        assert (login["username"], login["password"]) == ("nephoscope", "the secret")
    certified = {"cert.pem", "key.pem"}
    for part, names in (("restapi", ("cafile", "certfile", "keyfile")), ("ctl", ("cacert", "certfile", "keyfile")),
                        ("etcd3", ("cacert", "cert", "key"))):  # fmt: skip
        assert {Path(first[part][name]).name for name in names} == certified, part
    assert (first["restapi"]["verify_client"], first["etcd3"]["protocol"]) == ("required", "https")


def test_a_standby_logs_in_as_nobody_who_may_run_programs() -> None:
    """Before PostgreSQL 16 it sends its password to whoever has its primary's port and asks for it."""
    of = read(group(Patroni(), max_connections="24"), 0)["postgresql"]
    login = of["authentication"]["replication"]
    assert login["username"] == "nephoscope_standby"
    assert "the secret" not in login["password"]
    rules = [rule.split()[1:3] for rule in of["pg_hba"]]
    assert [database for database, user in rules if user == login["username"]] == ["replication"] * 5


def test_patroni_logs_in_by_a_socket_of_its_own_folder_and_elsewhere_where_the_trials_key_is() -> None:
    """Its own libpq may be older than 16, which sends a password for the asking."""
    of = read(group(Patroni(), max_connections="24"), 0)["postgresql"]
    assert of["use_unix_socket"] is of["use_unix_socket_repl"] is True
    assert of["parameters"]["unix_socket_directories"] == "/data/patroni"
    assert [rule.split()[:3] for rule in of["pg_hba"] if rule.startswith("local")] == [
        ["local", "all", "nephoscope"],
        ["local", "replication", "nephoscope_standby"],
    ]
    for login in of["authentication"].values():
        assert (login["sslmode"], login["sslrootcert"]) == ("verify-ca", "/data/patroni/cert.pem")
    assert (of["parameters"]["ssl"], of["parameters"]["ssl_key_file"]) == ("on", "/data/patroni/key.pem")


@pytest.mark.parametrize("folder", ["/data/" + 90 * "long", "/data,/tmp"])
def test_a_folder_in_which_no_socket_can_be_is_refused_before_anything_is_made(folder: str) -> None:
    remote = FakeRemote({}, FakeClock())
    machine = MachineHandle("database-1", remote, "10.0.0.1", (), folder)
    settings = DatabaseSettings(failover="patroni")
    with pytest.raises(InputError, match="on database-1 is no place for the socket"):
        asyncio.run(patroni.prepared(Cluster("s/c/t-1", (machine,), machine), settings, {}, Path("server.log")))
    assert not remote.executed


def test_what_a_standby_may_tell_and_what_a_log_may_hold_says_no_password() -> None:
    statements = " ".join(role_of_standbys("the secret"))
    assert "the secret" not in statements
    assert standbys_password("the secret") not in statements


def test_a_few_connections_stay_few_although_patroni_would_make_them_a_hundred() -> None:
    parameters = read(group(Patroni(), max_connections="24"), 0)["bootstrap"]["dcs"]["postgresql"]["parameters"]
    assert parameters["max_connections"] == "25"


def test_no_printed_value_holds_the_password() -> None:
    assert "the secret" not in repr(group(Patroni(), max_connections="24"))


def test_a_kill_takes_all_that_a_machine_runs() -> None:
    servers = group(Patroni(), max_connections="24").servers
    assert [server.machine.name for server in servers] == ["database-1", "database-2", "database-3"]
    assert {server.programs for server in servers} == {("patroni", "postgres", "etcd")}


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (b"patroni\netcd\n", "patroni and etcd are not installed on database-1"),
        (b"etcd\n", "etcd is not installed on database-1"),
    ],
)
def test_a_machine_without_the_programs_is_named_before_anything_is_made(missing: bytes, said: str) -> None:
    cluster = three(Answer(stdout=missing))
    settings = DatabaseSettings(failover="patroni")
    with pytest.raises(DatabaseFailed, match=said) as failed:
        asyncio.run(patroni.prepared(cluster, settings, {"max_connections": "24"}, Path("server.log")))
    assert failed.value.hint == "apt-get install patroni etcd-server on that machine"
    remote = cluster.database[0].remote
    assert isinstance(remote, FakeRemote)
    assert not [command for command in remote.executed if command.startswith(("rm", "mkdir"))]


def test_etcd_that_does_not_come_up_is_told_with_its_reason() -> None:
    answers = {"python3": lambda argv, stdin: Answer(stderr=b"etcd does not answer: timed out", exit_code=1)}
    machine = MachineHandle("database-1", FakeRemote(answers, FakeClock()), "10.0.0.1", (), "/data")
    with pytest.raises(DatabaseFailed, match=r"etcd does not answer on .*: etcd does not answer: timed out"):
        asyncio.run(patroni.until_members_answer(machine))


@pytest.mark.parametrize(
    ("states", "synchronous", "complete"),
    [
        ({"a": "streaming sync", "b": "streaming async"}, True, True),
        ({"a": "streaming quorum", "b": "streaming quorum"}, True, True),
        ({"a": "streaming async", "b": "streaming async"}, True, False),
        ({"a": "streaming async", "b": "streaming async"}, False, True),
        ({"a": "streaming sync", "b": "catchup async"}, True, False),
        ({"a": "streaming sync"}, True, False),
        ({"a": "streaming async", "b": "streaming async", "pg_basebackup": "backup async"}, False, True),
        ({"a": "streaming async", "pg_basebackup": "streaming async"}, False, False),
        ({"a": "streaming sync", "pg_basebackup": "streaming async"}, True, False),
        ({}, False, False),
    ],
)
def test_copies_are_complete_when_all_standbys_stream(
    states: dict[str, str], synchronous: bool, complete: bool
) -> None:
    """`pg_basebackup` streams what is written while it copies: it is no standby."""
    assert are_complete(states, ["a", "b", "c"], synchronous=synchronous) is complete


def test_a_server_without_standbys_is_complete() -> None:
    assert are_complete({}, ["a"], synchronous=False)
