"""Which host keys are trusted: the pinned one, those that ssh knows, or the first one that is seen.

asyncssh would read the user's known_hosts by itself, but neither the system's nor `StrictHostKeyChecking`, and it does
not say whether a host is unknown or has a different key, nor which key it has shown. Importing this module imports
asyncssh.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asyncssh
from typing_extensions import override

from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.config import SYSTEM_CONFIG, config_of
from nephoscope.model.errors import HostKeyRefused

_USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_SYSTEM_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
"""Where ssh looks unless ~/.ssh/config says otherwise."""
_FIRST_SIGHT = frozenset({"no", "off", "false", "accept-new"})
"""Values of `StrictHostKeyChecking` with which ssh connects to a host that it does not know without asking."""


class HostKeyCheck(asyncssh.SSHClient):
    """Judges the host key of one connection, before anything is sent over it.

    A key that differs from a known one is always rejected, even where `StrictHostKeyChecking no` lets ssh continue.
    """

    def __init__(
        self,
        address: SshAddress,
        *,
        pin: str | None,
        system_config: Path = SYSTEM_CONFIG,
    ) -> None:
        """Reads ~/.ssh/config and known_hosts when they are needed.

        Of the system's configuration only what it says about host keys holds: it often names algorithms that asyncssh
        does not know, and then could reach no host at all.

        Args:
            address: as the user wrote it, before ~/.ssh/config replaces it; if that is not read, and there is no pin,
                the first key seen is trusted.
            pin: the only key to trust; None: no key is known.
            system_config: read after ~/.ssh/config, which counts first; ignored if asyncssh cannot read it.

        Raises:
            asyncssh.ConfigParseError: ~/.ssh/config cannot be read.
        """
        self._address, self._pin, self._as_ssh = address, pin, address.user_config and pin is None
        self._config = config_of(address, system=system_config) if self._as_ssh else None
        self._known: list[Any] = []
        self._looked_up = address.host
        self._shown: asyncssh.SSHKey | None = None

    @property
    def known_hosts(self) -> Any:
        """What `asyncssh.connect` takes; None: any key."""
        if self._pin is not None:
            self._known = [asyncssh.import_public_key(self._pin)]
            return self._known, [], []
        return self._match if self._as_ssh else None

    @override
    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Called for a key that is not trusted yet."""
        self._shown = key
        strict = str(self._option("StrictHostKeyChecking", "ask")).lower()
        return self._as_ssh and not self._known and strict in _FIRST_SIGHT

    def refusal(self, reason: str) -> HostKeyRefused:
        """The error for a key that was not accepted; `reason` is asyncssh's."""
        shown = f" (it shows {self._shown.get_fingerprint()})" if self._shown is not None else ""
        if self._pin is not None:
            return HostKeyRefused(
                f"the host key of {self._address.host} is not the pinned one{shown}",
                hint="it is another machine, was reinstalled, or somebody is intercepting the connection: compare with "
                "`ssh-keygen -lf` of the key on the host",
            )
        if self._shown is None:  # revoked
            return HostKeyRefused(
                f"no connection to {self._address.host}: {reason}",
                hint=f"try `{self._address.command}`, which says more",
            )
        files = ", ".join(map(str, self._files())) or "known_hosts, which does not exist"
        if self._known:
            return HostKeyRefused(
                f"the host key of {self._address.host} is not the one in {files}{shown}",
                hint="it is another machine, was reinstalled, or somebody is intercepting the connection; if its key "
                f"was changed on purpose, remove the old one with `ssh-keygen -R '{self._looked_up}'`",
            )
        return HostKeyRefused(
            f"the host key of {self._address.host} is not known: it is not in {files}{shown}",
            hint=f"compare that key with the host's, then connect once with `{self._address.command}` and accept it, "
            "or write it in `host_keys` of the study's table `ssh`",
        )

    def _match(self, host: str, _address: str, port: int | None) -> Any:
        """What known_hosts says of a host: by its name only, as ssh does."""
        self._looked_up = f"[{host}]:{port}" if port else host
        found = asyncssh.read_known_hosts([str(file) for file in self._files()]).match(host, "", port)
        self._known = [*found[0], *found[1]]
        return found

    def _files(self) -> Sequence[Path]:
        """Those of ssh that exist and may be read."""
        names: list[str] = []
        for option, default in (("UserKnownHostsFile", _USER_FILES), ("GlobalKnownHostsFile", _SYSTEM_FILES)):
            given = self._option(option, default)
            names += given if isinstance(given, list | tuple) else [str(given)]
        files = [Path(name).expanduser() for name in names]
        return [file for file in files if file.is_file() and os.access(file, os.R_OK)]

    def _option(self, name: str, default: object) -> object:
        return default if self._config is None else self._config.get(name, default)
