"""Did what a trial ran end as it should: every tool, and every fault that it inflicted on purpose?"""

import shlex

from nephoscope.checks.verdicts import invalid, unknown, valid
from nephoscope.model.records import Evidence, InflictedFault, Verdict
from nephoscope.model.words import counted


class ToolExit:
    """A tool that failed may still have printed numbers."""

    name = "tool-exit"
    text = "Rejects a trial in which any command failed, was killed or never ended."

    def __call__(self, evidence: Evidence) -> Verdict:
        """Exit codes of all recorded commands."""
        if not evidence.commands:
            return unknown(self.name, "no command was recorded")
        bad = [
            f"{shlex.join(command.argv)[:120]} on {command.machine} "
            + ("was killed or never ended" if command.exit_code is None else f"exited with {command.exit_code}")
            for command in evidence.commands
            if command.exit_code not in (0, *command.allowed_exit_codes)
        ]
        if bad:
            return invalid(self.name, "; ".join(bad))
        results = sum(command.exit_code != 0 for command in evidence.commands)
        told = f", {results} with a code that means a result" if results else ""
        return valid(self.name, f"{len(evidence.commands) - results} exited with 0{told}")


class FaultsConfirmed:
    """A fault that nobody saw costs nothing, and one that goes on is part of what comes after it."""

    name = "faults-confirmed"
    text = (
        "A trial with faults is unknown if one of them was not inflicted or was not seen on the server's machine. "
        "Rejects a trial in which one was not over afterwards."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Each fault that was planned; None if none was."""
        if not evidence.faults_planned:
            return None
        stays = [_told(one, "was not over afterwards") for one in evidence.faults if not one.undone]
        if stays:
            return invalid(self.name, "; ".join(stays))
        missing = evidence.faults_planned - len(evidence.faults)
        wrong = [f"{missing} of {counted(evidence.faults_planned, 'fault')} not inflicted"] if missing else []
        wrong += [_told(one, "was not seen there") for one in evidence.faults if not one.confirmed]
        if wrong:
            return unknown(self.name, "; ".join(wrong))
        return valid(self.name, f"{counted(len(evidence.faults), 'fault')} seen and undone")


def _told(fault: InflictedFault, what: str) -> str:
    return f"{fault.kind} on {fault.victim} {what}{f' ({fault.problem})' if fault.problem else ''}"
