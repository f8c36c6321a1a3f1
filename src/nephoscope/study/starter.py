"""The studies that `nephoscope init` writes: one with every key explained, and those of everyday questions."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import urlsplit

from nephoscope.model.errors import InputError

_STARTER = """\
# A study says what to compare (configurations), how to measure it (benchmarks) and how often (replicates).
# All keys, their defaults and limits: docs/reference/study.md. Keys end with their unit (duration_s: seconds).

schema = "nephoscope/study/1"      # version of this file's format
name = "@NAME@"
title = ""                         # title of the report; default: the name
description = ""                   # shown at the top of the report: what the study is, and what it is not
seed = 1                           # for the order of trials, the data and the operations; keep it to repeat a study

# How often each benchmark is repeated on each configuration. 6 is the minimum for a 95 % interval of the median.
# More may be added later: `nephoscope run` then runs only what is missing.
replicates = 6

# never: every trial runs. decided: after the third block only those that an open question needs; `replicates` is then
# the maximum, and at least 4.
stop = "never"
# A trial that was rejected for something outside it, such as the load of other programs, is repeated up to this often.
repeat_rejected = 2
# equal_machines: only with new machines for each trial; how many must be of one kind, so that others are exchanged.

# fresh: new machines for each trial; per-replicate: new machines for each replicate of a configuration;
# per-configuration: the same machines for all its trials. "local" has one machine.
placement = "fresh"

# What happens to a trial that lost over 2 % of its CPU time to the hypervisor. reject: it is rejected; record: it
# counts, and the loss is reported. Default: record on clouds and on rented machines, reject on your own.
# disturbance = "reject"

# Two configurations closer than this are a tie: give the largest difference that would not change your decision.
equivalence_margin_percent = 1.5

# `nephoscope run` rejects a plan that exceeds the budget. max_usd needs a price for every configuration.
[budget]
max_hours = 2
# max_usd = 20

# How the report counts a month: method (default, cloud-report-2020, everything), and the day of the prices.
# [costs]
# method = "default"
# date = "2025-01-31"              # default: the day of the first trial


# Specifications of emulated machines, one [[machine_types]] for each: name, vcpus, memory_gib, disk_gib, and as limits,
# all of them optional: cpu_quota (CPU time, in CPUs), disk_iops, disk_mib_per_s, disk_barriers, network_gbps.
# docs/how-to/rehearse-a-cluster.md shows one.

# Where your own regions are, for the shortest possible round trip between two of them; those of clouds are known.
# [[regions]]
# name = "berlin"                  # as used in `region`
# latitude = 52.5
# longitude = 13.4


# ---- What to compare: one [[configurations]] for each ----

[[configurations]]
name = "one-cpu"                   # lower-case letters, digits, dots and dashes
provider = "local"                 # local: this machine; emulated: this machine split into several (root); ssh: yours;
                                   # fake: no machine at all, for a rehearsal; managed: a service runs the
                                   # database, and only load_machine is a machine
# labels = { storage = "fast" }    # columns and filters of the report, and words of `for` below
# rented = true                    # only local and ssh: it is a cloud's machine, see `nephoscope doctor`
# region, zone, other_zones: where a cloud creates machines; "local" has none.
# price_usd_per_hour = 0.34        # for the whole cluster; without it, no cost is computed (missing is never 0)
# price_basis = "on-demand list price, us-east-1, 2025-01-31"

# What to look up in the price book, see `nephoscope prices show`. Units are the provider's.
# [configurations.priced_as]
# provider = "aws"
# region = "us-east-1"
# type = "m6i.2xlarge"
# volumes = [{ kind = "gp3", size = 1000, iops = 8000, throughput = 250, count = 1 }]   # of each database machine

# ssh: only with "ssh", how to connect to hosts: key_file, jump (a jump host), host_keys, inventory (a file that
# names hosts), folder (nephoscope's, on the disk to measure). ~/.ssh/config provides the rest.

# links: only with "emulated", the network between two zones: between (the two), round_trip_ms, jitter_ms, loss_percent.

# cloud: only with a cloud, how it creates machines: image, ingress (the controller's addresses, the only ones that may
# connect by SSH), reach, packages, user, identity (that of database machines, for a bucket of
# backups), spot, placement_group, subnet. docs/how-to/run-on-*.md show them. [clouds.aws] at the
# top applies to all configurations there.

# The machine of the database. It also runs the microbenchmarks.
[configurations.database_machine]
cpus = 1                           # CPU affinity of everything measured: a number, or "all"
# type, count: a cloud's machine type, or one of machine_types, and how many; "local" is this one machine.
# hosts: only with "ssh", names from ~/.ssh/config or the inventory, or user@host:port.
# emulated: only with "emulated", the machine's specification; default: the entry of machine_types for its type.
# zones: only with a cloud or "emulated", zones assigned to the machines in turn, as ["us-east-1a", "us-east-1b"].
# region: only in load_machine: a region other than the database's; it then names its `zones` there.
# image, volumes (kind, size, iops, throughput, count, use, cache, interface), local_ssds, local_ssd_interface,
# local_ssd_use, local_ssd_gib, disks (striped or apart), cores, threads_per_core, cpu_platform: only with a cloud.
# filesystem, mount_options: of the data folder: created by "emulated" and clouds, required on all others.
# expect_cpu_model = "Xeon"        # text in the CPU model; a trial on another CPU is not valid
# expect_memory_gib = 16           # up to 10 % less is accepted
# expect_sockets = 1               # likewise: a trial on another machine is not valid
# expect_numa_nodes = 1
# expect_l3_mib = 32               # all instances together
# expect_disk_gib = 100            # filesystem of the data folder; up to 10 % less is accepted
# expect_disk_kind = "ssd"         # or "hdd"
# expect_clock_source = "tsc"
# expect_kernel = "6.1"            # text in its release

# A separate machine for the load generator. Without it, client and server share a machine (co-located), and the
# report says so. It has the same keys as database_machine.
# [configurations.load_machine]
# cpus = "all"
# provider: only with "managed", where the load machine comes from; default: "local".

[configurations.database]
system = "postgres"
connections = 8                    # of the load generator; or connections_per_cpu, which grows with the machines
# version = "17"                   # a trial fails if the server found has another major version
# dsn = "postgresql://me@localhost:5432/bench"   # a server of your own; its password goes into PGPASSWORD, never here
# only "valkey": replicas of each master, on machines of their own; docs/how-to/measure-valkey.md.
# only "cockroachdb": binary (the program), edition, start_flags, secure, fixtures; docs/how-to/measure-cockroachdb.md.
# only "aerospike": binary (the program or its package), and a table aerospike: namespace, memory_gib,
# replication_factor, write_block_kib, commit_to_device, disk_gib of a file, or device and destroys_data_on, which name
# a raw device twice; docs/how-to/measure-aerospike.md.

[configurations.database.settings] # server settings, in addition to those that nephoscope sets; always text
# shared_buffers = "1GB"

[[configurations]]
name = "all-cpus"
database_machine = { cpus = "all" }
database = { connections = 8 }

# Many configurations: [defaults] holds keys of all of them, and [[matrix]] makes one for each combination of its axes.
# {axis} in its other keys stands for the combination's value, `by` gives values that depend on an axis, include and
# exclude add and drop combinations, makes = "benchmarks" makes benchmarks. `nephoscope plan --expanded` prints the
# result; docs/how-to/study-of-many-machines.md explains it.
#
#     [[matrix]]
#     name = "{cpus}-cpus-{buffers:slug}"
#     axes = { cpus = [1, 2, 4], buffers = ["128MB", "1GB"] }
#     by.cpus = { 1 = { connections = 4 }, "*" = { connections = 16 } }
#     exclude = [{ cpus = 1, buffers = "1GB" }]
#     include = [{ cpus = 8, buffers = "4GB" }]
#     database_machine.cpus = "{cpus}"
#     database = { connections = "{connections}", settings = { shared_buffers = "{buffers}" } }

#
# A table [choices] changes a whole study by one word: sets of values of placeholders, of which `is` names one.
# `nephoscope plan --choose load=high` chooses another one.
#
#     [choices.load]
#     is = "low"
#     low = { connections = 8 }
#     high = { connections = 64 }


# ---- How to measure it: one [[benchmarks]] for each ----

[[benchmarks]]
uses = "stress-ng"                 # which benchmark
name = "cpu"                       # its name in this study; default: as in `uses`
# configurations = ["all-cpus"]    # where to run it; default: everywhere. Or by what they are:
#     for = "local and not fast"   # a provider, family, volume kind or label; key:value; and, or, not, parentheses
parameters = { stressor = "matrix", duration_s = 10 }

[[benchmarks]]
uses = "fio"

[benchmarks.parameters]
file_size_mib = 1024               # larger than the caches of the disk
jobs = [
  { name = "random-read", mode = "randread", block_size_kib = 4, queue_depth = 16, duration_s = 10 },
  { name = "fsynced-write", mode = "randwrite", block_size_kib = 4, queue_depth = 1, fsync_every = 1, duration_s = 10 },
]

[[benchmarks]]
uses = "tpcc"
parameters = { warehouses = 2, ramp_s = 5, duration_s = 20 }    # ramp_s: under load but not measured

[[benchmarks]]
uses = "point-select"
parameters = { rows = 100_000, ramp_s = 2, duration_s = 10 }


# ---- What to ask besides which one is best: one [[contrasts]] for each question about one thing ----
#
# Questions about pairs that differ in one key only are found without it. For others: name, and either left and right
# (as many configurations each, compared pair by pair), or key and values (all pairs that differ in this key only);
# labels names the two sides.
#
#     [[contrasts]]
#     name = "CPUs"
#     left = ["all-cpus"]
#     right = ["one-cpu"]
#     labels = ["all CPUs", "one CPU"]
"""


def starter_study(name: str = "my-study") -> str:
    """Text of a study file that explains every key and runs as it is; `name` must be a valid name of a study."""
    return _STARTER.replace("@NAME@", name)


VERSION = "version"
"""The key of `--compare` that is no setting."""

_FORM = "--compare SETTING=VALUE,VALUE, for example shared_buffers=128MB,1GB or version=15,18"
_SETTING = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.]*")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.]+")
_MAX_NAME = 63

_HEAD = """\
# {question}
# Every key and its default: docs/reference/study.md. `nephoscope init` without options writes an example of each.

name = {name}
title = {title}
replicates = 6                     # 6 is the minimum for a 95 % interval of the median
"""

_BENCHMARKS = """
# TPC-C: 4 warehouses are about 520 MiB, and each trial works on a copy. Give it about as much data as you have:
# data that fit into memory measure CPUs and memory, larger data measure the disk, too.
[[benchmarks]]
uses = "tpcc"
parameters = { warehouses = 4, ramp_s = 10, duration_s = 60 }

# Reads of single rows by their key; a million rows are about 320 MB.
[[benchmarks]]
uses = "point-select"
parameters = { rows = 1_000_000, ramp_s = 5, duration_s = 20 }
"""


@dataclass(frozen=True)
class Change:
    """What differs between the configurations: a setting or the version, and its values."""

    key: str
    values: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """'shared_buffers: 128MB against 1GB'."""
        return f"{self.key}: {' against '.join(self.values)}"


def read_change(text: str) -> Change:
    """What `--compare` asks.

    Raises:
        InputError: it is not of the form SETTING=VALUE,VALUE.
    """
    key, _, listed = text.partition("=")
    values = [value.strip() for value in listed.split(",")]
    if not _SETTING.fullmatch(key.strip()) or not all(values):
        raise InputError(f"cannot read --compare {text!r}", hint=f"write {_FORM}")
    if len(values) < 2:
        raise InputError(f"--compare {text!r} names one value, so there is nothing to compare", hint=f"write {_FORM}")
    if len(set(values)) < len(values):
        raise InputError(f"--compare {text!r} names a value twice", hint="name each value once")
    return Change(key.strip(), tuple(values))


def everyday_study(change: Change | None, dsns: Sequence[str]) -> str:
    """Text of a study.

    Args:
        change: what to compare; None: the servers at `dsns` as they are.
        dsns: addresses of the user's servers: none (nephoscope starts servers), one, or one for each value.
    """
    names = _names(change, dsns)
    if change is None:
        question = "Your server as it is." if len(dsns) == 1 else "Your servers as they are."
        title = f"PostgreSQL on {' and '.join(map(_place, dsns))}"
        name = "my-server" if len(dsns) == 1 else "my-servers"
    else:
        where = "on your server" if len(dsns) == 1 else "on servers of your own" if dsns else _OURS
        question, title = f"{change.in_words}, {where}.", f"PostgreSQL with {change.in_words}"
        name = _slug(change.key)
    head = _HEAD.format(question=question, name=_toml(name), title=_toml(title))
    secret = _PGPASSWORD_HINT if dsns else ""
    return head + secret + "".join(_configurations(change, dsns, names)) + _BENCHMARKS + _contrasts(change, dsns, names)


_OURS = "each on a PostgreSQL server that nephoscope starts on this machine"
_PGPASSWORD_HINT = """
# The password is never written here: put it into the environment variable PGPASSWORD.
"""


def _configurations(change: Change | None, dsns: Sequence[str], names: Sequence[str]) -> list[str]:
    found = []
    for place, name in enumerate(names):
        database: dict[str, str] = {}
        if dsns:
            database["dsn"] = _toml(dsns[min(place, len(dsns) - 1)])
        if change is not None and change.key == VERSION:
            database["version"] = _toml(change.values[place])
        elif change is not None and len(dsns) < 2:
            database["settings"] = f"{{ {_key(change.key)} = {_toml(change.values[place])} }}"
        database["connections"] = "8"
        table = ", ".join(f"{key} = {value}" for key, value in database.items())
        found.append(f"\n[[configurations]]\nname = {_toml(name)}\ndatabase = {{ {table} }}\n")
    return found


def _contrasts(change: Change | None, dsns: Sequence[str], names: Sequence[str]) -> str:
    """Servers of the user's differ in their addresses: only the study knows what else."""
    if change is None or len(dsns) < 2:
        return ""
    pairs = pairwise(zip(names, change.values, strict=True))
    return "\n# What your servers differ in, for the report.\n" + "\n".join(
        f"[[contrasts]]\nname = {_toml(change.key)}\nleft = [{_toml(left)}]\nright = [{_toml(right)}]\n"
        f"labels = [{_toml(left_value)}, {_toml(right_value)}]\n"
        for (left, left_value), (right, right_value) in pairs
    )


def _names(change: Change | None, dsns: Sequence[str]) -> list[str]:
    """A name for each configuration; unique."""
    if change is None:
        wanted = ["my-server"] if len(dsns) == 1 else [_slug(_place(dsn)) for dsn in dsns]
    else:
        wanted = [_slug(f"{change.key}-{value}") for value in change.values]
    if len(set(wanted)) == len(wanted):
        return wanted
    return [f"{name[: _MAX_NAME - 4]}-{number}" for number, name in enumerate(wanted, start=1)]


def _place(dsn: str) -> str:
    parts = urlsplit(dsn)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def _slug(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text.lower()).strip("-.")[:_MAX_NAME] or "value"


def _key(setting: str) -> str:
    return setting if "." not in setting else _toml(setting)


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
