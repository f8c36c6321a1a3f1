"""Trials of one study that used different versions of a tool."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import enumeration, say
from nephoscope.model.rows import Insight

NAME = "versions"


def versions(findings: Findings) -> list[Insight]:
    """One warning per tool with several versions: trials may differ because the versions do."""
    ran = [row.trial for row in findings.trials if row.attempt is not None]
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
        for tool, used in findings.tool_versions.items()
        if len(used) > 1
    ]
