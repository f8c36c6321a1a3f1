//! The coordinator's books: histograms of the interval, counts of the whole action.

use super::histogram::{Histogram, Quantile};
use super::lane::{ErrorEvent, Lanes, Sample};
use crate::outcome::Outcome;
use crate::output::{ErrorCount, ErrorKind, Histograms, OperationInterval, OperationTotal, Phase};
use crate::workload::OperationId;
use std::collections::BTreeMap;

/// Durations of one operation with one outcome in one interval; allocated when the first one ends.
#[derive(Debug, Default)]
struct Durations {
    queue: Histogram,
    service: Histogram,
    response: Histogram,
    count: u64,
}

impl Durations {
    fn record(&mut self, sample: &Sample) {
        self.queue.record(sample.queue_ns);
        self.service.record(sample.service_ns);
        self.response.record(sample.queue_ns.saturating_add(sample.service_ns));
        self.count += 1;
    }

    fn clear(&mut self) {
        self.queue.clear();
        self.service.clear();
        self.response.clear();
        self.count = 0;
    }

    fn report(&self, operation: &'static str, outcome: Outcome) -> OperationInterval {
        OperationInterval {
            operation,
            outcome,
            count: self.count,
            histograms: Histograms {
                queue: self.queue.encode(),
                service: self.service.encode(),
                response: self.response.encode(),
            },
            out_of_range: self.queue.out_of_range() + self.service.out_of_range() + self.response.out_of_range(),
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    measured: u64,
    all: u64,
}

type ErrorKey = (OperationId, String, ErrorKind);

/// Keeps what the lanes recorded. Intervals are closed in order; what ended after the interval being closed waits
/// for a later one, so that every operation belongs to the interval in which it ended, however late we are.
#[derive(Debug)]
pub struct Ledger {
    operations: &'static [&'static str],
    durations: BTreeMap<(OperationId, Outcome), Box<Durations>>,
    interval_errors: BTreeMap<ErrorKey, u64>,
    waiting: Vec<Sample>,
    waiting_errors: Vec<ErrorEvent>,
    totals: BTreeMap<(OperationId, Outcome), Count>,
    errors: BTreeMap<ErrorKey, u64>,
    in_doubt: BTreeMap<OperationId, u64>,
    round_trips: u64,
}

/// What one interval comes to.
#[derive(Debug)]
pub struct Books {
    /// By operation and outcome.
    pub operations: Vec<OperationInterval>,
    /// By operation, SQLSTATE and kind.
    pub errors: Vec<ErrorCount>,
    /// Operations that ended, of any outcome.
    pub count: u64,
    /// p99 of the service time of committed operations, the slowest kind of them, in ns.
    pub service_p99_ns: u64,
}

impl Ledger {
    /// Empty books of these operations.
    #[must_use]
    pub fn new(operations: &'static [&'static str]) -> Self {
        Self {
            operations,
            durations: BTreeMap::new(),
            interval_errors: BTreeMap::new(),
            waiting: Vec::new(),
            waiting_errors: Vec::new(),
            totals: BTreeMap::new(),
            errors: BTreeMap::new(),
            in_doubt: BTreeMap::new(),
            round_trips: 0,
        }
    }

    /// Collects what the lanes hold.
    pub fn collect(&mut self, lanes: &mut Lanes) {
        lanes.drain(|log| {
            self.waiting.append(&mut log.samples);
            self.waiting_errors.append(&mut log.errors);
            self.round_trips += log.round_trips;
        });
    }

    /// Closes the interval that ends at `end_ns`: everything collected that ended before belongs to it.
    pub fn close(&mut self, phase: Phase, end_ns: u64) -> Books {
        let Self { waiting, durations, totals, .. } = self;
        waiting.retain(|sample| {
            if sample.ended_ns >= end_ns {
                return true;
            }
            let key = (sample.operation, sample.outcome);
            durations.entry(key).or_default().record(sample);
            let total = totals.entry(key).or_default();
            total.all += 1;
            total.measured += u64::from(phase == Phase::Measure);
            false
        });
        let (now, later) = self.waiting_errors.drain(..).partition(|event| event.at_ns < end_ns);
        self.waiting_errors = later;
        for event in now {
            self.count_error(event, true);
        }
        self.report()
    }

    /// Counts what was left when the last interval was closed: it belongs to the action, to no interval.
    pub fn close_tail(&mut self) {
        for sample in self.waiting.drain(..) {
            self.totals.entry((sample.operation, sample.outcome)).or_default().all += 1;
        }
        for event in std::mem::take(&mut self.waiting_errors) {
            self.count_error(event, false);
        }
    }

    fn count_error(&mut self, event: ErrorEvent, in_interval: bool) {
        *self.in_doubt.entry(event.operation).or_default() += u64::from(event.in_doubt);
        let key = (event.operation, event.sqlstate, event.kind);
        if in_interval {
            *self.interval_errors.entry(key.clone()).or_default() += 1;
        }
        *self.errors.entry(key).or_default() += 1;
    }

    fn report(&mut self) -> Books {
        let ended = || self.durations.iter().filter(|(_, durations)| durations.count > 0);
        let committed = ended().filter(|((_, outcome), _)| *outcome == Outcome::Committed);
        let books = Books {
            count: ended().map(|(_, durations)| durations.count).sum(),
            service_p99_ns: committed
                .map(|(_, durations)| durations.service.value_at(Quantile::P99))
                .max()
                .unwrap_or(0),
            operations: ended()
                .map(|((operation, outcome), durations)| durations.report(self.name(*operation), *outcome))
                .collect(),
            errors: self.error_counts(&self.interval_errors),
        };
        self.durations.values_mut().for_each(|durations| durations.clear());
        self.interval_errors.clear();
        books
    }

    /// Counts of the whole action.
    #[must_use]
    pub fn totals(&self) -> Vec<OperationTotal> {
        let total = |(&(operation, outcome), count): (&(OperationId, Outcome), &Count)| OperationTotal {
            operation: self.name(operation),
            outcome,
            measured: count.measured,
            all: count.all,
        };
        self.totals.iter().map(total).collect()
    }

    /// Errors of the whole action.
    #[must_use]
    pub fn errors(&self) -> Vec<ErrorCount> {
        self.error_counts(&self.errors)
    }

    /// Exchanges with the server.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.round_trips
    }

    /// How often an operation committed, over the whole action.
    #[must_use]
    pub fn committed(&self, operation: OperationId) -> u64 {
        self.totals.get(&(operation, Outcome::Committed)).map_or(0, |count| count.all)
    }

    /// How often an operation's commit was sent and never answered: it may or may not have committed.
    #[must_use]
    pub fn in_doubt(&self, operation: OperationId) -> u64 {
        self.in_doubt.get(&operation).copied().unwrap_or(0)
    }

    fn error_counts(&self, errors: &BTreeMap<ErrorKey, u64>) -> Vec<ErrorCount> {
        let count = |((operation, sqlstate, kind), &count): (&ErrorKey, &u64)| ErrorCount {
            operation: self.name(*operation),
            sqlstate: sqlstate.clone(),
            kind: *kind,
            count,
        };
        errors.iter().map(count).collect()
    }

    fn name(&self, operation: OperationId) -> &'static str {
        self.operations[usize::from(operation.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(lanes: &Lanes, ended_ns: u64, outcome: Outcome) {
        let sample = |ended_ns| Sample { ended_ns, queue_ns: 10, service_ns: 20, operation: OperationId(1), outcome };
        lanes.lane(0).record(|| ended_ns, 1, sample);
    }

    #[test]
    fn an_operation_belongs_to_the_interval_in_which_it_ended() {
        let mut lanes = Lanes::new(1);
        let mut ledger = Ledger::new(&["read", "write"]);
        for ended_ns in [0, 999, 1_000, 2_500, 9_000] {
            put(&lanes, ended_ns, Outcome::Committed);
        }
        put(&lanes, 1_500, Outcome::Failed);
        ledger.collect(&mut lanes);
        let ramp = ledger.close(Phase::Ramp, 1_000);
        let first = ledger.close(Phase::Measure, 2_000);
        let second = ledger.close(Phase::Measure, 3_000);
        ledger.close_tail();
        assert_eq!((ramp.count, first.count, second.count), (2, 2, 1));
        assert_eq!(first.operations.len(), 2);
        assert_eq!((second.operations[0].operation, second.operations[0].count), ("write", 1));
        let total = |outcome, measured, all| OperationTotal { operation: "write", outcome, measured, all };
        assert_eq!(ledger.totals(), [total(Outcome::Committed, 2, 5), total(Outcome::Failed, 1, 1)]);
        assert_eq!(
            (ledger.round_trips(), ledger.committed(OperationId(1)), ledger.committed(OperationId(0))),
            (6, 5, 0)
        );
    }

    #[test]
    fn errors_are_counted_by_sqlstate_in_their_interval_and_in_all() {
        let mut lanes = Lanes::new(1);
        let mut ledger = Ledger::new(&["read"]);
        let lane = lanes.lane(0);
        for (at_ns, sqlstate, kind, in_doubt) in [
            (1, "40001", ErrorKind::Retried, false),
            (2, "40001", ErrorKind::Retried, false),
            (8, "lost", ErrorKind::Failed, true),
            (9, "lost", ErrorKind::Failed, false),
            (9, "40003", ErrorKind::Failed, true),
        ] {
            lane.error(|| at_ns, OperationId(0), sqlstate.to_owned(), kind, in_doubt);
        }
        ledger.collect(&mut lanes);
        let books = ledger.close(Phase::Measure, 5);
        let retried =
            ErrorCount { operation: "read", sqlstate: "40001".to_owned(), kind: ErrorKind::Retried, count: 2 };
        assert_eq!(books.errors, std::slice::from_ref(&retried));
        ledger.close_tail();
        assert_eq!(ledger.errors().len(), 3);
        assert_eq!((&ledger.errors()[0], ledger.in_doubt(OperationId(0))), (&retried, 2));
    }
}
