"""stress-ng's text of `--metrics-brief`, 0.05 (2016, all lines `info:`) to 0.15 (`metrc:`), and its file of `--yaml`.

A row of the text is refused when its own rates do not follow from its own times: so a damaged digit is found. Every
value of the file is read as text: YAML 1.1 would take its own `time-hh-mm-ss: 14:27:49` for a number in base 60.
"""

import re
from typing import Any

import yaml
from pydantic import Field

from nephoscope.model.bounded_yaml import load_yaml
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.words import counted
from nephoscope.parsers.documents import yaml_in
from nephoscope.parsers.text import (
    DECIMAL,
    INTEGER,
    LenientModel,
    build,
    exactly_one,
    require_close,
    validate,
    whole_lines,
)

_WHAT = "stress-ng log"
_OURS = re.compile(r"stress-ng: +(?:[0-9:.]{5,20} +)?(?:info|metrc|debug): +\[[0-9]+\] (?P<said>.*)")
_HOGS = re.compile(r"dispatching hogs: (?P<hogs>.+)")
_HOG = re.compile(rf"({INTEGER}) ([a-z0-9-]+)")
_CACHE = re.compile(rf"cache allocate: (?:default|shared)[a-z ]* size: ({INTEGER})K")
_ENDED = re.compile(r"(?P<how>un)?successful run completed in .+s\b.*")
_ROW = re.compile(
    rf"(?P<stressor>[a-z][a-z0-9-]*) +(?P<bogo_ops>{INTEGER}) +(?P<real_s>{DECIMAL}) +(?P<user_s>{DECIMAL})"
    rf" +(?P<system_s>{DECIMAL}) +(?P<per_second>{DECIMAL}) +(?P<per_cpu_second>{DECIMAL})(?: +{DECIMAL}){{0,2}} *"
)
_ENDS = re.compile(r"stress-ng: .*(?:[ .][0-9]+\.[0-9]{2}|successful run completed in .+secs\)?) *")
_HALF_A_DIGIT = 0.0051
"""All numbers of a row are printed with two decimals."""
_TIMES_ARE_ROUNDED = 0.01
"""0.15 computes rates from times with more digits than it prints, and one short row rounds by up to this share."""


class StressNgRow(Frozen):
    """One stressor. Times are of all its workers: `real_s` their mean, `user_s` and `system_s` their sum."""

    stressor: str
    workers: int = Field(ge=1)
    bogo_ops: int = Field(gt=0)
    real_s: float = Field(gt=0)
    user_s: float = Field(ge=0)
    system_s: float = Field(ge=0)
    per_second: float = Field(gt=0, description="bogo operations, of real time")
    per_cpu_second: float = Field(gt=0, description="bogo operations, of user and system time")


class StressNgLog(Frozen):
    """What a log says."""

    rows: tuple[StressNgRow, ...] = Field(min_length=1)
    cache_kib: int | None = Field(description="of one instance of the last level; None: not printed")


def parse_stress_ng_log(text: str) -> StressNgLog:
    """Reads a log; lines of other programs in it are left alone.

    Raises:
        OutputUnreadable: nothing, cut off, an unsuccessful end, or rows that contradict themselves.
    """
    lines = whole_lines(text, _WHAT, ends=_ENDS)
    said = [match["said"].strip() for line in lines if (match := _OURS.fullmatch(line))]
    if exactly_one((_ENDED.fullmatch(line) for line in said), f"{_WHAT} that say how it ended")["how"]:
        raise OutputUnreadable(f"{_WHAT}: the tool says that it was not successful")
    listed = exactly_one((_HOGS.fullmatch(line) for line in said), f"{_WHAT} that name the stressors")["hogs"]
    hogs = {name: int(count) for count, name in _HOG.findall(listed)}
    matches = [match for line in said if (match := _ROW.fullmatch(line))]
    if sorted(match["stressor"] for match in matches) != sorted(hogs):
        others = f"{counted(len(matches), 'row')} {'is' if len(matches) == 1 else 'are'} of other stressors"
        raise OutputUnreadable(f"{_WHAT}: {listed!r} was started, and {others}")
    caches = {int(match[1]) for line in said if (match := _CACHE.fullmatch(line))}
    if len(caches) > 1 or 0 in caches:
        raise OutputUnreadable(f"{_WHAT}: cache sizes of {sorted(caches)} KiB")
    return build(
        StressNgLog, _WHAT, rows=tuple(_row(match, hogs) for match in matches), cache_kib=next(iter(caches), None)
    )


def parse_stress_ng_runs(text: str) -> tuple[StressNgLog, ...]:
    """Reads a log of one or more runs, one after the other, each from the line that names its stressors on.

    Raises:
        OutputUnreadable: as `parse_stress_ng_log`, of any of them.
    """
    runs: list[list[str]] = [[]]
    for line in whole_lines(text, _WHAT, ends=_ENDS):
        if _names_stressors(line) and any(map(_names_stressors, runs[-1])):
            runs.append([])
        runs[-1].append(line)
    return tuple(parse_stress_ng_log("\n".join([*lines, ""])) for lines in runs)


def _names_stressors(line: str) -> bool:
    ours = _OURS.fullmatch(line)
    return ours is not None and _HOGS.fullmatch(ours["said"].strip()) is not None


def _row(match: re.Match[str], hogs: dict[str, int]) -> StressNgRow:
    row = build(StressNgRow, _WHAT, **match.groupdict(), workers=hogs[match["stressor"]])
    cpu_s = row.user_s + row.system_s
    if cpu_s <= 0:
        raise OutputUnreadable(f"{_WHAT}: {row.stressor} used no CPU time")
    for printed, seconds in ((row.per_second, row.real_s), (row.per_cpu_second, cpu_s)):
        relative = min(_TIMES_ARE_ROUNDED / seconds, 1.0)
        require_close(
            printed,
            row.bogo_ops / seconds,
            relative=relative + _HALF_A_DIGIT / seconds,
            absolute=_HALF_A_DIGIT,
            what=f"{_WHAT}: {row.stressor}",
        )
    return row


_YAML = "stress-ng YAML"
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
    found = validate(_Document, _loaded(yaml_in(text, _YAML)[0]), _YAML)
    rows = tuple(_metrics(row) for row in found.metrics)
    if len({row.stressor for row in rows}) < len(rows):
        raise OutputUnreadable(f"{_YAML}: a stressor appears twice")
    return build(
        StressNgReport, _YAML, version=found.system.version, cpus_online=found.system.cpus_online, stressors=rows
    )


def _loaded(text: str) -> Any:
    try:
        # The base loader makes text, lists and maps alone: safe, and no base-60 numbers.
        return load_yaml(text, _LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise OutputUnreadable(f"{_YAML} is not YAML: {error}") from error


def _metrics(row: _Row) -> StressNgMetrics:
    cpu_s = row.user_s + row.system_s
    require_close(row.per_second, row.bogo_ops / row.real_s, relative=_TIMES_ARE_PRECISE, absolute=0.01, what=_YAML)
    if cpu_s > 0:
        require_close(row.per_cpu_second, row.bogo_ops / cpu_s, relative=_TIMES_ARE_PRECISE, absolute=0.01, what=_YAML)
    return build(
        StressNgMetrics,
        _YAML,
        **row.model_dump(exclude={"cpu_usage_percent"}),
        cpu_share=None if row.cpu_usage_percent is None else row.cpu_usage_percent / 100,
    )
