"""Rules between keys of a configuration's database, and between it and the benchmarks. They look at raw values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nephoscope.study.explain import Problem
from nephoscope.study.locate import Path
from nephoscope.study.suggest import shown

_COCKROACHDB = "cockroachdb"
_ITS_KEYS = ("binary", "edition", "start_flags", "secure", "fixtures")


def problems(
    path: Path, configuration: Mapping[str, Any], benchmarks: Sequence[Mapping[str, Any]], known: Mapping[str, Any]
) -> Iterator[Problem]:
    """Of one configuration at `path`; `known` holds the parameters' model of each benchmark there is."""
    database = configuration.get("database", {})
    if not isinstance(database, Mapping):
        return
    if database.get("system") != _COCKROACHDB:
        for key in _ITS_KEYS:
            if key in database:
                text = f'has a meaning with `system = "{_COCKROACHDB}"` alone; leave it out'
                yield Problem((*path, "database", key), text)
    elif "dsn" in database:
        text = "a CockroachDB of yours cannot be measured: its data sets are dropped and restored; leave `dsn` out"
        yield Problem((*path, "database", "dsn"), text)
    system = database.get("system", "postgres")
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


def _dialect(entry: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """What a benchmark's SQL is; None: it has none."""
    field = getattr(known.get(str(entry.get("uses"))), "model_fields", {}).get("dialect")
    parameters = entry.get("parameters", {})
    if field is None or not isinstance(parameters, Mapping):
        return None
    return parameters.get("dialect", field.default)
