"""A site on this machine for tests of benchmarks: records what a real one records."""

from pathlib import Path

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.machines.remote import Command, Completed, MachineHandle
from nephoscope.providers.base import Cluster
from tests.support.local_remote import this_machine


class Recorder:
    """The `Execute` of a site; remembers every argv."""

    def __init__(self, raw_dir: Path) -> None:
        self.raw_dir = raw_dir
        self.ran: list[tuple[str, list[str]]] = []

    async def __call__(self, machine: MachineHandle, name: str, command: Command) -> Completed:
        self.ran.append((name, list(command.argv)))
        return await machine.remote.execute(command, save_as=self.raw_dir / name)


def site_here(folder: Path, cpus: tuple[int, ...] = (0,)) -> tuple[Site, Recorder]:
    """A site with `raw` and `data` below `folder`."""
    for name in ("raw", "data"):
        (folder / name).mkdir(exist_ok=True)
    machine = this_machine(folder / "data", cpus)
    recorder = Recorder(folder / "raw")
    cluster = Cluster(key="here", database=(machine,), load=machine)
    site = Site(
        cluster=cluster,
        execute=recorder,
        raw_dir=folder / "raw",
        seed=7,
        data_seed=7,
        connections=1,
        load_program="nephoscope-load",
    )
    return site, recorder


def raw_of(site: Site) -> RawOutput:
    """Every raw file."""
    return {path.name: path.read_bytes() for path in site.raw_dir.iterdir()}
