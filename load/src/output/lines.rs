//! JSON lines on stdout, `nephoscope/load-output/1`.
//!
//! The structs mirror `nephoscope.benchmarks.load.contract` field by field. Times are seconds since the start of the
//! action on the monotonic clock, unless a name says otherwise.

use super::outcome::Outcome;
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Name and version of the format.
pub const SCHEMA: &str = "nephoscope/load-output/1";

/// One line.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// First line: what is about to happen.
    Started(Started),
    /// One line a second while running.
    Interval(Interval),
    /// Last line; its absence means that the program died.
    Finished(Box<Finished>),
}

/// What is about to happen, with the spec in force.
#[derive(Debug, Clone, Serialize)]
pub struct Started {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Of this program.
    pub version: &'static str,
    /// Defaults filled in, no secret in it.
    pub spec: Spec,
    /// Wall clock, milliseconds since the Unix epoch.
    pub at_unix_ms: u64,
    /// As the server reports it; `None` when it cannot be reached.
    pub server_version: Option<String>,
}

/// HDR V2-deflate base64, nanoseconds, 3 significant digits, 0 to 1 h.
#[derive(Debug, Clone, Serialize)]
pub struct Histograms {
    /// send - scheduled
    pub queue: String,
    /// done - send, retries included
    pub service: String,
    /// done - scheduled
    pub response: String,
}

/// What ended in one interval, of one operation with one outcome.
#[derive(Debug, Clone, Serialize)]
pub struct OperationInterval {
    /// The workload's name for it.
    pub operation: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// How often.
    pub count: u64,
    /// How long it took.
    pub histograms: Histograms,
    /// Values above 1 h: counted here, in no histogram.
    pub out_of_range: u64,
}

/// Whether an error was overcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The operation was retried.
    Retried,
    /// The operation was given up.
    Failed,
}

/// Errors by SQLSTATE, or a word in its place: `lost` (connection), `data` (rows that cannot be), `protocol`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorCount {
    /// The operation that met them.
    pub operation: &'static str,
    /// Five characters, or the word.
    pub sqlstate: String,
    /// Overcome or not.
    pub kind: ErrorKind,
    /// How many.
    pub count: u64,
}

/// What one thread of the generator used in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ThreadUse {
    /// User + system.
    pub cpu_s: f64,
    /// Ready to run and not running; `None` where the kernel does not report it.
    pub run_queue_s: Option<f64>,
    /// How often it got a CPU; `None` where the kernel does not report it.
    pub runs: Option<u64>,
    /// How often it had to give up its CPU.
    pub involuntary_switches: Option<u64>,
}

/// What the machine's network counters grew by in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NetworkUse {
    /// Of all interfaces.
    pub sent_bytes: u64,
    /// Of all interfaces.
    pub received_bytes: u64,
    /// Of TCP.
    pub retransmitted_segments: u64,
    /// Of all interfaces, both ways.
    pub dropped_packets: u64,
}

/// What the generator itself used in one interval, and whether it was late. `None`: unknown.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ClientUse {
    /// User + system of all threads.
    pub cpu_s: f64,
    /// Operations in flight at the end of the interval.
    pub in_flight: u64,
    /// Of each thread that drives.
    pub threads: Vec<ThreadUse>,
    /// Taken from the machine's CPUs by its hypervisor.
    pub steal_s: Option<f64>,
    /// CPUs of the machine that are online.
    pub machine_cpus: Option<usize>,
    /// Periods in which the cgroup's CPU quota was used up.
    pub throttled: Option<u64>,
    /// HDR histogram of taken - intended, of operations that waited for no connection. `None`: nothing was paced.
    pub pacing_error: Option<String>,
    /// Due and not started at the end of the interval.
    pub queued: u64,
    /// Taken later than 1 ms after they were due, although a connection was free.
    pub queued_while_idle: u64,
    /// Connections that the server or the network ended, with an operation on them or without.
    pub connections_lost: u64,
    /// Of the whole machine.
    pub network: Option<NetworkUse>,
}

/// Single attempts of one operation, where one of them was retried in the interval; else an attempt is the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttemptInterval {
    /// The workload's name for it.
    pub operation: &'static str,
    /// How many attempts.
    pub count: u64,
    /// HDR: from an attempt's first byte on the way to its end.
    pub histogram: String,
}

/// Whether an interval is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Driven but not measured.
    Ramp,
    /// Measured.
    Measure,
}

/// One line a second. An operation belongs to the interval in which it ended.
#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    /// From 0.
    pub index: u64,
    /// Ramp or measurement.
    pub phase: Phase,
    /// Wall clock at `start_s`, milliseconds since the Unix epoch. Read once, when the load starts: a step of the wall
    /// clock meanwhile does not show.
    pub at_unix_ms: u64,
    /// Inclusive. Since the load started, when all connections were open: not since the start of the action.
    pub start_s: f64,
    /// Exclusive.
    pub end_s: f64,
    /// What ended.
    pub operations: Vec<OperationInterval>,
    /// How many operations ended that did not fail, in each 100 ms of the interval; its last part may be shorter.
    pub ended_per_100_ms: Vec<u64>,
    /// The longest time for which a client that had work was without success, of those that ended in the interval.
    /// `None` when no operation succeeded.
    pub longest_gap_s: Option<f64>,
    /// What went wrong.
    pub errors: Vec<ErrorCount>,
    /// How long single attempts took.
    pub attempts: Vec<AttemptInterval>,
    /// Arrivals that were due in the interval; `None` in the closed pace.
    pub offered: Option<u64>,
    /// The generator's own cost.
    pub client: ClientUse,
}

/// A quantity the generator drew, and the range its specification allows.
#[derive(Debug, Clone, Serialize)]
pub struct AuditLine {
    /// What was drawn.
    pub name: String,
    /// Its mean or share.
    pub observed: f64,
    /// Lowest allowed value.
    pub low: f64,
    /// Highest allowed value.
    pub high: f64,
    /// Number of draws behind it.
    pub draws: u64,
    /// `None`: too few draws to judge.
    pub passed: Option<bool>,
}

/// One consistency condition.
#[derive(Debug, Clone, Serialize)]
pub struct ConditionResult {
    /// Its number in the workload's specification.
    pub number: u8,
    /// What must hold, in words.
    pub text: String,
    /// Whether it does.
    pub holds: bool,
    /// How many rows contradict it.
    pub violations: u64,
    /// One of them.
    pub example: Option<String>,
}

/// The server's own count of something over the whole action, against the client's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterResult {
    /// The counter.
    pub name: String,
    /// Its value before the first operation; `None` for statistics: only their growth is known.
    pub before: Option<i64>,
    /// Its value after the last one.
    pub after: Option<i64>,
    /// How much it changed.
    pub server: i64,
    /// How much it must have, at least.
    pub client: i64,
    /// How much more it may have: operations whose commit was sent and never answered, and of the server's statistics
    /// whatever may be counted there beside what committed.
    pub in_doubt: i64,
    /// `server` lies in `client` to `client + in_doubt`. Of a shard alone: is at least `client`, since the server
    /// counts the other shards' work, too; once they are merged, the sum is compared with both ends.
    pub agrees: bool,
}

/// What loading wrote into one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableLoad {
    /// Its name.
    pub table: String,
    /// Rows written.
    pub rows: u64,
    /// Bytes of the COPY stream.
    pub bytes: u64,
}

/// A table as the server has it, against what its seed makes: equal right after a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FingerprintResult {
    /// Its name.
    pub table: String,
    /// Rows it has.
    pub rows: u64,
    /// The sum of the hashes of its rows, modulo 2^64, in hexadecimal.
    pub hash: String,
    /// Rows its seed makes.
    pub expected_rows: u64,
    /// The hash of those.
    pub expected: String,
}

/// Counts of one operation with one outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationTotal {
    /// The workload's name for it.
    pub operation: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// Over the measurement interval alone.
    pub measured: u64,
    /// Over the whole action.
    pub all: u64,
}

/// Round trips of one operation over the whole action, whatever its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoundTrips {
    /// The workload's name for it.
    pub operation: &'static str,
    /// Exchanges with the server.
    pub round_trips: u64,
    /// How many operations took them.
    pub operations: u64,
}

/// TPC-C's number. `None` where one would mean nothing: without waits, or with scaled ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Headline {
    /// Committed, and rolled back by design (the specification counts these).
    pub new_orders_per_minute: f64,
    /// Mean over all transactions.
    pub round_trips_per_transaction: Option<f64>,
    /// New-Orders per minute with the specification's waits, truncated.
    pub tpmc: Option<f64>,
    /// The exact rate / (12.86 x active warehouses): the specification's mix.
    pub efficiency_of_12_86_percent: Option<f64>,
    /// The exact rate / (12.605 x active warehouses): the deck of 23 cards.
    pub efficiency_of_12_605_percent: Option<f64>,
}

/// Why the generator did nothing for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// Stopped by a signal, frozen, or suspended with its machine: nothing else explains it.
    Stopped,
    /// It was ready, and others had the CPU.
    Delayed,
}

/// A time in which the generator itself did nothing though it wanted to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gap {
    /// Why.
    pub kind: GapKind,
    /// When it was last seen at work, since the load started.
    pub at_s: f64,
    /// How long it did nothing.
    pub length_s: f64,
}

/// A time in which clients that had work were without success: outages of several clients that overlap are one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// When the first client's began, since the load started.
    pub begin_s: f64,
    /// When the last client's ended.
    pub end_s: f64,
    /// Of the client that was out longest.
    pub longest_s: f64,
    /// How many clients saw it.
    pub clients: u64,
    /// Operations that were due in it, or failed in it.
    pub due: u64,
    /// Whether every client that saw it had success again before the load ended.
    pub ended: bool,
}

/// What clients saw of outages, over the whole action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outages {
    /// Above it, a gap between two successes of a client that has work is an outage.
    pub limit_s: f64,
    /// Clients of the load.
    pub clients: u64,
    /// Of these, how many saw an outage.
    pub clients_hit: u64,
    /// The longest gap of any client, outage or not.
    pub longest_s: f64,
    /// The longest time for which work waited from when it was due to its success, or to the end of the load: where a
    /// part of the keys is out, clients that have success with others have no gap.
    pub longest_wait_s: f64,
    /// The first 1,000.
    pub episodes: Vec<Outage>,
}

/// Whether writes that the server acknowledged were there after the run, by reading every row that was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LedgerResult {
    /// Rows that were written, and read afterwards.
    pub rows: u64,
    /// Writes of a row that the server acknowledged.
    pub acknowledged: u64,
    /// Writes of a row that it neither acknowledged nor refused: they may have been carried out.
    pub in_doubt: u64,
    /// Of those, how many were found.
    pub in_doubt_kept: u64,
    /// Acknowledged writes that are gone: what is there instead was acknowledged before they were sent, or is older
    /// than the run, or the row is missing.
    pub lost: u64,
    /// Rows with such a write.
    pub lost_rows: u64,
    /// Rows that hold a number of this run that belongs to no such write: newer than all, another row's, or refused.
    pub unsent: u64,
    /// One row that is wrong.
    pub example: Option<String>,
}

/// The last line.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Finished {
    /// What the process exits with.
    pub exit_code: u8,
    /// One sentence for people; empty when all went well.
    pub message: String,
    /// Length of the action.
    pub elapsed_s: f64,
    /// Length of the measurement interval really driven; `None` for load and check.
    pub measured_s: Option<f64>,
    /// Counts.
    pub operations: Vec<OperationTotal>,
    /// Over the whole action.
    pub errors: Vec<ErrorCount>,
    /// Arrivals due in the measurement interval; `None` in the closed pace.
    pub offered: Option<u64>,
    /// Of these, never started.
    pub not_sent: Option<u64>,
    /// Over the whole action, set-up excluded.
    pub round_trips: u64,
    /// The same by operation.
    pub round_trips_by_operation: Vec<RoundTrips>,
    /// How the workload cuts transactions into round trips; `None`: it does not.
    pub profile: Option<String>,
    /// Isolation level of the run's transactions, as the server shows it; `None`: not asked, or it has none.
    pub isolation: Option<String>,
    /// How the run's statements were prepared, `named` or `unnamed`; `None`: nothing was run, or not in SQL.
    pub prepared: Option<&'static str>,
    /// Whether a connection pooler answered for the server; `None`: not asked.
    pub pooled: Option<bool>,
    /// How sessions were encrypted, `none` or protocol and cipher; `None`: nothing was run, or not in SQL.
    pub encryption: Option<String>,
    /// Of a run of TPC-C.
    pub headline: Option<Headline>,
    /// When the generator itself stood still, or was late.
    pub gaps: Vec<Gap>,
    /// Of a run that numbers its writes; `None`: it does not, or they could not be read.
    pub ledger: Option<LedgerResult>,
    /// What clients saw of outages; `None`: nothing was driven to its end.
    pub outages: Option<Outages>,
    /// Of the draws.
    pub audit: Vec<AuditLine>,
    /// Empty when none were checked.
    pub conditions: Vec<ConditionResult>,
    /// Empty when none were compared.
    pub counters: Vec<CounterResult>,
    /// What loading wrote.
    pub tables: Vec<TableLoad>,
    /// Empty when none were asked for.
    pub fingerprints: Vec<FingerprintResult>,
    /// Of the workload, for example `c_load` and `c_run` of NURand.
    pub constants: BTreeMap<&'static str, i64>,
    /// User + system, of the measurement interval (run) or of the action.
    pub client_cpu_s: f64,
    /// The largest resident set.
    pub peak_memory_bytes: u64,
}

/// Where lines go. Shared: whoever ends the program writes the last line, and nothing follows it.
pub struct Output {
    state: Mutex<State>,
}

struct State {
    sink: Box<dyn Write + Send>,
    finished: bool,
}

impl Output {
    /// Writes to this sink.
    #[must_use]
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self { state: Mutex::new(State { sink: Box::new(sink), finished: false }) }
    }

    /// Writes one line and flushes it. Lines after [`Line::Finished`] are dropped.
    ///
    /// # Errors
    /// The sink's: above all a reader that went away.
    pub fn write(&self, line: &Line) -> io::Result<()> {
        let mut json = serde_json::to_vec(line)?;
        json.push(b'\n');
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.finished {
            return Ok(());
        }
        state.finished = matches!(line, Line::Finished(_));
        state.sink.write_all(&json)?;
        state.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_follows_the_last_line() {
        let sink = Shared::default();
        let output = Output::new(sink.clone());
        output.write(&Line::Finished(Box::default())).unwrap();
        output.write(&Line::Finished(Box::default())).unwrap();
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert!(
            text.starts_with(r#"{"event":"finished","exit_code":0,"message":"","elapsed_s":0.0,"measured_s":null"#)
        );
    }
}
