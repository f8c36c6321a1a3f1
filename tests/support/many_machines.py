"""A study of many fake machines whose speeds are known, run until its questions are answered; it may be killed.

`python -m tests.support.many_machines FOLDER COUNT REPLICATES` runs it, or what is left of it.
"""

import asyncio
import json
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from typing_extensions import override

from nephoscope.app.stages.running import CliOptions, run_options
from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.machines.fake import Answer
from nephoscope.machines.remote import MachineHandle
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.fake import FakeProvider
from nephoscope.run.study import StudyOutcome, run_study
from tests.support.fake_world import Rehearsal, rehearsal

CV = 0.01


def study_text(count: int, replicates: int, stop: str = "decided", placement: str = "fresh") -> str:
    head = f'placement = "{placement}"\n'
    head += f'name = "many"\nseed = 11\nreplicates = {replicates}\nstop = "{stop}"\n'
    machines = (
        f'[[configurations]]\nname = "m{place:02d}"\nprovider = "fake"\n'
        f"database_machine = {{ cpus = {2 ** (place % 3)} }}\n"
        f"price_usd_per_hour = {1 + place % 5}\n"
        for place in range(count)
    )
    return "\n".join([head, *machines, '[[benchmarks]]\nuses = "fake"\n'])


def speed(name: str) -> float:
    """The first three are close together, the others further and further behind."""
    place = int(name[1:])
    return 1000.0 * (1 - 0.004 * place if place < 3 else 0.94 * 0.995**place)


class Known(FakeProvider):
    """Its machines are as fast as `speed` says, with a spread of `CV`."""

    @override
    def _machine(self, name: str, request: ClusterRequest, cpus: int | str) -> MachineHandle:
        configuration = request.configuration.name

        def program(argv: Sequence[str], stdin: bytes) -> Answer:
            if argv[1] == "--version":
                return fake_program(argv, stdin)
            noise = random.Random(f"{configuration}/{argv[2]}").gauss(0, CV)
            return Answer(json.dumps({"rate": speed(configuration) * math.exp(noise)}).encode(), takes_s=10.0)

        own = replace(self, programs={**self.programs, PROGRAM: program})
        return FakeProvider._machine(own, name, request, cpus)


def many(folder: Path, count: int, replicates: int, stop: str = "decided", placement: str = "fresh") -> Rehearsal:
    found = rehearsal(folder, text=study_text(count, replicates, stop, placement))
    provider = Known({PROGRAM: fake_program}, found.clock)
    return replace(found, provider=provider, world=replace(found.world, providers={"fake": provider}))


def conducted(study: Rehearsal, max_clusters: int = 1) -> StudyOutcome:
    options = run_options(study.folder, study.study, CliOptions(max_clusters=max_clusters))
    return asyncio.run(run_study(study.folder, study.world, options))


if __name__ == "__main__":
    conducted(many(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
