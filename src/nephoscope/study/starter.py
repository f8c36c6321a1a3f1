"""The studies that `nephoscope init` writes: one with every key explained, and those of everyday questions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from urllib.parse import urlsplit

from nephoscope.model.errors import InputError
from nephoscope.study.toml_text import as_key, quoted


def starter_study(name: str = "my-study") -> str:
    """Text of a study file that explains every key and runs as it is; `name` must be a valid name of a study."""
    text = resources.files(__package__).joinpath("starter.toml").read_text(encoding="utf-8")
    return text.replace('name = "my-study"', f'name = "{name}"', 1)


VERSION = "version"
"""The key of `--compare` that is no setting."""

_FORM = "--compare SETTING=VALUE,VALUE, for example shared_buffers=128MB,1GB or version=15,18"
_SETTING = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.]*")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.]+")
_MAX_NAME = 63

_HEAD = """\
# {question}
# Every key and its default: docs/reference/study.md. `nephoscope init` without options writes an example of each.

name = {name}
title = {title}
replicates = 6                     # 6 is the minimum for a 95 % interval of the median
"""

_BENCHMARKS = """
# TPC-C: 4 warehouses are about 520 MiB, and each trial works on a copy. Give it about as much data as you have:
# data that fit into memory measure CPUs and memory, larger data measure the disk, too.
[[benchmarks]]
uses = "tpcc"
parameters = { warehouses = 4, {profile}ramp_s = 10, duration_s = 60 }
# Reads of single rows by their key; a million rows are about 320 MB.
[[benchmarks]]
uses = "point-select"
parameters = { rows = 1_000_000, ramp_s = 5, duration_s = 20 }
"""


@dataclass(frozen=True)
class Change:
    """What differs between the configurations: a setting or the version, and its values."""

    key: str
    values: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """'shared_buffers: 128MB against 1GB'."""
        return f"{self.key}: {' against '.join(self.values)}"


def read_change(text: str) -> Change:
    """What `--compare` asks.

    Raises:
        InputError: it is not of the form SETTING=VALUE,VALUE.
    """
    key, _, listed = text.partition("=")
    values = [value.strip() for value in listed.split(",")]
    if not _SETTING.fullmatch(key.strip()) or not all(values):
        raise InputError(f"cannot read --compare {text!r}", hint=f"write {_FORM}")
    if len(values) < 2:
        raise InputError(f"--compare {text!r} names one value, so there is nothing to compare", hint=f"write {_FORM}")
    if len(set(values)) < len(values):
        raise InputError(f"--compare {text!r} names a value twice", hint="name each value once")
    return Change(key.strip(), tuple(values))


def everyday_study(change: Change | None, dsns: Sequence[str], system: str = "postgres") -> str:
    """Text of a study.

    Args:
        change: what to compare; None: the servers at `dsns` as they are.
        dsns: addresses of the user's servers: none (nephoscope starts servers), one, or one for each value.
        system: as `database.system` has it.
    """
    product = _PRODUCTS[system]
    names = _names(change, dsns)
    if change is None:
        question = "Your server as it is." if len(dsns) == 1 else "Your servers as they are."
        title = f"{product} on {' and '.join(map(_place, dsns))}"
        name = "my-server" if len(dsns) == 1 else "my-servers"
    else:
        where = "on your server" if len(dsns) == 1 else "on servers of your own" if dsns else _OURS.format(product)
        question, title = f"{change.in_words}, {where}.", f"{product} with {change.in_words}"
        name = _slug(change.key)
    head = _HEAD.format(question=question, name=quoted(name), title=quoted(title))
    secret = _ELSEWHERE.format("PGPASSWORD" if system == "postgres" else "MYSQL_PWD") if dsns else ""
    driven = _BENCHMARKS.replace("{profile}", "" if system == "postgres" else 'profile = "chatty", ')
    tables = "".join(_configurations(change, dsns, names, system))
    return head + secret + tables + driven + _contrasts(change, dsns, names)


_PRODUCTS = {"postgres": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL"}
_OURS = "each on a {} server that nephoscope starts on this machine"
_ELSEWHERE = """
# The password is never written here: put it into the environment variable {}.
"""


def _configurations(change: Change | None, dsns: Sequence[str], names: Sequence[str], system: str) -> list[str]:
    found = []
    for place, name in enumerate(names):
        database = {} if system == "postgres" else {"system": quoted(system)}
        if dsns:
            database["dsn"] = quoted(dsns[min(place, len(dsns) - 1)])
        if change is not None and change.key == VERSION:
            database["version"] = quoted(change.values[place])
        elif change is not None and len(dsns) < 2:
            database["settings"] = f"{{ {as_key(change.key)} = {quoted(change.values[place])} }}"
        database["connections"] = "8"
        table = ", ".join(f"{key} = {value}" for key, value in database.items())
        found.append(f"\n[[configurations]]\nname = {quoted(name)}\ndatabase = {{ {table} }}\n")
    return found


def _contrasts(change: Change | None, dsns: Sequence[str], names: Sequence[str]) -> str:
    """Servers of the user's differ in their addresses: only the study knows what else."""
    if change is None or len(dsns) < 2:
        return ""
    pairs = pairwise(zip(names, change.values, strict=True))
    return "\n# What your servers differ in, for the report.\n" + "\n".join(
        f"[[contrasts]]\nname = {quoted(change.key)}\nleft = [{quoted(left)}]\nright = [{quoted(right)}]\n"
        f"labels = [{quoted(left_value)}, {quoted(right_value)}]\n"
        for (left, left_value), (right, right_value) in pairs
    )


def _names(change: Change | None, dsns: Sequence[str]) -> list[str]:
    """A name for each configuration; unique."""
    if change is None:
        wanted = ["my-server"] if len(dsns) == 1 else [_slug(_place(dsn)) for dsn in dsns]
    else:
        wanted = [_slug(f"{change.key}-{value}") for value in change.values]
    if len(set(wanted)) == len(wanted):
        return wanted
    return [f"{name[: _MAX_NAME - 4]}-{number}" for number, name in enumerate(wanted, start=1)]


def _place(dsn: str) -> str:
    parts = urlsplit(dsn)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def _slug(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text.lower()).strip("-.")[:_MAX_NAME] or "value"
