"""Did every tool succeed?"""

import shlex

from nephoscope.checks.verdicts import invalid, unknown, valid
from nephoscope.model.records import Evidence, Verdict


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
