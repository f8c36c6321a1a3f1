"""stress-ng's file of `--yaml`: metrics of each stressor.

Every value is read as text: YAML 1.1 would take the file's own `time-hh-mm-ss: 14:27:49` for a number in base 60.
"""

from typing import Any

import yaml
from pydantic import Field

from nephoscope.model.bounded_yaml import load_yaml
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.parsers.documents import yaml_in
from nephoscope.parsers.text import (
    LenientModel,
    build,
    require_close,
    validate,
)

_WHAT = "stress-ng YAML"
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Where PyYAML was built with libyaml: ten times as fast."""
_TIMES_ARE_PRECISE = 0.001


class StressNgMetrics(Frozen):
    """One stressor. `real_s` is the mean of its workers; user and system time are their sums."""

    stressor: str
    bogo_ops: int = Field(gt=0)
    per_second: float = Field(gt=0, description="bogo operations, of real time")
    per_cpu_second: float = Field(gt=0, description="bogo operations, of user and system time")
    real_s: float = Field(gt=0)
    user_s: float = Field(ge=0)
    system_s: float = Field(ge=0)
    cpu_share: float | None = Field(gt=0, description="of one CPU, each worker; None: not written (before 0.13)")


class StressNgReport(Frozen):
    """The file."""

    version: str | None
    cpus_online: int | None = Field(ge=1)
    stressors: tuple[StressNgMetrics, ...] = Field(min_length=1)


class _Row(LenientModel):
    stressor: str = Field(min_length=1)
    bogo_ops: int = Field(alias="bogo-ops", gt=0, lt=10**18)
    per_cpu_second: float = Field(alias="bogo-ops-per-second-usr-sys-time", gt=0)
    per_second: float = Field(alias="bogo-ops-per-second-real-time", gt=0)
    real_s: float = Field(alias="wall-clock-time", gt=0)
    user_s: float = Field(alias="user-time", ge=0)
    system_s: float = Field(alias="system-time", ge=0)
    cpu_usage_percent: float | None = Field(default=None, alias="cpu-usage-per-instance", gt=0)


class _System(LenientModel):
    version: str | None = Field(default=None, alias="stress-ng-version")
    cpus_online: int | None = Field(default=None, alias="cpus-online", ge=1)


class _Document(LenientModel):
    system: _System = Field(default=_System(), alias="system-info")
    metrics: list[_Row] = Field(min_length=1)


def parse_stress_ng_yaml(text: str) -> StressNgReport:
    """Reads the file.

    Raises:
        OutputUnreadable: nothing, no YAML, no end mark, a missing or impossible value, or rates that contradict times.
    """
    found = validate(_Document, _loaded(yaml_in(text, _WHAT)[0]), _WHAT)
    rows = tuple(_metrics(row) for row in found.metrics)
    if len({row.stressor for row in rows}) < len(rows):
        raise OutputUnreadable(f"{_WHAT}: a stressor appears twice")
    return build(
        StressNgReport, _WHAT, version=found.system.version, cpus_online=found.system.cpus_online, stressors=rows
    )


def _loaded(text: str) -> Any:
    try:
        # The base loader makes text, lists and maps alone: safe, and no base-60 numbers.
        return load_yaml(text, _LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise OutputUnreadable(f"{_WHAT} is not YAML: {error}") from error


def _metrics(row: _Row) -> StressNgMetrics:
    cpu_s = row.user_s + row.system_s
    require_close(row.per_second, row.bogo_ops / row.real_s, relative=_TIMES_ARE_PRECISE, absolute=0.01, what=_WHAT)
    if cpu_s > 0:
        require_close(row.per_cpu_second, row.bogo_ops / cpu_s, relative=_TIMES_ARE_PRECISE, absolute=0.01, what=_WHAT)
    return build(
        StressNgMetrics,
        _WHAT,
        **row.model_dump(exclude={"cpu_usage_percent"}),
        cpu_share=None if row.cpu_usage_percent is None else row.cpu_usage_percent / 100,
    )
