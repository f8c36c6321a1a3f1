"""Rules between several keys of a study file. They read raw values, because other keys may be wrong too."""

import base64
import binascii
import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nephoscope.model.subjects import Subject
from nephoscope.model.text import hidden
from nephoscope.study.aerospike import against_setting
from nephoscope.study.database_rules import snapshot_problems
from nephoscope.study.explain import Problem
from nephoscope.study.machine_rules import place_problems, region_problems
from nephoscope.study.managed import MANAGED, managed_problems, plain_as_provided
from nephoscope.study.model import KnownBenchmark
from nephoscope.study.provisioning import CLOUDS
from nephoscope.study.suggest import hint_among, meant_by, shown
from nephoscope.study.toml_text import Path, line_of

_HOST = re.compile(
    r"""
      (?:[A-Za-z0-9_][^\s/:\x00-\x1f\x7f]*@)?                # a user, which may have an @ of its own
      (?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}(?::[0-9]{1,5})?   # a name or an IPv4 address, and a port
       |[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(?:%[A-Za-z0-9_.-]+)?)   # an IPv6 address
    """,
    re.VERBOSE,
)
_PLACE = re.compile(r"\w[\w .()-]{0,62}")
_RESOURCES = frozenset({"type", "image", "subnet", "identity", "cpu_platform", "placement_group"})
"""Names of a cloud's resources, which become parts of the addresses of its API."""
_PLACES = frozenset({"region", "zone", "other_zones", "zones"})
_KEY = re.compile(r"(ssh-[a-z0-9-]+|ecdsa-[a-z0-9-]+|sk-[a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: .*)?")
_AS_KEYSCAN = "expected: 'ssh-ed25519 AAAA…', as `ssh-keyscan` prints it without the host"


def text_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Every rule, for the whole study."""
    for path, text, of_key in _texts(data):
        if character := hidden(text):
            what = "its name" if of_key else "it"
            yield Problem(path, f"{what} contains U+{ord(character):04X}, a character that cannot be seen; remove it")
        elif not of_key:
            yield from _of_value(path, text)


def is_host(text: str) -> bool:
    """True for `user@host:port`, of which only the host must be there; an IPv6 address has neither brackets nor port.

    A name with a slash would leave the folder of its files, and one with a leading dash would be an option.
    """
    return _HOST.fullmatch(text) is not None


def _of_value(path: Path, text: str) -> Iterator[Problem]:
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    if (key == "hosts" or path[-2:] == ("ssh", "jump")) and not is_host(text):
        yield Problem(
            path,
            f"{shown(text)} is not a host; write user@host:port, where user and port are optional, or an IPv6 address "
            "without brackets, whose port ~/.ssh/config gives",
        )
    elif key in _PLACES and not _PLACE.fullmatch(text):
        yield Problem(path, f"{shown(text)} is not the name of a region or zone; expected: letters, digits and dashes")
    elif key in _RESOURCES and ".." in re.split(r"[/\\]", text):
        yield Problem(path, f"{shown(text)} is not the name of a resource: a part of it is `..`; remove that")
    elif path[-3:-1] == ("ssh", "host_keys") and not _is_public_key(text):
        yield Problem(path, f"is not a public key; {_AS_KEYSCAN}")


def _is_public_key(text: str) -> bool:
    """OpenSSH's format: the kind of the key stands before its bytes and again in them."""
    match = _KEY.fullmatch(text)
    if match is None:
        return False
    try:
        content = base64.b64decode(match[2], validate=True)
    except binascii.Error:
        return False
    kind = match[1].encode()
    return content.startswith(len(kind).to_bytes(4, "big") + kind)


def _texts(data: Any) -> Iterator[tuple[Path, str, bool]]:
    """Every text below a value, with its path, and whether it is a key."""
    waiting: list[tuple[Path, Any]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield path, value, False
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                yield (*path, key), str(key), True
                waiting.append(((*path, key), inner))
        elif isinstance(value, list):
            waiting.extend(((*path, index), inner) for index, inner in enumerate(value))


_SCHEMA = re.compile(r"nephoscope/study/(\d{1,9})", re.ASCII)
_NEWEST = 1
_MIN_REPLICATES_TO_STOP = 4
_OWN = frozenset({"local", "emulated", "ssh"})
"""Providers whose machines are there before a study and after it."""
_ONLY_ELSEWHERE = ("region", "zone", "other_zones")
_ONLY_CLOUDS = f"only providers {', '.join(sorted(CLOUDS))} support this"
_TYPE_DECIDES = 'only provider "gcp" supports this (elsewhere the machine type decides it); remove it'
_CORES_OF_AZURE = (
    "azure sets vCPUs, not cores; add `threads_per_core`: 2, or 1 to switch off the second thread of each core"
)
_ROLES = ("database_machine", "load_machine")


def across_keys(
    data: Mapping[str, Any], lines: Mapping[Path, int], known: Mapping[str, KnownBenchmark]
) -> Iterator[Problem]:
    """Every rule; `known` holds all benchmarks."""
    yield from _newer_schema(data)
    yield from _dates((), data)
    yield from text_problems(data)
    yield from _twice("configurations", data, lines)
    yield from _twice("benchmarks", data, lines)
    yield from _twice("contrasts", data, lines)
    yield from _twice("regions", data, lines)
    yield from region_problems(data)
    for index, entry in _tables(data, "benchmarks"):
        uses = entry.get("uses")
        if isinstance(uses, str) and uses not in known:
            hint = meant_by("uses", uses, known) or f"there are: {', '.join(sorted(known))}"
            yield Problem(("benchmarks", index, "uses"), f"unknown benchmark {shown(uses)}; {hint}")
    yield from _run_on(data)
    yield from _equal_machines(data)
    yield from _looks(data)
    entries = [entry for _, entry in _tables(data, "benchmarks")]
    for index, configuration in _tables(data, "configurations"):
        yield from _database_problems(("configurations", index), configuration, entries, known)
        yield from managed_problems(("configurations", index), configuration, _tables(data, "benchmarks"))
        provided = plain_as_provided(configuration)
        if provided.get("provider", "local") == "local":
            yield from _local(("configurations", index), provided)
        yield from _placed(("configurations", index), provided, _type_names(data), managed=provided != configuration)
        yield from _rented(("configurations", index), provided)
        yield from _links(("configurations", index), provided)
        yield from place_problems(("configurations", index), provided)
        yield from _mounted(("configurations", index), configuration)
        if configuration.get("provider") == "fake":
            yield from _fake(("configurations", index), configuration, needed=_drives_a_database(data, known))


def _looks(data: Mapping[str, Any]) -> Iterator[Problem]:
    """The first look is after the third block: with fewer there is nothing to save."""
    replicates = data.get("replicates", 6)
    if data.get("stop") == "decided" and isinstance(replicates, int) and replicates < _MIN_REPLICATES_TO_STOP:
        yield Problem(
            ("replicates",),
            f'stop = "decided" needs at least {_MIN_REPLICATES_TO_STOP} replicates: the first three blocks are always '
            "measured in full; add replicates, or remove `stop`",
        )


def _equal_machines(data: Mapping[str, Any]) -> Iterator[Problem]:
    """An unusual machine can be exchanged only where each replicate gets new ones."""
    wanted, replicates = data.get("equal_machines"), data.get("replicates", 6)
    if wanted is None:
        return
    if data.get("placement") == "per-configuration":
        text = 'needs new machines for each replicate; remove it, or use `placement = "per-replicate"`'
        yield Problem(("equal_machines",), text)
    for _, configuration in _tables(data, "configurations"):
        provider = str(configuration.get("provider", "local"))
        if provider in _OWN or provider == MANAGED:
            yield Problem(
                ("equal_machines",),
                f"{shown(str(configuration.get('name')))} has no new machines for each replicate, as its provider is "
                f'"{provider}"; remove it, and set `expect_cpu_model` or another expectation',
            )
            return
    if isinstance(wanted, int) and isinstance(replicates, int) and wanted > replicates:
        text = f"{shown(wanted)} is more than `replicates`, which is {replicates}; raise that, or lower this"
        yield Problem(("equal_machines",), text)


def _run_on(data: Mapping[str, Any]) -> Iterator[Problem]:
    """A benchmark and a contrast may only name configurations of this study."""
    there = [str(configuration.get("name")) for _, configuration in _tables(data, "configurations")]
    for table, key in (("benchmarks", "configurations"), ("contrasts", "left"), ("contrasts", "right")):
        for index, entry in _tables(data, table):
            for place, name in enumerate(_list(entry.get(key))):
                if isinstance(name, str) and name not in there:
                    text = f"unknown configuration {shown(name)}; {hint_among(name, there)}"
                    yield Problem((table, index, key, place), text)


def _newer_schema(data: Mapping[str, Any]) -> Iterator[Problem]:
    match = _SCHEMA.fullmatch(str(data.get("schema")))
    if match and int(match[1]) > _NEWEST:
        text = f"{match[0]} is newer than this nephoscope, which reads up to version {_NEWEST}; install a later one"
        yield Problem(("schema",), text)


def _tables(data: Mapping[str, Any], key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    entries = data.get(key)
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(entry, Mapping):
            yield index, entry


def _twice(key: str, data: Mapping[str, Any], lines: Mapping[Path, int]) -> Iterator[Problem]:
    """Names that two entries share. A benchmark without a name takes that of the benchmark it uses."""
    first: dict[str, Path] = {}
    for index, entry in _tables(data, key):
        own = "uses" if "name" not in entry and key == "benchmarks" else "name"
        name, path = entry.get(own), (key, index, own)
        if not isinstance(name, str):
            continue
        if name in first:
            hint = "names must be unique" if own == "name" else "give one of them a `name` of its own"
            line = line_of(first[name], lines)
            yield Problem(path, f"{shown(name)} appears twice, first at line {line}; {hint}")
        first.setdefault(name, path)


def _local(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """Keys that order something from a provider are meaningless on this machine, so they must not appear."""
    for key in _ONLY_ELSEWHERE:
        if key in configuration:
            yield Problem((*path, key), 'provider "local" is this machine and has none; remove it')
    for role, machine in _machines(configuration):
        if "type" in machine:
            text = 'provider "local" is this machine and cannot change its type; use `expect_cpu_model` to check it'
            yield Problem((*path, role, "type"), text)
        count = machine.get("count", 1)
        if isinstance(count, int) and count > 1:
            yield Problem((*path, role, "count"), f'{shown(count)} is not allowed; provider "local" is one machine')


def _machines(configuration: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The roles that are described, with what they say."""
    for role in _ROLES:
        machine = configuration.get(role)
        if isinstance(machine, Mapping):
            yield role, machine


def _type_names(data: Mapping[str, Any]) -> set[str]:
    return {str(entry.get("name")) for _, entry in _tables(data, "machine_types")}


def _placed(path: Path, configuration: Mapping[str, Any], types: set[str], *, managed: bool) -> Iterator[Problem]:
    """Keys of emulated machines and of hosts: required there, meaningless elsewhere."""
    provider = str(configuration.get("provider", "local"))
    roles = dict(_machines(configuration))
    if provider in {"emulated", "ssh"} and not managed:
        roles.setdefault("database_machine", {})
    for role, machine in roles.items():
        if provider == "emulated" and "emulated" not in machine and machine.get("type") not in types:
            there = f"there are: {', '.join(sorted(types))}" if types else "add [[machine_types]]"
            place = (*path, role, "type") if "type" in machine else (*path, role) if role in configuration else path
            yield Problem(place, f'provider "emulated" needs a known `type` of machine for `{role}`; {there}')
        if provider == "ssh" and "hosts" not in machine:
            place = (*path, role) if role in configuration else path
            yield Problem(place, f'provider "ssh" needs `hosts` for `{role}`: hosts = ["user@host"]')
        if provider == "ssh" and "count" in machine:
            yield Problem((*path, role, "count"), "`hosts` gives the number of machines; remove it")
        for key, where in (("hosts", "ssh"), ("emulated", "emulated"), ("cpu_platform", "gcp")):
            if key in machine and provider != where:
                yield Problem((*path, role, key), f'only provider "{where}" supports this; remove it')
        yield from _ordered((*path, role), machine, provider)
    if "cloud" in configuration and provider not in CLOUDS:
        yield Problem((*path, "cloud"), f"{_ONLY_CLOUDS}; remove it")
    if "ssh" in configuration and provider != "ssh":
        yield Problem((*path, "ssh"), 'only provider "ssh" supports this; remove it')


def _rented(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """All other providers say whose the machines are."""
    if "rented" in configuration and str(configuration.get("provider", "local")) not in {"local", "ssh"}:
        yield Problem((*path, "rented"), 'only providers "local" and "ssh" support this; remove it')


def _links(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """A link joins two zones that hold machines; each pair has at most one."""
    if "links" in configuration and configuration.get("provider") != "emulated":
        yield Problem((*path, "links"), 'only provider "emulated" supports this; remove it')
        return
    zones = [str(zone) for _, machine in _machines(configuration) for zone in _list(machine.get("zones"))]
    joined: list[frozenset[str]] = []
    for index, link in enumerate(_list(configuration.get("links"))):
        place = (*path, "links", index, "between")
        between = [str(zone) for zone in _list(link.get("between"))] if isinstance(link, Mapping) else []
        for unknown in sorted({*between} - {*zones}):
            hint = hint_among(unknown, zones, otherwise="name it in `zones` of a machine")
            yield Problem(place, f"no machine is in zone {shown(unknown)}; {hint}")
        if len(between) == 2 and len({*between}) == 1:
            yield Problem(place, "joins a zone to itself; name two zones")
        if len(between) == 2 and frozenset(between) in joined:
            yield Problem(place, "these two zones already have a link; remove it")
        joined.append(frozenset(between))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _ordered(path: Path, machine: Mapping[str, Any], provider: str) -> Iterator[Problem]:
    """Keys that only make sense where machines are created."""
    for key in (
        "image",
        "volumes",
        "local_ssds",
        "disks",
        "local_ssd_use",
        "local_ssd_gib",
        "cores",
        "threads_per_core",
    ):
        if key in machine and provider not in CLOUDS:
            yield Problem((*path, key), f"{_ONLY_CLOUDS}; remove it")
    if "cores" in machine and "threads_per_core" not in machine and provider == "azure":
        yield Problem((*path, "cores"), _CORES_OF_AZURE)
    yield from _disks(path, machine, provider)


def _disks(path: Path, machine: Mapping[str, Any], provider: str) -> Iterator[Problem]:
    """Volumes and local SSDs: what a provider has no choice of, and where the data folder is."""
    for index, volume in enumerate(_list(machine.get("volumes"))):
        if isinstance(volume, Mapping) and "cache" in volume and provider != "azure":
            yield Problem((*path, "volumes", index, "cache"), 'only provider "azure" supports this; remove it')
        if isinstance(volume, Mapping) and "interface" in volume and provider != "gcp":
            yield Problem((*path, "volumes", index, "interface"), _TYPE_DECIDES)
    if "local_ssd_interface" in machine and provider != "gcp":
        yield Problem((*path, "local_ssd_interface"), _TYPE_DECIDES)
    elif "local_ssd_interface" in machine and "local_ssds" not in machine:
        yield Problem((*path, "local_ssd_interface"), "there are no `local_ssds`; remove it")
    for key in ("local_ssd_use", "local_ssd_gib"):
        if key in machine and "local_ssds" not in machine:
            yield Problem((*path, key), "there are no `local_ssds`; remove it")
    holding = [one for one in _list(machine.get("volumes")) if isinstance(one, Mapping) and one.get("use") != "raw"]
    if holding and "local_ssds" in machine and machine.get("local_ssd_use") != "raw":
        yield Problem(
            (*path, "local_ssds"),
            "the data folder is either on `volumes` or on local SSDs; remove one of them, or mark it raw",
        )


def _mounted(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """XFS lost its barrier options with Linux 4.19, and a mount with them fails."""
    for role, machine in _machines(configuration):
        options = machine.get("mount_options", [])
        written = options if isinstance(options, list) else []
        if machine.get("filesystem") == "xfs" and any("barrier" in str(one) for one in written):
            yield Problem((*path, role, "mount_options"), "xfs has no barrier options; remove them, or use ext4")


def _drives_a_database(data: Mapping[str, Any], known: Mapping[str, KnownBenchmark]) -> bool:
    for _, entry in _tables(data, "benchmarks"):
        benchmark, given = known.get(str(entry.get("uses"))), entry.get("parameters", {})
        if benchmark is None or not isinstance(given, Mapping):
            continue
        unchecked = benchmark.parameters.model_construct(**given)
        if benchmark.subject_of(unchecked) is Subject.DATABASE:
            return True
    return False


def _fake(path: Path, configuration: Mapping[str, Any], *, needed: bool) -> Iterator[Problem]:
    """A fake machine's folders are only names: a real server would create them on this machine."""
    database = configuration.get("database", {})
    if not isinstance(database, Mapping) or database.get("system") == "fake":
        return
    text = 'provider "fake" has no machine for a real server; set `database.system = "fake"`'
    if "system" in database:
        yield Problem((*path, "database", "system"), text)
    elif "dsn" in database:
        yield Problem((*path, "database", "dsn"), text)
    elif needed:
        yield Problem((*path, "provider"), text)


def _dates(path: Path, value: Any) -> Iterator[Problem]:
    """TOML has dates, but a study does not: `version = 2024-01-01` would be text without quotes."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _dates((*path, key), inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _dates((*path, index), inner)
    elif isinstance(value, datetime.date | datetime.time):
        yield Problem(path, f"{value} is a date or a time, but no key takes one; if it is text, put it in quotes")


_COCKROACHDB, _AEROSPIKE = "cockroachdb", "aerospike"
_KEYS_OF: Mapping[str, tuple[str, ...]] = {
    "binary": (_COCKROACHDB, _AEROSPIKE),
    "aerospike": (_AEROSPIKE,),
    "replicas": ("valkey",),
    **dict.fromkeys(("edition", "start_flags", "secure", "fixtures"), (_COCKROACHDB,)),
}
"""Which systems support a key."""
_NO_DSN = {
    _COCKROACHDB: "nephoscope cannot measure a CockroachDB of your own, because it drops and restores data sets; "
    "remove `dsn`",
    _AEROSPIKE: "nephoscope cannot measure an Aerospike of your own, because a trial empties its namespace; remove "
    "`dsn`",
}


_STANDBYS = "synchronous_standby_names"
_STANDBYS_ARE_MACHINES = (
    "nephoscope sets this to `ANY 1` of the standbys, one on each database machine after the first; remove it, and set "
    "`count` of `database_machine` and the setting `synchronous_commit`"
)
_TWO_SERVERS = (
    "two CockroachDB servers keep one copy of the data, because two copies would need both servers, and then wait for "
    "a third: use 1 machine, or 3 or more"
)
_READ_COMMITTED_SINCE = (23, 2)
"""The first version of CockroachDB with another isolation level than serializable."""


def _database_problems(
    path: Path,
    configuration: Mapping[str, Any],
    benchmarks: Sequence[Mapping[str, Any]],
    known: Mapping[str, KnownBenchmark],
) -> Iterator[Problem]:
    """Problems of one configuration at `path`; `known` holds all benchmarks."""
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
    yield from snapshot_problems(path, configuration)
    yield from _number_of_servers(path, str(system), machine, database.get("replicas"))
    if "dsn" in database and str(system) in _NO_DSN:
        yield Problem((*path, "database", "dsn"), _NO_DSN[str(system)])
    settings = database.get("settings")
    if system == _AEROSPIKE:
        yield from _settings_of_aerospike(path, settings)
    if system == "postgres" and "dsn" not in database and isinstance(settings, Mapping) and _STANDBYS in settings:
        yield Problem((*path, "database", "settings", _STANDBYS), _STANDBYS_ARE_MACHINES)
    if system in ("postgres", _COCKROACHDB):
        yield from _dialect_problems(path, configuration, benchmarks, known)


def _dialect_problems(
    path: Path,
    configuration: Mapping[str, Any],
    benchmarks: Sequence[Mapping[str, Any]],
    known: Mapping[str, KnownBenchmark],
) -> Iterator[Problem]:
    """Each benchmark on a server of SQL must use its dialect, and an isolation level that it has."""
    database = configuration.get("database", {})
    system = database.get("system", "postgres")
    for entry in benchmarks:
        named = entry.get("configurations")
        elsewhere = isinstance(named, list) and named and configuration.get("name") not in named
        dialect = _parameter(entry, known, "dialect")
        if elsewhere or dialect is None:
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


def _number_of_servers(path: Path, system: str, machine: Any, replicas: Any) -> Iterator[Problem]:
    """Each machine has one server: masters of Valkey with their replicas must fill them; CockroachDB cannot use two."""
    described = machine if isinstance(machine, Mapping) else {}
    hosts = described.get("hosts")
    count = len(hosts) if isinstance(hosts, list) else described.get("count", 1)
    if system == _COCKROACHDB and count == 2:
        yield Problem((*path, "database_machine", "count"), _TWO_SERVERS)
    if (
        system == "valkey"
        and isinstance(replicas, int)
        and isinstance(count, int)
        and replicas > 0
        and count % (1 + replicas)
    ):
        there = f"there {'is' if count == 1 else 'are'} {count}"
        text = (
            f"a master with its replicas takes {1 + replicas} machines, but {there}: use a multiple of "
            f"{1 + replicas} database machines"
        )
        yield Problem((*path, "database", "replicas"), text)


def _settings_of_aerospike(path: Path, settings: Any) -> Iterator[Problem]:
    """Each setting must exist in Aerospike's configuration file."""
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        text = against_setting(str(name), value) if isinstance(value, str) else ""
        if text:
            yield Problem((*path, "database", "settings", str(name)), text)


def _parameter(entry: Mapping[str, Any], known: Mapping[str, KnownBenchmark], name: str) -> Any:
    """A parameter of a benchmark, or its default; None: it has no such parameter."""
    benchmark = known.get(str(entry.get("uses")))
    field = benchmark.parameters.model_fields.get(name) if benchmark else None
    parameters = entry.get("parameters", {})
    if field is None or not isinstance(parameters, Mapping):
        return None
    return parameters.get(name, field.default)
