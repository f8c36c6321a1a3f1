"""A controller to be killed: runs a study on a cloud that is a folder, whose machines and loads outlive it."""

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nephoscope.app import cli
from nephoscope.app.console import talk
from nephoscope.app.progress import LiveProgress
from nephoscope.app.remaining import Remaining
from nephoscope.app.stages.planning import load, plan
from nephoscope.app.wiring import real_world
from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.machines.fake import AnswerTo
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import CapacityLacking, MachineLost, NephoscopeError, Stopped
from nephoscope.model.records import Facts
from nephoscope.providers.aws.cloud import AwsCloud
from nephoscope.providers.aws.kept import EbsSnapshots
from nephoscope.providers.azure.cloud import AzureCloud
from nephoscope.providers.base import ClusterRequest, Provider
from nephoscope.providers.cloud.order import CLUSTER, ROLE
from nephoscope.providers.cloud.provider import CloudProvider, Connect
from nephoscope.providers.gcp.cloud import GcpCloud
from nephoscope.run.clock import SystemClock
from nephoscope.run.conductor import Rules
from nephoscope.run.ledger import Limits
from nephoscope.run.repeats import RepeatRules
from nephoscope.run.signals import run_until_stopped
from nephoscope.run.states import Patience
from nephoscope.run.study import RunOptions, adopt_plan, run_study
from nephoscope.store.folder import ResultsFolder
from tests.support import fake_arm, gcplocal_compute
from tests.support.fake_cloud import FakeCloud
from tests.support.fake_world import observe_at_once
from tests.support.kept_data import LoadsData, OnItsMachines
from tests.support.made_cloud import AtOnce
from tests.support.moto_ec2 import REGIONS, FakeConnect, client_of, service_of, tag_in

CAPACITY_ERRORS = "FLEET_CAPACITY_ERRORS"
"""Environment variable: share of requests for which a stand-in lacks capacity."""
SNAPSHOT_S = 0.4
"""Between two snapshots of a data set, so that kills meet what is not whole."""
DISTURBED = "FLEET_DISTURBED"
"""Environment variable: share of clusters that are busy before the trial."""
REFUSED = "FLEET_REFUSED"
"""Environment variable: a call of EC2 and the code with which it is refused, 'RunInstances VcpuLimitExceeded'."""
BROKEN = "FLEET_BROKEN"
"""Environment variable: what machines do not have, 'login' or 'program'."""
IMPATIENT = Patience(first_wait_s=0.05, longest_wait_s=0.2)


def lacks_capacity(seed: str) -> bool:
    """Drawn by what is asked for."""
    return random.Random(seed).random() < float(os.environ.get(CAPACITY_ERRORS, "0.15"))


def programs() -> dict[str, AnswerTo]:
    """Installed on every machine."""
    return {} if os.environ.get(BROKEN) == "program" else {PROGRAM: fake_program}


def cloud(folder: Path) -> FakeCloud:
    def failure(request: ClusterRequest) -> NephoscopeError | None:
        lacking = lacks_capacity(request.key.partition("/")[2])
        return CapacityLacking("no such machines today") if lacking else None

    return FakeCloud(folder, programs(), failure)


def aws_on_moto(url: str) -> AwsCloud:
    """AWS as moto's server plays it, lacking capacity now and then."""

    tries: Counter[tuple[object, ...]] = Counter()

    def refuse(operation: str, arguments: dict[str, Any]) -> str | None:
        if operation == "CreateSnapshot":
            time.sleep(SNAPSHOT_S)
        refused, _, code = os.environ.get(REFUSED, "").partition(" ")
        if operation == refused:
            return code
        if operation != "RunInstances":
            return None
        asked: tuple[object, ...] = tag_in(arguments, CLUSTER).partition("/")[2], tag_in(arguments, ROLE)
        tries[asked] += 1
        if tries[asked] > 1:  # a cluster that several trials share has the same key each time
            asked = (*asked, tries[asked])
        return "InsufficientInstanceCapacity" if lacks_capacity(repr(asked)) else None

    return AwsCloud(SystemClock(), client_of(url, refuse), REGIONS, service_of(url, refuse=refuse))


def gcp_on_gcplocal(url: str) -> GcpCloud:
    """Google Cloud as gcplocal plays it, which lacks capacity itself if it was told to."""
    api = gcplocal_compute.api_of(gcplocal_compute.Rehearsal(url, None))
    return GcpCloud(SystemClock(), lambda: api)


def azure_on_fake(url: str) -> AzureCloud:
    """Azure as its fake Resource Manager plays it, which lacks capacity itself if it was told to."""
    api = fake_arm.api_of(fake_arm.FakeArm(url=url))
    return AzureCloud(SystemClock(), lambda: api)


STAND_INS: dict[str, Callable[[str], Any]] = {"aws": aws_on_moto, "gcp": gcp_on_gcplocal, "azure": azure_on_fake}


async def observe_disturbed(machine: MachineHandle) -> tuple[Facts, dict[str, str]]:
    """A cluster is busy throughout or not at all, drawn by its key; the environment says how many are."""
    facts, verbatim = await observe_at_once(machine)
    cluster = machine.data_dir.rpartition("%2F")[2]  # trial and attempt, without the folder's random name
    busy = random.Random(cluster).random() < float(os.environ.get(DISTURBED, "0"))
    return facts.model_copy(update={"busy_share": 0.5 if busy else facts.busy_share}), verbatim


def provider_of(where: str) -> Provider:
    """A folder that plays a cloud, or 'aws URL FOLDER': a cloud's stand-in, and where its machines answer from."""
    name, _, rest = where.partition(" ")
    if name not in STAND_INS:
        return cloud(Path(where))
    url, _, folder = rest.partition(" ")
    own = STAND_INS[name](url)
    on_aws = name == "aws"
    connect: Connect = FakeConnect(Path(folder), programs(), client_of(url) if on_aws else None)
    if os.environ.get(BROKEN) == "login":
        connect = AtOnce(MachineLost("database-1 is not usable after 900 s: it does not answer"))
    return CloudProvider(own, connect, SystemClock(), "rehearsal", EbsSnapshots(own) if on_aws else None)


def main(study_file: str, out: str, where: str, clusters: str, max_usd: str, state_url: str) -> int:
    text = Path(study_file).read_text()
    study = load(text, study_file)
    folder = ResultsFolder(Path(out))
    with folder.lock():
        planned = plan(study)
        adopt_plan(folder, text, planned, replan=False)
        with LiveProgress(talk(), SystemClock(), Remaining(planned.trials)) as progress:
            world = real_world(progress)
            provider = provider_of(where)
            world = replace(
                world,
                providers=dict.fromkeys((one.provider for one in study.configurations), provider),
                observe=observe_disturbed,
            )
            if any(one.database.fixtures for one in study.configurations):
                kept = OnItsMachines(machines=Path(where.rpartition(" ")[2]))
                world = replace(world, benchmarks={"fake": LoadsData()}, databases={"cockroachdb": kept})
            conduct = RunOptions(
                limits=Limits(max_clusters=int(clusters), max_usd=float(max_usd) or None),
                rules=Rules(study.placement, IMPATIENT),
                repeats=RepeatRules(times_planned=None),
                state_url=state_url or None,
                dead_after_s=4.0,
            )
            outcome = run_until_stopped(run_study(folder, world, conduct))
    sys.stdout.write(f"finished {outcome.finished} valid {outcome.valid} refused {len(outcome.refused)}\n")
    return 0


def exit_code_of(*arguments: str) -> int:
    """As the program's: of an error that was told, or of a signal."""
    try:
        return main(*arguments)
    except NephoscopeError as error:
        return cli.tell_error(error)
    except Stopped as stopped:
        return stopped.exit_code


if __name__ == "__main__":
    sys.exit(exit_code_of(*sys.argv[1:]))
