"""AWS as moto plays it, and a controller killed with -9: all machines, volumes, networks gone, nothing overspent."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.stages import data_sets, evaluation, tracking
from nephoscope.app.stages.data_sets import KeptSet
from nephoscope.providers.aws.cloud import AwsCloud
from nephoscope.providers.aws.kept import EbsSnapshots
from nephoscope.run.clock import FakeClock
from nephoscope.run.ledger import cost_until
from nephoscope.store import lock
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.snapshots import SnapshotPlace
from tests.support.kept_data import LOADS, NAME
from tests.support.moto_ec2 import REGIONS, FakeConnect, client_of, left, moto_server

STUDY = """
name = "fleet"
seed = 3
replicates = 4

[[configurations]]
name = "small"
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
other_zones = ["us-east-1b"]
cloud = { image = "ami-12c6146b", ingress = "203.0.113.7/32" }
price_usd_per_hour = 360.0
database_machine = { type = "m6i.large", count = 3, volumes = [{ kind = "gp3", size = 100, iops = 8000 }] }
load_machine = { type = "m6i.large" }
database = { system = "fake" }

[[configurations]]
name = "large"
provider = "aws"
region = "us-west-2"
zone = "us-west-2a"
cloud = { image = "ami-12c6146b", ingress = "203.0.113.7/32" }
price_usd_per_hour = 720.0
load_machine = { type = "m6i.2xlarge", region = "us-east-1", zones = ["us-east-1b"], image = "ami-west" }
[configurations.database_machine]
type = "m6i.2xlarge"
count = 3
zones = ["us-west-2a", "us-west-2b", "us-west-2c"]
volumes = [{ kind = "gp3", size = 100, iops = 8000 }, { kind = "gp3", size = 50, use = "raw" }]
[configurations.database]
system = "fake"

[[benchmarks]]
uses = "fake"
parameters = { duration_s = 3.0, database = true }
"""


SETTLES_MS = 3_000
"""After its end an attempt still holds its quote, until its cluster is given back."""


@dataclass
class Fleet:
    """A study on moto, worked on by controllers that may die."""

    path: Path
    url: str
    max_usd: float = 1000.0
    """An attempt that was killed counts by its quote at least, and until the next one begins by what was set aside: a
    minute's trial by the time to make its cluster, or twice that."""

    usd_per_hour: float = 360.0
    """Of the small machines."""
    more: str = ""
    """At the study's beginning."""
    benchmarks: str = ""
    """At its end."""
    database: tuple[str, ...] = ('system = "fake"',)
    """Of both configurations."""

    @property
    def folder(self) -> ResultsFolder:
        return ResultsFolder(self.path / "out")

    @property
    def machines(self) -> Path:
        return self.path / "machines"

    def start(self) -> subprocess.Popen[str]:
        self.machines.mkdir(exist_ok=True)
        file = self.path / "study.toml"
        text = STUDY.replace("360.0", str(self.usd_per_hour))
        text = text.replace('{ system = "fake" }', f"{{ {', '.join(self.database)} }}")
        text = text.replace('\nsystem = "fake"', "\n" + "\n".join(self.database))
        file.write_text(self.more + text + self.benchmarks)
        argv = [sys.executable, "-m", "tests.support.fleet_controller", str(file), str(self.folder.path)]
        argv += [f"aws {self.url} {self.machines}", "2", str(self.max_usd), ""]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def killed_after(self, seconds: float) -> None:
        """Seconds count from when it holds the folder."""
        with self.killed():
            time.sleep(seconds)

    def killed_when(self, met: Callable[[], bool]) -> None:
        """Once it is so: the controller is stopped for each look, so that it is still so when it is killed."""
        with self.killed() as process:
            while True:
                process.send_signal(signal.SIGSTOP)
                if met():
                    return
                process.send_signal(signal.SIGCONT)
                assert process.poll() is None, process.communicate()
                time.sleep(0.01)

    @contextmanager
    def killed(self) -> Iterator[subprocess.Popen[str]]:
        """A controller that holds the folder; killed at the end of the block."""
        process = self.start()
        self.until_held(process)
        yield process
        process.kill()
        process.communicate()

    def until_held(self, process: subprocess.Popen[str]) -> None:
        while not lock.held(self.folder.path / "lock"):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)

    @property
    def data_loads(self) -> list[str]:
        """Clusters that began to load their data set."""
        return [key.partition("/")[2] for key in (self.machines / LOADS).read_text().split()]

    def loads_by_trial(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for key, begun in FakeConnect(self.machines, {}).begun("fake").items():
            counts[key.rpartition("/")[2].partition("-")[0]] += begun
        return counts


@dataclass
class Account:
    """What moto has of us, in all regions."""

    created: int
    terminated: int
    volumes: int
    left: list[str]
    """Ids of all that `left` finds: machines, volumes, groups, their rules, networks and their parts, addresses."""


def account(url: str) -> Account:
    found = Account(0, 0, 0, [])
    for region in REGIONS:
        ec2 = client_of(url)(region)
        pages = ec2.get_paginator("describe_instances").paginate()
        instances: list[dict[str, Any]] = [
            one for page in pages for reservation in page["Reservations"] for one in reservation["Instances"]
        ]
        found.created += len(instances)
        found.terminated += sum(one["State"]["Name"] == "terminated" for one in instances)
        found.volumes += len(ec2.describe_volumes()["Volumes"])
        found.left += left(ec2)
    return found


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with moto_server() as url:
        yield Fleet(tmp_path, url)


@pytest.mark.slow
def test_four_kills_and_capacity_that_lacks_leave_no_machine_no_volume_and_no_load_begun_twice(fleet: Fleet) -> None:
    draws = random.Random(7)
    for _ in range(4):
        fleet.killed_after(draws.uniform(2.0, 9.0))
    last = fleet.start()
    fleet.until_held(last)
    second = fleet.start()
    _, talk = second.communicate(timeout=120)
    assert second.returncode == 5, talk
    said, talk = last.communicate(timeout=600)
    assert said == "finished 8 valid 8 refused 0\n", talk
    seen = account(fleet.url)
    spent_usd = tracking.progress(fleet.folder, 0).spent_usd
    sys.stdout.write(
        f"created {seen.created} terminated {seen.terminated} left {seen.created - seen.terminated} "
        f"volumes {seen.volumes} networks, rules, addresses {len(seen.left)} "
        f"spent ${spent_usd:.2f} of ${fleet.max_usd:.2f}\n"
    )
    assert seen.created == seen.terminated >= 8 * 4
    assert (seen.volumes, seen.left) == (0, [])
    assert fleet.loads_by_trial() == {row.trial: 1 for row in evaluation.status(fleet.folder)}
    assert spent_usd is not None
    assert 0 < spent_usd <= fleet.max_usd
    lacked = [
        attempt.status()
        for _, trial in fleet.folder.planned()
        for attempt in trial.attempts()
        if (status := attempt.status()) is not None and status.failure_class == "capacity"
    ]
    assert lacked, "no capacity error was met: the rehearsal rehearses less than it says"


@pytest.mark.slow
def test_four_kills_of_replicates_on_shared_machines_measure_each_trial_once_and_leave_nothing(fleet: Fleet) -> None:
    fleet.more = 'placement = "per-replicate"\n'
    fleet.benchmarks = """
[[benchmarks]]
uses = "fake"
name = "second"
parameters = { duration_s = 2.0, database = true }
"""
    draws = random.Random(8)
    for _ in range(4):
        fleet.killed_after(draws.uniform(4.0, 12.0))
    said, talk = fleet.start().communicate(timeout=600)
    assert said == "finished 16 valid 16 refused 0\n", talk
    seen = account(fleet.url)
    assert seen.created == seen.terminated >= 8 * 4
    assert (seen.volumes, seen.left) == (0, [])
    trials = [trial for _, trial in fleet.folder.planned()]
    assert [len(trial.finished_attempts()) for trial in trials] == [1] * 16
    assert any(len(trial.attempts()) > 1 for trial in trials), "no kill met a trial"
    leases = [trial.finished_attempts()[0].lease() for trial in trials]
    shared = Counter(lease.cluster.partition("/")[2] for lease in leases if lease)
    assert shared == {f"{name}/replicate-{number}": 2 for name in ("small", "large") for number in range(1, 5)}
    spent_usd = tracking.progress(fleet.folder, 0).spent_usd
    assert spent_usd is not None
    assert 0 < spent_usd <= fleet.max_usd


@pytest.mark.slow
def test_four_kills_of_a_study_with_snapshots_leave_nothing_but_whole_data_sets(fleet: Fleet) -> None:
    """Each size of volumes is kept once, and every later cluster starts on what it holds; one kill meets half a set."""
    fleet.more = 'placement = "per-replicate"\n'
    fleet.database = ('system = "cockroachdb"', 'version = "22.1.6"', 'fixtures = "snapshots"')
    fleet.benchmarks = """
[[benchmarks]]
uses = "fake"
name = "second"
parameters = { duration_s = 2.0, database = true }
"""

    def is_half_kept() -> bool:
        return any(not one.whole for one in kept(fleet.url))

    fleet.killed_when(is_half_kept)
    assert is_half_kept(), "killed between two snapshots of a data set"
    draws = random.Random(9)
    for _ in range(3):
        fleet.killed_after(draws.uniform(4.0, 12.0))
    said, talk = fleet.start().communicate(timeout=600)
    assert said == "finished 16 valid 16 refused 0\n", talk
    seen = account(fleet.url)
    assert seen.created == seen.terminated >= 8 * 4
    assert (seen.volumes, seen.left) == (0, [])
    found = kept(fleet.url)
    assert [(one.name, str(one.place), one.whole, len(one.snapshots)) for one in found] == [
        (NAME, f"snapshots of aws {region}", True, 3) for region in REGIONS
    ]
    assert {one.partition("/")[0] for one in fleet.data_loads} == {"small", "large"}
    assert len(fleet.data_loads) <= 2 + 4, "a kill may lose one load, and each other loads once"


def kept(url: str) -> list[KeptSet]:
    """What `nephoscope fixtures` lists."""
    snapshots = EbsSnapshots(AwsCloud(FakeClock(), client_of(url), REGIONS))
    places = [SnapshotPlace("aws", region) for region in REGIONS]
    return asyncio.run(data_sets.kept(places, data_sets.Stores({}, {"aws": snapshots}))).sets


@pytest.mark.slow
def test_nothing_is_begun_that_the_budget_does_not_hold(fleet: Fleet) -> None:
    fleet.max_usd, fleet.usd_per_hour = 40.0, 36.0  # quotes of the small machines fit; those of the large ones never do
    process = fleet.start()
    said, talk = process.communicate(timeout=600)
    assert process.returncode == 0, talk
    finished, refused = (int(said.split()[place]) for place in (1, 5))
    assert (finished, refused) == (4, 4)
    require_begun_within(fleet)
    seen = account(fleet.url)
    assert seen.created == seen.terminated
    assert seen.volumes == 0


def require_begun_within(fleet: Fleet) -> None:
    """At each attempt's beginning: what was spent, what was set aside for others, and for itself."""
    attempts = [attempt for _, trial in fleet.folder.planned() for attempt in trial.attempts()]
    leases = [(attempt, lease) for attempt in attempts if (lease := attempt.lease()) is not None]
    for _, begun in leases:
        total_usd = begun.reserved_usd or 0.0
        for attempt, lease in leases:
            status = attempt.status()
            assert status is not None
            assert status.at_unix_ms is not None
            assert lease.reserved_usd is not None
            if lease is begun or lease.begun_unix_ms > begun.begun_unix_ms:
                continue
            over = status.at_unix_ms < begun.begun_unix_ms - SETTLES_MS
            cost_usd = cost_until(lease, status.at_unix_ms)
            assert cost_usd <= lease.reserved_usd
            total_usd += cost_usd if over else min(cost_usd, lease.reserved_usd)
        assert total_usd <= fleet.max_usd
