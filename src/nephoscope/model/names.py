"""The rules for names, the same in a study file and in what is stored."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from nephoscope.model.frozen import conflict

MOST_CHARACTERS = 63
_IN_WORDS = f"at most {MOST_CHARACTERS} lower-case letters, digits, dots and dashes, starting with a letter or a digit"
NAME = rf"[a-z0-9][a-z0-9.-]{{0,{MOST_CHARACTERS - 1}}}"
_NAME = re.compile(NAME)
Name = Annotated[str, Field(pattern=rf"^{_NAME.pattern}$", json_schema_extra={"x-pattern-in-words": _IN_WORDS})]
"""Lower case, digits, dots and dashes: it is used as a folder name, a chart label and a database name."""

_LABEL_IN_WORDS = "at most 30 lower-case letters, digits and dashes, starting with a letter"
LabelName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9-]{0,29}$", json_schema_extra={"x-pattern-in-words": _LABEL_IN_WORDS})
]
"""The name of a label: a column of tables and a filter of the report."""

MachineName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
"""The name of a machine, which its provider or its host chose: it is used as a file name."""


def _with_a_name(table: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(name := table.get("name"), str):
        raise conflict("there is no name")
    if not _NAME.fullmatch(name):
        raise conflict(f"the name {name[:_SHOWN]!r} must be {_IN_WORDS}")
    try:
        _require_shape(table)
    except RecursionError as error:
        raise conflict("it is nested too deeply") from error
    return table


def _require_shape(table: dict[str, Any]) -> None:
    """Tables, lists, texts and numbers of a configuration are where a study has them: code reads it as it is."""
    for key, value in table.items():
        fits = _of_its_kind(key, value) if value is not None else key not in _ALWAYS
        if not fits or (key == "copies" and value is not None and not isinstance(value.get("count"), int)):
            raise conflict(f"{key[:_SHOWN]!r} is not what a study has there")
        if key in _TABLES | _LISTS_OF_TABLES and value:
            for part in value if isinstance(value, list) else [value]:
                _require_shape(part)


def _of_its_kind(key: str, value: Any) -> bool:
    if key in _TABLES:
        return isinstance(value, dict)
    if key in _CHOSEN_KEYS:
        return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())
    if key in _LISTS | _LISTS_OF_TABLES:
        return isinstance(value, list) and all(isinstance(part, str if key in _LISTS else dict) for part in value)
    return isinstance(value, int | float) or (isinstance(value, str) and not _NUMBERS.fullmatch(key))


_TABLES = frozenset(
    {
        *("aerospike", "cloud", "copies", "database", "database_machine", "emulated", "load_machine", "patroni"),
        *("priced_as", "ssh"),
    }
)
_ALWAYS = frozenset({"database", "database_machine", "labels", "settings"})
_LISTS_OF_TABLES = frozenset({"links", "volumes"})
_LISTS = frozenset({"between", "hosts", "mount_options", "other_zones", "packages", "zones"})
_NUMBERS = re.compile(
    r"connections(_per_cpu)?|cores|count|cpu_quota|.*_(gib|gbps|iops|kib|mib|mib_per_s|ms|percent)|expect_numa_nodes"
    r"|expect_sockets|iops|local_ssds|loop_wait|price_usd_per_hour|replicas|replication_factor|retry_timeout|size"
    r"|threads_per_core|throughput|ttl|vcpus"
)
_CHOSEN_KEYS = frozenset({"host_keys", "labels", "settings", "start_flags"})
"""Tables of texts, whose keys somebody chose."""
_SHOWN = 80
Named = Annotated[dict[str, Any], AfterValidator(_with_a_name)]
"""A table with a name, whatever else is in it."""
