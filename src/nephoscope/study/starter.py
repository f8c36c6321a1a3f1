"""The study that `nephoscope init` writes: every key, explained, ready to be run."""

_STARTER = """\
# A study says what is compared (configurations), how it is measured (benchmarks) and how often (replicates).
# All keys, their defaults and limits: docs/reference/study.md. Units stand at the end of a key (duration_s: seconds).

schema = "nephoscope/study/1"      # format of this file
name = "@NAME@"
title = ""                         # heads the report; default: the name
description = ""                   # shown at the top of the report: what the study is, and what it is not
seed = 1                           # of the order of trials, of data and of operations; keep it, to repeat a study

# How often each benchmark is repeated on each configuration. 6 is the least with a 95 % interval of the median.
# More may be added later: `nephoscope run` then runs only what is missing.
replicates = 6

# fresh: new machines for each trial; per-configuration: the same ones for all its trials. "local" has one machine.
placement = "fresh"

# Two configurations closer than this are a tie: say here which difference would not change your decision.
equivalence_margin_percent = 1.5

# `nephoscope run` refuses a plan beyond the budget. max_usd needs a price for every configuration.
[budget]
max_hours = 2
# max_usd = 20

# How the report counts a month: method (default, cloud-report-2020, everything), and the day of the prices.
# [costs]
# method = "default"
# date = "2025-01-31"              # default: the day of the first trial


# What emulated machines are, one [[machine_types]] for each: name, vcpus, memory_gib, disk_gib, and as limits, all of
# them optional: cpu_quota (CPUs' worth of time), disk_iops, disk_mib_per_s, disk_barriers, network_gbps.
# docs/how-to/rehearse-a-cluster.md shows one.


# ---- What is compared: one [[configurations]] for each ----

[[configurations]]
name = "one-cpu"                   # lower-case letters, digits, dots and dashes
provider = "local"                 # local: this machine; emulated: several made of this one (root); ssh: yours;
                                   # fake: no machine at all, for a rehearsal
# region, zone, other_zones: where a cloud's machines are made; "local" has none.
# price_usd_per_hour = 0.34        # of the whole cluster; without it, no cost is computed (missing is never 0)
# price_basis = "on-demand list price, us-east-1, 2025-01-31"

# What it is sold as, to look its price up in the price book: `nephoscope prices show`. Units are the provider's.
# [configurations.priced_as]
# provider = "aws"
# region = "us-east-1"
# type = "m6i.2xlarge"
# volumes = [{ kind = "gp3", size = 1000, iops = 8000, throughput = 250, count = 1 }]   # of each database machine

# ssh: with "ssh" alone, how hosts are entered: key_file, jump (a host on the way), host_keys, inventory (a file that
# names hosts), folder (of ours on each host, on the disk that is measured). Else ~/.ssh/config says it.

# links: with "emulated" alone, what lies between two zones: between (the two), round_trip_ms, jitter_ms, loss_percent.

# cloud: with a cloud alone, how it makes machines: image, ingress (the controller's addresses, from which alone SSH is
# let in), reach, packages, user, identity (who database machines are, for a bucket of
# backups), spot, placement_group, subnet. docs/how-to/run-on-*.md show them. [clouds.aws] at the
# top holds for all configurations there.

# The machine of the database. It runs the microbenchmarks as well.
[configurations.database_machine]
cpus = 1                           # CPU affinity of everything measured: a number, or "all"
# type, count: a cloud's machine type, or one of machine_types, and how many; "local" is this one machine.
# hosts: with "ssh" alone, names of ~/.ssh/config or of the inventory, or user@host:port.
# emulated: with "emulated" alone, what the machine is; else the entry of machine_types for its type says it.
# zones: with "emulated" alone, the zone of each machine, for `links` between them.
# image, volumes (kind, size, iops, throughput, count, cache, interface), local_ssds, local_ssd_interface,
# disks (striped or apart), threads_per_core, cpu_platform: with a cloud alone, what it makes.
# filesystem, mount_options: of the disk below the data folder: made so by "emulated" and clouds, demanded of all.
# expect_cpu_model = "Xeon"        # part of the CPU model; a trial on another CPU does not count
# expect_memory_gib = 16           # 10 % less is allowed
# expect_sockets = 1               # these too: a trial on another machine does not count
# expect_numa_nodes = 1
# expect_l3_mib = 32               # all instances together
# expect_disk_gib = 100            # filesystem of the data folder; 10 % less is allowed
# expect_disk_kind = "ssd"         # or "hdd"
# expect_clock_source = "tsc"
# expect_kernel = "6.1"            # part of its release

# A machine of its own for the load generator. Without it, client and server share a machine (co-located), and the
# report says so. It takes the keys of database_machine.
# [configurations.load_machine]
# cpus = "all"

[configurations.database]
system = "postgres"
connections = 8                    # of the load generator; connections_per_cpu instead grows with the machines
# version = "17"                   # refused when the server found has another major version
# dsn = "postgresql://me@localhost:5432/bench"   # a server of your own; its password goes into PGPASSWORD, never here
# "cockroachdb" alone: binary (the program), edition, start_flags, secure, fixtures; docs/how-to/measure-cockroachdb.md.
# "aerospike" alone: binary (the program or its package), and a table aerospike of its own: namespace, memory_gib,
# replication_factor, write_block_kib, commit_to_device, disk_gib of a file, or device and destroys_data_on, which name
# a raw device twice; docs/how-to/measure-aerospike.md.

[configurations.database.settings] # server settings, on top of the ones nephoscope sets; always text
# shared_buffers = "1GB"

[[configurations]]
name = "all-cpus"
database_machine = { cpus = "all" }
database = { connections = 8 }


# ---- How it is measured: one [[benchmarks]] for each ----

[[benchmarks]]
uses = "stress-ng"                 # which benchmark
name = "cpu"                       # what this study calls it; default: as in `uses`. One benchmark may stand here twice
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
parameters = { warehouses = 2, ramp_s = 5, duration_s = 20 }    # ramp_s: driven but not measured

[[benchmarks]]
uses = "point-select"
parameters = { rows = 100_000, ramp_s = 2, duration_s = 10 }
"""


def starter_study(name: str = "my-study") -> str:
    """Text of a study file that explains every key and can be run as it is; `name` must be a name a study may have."""
    return _STARTER.replace("@NAME@", name)
