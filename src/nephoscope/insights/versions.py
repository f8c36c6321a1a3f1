"""Trials of one study that were measured with different versions of a tool."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import enumeration, say
from nephoscope.model.rows import Insight

NAME = "versions"


def versions(findings: Findings) -> list[Insight]:
    """One warning per tool with several versions: a difference between trials may be one between versions."""
    ran = [row.trial for row in findings.trials if row.attempt is not None]
    return [
        say(
            NAME,
            "warning",
            "Trials were run with {count:count} versions of {tool} ({said}): what differs between them may be the "
            "version and not the machine.",
            numbers={"count": len(said)},
            trials=ran,
            tool=tool,
            said=enumeration(said),
        )
        for tool, said in findings.tool_versions.items()
        if len(said) > 1
    ]
