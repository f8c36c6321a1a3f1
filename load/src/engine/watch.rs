//! Whether the generator itself stood still. A load that nobody sent looks like a server that did nothing, so the
//! coordinator compares when it wanted to wake with when it woke.
//!
//! What it lost beyond its sleep has an explanation, or none. It ran (CPU time), it was ready and did not get a CPU
//! (run queue), its quota of CPU time was used up, or the hypervisor took the CPU (steal): then the machine was busy,
//! and the generator late. None of these: the process was stopped by a signal, frozen, or suspended with its machine.
//! The host of a virtual machine may pause it, too, and need not call that steal: on one of two CPUs, threads that
//! nothing can delay woke 18 ms late on both at once, without a tick of it.
//!
//! The coordinator alone cannot know, since it also waits for whoever reads its output. So every thread that drives is
//! a witness: it never sleeps longer than 20 ms and waits for nothing else. Only if all were silent did the process
//! stand still. A thread compares two readings of the clock that it makes anyway; the coordinator reads one clock more,
//! and its own counters, twenty times a second.

use crate::agent::telemetry::parse;
use crate::clock::{Clock, boot_ns};
use crate::output::{Gap, GapKind};
use crate::record::{Gauges, Lanes};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

/// Less than this without an explanation is no event. Of 7,363 sleeps of 50 ms on two CPUs with 32 busy threads, one
/// ended 724 ms late, and none over 20 ms later than its waits for a CPU explain.
const SHORTEST_NS: u64 = 50_000_000;
/// No thread waits for a CPU for so long, even beside many that are preferred to it.
const LONG_SILENCE_NS: u64 = 1_000_000_000;
/// How long threads may take to say that they were silent, once the process goes on.
const HEARING_NS: u64 = 1_000_000_000;
/// More events are counted by nobody: what they would say is said.
const MOST_GAPS: usize = 1_000;
const NS_PER_S: f64 = 1e9;

/// Between two moments at which the coordinator woke, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    /// On the clock of the load, which stands still with a suspended machine.
    load_ns: u64,
    /// How much further the clock went that goes on meanwhile.
    suspended_ns: u64,
    /// How long it wanted to sleep.
    sleep_ns: u64,
    cpu_ns: u64,
    run_queue_ns: u64,
}

/// What the kernel took from the machine or from the process's group since a while: bounds from above.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    /// By the hypervisor, from the CPU that lost most.
    pub(super) steal_ns: u64,
    /// By a quota.
    pub(super) throttled_ns: u64,
}

/// What became of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    InTime,
    Late {
        ns: u64,
    },
    /// This long, if all threads were silent; `certain` if the machine was suspended.
    Stopped {
        ns: u64,
        certain: bool,
    },
}

impl Passed {
    fn late_ns(self) -> u64 {
        self.load_ns.saturating_sub(self.sleep_ns + self.cpu_ns)
    }

    fn judge(self, taken: Taken) -> Judgement {
        let late_ns = self.late_ns();
        let explained_ns = self.run_queue_ns + taken.steal_ns + taken.throttled_ns;
        if self.suspended_ns >= SHORTEST_NS {
            Judgement::Stopped { ns: self.suspended_ns, certain: true }
        } else if late_ns < SHORTEST_NS {
            Judgement::InTime
        } else if late_ns.saturating_sub(explained_ns) < SHORTEST_NS {
            Judgement::Late { ns: late_ns }
        } else {
            Judgement::Stopped { ns: late_ns, certain: false }
        }
    }
}

/// What the coordinator knows when it wakes.
#[derive(Debug, Clone, Copy)]
struct Moment {
    load_ns: u64,
    cpu_ns: u64,
    run_queue_ns: u64,
}

/// A gap without explanation, until all threads have been heard.
#[derive(Debug)]
struct Suspicion {
    began_ns: u64,
    woke_ns: u64,
    ns: u64,
    /// The longest silence of each thread since; without end if the thread drove no more when the gap began.
    silent_ns: Vec<u64>,
}

impl Suspicion {
    /// How long the process stood still; `None` while a thread has not been silent for long enough.
    ///
    /// The coordinator may have waited for its reader, and a thread that waits for a CPU is silent for a moment: so the
    /// silence must be a good part of the gap, or longer than such a wait.
    fn confirmed_ns(&self) -> Option<u64> {
        let shortest_ns = self.silent_ns.iter().copied().min().unwrap_or(u64::MAX);
        let needed_ns = (self.ns / 2).clamp(SHORTEST_NS, LONG_SILENCE_NS).min(self.ns);
        (shortest_ns >= needed_ns).then_some(if shortest_ns == u64::MAX { self.ns } else { shortest_ns })
    }
}

/// Watches over the coordinator's own wakes.
#[derive(Debug)]
pub(super) struct Watch {
    /// `None` where the kernel does not count waits for a CPU: then nobody can tell why the coordinator was late.
    counters: Option<File>,
    clock: Clock,
    /// By how much the clock that goes on while the machine is suspended is ahead of the load's.
    ahead_ns: u64,
    last: Moment,
    suspicions: Vec<Suspicion>,
    gaps: Vec<Gap>,
}

impl Watch {
    /// Of the calling thread, from now on.
    pub(super) fn start(clock: Clock) -> Self {
        let counters = File::open("/proc/thread-self/schedstat").ok().filter(|file| counters(file).is_some());
        let load_ns = clock.now_ns();
        let unseen = Moment { load_ns, cpu_ns: 0, run_queue_ns: 0 };
        let last = moment(counters.as_ref(), load_ns).unwrap_or(unseen);
        Self { counters, clock, ahead_ns: ahead_ns(clock), last, suspicions: Vec::new(), gaps: Vec::new() }
    }

    /// The coordinator wanted to sleep for so long, and woke now.
    pub(super) fn woke(&mut self, load_ns: u64, sleep_ns: u64, lanes: &Lanes, taken: impl FnOnce() -> Taken) {
        let Some(now) = moment(self.counters.as_ref(), load_ns) else { return };
        let last = std::mem::replace(&mut self.last, now);
        let passed = Passed {
            load_ns: now.load_ns.saturating_sub(last.load_ns),
            suspended_ns: self.suspended_ns(load_ns),
            sleep_ns,
            cpu_ns: now.cpu_ns.saturating_sub(last.cpu_ns),
            run_queue_ns: now.run_queue_ns.saturating_sub(last.run_queue_ns),
        };
        let late = passed.late_ns() >= SHORTEST_NS;
        match passed.judge(if late { taken() } else { Taken::default() }) {
            Judgement::InTime => {}
            Judgement::Late { ns } => self.report(GapKind::Delayed, last.load_ns, ns),
            Judgement::Stopped { ns, certain: true } => self.report(GapKind::Stopped, last.load_ns, ns),
            Judgement::Stopped { ns, certain: false } => {
                let silent_ns = lanes.gauges().map(|gauges| silence_so_far(gauges, last.load_ns)).collect();
                self.suspicions.push(Suspicion { began_ns: last.load_ns, woke_ns: load_ns, ns, silent_ns });
            }
        }
        self.hear(load_ns, lanes);
    }

    /// How long the machine was suspended since the last time.
    fn suspended_ns(&mut self, load_ns: u64) -> u64 {
        if boot_ns().saturating_sub(load_ns + self.ahead_ns) < SHORTEST_NS {
            return 0;
        }
        // Or this thread lost its CPU between the two clocks.
        let ahead_ns = ahead_ns(self.clock);
        let suspended_ns = ahead_ns.saturating_sub(self.ahead_ns);
        self.ahead_ns = ahead_ns;
        suspended_ns
    }

    /// Takes how long each thread was silent, and ends suspicions that are confirmed, or too old.
    fn hear(&mut self, load_ns: u64, lanes: &Lanes) {
        let silent_ns: Vec<u64> = lanes.gauges().map(|gauges| gauges.silent_ns.swap(0, Ordering::Relaxed)).collect();
        for mut suspicion in std::mem::take(&mut self.suspicions) {
            for (longest_ns, &ns) in suspicion.silent_ns.iter_mut().zip(&silent_ns) {
                *longest_ns = ns.max(*longest_ns);
            }
            if let Some(ns) = suspicion.confirmed_ns() {
                self.report(GapKind::Stopped, suspicion.began_ns, ns);
            } else if load_ns < suspicion.woke_ns + HEARING_NS {
                self.suspicions.push(suspicion);
            }
        }
    }

    fn report(&mut self, kind: GapKind, at_ns: u64, ns: u64) {
        if self.gaps.len() < MOST_GAPS {
            self.gaps.push(Gap { kind, at_s: at_ns as f64 / NS_PER_S, length_s: ns as f64 / NS_PER_S });
        }
    }

    /// Everything that was seen, once no thread drives any more.
    pub(super) fn end(mut self, lanes: &Lanes) -> Vec<Gap> {
        self.hear(u64::MAX, lanes);
        self.gaps.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        self.gaps
    }
}

/// Of a thread, for a gap that began then, before it is heard: only one that had ended is silent already.
fn silence_so_far(thread: &Gauges, began_ns: u64) -> u64 {
    let ended_ns = thread.ended_ns.load(Ordering::Relaxed);
    if (1..=began_ns).contains(&ended_ns) { u64::MAX } else { 0 }
}

fn moment(file: Option<&File>, load_ns: u64) -> Option<Moment> {
    let (cpu_ns, run_queue_ns) = counters(file?)?;
    Some(Moment { load_ns, cpu_ns, run_queue_ns })
}

/// The least of several differences: a thread may lose its CPU between two clocks, but not each time.
fn ahead_ns(clock: Clock) -> u64 {
    let differences = (0..5).map(|_| {
        let load_ns = clock.now_ns();
        boot_ns().saturating_sub(load_ns)
    });
    differences.min().unwrap_or(0)
}

/// CPU time and waits of a thread.
fn counters(file: &File) -> Option<(u64, u64)> {
    let mut bytes = [0; 80];
    let length = file.read_at(&mut bytes, 0).ok()?;
    let (cpu_ns, run_queue_ns, _) = parse::schedstat(std::str::from_utf8(&bytes[..length]).ok()?)?;
    Some((cpu_ns, run_queue_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn only_a_gap_that_nothing_explains_is_a_stop() {
        let slept = Passed { load_ns: 50 * MS, sleep_ns: 50 * MS, ..Passed::default() };
        let woke_after = |ms: u64| Passed { load_ns: ms * MS, ..slept };
        let nothing = Taken::default();
        let stopped = |ms: u64, certain| Judgement::Stopped { ns: ms * MS, certain };
        let late = |ms: u64| Judgement::Late { ns: ms * MS };
        for (passed, taken, judgement) in [
            (slept, nothing, Judgement::InTime),
            (woke_after(99), nothing, Judgement::InTime),
            (woke_after(100), nothing, stopped(50, false)),
            (woke_after(6_050), nothing, stopped(6_000, false)),
            (Passed { cpu_ns: 6_000 * MS, ..woke_after(6_050) }, nothing, Judgement::InTime),
            (Passed { run_queue_ns: 5_960 * MS, ..woke_after(6_050) }, nothing, late(6_000)),
            (Passed { run_queue_ns: 900 * MS, ..woke_after(6_050) }, nothing, stopped(6_000, false)),
            (woke_after(350), Taken { steal_ns: 260 * MS, throttled_ns: 0 }, late(300)),
            (woke_after(350), Taken { steal_ns: 0, throttled_ns: 300 * MS }, late(300)),
            // The clock of the load stands still with a suspended machine.
            (Passed { suspended_ns: 3_000 * MS, ..slept }, nothing, stopped(3_000, true)),
        ] {
            assert_eq!(passed.judge(taken), judgement, "{passed:?} {taken:?}");
        }
    }

    #[test]
    fn a_stop_needs_every_thread_to_have_been_silent_and_is_as_long_as_the_shortest_silence() {
        for (silent_ms, confirmed_ms) in [
            (vec![2_020, 2_001], Some(2_001)),
            (vec![2_020, 15], None),
            (vec![2_020, 0], None),
            // Threads that waited for a CPU while the coordinator waited for its reader.
            (vec![150, 220], None),
            (vec![1_200, 1_010], Some(1_010)),
            (vec![u64::MAX / MS, 2_001], Some(2_001)),
            (vec![], Some(1_990)),
        ] {
            let silent_ns = silent_ms.iter().map(|ms| ms * MS).collect();
            let suspicion = Suspicion { began_ns: 0, woke_ns: 2_050 * MS, ns: 1_990 * MS, silent_ns };
            assert_eq!(suspicion.confirmed_ns(), confirmed_ms.map(|ms| ms * MS), "{silent_ms:?}");
        }
    }

    #[test]
    fn a_thread_that_ended_before_a_gap_is_no_witness_and_one_that_ended_in_it_is() {
        let thread = Gauges::default();
        assert_eq!(silence_so_far(&thread, 7), 0);
        thread.ended_ns.store(7, Ordering::Relaxed);
        assert_eq!([6, 7, 8].map(|began_ns| silence_so_far(&thread, began_ns)), [0, u64::MAX, u64::MAX]);
    }
}
