"""This machine as a machine of a cluster, by the remote that ships."""

from dataclasses import replace
from pathlib import Path

from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.providers.base import Cluster


def this_machine(data_dir: Path, cpus: tuple[int, ...] = (0,)) -> MachineHandle:
    return MachineHandle(name="here", remote=LocalRemote(cpus), address="127.0.0.1", cpus=cpus, data_dir=str(data_dir))


def cluster_on_loopback(folder: Path, count: int) -> Cluster:
    """Database machines and a load machine, all of them this one, each with an address of loopback of its own."""

    def machine(name: str, number: int) -> MachineHandle:
        data = folder / name
        data.mkdir(exist_ok=True)
        return replace(this_machine(data), name=name, address=f"127.0.0.{number}")

    database = tuple(machine(f"database-{number}", number) for number in range(1, count + 1))
    return Cluster("study/three", database, machine("load", 9))
