"""A study as frozen values: clouds x machine types x storage x benchmarks x replicates, as a person describes it."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from nephoscope.model.frozen import Frozen, conflict
from nephoscope.study.address import names_one_server
from nephoscope.study.aerospike import Aerospike
from nephoscope.study.cloud import Cloud
from nephoscope.study.names import Name
from nephoscope.study.places import Link, MachineType, Ssh
from nephoscope.study.secrets import holds_cloud_secret, holds_password


class Volume(Frozen):
    """A volume of each machine of a role, as it is ordered."""

    kind: str = Field(min_length=1, description="as the price book names it: 'gp3', 'pd-ssd'")
    size: float = Field(gt=0, description="GB or GiB, as the provider counts it")
    iops: float = Field(default=0, ge=0, description="all provisioned IOPS, with what the price includes")
    throughput: float = Field(default=0, ge=0, description="all provisioned MiB/s or MB/s, as the provider counts it")
    count: int = Field(default=1, ge=1, le=128, description="equal volumes")
    cache: Literal["none", "read-only", "read-write"] | None = Field(
        default=None, description="for azure alone: of the machine's host; default: none"
    )
    interface: Literal["nvme", "scsi"] | None = Field(
        default=None,
        description="for gcp alone: how it is attached, elsewhere the type decides; default: as the type likes",
    )


class Machine(Frozen):
    """The machines of one role."""

    type: str | None = Field(
        default=None, description="the provider's machine type, for emulated one of [[machine_types]]; not for local"
    )
    count: int = Field(
        default=1, ge=1, le=128, description="how many machines of this type; 1 for local, for ssh as many as `hosts`"
    )
    hosts: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=128,
        description="for ssh alone: names of ~/.ssh/config or of the inventory, or `user@host:port`",
    )
    zones: list[Name] | None = Field(
        default=None, min_length=1, description="for emulated alone: dealt out to the machines in turn; default: one"
    )
    emulated: MachineType | None = Field(
        default=None, description="for emulated alone; default: what [[machine_types]] says of `type`"
    )
    image: str | None = Field(default=None, description="for clouds alone; default: that of the table `cloud`")
    volumes: list[Volume] | None = Field(
        default=None,
        min_length=1,
        description="for clouds alone: made with the machine, hold its data folder, striped when they are several; "
        "default: the data folder is on the image's disk",
    )
    local_ssds: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="for clouds alone: the data folder is on so many local SSDs, striped when they are several; on gcp "
        "they are attached, elsewhere the type must have them",
    )
    local_ssd_interface: Literal["nvme", "scsi"] | None = Field(
        default=None, description="for gcp alone: how they are attached; default: nvme"
    )
    disks: Literal["striped", "apart"] | None = Field(
        default=None,
        description="for clouds alone: several volumes or local SSDs are one filesystem (default), or one each, for "
        "cockroachdb, which then has a store on each",
    )
    threads_per_core: Literal[1, 2] | None = Field(
        default=None, description="for clouds alone; default: the type's own"
    )
    cpu_platform: str | None = Field(
        default=None, description="for gcp alone: the oldest CPU platform, as 'Intel Ice Lake'; default: any"
    )
    filesystem: Literal["ext4", "xfs"] | None = Field(
        default=None,
        description="below the data folder: made so where machines are made for the trial (default there: ext4), and "
        "demanded of all",
    )
    mount_options: list[Annotated[str, Field(pattern=r"^[a-z0-9_.=-]+$")]] | None = Field(
        default=None,
        min_length=1,
        description="of that filesystem, besides noatime: mounted so, and demanded, as `findmnt` shows them; 'barrier' "
        "means that there is no 'nobarrier'",
    )
    region: str | None = Field(default=None, description="of a load machine elsewhere; default: the configuration's")
    cpus: Annotated[int, Field(ge=1, le=4096)] | Literal["all"] = Field(
        default="all", description="CPU affinity of everything measured on the machine"
    )
    expect_cpu_model: str | None = Field(default=None, description="part of the CPU model the gate must find")
    expect_memory_gib: float | None = Field(default=None, gt=0, description="the gate allows 10 % less")
    expect_sockets: int | None = Field(default=None, ge=1, description="as lscpu counts them")
    expect_numa_nodes: int | None = Field(default=None, ge=1, description="as lscpu counts them")
    expect_l3_mib: float | None = Field(
        default=None, gt=0, description="last-level cache, all instances together; the gate allows 2 % more or less"
    )
    expect_disk_gib: float | None = Field(
        default=None, gt=0, description="filesystem of the data folder; the gate allows 10 % less"
    )
    expect_disk_kind: Literal["ssd", "hdd"] | None = Field(default=None, description="as the kernel says")
    expect_clock_source: str | None = Field(default=None, description="for example tsc")
    expect_kernel: str | None = Field(default=None, description="part of the kernel's release")


class Database(Frozen):
    """The system under test and how it is set."""

    system: Literal["postgres", "valkey", "cockroachdb", "aerospike", "fake"] = Field(
        default="postgres", description="valkey: or Redis, whichever is found; 'fake' answers without a server"
    )
    version: str | None = Field(
        default=None,
        description="refused when the server found has another major version; a whole one of cockroachdb ('22.1.6') is "
        "downloaded by machines that have none",
    )
    settings: dict[str, str] = Field(default={}, description="server settings, on top of the ones nephoscope sets")
    connections: int = Field(default=8, ge=1, le=100_000, description="of the load generator")
    connections_per_cpu: float | None = Field(
        default=None, gt=0, description="the same as a multiple of the CPUs of all database machines, instead"
    )
    dsn: str | None = Field(
        default=None,
        description="a server of your own, without a password (PGPASSWORD gives it); default: start one",
    )
    binary: str | None = Field(
        default=None,
        min_length=1,
        description="for cockroachdb and aerospike: the program on this machine, taken to the others; of aerospike a "
        "Debian package too",
    )
    edition: Literal["cr2018", "cr2020", "cr2021", "cr2022"] | None = Field(
        default=None, description="for cockroachdb: start flags and settings of a published method; yours win"
    )
    start_flags: dict[str, str] | None = Field(
        default=None, description="for cockroachdb: of `cockroach start`, without --"
    )
    secure: bool | None = Field(
        default=None, description="for cockroachdb: certificates; default: true, but false as an edition"
    )
    fixtures: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9-]+://[^\s]+$",
        description="for cockroachdb: where backups of data sets outlive a cluster, as `s3://bucket/folder?AUTH=implicit`",
    )
    aerospike: Aerospike | None = Field(default=None, description="for aerospike: its namespace and its storage")

    @field_validator("fixtures")
    @classmethod
    def _names_no_secret(cls, place: str | None) -> str | None:
        if place is not None and holds_cloud_secret(place):
            raise conflict(
                "holds a key, and a study is stored and shared; give the machines an `identity` in `cloud` and write "
                "AUTH=implicit"
            )
        return place

    @field_validator("dsn")
    @classmethod
    def _has_no_password(cls, dsn: str | None) -> str | None:
        if dsn is not None and holds_password(dsn):
            raise PydanticCustomError(
                "dsn_holds_password",
                "holds a password, and a study is stored and shared; take it out and set the environment variable "
                "PGPASSWORD instead",
            )
        return dsn

    @field_validator("dsn")
    @classmethod
    def _is_an_address(cls, dsn: str | None) -> str | None:
        if dsn is not None and not names_one_server(dsn):
            raise PydanticCustomError(
                "dsn_no_address",
                "is not the address of one server reached over TCP; wanted: postgresql://user@host:port/database",
            )
        return dsn

    @field_validator("dsn")
    @classmethod
    def _settings_are_for_a_server_of_ours(cls, dsn: str | None, read: ValidationInfo) -> str | None:
        if dsn is not None and read.data.get("settings"):
            raise PydanticCustomError(
                "dsn_with_settings",
                "names a server of yours, to which nephoscope gives no settings: make them there and leave `settings` "
                "out",
            )
        return dsn


class PricedAs(Frozen):
    """What a configuration is sold as: for machines that nephoscope did not order, as the one it runs on."""

    provider: str = Field(min_length=1, description="as the price book names it: 'aws', 'gcp', 'azure'")
    region: str = Field(min_length=1, description="the provider's region")
    type: str = Field(min_length=1, description="machine type of each database machine")
    volumes: list[Volume] = Field(default=[], description="of each database machine")


class Configuration(Frozen):
    """What is ranked and priced."""

    name: Name = Field(description="what charts and tables call it; unique in the study")
    provider: Literal["local", "emulated", "ssh", "fake", "aws", "azure", "gcp", "other"] = Field(
        default="local",
        description="where machines come from; local: this one, emulated: several made of this one (root), ssh: yours, "
        "by `hosts`, fake: none at all, for a rehearsal; clouds: by `cloud`; other: only planned and imported",
    )
    cloud: Cloud | None = Field(default=None, description="for clouds alone: how machines are made there")
    ssh: Ssh | None = Field(default=None, description="for ssh alone: how hosts are entered")
    region: str | None = Field(default=None, description="the provider's region; not for local")
    zone: str | None = Field(default=None, description="the provider's zone; not for local")
    other_zones: list[str] | None = Field(
        default=None, min_length=1, description="tried in this order when the zone lacks capacity"
    )
    links: list[Link] | None = Field(
        default=None, min_length=1, description="for emulated alone: what lies between two zones"
    )
    database_machine: Machine = Field(default=Machine(), description="role 'database': also runs the microbenchmarks")
    load_machine: Machine | None = Field(
        default=None, description="role 'load'; without it, client and server share the database machine (co-located)"
    )
    database: Database = Field(default=Database(), description="the system under test and its settings")
    price_usd_per_hour: float | None = Field(
        default=None, gt=0, description="of the whole cluster; without it, no cost"
    )
    price_basis: str | None = Field(default=None, description="for example 'on-demand list price, us-east-1'")
    priced_as: PricedAs | None = Field(
        default=None, description="what to look up in the price book; default: provider, region and machine type"
    )


class BenchmarkEntry(Frozen):
    """One benchmark of a study."""

    uses: str = Field(description="which benchmark")
    name: Name | None = Field(default=None, description="what this study calls it; default: the benchmark's name")
    configurations: list[str] = Field(
        default=[], description="names of those that it is run on; default: all that have the machines it needs"
    )
    parameters: dict[str, Any] = Field(default={}, description="each benchmark has its own, see `nephoscope init`")

    @property
    def label(self) -> str:
        """The name charts use."""
        return self.name or self.uses


class Budget(Frozen):
    """`run` refuses a plan beyond it."""

    max_usd: float | None = Field(default=None, gt=0, description="needs a price for every configuration")
    max_hours: float | None = Field(default=None, gt=0, description="of all trials, one after the other")


class Costs(Frozen):
    """How the report counts a month."""

    method: Literal["default", "cloud-report-2020", "everything"] = Field(
        default="default", description="hours of a month and machines that count, see docs/concepts/cost.md"
    )
    date: str | None = Field(
        default=None,
        pattern=r"^\d{4}-\d{2}-\d{2}$",
        description="prices of that day, as '2022-06-30'; default: the day of the first trial",
    )


class Study(Frozen):
    """A study file."""

    schema_: Literal["nephoscope/study/1"] = Field(
        default="nephoscope/study/1", alias="schema", description="format of this file"
    )
    name: Name = Field(description="becomes the name of the results folder")
    title: str = Field(default="", description="heads the report; default: the name")
    description: str = Field(default="", description="shown at the top of the report: what it is and is not")
    seed: int = Field(default=1, ge=0, lt=2**63, description="of the order of trials, of data and of operations")
    replicates: int = Field(default=6, ge=1, le=1000, description="6 is the least with a 95 % interval of the median")
    equivalence_margin_percent: float = Field(
        default=1.5, gt=0, lt=50, description="two configurations closer than this are a tie"
    )
    placement: Literal["fresh", "per-configuration"] = Field(
        default="fresh",
        description="fresh: new machines for each trial; per-configuration: the same ones for all its trials, which "
        "then do not sample the spread between machines",
    )
    budget: Budget = Field(default=Budget(), description="`run` refuses a plan beyond it")
    costs: Costs = Field(default=Costs(), description="how the report counts a month")
    machine_types: list[MachineType] = Field(default=[], description="what emulated machines are")
    clouds: dict[Literal["aws", "azure", "gcp"], Cloud] = Field(
        default={}, description="by provider: how machines are made there, for configurations without a `cloud`"
    )
    configurations: list[Configuration] = Field(min_length=1, description="what is compared")
    benchmarks: list[BenchmarkEntry] = Field(min_length=1, description="how it is measured")

    @model_validator(mode="after")
    def _names_are_unique(self) -> "Study":
        for what, names in (
            ("configuration", [c.name for c in self.configurations]),
            ("benchmark", [b.label for b in self.benchmarks]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise PydanticCustomError(
                    "names_not_unique",
                    "{what} {name} stands twice; names must be unique",
                    {"what": what, "name": twice[0]},
                )
        return self
