"""What each database, provider and benchmark can, read off the classes."""

from collections.abc import Iterable, Mapping, Sequence

from nephoscope.app.wiring import real_databases, real_providers
from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.faults.inflict import KINDS
from nephoscope.benchmarks.presets import EditionParameters
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases import base as databases
from nephoscope.providers import base as providers

_SIMULATED = "fake"
DATABASE_ABILITIES: Sequence[type] = (
    databases.HasServer,
    databases.HasFixtures,
    databases.HasLoadedBytes,
    databases.CanAttach,
    databases.CanRestart,
    databases.HasFailover,
    databases.HasSettings,
    databases.HasReplication,
    databases.HasUpkeep,
    databases.HasFootprint,
    databases.HasPrograms,
    databases.HasCounters,
)
PROVIDER_ABILITIES: Sequence[type] = (
    providers.OnThisMachine,
    providers.HasLimit,
    providers.Detached,
    providers.NamesHosts,
    providers.ExaminesHosts,
    providers.KnowsLosses,
    providers.FindsByPlan,
)


def database_abilities() -> str:
    """Optional protocols of databases, and which database has each."""
    return _table(real_databases(), DATABASE_ABILITIES)


def provider_abilities() -> str:
    """Optional protocols of providers, and which provider has each."""
    return _table(real_providers(), PROVIDER_ABILITIES)


def fault_abilities() -> str:
    """Every kind of fault, and on which machines it can be inflicted."""
    lines = [
        "| `fault` | what happens to the server | `local` | `emulated`, `ssh`, `aws`, `azure`, `gcp` |",
        "|---|---|---|---|",
    ]
    for kind, fault in KINDS.items():
        lines.append(f"| `{kind}` | {fault.says} | {_mark(holds=fault.here)} | {'yes' if fault.here else 'by root'} |")
    return "\n".join(lines) + "\n"


def benchmark_abilities() -> str:
    """What each benchmark measures and needs, and whether a load outlives its controller."""
    lines = [
        "| benchmark | measures | its load outlives the controller | evidence besides numbers | tools | editions |",
        "|---|---|---|---|---|---|",
    ]
    for benchmark in BENCHMARKS.values():
        if benchmark.name == _SIMULATED:
            continue
        parameters = benchmark.parameters()
        needs = benchmark.needs(parameters)
        observes = type(benchmark).observations is not Benchmark.observations
        cells = [
            f"`{benchmark.name}`",
            benchmark.subject,
            _mark(holds=benchmark.resumable),
            _mark(holds=observes),
            ", ".join(f"`{tool.name}`" for tool in needs.tools),
            ", ".join(f"`{name}`" for name in _editions(benchmark)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _editions(benchmark: Benchmark) -> Iterable[str]:
    kind = benchmark.parameters
    return [preset.edition for preset in kind.presets.values()] if issubclass(kind, EditionParameters) else []


def _table(owners: Mapping[str, object], abilities: Sequence[type]) -> str:
    shown = {name: owner for name, owner in owners.items() if name != _SIMULATED}
    lines = [f"| ability | {' | '.join(f'`{name}`' for name in shown)} |", f"|---|{'---|' * len(shown)}"]
    for ability in abilities:
        text = str(ability.__doc__).splitlines()[0].rstrip(".")
        marks = " | ".join(_mark(holds=isinstance(owner, ability)) for owner in shown.values())
        lines.append(f"| `{ability.__name__}`: {text[:1].lower()}{text[1:]} | {marks} |")
    return "\n".join(lines) + "\n"


def _mark(*, holds: bool) -> str:
    return "yes" if holds else ""
