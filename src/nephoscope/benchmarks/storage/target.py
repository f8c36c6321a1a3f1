"""What fio works on: a file that is first written in full, or a raw device that is first filled.

Blocks of a file that are only allocated are read as zeros without touching the disk. Sizes are passed to fio in plain
bytes, because by default fio interprets `KiB` and `MiB` as powers of ten (`kb_base`, fio's HOWTO).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints, model_validator
from typing_extensions import override

from nephoscope.benchmarks.base import VOLUME, Needs, Site
from nephoscope.benchmarks.presets import EditionParameters
from nephoscope.benchmarks.storage.raw_device import raw_device_of
from nephoscope.machines.remote import LSBLK, Command, Completed, MachineHandle, Tool
from nephoscope.model.errors import NoSpaceOnMachine, ToolFailed
from nephoscope.model.frozen import conflict
from nephoscope.model.units import KIB, MIB, SECTOR_BYTES

GRACE_S = 60.0
_FIO = Tool("fio", "fio")
_SLOW_DISK_BYTES_PER_S = 10 * MIB
"""Writing the file is abandoned on disks slower than this."""
_USUAL_DISK_BYTES_PER_S = 200 * MIB
_MIN_BYTES = 64 * MIB
_Device = Annotated[str, StringConstraints(pattern=r"^/dev/[A-Za-z0-9][A-Za-z0-9/_.:-]*$")]


@dataclass(frozen=True)
class Target:
    """What the jobs work on."""

    path: str
    size: int
    """Bytes from its beginning."""


class TargetParameters(EditionParameters):
    """A file, or a device, on the disk that is measured."""

    free: ClassVar[frozenset[str]] = frozenset({"raw_device", "destroys_data_on"})

    file_size_mib: int = Field(default=512, ge=1, le=16 * 1024 * 1024)
    raw_device: _Device | Literal["volume"] | None = Field(
        default=None,
        description="measured instead of a file. 'volume', only on clouds: the machine's raw volume or local SSD, the "
        "first if there are several; if none is raw, its disks get no filesystem for this trial. A device of your own: "
        "all its data is lost, so `destroys_data_on` must name it again",
    )
    destroys_data_on: _Device | None = Field(default=None, description="the same device again, as confirmation")

    @model_validator(mode="after")
    def _a_device_is_named_twice(self) -> "TargetParameters":
        if self.raw_device == "volume" and self.destroys_data_on is None:
            return self
        if self.raw_device != self.destroys_data_on:
            text = (
                "`raw_device` and `destroys_data_on` must name the same device: fio overwrites everything on it, so "
                "it must be named twice"
            )
            raise conflict(text)
        return self

    @override
    def own_deviations(self) -> list[str]:
        """See `EditionParameters.own_deviations`: the editions filled raw devices."""
        return [] if self.raw_device else [f"a file of {self.file_size_mib:,} MiB instead of the raw device"]

    @override
    def notes(self) -> list[str]:
        device = f"device {self.raw_device}" if self.raw_device != VOLUME else VOLUME
        return super().notes() + ([f"Measured on the raw {device}, which was filled first."] if self.raw_device else [])

    @property
    def largest_block_kib(self) -> int:
        """Of all I/Os on it; blocks of every other size fit into it."""
        raise NotImplementedError

    @property
    def file_bytes(self) -> int:
        """Of the file, scaled to whole MiB that every block size divides."""
        step = self.largest_block_kib
        return max(1, self.scaled(self.file_size_mib, minimum=_MIN_BYTES // MIB) * MIB // (step * KIB)) * step * KIB

    def device_bytes(self, device_bytes: int) -> int:
        """Of a device, scaled: what is filled and measured, at its beginning."""
        return min(device_bytes, max(_MIN_BYTES, int(device_bytes * self.scale))) // MIB * MIB

    @property
    def needs(self) -> Needs:
        """fio, and room for the file."""
        if self.raw_device:
            return Needs(tools=(_FIO, LSBLK), raw_device=self.raw_device)
        return Needs(tools=(_FIO,), disk_bytes=self.file_bytes)

    @property
    def layout_s(self) -> float:
        """For the plan: filling a device, whose size is not known before, counts as if it were the file."""
        return self.file_bytes / _USUAL_DISK_BYTES_PER_S


async def target_of(machine: MachineHandle, parameters: TargetParameters) -> Target:
    """The file, or the device once nothing is found to use it.

    Raises:
        InputError: the device is not there, or something uses it.
    """
    if parameters.raw_device:
        device, size = await raw_device_of(machine, parameters.raw_device)
        return Target(device, parameters.device_bytes(size))
    size = parameters.file_bytes
    return Target(f"{machine.data_dir}/nephoscope-fio-{size // MIB}-mib", size)


async def write_target(site: Site, parameters: TargetParameters) -> None:
    """Writes the file of the first database machine in full, unless an earlier trial did; fills a device each time.

    Raises:
        ToolMissing: fio is not there.
        InputError: the device is not there, or something uses it.
        NoSpaceOnMachine: the disk is full.
        ToolFailed: the file could not be written, or is still sparse after writing.
    """
    machine = site.cluster.database[0]
    target = await target_of(machine, parameters)
    timeout_s = GRACE_S + target.size / _SLOW_DISK_BYTES_PER_S
    if parameters.raw_device is None and await _is_written(machine, target):
        return
    site.progress(f"writing {target.size // MIB} MiB")
    if parameters.raw_device:
        fill = Command(_fill_argv(target, site.data_seed), timeout_s=timeout_s)
        require_done(await site.execute(machine, "fio-fill", fill))
        return
    layout = _layout_argv(target, site.data_seed)
    require_done(await site.execute(machine, "fio-layout", Command(layout, timeout_s=timeout_s)))
    moved = await machine.remote.execute(
        Command(["mv", f"{target.path}.part", target.path], timeout_s=GRACE_S, pinned=False)
    )
    moved.require()
    if not await _is_written(machine, target):
        raise ToolFailed(f"{target.path} does not occupy {target.size} bytes on the disk after fio wrote it")


def filename(path: str) -> str:
    r"""fio ends a file name at a colon that has no `\` before it (HOWTO); it leaves every other `\` alone."""
    escaped = path.replace(":", "\\:")
    return f"--filename={escaped}"


def require_done(done: Completed) -> None:
    """That fio ended well.

    Raises:
        NoSpaceOnMachine: the disk is full.
        ToolFailed: it ended with an error.
    """
    if done.exit_code == 0:
        return
    said = (done.stderr or done.stdout).decode(errors="replace")
    if "No space left" in said:
        raise NoSpaceOnMachine("fio: the measured disk is full", hint="free some space or reduce `file_size_mib`")
    if "Invalid argument" in said:
        raise ToolFailed(
            f"fio ended with exit code {done.exit_code}: {said.strip()[-300:]}",
            hint="the filesystem may refuse direct I/O (tmpfs does): measure a folder on a disk",
        )
    done.require()


def _fill_argv(target: Target, seed: int) -> list[str]:
    """Every block of a device once, in random order, as the editions filled it."""
    return [
        "fio",
        "--name=fill",
        filename(target.path),
        f"--size={target.size}",
        "--rw=randwrite",
        f"--bs={128 * KIB}",
        "--ioengine=libaio",
        "--iodepth=256",
        "--direct=1",
        "--thread",
        "--refill_buffers=1",
        f"--randseed={seed}",
        "--output-format=json",
    ]


def _layout_argv(target: Target, seed: int) -> list[str]:
    """Writes every block, of random data; into a second name, so that an interrupted file is never taken for whole."""
    return [
        "fio",
        "--name=layout",
        filename(f"{target.path}.part"),
        f"--size={target.size}",
        "--rw=write",
        f"--bs={MIB}",
        "--ioengine=libaio",
        "--iodepth=4",
        "--direct=1",
        "--thread",
        "--fallocate=none",
        "--end_fsync=1",
        "--refill_buffers=1",
        f"--randseed={seed}",
        "--output-format=json",
    ]


async def _is_written(machine: MachineHandle, target: Target) -> bool:
    """True when the file has its size and as many sectors on the disk. Not recorded: it only looks."""
    looked = await machine.remote.execute(
        Command(["stat", "-c", "%s %b", target.path], timeout_s=GRACE_S, pinned=False)
    )
    if looked.exit_code != 0:
        return False
    found, sectors = (int(number) for number in looked.stdout.split())
    return found == target.size and sectors * SECTOR_BYTES >= target.size
