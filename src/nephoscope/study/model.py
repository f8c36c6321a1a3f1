"""A study as frozen values: clouds x machine types x storage x benchmarks x replicates, as its author describes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from nephoscope.model.frozen import Frozen, conflict
from nephoscope.model.names import LabelName, Name
from nephoscope.model.placement import Placement
from nephoscope.model.publication import Publication
from nephoscope.model.questions import Headline
from nephoscope.model.records import Disturbance, Metric
from nephoscope.model.subjects import Subject
from nephoscope.model.words import counted
from nephoscope.study.address import holds_cloud_secret, holds_password, problem_of
from nephoscope.study.aerospike import Aerospike
from nephoscope.study.provisioning import Cloud, Link, MachineType, Region, Ssh

SNAPSHOTS = "snapshots"
"""What `database.fixtures` says for data sets that are kept as snapshots of volumes."""


class Volume(Frozen):
    """A volume of each machine of a role, as ordered."""

    kind: str = Field(min_length=1, description="name in the price book: 'gp3', 'pd-ssd'")
    size: float = Field(gt=0, description="in GB or GiB, whichever the provider uses")
    iops: float = Field(default=0, ge=0, description="all provisioned IOPS, including those that the price includes")
    throughput: float = Field(
        default=0,
        ge=0,
        description="all provisioned MiB/s or MB/s, whichever the provider uses, including what the price includes",
    )
    count: int = Field(default=1, ge=1, le=128, description="number of equal volumes")
    use: Literal["data", "raw"] | None = Field(
        default=None,
        description="data (the default): it gets a filesystem, and the data folder is on it; raw: it gets none, and "
        '`raw_device = "volume"` of fio or `device = "volume"` of aerospike uses it',
    )
    cache: Literal["none", "read-only", "read-write"] | None = Field(
        default=None, description="only azure: cache on the machine's host; default: none"
    )
    interface: Literal["nvme", "scsi"] | None = Field(
        default=None,
        description="only gcp: how it is attached (elsewhere the machine type decides); default: chosen by the "
        "machine type",
    )


class Machine(Frozen):
    """The machines of one role."""

    provider: Literal["local", "emulated", "ssh", "aws", "azure", "gcp"] | None = Field(
        default=None, description='only load_machine of provider "managed": where it comes from; default: local'
    )
    type: str | None = Field(
        default=None,
        description="the provider's machine type; for emulated, one of [[machine_types]]; for managed, what the "
        "service calls it; not for local",
    )
    count: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="number of machines of this type; 1 for local; for ssh, the number of `hosts`",
    )
    hosts: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=1024,
        description="only ssh: names from ~/.ssh/config or the inventory, or `user@host:port`",
    )
    zones: list[Name] | None = Field(
        default=None,
        min_length=1,
        description="only clouds, emulated and ssh: zones, assigned to the machines in turn; default: the "
        "configuration's `zone`",
    )
    emulated: MachineType | None = Field(
        default=None,
        description="only emulated: the machine's specification; default: the entry of [[machine_types]] for `type`",
    )
    image: str | None = Field(default=None, description="only clouds; default: the image of the table `cloud`")
    volumes: list[Volume] | None = Field(
        default=None,
        min_length=1,
        description="only clouds: created with the machine to hold its data folder, striped if there are several, or "
        "left raw; default: the data folder is on the image's disk",
    )
    local_ssds: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="only clouds: number of local SSDs for the data folder, striped if there are several; gcp "
        "attaches them, elsewhere the machine type must have them",
    )
    local_ssd_interface: Literal["nvme", "scsi"] | None = Field(
        default=None, description="only gcp: how local SSDs are attached; default: nvme"
    )
    local_ssd_use: Literal["data", "raw"] | None = Field(
        default=None, description="only clouds: what local SSDs are for, as `use` of a volume; default: data"
    )
    local_ssd_gib: float | None = Field(
        default=None,
        gt=0,
        description="only clouds: size of one local SSD, needed if fio measures it raw, because each trial fills it "
        "first and `plan` counts that time; default: 375 on gcp, except for z3",
    )
    disks: Literal["striped", "apart"] | None = Field(
        default=None,
        description="only clouds: several volumes or local SSDs form one filesystem (striped, the default) or one "
        "each (apart; only cockroachdb, which then has a store on each)",
    )
    cores: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="only clouds: how many cores of the machine type the machine has; default: all. With "
        "`threads_per_core`, which azure needs here, it gives the number of CPUs",
    )
    threads_per_core: Literal[1, 2] | None = Field(
        default=None, description="only clouds; default: the machine type's own"
    )
    cpu_platform: str | None = Field(
        default=None, description="only gcp: the minimum CPU platform, as 'Intel Ice Lake'; default: any"
    )
    filesystem: Literal["ext4", "xfs"] | None = Field(
        default=None,
        description="filesystem of the data folder: created on machines made for the trial (default there: ext4), "
        "required on all others",
    )
    mount_options: list[Annotated[str, Field(pattern=r"^[a-z0-9_.=-]+$")]] | None = Field(
        default=None,
        min_length=1,
        description="mount options besides noatime, as `findmnt` shows them: set on machines made for the trial, "
        "required on all others; 'barrier' means the absence of 'nobarrier'",
    )
    region: str | None = Field(
        default=None,
        description="only load_machine: another region, whose `zones` it then names; default: the configuration's",
    )
    cpus: Annotated[int, Field(ge=1, le=4096)] | Literal["all"] = Field(
        default="all", description="CPU affinity of everything that is measured on the machine"
    )
    expect_cpu_model: str | None = Field(default=None, description="text that the CPU model must contain")
    expect_memory_gib: float | None = Field(default=None, gt=0, description="up to 10 % less is accepted")
    expect_sockets: int | None = Field(default=None, ge=1, description="as counted by lscpu")
    expect_numa_nodes: int | None = Field(default=None, ge=1, description="as counted by lscpu")
    expect_l3_mib: float | None = Field(
        default=None, gt=0, description="last-level cache, all instances together; up to 2 % more or less is accepted"
    )
    expect_disk_gib: float | None = Field(
        default=None, gt=0, description="size of the data folder's filesystem; up to 10 % less is accepted"
    )
    expect_disk_kind: Literal["ssd", "hdd"] | None = Field(
        default=None, description="kind of disk according to the kernel"
    )
    expect_clock_source: str | None = Field(default=None, description="for example tsc")
    expect_kernel: str | None = Field(default=None, description="text that the kernel's release must contain")


class Copies(Frozen):
    """Copies of the data that could take over."""

    count: int = Field(ge=1, le=6, description="the one that is written included")
    synchronous: bool = Field(default=False, description="a commit is acknowledged once another copy has it, too")


class Patroni(Frozen):
    """Settings of Patroni, by its own names and with its own defaults."""

    synchronous_mode: bool = Field(
        default=False, description="a commit waits for one standby, and no other one may take over"
    )
    ttl: int = Field(default=30, ge=20, le=3600, description="seconds after which a primary that is silent has gone")
    loop_wait: int = Field(default=10, ge=1, le=3600, description="seconds between two looks of Patroni at its server")
    retry_timeout: int = Field(default=10, ge=3, le=3600, description="seconds for etcd and PostgreSQL to answer")

    @model_validator(mode="after")
    def _times_fit(self) -> "Patroni":
        if self.loop_wait + 2 * self.retry_timeout > self.ttl:
            raise conflict("`loop_wait` and twice `retry_timeout` must fit into `ttl`, or Patroni changes them")
        return self


class Database(Frozen):
    """The system under test and its settings."""

    system: Literal["postgres", "mariadb", "mysql", "valkey", "cockroachdb", "aerospike", "fake"] = Field(
        default="postgres",
        description="valkey: Valkey or Redis, whichever is installed; 'fake' answers without a server",
    )
    version: str | None = Field(
        default=None,
        description="a trial fails if the server found has another major version; machines without cockroachdb "
        "download it if the version is complete ('22.1.6')",
    )
    settings: dict[str, str] = Field(
        default={},
        description="server settings, in addition to those that nephoscope sets; with `dsn`, of the databases of its "
        "trials only, so none that needs a restart",
    )
    connections: int = Field(default=8, ge=1, le=1_000_000, description="number of connections of the load generator")
    connections_per_cpu: float | None = Field(
        default=None, gt=0, description="instead of `connections`: a multiple of the CPUs of all database machines"
    )
    replicas: int | None = Field(
        default=None,
        ge=1,
        le=5,
        description="for valkey: replicas of each master, each on a database machine of its own; default: none",
    )
    failover: Literal["cluster", "patroni"] | None = Field(
        default=None,
        description="what lets another server take over from one that fails; cluster: for valkey, the cluster itself, "
        "after the setting `cluster-node-timeout`; patroni: for postgres, Patroni with etcd on three machines or more; "
        "default: nothing does",
    )
    patroni: Patroni | None = Field(default=None, description='with `failover = "patroni"`: its settings')
    copies: Copies | None = Field(
        default=None,
        description="how many copies of the data the server keeps, as far as that is known: configurations that state "
        "unequal ones are compared only with `unequal_copies`",
    )
    dsn: str | None = Field(
        default=None,
        description="address of a server of your own, without a password (PGPASSWORD or MYSQL_PWD holds it); default: "
        "start a server",
    )
    binary: str | None = Field(
        default=None,
        min_length=1,
        description="for cockroachdb and aerospike: path of the program on this machine, copied to the others; for "
        "aerospike also a Debian package",
    )
    edition: Literal["cr2018", "cr2020", "cr2021", "cr2022"] | None = Field(
        default=None,
        description="for cockroachdb: start flags and settings of a published method; yours take precedence",
    )
    start_flags: dict[str, str] | None = Field(
        default=None, description="for cockroachdb: flags of `cockroach start`, without --"
    )
    secure: bool | None = Field(
        default=None, description="for cockroachdb: use certificates; default: true, with an edition false"
    )
    fixtures: str | None = Field(
        default=None,
        pattern=rf"^({SNAPSHOTS}|[a-z0-9-]+://[^\s]+)$",
        description="for cockroachdb: where to keep data sets beyond a cluster's life; `snapshots`: as snapshots of "
        "the data volumes, from which later clusters get theirs; `s3://bucket/folder?AUTH=implicit`: as backups; on "
        "azure with versions before 23, which cannot log in to its storage, "
        "`azure-stores://account/container/folder?AUTH=implicit`: the files of all stores",
    )
    aerospike: Aerospike | None = Field(default=None, description="for aerospike: its namespace and its storage")

    @field_validator("fixtures")
    @classmethod
    def _names_no_secret(cls, place: str | None) -> str | None:
        if place is not None and holds_cloud_secret(place):
            raise conflict(
                "holds a key, but a study is stored and shared; give the machines an `identity` in `cloud` and write "
                "AUTH=implicit"
            )
        return place

    @field_validator("dsn")
    @classmethod
    def _has_no_password(cls, dsn: str | None) -> str | None:
        if dsn is not None and holds_password(dsn):
            raise PydanticCustomError(
                "dsn_holds_password",
                "holds a password, but a study is stored and shared; remove it and set the environment variable "
                "PGPASSWORD (MYSQL_PWD of MySQL's protocol) instead",
            )
        return dsn

    @field_validator("dsn")
    @classmethod
    def _is_an_address(cls, dsn: str | None) -> str | None:
        problem = None if dsn is None else problem_of(dsn)
        if problem is not None:
            raise PydanticCustomError("dsn_no_address", "{problem}", {"problem": problem})
        return dsn


class PricedAs(Frozen):
    """What to look up in the price book, for machines that nephoscope did not order, such as this one."""

    provider: str = Field(min_length=1, description="name in the price book: 'aws', 'gcp', 'azure'")
    region: str = Field(min_length=1, description="the provider's region")
    type: str = Field(min_length=1, description="machine type of each database machine")
    volumes: list[Volume] = Field(default=[], description="volumes of each database machine")


class Configuration(Frozen):
    """What is ranked and priced."""

    name: Name = Field(description="the name in charts and tables; unique in the study")
    labels: dict[LabelName, Annotated[str, Field(min_length=1, max_length=60)]] = Field(
        default={},
        description="what else to select and filter by, as { storage = 'fast' }: columns and filters of the report, "
        "words of `for`; nothing that is measured depends on them",
    )
    provider: Literal["local", "emulated", "ssh", "fake", "aws", "azure", "gcp", "managed", "other"] = Field(
        default="local",
        description="where machines come from; local: this machine; emulated: this machine split into several (needs "
        "root); ssh: your machines, listed in `hosts`; fake: no machines, for a rehearsal; clouds: see `cloud`; "
        "managed: a service runs the database at `dsn`, and only `load_machine` is a machine; other: only for plans "
        "and imports",
    )
    cloud: Cloud | None = Field(default=None, description="only clouds: how machines are created there")
    ssh: Ssh | None = Field(default=None, description="only ssh: how to connect to the hosts")
    rented: bool | None = Field(
        default=None,
        description="only local and ssh: the machines are a cloud's, so that CPU time which its hypervisor withholds "
        "is part of what is bought; default: false, they are yours. `doctor` proposes it on a cloud's machine",
    )
    region: str | None = Field(
        default=None,
        description="the provider's region; not for local; default on aws and gcp: that of `zone`",
    )
    zone: str | None = Field(default=None, description="the provider's zone; not for local")
    other_zones: list[str] | None = Field(
        default=None, min_length=1, description="zones to try, in this order, when `zone` has no capacity"
    )
    links: list[Link] | None = Field(
        default=None, min_length=1, description="only emulated: the network between two zones"
    )
    database_machine: Machine = Field(default=Machine(), description="role 'database': also runs the microbenchmarks")
    load_machine: Machine | None = Field(
        default=None, description="role 'load'; without it, client and server share the database machine (co-located)"
    )
    database: Database = Field(default=Database(), description="the system under test and its settings")
    price_usd_per_hour: float | None = Field(
        default=None,
        gt=0,
        description="price of the whole cluster; for managed, of the database alone; without it, no cost",
    )
    price_basis: str | None = Field(default=None, description="for example 'on-demand list price, us-east-1'")
    priced_as: PricedAs | None = Field(
        default=None, description="what to look up in the price book; default: provider, region and machine type"
    )


class BenchmarkEntry(Frozen):
    """One benchmark of a study."""

    uses: str = Field(description="which benchmark")
    name: Name | None = Field(default=None, description="its name in this study; default: the benchmark's name")
    configurations: list[str] = Field(
        default=[], description="names of the configurations to run it on; default: all with enough machines"
    )
    parameters: dict[str, Any] = Field(
        default={}, description="each benchmark has its own parameters, see `nephoscope init`"
    )

    @property
    def label(self) -> str:
        """The name used in charts."""
        return self.name or self.uses


class Budget(Frozen):
    """`run` rejects a plan that exceeds it."""

    max_usd: float | None = Field(default=None, gt=0, description="needs a price for every configuration")
    max_hours: float | None = Field(default=None, gt=0, description="duration of all trials, one after the other")


BasisName = Literal[
    "on-demand", "spot", "reserved-1y", "reserved-3y", "savings-plan-1y", "savings-plan-3y", "sustained-use"
]


class Costs(Frozen):
    """How the report counts a month."""

    method: Literal["default", "cloud-report-2020", "everything"] = Field(
        default="default", description="hours in a month and which machines to include, see docs/concepts/cost.md"
    )
    date: str | None = Field(
        default=None,
        pattern=r"^\d{4}-\d{2}-\d{2}$",
        description="day of the prices, as '2022-06-30'; default: the day of the first trial",
    )
    bases: list[BasisName] | None = Field(
        default=None,
        min_length=1,
        description="kinds of prices in the report; the first orders its tables and figures; default: all that are "
        "known, except spot",
    )
    faults_per_year: float = Field(
        default=12, gt=0, description="of each kind: over so many the report adds up what shorter outages save"
    )
    outage_usd_per_hour: float | None = Field(
        default=None,
        ge=0,
        description="what an hour without the database costs you; with it the report says what a faster failover "
        "saves, default: from which cost on it pays",
    )


class Report(Publication):
    """What the report says first, and who publishes it."""

    headline: Headline | None = Field(
        default=None,
        description="the question of the study: its first card and first figure, and where tables and the explorer "
        "start; default: see docs/how-to/read-a-report.md",
    )


class DeclaredContrast(Frozen):
    """One question about what several pairs of configurations differ in: either `left` and `right`, or `key`."""

    name: str = Field(min_length=1, max_length=80, description="what differs, as the report calls it: 'shared buffers'")
    left: list[str] | None = Field(
        default=None, min_length=1, description="configurations, each compared with the one at its place in `right`"
    )
    right: list[str] | None = Field(default=None, min_length=1, description="as many configurations as `left`")
    key: str | None = Field(
        default=None,
        min_length=1,
        description="a key of [[configurations]], as 'database.settings.shared_buffers': compare all pairs that differ "
        "in it only",
    )
    values: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="two values of `key`: the first is compared with the second"
    )
    labels: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="what to call the two sides; default: the values, else 'left' and 'right'"
    )

    @model_validator(mode="after")
    def _is_one_of_both_kinds(self) -> "DeclaredContrast":
        by_names, by_key = (self.left, self.right), (self.key, self.values)
        if (None in by_names) == (None in by_key) or by_names.count(None) == 1 or by_key.count(None) == 1:
            raise conflict("needs either `left` and `right`, or `key` and `values`")
        if self.left is not None and self.right is not None and len(self.left) != len(self.right):
            raise conflict(
                f"`left` has {counted(len(self.left), 'configuration')} and `right` has {len(self.right)}: they are "
                "compared pair by pair, so both need the same number"
            )
        if any(a == b for a, b in zip(self.left or [], self.right or [], strict=True)):
            raise conflict("compares a configuration with itself; remove that pair")
        return self


class Study(Frozen):
    """A study file."""

    schema_: Literal["nephoscope/study/1"] = Field(
        default="nephoscope/study/1", alias="schema", description="version of this file's format"
    )
    name: Name = Field(description="also the name of the results folder")
    title: str = Field(default="", description="title of the report; default: the name")
    description: str = Field(
        default="", description="shown at the top of the report: what the study shows and what it does not"
    )
    seed: int = Field(
        default=1, ge=0, lt=2**63, description="seed for the order of trials, the data and the operations"
    )
    replicates: int = Field(default=6, ge=1, le=1000, description="6 is the minimum for a 95 % interval of the median")
    repeat_rejected: int = Field(
        default=2,
        ge=0,
        le=100,
        description="how often `run` repeats a trial that was rejected for something outside it, such as the load of "
        "other programs; 0: never. See docs/how-to/resume-and-repeat.md",
    )
    equal_machines: int | None = Field(
        default=None,
        ge=2,
        le=1000,
        description="how many trials of each configuration and benchmark must be on machines of the same kind (CPU, "
        "caches, NUMA nodes, kernel): a trial on a machine unlike most is rejected, and repeated on new machines "
        "until this many are; needs new machines for each trial. Default: machines may differ",
    )
    equivalence_margin_percent: float = Field(
        default=1.5, gt=0, lt=50, description="two configurations closer than this are a tie"
    )
    placement: Placement = Field(
        default="fresh",
        description="fresh: new machines for each trial; per-replicate: new machines for each replicate of a "
        "configuration, on which its benchmarks run one after the other; per-configuration: the same machines for all "
        "trials of a configuration, which then do not sample the spread between machines",
    )
    stop: Literal["never", "decided"] = Field(
        default="never",
        description="never: every trial of the plan runs; decided: after the third block only those run whose "
        "configuration an open question needs, see docs/how-to/run-a-big-study.md",
    )
    unequal_copies: bool = Field(
        default=False,
        description="compare configurations whose databases keep unequal `copies` of the data; the report names them",
    )
    disturbance: Disturbance | None = Field(
        default=None,
        description="what happens to a trial that lost over 2 % of its CPU time to the hypervisor; reject: it is "
        "rejected; record: it counts, and the loss is reported; default: record on clouds and on `rented` machines, "
        "reject on your own",
    )
    lost_connections: Disturbance = Field(
        default="reject",
        description="what happens to a trial in which the server, a proxy or the network ended a connection of the "
        "load; reject: it is rejected; record: it counts, and the check says how many",
    )
    budget: Budget = Field(default=Budget(), description="`run` rejects a plan that exceeds it")
    costs: Costs = Field(default=Costs(), description="how the report counts a month")
    report: Report = Field(default=Report(), description="what the report says first, and who publishes it")
    machine_types: list[MachineType] = Field(default=[], description="specifications of emulated machines")
    clouds: dict[Literal["aws", "azure", "gcp"], Cloud] = Field(
        default={}, description="by provider: how machines are created there, for configurations without a `cloud`"
    )
    regions: list[Region] = Field(
        default=[], description="where your own regions are; those of the clouds are known already"
    )
    configurations: list[Configuration] = Field(min_length=1, description="what to compare")
    benchmarks: list[BenchmarkEntry] = Field(min_length=1, description="how to measure it")
    contrasts: list[DeclaredContrast] = Field(
        default=[],
        max_length=200,
        description="questions about one thing, besides those that the configurations themselves hold",
    )

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
                    "{what} {name} appears twice; names must be unique",
                    {"what": what, "name": twice[0]},
                )
        return self


class KnownBenchmark(Protocol):
    """What a study asks of a benchmark; every `benchmarks.base.Benchmark` has it."""

    @property
    def parameters(self) -> type[Frozen]:
        """Model of its parameters."""

    def subject_of(self, parameters: Any) -> Subject:
        """What it measures with these parameters."""

    def metrics(self, parameters: Any) -> Sequence[Metric]:
        """Everything that it may return with these parameters."""


@dataclass(frozen=True)
class Stated:
    """A benchmark without code in nephoscope: somebody else ran it."""

    parameters: type[Frozen]
    subject: Subject

    def subject_of(self, parameters: Any) -> Subject:  # noqa: ARG002 - whatever they are
        """As stated."""
        return self.subject

    def metrics(self, parameters: Any) -> Sequence[Metric]:  # noqa: ARG002 - whatever they are
        """None are known."""
        return ()
