"""What a database benchmark reports about itself: errors, consistency, counters, audit, rate, method.

None of these applies to a benchmark without operations.
"""

from collections.abc import Mapping

from nephoscope.checks.thresholds import ERRORS, RATE_KEPT
from nephoscope.checks.verdicts import invalid, percent, unknown, valid
from nephoscope.model.events import Event
from nephoscope.model.records import UNENCRYPTED, Evidence, Requirement, Verdict
from nephoscope.model.words import counted

_RESTARTING = ("kill", "restart", "rolling-restart", "zone-outage")
"""Kinds of fault after which a server has started anew, and its standbys have connected anew."""
_KEPT = "started on"
"""What a server says of itself from which another one may take over without the benchmark."""
_STARTS = ("started", "settings read", "standbys", "run id of ", "CONFIG SET of ")
"""Names of what says since when a server and its connections are up, and of what it counts since then."""
_STOOD_STILL = 8
"""The load generator's own code for that."""


class LoadExit:
    """The load generator's own verdict on its interval."""

    name = "generator-exit"
    text = (
        "Rejects a trial whose load generator did not exit with 0 (rate not kept, target lost, isolation level other "
        "than requested, interrupted). Whether it stood still (8) for too long is for `generator-bound` to say."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Its exit code, with its message."""
        if evidence.operations is None:
            return None
        code, message = evidence.operations.exit_code, evidence.operations.message
        if code == 0:
            isolation = evidence.operations.isolation
            statements = evidence.operations.statements_through_pooler
            level = f"; transactions ran at the isolation level {isolation}, as requested" if isolation else ""
            pooler = f"; a connection pooler answered, and prepared statements were {statements}" if statements else ""
            encryption = evidence.operations.encryption
            tls = f"; sessions were encrypted: {encryption}" if encryption not in {None, UNENCRYPTED} else ""
            return valid(self.name, f"exited with 0{level}{pooler}{tls}")
        seen = evidence.operations.saturation
        if code == _STOOD_STILL and seen and any(gap.kind == "stopped" for gap in seen.gaps):
            return valid(self.name, f"exited with {code}, as it noticed that it had stood still")
        return invalid(self.name, f"exited with {code}: {message or 'no message'}")


class Errors:
    """Operations that failed are not throughput."""

    name = "errors"
    text = f"Rejects a trial without operations, or with over {ERRORS.percent} of them failed."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Failed operations over attempted ones."""
        operations = evidence.operations
        if operations is None:
            return None
        if operations.attempted == 0:
            return invalid(self.name, "no operation completed in the measurement interval")
        share = operations.failed / operations.attempted
        said = f"{operations.failed:,} of {counted(operations.attempted, 'operation')} failed"
        if share > ERRORS.value:
            return invalid(self.name, f"{said} ({percent(share)}, limit {ERRORS.percent})")
        return valid(self.name, said)


class ConnectionsKept:
    """A connection that the server ends and the load makes again costs time that an undisturbed server does not take.

    It may be a restart, a crash of one backend, a failover, or a limit of idle time on the server or between.
    """

    name = "connections-kept"
    text = (
        "Rejects a trial in which a connection of the load was lost, however few operations failed by it. With "
        '`lost_connections = "record"` it counts.'
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Connections lost in the measurement interval; None if nobody counted them."""
        operations = evidence.operations
        if operations is None or operations.connections_lost is None:
            return None
        if operations.connections_lost == 0:
            return valid(self.name, "no connection was lost")
        event = Event("lost-connections", operations.connections_lost, first_s=operations.first_connection_lost_s)
        if evidence.lost_connections == "record":
            return valid(self.name, f"{event.clause}, which the study allows", event)
        return invalid(self.name, event.clause, event)


class Consistency:
    """A fast database that loses writes is not fast."""

    name = "consistency"
    text = "Rejects a trial after which a consistency condition of the workload is violated."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Violated conditions by name; None if the workload has none."""
        operations = evidence.operations
        if operations is None:
            return None
        if operations.broken_conditions:
            return invalid(self.name, f"violated: {', '.join(operations.broken_conditions)}")
        if operations.conditions_checked == 0 and operations.conditions_expected:
            return unknown(self.name, "the study requests checks of the conditions, but they did not run")
        if operations.conditions_checked == 0:
            return None
        conditions = counted(operations.conditions_checked, "condition")
        return valid(self.name, f"{conditions} {'holds' if operations.conditions_checked == 1 else 'hold'}")


class Counters:
    """The server's own count, against the client's."""

    name = "counters"
    text = "Rejects a trial if the server's transaction counts differ from the client's."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Counters that disagree, by name; None if the workload has none."""
        operations = evidence.operations
        if operations is None:
            return None
        if operations.disagreeing_counters:
            return invalid(self.name, f"server and client disagree: {', '.join(operations.disagreeing_counters)}")
        if operations.counters_compared == 0 and operations.counters_expected:
            return unknown(self.name, "the study requests comparing the counters, but they were not compared")
        if operations.counters_compared == 0:
            return None
        agree = "agrees" if operations.counters_compared == 1 else "agree"
        counters = counted(operations.counters_compared, "counter")
        return valid(self.name, f"{counters} of the server {agree} with the client")


class Replication:
    """Copies of the data: if one is lost, the others do less work, and the durability was not paid for."""

    name = "replication"
    text = (
        "Rejects a trial of a replicated database if the state of its copies, or of the servers that hold them, "
        "changed."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Each copy's state before and after; None if there is only one copy."""
        before, after = evidence.replication_before, evidence.replication_after
        if not before:
            return None
        if after is None:
            return unknown(self.name, f"{', '.join(before)}: their state after the trial could not be queried")
        changed = _changed(before, after)
        said = ", ".join(f"{name} {state}" for name, state in sorted(before.items()))
        return (
            invalid(self.name, "; ".join(changed))
            if changed
            else valid(self.name, f"unchanged after the trial: {said}")
        )


class DatabaseUnchanged:
    """Settings reloaded, a restart, a failover: the trial would have measured two databases."""

    name = "database-unchanged"
    text = (
        "Rejects a trial during which the database restarted, changed its role or its version, read its settings again "
        "or was given some, also such as were given back, or ran with a setting that is not the same at the end. A "
        "start is exempt if the benchmark itself killed or restarted the server."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Compares what was queried before and after, without copies of the data; None if nothing was queried."""
        before, after = evidence.database_before, evidence.database_after
        if before is None:
            return None
        if after is None:
            return unknown(self.name, "its settings and start could not be queried after the trial")
        copies = {*(evidence.replication_before or ()), *(evidence.replication_after or ())}
        # Under Patroni any fault may have another server take over, and the one that was primary start anew.
        restarted = any(fault.kind in _RESTARTING or _KEPT in before for fault in evidence.faults)
        seen = [
            {
                name: value
                for name, value in pairs.items()
                if name not in copies and not (restarted and name.startswith(_STARTS))
            }
            for pairs in (before, after)
        ]
        changed = _changed(*seen)
        return invalid(self.name, "; ".join(changed)) if changed else valid(self.name, "unchanged by the trial")


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """What differs, by name, with both values."""
    return [
        f"{name}: {before.get(name, 'not there')} before the trial, {after.get(name, 'not there')} after it"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


class Audit:
    """The random draws, against the ranges of their specification."""

    name = "audit"
    text = "Rejects a trial whose random inputs fell outside the ranges of the workload's specification."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Draws outside their range, by name; how many quantities could be judged. Short trials judge fewer."""
        operations = evidence.operations
        if operations is None:
            return None
        if operations.failed_audits:
            return invalid(self.name, f"outside their specification: {', '.join(operations.failed_audits)}")
        passed, unjudged = operations.audits_passed, operations.audits_unjudged
        if passed == 0:
            quantities = counted(unjudged, "quantity", "quantities")
            return unknown(self.name, f"none of {quantities} had enough draws to judge")
        few = f"; {unjudged} had too few draws" if unjudged else ""
        quantities = counted(passed, "quantity", "quantities")
        return valid(self.name, f"{quantities} judged, none outside its specification{few}")


class RateKept:
    """An open pace that was not kept is not the requested load."""

    name = "rate-kept"
    text = f"Rejects a trial at a given rate that completed less than {RATE_KEPT.percent} of the operations offered."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Completed operations over offered ones; None with a closed pace, which has no rate of its own."""
        operations = evidence.operations
        if operations is None or operations.offered is None:
            return None
        if operations.offered == 0:
            return unknown(self.name, "no operation was due in the measurement interval")
        share = operations.attempted / operations.offered
        left = f", {operations.not_sent:,} of which never started" if operations.not_sent else ""
        completed = f"{counted(operations.attempted, 'operation')} completed in the measurement interval"
        said = f"{completed}, for {operations.offered:,} due in it{left}"
        if share < RATE_KEPT.value:
            return invalid(self.name, f"{said}: {percent(share)} (required: {RATE_KEPT.percent})")
        return valid(self.name, said)


class SearchEnded:
    """A level that was not found, or is not the server's limit, is not a result."""

    name = "search-ended"
    text = (
        "Rejects a search for the highest load that ended without a level, in a lower bound, or where the load "
        "generator was the limit."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """The search's outcome; None if there was no search."""
        search = evidence.operations.search if evidence.operations else None
        if search is None:
            return None
        if search.outcome == "found":
            return valid(self.name, f"found: {search.reason}")
        return invalid(self.name, f"{search.outcome}: {search.reason}")


class PassRule:
    """The rule of the trial's edition, or of the specification."""

    name = "pass-rule"
    text = (
        "Rejects a trial with wait times that violates the pass rule of its edition, or without an edition the rules "
        "of TPC-C 5.2.5.7: its response time limits, a mean below the 90th percentile, 9 tpmC per warehouse."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Every known requirement; None if nothing is required."""
        if evidence.operations is None or not evidence.operations.requirements:
            return None
        asked = evidence.operations.requirements
        source = ", ".join(dict.fromkeys(one.source for one in asked))
        broken = [_said(one) for one in asked if one.met is False]
        if broken:
            return invalid(self.name, f"{source}: {'; '.join(broken)}")
        unjudged = sum(one.met is None for one in asked)
        if unjudged == len(asked):
            limits = "its limit" if unjudged == 1 else f"any of {unjudged} limits"
            return unknown(self.name, f"{source}: too few operations for {limits}")
        few = f"; {unjudged} had too few operations" if unjudged else ""
        return valid(self.name, f"{source}: {counted(len(asked) - unjudged, 'limit')} met{few}")


def _said(one: Requirement) -> str:
    said = [
        percent(value) if one.unit == "share" else f"{value:.4g} {one.unit}".rstrip()
        for value in (one.observed or 0.0, one.limit)
    ]
    return f"{one.what} {said[0]}, must be {one.relation} {said[1]}"
