"""How to reach a host."""

import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SshAddress:
    """How to reach a host. Secrets are files of the user's or an agent, never values."""

    host: str
    port: int | None = None
    user: str | None = None
    key_file: Path | None = None
    """The key to offer; None: the user's own keys and agent."""
    host_key: str | None = None
    """As `ssh-keyscan` prints it, without the host; None: known_hosts decides, or without `user_config` the first key
    that is seen."""
    jump: "SshAddress | None" = None
    user_config: bool = True
    """Whether ~/.ssh/config and known_hosts are read."""
    more_key_files: tuple[Path, ...] = ()
    """Offered after `key_file`."""

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        return f"{user}{self.host}{f':{self.port}' if self.port else ''}"

    @property
    def command(self) -> str:
        """The command with which a person reaches the host in the same way."""
        options: list[str] = [] if self.user_config else ["-F", "none"]
        if self.port is not None:
            options += ["-p", str(self.port)]
        if self.key_file is not None:
            options += ["-i", str(self.key_file)]
        if self.jump is not None:
            options += ["-J", str(self.jump)]
        return shlex.join(["ssh", *options, f"{self.user}@{self.host}" if self.user else self.host])

    @property
    def key_files(self) -> tuple[Path, ...]:
        """Every key to offer; none: the user's own keys and agent."""
        return (self.key_file, *self.more_key_files) if self.key_file is not None else ()


def split_destination(text: str) -> tuple[str | None, str, int | None]:
    """User, host and port of `user@host:port`; an IPv6 address with a port is in brackets.

    Raises:
        ValueError: the port is not a number.
    """
    user, _, place = text.removeprefix("ssh://").rpartition("@")
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = place.partition(":") if place.count(":") == 1 else (place, "", "")
    return user or None, host, int(port) if port else None
