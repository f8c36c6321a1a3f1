"""An SSH link to one host that reconnects after a cut: keys, pinned host keys, jump hosts, typed failures.

A command takes a channel of a connection for as long as it runs, and sshd allows ten on one (`MaxSessions`). So there
are as many connections as the concurrent commands need.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.waiting import Clock, Tries
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

PATIENCE_S = 60.0
"""How long a host may be unreachable before it counts as lost."""
_CHUNK_BYTES = 1 << 16
MOST_BYTES = 1 << 30
"""Of an answer, both streams together, which is kept in memory, and of a file: a host may send what it likes, but not
without an end."""
_SFTP_START_S = 20.0
CHANNELS = 8
"""Channels on one connection; sshd allows 10 by default, and counts an abandoned command until it ends there."""
_CLOSED = "SSH connection closed"
"""asyncssh's reason if a broken link could not open a channel; any other reason is the host's."""

Result = TypeVar("Result")


@dataclass(eq=False)
class _Line:
    """One connection, and how many commands it carries."""

    connection: "asyncssh.SSHClientConnection"
    carries: int = 0
    most: int = CHANNELS
    """Fewer if the host has rejected that many."""


class Link:
    """Connections that open when first needed, and reopen after a cut."""

    def __init__(self, address: SshAddress, clock: Clock, *, patience_s: float = PATIENCE_S) -> None:
        self._address = address
        self._clock = clock
        self._patience_s = patience_s
        self._lines: list[_Line] = []
        self._hops: dict[SshAddress, asyncssh.SSHClientConnection] = {}
        self._making = asyncio.Lock()
        self._pins: dict[SshAddress, str] = {}
        self._was_up = False
        self._lost = False

    async def ask(
        self, command: str, stdin: bytes = b"", *, timeout_s: float, most_bytes: int | None = None
    ) -> tuple[int, bytes, bytes] | None:
        """Exit code, stdout and stderr of a shell line; None if the link broke before it ended.

        Args:
            command: the shell line.
            stdin: its input.
            timeout_s: for all of it.
            most_bytes: of both streams; None: as many as an answer may have.

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
                room = Room(most_bytes or MOST_BYTES)
                out, err = await asyncio.gather(_whole(process.stdout, room), _whole(process.stderr, room))
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
            EnvironmentProblem: the host has no SFTP.
        """
        import asyncssh

        async def refused(connection: "asyncssh.SSHClientConnection") -> Exception | bool:
            """An error that is not the link's fault; False: none."""
            try:
                async with await self._sftp(connection) as client:
                    await copy(client)
            except EnvironmentProblem as error:
                return error
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

    async def _sftp(self, connection: "asyncssh.SSHClientConnection") -> "asyncssh.SFTPClient":
        """SFTP on a connection; a subsystem that does not start, or talks something else, does so each time."""
        import asyncssh
        from asyncssh.constants import OPEN_REQUEST_SESSION_FAILED

        try:
            async with asyncio.timeout(_SFTP_START_S):
                return await connection.start_sftp_client()
        except (asyncssh.ChannelOpenError, asyncssh.SFTPError, TimeoutError) as error:
            of_link = isinstance(error, asyncssh.ChannelOpenError) and error.code != OPEN_REQUEST_SESSION_FAILED
            if of_link or connection.is_closed():
                raise
            reason = getattr(error, "reason", "") or f"nothing that is SFTP came within {_SFTP_START_S:.0f} s"
            raise EnvironmentProblem(
                f"{self._address} has no SFTP, over which files are copied: {reason}",
                hint="set `Subsystem sftp internal-sftp` in the host's sshd_config, and let no file such as ~/.bashrc "
                "print anything",
            ) from error

    async def close(self) -> None:
        """Ends the connections; the next use makes one again."""
        lines, self._lines = self._lines, []
        hops, self._hops = self._hops, {}
        for connection in (*(line.connection for line in lines), *reversed(hops.values())):
            connection.close()
            await connection.wait_closed()

    @property
    def host_key(self) -> str | None:
        """The host's pinned key; None: there was no contact yet."""
        return self._address.host_key or self._pins.get(self._address)

    async def _on_a_line(
        self, action: Callable[["asyncssh.SSHClientConnection"], Awaitable[Result]], timeout_s: float | None
    ) -> Result | None:
        """The result of `action` on a connection with one more channel; None if the link broke.

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
        tries = Tries(self._clock, 0.0 if self._lost else self._patience_s)
        failure: MachineUnreachable | None = None
        async for _ in tries:
            try:
                return await self._connect()
            except MachineUnreachable as error:
                if not self._was_up:
                    raise
                failure = error
        self._lost = True
        raise MachineLost(
            f"{self._address} was unreachable for {self._patience_s:.0f} s: {failure.message if failure else ''}",
            hint="check the host and its network; the study continues with the next trial",
        ) from failure

    async def _connect(self) -> "asyncssh.SSHClientConnection":
        from nephoscope.machines.ssh.config import route

        try:
            *hops, host = route(self._address)
        except ValueError as error:
            raise _typed(self._address, error) from error
        tunnel: asyncssh.SSHClientConnection | None = None
        for hop in hops:
            if hop not in self._hops or self._hops[hop].is_closed():
                self._hops[hop] = await self._open(hop, tunnel)
            tunnel = self._hops[hop]
        return await self._open(host, tunnel)

    async def _open(
        self, address: SshAddress, tunnel: "asyncssh.SSHClientConnection | None"
    ) -> "asyncssh.SSHClientConnection":
        import asyncssh

        from nephoscope.machines.ssh.config import OVERRULED, identity_files
        from nephoscope.machines.ssh.host_keys import HostKeyCheck

        options: dict[str, Any] = {"config": None} if not address.user_config else {}
        if address.port is not None:
            options["port"] = address.port
        if address.user is not None:
            options["username"] = address.user
        if address.key_files:
            _require_keys(address)
            options |= {"client_keys": [str(file) for file in address.key_files], "agent_path": None}
        pin = address.host_key or self._pins.get(address)
        try:
            if not address.key_files and (keys := identity_files(address)):
                options |= {"client_keys": keys, "ignore_encrypted": True}
            check = HostKeyCheck(address, pin=pin)
            connection = await asyncssh.connect(
                address.host,
                client_factory=lambda: check,
                known_hosts=check.known_hosts,
                tunnel=tunnel,
                **options,
                **OVERRULED,
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


class Room:
    """What a host may still send; streams that share it count together."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = self._left_bytes = most_bytes

    def take(self, more_bytes: int) -> None:
        """Counts what came.

        Raises:
            OutputUnreadable: it is too much.
        """
        self._left_bytes -= more_bytes
        if self._left_bytes < 0:
            raise OutputUnreadable(f"the host sent more than {self._most_bytes:,} bytes; the rest was not read")


async def _whole(stream: "asyncssh.SSHReader[bytes]", room: Room) -> bytes:
    """Everything that comes until the stream ends."""
    content = bytearray()
    while chunk := await stream.read(_CHUNK_BYTES):
        room.take(len(chunk))
        content += chunk
    return bytes(content)


def _require_keys(address: SshAddress) -> None:
    """Raises an EnvironmentProblem about the first key file that cannot be used."""
    import asyncssh

    for file in address.key_files:
        try:
            asyncssh.read_private_key(file, passphrase="")  # with none at all, asyncssh does not say why it cannot
        except FileNotFoundError as error:
            raise EnvironmentProblem(
                f"there is no key file {file} to log in to {address}", hint="set the right `key_file` in the study"
            ) from error
        except OSError as error:
            raise EnvironmentProblem(
                f"the key file {file} cannot be read: {error.strerror}", hint="set the right `key_file` in the study"
            ) from error
        except asyncssh.KeyEncryptionError as error:
            raise EnvironmentProblem(
                f"the key file {file} is protected by a passphrase, which nephoscope does not ask for",
                hint=f"give it to your agent with `ssh-add {file}`, and remove `key_file` from the study",
            ) from error
        except ValueError as error:
            raise EnvironmentProblem(
                f"the file {file} is not a private key: {error}", hint="set the right `key_file` in the study"
            ) from error


def _typed(address: SshAddress, error: Exception) -> NephoscopeError:
    """The typed error for a failed connection."""
    import asyncssh

    if isinstance(error, ValueError):
        return EnvironmentProblem(
            f"{address} cannot be reached: {error}", hint=f"try `{address.command}`, and correct the file that it names"
        )
    if isinstance(error, asyncssh.PermissionDenied):
        return AccessDenied(
            f"{address} rejected the login: {error.reason}",
            hint=f"try `{address.command}`; set the right `user` and `key_file` in the study",
        )
    said = str(error) or type(error).__name__
    return MachineUnreachable(
        f"{address} cannot be reached: {said}", hint=f"try `{address.command}`: is the host up, is its port open?"
    )
