"""Rules between several keys of a study file. They read raw values, because other keys may be wrong too."""

import base64
import binascii
import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nephoscope.model.subjects import Subject
from nephoscope.model.text import hidden
from nephoscope.study.database_rules import database_problems
from nephoscope.study.explain import Problem
from nephoscope.study.machine_rules import list_of, machine_problems, region_problems, tables_of
from nephoscope.study.managed import MANAGED, managed_problems
from nephoscope.study.model import KnownBenchmark
from nephoscope.study.suggest import hint_among, meant_by, shown
from nephoscope.study.toml_text import Path, line_of

_HOST = re.compile(
    r"""
      (?:[A-Za-z0-9_](?:[A-Za-z0-9_.@+\\-]*[A-Za-z0-9_.@+-])?@)?  # a user, which may have an @ or a domain of its own
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

    A name with a slash would leave the folder of its files, and one with a leading dash would be an option. A user has
    nothing that a shell obeys, as `ProxyCommand` may hand `%r` to one (OpenSSH refuses such names: CVE-2023-51385).
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


def across_keys(
    data: Mapping[str, Any], lines: Mapping[Path, int], known: Mapping[str, KnownBenchmark]
) -> Iterator[Problem]:
    """Every rule; `known` holds all benchmarks."""
    yield from _newer_schema(data)
    yield from text_problems(data)
    yield from _twice("configurations", data, lines)
    yield from _twice("benchmarks", data, lines)
    yield from _twice("contrasts", data, lines)
    yield from _twice("regions", data, lines)
    yield from region_problems(data)
    for index, entry in tables_of(data, "benchmarks"):
        uses = entry.get("uses")
        if isinstance(uses, str) and uses not in known:
            hint = meant_by("uses", uses, known) or f"there are: {', '.join(sorted(known))}"
            yield Problem(("benchmarks", index, "uses"), f"unknown benchmark {shown(uses)}; {hint}")
    yield from _run_on(data)
    yield from _equal_machines(data)
    yield from _looks(data)
    yield from _equal_copies(data)
    benchmarks = [(place, _by_name(entry)) for place, entry in tables_of(data, "benchmarks")]
    entries = [entry for _, entry in benchmarks]
    types = {str(entry.get("name")) for _, entry in tables_of(data, "machine_types")}
    for index, configuration in tables_of(data, "configurations"):
        path = ("configurations", index)
        yield from database_problems(path, configuration, entries, known)
        yield from managed_problems(path, configuration, benchmarks)
        yield from machine_problems(path, configuration, types)
        if configuration.get("provider") == "fake":
            yield from _fake(path, configuration, needed=_drives_a_database(data, known))


def _by_name(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A benchmark whose configurations are a set, as each of the study's is looked for in it."""
    names = list_of(entry.get("configurations"))
    return {**entry, "configurations": frozenset(name for name in names if isinstance(name, str))}


def _equal_copies(data: Mapping[str, Any]) -> Iterator[Problem]:
    """A copy costs dollars, and a synchronous one commits: unequal ones are compared where the study asks for it."""
    stated: list[tuple[str, tuple[Any, Any]]] = []
    for index, configuration in tables_of(data, "configurations"):
        database = configuration.get("database")
        copies = database.get("copies") if isinstance(database, Mapping) else None
        if not isinstance(copies, Mapping):
            continue
        stated.append((str(configuration.get("name")), (copies.get("count"), copies.get("synchronous", False))))
        if stated[-1][1] != stated[0][1] and data.get("unequal_copies") is not True:
            text = (
                f"{shown(stated[0][0])} keeps other copies of the data, so the two are not compared at equal "
                "availability; measure equal ones, or set `unequal_copies = true`, and the report says so"
            )
            yield Problem(("configurations", index, "database", "copies"), text)


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
    for _, configuration in tables_of(data, "configurations"):
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
    there = {str(configuration.get("name")): None for _, configuration in tables_of(data, "configurations")}
    for table, key in (("benchmarks", "configurations"), ("contrasts", "left"), ("contrasts", "right")):
        for index, entry in tables_of(data, table):
            for place, name in enumerate(list_of(entry.get(key))):
                if isinstance(name, str) and name not in there:
                    text = f"unknown configuration {shown(name)}; {hint_among(name, there)}"
                    yield Problem((table, index, key, place), text)


def _newer_schema(data: Mapping[str, Any]) -> Iterator[Problem]:
    match = _SCHEMA.fullmatch(str(data.get("schema")))
    if match and int(match[1]) > _NEWEST:
        text = f"{match[0]} is newer than this nephoscope, which reads up to version {_NEWEST}; install a later one"
        yield Problem(("schema",), text)


def _twice(key: str, data: Mapping[str, Any], lines: Mapping[Path, int]) -> Iterator[Problem]:
    """Names that two entries share. A benchmark without a name takes that of the benchmark it uses."""
    first: dict[str, Path] = {}
    for index, entry in tables_of(data, key):
        own = "uses" if "name" not in entry and key == "benchmarks" else "name"
        name, path = entry.get(own), (key, index, own)
        if not isinstance(name, str):
            continue
        if name in first:
            hint = "names must be unique" if own == "name" else "give one of them a `name` of its own"
            line = line_of(first[name], lines)
            yield Problem(path, f"{shown(name)} appears twice, first at line {line}; {hint}")
        first.setdefault(name, path)


def dates(path: Path, value: Any) -> Iterator[Problem]:
    """TOML has dates, but a study does not: `version = 2024-01-01` would be text without quotes.

    What reads a study further relies on it.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from dates((*path, key), inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from dates((*path, index), inner)
    elif isinstance(value, datetime.date | datetime.time):
        yield Problem(path, f"{value} is a date or a time, but no key takes one; if it is text, put it in quotes")


def _drives_a_database(data: Mapping[str, Any], known: Mapping[str, KnownBenchmark]) -> bool:
    for _, entry in tables_of(data, "benchmarks"):
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
