"""Rules about the databases of a study. They read raw values, because other keys may be wrong too."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nephoscope.study.address import MYSQL_SCHEMES
from nephoscope.study.aerospike import against_setting
from nephoscope.study.explain import Problem
from nephoscope.study.machine_rules import tables_of
from nephoscope.study.model import SNAPSHOTS, KnownBenchmark
from nephoscope.study.provisioning import CLOUDS
from nephoscope.study.server_settings import MYSQL, against_server_setting, against_start_flag
from nephoscope.study.suggest import shown
from nephoscope.study.toml_text import Path

_A_BUCKET = "set `fixtures` to the address of a bucket"
_COCKROACHDB, _AEROSPIKE = "cockroachdb", "aerospike"
_KEYS_OF: Mapping[str, tuple[str, ...]] = {
    "binary": (_COCKROACHDB, _AEROSPIKE),
    "aerospike": (_AEROSPIKE,),
    "replicas": ("valkey",),
    "failover": ("valkey", "postgres"),
    "patroni": ("postgres",),
    **dict.fromkeys(("edition", "start_flags", "secure", "fixtures"), (_COCKROACHDB,)),
}
"""Which systems support a key."""
_NO_DSN = {
    _COCKROACHDB: "nephoscope cannot measure a CockroachDB of your own, because it drops and restores data sets; "
    "remove `dsn`",
    _AEROSPIKE: "nephoscope cannot measure an Aerospike of your own, because a trial empties its namespace; remove "
    "`dsn`",
}
_FAILOVER = {"valkey": "cluster", "postgres": "patroni"}
"""What lets a server of a system take over from another."""
_LEAST_MEMBERS = 3
"""Of etcd, so that it works without one of them."""
_LEAST_MASTERS = 3
"""Of a cluster of Valkey in which replicas take over."""
_STANDBYS = "synchronous_standby_names"
_STANDBYS_ARE_MACHINES = (
    "nephoscope sets this to `ANY 1` of the standbys, one on each database machine after the first; remove it, and set "
    "`count` of `database_machine` and the setting `synchronous_commit`"
)
_TWO_SERVERS = (
    "two CockroachDB servers keep one copy of the data, because two copies would need both servers, and then wait for "
    "a third: use 1 machine, or 3 or more"
)
_SPEAKS_MYSQL = "this is the address of a server with MySQL's protocol"
_ONE_MYSQL = "nephoscope starts one server of mysql: use 1 machine"
_TWO_OF_GALERA = (
    "of two servers of Galera, both stop where one fails, as neither knows who is left: use 1 machine, or 3 or more"
)
_NO_SETTINGS = (
    "nephoscope changes no setting of a server of yours, and sessions of the load have their own: set it on the server "
    "and remove it here"
)
_NOT_ON_MYSQL: Mapping[str, tuple[Sequence[str], str]] = {
    "dialect": (["postgres"], "is one of PostgreSQL's protocol: remove `parameters.dialect`"),
    "retry": (["restart"], "is CockroachDB's: remove `parameters.retry`"),
    "prepared": (["auto"], "is a choice for connection poolers of PostgreSQL: remove `parameters.prepared`"),
    "profile": (
        ["chatty", "proc"],
        'is not there, as an error stops nothing that was sent behind it: set `parameters.profile = "chatty"`',
    ),
}
"""Parameter -> the values that are measured on MariaDB and MySQL, and why there is no other."""
_READ_COMMITTED_SINCE = (23, 2)
"""The first version of CockroachDB with another isolation level than serializable."""


def database_problems(
    path: Path,
    configuration: Mapping[str, Any],
    benchmarks: Sequence[Mapping[str, Any]],
    known: Mapping[str, KnownBenchmark],
) -> Iterator[Problem]:
    """Problems of one configuration at `path`.

    `known` holds all benchmarks; the names of configurations in `benchmarks` are a set.
    """
    database = configuration.get("database", {})
    if not isinstance(database, Mapping):
        return
    system = database.get("system", "postgres")
    for key, systems in _KEYS_OF.items():
        if key in database and system not in systems:
            text = f"only `system = {' or '.join(map(shown, systems))}` supports this; remove it"
            yield Problem((*path, "database", key), text)
    machine = configuration.get("database_machine")
    if isinstance(machine, Mapping) and machine.get("disks") == "apart" and system != _COCKROACHDB:
        text = f'{shown(str(system))} has one data folder; remove this key, or use "striped"'
        yield Problem((*path, "database_machine", "disks"), text)
    yield from _snapshot_problems(path, configuration)
    yield from _number_of_servers(path, str(system), machine, database)
    yield from _patroni_problems(path, str(system), database, machine)
    if "dsn" in database and str(system) in _NO_DSN:
        yield Problem((*path, "database", "dsn"), _NO_DSN[str(system)])
    yield from _scheme_problems(path, str(system), database.get("dsn"))
    settings = database.get("settings")
    yield from _settings_problems(path, str(system), settings)
    yield from _flag_problems(path, database.get("start_flags"))
    if system == "postgres" and "dsn" not in database and isinstance(settings, Mapping) and _STANDBYS in settings:
        yield Problem((*path, "database", "settings", _STANDBYS), _STANDBYS_ARE_MACHINES)
    if system in ("postgres", _COCKROACHDB):
        yield from _dialect_problems(path, configuration, benchmarks, known)
    if system in MYSQL:
        yield from _problems_on_mysql(path, configuration, benchmarks, known)


def _scheme_problems(path: Path, system: str, dsn: Any) -> Iterator[Problem]:
    """The address of a server names its protocol, and the study its product."""
    is_mysql = isinstance(dsn, str) and dsn.startswith(MYSQL_SCHEMES)
    if is_mysql and system == "postgres":
        yield Problem((*path, "database", "dsn"), f'{_SPEAKS_MYSQL}: add `system = "mariadb"`, or `"mysql"`')
    if isinstance(dsn, str) and not is_mysql and system in MYSQL:
        yield Problem((*path, "database", "dsn"), f"a server of {system} has an address that begins with mysql://")


def _driving(configuration: Mapping[str, Any], benchmarks: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The benchmarks of a study that are measured on a configuration."""
    for entry in benchmarks:
        named = entry["configurations"]
        if not named or str(configuration.get("name")) in named:
            yield entry


def _problems_on_mysql(
    path: Path,
    configuration: Mapping[str, Any],
    benchmarks: Sequence[Mapping[str, Any]],
    known: Mapping[str, KnownBenchmark],
) -> Iterator[Problem]:
    """What the load generator does not drive there, and what a server of the user's does not let a study set."""
    database = configuration.get("database", {})
    if "dsn" in database and isinstance(database.get("settings"), Mapping):
        yield from (Problem((*path, "database", "settings", str(name)), _NO_SETTINGS) for name in database["settings"])
    here = (*path, "database", "system")
    for entry in _driving(configuration, benchmarks):
        label = f"benchmark {shown(str(entry.get('name') or entry.get('uses')))}, on {database['system']}: "
        if entry.get("uses") == "max-warehouses":
            yield Problem(here, f"{label}the search is not there yet; leave it out")
            continue
        for name, (only, why) in _NOT_ON_MYSQL.items():
            value = _parameter(entry, known, name)
            if value not in (None, *only):
                yield Problem(here, f"{label}{name} {shown(str(value))} {why}")


def _dialect_problems(
    path: Path,
    configuration: Mapping[str, Any],
    benchmarks: Sequence[Mapping[str, Any]],
    known: Mapping[str, KnownBenchmark],
) -> Iterator[Problem]:
    """Each benchmark on a server of SQL must use its dialect, and an isolation level that it has."""
    database = configuration.get("database", {})
    system = database.get("system", "postgres")
    for entry in _driving(configuration, benchmarks):
        dialect = _parameter(entry, known, "dialect")
        if dialect is None:
            continue
        label = shown(str(entry.get("name") or entry.get("uses")))
        if system == _COCKROACHDB:
            yield from _isolation_of_cockroachdb(path, label, _parameter(entry, known, "isolation"), database)
        if (dialect == _COCKROACHDB) != (system == _COCKROACHDB) and "dsn" not in database:
            wanted = _COCKROACHDB if system == _COCKROACHDB else "postgres"
            place = (*path, "database", "system") if "system" in database else path
            text = f'benchmark {label} uses the SQL dialect {dialect}: set `parameters.dialect = "{wanted}"`'
            yield Problem(place, text)


def _isolation_of_cockroachdb(path: Path, label: str, isolation: Any, database: Mapping[str, Any]) -> Iterator[Problem]:
    """Old versions accept every level and run at one; a version that is not in the study is asked in the trial."""
    found = re.match(r"v?(\d+)\.(\d+)", str(database.get("version")))
    if isolation != "serializable" and found and (int(found[1]), int(found[2])) < _READ_COMMITTED_SINCE:
        text = (
            f"benchmark {label} requests the isolation level {isolation}, but CockroachDB before 23.2 runs every "
            'transaction at serializable: set `parameters.isolation = "serializable"`'
        )
        yield Problem((*path, "database", "version"), text)


def _number_of_servers(path: Path, system: str, machine: Any, database: Mapping[str, Any]) -> Iterator[Problem]:
    """Each machine has one server: masters of Valkey with their replicas must fill them; some cannot use two."""
    count = _count(machine)
    if not isinstance(count, int):
        return
    if system == "mysql" and count > 1:
        yield Problem((*path, "database_machine", "count"), _ONE_MYSQL)
    if system == "mariadb" and count == 2:
        yield Problem((*path, "database_machine", "count"), _TWO_OF_GALERA)
    if system == _COCKROACHDB and count == 2:
        yield Problem((*path, "database_machine", "count"), _TWO_SERVERS)
    replicas = database.get("replicas", 0)
    if system != "valkey" or not isinstance(replicas, int) or replicas < 0:
        return
    there = f"there {'is' if count == 1 else 'are'} {count}"
    if count % (1 + replicas):
        text = (
            f"a master with its replicas takes {1 + replicas} machines, but {there}: use a multiple of "
            f"{1 + replicas} database machines"
        )
        yield Problem((*path, "database", "replicas"), text)
    if "failover" in database and (replicas == 0 or count < _LEAST_MASTERS * (1 + replicas)):
        text = (
            f"a replica takes over once most masters agree that its master is gone, which takes {_LEAST_MASTERS} "
            f"masters with `replicas = 1` or more, but {there} with {replicas}: use at least "
            f"{_LEAST_MASTERS * (1 + max(1, replicas))} database machines"
        )
        yield Problem((*path, "database", "failover"), text)


def _patroni_problems(path: Path, system: str, database: Mapping[str, Any], machine: Any) -> Iterator[Problem]:
    """Patroni keeps servers that nephoscope starts, with an etcd that works while most of its members live."""
    failover = database.get("failover")
    if "failover" in database and system in _FAILOVER and failover != _FAILOVER[system]:
        yield Problem((*path, "database", "failover"), f"{system} has only {shown(_FAILOVER[system])}")
    if "patroni" in database and system == "postgres" and failover != "patroni":
        yield Problem((*path, "database", "patroni"), 'nothing uses this; add `failover = "patroni"` to `database`')
    if failover != "patroni" or system != "postgres":
        return
    if "dsn" in database:
        yield Problem((*path, "database", "failover"), "nephoscope starts the servers that Patroni keeps; remove `dsn`")
    count = _count(machine)
    if isinstance(count, int) and count < _LEAST_MEMBERS:
        text = (
            f"a standby takes over once most members of etcd agree, one on each database machine, but there "
            f"{'is' if count == 1 else 'are'} {count}: use {_LEAST_MEMBERS} machines or more"
        )
        yield Problem((*path, "database", "failover"), text)


def _count(machine: Any) -> Any:
    """How many database machines there are; whatever a study has there."""
    described = machine if isinstance(machine, Mapping) else {}
    hosts = described.get("hosts")
    return len(hosts) if isinstance(hosts, list) else described.get("count", 1)


def _settings_problems(path: Path, system: str, settings: Any) -> Iterator[Problem]:
    """A setting must exist in Aerospike's configuration file, and may not make another server run or read anything."""
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        if not isinstance(value, str):
            continue
        of_aerospike = system == _AEROSPIKE
        text = against_setting(str(name), value) if of_aerospike else against_server_setting(system, str(name), value)
        if text:
            yield Problem((*path, "database", "settings", str(name)), text)


def _flag_problems(path: Path, flags: Any) -> Iterator[Problem]:
    for name, value in flags.items() if isinstance(flags, Mapping) else ():
        if isinstance(value, str) and (text := against_start_flag(str(name), value)):
            yield Problem((*path, "database", "start_flags", str(name)), text)


def _parameter(entry: Mapping[str, Any], known: Mapping[str, KnownBenchmark], name: str) -> Any:
    """A parameter of a benchmark, or its default; None: it has no such parameter."""
    benchmark = known.get(str(entry.get("uses")))
    field = benchmark.parameters.model_fields.get(name) if benchmark else None
    parameters = entry.get("parameters", {})
    if field is None or not isinstance(parameters, Mapping):
        return None
    return parameters.get(name, field.default)


def _snapshot_problems(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems of one configuration at `path`."""
    database, machine = configuration.get("database"), configuration.get("database_machine")
    if not isinstance(database, Mapping) or database.get("fixtures") != SNAPSHOTS:
        return
    here = (*path, "database", "fixtures")
    if configuration.get("provider", "local") not in CLOUDS:
        yield Problem(here, f"only providers {', '.join(sorted(CLOUDS))} have snapshots of volumes; remove it")
        return
    described = machine if isinstance(machine, Mapping) else {}
    volumes = [volume for _, volume in tables_of(described, "volumes") if volume.get("use") != "raw"]
    if "local_ssds" in described and described.get("local_ssd_use") != "raw":
        yield Problem(here, f"the data folder is on local SSDs, which no cloud can snapshot; {_A_BUCKET}")
    elif not volumes:
        yield Problem(here, f"the data folder is on the image's disk; give the machine `volumes`, or {_A_BUCKET}")
    elif described.get("disks") != "apart" and (len(volumes) > 1 or volumes[0].get("count", 1) != 1):
        text = (
            "the data folder is striped over several volumes, whose snapshots are not taken at the same moment; use "
            'one volume, or disks = "apart"'
        )
        yield Problem(here, text)
