"""Every limit that a check applies to evidence, in one table, each with the reason for its value."""

from dataclasses import dataclass

from nephoscope.stats.limits import MIN_CHANGE, MIN_SUSTAINED_SHARE, MIN_SUSTAINED_VALUES


@dataclass(frozen=True)
class Threshold:
    """A limit: its value (a share unless `of` says otherwise) and the reason for it."""

    value: float
    of: str
    why: str
    is_share: bool = True
    words: str = ""
    """The value with its unit, for people, if it is neither a share nor a plain number."""

    @property
    def percent(self) -> str:
        """The value for people: '2 %'."""
        return f"{self.value * 100:g} %"

    @property
    def text(self) -> str:
        """Value and what it refers to: '2 % of the CPU time', '3 times the rate'."""
        return f"{self.words or (self.percent if self.is_share else format(self.value, 'g'))} {self.of}"


MEMORY_MISSING = Threshold(
    0.10,
    "of the expected memory",
    "firmware, kernel and hypervisor reserve a few percent of what a machine type advertises; a tenth less means "
    "another machine",
)
DISK_LASTS = Threshold(
    3600.0,
    "until the disk is full, at the rate of a search's confirmations",
    "a judgement: a write-ahead log is recycled and an append-only file rewritten, so confirmations of a minute "
    "overstate an hour's needs; even so, a disk that does not last an hour is no basis for a qualification",
    is_share=False,
    words="1 h",
)
QUOTA_OFF = Threshold(
    0.01,
    "of the CPU quota that defines an emulated machine",
    "the kernel stores quotas as microseconds per 100 ms: a larger difference means another quota",
)
CACHE_DIFFERS = Threshold(
    0.02,
    "of the expected last-level cache",
    "sizes are exact, but lscpu of some versions prints them rounded to a tenth of a MiB; the closest two sizes of "
    "CPUs in the table of machine types differ by 8 %",
)
DISK_MISSING = Threshold(
    0.10,
    "of the expected disk size",
    "partitions and a filesystem's own tables take a few percent (ext4: up to 2 %, and providers count 10^9 bytes for "
    "a GB, 7 % less than a GiB); a tenth less means another disk",
)
BUSY_BEFORE = Threshold(
    0.10,
    "of the CPU time of the affinity mask, or of the whole machine, just before the trial",
    "a judgement: an idle Linux guest uses one or two percent; on two CPUs a tenth is a fifth of one of them, more "
    "than the differences that a study looks for. The observation lasts 0.5 s: steps of 2 % on one CPU",
)
BUSY_OUTSIDE = Threshold(
    0.25,
    "of the time of the CPUs outside the affinity mask, during the trial",
    "a judgement: interrupts and write-back of the measured processes land there and must be tolerated; a foreign "
    "process that uses more than a quarter shares caches, memory channels, SMT siblings and the power budget with "
    "what is measured",
)
FOREIGN_SHARE = Threshold(
    0.05,
    "of the CPU time of the affinity mask, used by others on average over the trial",
    "a judgement: CPU time that others use on busy CPUs is lost to the trial. The agents of an idle Linux guest use "
    "one or two percent, most of it in every trial alike. One busy CPU of sixteen is six percent, so that it is found "
    "on every machine with up to 19 CPUs",
)
FOREIGN_BURST = Threshold(
    0.25,
    "of the CPU time of the affinity mask, used by others in over 1 % of the trial's time and for at least two seconds",
    "a burst hardly changes a mean, but the 99th percentile is the slowest hundredth of the operations: a burst that "
    "lasts longer sets it. A quarter is the limit for the CPUs outside the mask, and far above what one second's "
    "counters, which the kernel keeps in steps of 10 ms, can be wrong by",
)
BURST_TIME_SHARE = 0.01
"""A hundredth: see above."""
BURST_MIN_S = 2.0
"""One second may be loud by chance: a timer of the system, a counter that was read late."""
STEAL = Threshold(
    0.02,
    "of the CPU time of the affinity mask, or of the whole machine, over the trial",
    "time that the hypervisor withheld: two percent makes a CPU-bound rate wrong by about as much, which is "
    "more than the default margin of a tie (1.5 %)",
)
LEVEL_CHANGE = Threshold(
    MIN_CHANGE,
    "of the higher of two neighbouring levels of a series",
    "half of the 10 % that a detector must find: on a noisy machine none of our methods finds smaller steps reliably, "
    "and an interval of the median is wider ([detectors](../concepts/detectors.md))",
)
SUSTAINED_LENGTH = Threshold(
    MIN_SUSTAINED_VALUES,
    f"of a series, and {MIN_SUSTAINED_SHARE * 100:g} % of it, must follow a fall that lasts",
    "a judgement: checkpoints and garbage collections of a few seconds come and go, and a series may end in one; a "
    "fall of 30 % that is too short for this rule moves the mean by less than 6 %",
    words=f"{MIN_SUSTAINED_VALUES} values",
)
DIPS_COST = Threshold(
    0.015,
    "of the mean rate, lost in seconds below half of the usual rate",
    "the default margin of a tie: dips that cost less decide no comparison",
)
IDLE = Threshold(
    0.10,
    "of the time of its CPUs, and of its disk, that a machine may be busy while it counts as idle",
    "a judgement: a server that writes a checkpoint or compacts keeps a disk or a CPU busy, an idle guest uses one or "
    "two percent",
)
SAMPLER_GAP = Threshold(
    3,
    "between two readings of a sampler that reads once a second",
    "a reading that is late by two seconds had no CPU for as long, or its machine did not run",
    words="3 s",
)
SERIES_LENGTH = Threshold(
    60,
    "of a series, at least, to judge it",
    "the detector needs 20, and a minute covers checkpoints and garbage collections, which are not throttling",
    words="60 values",
)
CACHE_LATENCY = Threshold(
    4e-6,
    "of the median latency of reads",
    "the fastest disks on sale (Optane SSD P5800X) take 5 µs according to their data sheet, flash 60 µs and more; a "
    "system "
    "call and a copy from the page cache take 1 to 2 µs",
    words="4 µs",
)
DEVICE_BANDWIDTH = Threshold(
    15.75e9,
    "of reads of one file",
    "PCI Express 5.0 with four lanes, the widest link of one SSD; the reads of 16 to 35 GiB/s in the logs of 2019 came "
    "from the page cache",
    words="15.75 GB/s",
)
STRESS_LENGTH = Threshold(
    10,
    "of a CPU-bound phase, at least, whose start needs no allowance",
    "starting the workers takes up to 0.05 s on each CPU, which is half a percent of ten seconds",
    words="10 s",
)
STRESS_SHORTEST = Threshold(
    2,
    "of a CPU-bound phase, at least, to judge it",
    "below this the allowance for its start is larger than the limit itself",
    words="2 s",
)
STRESS_START = Threshold(
    0.05,
    "of a shorter CPU-bound phase that may also be missing: the time to start its workers",
    "see above. A phase of 1 s with 93 % of its CPUs is not contended",
    words="0.05 s",
)
ERRORS = Threshold(
    0.001,
    "of the operations attempted",
    "a failed operation is cheaper than a successful one, so errors inflate a rate; one in a thousand changes it by "
    "less than the margin of a tie",
)
RATE_KEPT = Threshold(
    0.99,
    "of the arrivals offered in the measurement interval must at least complete in it",
    "below this the system did not keep up, and its response times are those of a growing queue; the load generator "
    "exits with 4 at the same limit",
)
CLOCK_OFFSET = Threshold(
    0.25,
    "between the clock of a machine and the controller's",
    "intervals of a second are compared between machines: with two clocks 0.25 s off in opposite directions, half of "
    "each second overlaps with the next. It is also the difference allowed between several generators: "
    "`nephoscope-load merge` rejects shards that started over 500 ms apart. Clouds keep their clocks within 1 ms "
    "(Amazon Time Sync, chrony)",
    words="0.25 s",
)
CLOCK_STEP = Threshold(
    0.25,
    "by which the wall clock of a machine may move against its monotonic clock during a trial",
    "a tool that takes its duration from the wall clock errs by as much: 1 % of a trial of 25 s. A clock that is only "
    "disciplined moves both clocks alike; the sampler reads them microseconds apart, unless it has to wait for a CPU",
    words="0.25 s",
)
GENERATOR_STOP = Threshold(
    0.5,
    "at once, in which the load generator or a sampler itself stood still",
    "a stop so long shows in any series of seconds",
    is_share=False,
    words="0.5 s",
)
GENERATOR_STOPS = Threshold(
    0.005,
    "of the measurement interval, in which the load generator itself stood still",
    "half of what lies beyond p99, the highest percentile that is compared, and a third of the default margin of a "
    "tie: hosts pause virtual machines for a twentieth of a second, which decides nothing in a minute",
)
THREAD_BUSY = Threshold(
    0.80,
    "of the wall time of a thread of the load generator, in any second of the measurement interval",
    "a thread serves its connections one after the other: at 80 % an operation waits for four others on average "
    "(M/M/1: 1 / (1 - 0.8) = 5 service times), so latencies are the client's, and soon the rate is too",
)
CALIBRATION = Threshold(
    3,
    "times the trial's round trips per second, at least, as empty round trips on the same number of connections, if "
    "these keep a thread of the generator busy",
    "a judgement: whatever takes a third of an operation's time does not limit it",
    is_share=False,
)
PACING_ERROR = Threshold(
    0.001,
    "s of lateness at the 99th percentile, for operations that did not have to wait for a connection or a worker",
    "response times count from the moment an operation was due: what the generator adds must be small compared with "
    "the milliseconds of a transaction. 1 ms is also the timer of many runtimes (tokio)",
    is_share=False,
)
QUEUED_WHILE_IDLE = Threshold(
    0.01,
    "of operations started over 1 ms after they were due although a connection was free",
    "the same as a pacing error p99 over 1 ms, seen from the queue",
)
WAKE_UP = Threshold(
    5e-6,
    "of its wait for a CPU that a thread is allowed for each time that it wakes up",
    "an interrupt ends the sleep of an idle CPU, and a virtual machine then leaves the hypervisor: on a quiet one that "
    "took 0.7 to 4.2 µs, longer after longer sleeps. Every client pays this for each answer, and other threads hold a "
    "CPU far longer",
    is_share=False,
    words="5 µs",
)
RUN_QUEUE = Threshold(
    0.05,
    "of the wall time of a thread of the load generator spent ready but not running (/proc/self/task/*/schedstat), "
    "beyond the time that waking up takes",
    "a twentieth is the size of the differences that a study looks for; on its own machine the generator always finds "
    "an idle CPU",
)
THROTTLED = Threshold(
    0.01,
    "of the periods of 100 ms (cgroup nr_throttled)",
    "a throttled thread stops for up to 100 ms: one period in a hundred already reaches the 99th percentile",
)
SAMPLER_COST = Threshold(
    0.005,
    "of one core",
    "an observer must cost less than the differences it detects: on one CPU this is a third of the default margin of "
    "a tie",
)
EFFECTIVE_CPUS_MISSING = Threshold(
    0.02,
    "of the CPUs that CPU-bound stressors could keep busy (user time / real time, read from a log)",
    "the limit for steal, as seen from inside the machine. In the 222 public CPU logs of 2019 with more than 6 "
    "effective CPUs and nothing about another run in the I/O logs, 216 lack at most 0.15 % and 6 lack 6.4 % or more. "
    "Logs of runs that shared their machine lack between 0.06 and 31 %, so no limit finds all of these: "
    "`concurrent-run` does",
)

THRESHOLDS: dict[str, Threshold] = {
    name.lower().replace("_", "-"): limit for name, limit in tuple(vars().items()) if isinstance(limit, Threshold)
}
"""Name -> limit, of every one above."""
