"""An SSH link to one host that reconnects after a cut: keys, pinned host keys, jump hosts, typed failures.

A command takes a channel of a connection for as long as it runs, and sshd allows ten on one (`MaxSessions`). So there
are as many connections as the concurrent commands need.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nephoscope.model.errors import (
    AccessDenied,
    EnvironmentProblem,
    MachineLost,
    MachineUnreachable,
    NephoscopeError,
    OutputUnreadable,
)

if TYPE_CHECKING:  # importing it takes a quarter of a second, which `status` and `local` need not wait for
    import asyncssh

CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_INTERVAL_S = 4.0
KEEPALIVE_MISSED = 2
"""A silently broken link is noticed after three intervals; a keepalive costs a host some 0.1 ms of CPU."""
PATIENCE_S = 60.0
"""How long a host may be unreachable before it counts as lost."""
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0
_CHUNK_BYTES = 1 << 16
MOST_BYTES = 1 << 30
"""Of an answer, which is kept in memory: a host may say what it likes, but not without an end."""
CHANNELS = 8
"""Channels on one connection; sshd allows 10 by default, and counts an abandoned command until it ends there."""
_CLOSED = "SSH connection closed"
"""asyncssh's reason if a broken link could not open a channel; any other reason is the host's."""

Result = TypeVar("Result")


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


@dataclass(eq=False)
class _Line:
    """One connection, and how many commands it carries."""

    connection: "asyncssh.SSHClientConnection"
    carries: int = 0
    most: int = CHANNELS
    """Fewer if the host has rejected that many."""


class Link:
    """Connections that open when first needed, and reopen after a cut."""

    def __init__(self, address: SshAddress, *, patience_s: float = PATIENCE_S) -> None:
        self._address = address
        self._patience_s = patience_s
        self._lines: list[_Line] = []
        self._jump: asyncssh.SSHClientConnection | None = None
        self._making = asyncio.Lock()
        self._pins: dict[SshAddress, str] = {}
        self._was_up = False
        self._lost = False

    async def ask(self, command: str, stdin: bytes = b"", *, timeout_s: float) -> tuple[int, bytes, bytes] | None:
        """Exit code, stdout and stderr of a shell line; None if the link broke before it ended.

        Raises:
            MachineUnreachable, AccessDenied, HostKeyRefused, MachineLost: no connection is possible.
            OutputUnreadable: it printed more than any tool does.
        """

        async def answer(connection: "asyncssh.SSHClientConnection") -> tuple[int, bytes, bytes]:
            process = await connection.create_process(command, encoding=None)
            try:
                # A command that has ended reads no more: the link and its other channels are fine.
                with suppress(BrokenPipeError):
                    process.stdin.write(stdin)
                    process.stdin.write_eof()
                out, err = await asyncio.gather(_whole(process.stdout), _whole(process.stderr))
                await process.wait_closed()
            finally:
                process.close()  # and no waiting: sshd closes its side when the command ends
            # a cut may lose output although the exit code has arrived
            if process.returncode is None or connection.is_closed():
                raise ConnectionError("the link broke")
            return process.returncode, out, err

        return await self._on_a_line(answer, timeout_s)

    async def follow(self, command: str, on_bytes: Callable[[bytes], None]) -> None:
        """Passes on what a shell line prints, as it arrives, until it or the link ends; cancel it to end it."""

        async def hand_on(connection: "asyncssh.SSHClientConnection") -> None:
            process = await connection.create_process(command, encoding=None)
            try:
                while chunk := await process.stdout.read(_CHUNK_BYTES):
                    on_bytes(chunk)
            finally:
                process.close()

        await self._on_a_line(hand_on, None)

    async def copy(self, copy: Callable[["asyncssh.SFTPClient"], Any], *, timeout_s: float) -> bool:
        """Does something over SFTP; False when the link broke before it ended.

        Raises:
            asyncssh.SFTPError: the host rejected it.
        """
        import asyncssh

        async def refused(connection: "asyncssh.SSHClientConnection") -> Exception | bool:
            """An error that is not the link's fault; False: none."""
            try:
                async with connection.start_sftp_client() as client:
                    await copy(client)
            except (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection):
                raise
            except asyncssh.SFTPError as error:
                return error
            except OSError as error:
                if error.filename is None:
                    raise
                return error  # a local file, not the link
            return False

        said = await self._on_a_line(refused, timeout_s)
        if isinstance(said, Exception):
            raise said
        return said is not None

    async def close(self) -> None:
        """Ends the connections; the next use makes one again."""
        lines, self._lines = self._lines, []
        jump, self._jump = self._jump, None
        for connection in (*(line.connection for line in lines), *([jump] if jump is not None else [])):
            connection.close()
            await connection.wait_closed()

    @property
    def host_key(self) -> str | None:
        """The host's pinned key; None: there was no contact yet."""
        return self._address.host_key or self._pins.get(self._address)

    async def _on_a_line(
        self, action: Callable[["asyncssh.SSHClientConnection"], Awaitable[Result]], timeout_s: float | None
    ) -> Result | None:
        """The result of `action` on a connection with one more channel; None, after a pause, if the link broke.

        If a host rejects one channel among others, the connection stays open, and so does what runs on it.
        """
        import asyncssh

        while True:
            async with self._line() as line:
                try:
                    async with asyncio.timeout(timeout_s):
                        return await action(line.connection)
                except asyncssh.ChannelOpenError as error:
                    if error.reason != _CLOSED and line.carries > 1:
                        line.most = min(line.most, line.carries - 1)
                        continue
                    self._drop(line)
                except (OSError, asyncssh.Error):
                    self._drop(line)
            await asyncio.sleep(_FIRST_PAUSE_S)  # a retry does not follow at once
            return None

    @asynccontextmanager
    async def _line(self) -> AsyncIterator[_Line]:
        """A connection with room for one more command."""
        async with self._making:
            self._lines = [line for line in self._lines if not line.connection.is_closed()]
            found = next((line for line in self._lines if line.carries < line.most), None)
            if found is None:
                found = _Line(await self._connect_patiently())
                self._lines.append(found)
                self._was_up, self._lost = True, False
            found.carries += 1
        try:
            yield found
        finally:
            found.carries -= 1

    async def _connect_patiently(self) -> "asyncssh.SSHClientConnection":
        """A new host must answer at once; a known one may be unreachable for a while, once."""
        until, pause_s = time.monotonic() + (0.0 if self._lost else self._patience_s), _FIRST_PAUSE_S
        while True:
            try:
                return await self._connect()
            except MachineUnreachable as error:
                if not self._was_up:
                    raise
                if time.monotonic() + pause_s > until:
                    self._lost = True
                    raise MachineLost(
                        f"{self._address} was unreachable for {self._patience_s:.0f} s: {error.message}",
                        hint="check the host and its network; the study continues with the next trial",
                    ) from error
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _connect(self) -> "asyncssh.SSHClientConnection":
        jump = self._address.jump
        if jump is not None and (self._jump is None or self._jump.is_closed()):
            self._jump = await self._open(jump, None)
        return await self._open(self._address, self._jump)

    async def _open(
        self, address: SshAddress, tunnel: "asyncssh.SSHClientConnection | None"
    ) -> "asyncssh.SSHClientConnection":
        import asyncssh

        from nephoscope.machines.ssh.host_keys import HostKeyCheck

        options: dict[str, Any] = {"config": None} if not address.user_config else {}
        if address.port is not None:
            options["port"] = address.port
        if address.user is not None:
            options["username"] = address.user
        if address.key_file is not None:
            keys = [str(file) for file in (address.key_file, *address.more_key_files)]
            options |= {"client_keys": keys, "agent_path": None}
        pin = address.host_key or self._pins.get(address)
        try:
            check = HostKeyCheck(
                address.host, pin=pin, as_ssh=address.user_config, port=address.port, user=address.user
            )
            connection = await asyncssh.connect(
                address.host,
                client_factory=lambda: check,
                known_hosts=check.known_hosts,
                tunnel=tunnel or (),
                connect_timeout=CONNECT_TIMEOUT_S,
                login_timeout=CONNECT_TIMEOUT_S,
                keepalive_interval=KEEPALIVE_INTERVAL_S,
                keepalive_count_max=KEEPALIVE_MISSED,
                **options,
            )
        except asyncssh.HostKeyNotVerifiable as error:
            raise check.refusal(error.reason) from error
        except (OSError, ValueError, asyncssh.Error) as error:  # ValueError: of ~/.ssh/config, a key or known_hosts
            raise _typed(address, error) from error
        seen = connection.get_server_host_key()
        if seen is not None and address not in self._pins:
            self._pins[address] = seen.export_public_key().decode().strip()
        return connection

    def _drop(self, line: _Line) -> None:
        line.connection.abort()
        if line in self._lines:
            self._lines.remove(line)


async def _whole(stream: "asyncssh.SSHReader[bytes]") -> bytes:
    """Everything that comes until the stream ends."""
    found = bytearray()
    while chunk := await stream.read(_CHUNK_BYTES):
        found += chunk
        if len(found) > MOST_BYTES:
            raise OutputUnreadable(f"the host sent more than {MOST_BYTES:,} bytes; the rest was not read")
    return bytes(found)


def _typed(address: SshAddress, error: Exception) -> NephoscopeError:
    """The typed error for a failed connection."""
    import asyncssh

    if isinstance(error, ValueError):
        return EnvironmentProblem(
            f"{address} cannot be reached: {error}", hint=f"try `ssh {address}`, and correct the file that it names"
        )
    if isinstance(error, asyncssh.PermissionDenied):
        return AccessDenied(
            f"{address} rejected the login: {error.reason}",
            hint=f"try `ssh {address}`; set the right `user` and `key_file` in the study",
        )
    said = str(error) or type(error).__name__
    return MachineUnreachable(
        f"{address} cannot be reached: {said}", hint=f"try `ssh {address}`: is the host up, is its port open?"
    )
