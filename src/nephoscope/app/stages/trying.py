"""A first run on an account of a cloud: what every study does there, once, on one small machine that is then deleted.

Its controller is a process that is killed while the benchmark runs. This one succeeds it, as the next `run` would:
it collects, deletes, and proves that nothing is left.
"""

import asyncio
import json
import platform
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from nephoscope.app.stages import running, tracking
from nephoscope.machines.shielded import to_its_end
from nephoscope.model.control import State
from nephoscope.model.errors import CleanupFailed, EnvironmentProblem, InputError, NephoscopeError, TrialFailure
from nephoscope.model.words import counted
from nephoscope.providers.cloud.order import Question
from nephoscope.run.study import RunOptions
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder, Trial
from nephoscope.study.model import Study

MAX_USD = 1.0
WORK_LIMIT_S = 480.0
"""Then everything is deleted, which takes the rest of the ten minutes."""
_LOOK_EVERY_S = 0.2
_IMAGE_OF_AZURE = (
    "--image publisher:offer:sku:version with an exact version; this prints one: az vm image list --location eastus "
    "--publisher Debian --offer debian-12 --sku 12-gen2 --all --query '[-1].urn' --output tsv"
)


@dataclass(frozen=True)
class Place:
    """What is tried, and where."""

    region: str
    zone: str
    type: str
    """A cheap machine type that every account may have: x86, on demand, with two vCPUs."""
    volume: str
    """Kind and size of its data volume, as in a study."""
    image: str | None
    """Of Debian; None: only exact versions have names there, and each is withdrawn after a while."""


PLACES: Mapping[str, Place] = {
    "aws": Place(
        "us-east-1",
        "us-east-1a",
        "t3.small",
        'kind = "gp3", size = 10',
        "resolve:ssm:/aws/service/debian/release/12/latest/amd64",
    ),
    "azure": Place("eastus", "1", "Standard_B2als_v2", 'kind = "Premium SSD P4 LRS", size = 32', None),
    "gcp": Place(
        "us-central1",
        "us-central1-a",
        "e2-medium",
        'kind = "pd-balanced", size = 10',
        "projects/debian-cloud/global/images/family/debian-12",
    ),
}


def study_text(cloud: str, place: Place, ingress: str) -> str:
    """The study of a place: three seconds of fio on the volume, which a successor can wait for and collect.

    Raises:
        InputError: no image is named.
    """
    if place.image is None:
        raise InputError(f"no image is named for {cloud}", hint=_IMAGE_OF_AZURE)
    image, address, region, zone, kind = map(json.dumps, (place.image, ingress, place.region, place.zone, place.type))
    return f"""\
name = "try-{cloud}"
title = "A first run on {cloud}"
replicates = 1
repeat_rejected = 0

[budget]
max_usd = {MAX_USD}

[[configurations]]
name = "smallest"
provider = "{cloud}"
region = {region}
zone = {zone}
cloud = {{ image = {image}, ingress = {address}, packages = ["fio"] }}
database_machine = {{ type = {kind}, volumes = [{{ {place.volume} }}] }}

[[benchmarks]]
uses = "fio"
[benchmarks.parameters]
file_size_mib = 256
jobs = [{{ name = "read", mode = "randread", block_size_kib = 4, duration_s = 3 }}]
"""


@dataclass(frozen=True)
class Step:
    """One step, done or failed."""

    topic: str
    outcome: str
    took_s: float
    error: NephoscopeError | None = None


@dataclass
class FirstRun:
    """See the module's text."""

    folder: ResultsFolder
    study: Study
    world: World
    options: RunOptions
    controller: Sequence[str]
    """The command line of the controller that is killed: it runs the folder."""
    questions: Sequence[Question]
    tell: Callable[[str], None]
    steps: list[Step] = field(default_factory=list)

    async def run(self, *, makes: bool) -> NephoscopeError | None:
        """Why it failed; None: all went well. In both cases nothing is left.

        Args:
            makes: whether a machine is made; if not, the account is only asked.

        Raises:
            CleanupFailed: something is left, or it cannot be seen whether anything is.
        """
        try:
            for question in self.questions:
                await self._step(question.topic, question.ask)
        except NephoscopeError as error:
            return error
        return await self._made() if makes else None

    async def _made(self) -> NephoscopeError | None:
        problem: NephoscopeError | None = None
        try:
            async with asyncio.timeout(WORK_LIMIT_S):
                await self._step("a controller that is killed", self._killed)
                await self._step("its successor", self._succeeded)
        except TimeoutError:
            problem = EnvironmentProblem(
                f"it was not done after {WORK_LIMIT_S:.0f} s", hint="the attempt's log of the boot script may say why"
            )
        except NephoscopeError as error:
            problem = error
        finally:
            await to_its_end(self._step("nothing is left", self._proof))
        return problem

    async def _step(self, topic: str, work: Callable[[], Awaitable[str]]) -> None:
        clock = self.world.clock
        begun_s = clock.monotonic_s()
        try:
            outcome, error = await work(), None
        except NephoscopeError as failed:
            outcome, error = f"failed: {failed.message}", failed
        self.steps.append(Step(topic, outcome, clock.monotonic_s() - begun_s, error))
        self.tell(f"{topic}: {outcome}")
        if error is not None:
            raise error

    async def _killed(self) -> str:
        """Runs the study in a process of its own, and kills that without a warning while its load runs.

        Raises:
            EnvironmentProblem: it ended before, for the reason that it printed.
        """
        process = await asyncio.create_subprocess_exec(*self.controller)
        kills = False
        try:
            while process.returncode is None and not kills:
                await self.world.clock.sleep(_LOOK_EVERY_S)
                kills = self._state() is State.RUNNING
            if process.returncode is None:
                process.kill()
            code = await process.wait()
        except BaseException:
            if process.returncode is None:
                process.terminate()
            await to_its_end(process.wait())
            raise
        if not kills and self._state() not in {State.DONE, State.INVALID}:
            failure, hint = self._why_failed()
            raise EnvironmentProblem(failure or f"`run` ended with exit code {code}, see its error above", hint=hint)
        made = "machine, volume, boot script, SSH login and load generator are good"
        return f"{made}; {'killed while the benchmark ran' if kills else 'it ended before it was killed'}"

    async def _succeeded(self) -> str:
        """Does what the killed one has left to do.

        Raises:
            TrialFailure: the trial failed.
        """
        with self.folder.lock():
            outcome = await running.run(self.folder, self.study, self.world, self.options)
        if outcome.finished < 1:
            failure, hint = self._why_failed()
            raise TrialFailure(failure or next(iter(outcome.refused.values()), "the trial has no result"), hint=hint)
        verdict = "valid" if outcome.valid else "rejected by a check, which is usual for so small a machine"
        return f"the trial is measured and {verdict}, by attempt {len(self._trial().attempts())}"

    async def _proof(self) -> str:
        """Deletes what is left, and asks the cloud again.

        Raises:
            CleanupFailed: something is left, or that cannot be seen.
        """
        command = f"nephoscope clean {self.folder.path}"
        with self.folder.lock():
            try:
                result = await tracking.clean_up(self.folder, self.world)
            except NephoscopeError as error:
                raise CleanupFailed(
                    f"it cannot be seen whether machines are left: {error.message}",
                    hint=f"run `{command}` until it reports 0 left",
                ) from error
        if result.left:
            raise CleanupFailed(
                f"these clusters could not be deleted: {', '.join(result.left)}",
                hint=f"run `{command}`, or delete them in the console: they cost money",
            )
        deleted = f", {counted(len(result.terminated), 'cluster')} deleted now" if result.terminated else ""
        return f"the cloud lists nothing of this folder{deleted}"

    def _trial(self) -> Trial:
        ((_, trial),) = self.folder.planned()
        return trial

    def _state(self) -> State:
        return tracking.state_of(self._trial())

    def _why_failed(self) -> tuple[str, str]:
        """Message and hint of the last attempt; no message if there is none."""
        attempts = self._trial().attempts()
        status = attempts[-1].status() if attempts else None
        look = f"the logs of the attempt in {self.folder.path} may say more"
        return (str(status.message or ""), str(status.hint or look)) if status is not None else ("", look)

    def report(self, secrets: Sequence[str]) -> str:
        """What a person may attach to a bug report.

        Args:
            secrets: names of this user, machine and account, which are not repeated.
        """
        (row,) = self.folder.plan().trials
        lines = [
            f"nephoscope {self.world.version}, Python {platform.python_version()}, {platform.platform()}",
            json.dumps(row.intent.configuration, sort_keys=True),
            *(f"{one.took_s:7.1f} s  {one.topic}: {one.outcome}" for one in self.steps),
            *(f"  {one.topic}: {type(one.error).__name__}, hint: {one.error.hint}" for one in self.steps if one.error),
            *(f"{state.at_unix_ms} {state.state}" for state in self._trial().states()),
        ]
        return masked("\n".join(lines), [*secrets, *(one.account for one in self.questions)]) + "\n"


_SECRET = re.compile(
    r"\barn:\S+|\b(?:AKIA|ASIA)\w+|\b\S+@\S+\b|\b\d{12}\b|\b(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
    r"|\b\d{1,3}(?:(?:\.\d{1,3}){3}|(?:-\d{1,3}){3})\b|(?<![\w+/=-])[\w+/=-]{60,}"
    r"|(?<![\w:])(?=\S*::|(?:[^\s:]*:){3})(?i:[0-9a-f:]{3,39})(?![\w:])"
)
"""Names of accounts and users, keys, addresses, and long codes such as EC2's encoded refusals."""


def masked(text: str, secrets: Sequence[str]) -> str:
    """A text without what names an account, a person, a key or an address."""
    for name in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(name, "…")
    return _SECRET.sub("…", text)
