//! Counters from the kernel's text files under `/proc`. Pure: text in, numbers out. A damaged line is left out, because
//! a missing number is not 0.

use serde::Serialize;

/// Time of one CPU (or of all: `cpu`) since boot, in jiffies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CpuTimes {
    /// `cpu`, `cpu0`, …
    pub cpu: String,
    /// In programs.
    pub user: u64,
    /// In programs of low priority.
    pub nice: u64,
    /// In the kernel.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while waiting for a disk.
    pub iowait: u64,
    /// In interrupts.
    pub irq: u64,
    /// In soft interrupts.
    pub softirq: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

/// Counters of one block device since boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiskCounters {
    /// `nvme0n1`
    pub name: String,
    /// Reads that completed.
    pub reads: u64,
    /// Sectors of 512 bytes read.
    pub read_sectors: u64,
    /// Writes that completed.
    pub writes: u64,
    /// Sectors of 512 bytes written.
    pub written_sectors: u64,
    /// Milliseconds with anything in flight.
    pub io_ms: u64,
}

/// Counters of one network interface since boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NetworkCounters {
    /// `eth0`
    pub name: String,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets dropped on receipt.
    pub rx_drops: u64,
    /// Packets dropped on sending.
    pub tx_drops: u64,
}

/// `/proc/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Times of all CPUs.
    pub cpus: Vec<CpuTimes>,
    /// How many processes can run.
    pub running: Option<u64>,
    /// Processes and threads started since boot.
    pub forks: Option<u64>,
}

/// Reads `/proc/stat`.
#[must_use]
pub fn stat(text: &str) -> Stat {
    let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Stat {
        cpus: text.lines().filter(|line| line.starts_with("cpu")).filter_map(cpu_times).collect(),
        running: number("procs_running "),
        forks: number("processes "),
    }
}

fn cpu_times(line: &str) -> Option<CpuTimes> {
    let mut words = line.split_ascii_whitespace();
    let cpu = words.next()?.to_owned();
    let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = *numbers.as_slice() else { return None };
    Some(CpuTimes { cpu, user, nice, system, idle, iowait, irq, softirq, steal })
}

/// `/proc/diskstats`, without devices that never did anything.
#[must_use]
pub fn diskstats(text: &str) -> Vec<DiskCounters> {
    let used = |disk: &DiskCounters| disk.reads > 0 || disk.writes > 0;
    text.lines().filter_map(disk).filter(used).collect()
}

fn disk(line: &str) -> Option<DiskCounters> {
    let mut words = line.split_ascii_whitespace().skip(2); // major, minor
    let name = words.next()?.to_owned();
    let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [reads, _, read_sectors, _, writes, _, written_sectors, _, _, io_ms, ..] = *numbers.as_slice() else {
        return None;
    };
    Some(DiskCounters { name, reads, read_sectors, writes, written_sectors, io_ms })
}

/// `/proc/net/dev`.
#[must_use]
pub fn net_dev(text: &str) -> Vec<NetworkCounters> {
    text.lines().filter_map(network).collect()
}

fn network(line: &str) -> Option<NetworkCounters> {
    let (name, counters) = line.split_once(':')?;
    let numbers: Vec<u64> = counters.split_ascii_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [rx_bytes, _, _, rx_drops, _, _, _, _, tx_bytes, _, _, tx_drops, ..] = *numbers.as_slice() else { return None };
    Some(NetworkCounters { name: name.trim().to_owned(), rx_bytes, tx_bytes, rx_drops, tx_drops })
}

/// Bytes of a line such as `VmHWM:     2048 kB`, by its name with the colon.
#[must_use]
pub fn kib_line(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The load of the last minute, from `/proc/loadavg`.
#[must_use]
pub fn load_1m(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// The number that the newest process or thread got, from `/proc/loadavg`.
#[must_use]
pub fn last_pid(text: &str) -> Option<i32> {
    text.split_ascii_whitespace().nth(4)?.parse().ok()
}

/// Microseconds in which some process waited for a CPU, from `/proc/pressure/cpu`.
#[must_use]
pub fn pressure_some_us(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// Nanoseconds on a CPU, and ready but not on one, and how often it got one, from `/proc/…/schedstat`.
#[must_use]
pub fn schedstat(text: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = text.split_ascii_whitespace().map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// User + system in jiffies, from `/proc/…/stat`.
#[must_use]
pub fn task_ticks(text: &str) -> Option<u64> {
    // The name in brackets may hold anything, brackets and blanks too.
    let mut words = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let user: u64 = words.nth(11)?.parse().ok()?;
    Some(user + words.next()?.parse::<u64>().ok()?)
}

/// How often a thread had to leave its CPU, from `/proc/…/status`.
#[must_use]
pub fn involuntary_switches(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?.trim().parse().ok()
}

/// TCP segments sent again, from `/proc/net/snmp`: a line of names, and one of numbers.
#[must_use]
pub fn retransmitted_segments(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let place = lines.next()?.split_ascii_whitespace().position(|name| name == "RetransSegs")?;
    lines.next()?.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// Where `cpu.stat` of this process's group may lie, by `/proc/self/cgroup`: version 2 and 1, and as a container sees
/// it.
#[must_use]
pub fn cpu_stat_files(cgroup: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let path = path.trim_end_matches('/');
        if controllers.is_empty() {
            files.push(format!("/sys/fs/cgroup{path}/cpu.stat"));
            files.push("/sys/fs/cgroup/cpu.stat".to_owned());
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            files.push(format!("/sys/fs/cgroup/{controllers}{path}/cpu.stat"));
            files.push(format!("/sys/fs/cgroup/cpu{path}/cpu.stat"));
            files.push("/sys/fs/cgroup/cpu/cpu.stat".to_owned());
        }
    }
    files
}

/// Periods of a group's quota of CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QuotaPeriods {
    /// In which the group ran.
    pub periods: u64,
    /// In which it used its quota up.
    pub throttled_periods: u64,
}

impl QuotaPeriods {
    /// With more of both.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            periods: self.periods + more.periods,
            throttled_periods: self.throttled_periods + more.throttled_periods,
        }
    }

    /// What came since `earlier`; a group that was made anew counts from 0.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled_periods: self.throttled_periods.saturating_sub(earlier.throttled_periods),
        }
    }
}

/// Those of `cpu.stat`; `None` where it says nothing of a quota.
#[must_use]
pub fn quota_periods(text: &str) -> Option<QuotaPeriods> {
    let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Some(QuotaPeriods { periods: number("nr_periods ")?, throttled_periods: number("nr_throttled ")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 2 30 4000 5 0 7 8 0 0\n\
                        cpu0 60 1 20 2000 3 0 4 5 0 0\n\
                        cpu1 x 1 10 2000 2 0 3 3 0 0\n\
                        cpu2 40 1 10\n\
                        intr 12345 0 0\n\
                        processes 77\n\
                        procs_running 3\n";

    #[test]
    fn cpu_times_and_a_damaged_line() {
        let Stat { cpus, running, forks } = stat(STAT);
        assert_eq!((running, forks), (Some(3), Some(77)));
        let names: Vec<_> = cpus.iter().map(|cpu| cpu.cpu.as_str()).collect();
        assert_eq!(names, ["cpu", "cpu0"], "cpu1 and cpu2 are damaged");
        assert_eq!((cpus[0].user, cpus[0].idle, cpus[0].softirq, cpus[0].steal), (100, 4000, 7, 8));
        assert_eq!(stat(""), Stat { cpus: Vec::new(), running: None, forks: None });
    }

    #[test]
    fn disks() {
        let text = " 259 0 nvme0n1 10 1 800 5 20 2 1600 9 0 77 14 0 0 0 0 0 0\n   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n  8 0 sda 1 2\n";
        let disk = DiskCounters {
            name: "nvme0n1".to_owned(),
            reads: 10,
            read_sectors: 800,
            writes: 20,
            written_sectors: 1600,
            io_ms: 77,
        };
        assert_eq!(diskstats(text), [disk]);
    }

    #[test]
    fn networks() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
            lo: 500 5 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n  \
            eth0:1000 9 0 1 0 0 0 0 2000 8 0 2 0 0 0 0\n  eth1: 3\n";
        let networks = net_dev(text);
        assert_eq!(networks.len(), 2);
        let eth0 =
            NetworkCounters { name: "eth0".to_owned(), rx_bytes: 1000, tx_bytes: 2000, rx_drops: 1, tx_drops: 2 };
        assert_eq!(networks[1], eth0);
    }

    #[test]
    fn load_and_pressure() {
        assert_eq!(load_1m("0.42 0.30 0.10 1/234 5678\n"), Some(0.42));
        assert_eq!((load_1m("nonsense"), last_pid("0.42 0.30 0.10 1/234")), (None, None));
        assert_eq!(last_pid("0.42 0.30 0.10 1/234 5678\n"), Some(5678));
        assert_eq!(
            pressure_some_us("some avg10=0.00 avg60=0.00 avg300=0.00 total=98765\nfull total=1\n"),
            Some(98_765)
        );
        assert_eq!(pressure_some_us("full avg10=0.00 total=1\n"), None);
    }

    #[test]
    fn threads() {
        assert_eq!(schedstat("123456 789 42\n"), Some((123_456, 789, 42)));
        assert_eq!(schedstat("12 3"), None);
        let stat = "77 (a) b) S 1 1 1 0 -1 4194560 10 0 0 0 250 50 0 0 20 0 4 0 100 1 1\n";
        assert_eq!(task_ticks(stat), Some(300));
        assert_eq!(task_ticks("77 (a"), None);
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t17\n";
        assert_eq!((involuntary_switches(status), involuntary_switches("")), (Some(17), None));
    }

    #[test]
    fn retransmissions() {
        let text = "Ip: Forwarding\nIp: 1\nTcp: ActiveOpens RetransSegs InErrs\nTcp: 9 31 0\nUdp: InErrors\nUdp: 0\n";
        assert_eq!((retransmitted_segments(text), retransmitted_segments("Tcp: A\n")), (Some(31), None));
    }

    #[test]
    fn throttling_by_either_version_of_cgroups() {
        assert_eq!(cpu_stat_files("0::/a/b\n"), ["/sys/fs/cgroup/a/b/cpu.stat", "/sys/fs/cgroup/cpu.stat"]);
        let version_1 = cpu_stat_files("5:memory:/x\n4:cpu,cpuacct:/docker/y\n");
        assert_eq!(
            version_1[..2],
            ["/sys/fs/cgroup/cpu,cpuacct/docker/y/cpu.stat", "/sys/fs/cgroup/cpu/docker/y/cpu.stat"]
        );
        assert_eq!(
            quota_periods("usage_usec 5\nnr_periods 3\nnr_throttled 2\n"),
            Some(QuotaPeriods { periods: 3, throttled_periods: 2 })
        );
        assert_eq!((quota_periods("usage_usec 5\n"), quota_periods("nr_periods 3\n")), (None, None));
    }
}
