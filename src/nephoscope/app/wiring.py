"""Puts the real parts together: the only place that knows them all. Each part loads when it is first used."""

import getpass
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

import nephoscope
from nephoscope.machines.remote import LOAD
from nephoscope.model.errors import InputError

if TYPE_CHECKING:
    from nephoscope.databases.base import Database
    from nephoscope.databases.mysql.programs import Product
    from nephoscope.machines.waiting import Clock
    from nephoscope.providers.base import ClusterRequest, Provider
    from nephoscope.providers.cloud.data_sets import ObjectStorage
    from nephoscope.providers.cloud.order import Question
    from nephoscope.providers.cloud.provider import CloudProvider
    from nephoscope.providers.cloud.snapshots import Snapshots
    from nephoscope.run.world import Listener, World
    from nephoscope.store.folder import ResultsFolder
    from nephoscope.study.model import Study


def load_program() -> str:
    """nephoscope-load of this installation (beside this Python), else whatever PATH has."""
    beside = Path(sys.executable).with_name(LOAD.name)
    return str(beside) if beside.exists() else shutil.which(LOAD.name) or LOAD.name


Part = TypeVar("Part")


class _OnDemand(Mapping[str, Part]):
    """Parts by name; each is made, and its modules load, when somebody takes it."""

    def __init__(self, makers: Mapping[str, Callable[[], Part]]) -> None:
        self._makers = makers
        self._parts: dict[str, Part] = {}

    def __getitem__(self, name: str) -> Part:
        if name not in self._parts:
            self._parts[name] = self._makers[name]()
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _make(part: str, *given: Any) -> Any:
    """A part of nephoscope, by the place of its class: its modules load now."""
    return resolve_name(f"nephoscope.{part}")(*given)


_CLOUDS: Mapping[str, tuple[str, str, str]] = {
    "aws": ("providers.aws.cloud:AwsCloud", "providers.aws.kept:EbsSnapshots", "providers.aws.kept:S3"),
    "azure": (
        "providers.azure.cloud:AzureCloud",
        "providers.azure.kept:ManagedDiskSnapshots",
        "providers.azure.kept:Blobs",
    ),
    "gcp": (
        "providers.gcp.cloud:GcpCloud",
        "providers.gcp.kept:DiskSnapshots",
        "providers.gcp.kept:CloudStorage",
    ),
}
"""Of each cloud: its machines, its snapshots of volumes, and its object storage."""


def _on_cloud(name: str) -> "CloudProvider":
    from nephoscope.providers.cloud.provider import CloudProvider
    from nephoscope.providers.cloud.ssh import SshConnect
    from nephoscope.run.clock import SystemClock

    clock = SystemClock()
    cloud = _make(_CLOUDS[name][0], clock)
    owner = f"{_user()}@{socket.gethostname()}"
    return CloudProvider(cloud, SshConnect([load_program()], clock), clock, owner, _make(_CLOUDS[name][1], cloud))


def questions_to_its_cloud(request: "ClusterRequest") -> "Sequence[Question]":
    """What the account is asked before the first machine of a request; see `CloudProvider.questions`."""
    return _on_cloud(request.configuration.provider).questions(request)


def _clock() -> "Clock":
    clock: Clock = _make("run.clock:SystemClock")
    return clock


def _fake_provider() -> "Provider":
    from nephoscope.benchmarks.fake import PROGRAM, fake_program
    from nephoscope.providers.fake import FakeProvider

    return FakeProvider({PROGRAM: fake_program}, _make("run.clock:FakeClock"))


_PROVIDERS: Mapping[str, Callable[[], "Provider"]] = {
    **{name: partial(_on_cloud, name) for name in _CLOUDS},
    "local": lambda: _make("providers.local:LocalProvider"),
    "emulated": lambda: _make("providers.emulated.provider:EmulatedProvider", load_program(), _clock()),
    "ssh": lambda: _make("providers.ssh:SshProvider", [load_program()], _clock()),
    "fake": _fake_provider,
}


def _postgres() -> "Database":
    from nephoscope.databases.postgres.binaries import server_of_this_machine
    from nephoscope.databases.postgres.database import PostgresDatabase

    return PostgresDatabase(server_of_this_machine, os.environ, load_program())


def _valkey() -> "Database":
    from nephoscope.databases.valkey.binaries import find_valkey
    from nephoscope.databases.valkey.database import ValkeyDatabase

    return ValkeyDatabase(find_valkey)


def _mysql(product: "Product") -> "Database":
    from nephoscope.databases.mysql.database import MysqlDatabase

    return MysqlDatabase(product, os.environ, load_program())


def _cockroachdb() -> "Database":
    from nephoscope.databases.cockroachdb.database import CockroachDatabase

    return CockroachDatabase()


def _aerospike() -> "Database":
    from nephoscope.benchmarks.storage.raw_device import raw_device_of
    from nephoscope.databases.aerospike.database import AerospikeDatabase

    return AerospikeDatabase(raw_device_of)


def _fake_database() -> "Database":
    from nephoscope.databases.fake import FakeDatabase

    return FakeDatabase()


_DATABASES: Mapping[str, Callable[[], "Database"]] = {
    "postgres": _postgres,
    "mariadb": partial(_mysql, "mariadb"),
    "mysql": partial(_mysql, "mysql"),
    "valkey": _valkey,
    "cockroachdb": _cockroachdb,
    "aerospike": _aerospike,
    "fake": _fake_database,
}


def real_world(listener: "Listener") -> "World":
    """The world of a command line."""
    from nephoscope.benchmarks.registry import BENCHMARKS
    from nephoscope.machines.facts import gather_facts
    from nephoscope.run.clock import SystemClock
    from nephoscope.run.world import World

    return World(
        providers=real_providers(),
        databases=real_databases(),
        benchmarks=BENCHMARKS,
        observe=gather_facts,
        clock=SystemClock(),
        listener=listener,
        load_program=load_program(),
        version=nephoscope.__version__,
    )


def world_of(folder: "ResultsFolder", study: "Study", listener: "Listener") -> "World":
    """The world in which a folder's plan is run: simulated for a rehearsal, else the real one."""
    if not folder.plan().simulated:
        return real_world(listener)
    from nephoscope.app.rehearsal.world import rehearsed_world
    from nephoscope.run.clock import SystemClock

    return rehearsed_world(listener, folder, study, SystemClock().unix_ms())


def real_providers() -> "Mapping[str, Provider]":
    """By the name that a configuration's `provider` gives."""
    return _OnDemand(_PROVIDERS)


def real_databases() -> "Mapping[str, Database]":
    """By what `database.system` says; none of them is started."""
    return _OnDemand(_DATABASES)


def object_storages(clock: "Clock") -> "Mapping[str, ObjectStorage]":
    """Object storage of each provider, with the credentials of your environment; nothing is asked yet."""
    return _OnDemand({name: partial(_make, storage, clock) for name, (_, _, storage) in _CLOUDS.items()})


def snapshots_of_volumes(clock: "Clock") -> "Mapping[str, Snapshots]":
    """Snapshots of each provider, with the credentials of your environment; nothing is asked yet."""

    def of(cloud: str, snapshots: str) -> "Snapshots":
        made: Snapshots = _make(snapshots, _make(cloud, clock))
        return made

    return _OnDemand({name: partial(of, cloud, snapshots) for name, (cloud, snapshots, _) in _CLOUDS.items()})


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
