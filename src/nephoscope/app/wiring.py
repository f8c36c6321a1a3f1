"""Puts the real parts together: the only place that knows them all."""

import getpass
import os
import shutil
import socket
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import nephoscope
from nephoscope.benchmarks.fake import PROGRAM as FAKE_PROGRAM
from nephoscope.benchmarks.fake import fake_program
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.benchmarks.storage.raw_device import require_unused
from nephoscope.databases.aerospike.database import AerospikeDatabase
from nephoscope.databases.base import Database
from nephoscope.databases.cockroachdb.database import CockroachDatabase
from nephoscope.databases.fake import FakeDatabase
from nephoscope.databases.postgres.binaries import embedded_folder, find_binaries
from nephoscope.databases.postgres.database import PostgresDatabase
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.machines.facts import gather_facts
from nephoscope.machines.tools import LOAD
from nephoscope.model.errors import InputError
from nephoscope.providers.aws.cloud import AwsCloud
from nephoscope.providers.azure.cloud import AzureCloud
from nephoscope.providers.base import Provider
from nephoscope.providers.cloud.provider import CloudProvider
from nephoscope.providers.cloud.ssh import SshConnect
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.providers.fake import FakeProvider
from nephoscope.providers.gcp.cloud import GcpCloud
from nephoscope.providers.local import LocalProvider
from nephoscope.providers.ssh import SshProvider
from nephoscope.run.clock import Clock, FakeClock, SystemClock
from nephoscope.run.world import Listener, World


def load_program() -> str:
    """nephoscope-load of this installation (beside this Python), else whatever PATH has."""
    beside = Path(sys.executable).with_name(LOAD.name)
    return str(beside) if beside.exists() else shutil.which(LOAD.name) or LOAD.name


def real_world(listener: Listener) -> World:
    """The world of a command line."""
    clock = SystemClock()
    return World(
        providers=real_providers(clock),
        databases=real_databases(),
        benchmarks=BENCHMARKS,
        observe=gather_facts,
        clock=clock,
        listener=listener,
        load_program=load_program(),
        version=nephoscope.__version__,
    )


def real_providers(clock: Clock) -> Mapping[str, Provider]:
    """By what `provider` of a configuration says."""
    connect, owner = SshConnect([load_program()], clock), f"{_user()}@{socket.gethostname()}"
    clouds = (AwsCloud(clock), AzureCloud(clock), GcpCloud(clock))
    return {
        **{cloud.name: CloudProvider(cloud, connect, clock, owner) for cloud in clouds},
        "local": LocalProvider(),
        "emulated": EmulatedProvider(load_program()),
        "ssh": SshProvider([load_program()]),
        "fake": FakeProvider({FAKE_PROGRAM: fake_program}, FakeClock()),
    }


def real_databases() -> Mapping[str, Database]:
    """By what `database.system` says; none of them is started."""
    return {
        "postgres": PostgresDatabase(lambda: find_binaries(embedded_folder()), os.environ),
        "valkey": ValkeyDatabase(find_valkey),
        "cockroachdb": CockroachDatabase(),
        "aerospike": AerospikeDatabase(require_unused),
        "fake": FakeDatabase(),
    }


def _user() -> str:
    """Of this process; its number in a container that knows no names."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def shipped_study(name: str) -> str:
    """Text of a study that ships with nephoscope ('laptop').

    Raises:
        InputError: there is none of that name.
    """
    inside = resources.files("nephoscope").joinpath("studies", f"{name}.toml")
    beside_sources = Path(__file__).parents[3] / "studies" / f"{name}.toml"
    for place in (inside, beside_sources):
        if place.is_file():
            return place.read_text(encoding="utf-8")
    raise InputError(f"no study named {name!r} ships with nephoscope")
