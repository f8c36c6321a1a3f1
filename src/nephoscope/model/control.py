"""What a controller writes down so that its successor can go on: leases, states, resumptions."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.placement import Placement
from nephoscope.model.quantities import UnixMs
from nephoscope.model.sentence import NO_SENTENCE, Sentence

_MS_PER_HOUR = 3_600_000


class Lease(Frozen):
    """lease.json: the machines an attempt holds, with their price, written before any machine is requested."""

    schema_: Literal["nephoscope/lease/1"] = Field(default="nephoscope/lease/1", alias="schema")
    cluster: str = Field(description="key of its cluster, by which the provider finds every machine and volume")
    placement: Placement
    provider: str
    region: str | None = None
    zone: str | None = Field(default=None, description="None: the configuration names none")
    account: str | None = Field(
        default=None, description="digest of the cloud's account, project or subscription; None: none, or not known"
    )
    usd_per_hour: float | None = Field(description="of the whole cluster; None: unknown")
    quoted_usd: float | None = Field(description="for the expected duration; None: unknown")
    reserved_usd: float | None = Field(
        default=None,
        description="the budget reserves this much for the cluster, and ends the cluster before it is "
        "spent; None: no budget",
    )
    begun_unix_ms: UnixMs

    def cost_usd(self, ended_unix_ms: int) -> float | None:
        """What it cost until then; None: its price is not known."""
        hours = max(0, ended_unix_ms - self.begun_unix_ms) / _MS_PER_HOUR
        return None if self.usd_per_hour is None else self.usd_per_hour * hours


class State(StrEnum):
    """The state of a trial."""

    PLANNED = "planned"
    LEASED = "leased"
    PROVISIONING = "provisioning"
    PREPARING = "preparing"
    VERIFIED = "verified"
    RUNNING = "running"
    COLLECTED = "collected"
    DESTROYING = "destroying"
    DONE = "done"
    """It is valid."""
    INVALID = "invalid"
    """Kept as data but not valid: a check rejected it, or there is no such machine."""
    GAVE_UP = "gave up"
    """It has no numbers: something failed that a retry would not change, or it failed too often."""
    OUT_OF_BUDGET = "out of budget"
    """It did not start, or was stopped on its machines, because the budget is spent; with a larger budget it restarts.
    """


class StateRecord(Frozen):
    """One line of a trial's states.jsonl: a state it entered."""

    state: State = Field(description="see docs/concepts/architecture.md, 'States of a trial'")
    at_unix_ms: UnixMs
    attempt: int = Field(ge=0, description="0: no attempt was started")
    reason: Sentence = NO_SENTENCE


class Resumption(Frozen):
    """resume.json: what a controller needs to continue a measurement whose controller died."""

    schema_: Literal["nephoscope/resume/1"] = Field(default="nephoscope/resume/1", alias="schema")
    dsn: str | None = Field(
        description="connection string of the trial's own data, without a password; None: there is no database"
    )
    measured: bool = Field(default=False, description="all raw output is stored; the database may already be stopped")
