"""`doctor`: can this machine run a study, or, without one, every benchmark with its default parameters?

What is measured elsewhere needs of this machine only a place for results, and access to the clouds of the study. Hosts
of the study's own are asked as `run` asks them before the first trial.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from nephoscope.app.wiring import load_program, real_databases, real_providers
from nephoscope.benchmarks.base import Needs
from nephoscope.benchmarks.fake import Fake
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases.base import HasServer
from nephoscope.machines.doctor import MIN_FREE_BYTES, Finding, Health, examine, examine_controller
from nephoscope.machines.facts import gather_facts
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.loopback import loopback
from nephoscope.machines.remote import LOAD, MachineHandle, Tool
from nephoscope.model.errors import InputError, NephoscopeError
from nephoscope.model.records import Plan
from nephoscope.model.subjects import Subject
from nephoscope.providers.base import ClusterRequest, ExaminesHosts, OnThisMachine
from nephoscope.providers.local import LocalProvider
from nephoscope.run.preflight import reach, wanted_of
from nephoscope.study.managed import read_as_provided
from nephoscope.study.model import Configuration, Database
from nephoscope.study.provisioning import CLOUDS, EXAMPLE_IMAGES, is_example

_MORE_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where providers look for tools, too."""


_MACHINES_ARE_THERE = ("local", "ssh")
"""Providers whose machines cost nothing to use for a question."""


@dataclass(frozen=True)
class _Wanted:
    """What must be on this machine."""

    tools: Sequence[Tool]
    disk_bytes: int = 0
    findings: Sequence[Finding] = field(default=())
    """About databases and providers, already checked."""


async def diagnose(folder: Path, planned: Plan | None) -> list[Finding]:
    """Observes this machine for a second if it is measured, lists the study's machines on clouds, and changes nothing.

    Args:
        folder: where results and data will go.
        planned: whose needs to check; None: those of every benchmark with its default parameters.

    Raises:
        InputError: there is no such folder.
    """
    if not folder.is_dir():
        raise InputError(
            f"there is no folder {folder}", hint="name an existing folder on the disk where results and data will go"
        )
    wanted = _of_every_benchmark() if planned is None else _of_plan(planned)
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    here = MachineHandle("local", LocalRemote(cpus), loopback(), cpus, str(folder.resolve()))
    tools = {tool: _installed(tool) for tool in dict.fromkeys(wanted.tools)}
    least = max(MIN_FREE_BYTES, wanted.disk_bytes)
    if measures_here(planned):
        facts, _ = await gather_facts(here, observe_s=1.0)
        found = examine(facts, tools, min_free_bytes=least, rented=_rented(planned))
    else:
        facts, _ = await gather_facts(here, observe_s=0.0)
        found = examine_controller(facts, tools, min_free_bytes=least)
    return [*found, *await _access(planned), *await _hosts(planned), *await _databases(planned), *wanted.findings]


def measures_here(planned: Plan | None) -> bool:
    """Whether a trial runs on this machine; those of the provider `fake` do. Without a plan it is meant to."""
    if planned is None:
        return True
    providers = real_providers()
    return any(name == "fake" or isinstance(providers.get(name), OnThisMachine) for name in _providers_of(planned))


def _providers_of(planned: Plan) -> set[str]:
    return {configuration.provider for configuration, _, _ in _cells(planned)}


async def _access(planned: Plan | None) -> list[Finding]:
    """Whether each cloud of a plan answers what `run` asks it first."""
    if planned is None:
        return []
    return [await _access_to(name, planned.study) for name in sorted(_providers_of(planned) & CLOUDS)]


async def _access_to(name: str, study: str) -> Finding:
    what = f"access to {name}"
    try:
        await real_providers()[name].list(study)
    except NephoscopeError as error:
        return Finding(what=what, health=Health.BAD, found=error.message, hint=error.hint)
    return Finding(
        what=what, health=Health.GOOD, found="machines can be listed; whether they can be created, `run` shows"
    )


async def _hosts(planned: Plan | None) -> list[Finding]:
    """What the study's own hosts answer, each asked as `run` asks it first."""
    findings: list[Finding] = []
    for name, wanted in wanted_of(planned.trials, BENCHMARKS).items() if planned else ():
        provider = real_providers().get(name)
        if provider is not None and isinstance(provider, ExaminesHosts):
            for host in await provider.examine(wanted):
                renamed = (found.model_copy(update={"what": f"{host.host}: {found.what}"}) for found in host.findings)
                findings += renamed
    return findings


async def _databases(planned: Plan | None) -> list[Finding]:
    """What the user's own databases answer, each asked as `run` asks it first, from where its load will come."""
    cells = [cell for cell in _cells(planned) if cell[2] is Subject.DATABASE] if planned else []
    configurations = {found.name: found for found, _, _ in cells if found.database.dsn is not None}
    return [await _database(found, planned.study) for found in configurations.values()] if planned else []


async def _database(configuration: Configuration, study: str) -> Finding:
    what, provider = f"database of {configuration.name}", real_providers().get(configuration.provider)
    if provider is None or configuration.provider not in _MACHINES_ARE_THERE:
        asks = "not asked: `run` asks it before the first trial, from a load machine that it creates"
        return Finding(what=what, health=Health.WARNING, found=asks)
    with TemporaryDirectory(prefix="nephoscope-") as scratch:
        request = ClusterRequest(f"{study}-doctor", configuration, Path(scratch))
        try:
            await reach(request, provider, real_databases()[configuration.database.system])
        except NephoscopeError as error:
            return Finding(what=what, health=Health.BAD, found=error.message, hint=error.hint)
    return Finding(what=what, health=Health.GOOD, found="it answers, and its role has the rights that trials need")


def _rented(planned: Plan | None) -> bool | None:
    """What the configurations on this machine say; None: one of them says nothing, or there is none."""
    local = [found for found, _, _ in _cells(planned) if found.provider == "local"] if planned else []
    said = [found.rented for found in local]
    return None if not said or None in said else any(said)


def _installed(tool: Tool) -> bool:
    program = load_program() if tool == LOAD else tool.name
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:{_MORE_PATH}") is not None


def _of_every_benchmark() -> _Wanted:
    """A fake one needs a program that no machine has."""
    needs = [one.needs(one.parameters()) for one in BENCHMARKS.values() if not isinstance(one, Fake)]
    return _Wanted([LOAD, *LocalProvider.tools, *(tool for one in needs for tool in one.tools)])


def _of_plan(planned: Plan) -> _Wanted:
    """What its trials need here; benchmarks on machines elsewhere need nothing here."""
    providers = real_providers()
    tools, findings, disk_bytes = [LOAD], list[Finding](), 0
    for configuration, needs, subject in _cells(planned):
        provider = providers.get(configuration.provider)
        if provider is not None and isinstance(provider, OnThisMachine):
            tools += [*provider.tools, *needs.tools]
            disk_bytes = max(disk_bytes, needs.disk_bytes)
            found = [_root(configuration)] if provider.needs_root else []
            if subject is Subject.DATABASE and configuration.database.dsn is None:
                found.append(_server(configuration.database))
        elif configuration.provider in CLOUDS:
            found = [*_examples(configuration)]
        else:
            examined = provider is not None and isinstance(provider, ExaminesHosts)
            found = [_elsewhere(configuration)] if configuration.provider != "fake" and not examined else []
        findings += [one for one in found if one not in findings]
    return _Wanted(tools, disk_bytes, findings)


def _cells(planned: Plan) -> Iterator[tuple[Configuration, Needs, Subject]]:
    """Each configuration with the needs and the subject of each benchmark that runs on it."""
    for intent in (trial.intent for trial in planned.trials if trial.intent.replicate == 1):
        benchmark = BENCHMARKS[intent.benchmark.uses]
        parameters = benchmark.parameters.model_validate(intent.benchmark.parameters)
        configuration = read_as_provided(intent.configuration)
        yield configuration, benchmark.needs(parameters), benchmark.subject_of(parameters)


def _root(configuration: Configuration) -> Finding:
    what = f"root, for provider {configuration.provider}"
    if os.geteuid() == 0:
        return Finding(what=what, health=Health.GOOD, found="you are root")
    return Finding(what=what, health=Health.BAD, found="you are not root", hint="run it with sudo")


def _server(database: Database) -> Finding:
    """The server that trials would start, if this database starts one."""
    what, port = f"server of {database.system}", real_databases()[database.system]
    if not isinstance(port, HasServer):
        return Finding(what=what, health=Health.GOOD, found="none is needed")
    try:
        return Finding(what=what, health=Health.GOOD, found=port.server_here(database))
    except NephoscopeError as error:
        return Finding(what=what, health=Health.BAD, found=error.message, hint=error.hint)


def _examples(configuration: Configuration) -> Iterator[Finding]:
    """What a study still has of the guides."""
    cloud, machines = configuration.cloud, (configuration.database_machine, configuration.load_machine)
    images = [cloud.image if cloud else None, *(machine.image for machine in machines if machine)]
    for image in EXAMPLE_IMAGES.intersection(filter(None, images)):
        hint = "write the id of an image in your region, as docs/how-to/run-on-aws.md shows"
        yield Finding(what="image", health=Health.WARNING, found=f"{image} is the guides' example", hint=hint)
    if cloud and is_example(cloud.ingress):
        hint = "write the address from which this machine connects"
        yield Finding(what="ingress", health=Health.WARNING, found=f"{cloud.ingress} is the guides' example", hint=hint)


def _elsewhere(configuration: Configuration) -> Finding:
    return Finding(
        what=f"machines of provider {configuration.provider}",
        health=Health.WARNING,
        found="not checked: nephoscope creates no machines there",
        hint="its name and prices serve `plan` and `import`",
    )
