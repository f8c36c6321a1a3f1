"""Is this machine fit to measure?"""

import os
import shutil
from pathlib import Path

from nephoscope.app.wiring import LOAD_PROGRAM, load_program
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.machines.doctor import Finding, examine
from nephoscope.machines.facts import gather_facts
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.machines.tools import DEBIAN_PACKAGES
from nephoscope.providers.local import LOOPBACK


async def doctor(folder: Path) -> list[Finding]:
    """Looks at this machine."""
    place = folder.resolve()
    while not place.exists():
        place = place.parent
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    facts, _ = await gather_facts(MachineHandle("local", LocalRemote(cpus), LOOPBACK, cpus, str(place)), observe_s=1.0)
    tools = {tool: shutil.which(tool) is not None for tool in DEBIAN_PACKAGES}
    return examine(facts, {**tools, LOAD_PROGRAM: shutil.which(load_program()) is not None}, _needed_tools())


def _needed_tools() -> set[str]:
    """What the shell around every trial needs, and every benchmark with its default parameters."""
    shell = {"taskset", "setpriv", "unshare", "lscpu", "findmnt", LOAD_PROGRAM}
    return shell.union(*(benchmark.needs(benchmark.parameters()).tools for benchmark in BENCHMARKS.values()))
