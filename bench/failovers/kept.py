"""Loads with kills, kept in a folder one by one, and the line of the page that those of a case come to."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import Field

from nephoscope.analysis.faults import FaultRow, faults_of, quantities_of
from nephoscope.benchmarks.base import RawOutput
from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import RUN
from nephoscope.benchmarks.load.contract import LedgerResult
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Direction, InflictedFault
from nephoscope.model.rows import MeasurementRow
from nephoscope.model.subjects import Subject

RAW = "raw"
_ASKED, _COUNTED = "asked.json", "counted.json"
COLUMNS = (
    *("system", "kills seen and undone", "longest outage, s", "nothing completed, s", "to the usual rate, s"),
    *("copies complete, s", "acknowledged", "in doubt", "lost, by the ledger", "lost, by the server's count"),
    *("faults that lose a write", "CPU time lost to others"),
)


class Counted(Frozen):
    """What somebody else than the load generator says of a load."""

    version: str = Field(description="of the server")
    added: int = Field(description="rows or keys that were not there before it, as the server counts them")
    lost_cpu_share: float | None = Field(description="of the machine's CPU time; none: the kernel does not tell")


@dataclass(frozen=True)
class Load:
    """One load with its kills, once it is over."""

    asked: AdversityParameters
    counted: Counted
    raw: RawOutput

    @cached_property
    def faults(self) -> Sequence[InflictedFault]:
        """That were inflicted, be they seen or not."""
        return Adversity().observations(self.raw, self.asked).faults

    @property
    def kills(self) -> int:
        """That were seen and undone."""
        return sum(fault.confirmed and fault.undone for fault in self.faults)

    @cached_property
    def ledger(self) -> LedgerResult:
        """Of the load generator."""
        found = load_output.read(self.raw[f"{RUN}.stdout"]).finished.ledger
        if found is None:
            raise SystemExit("the load generator wrote no ledger: nothing was measured")
        return found

    @property
    def lost_by_count(self) -> int:
        """Acknowledged writes that are not among the rows: every write adds one."""
        return self.ledger.acknowledged + self.ledger.in_doubt_kept - self.counted.added


@dataclass(frozen=True)
class Case:
    """A system in one setting."""

    name: str
    title: str
    at_a_time: int
    """Kills of a load."""
    asked: Callable[[int], AdversityParameters]
    """By the number of kills."""
    drive: Callable[[Path, AdversityParameters], Awaitable[Counted]]
    """Makes the system, drives the load and takes the system away; the raw output is in `RAW` of the folder."""


def loads_in(folder: Path) -> list[Load]:
    """Those that came to their end, in order."""
    ended = sorted(folder.glob(f"*/{_COUNTED}"), key=lambda path: int(path.parent.name))
    return [_read(path.parent) for path in ended]


def _read(folder: Path) -> Load:
    raw = {path.name: path.read_bytes() for path in (folder / RAW).iterdir()}
    asked = AdversityParameters.model_validate_json((folder / _ASKED).read_bytes())
    return Load(asked, Counted.model_validate_json((folder / _COUNTED).read_bytes()), raw)


async def driven(case: Case, kills: int, folder: Path) -> Load:
    """One more load of a case, which is kept in a new folder."""
    asked = case.asked(kills)
    (folder / RAW).mkdir(parents=True)
    (folder / _ASKED).write_text(asked.model_dump_json(), encoding="utf-8")
    counted = await case.drive(folder, asked)
    (folder / _COUNTED).write_text(counted.model_dump_json(), encoding="utf-8")
    return _read(folder)


def row_of(loads: Sequence[Load]) -> FaultRow:
    """As a report has it."""
    values, bounds = list[MeasurementRow](), list[MeasurementRow]()
    for number, load in enumerate(loads, 1):
        for one in Adversity().parse(load.raw, load.asked):
            row = MeasurementRow(
                f"load {number}", "case", "kill", one.metric, one.unit, Direction.LOWER, one.value, one.role, one.at_s,
                number, 1, 1, valid=True, subject=Subject.DATABASE,
            )  # fmt: skip
            (values if one.bound is None else bounds).append(row)
    (found,) = faults_of(values, quantities_of(values, bounds), {"kill": ("kill", "primary")})
    return found


def line(title: str, loads: Sequence[Load]) -> str:
    """Of the table."""
    row, ledgers = row_of(loads), [load.ledger for load in loads]
    stolen = [load.counted.lost_cpu_share for load in loads if load.counted.lost_cpu_share is not None]
    cells = (
        title,
        f"{sum(load.kills for load in loads)} of {sum(len(load.faults) for load in loads)}",
        f"{_s(row.longest_outage_s)} ({_s(row.longest_outage_low_s)} to {_s(row.longest_outage_high_s)})",
        _s(row.time_at_zero_s),
        _s(row.time_to_usual_rate_s),
        _s(row.time_to_complete_copies_s),
        f"{sum(ledger.acknowledged for ledger in ledgers):,}",
        f"{sum(ledger.in_doubt for ledger in ledgers):,}",
        f"{sum(ledger.lost for ledger in ledgers):,}",
        f"{sum(load.lost_by_count for load in loads):,}",
        _losing(row, len(loads)),
        "not known" if not stolen else f"{sum(stolen) / len(stolen):.0%}",
    )
    return f"| {' | '.join(cells)} |"


def _losing(row: FaultRow, loads: int) -> str:
    if row.losing_at_most_share is not None:
        return f"at most {row.losing_at_most_share:.0%}"
    return f"in {row.trials_with_loss} of {loads} loads"


def _s(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f}"
