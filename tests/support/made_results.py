"""Results folders with given values, as `run` would have left them: for analyses of studies that went wrong."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nephoscope.app.stages.planning import load, plan
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.control import Lease
from nephoscope.model.records import (
    Facts,
    FactsRecord,
    Measurement,
    StartedRecord,
    Status,
    TrialIntent,
    Verdict,
    VerdictKind,
)
from nephoscope.run.study import adopt_plan
from nephoscope.store.folder import ResultsFolder

Value = float | Mapping[str, float] | str | None
"""Of one trial: its rate; its metrics by name; why a check rejected it; None: it did not start."""
START_UNIX_MS = 1_700_000_000_000


def made_results(
    path: Path,
    values: Mapping[str, Sequence[Value]],
    *,
    uses: str = "fake",
    extra: str = "",
    machines: Mapping[str, Mapping[str, Any]] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> ResultsFolder:
    """A folder with one benchmark and a trial for each value.

    Args:
        path: where.
        values: configuration -> one value per replicate; the longest says how many replicates there are.
        uses: the benchmark.
        extra: lines for the top of the study file.
        machines: configuration -> further keys of it, as TOML values.
        facts: configuration -> what its machine shows, beyond what all show.
    """
    configurations = "".join(
        f'[[configurations]]\nname = "{name}"\n'
        + "".join(f"{key} = {value}\n" for key, value in ((machines or {}).get(name) or {"provider": '"fake"'}).items())
        for name in values
    )
    replicates = max(map(len, values.values()))
    top = f'name = "made"\nseed = 7\nreplicates = {replicates}\n{extra}\n'
    text = f'{top}{configurations}\n[[benchmarks]]\nuses = "{uses}"\n'
    folder = ResultsFolder(path)
    adopt_plan(folder, text, plan(load(text, "made.toml")), replan=False)
    for planned, _ in folder.planned():
        intent = planned.intent
        many = values[intent.configuration_name]
        value = many[intent.replicate - 1] if intent.replicate <= len(many) else None
        if value is not None:
            write_trial(folder, intent, value, (facts or {}).get(intent.configuration_name, {}))
    return folder


def write_trial(
    folder: ResultsFolder, intent: TrialIntent, value: Value, facts: Mapping[str, Any] | None = None
) -> None:
    """One more trial of the plan, as `run` would have left it."""
    attempt = folder.trial(intent.id).new_attempt(intent)
    provider, at = str(intent.configuration["provider"]), START_UNIX_MS + 60_000 * intent.position
    name = {"local": "local"}.get(provider, intent.configuration_name)
    if provider == "fake":
        key = f"made/{intent.configuration_name}/{intent.id}-1"
        attempt.write_lease(
            Lease(
                cluster=key, placement="fresh", provider=provider, usd_per_hour=None, quoted_usd=None, begun_unix_ms=at
            )
        )
    attempt.write_started(
        StartedRecord(
            at_unix_ms=at,
            nephoscope_version="test",
            machines={"database": name},
            measured_cpus={name: ["cpu0"]},
            tool_versions={},
        )
    )
    seen = Facts(**{"at_unix_ms": at, "hostname": name, "cpu_model": "made", "cpus_online": 1, **(facts or {})})
    attempt.write_facts(FactsRecord(machine=name, before=seen, after=seen))
    if isinstance(value, str):
        verdict = Verdict(check="foreign-load", verdict=VerdictKind.INVALID, reason=value)
    else:
        verdict = Verdict(check="foreign-load", verdict=VerdictKind.VALID, reason="quiet")
    benchmark = BENCHMARKS[intent.benchmark.uses]
    declared = benchmark.metrics(benchmark.parameters.model_validate(intent.benchmark.parameters))
    units = {metric.name: metric.unit for metric in declared}
    main = next(metric.name for metric in declared if metric.headline)
    numbers = value if isinstance(value, Mapping) else {main: 1000.0 if isinstance(value, str) else value}
    attempt.write_measurements(
        [Measurement(metric=metric, unit=units[metric], value=number) for metric, number in numbers.items()]
    )
    attempt.write_verdicts([verdict])
    attempt.write_status(Status(state="finished", at_unix_ms=at + 10_000, duration_s=10.0))
