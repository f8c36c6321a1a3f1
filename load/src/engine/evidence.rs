//! Whether the generator itself was the bottleneck: what the kernel reports about its threads and about the machine.
//! Each closing of an interval takes differences.

use super::watch::Taken;
use crate::agent::telemetry::parse;
use crate::agent::telemetry::quota::Quota;
use crate::output::{NetworkUse, ThreadUse};
use std::fs;

/// The period of a CPU quota, unless somebody set another one.
const QUOTA_PERIOD_NS: u64 = 100_000_000;

/// Reads the kernel's counters and remembers them.
#[derive(Debug)]
pub(super) struct Evidence {
    threads: Vec<i32>,
    last: Reading,
    quota: Quota,
}

/// What one interval showed.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) threads: Vec<ThreadUse>,
    pub(super) steal_s: Option<f64>,
    pub(super) machine_cpus: Option<usize>,
    pub(super) throttled: Option<u64>,
    pub(super) network: Option<NetworkUse>,
}

#[derive(Debug, Default)]
struct Reading {
    threads: Vec<Option<ThreadUse>>,
    steal_s: Option<f64>,
    /// Of each CPU, in ticks.
    stolen: Vec<u64>,
    machine_cpus: Option<usize>,
    throttled: Option<u64>,
    network: Option<NetworkUse>,
}

impl Evidence {
    /// Of these threads (their numbers in the kernel), from now on.
    pub(super) fn of(threads: Vec<i32>) -> Self {
        let mut evidence = Self { threads, last: Reading::default(), quota: Quota::of_this_process() };
        evidence.last = evidence.read();
        evidence
    }

    /// What has happened since the last time.
    pub(super) fn since(&mut self) -> Shown {
        let now = self.read();
        let last = std::mem::replace(&mut self.last, now);
        let now = &self.last;
        let threads = now.threads.iter().zip(last.threads).map(|(now, last)| grown(*now, last)).collect();
        Shown {
            threads,
            steal_s: now.steal_s.zip(last.steal_s).map(|(now, last)| (now - last).max(0.0)),
            machine_cpus: now.machine_cpus,
            throttled: difference(now.throttled, last.throttled),
            network: now.network.zip(last.network).map(|(now, last)| NetworkUse {
                sent_bytes: now.sent_bytes.saturating_sub(last.sent_bytes),
                received_bytes: now.received_bytes.saturating_sub(last.received_bytes),
                retransmitted_segments: now.retransmitted_segments.saturating_sub(last.retransmitted_segments),
                dropped_packets: now.dropped_packets.saturating_sub(last.dropped_packets),
            }),
        }
    }

    /// What was taken since the last time that somebody asked what has happened.
    pub(super) fn taken(&self) -> Taken {
        let now = self.read();
        let lost = now.stolen.iter().zip(&self.last.stolen).map(|(now, last)| now.saturating_sub(*last)).max();
        let ticks = lost.unwrap_or(0);
        Taken {
            steal_ns: ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second(),
            throttled_ns: difference(now.throttled, self.last.throttled).unwrap_or(0) * QUOTA_PERIOD_NS,
        }
    }

    fn read(&self) -> Reading {
        let cpus = parse::stat(&read("/proc/stat")).cpus;
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        Reading {
            threads: self.threads.iter().map(|&thread| thread_use(thread)).collect(),
            steal_s: cpus.iter().find(|cpu| cpu.cpu == "cpu").map(|cpu| cpu.steal as f64 / ticks_per_s),
            stolen: cpus.iter().filter(|cpu| cpu.cpu != "cpu").map(|cpu| cpu.steal).collect(),
            machine_cpus: cpus.len().checked_sub(1).filter(|&single| single > 0),
            throttled: self.quota.periods().map(|quota| quota.throttled_periods),
            network: network(),
        }
    }
}

/// Counters of a thread since its start; `None` when it has ended.
fn thread_use(thread: i32) -> Option<ThreadUse> {
    let of = |file: &str| read(&format!("/proc/self/task/{thread}/{file}"));
    let scheduled = parse::schedstat(&of("schedstat"));
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    let cpu_s = match scheduled {
        Some((cpu_ns, ..)) => cpu_ns as f64 * 1e-9,
        None => parse::task_ticks(&of("stat"))? as f64 / ticks_per_s,
    };
    Some(ThreadUse {
        cpu_s,
        run_queue_s: scheduled.map(|(_, wait_ns, _)| wait_ns as f64 * 1e-9),
        runs: scheduled.map(|(_, _, runs)| runs),
        involuntary_switches: parse::involuntary_switches(&of("status")),
    })
}

/// Nothing, for a thread that has ended meanwhile.
fn grown(now: Option<ThreadUse>, last: Option<ThreadUse>) -> ThreadUse {
    let nothing = ThreadUse { cpu_s: 0.0, run_queue_s: None, runs: None, involuntary_switches: None };
    let Some((now, last)) = now.zip(last) else { return nothing };
    ThreadUse {
        cpu_s: (now.cpu_s - last.cpu_s).max(0.0),
        run_queue_s: now.run_queue_s.zip(last.run_queue_s).map(|(now, last)| (now - last).max(0.0)),
        runs: difference(now.runs, last.runs),
        involuntary_switches: difference(now.involuntary_switches, last.involuntary_switches),
    }
}

fn network() -> Option<NetworkUse> {
    let interfaces = parse::net_dev(&read("/proc/net/dev"));
    let retransmitted_segments = parse::retransmitted_segments(&read("/proc/net/snmp"))?;
    Some(NetworkUse {
        sent_bytes: interfaces.iter().map(|it| it.tx_bytes).sum(),
        received_bytes: interfaces.iter().map(|it| it.rx_bytes).sum(),
        retransmitted_segments,
        dropped_packets: interfaces.iter().map(|it| it.rx_drops + it.tx_drops).sum(),
    })
}

fn difference(now: Option<u64>, last: Option<u64>) -> Option<u64> {
    now.zip(last).map(|(now, last)| now.saturating_sub(last))
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_thread_that_works_is_seen_to_work() {
        let mut evidence = Evidence::of(vec![rustix::thread::gettid().as_raw_nonzero().get(), i32::MAX]);
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(60) {
            std::hint::black_box(began.elapsed());
        }
        let shown = evidence.since();
        assert!(shown.threads[0].cpu_s > 0.005, "{:?}", shown.threads);
        let runs = |runs| Some(ThreadUse { cpu_s: 1.0, run_queue_s: Some(0.5), runs, involuntary_switches: None });
        assert_eq!(grown(runs(Some(9)), runs(Some(4))).runs, Some(5), "not since the thread began");
        assert_eq!(grown(runs(None), runs(Some(4))).runs, None);
        let nothing = ThreadUse { cpu_s: 0.0, run_queue_s: None, runs: None, involuntary_switches: None };
        assert_eq!(shown.threads[1], nothing);
    }
}
