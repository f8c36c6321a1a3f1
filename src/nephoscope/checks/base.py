"""A check: evidence in, verdict out; pure. A crashed check is `unknown`, never `valid`."""

from typing import Protocol

from nephoscope.model.records import Evidence, Verdict


class Check(Protocol):
    """One check."""

    @property
    def name(self) -> str:
        """Its name in verdicts and reports."""
        ...

    @property
    def text(self) -> str:
        """One sentence for the report: what it rejects, and at which threshold."""
        ...

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Its verdict; None if it does not apply to this evidence at all (no database, nothing to check)."""
        ...
