"""Connects to a machine that a cloud has just created: one key per study, pinned host keys, the boot script's end."""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from nephoscope.machines.remote import MachineHandle
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.link import Link
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import (
    AccessDenied,
    EnvironmentProblem,
    HostKeyRefused,
    InputError,
    MachineLost,
    MachineUnreachable,
    NephoscopeError,
)
from nephoscope.model.words import counted
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.boot import DATA, DONE, mounts, raw_devices
from nephoscope.providers.cloud.provider import CloudMachine
from nephoscope.study.machines import disks_of, region_of
from nephoscope.study.model import Machine

BOOT_TIMEOUT_S = 900.0
"""For the boot of bare metal, and the packages of a study."""
_LOOK_EVERY_S = 2.0
_ASK_TIMEOUT_S = 30.0
FOLDER = f"{DATA}/nephoscope"
"""nephoscope's folder on the machine, on the disk that is measured."""


class SshConnect:
    """See the module's text. `carried` are programs that are copied to the machines."""

    def __init__(
        self,
        carried: Sequence[str],
        clock: Clock,
        *,
        port: int | None = None,
        boot_mark: str = DONE,
        folder: str = FOLDER,
    ) -> None:
        """Enters nothing yet; the last three are those of `boot_script`, and a test's own."""
        self._carried = tuple(carried)
        self._clock = clock
        self._port = port
        self._boot_mark = boot_mark
        self._folder = folder

    async def key(self, scratch: Path) -> str:
        """See `Connect.key`. The private key stays in the study's scratch folder, which goes when the study ends.

        Keys that were not made in the folder (see `store.scratch`) are never given to a machine, only offered to it.
        """
        return await asyncio.to_thread(_public_key, _key_file(scratch))

    async def __call__(self, machine: CloudMachine, asked: Machine, request: ClusterRequest) -> MachineHandle:
        """See `Connect`."""
        cloud = request.configuration.cloud
        if cloud is None:
            raise InputError(
                f"configuration {request.configuration.name!r} does not say how to connect to its machines"
            )
        host = machine.public_address if cloud.reach == "public" else machine.private_address
        if host is None:
            raise EnvironmentProblem(
                f"{machine.name} has no {cloud.reach} address",
                hint='set `subnet` to one with public addresses, or `reach = "private"` from inside the network',
            )
        key_file, more = _key_file(request.scratch), _earlier_keys(request.scratch)
        address = SshAddress(host, self._port, cloud.user, key_file, user_config=False, more_key_files=more)
        remote = SshRemote(
            machine.name,
            await self._booted(machine, address, request),
            self._clock,
            folder=f"{self._folder}/ours",
            carried=self._carried,
            session=f"{request.trial}-{request.attempt}" if request.trial else "",
        )
        look = await remote.look()
        if asked.cpus != "all" and asked.cpus > look.cpus:
            await remote.close()
            raise InputError(f"{machine.name} has {counted(look.cpus, 'CPU')}, but {asked.cpus} are requested")
        remote.cpus = tuple(range(look.cpus if asked.cpus == "all" else asked.cpus))
        inside = machine.private_address or host
        return MachineHandle(
            machine.name,
            remote,
            inside,
            remote.cpus,
            f"{self._folder}/data",
            more_data_dirs=_more_data_dirs(asked),
            raw_devices=raw_devices(disks_of(asked, raw=True)),
            region=region_of(request.configuration, asked) or "",
            zone=machine.zone,
        )

    async def _booted(self, machine: CloudMachine, address: SshAddress, request: ClusterRequest) -> SshAddress:
        """Waits for the end of the boot script and keeps its log; the address with the machine's host key.

        The first key seen is stored in the study's scratch folder, and no other is accepted while the machine exists.

        Raises:
            MachineLost: it does not come.
            HostKeyRefused: its host key is not the stored one.
            EnvironmentProblem: the script failed.
        """
        name, stored = machine.name, _host_key_file(request.scratch, machine)
        link = Link(replace(address, host_key=_stored(stored)), self._clock)
        until_s = self._clock.monotonic_s() + BOOT_TIMEOUT_S
        why = "it does not answer"
        try:
            while self._clock.monotonic_s() < until_s:
                try:
                    answer = await link.ask(f"cat {self._boot_mark}", timeout_s=_ASK_TIMEOUT_S)
                except (MachineUnreachable, AccessDenied, TimeoutError) as error:  # no sshd yet, no key of ours yet
                    answer, why = None, str(error) or "it does not answer in time"
                if link.host_key is not None:
                    _write_once(stored, f"{link.host_key}\n".encode())
                if answer is not None and answer[0] == 0:
                    await self._keep_log(link, request.log_dir, name)
                    _require_ready(name, answer[1].decode(errors="replace").strip())
                    return replace(address, host_key=link.host_key)
                await self._clock.sleep(_LOOK_EVERY_S)
            await self._keep_log(link, request.log_dir, name)  # of a script that does not end
        except HostKeyRefused as error:
            raise HostKeyRefused(
                f"the host key of {name} ({machine.id}) changed since it was created: {error.message}",
                hint="somebody may be intercepting the connection; `nephoscope clean` deletes the machine, and the "
                "next run creates a new one",
            ) from error
        finally:
            await link.close()
        raise MachineLost(f"{name} is not usable after {BOOT_TIMEOUT_S:.0f} s: {why}")

    async def _keep_log(self, link: Link, log_dir: Path | None, name: str) -> None:
        """Saves the boot script's log, whether it failed or not; a machine that does not send it is measured anyway."""
        if log_dir is None:
            return
        with suppress(NephoscopeError, TimeoutError):
            answer = await link.ask(f"cat {self._boot_mark}.log", timeout_s=_ASK_TIMEOUT_S)
            if answer is not None and answer[0] == 0:
                log_dir.parent.mkdir(exist_ok=True)
                log_dir.mkdir(exist_ok=True)
                (log_dir / f"boot-{name}.log").write_bytes(answer[1])


def _more_data_dirs(asked: Machine) -> tuple[str, ...]:
    """As the boot script makes them, on disks that are apart."""
    more = mounts(disks_of(asked, raw=False))[1:]
    return tuple(f"{mount}/nephoscope/data" for mount in more) if asked.disks == "apart" else ()


def _require_ready(name: str, said: str) -> None:
    if said != "ready":
        raise EnvironmentProblem(
            f"{name} could not be prepared; its boot script ended with: {said[-400:]}",
            hint="check packages and disks of the study, or try the image by hand",
        )


def _key_file(scratch: Path) -> Path:
    return scratch / "ssh" / "id_ed25519"


def _earlier_keys(scratch: Path) -> tuple[Path, ...]:
    """Keys of machines that were created before the folder was copied to here."""
    return tuple(sorted((scratch / "ssh" / "earlier-keys").glob("[!.]*")))


def _host_key_file(scratch: Path, machine: CloudMachine) -> Path:
    """Named after the cloud's id of the machine: a later machine may have its name and its address."""
    return scratch / "ssh" / "host-keys" / sha256(machine.id.encode()).hexdigest()[:16]


def _stored(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None


def _public_key(file: Path) -> str:
    """The public half of the key in `file`, which is made when it is not there; several may ask at once."""
    import asyncssh

    if not file.exists():
        _write_once(file, asyncssh.generate_private_key("ssh-ed25519", comment="nephoscope").export_private_key())
    return asyncssh.read_private_key(file).export_public_key().decode().strip()


def _write_once(file: Path, content: bytes) -> None:
    """Writes a file that only its owner may read, unless it is there already; several may try at once."""
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    new.touch(mode=0o600)
    new.write_bytes(content)
    with suppress(FileExistsError):  # somebody else was faster: theirs counts
        file.hardlink_to(new)
    new.unlink()
