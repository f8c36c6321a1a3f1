"""This machine as a machine of a cluster, by the remote that ships."""

from pathlib import Path

from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import MachineHandle


def this_machine(data_dir: Path, cpus: tuple[int, ...] = (0,)) -> MachineHandle:
    return MachineHandle(name="here", remote=LocalRemote(cpus), address="127.0.0.1", cpus=cpus, data_dir=str(data_dir))
