"""Rules about texts of a study that become a path, an address or a line on a terminal.

They read raw values, because other keys may be wrong too, and they apply to a study that a person writes: names in an
import are whatever its source calls them.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nephoscope.model.text import hidden
from nephoscope.study.explain import Problem
from nephoscope.study.locate import Path
from nephoscope.study.suggest import shown

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
