"""A study as frozen values: clouds x machine types x storage x benchmarks x replicates, as a person describes it."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from nephoscope.frozen import Frozen

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,62}$")]
"""Lower case, digits, dots and dashes: it becomes a folder name, a chart label and a database name."""


class Machine(Frozen):
    """The machines of one role."""

    type: str | None = Field(default=None, description="the provider's machine type; not for local")
    count: int = Field(default=1, ge=1, le=128)
    cpus: Annotated[int, Field(ge=1, le=4096)] | Literal["all"] = Field(
        default="all", description="CPU affinity of everything measured on the machine"
    )
    expect_cpu_model: str | None = Field(default=None, description="part of the CPU model the gate must find")
    expect_memory_gib: float | None = Field(default=None, gt=0, description="the gate allows 10 % less")


class Database(Frozen):
    """The system under test and how it is set."""

    system: Literal["postgres", "fake"] = "postgres"
    version: str | None = Field(default=None, description="refused when the server found has another major version")
    settings: dict[str, str] = Field(default={}, description="server settings, on top of the ones nephoscope sets")
    connections: int = Field(default=8, ge=1, le=100_000, description="of the load generator")
    dsn: str | None = Field(
        default=None,
        description="a server of your own, without a password (PGPASSWORD gives it); default: start one",
    )


class Configuration(Frozen):
    """What is ranked and priced."""

    name: Name
    provider: Literal["local", "fake"] = "local"
    region: str | None = None
    zone: str | None = None
    database_machine: Machine = Field(default=Machine(), description="role 'database': also runs the microbenchmarks")
    load_machine: Machine | None = Field(
        default=None, description="role 'load'; None: client and server share the database machine (co-located)"
    )
    database: Database = Database()
    price_usd_per_hour: float | None = Field(default=None, gt=0, description="of the whole cluster")
    price_basis: str | None = Field(default=None, description="for example 'on-demand list price, us-east-1'")


class BenchmarkEntry(Frozen):
    """One benchmark of a study."""

    uses: str = Field(description="which benchmark")
    name: Name | None = Field(default=None, description="what this study calls it; default: the benchmark's name")
    parameters: dict[str, Any] = Field(default={}, description="see `nephoscope init` and docs/reference/benchmarks.md")

    @property
    def label(self) -> str:
        """The name charts use."""
        return self.name or self.uses


class Budget(Frozen):
    """`run` refuses a plan beyond it."""

    max_usd: float | None = Field(default=None, gt=0)
    max_hours: float | None = Field(default=None, gt=0)


class Study(Frozen):
    """A study file."""

    schema_: Literal["nephoscope/study/1"] = Field(default="nephoscope/study/1", alias="schema")
    name: Name
    title: str = ""
    description: str = Field(default="", description="shown at the top of the report: what it is and is not")
    seed: int = Field(default=1, ge=0, lt=2**63)
    replicates: int = Field(default=6, ge=1, le=1000, description="6 is the least with a 95 % interval of the median")
    equivalence_margin_percent: float = Field(
        default=1.5, gt=0, lt=50, description="two configurations closer than this are a tie"
    )
    budget: Budget = Budget()
    configurations: Annotated[list[Configuration], Field(min_length=1)]
    benchmarks: Annotated[list[BenchmarkEntry], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_are_unique(self) -> "Study":
        for what, names in (
            ("configuration", [c.name for c in self.configurations]),
            ("benchmark", [b.label for b in self.benchmarks]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what} {twice[0]!r} stands twice; names must be unique")
        return self
