"""Trials of one study that used different versions of a tool, or builds of it for different architectures."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, say
from nephoscope.model.words import enumeration

NAME = "versions"
_BOGO_OPS = "bogo-ops/s"
_ARCHITECTURE = "architecture"
"""The question that compares Arm with x86."""


def versions(lookup: Lookup) -> list[Draft]:
    """One warning per tool with several versions or builds: trials may differ because these do."""
    return [*_versions(lookup), *_builds(lookup)]


def _builds(lookup: Lookup) -> list[Draft]:
    """Bogo operations of Arm and x86 come from two builds, whatever the version."""
    asked = {row.benchmark: row for row in lookup.study.contrasts if row.question == _ARCHITECTURE}
    return [
        say(
            NAME,
            "warning",
            "{benchmark_name} compares bogo operations of stress-ng on {left} and {right}: these are two builds of the "
            "program, and a difference may come from the build rather than the CPU.",
            numbers={},
            trials=row.trials,
            benchmark=benchmark,
            benchmark_name=benchmark,
            left=row.left,
            right=row.right,
        )
        for benchmark, row in sorted(asked.items())
        if any(name == benchmark and metric.unit == _BOGO_OPS for (name, _), metric in lookup.metrics.items())
    ]


def _versions(lookup: Lookup) -> list[Draft]:
    ran = [row.trial for row in lookup.study.trials if row.attempt is not None]
    return [
        say(
            NAME,
            "warning",
            "Trials ran with {count:count} versions of {tool} ({versions}): a difference between trials may come from "
            "the version rather than the machine.",
            numbers={"count": len(used)},
            trials=ran,
            tool=tool,
            versions=enumeration(used),
        )
        for tool, used in lookup.study.tool_versions.items()
        if len(used) > 1
    ]
