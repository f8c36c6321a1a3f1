"""One SSH connection to one host that comes back when it was cut: keys, pins, jump hosts, typed failures."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nephoscope.errors import AccessDenied, HostKeyRefused, MachineLost, MachineUnreachable, NephoscopeError

if TYPE_CHECKING:  # it takes a quarter of a second, which `status` and `local` need not wait for
    import asyncssh

CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_INTERVAL_S = 4.0
KEEPALIVE_MISSED = 2
"""A link that is cut without a word is noticed after three intervals; a keepalive costs a host some 0.1 ms of CPU."""
PATIENCE_S = 60.0
"""How long a host may stay away before it counts as lost."""
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class SshAddress:
    """How to reach a host. Secrets are files of the user's or an agent, never values."""

    host: str
    port: int | None = None
    user: str | None = None
    key_file: Path | None = None
    """The only key that is offered; None: the user's own keys and agent."""
    host_key: str | None = None
    """As `ssh-keyscan` prints it, without the host; None: pinned at the first contact."""
    jump: "SshAddress | None" = None
    user_config: bool = True
    """Whether ~/.ssh/config is read."""

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        return f"{user}{self.host}{f':{self.port}' if self.port else ''}"


class Link:
    """A connection that is made when it is first needed, and made again after a cut."""

    def __init__(self, address: SshAddress, *, patience_s: float = PATIENCE_S) -> None:
        self._address = address
        self._patience_s = patience_s
        self._connection: asyncssh.SSHClientConnection | None = None
        self._jump: asyncssh.SSHClientConnection | None = None
        self._making = asyncio.Lock()
        self._pins: dict[SshAddress, str] = {}
        self._was_up = False
        self._lost = False
        self.made = 0
        """Connections made so far: one more than cuts."""

    async def ask(self, command: str, stdin: bytes = b"", *, timeout_s: float) -> tuple[int, bytes, bytes] | None:
        """Exit code, stdout and stderr of a shell line; None when the link was cut before it ended.

        Raises:
            MachineUnreachable, AccessDenied, HostKeyRefused, MachineLost: there is no connection to be had.
        """
        import asyncssh

        connection = await self._up()
        try:
            async with asyncio.timeout(timeout_s):
                process = await connection.create_process(command, encoding=None)
                try:
                    process.stdin.write(stdin)
                    process.stdin.write_eof()
                    out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
                    await process.wait_closed()
                    code = process.returncode
                finally:
                    process.close()  # and no waiting: sshd closes its side when the command ends
        except (OSError, asyncssh.Error):
            self._drop(connection)
            return None
        if code is None:
            self._drop(connection)
            return None
        return code, out, err

    async def follow(self, command: str, on_bytes: Callable[[bytes], None]) -> None:
        """Hands on what a shell line prints, as it comes, until it or the link ends; cancel it to end it."""
        import asyncssh

        connection = await self._up()
        try:
            process = await connection.create_process(command, encoding=None)
            try:
                while chunk := await process.stdout.read(_CHUNK_BYTES):
                    on_bytes(chunk)
            finally:
                process.close()
        except (OSError, asyncssh.Error):
            self._drop(connection)

    async def copy(self, copy: Callable[["asyncssh.SFTPClient"], Any], *, timeout_s: float) -> bool:
        """Does something over SFTP; False when the link was cut before it ended.

        Raises:
            asyncssh.SFTPError: the host refused it.
        """
        import asyncssh

        connection = await self._up()
        try:
            async with asyncio.timeout(timeout_s), connection.start_sftp_client() as client:
                await copy(client)
        except (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection):
            self._drop(connection)
            return False
        except asyncssh.SFTPError:
            raise
        except (OSError, asyncssh.Error) as error:
            if isinstance(error, OSError) and error.filename is not None:  # a local file, not the link
                raise
            self._drop(connection)
            return False
        return True

    async def close(self) -> None:
        """Ends the connection; the next use makes it again."""
        for connection in (self._connection, self._jump):
            if connection is not None:
                connection.close()
                await connection.wait_closed()
        self._connection = self._jump = None

    @property
    def host_key(self) -> str | None:
        """The key that the host is pinned to; None: it was not met yet."""
        return self._address.host_key or self._pins.get(self._address)

    async def _up(self) -> "asyncssh.SSHClientConnection":
        async with self._making:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._connect_patiently()
                self._was_up, self._lost = True, False
                self.made += 1
            return self._connection

    async def _connect_patiently(self) -> "asyncssh.SSHClientConnection":
        """A host never met must answer at once; one that was there may be away for a while, once."""
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
                        f"{self._address} has been away for {self._patience_s:.0f} s: {error.message}",
                        hint="look at the host and its network; the study goes on with the next trial",
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

        pin = address.host_key or self._pins.get(address)
        options: dict[str, Any] = {"config": None} if not address.user_config else {}
        if address.port is not None:
            options["port"] = address.port
        if address.user is not None:
            options["username"] = address.user
        if address.key_file is not None:
            options |= {"client_keys": [str(address.key_file)], "agent_path": None}
        try:
            connection = await asyncssh.connect(
                address.host,
                known_hosts=(lambda _host, _addr, _port: (_keys(pin), [], [])) if pin else None,
                tunnel=tunnel or (),
                connect_timeout=CONNECT_TIMEOUT_S,
                login_timeout=CONNECT_TIMEOUT_S,
                keepalive_interval=KEEPALIVE_INTERVAL_S,
                keepalive_count_max=KEEPALIVE_MISSED,
                **options,
            )
        except (OSError, asyncssh.Error) as error:
            raise _typed(address, error) from error
        seen = connection.get_server_host_key()
        if seen is not None and address not in self._pins:
            self._pins[address] = seen.export_public_key().decode().strip()
        return connection

    def _drop(self, connection: "asyncssh.SSHClientConnection") -> None:
        connection.abort()
        if self._connection is connection:
            self._connection = None


def _keys(pin: str) -> list[Any]:
    import asyncssh

    return [asyncssh.import_public_key(pin)]


def _typed(address: SshAddress, error: Exception) -> NephoscopeError:
    """What a failed connection means for a person."""
    import asyncssh

    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return HostKeyRefused(
            f"{address} shows another host key than the pinned one",
            hint="it is another machine, was installed anew, or somebody sits between: compare with ssh-keyscan",
        )
    if isinstance(error, asyncssh.PermissionDenied):
        return AccessDenied(
            f"{address} lets us not in: {error.reason}",
            hint=f"try `ssh {address}`; name the right `user` and `key_file` in the study",
        )
    said = str(error) or type(error).__name__
    return MachineUnreachable(
        f"{address} cannot be reached: {said}", hint=f"try `ssh {address}`; is the host up, is its port open?"
    )
