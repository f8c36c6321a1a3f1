"""Where a study runs whose controller is killed: this machine, emulated hosts, and stand-ins of clouds."""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.soak.studies import ON_CLOUD, ON_EMULATED, ON_LOCAL
from nephoscope.store.folder import ResultsFolder
from tests.support import fake_arm, gcplocal_compute, moto_ec2
from tests.support.emulated_traces import loads_begun, traces

MARK = "NEPHOSCOPE_SOAK"
"""Environment variable with the folder of a round: every child of a controller inherits it."""
CAPACITY_ERRORS = 0.1


@dataclass(frozen=True)
class Place:
    """One round's study and what there is of it outside of the controller."""

    study: str
    target: str
    """Of the controller: 'aws URL FOLDER', or empty for the real program on this machine."""
    loads: Callable[[], Counter[str]]
    """Trial's id -> how often its load began."""
    left: Callable[[], list[str]]
    """Everything that exists of the study outside of its folder."""
    longest_s: float
    """A kill comes at most so long after the controller got hold of the folder."""


@contextmanager
def local(path: Path, seed: int) -> Iterator[Place]:
    """This machine, with stress-ng: a killed load is measured again by a new attempt."""
    yield Place(ON_LOCAL.format(seed=seed), "", lambda: _finished(path), lambda: _marked(path), 4.0)


@contextmanager
def emulated(path: Path, seed: int) -> Iterator[Place]:
    """Machines in namespaces of this one, reached over SSH; needs root."""
    folder = ResultsFolder(path / "out")
    yield Place(ON_EMULATED.format(seed=seed), "", lambda: Counter(loads_begun(folder)), lambda: traces(folder), 8.0)


@contextmanager
def aws(path: Path, seed: int) -> Iterator[Place]:
    """EC2 as moto plays it; the controller lacks capacity now and then."""
    with moto_ec2.moto_server() as url:

        def left() -> list[str]:
            return [one for region in moto_ec2.REGIONS for one in moto_ec2.left(moto_ec2.client_of(url)(region))]

        yield _of_cloud("aws", url, path, seed, left)


@contextmanager
def gcp(path: Path, seed: int) -> Iterator[Place]:
    """Compute Engine as gcplocal plays it."""
    chance = random.Random(seed)

    def refuse(method: str, kind: str, _name: str) -> gcplocal_compute.Refusal | None:
        lacks = (method, kind) == ("POST", "instances") and chance.random() < CAPACITY_ERRORS
        return gcplocal_compute.Refusal("ZONE_RESOURCE_POOL_EXHAUSTED", later=True) if lacks else None

    with gcplocal_compute.gcplocal() as server:
        server.refuse = refuse
        yield _of_cloud("gcp", server.url, path, seed, lambda: server.left)


@contextmanager
def azure(path: Path, seed: int) -> Iterator[Place]:
    """Azure as a small fake of its Resource Manager plays it."""
    chance = random.Random(seed)

    def refuse(method: str, kind: str, _name: str) -> fake_arm.Refusal | None:
        lacks = (method, kind) == ("PUT", "virtualmachines") and chance.random() < CAPACITY_ERRORS
        return fake_arm.Refusal("ZonalAllocationFailed", later=True) if lacks else None

    with fake_arm.fake_arm(refuse) as arm:
        yield _of_cloud("azure", arm.url, path, seed, lambda: list(arm.resources))


PLACES = {"local": local, "emulated": emulated, "aws": aws, "gcp": gcp, "azure": azure}
ON_THIS_MACHINE = ("local", "emulated")


def usable() -> list[str]:
    """Names of the places that this process may use."""
    return [name for name in PLACES if name != "emulated" or os.geteuid() == 0]


def _of_cloud(name: str, url: str, path: Path, seed: int, left: Callable[[], list[str]]) -> Place:
    machines = path / "machines"
    machines.mkdir()

    def loads() -> Counter[str]:
        counts: Counter[str] = Counter()
        for key, begun in moto_ec2.FakeConnect(machines, {}).begun("fake").items():
            counts[key.rpartition("/")[2].partition("-")[0]] += begun
        return counts

    return Place(ON_CLOUD[name].format(seed=seed), f"{name} {url} {machines}", loads, left, 3.0)


def _finished(path: Path) -> Counter[str]:
    """Of this machine's trials: loads end with their controller, so what counts is that a trial finished once."""
    return Counter(
        {planned.intent.id: len(trial.finished_attempts()) for planned, trial in ResultsFolder(path / "out").planned()}
    )


def _marked(path: Path) -> list[str]:
    """Processes that a controller of this round started and that still run; the environment of zombies is empty."""
    mark, found = f"{MARK}={path}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
