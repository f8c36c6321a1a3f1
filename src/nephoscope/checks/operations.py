"""What a database benchmark says of itself: errors, consistency, counters, audit, rate, and the rule of its method.

None of these applies to a benchmark without operations.
"""

from nephoscope.checks.thresholds import ERRORS, RATE_KEPT
from nephoscope.checks.verdicts import invalid, percent, unknown, valid
from nephoscope.model.records import Evidence, Requirement, Verdict


class LoadExit:
    """The load generator's own verdict on its interval."""

    name = "generator-exit"
    text = "Refuses a trial whose load generator did not finish with 0 (rate not kept, target lost, interrupted)."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Its exit code, with its message."""
        if evidence.operations is None:
            return None
        code, message = evidence.operations.exit_code, evidence.operations.message
        if code == 0:
            return valid(self.name, "finished with 0")
        return invalid(self.name, f"ended with {code}: {message or 'it said nothing'}")


class Errors:
    """Operations that failed are not throughput."""

    name = "errors"
    text = f"Refuses a trial without operations, or with over {ERRORS.percent} of them failed."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Failed over attempted."""
        operations = evidence.operations
        if operations is None:
            return None
        if operations.attempted == 0:
            return invalid(self.name, "no operation ended in the measurement interval")
        share = operations.failed / operations.attempted
        said = f"{operations.failed} of {operations.attempted} operations failed"
        if share > ERRORS.value:
            return invalid(self.name, f"{said} ({percent(share)}), over {ERRORS.percent}")
        return valid(self.name, said)


class Consistency:
    """A fast database that loses writes is not fast."""

    name = "consistency"
    text = "Refuses a trial after which a consistency condition of the workload does not hold."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Broken conditions by name; None when the workload has none."""
        operations = evidence.operations
        if operations is None:
            return None
        if operations.broken_conditions:
            return invalid(self.name, f"do not hold: {', '.join(operations.broken_conditions)}")
        if operations.conditions_checked == 0 and operations.conditions_expected:
            return unknown(self.name, "they were to be checked and were not")
        if operations.conditions_checked == 0:
            return None
        return valid(self.name, f"{operations.conditions_checked} conditions hold")


class Counters:
    """The server's own count, against the client's."""

    name = "counters"
    text = "Refuses a trial in which the server counted other transactions than the client."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Counters that disagree, by name; None when the workload has none."""
        operations = evidence.operations
        if operations is None:
            return None
        if operations.disagreeing_counters:
            return invalid(self.name, f"server and client disagree: {', '.join(operations.disagreeing_counters)}")
        if operations.counters_compared == 0 and operations.counters_expected:
            return unknown(self.name, "they were to be compared and were not")
        if operations.counters_compared == 0:
            return None
        return valid(self.name, f"{operations.counters_compared} counters of the server agree with the client")


class Replication:
    """Copies of the data: a lost one is load that the others did not carry, and durability that was not paid for."""

    name = "replication"
    text = (
        "Refuses a trial of a replicated database after which its copies, or the servers that hold them, stood "
        "otherwise than before."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Each copy's state before and after; None when there is one copy."""
        before, after = evidence.replication_before, evidence.replication_after
        if not before:
            return None
        if after is None:
            return unknown(self.name, f"{', '.join(before)}: how they stood after the trial could not be asked")
        changed = [
            f"{name}: {before.get(name, 'not there')} before the trial, {after.get(name, 'not there')} after it"
            for name in sorted(before.keys() | after.keys())
            if before.get(name) != after.get(name)
        ]
        said = ", ".join(f"{name} {state}" for name, state in sorted(before.items()))
        return invalid(self.name, "; ".join(changed)) if changed else valid(self.name, f"the same after: {said}")


class Audit:
    """The random draws, against the ranges of their specification."""

    name = "audit"
    text = "Refuses a trial whose random inputs fell outside the ranges of the workload's specification."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Draws outside their range, by name; how many quantities could be judged. Short trials judge fewer."""
        operations = evidence.operations
        if operations is None:
            return None
        if operations.failed_audits:
            return invalid(self.name, f"outside their specification: {', '.join(operations.failed_audits)}")
        passed, unjudged = operations.audits_passed, operations.audits_unjudged
        if passed == 0:
            return unknown(self.name, f"none of {unjudged} quantities had enough draws to be judged")
        few = f"; {unjudged} had too few draws" if unjudged else ""
        return valid(self.name, f"{passed} quantities judged, none outside its specification{few}")


class RateKept:
    """An open pace that was not kept is another load than the one asked for."""

    name = "rate-kept"
    text = f"Refuses a trial at a given rate that completed less than {RATE_KEPT.percent} of the operations offered."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Completed over offered; None in the closed pace, which offers nothing by itself."""
        operations = evidence.operations
        if operations is None or operations.offered is None:
            return None
        if operations.offered == 0:
            return unknown(self.name, "nothing was due in the measurement interval")
        share = operations.attempted / operations.offered
        left = f", {operations.not_sent} of them never sent" if operations.not_sent else ""
        said = f"{operations.attempted} of {operations.offered} operations offered were completed{left}"
        if share < RATE_KEPT.value:
            return invalid(self.name, f"{said}: {percent(share)}, under {RATE_KEPT.percent}")
        return valid(self.name, said)


class SearchEnded:
    """A level that was not found, or is not the server's, is no result."""

    name = "search-ended"
    text = (
        "Refuses a search for the highest load that ended without a level, in a lower bound, or where the load "
        "generator was the limit."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Its outcome; None where nothing was searched."""
        search = evidence.operations.search if evidence.operations else None
        if search is None:
            return None
        if search.outcome == "found":
            return valid(self.name, f"found: {search.reason}")
        return invalid(self.name, f"{search.outcome}: {search.reason}")


class PassRule:
    """The rule of the edition that a trial is of, or of the specification."""

    name = "pass-rule"
    text = (
        "Refuses a trial with wait times that breaks the pass rule of its edition, or else the response time limits of "
        "TPC-C 5.2.5.7, its mean below the 90th percentile, its 9 tpmC per warehouse."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Every requirement that is known; None when nothing is required."""
        if evidence.operations is None or not evidence.operations.requirements:
            return None
        asked = evidence.operations.requirements
        source = ", ".join(dict.fromkeys(one.source for one in asked))
        broken = [_said(one) for one in asked if one.met is False]
        if broken:
            return invalid(self.name, f"{source}: {'; '.join(broken)}")
        unjudged = sum(one.met is None for one in asked)
        if unjudged == len(asked):
            return unknown(self.name, f"{source}: too few operations for any of {unjudged} limits")
        few = f"; {unjudged} had too few operations" if unjudged else ""
        return valid(self.name, f"{source}: {len(asked) - unjudged} limits kept{few}")


def _said(one: Requirement) -> str:
    unit = f" {one.unit}" if one.unit else ""
    return f"{one.what} {one.observed:.4g}{unit}, must be {one.relation} {one.limit:.4g}{unit}"
