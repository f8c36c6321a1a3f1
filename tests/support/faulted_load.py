"""What the load generator says of a load through faults: 1,000 operations a second, none while the server is away."""

import json
from pathlib import Path

from nephoscope.model.records import InflictedFault
from tests.support.load_lines import Line, histogram_of

RECORDING = Path(__file__).parents[1] / "data" / "kv" / "run-resp.jsonl"
BEGAN_UNIX_MS = 1_000_000
PER_STEP = 100
CLIENTS = 8


def fault(begin_s: float, end_s: float, kind: str = "pause", **changes: object) -> InflictedFault:
    """One that was seen and undone, in seconds since the load began."""
    begin, end = (BEGAN_UNIX_MS + 1000 * at_s for at_s in (begin_s, end_s))
    values = {"kind": kind, "victim": "db", "begin_unix_ms": begin, "lifted_unix_ms": end, "end_unix_ms": end}
    return InflictedFault.model_validate({**values, "confirmed": True, "undone": True, **changes})


def faulted(length_s: int, away: list[tuple[int, int]], *, lost: int = 0, failed_at_s: int | None = None) -> bytes:
    """An output.

    Args:
        length_s: of the load, all of it measured.
        away: first and last step of 100 ms in which nothing ends; the next step makes up for them.
        lost: acknowledged writes.
        failed_at_s: a second in which 50 operations fail and a connection is lost.
    """
    started, *_, finished = map(json.loads, RECORDING.read_bytes().splitlines())
    gone = {step for first, last in away for step in range(first, last + 1)}
    owed = {last + 1: (last + 1 - first) * PER_STEP for first, last in away}
    steps = [0 if step in gone else PER_STEP + owed.get(step, 0) for step in range(10 * length_s)]
    intervals = [_interval(at, steps[10 * at : 10 * at + 10], away, failed_at_s == at) for at in range(length_s)]
    counts = [("write", "committed", sum(steps))] + ([("write", "failed", 50)] if failed_at_s is not None else [])
    finished |= {
        "exit_code": 5 if lost else 0,
        "measured_s": float(length_s),
        "offered": sum(steps),
        "not_sent": 0,
        "errors": [],
        "counters": [],
        "conditions": [],
        "operations": [
            {"operation": name, "outcome": outcome, "measured": count, "all": count} for name, outcome, count in counts
        ],
        "ledger": {
            "rows": 500, "acknowledged": sum(steps), "in_doubt": 3, "in_doubt_kept": 1, "lost": lost,
            "lost_rows": lost, "unsent": 0, "example": "row 7" if lost else None,
        },
        "outages": {
            "limit_s": 1.0, "clients": CLIENTS, "clients_hit": CLIENTS, "longest_s": 0.0, "longest_wait_s": 0.0,
            "episodes": [
                {"begin_s": first / 10, "end_s": (last + 1) / 10, "longest_s": (last + 1 - first) / 10,
                 "clients": CLIENTS // 2, "due": 1, "ended": True}
                for first, last in away if last + 1 - first > 10
            ],
        },
    }  # fmt: skip
    started["spec"]["check"] = "none"
    return b"\n".join(json.dumps(line).encode() for line in (started, *intervals, finished))


def _interval(at: int, steps: list[int], away: list[tuple[int, int]], fails: bool) -> Line:
    ended_gaps = [(last + 1 - first) / 10 for first, last in away if at <= (last + 1) / 10 < at + 1]
    rows = [_row("committed", sum(steps), 1_000_000_000 if ended_gaps else 1_000_000)] if sum(steps) else []
    return {
        "event": "interval", "index": at, "phase": "measure", "at_unix_ms": BEGAN_UNIX_MS + 1000 * at,
        "start_s": float(at), "end_s": at + 1.0, "operations": rows + ([_row("failed", 50, 1_000)] if fails else []),
        "ended_per_100_ms": steps, "longest_gap_s": max([0.01, *ended_gaps]) if sum(steps) else None,
        "errors": [], "offered": 10 * PER_STEP,
        "client": {"cpu_s": 0.1, "in_flight": 0, "connections_lost": int(fails), "threads": [
            {"cpu_s": 0.1, "run_queue_s": 0.0, "involuntary_switches": 0}
        ]},
    }  # fmt: skip


def _row(outcome: str, count: int, response_ns: int) -> Line:
    encoded = histogram_of(response_ns, times=count)
    histograms = {"queue": encoded, "service": encoded, "response": encoded}
    return {"operation": "write", "outcome": outcome, "count": count, "histograms": histograms}
