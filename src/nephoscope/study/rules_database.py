"""Rules between keys of a configuration's database, and between it and the benchmarks. They look at raw values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nephoscope.study.aerospike import against_setting
from nephoscope.study.explain import Problem
from nephoscope.study.locate import Path
from nephoscope.study.suggest import shown

_COCKROACHDB, _AEROSPIKE = "cockroachdb", "aerospike"
_KEYS_OF: Mapping[str, tuple[str, ...]] = {
    "binary": (_COCKROACHDB, _AEROSPIKE),
    "aerospike": (_AEROSPIKE,),
    **dict.fromkeys(("edition", "start_flags", "secure", "fixtures"), (_COCKROACHDB,)),
}
"""Which systems give a key its meaning."""
_NO_DSN = {
    _COCKROACHDB: "a CockroachDB of yours cannot be measured: its data sets are dropped and restored; leave `dsn` out",
    _AEROSPIKE: "an Aerospike of yours cannot be measured: a trial empties its namespace; leave `dsn` out",
}


def problems(
    path: Path, configuration: Mapping[str, Any], benchmarks: Sequence[Mapping[str, Any]], known: Mapping[str, Any]
) -> Iterator[Problem]:
    """Of one configuration at `path`; `known` holds the parameters' model of each benchmark there is."""
    database = configuration.get("database", {})
    if not isinstance(database, Mapping):
        return
    system = database.get("system", "postgres")
    for key, systems in _KEYS_OF.items():
        if key in database and system not in systems:
            text = f"has a meaning with `system = {' or '.join(map(shown, systems))}` alone; leave it out"
            yield Problem((*path, "database", key), text)
    machine = configuration.get("database_machine")
    if isinstance(machine, Mapping) and machine.get("disks") == "apart" and system != _COCKROACHDB:
        text = f'{shown(str(system))} has one data folder; leave it out, or take "striped"'
        yield Problem((*path, "database_machine", "disks"), text)
    if "dsn" in database and str(system) in _NO_DSN:
        yield Problem((*path, "database", "dsn"), _NO_DSN[str(system)])
    if system == _AEROSPIKE:
        yield from _settings_of_aerospike(path, database.get("settings"))
    for entry in benchmarks:
        named = entry.get("configurations")
        elsewhere = isinstance(named, list) and named and configuration.get("name") not in named
        dialect = _dialect(entry, known)
        if elsewhere or dialect is None or system not in ("postgres", _COCKROACHDB):
            continue
        if (dialect == _COCKROACHDB) != (system == _COCKROACHDB) and "dsn" not in database:
            label = shown(str(entry.get("name") or entry.get("uses")))
            wanted = _COCKROACHDB if system == _COCKROACHDB else "postgres"
            place = (*path, "database", "system") if "system" in database else path
            text = f'benchmark {label} speaks {dialect}: give it `parameters.dialect = "{wanted}"`'
            yield Problem(place, text)


def _settings_of_aerospike(path: Path, settings: Any) -> Iterator[Problem]:
    """Each names a place in its configuration file."""
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        text = against_setting(str(name), value) if isinstance(value, str) else ""
        if text:
            yield Problem((*path, "database", "settings", str(name)), text)


def _dialect(entry: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """What a benchmark's SQL is; None: it has none."""
    field = getattr(known.get(str(entry.get("uses"))), "model_fields", {}).get("dialect")
    parameters = entry.get("parameters", {})
    if field is None or not isinstance(parameters, Mapping):
        return None
    return parameters.get("dialect", field.default)
