//! The coordinator's books: histograms of the interval, counts of the whole action.

use super::histogram::{Histogram, Quantile};
use super::lane::{Attempt, ErrorEvent, Lanes, Owed, Sample};
use super::outages::OutageWatch;
use crate::output::headline::Counts;
use crate::output::outcome::Outcome;
use crate::output::{
    AttemptInterval, ErrorCount, ErrorKind, Histograms, OperationInterval, OperationTotal, Outages, Phase, RoundTrips,
};
use crate::workload::OperationId;
use std::collections::BTreeMap;

/// One operation with one outcome: its durations in the open interval, and its counts; allocated when the first ends.
#[derive(Debug, Default)]
struct Durations {
    queue: Histogram,
    service: Histogram,
    response: Histogram,
    count: u64,
    total: Count,
}

impl Durations {
    fn record(&mut self, sample: &Sample) {
        self.queue.record(sample.queue_ns);
        self.service.record(sample.service_ns);
        self.response.record(sample.queue_ns.saturating_add(sample.service_ns));
        self.count += 1;
    }

    /// Begins another interval.
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
    round_trips: u64,
}

impl Count {
    fn add(&mut self, sample: &Sample, measured: bool) {
        self.all += 1;
        self.measured += u64::from(measured);
        self.round_trips += u64::from(sample.round_trips);
    }
}

/// An operation that waited longer than this although a connection was free was held up by the generator.
const LATE_NS: u64 = 1_000_000;

/// Operations are counted in steps of this length, which shows a stop that seconds hide.
const STEP_NS: u64 = 100_000_000;

type ErrorKey = (OperationId, String, ErrorKind);

/// Keeps what the lanes recorded. Intervals are closed in order; what ended after the interval being closed waits
/// for a later one, so that every operation belongs to the interval in which it ended, however late we are.
#[derive(Debug)]
pub struct Ledger {
    operations: &'static [&'static str],
    durations: BTreeMap<(OperationId, Outcome), Box<Durations>>,
    interval_errors: BTreeMap<ErrorKey, u64>,
    /// Of single attempts, of operations that had a retried one in the interval.
    attempts: BTreeMap<OperationId, Histogram>,
    /// Of operations that had a connection when they were due; kept when they are due by something else than their
    /// predecessor's end.
    pacing_error: Option<Histogram>,
    late: u64,
    /// When the open interval began.
    start_ns: u64,
    /// Operations of the open interval that did not fail, by the step of it in which they ended.
    steps: Vec<u64>,
    waiting: Vec<Sample>,
    waiting_errors: Vec<ErrorEvent>,
    waiting_attempts: Vec<Attempt>,
    outages: OutageWatch,
    owed: Vec<Owed>,
    errors: BTreeMap<ErrorKey, u64>,
    in_doubt: BTreeMap<OperationId, u64>,
}

/// What one interval comes to.
#[derive(Debug)]
pub struct Books {
    /// By operation and outcome.
    pub operations: Vec<OperationInterval>,
    /// By operation, SQLSTATE and kind.
    pub errors: Vec<ErrorCount>,
    /// Single attempts of the operations that had a retried one.
    pub attempts: Vec<AttemptInterval>,
    /// The generator's own lateness, encoded; `None` when nothing was paced.
    pub pacing_error: Option<String>,
    /// Operations that waited too long although a connection was free.
    pub late: u64,
    /// Operations that ended, of any outcome.
    pub count: u64,
    /// Those that did not fail, in each 100 ms of the interval; the last part may be shorter.
    pub ended_per_100_ms: Vec<u64>,
    /// The longest time for which a client that had work was without success, of those that ended in the interval.
    pub longest_gap_s: Option<f64>,
    /// p99 of the service time of committed operations, the slowest kind of them, in ns.
    pub service_p99_ns: u64,
}

impl Ledger {
    /// Empty books of these operations; `paced` when the generator itself decides when they are due.
    #[must_use]
    pub fn new(operations: &'static [&'static str], paced: bool, outages: OutageWatch) -> Self {
        Self {
            operations,
            durations: BTreeMap::new(),
            interval_errors: BTreeMap::new(),
            attempts: BTreeMap::new(),
            pacing_error: paced.then(Histogram::default),
            late: 0,
            start_ns: 0,
            steps: Vec::new(),
            waiting: Vec::new(),
            waiting_errors: Vec::new(),
            waiting_attempts: Vec::new(),
            outages,
            owed: Vec::new(),
            errors: BTreeMap::new(),
            in_doubt: BTreeMap::new(),
        }
    }

    /// Collects what the lanes hold. What ended before `end_ns`, where the interval ends that is open, is recorded at
    /// once: the more often this is called, the less memory samples take.
    pub fn collect(&mut self, lanes: &mut Lanes, phase: Phase, end_ns: u64) {
        lanes.drain(|log| {
            self.waiting.append(&mut log.samples);
            self.waiting_errors.append(&mut log.errors);
            self.waiting_attempts.append(&mut log.attempts);
            self.owed.append(&mut log.owed);
        });
        self.enter(phase, end_ns);
    }

    /// Closes the interval that ends at `end_ns`: everything collected that ended before belongs to it.
    pub fn close(&mut self, phase: Phase, end_ns: u64) -> Books {
        self.enter(phase, end_ns);
        let (now, later) = self.waiting_errors.drain(..).partition(|event| event.at_ns < end_ns);
        self.waiting_errors = later;
        for event in now {
            self.count_error(event, true);
        }
        let length_ns = end_ns.saturating_sub(std::mem::replace(&mut self.start_ns, end_ns));
        self.report(length_ns.div_ceil(STEP_NS) as usize)
    }

    /// Records what was collected and ended before `end_ns`.
    fn enter(&mut self, phase: Phase, end_ns: u64) {
        self.enter_attempts(end_ns);
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|sample| {
            if sample.ended_ns < end_ns {
                self.enter_sample(sample, phase);
            }
            sample.ended_ns >= end_ns
        });
        self.waiting = waiting; // and its memory
    }

    fn enter_sample(&mut self, sample: &Sample, phase: Phase) {
        let key = (sample.operation, sample.outcome);
        if sample.retried {
            self.attempts_of(sample.operation);
        } else if let Some(attempts) = self.attempts.get_mut(&sample.operation) {
            attempts.record(sample.service_ns);
        }
        let durations = self.durations.entry(key).or_default();
        durations.record(sample);
        durations.total.add(sample, phase == Phase::Measure);
        self.outages.enter(sample);
        if sample.outcome != Outcome::Failed {
            self.count_step(sample.ended_ns);
        }
        if sample.unhindered {
            self.pacing_error.iter_mut().for_each(|histogram| histogram.record(sample.queue_ns));
            self.late += u64::from(sample.queue_ns > LATE_NS);
        }
    }

    fn count_step(&mut self, ended_ns: u64) {
        let step = (ended_ns.saturating_sub(self.start_ns) / STEP_NS) as usize;
        if step >= self.steps.len() {
            self.steps.resize(step + 1, 0);
        }
        self.steps[step] += 1;
    }

    fn enter_attempts(&mut self, end_ns: u64) {
        let (now, later): (Vec<_>, _) = self.waiting_attempts.drain(..).partition(|attempt| attempt.ended_ns < end_ns);
        self.waiting_attempts = later;
        for attempt in now {
            self.attempts_of(attempt.operation).record(attempt.service_ns);
        }
    }

    /// The attempts of an operation that had a retried one in this interval. Each that was tried once is one: those that
    /// were recorded before the first retried one, too.
    fn attempts_of(&mut self, operation: OperationId) -> &mut Histogram {
        let durations = &self.durations;
        self.attempts.entry(operation).or_insert_with(|| {
            let mut once = Histogram::default();
            let recorded = durations.iter().filter(|((of, _), _)| *of == operation);
            recorded.for_each(|(_, durations)| once.merge(&durations.service));
            once
        })
    }

    /// Counts what was left when the last interval was closed: it belongs to the action, to no interval.
    pub fn close_tail(&mut self) {
        for sample in self.waiting.drain(..) {
            self.outages.enter(&sample);
            self.durations.entry((sample.operation, sample.outcome)).or_default().total.add(&sample, false);
        }
        for event in std::mem::take(&mut self.waiting_errors) {
            self.count_error(event, false);
        }
        self.outages.end(self.start_ns, &self.owed);
    }

    /// How long clients were without success, over the whole action, its tail included.
    #[must_use]
    pub fn outages(&self) -> Outages {
        self.outages.report()
    }

    fn count_error(&mut self, event: ErrorEvent, in_interval: bool) {
        *self.in_doubt.entry(event.operation).or_default() += u64::from(event.in_doubt);
        let key = (event.operation, event.sqlstate, event.kind);
        if in_interval {
            *self.interval_errors.entry(key.clone()).or_default() += 1;
        }
        *self.errors.entry(key).or_default() += 1;
    }

    fn report(&mut self, steps: usize) -> Books {
        let mut ended_per_100_ms = std::mem::take(&mut self.steps);
        ended_per_100_ms.resize(steps.max(ended_per_100_ms.len()), 0);
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
            attempts: self
                .attempts
                .iter()
                .filter_map(|(operation, attempts)| self.attempt(*operation, attempts))
                .collect(),
            pacing_error: self.pacing_error.as_ref().filter(|errors| errors.count() > 0).map(Histogram::encode),
            late: std::mem::take(&mut self.late),
            longest_gap_s: self.outages.take_longest_s(),
            ended_per_100_ms,
        };
        self.durations.values_mut().for_each(|durations| durations.clear());
        self.interval_errors.clear();
        self.attempts.clear();
        self.pacing_error.iter_mut().for_each(Histogram::clear);
        books
    }

    /// `None` when all of them were in the interval before the one in which the operation ended.
    fn attempt(&self, operation: OperationId, attempts: &Histogram) -> Option<AttemptInterval> {
        let (operation, count) = (self.name(operation), attempts.count() + attempts.out_of_range());
        (count > 0).then(|| AttemptInterval { operation, count, histogram: attempts.encode() })
    }

    fn counts(&self) -> impl Iterator<Item = ((OperationId, Outcome), Count)> {
        self.durations.iter().map(|(key, durations)| (*key, durations.total))
    }

    fn count_of(&self, operation: OperationId, outcome: Outcome) -> Count {
        self.durations.get(&(operation, outcome)).map_or_else(Count::default, |durations| durations.total)
    }

    /// Counts of the whole action.
    #[must_use]
    pub fn totals(&self) -> Vec<OperationTotal> {
        let total = |((operation, outcome), count): ((OperationId, Outcome), Count)| OperationTotal {
            operation: self.name(operation),
            outcome,
            measured: count.measured,
            all: count.all,
        };
        self.counts().map(total).collect()
    }

    /// Errors of the whole action.
    #[must_use]
    pub fn errors(&self) -> Vec<ErrorCount> {
        self.error_counts(&self.errors)
    }

    /// Exchanges with the server, of operations that ended.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.counts().map(|(_, count)| count.round_trips).sum()
    }

    /// Exchanges with the server by operation, whatever its outcome.
    #[must_use]
    pub fn round_trips_by_operation(&self) -> Vec<RoundTrips> {
        let mut counts = BTreeMap::<OperationId, (u64, u64)>::new();
        for ((operation, _), count) in self.counts() {
            let (round_trips, operations) = counts.entry(operation).or_default();
            (*round_trips, *operations) = (*round_trips + count.round_trips, *operations + count.all);
        }
        let line = |(operation, (round_trips, operations)): (OperationId, (u64, u64))| RoundTrips {
            operation: self.name(operation),
            round_trips,
            operations,
        };
        counts.into_iter().map(line).collect()
    }

    /// How many operations were given up in the measurement interval.
    #[must_use]
    pub fn failed_in_measurement(&self) -> u64 {
        let failed = self.counts().filter(|((_, outcome), _)| *outcome == Outcome::Failed);
        failed.map(|(_, count)| count.measured).sum()
    }

    /// How often an operation ended so in the measurement interval.
    #[must_use]
    pub fn measured(&self, operation: OperationId, outcome: Outcome) -> u64 {
        self.count_of(operation, outcome).measured
    }

    /// How often an operation committed, over the whole action.
    #[must_use]
    pub fn committed(&self, operation: OperationId) -> u64 {
        self.count_of(operation, Outcome::Committed).all
    }

    /// How often an operation's commit was sent and never answered: it may or may not have committed.
    #[must_use]
    pub fn in_doubt(&self, operation: OperationId) -> u64 {
        self.in_doubt.get(&operation).copied().unwrap_or(0)
    }

    /// How many attempts of an operation met an error, over the whole action.
    #[must_use]
    pub fn errors_of(&self, operation: OperationId) -> u64 {
        self.errors.iter().filter(|((of, ..), _)| *of == operation).map(|(_, count)| count).sum()
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

impl From<&Ledger> for Counts {
    fn from(ledger: &Ledger) -> Self {
        let totals = ledger.totals();
        let total =
            |total: &OperationTotal| (total.operation, total.outcome != Outcome::Failed, total.measured, total.all);
        Self::of(totals.iter().map(total), ledger.round_trips())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(lanes: &Lanes, ended_ns: u64, outcome: Outcome) {
        lanes.lane(0).record(&mut None, || ended_ns, |ended_ns| Sample::short(1, outcome, ended_ns));
    }

    #[test]
    fn attempts_are_told_where_one_was_retried() {
        let mut lanes = Lanes::new(1);
        let mut ledger = Ledger::new(&["read", "write"], false, OutageWatch::idle());
        put(&lanes, 10, Outcome::Committed);
        ledger.collect(&mut lanes, Phase::Measure, 0);
        assert!(ledger.close(Phase::Measure, 100).attempts.is_empty(), "attempt = service");
        for ended_ns in [110, 120] {
            let attempt = |ended_ns| Attempt { ended_ns, service_ns: 5, operation: OperationId(1) };
            lanes.lane(0).attempt(|| ended_ns, attempt);
        }
        put(&lanes, 130, Outcome::Committed); // not retried: an attempt of its own
        put(&lanes, 250, Outcome::Committed);
        ledger.collect(&mut lanes, Phase::Measure, 0);
        let attempts = ledger.close(Phase::Measure, 200).attempts;
        assert_eq!((attempts.len(), attempts[0].operation, attempts[0].count), (1, "write", 3));
        assert!(ledger.close(Phase::Measure, 300).attempts.is_empty());
    }

    #[test]
    fn books_do_not_depend_on_how_often_lanes_are_emptied() {
        let closed = |every: u64| {
            let (mut lanes, mut ledger) = (Lanes::new(1), Ledger::new(&["read", "write"], true, OutageWatch::idle()));
            let mut books = Vec::new();
            for ns in 0..3_000 {
                let operation = OperationId((ns % 2) as u8);
                // Writes are retried, some of them across the end of an interval.
                let retried = ns % 2 == 1 && ns % 7 == 0;
                if retried {
                    let attempt = |ended_ns| Attempt { ended_ns, service_ns: ns / 2, operation };
                    lanes.lane(0).attempt(|| ns - 1, attempt);
                    lanes.lane(0).attempt(|| ns, attempt);
                }
                let sample = |ended_ns| Sample {
                    service_ns: ns,
                    operation,
                    retried,
                    unhindered: ns % 3 == 0,
                    ..Sample::short(0, Outcome::Committed, ended_ns)
                };
                lanes.lane(0).record(&mut None, || ns, sample);
                let end_ns = ns / 1_000 * 1_000 + 1_000;
                if ns % every == every - 1 || ns + 1 == end_ns {
                    ledger.collect(&mut lanes, Phase::Measure, end_ns);
                }
                if ns + 1 == end_ns {
                    books.push(format!("{:?}", ledger.close(Phase::Measure, end_ns)));
                }
            }
            (books, ledger.totals())
        };
        let seldom = closed(1_000);
        assert!([1, 3, 50, 999].into_iter().all(|every| closed(every) == seldom));
        assert!(seldom.0.iter().all(|books| books.contains("AttemptInterval { operation: \"write\"")));
    }

    #[test]
    fn lateness_is_the_generators_own_only_when_a_connection_was_free() {
        let mut lanes = Lanes::new(1);
        let mut ledger = Ledger::new(&["read"], true, OutageWatch::idle());
        for (queue_ns, unhindered) in [(5_000_000, true), (900, true), (7_000_000, false)] {
            let sample = |ended_ns| Sample { queue_ns, unhindered, ..Sample::short(0, Outcome::Committed, ended_ns) };
            lanes.lane(0).record(&mut None, || 1, sample);
        }
        ledger.collect(&mut lanes, Phase::Measure, 0);
        let books = ledger.close(Phase::Measure, 10);
        assert_eq!(books.late, 1);
        assert!(books.pacing_error.is_some());
        let books = ledger.close(Phase::Measure, 20);
        assert_eq!((books.late, books.pacing_error), (0, None));
    }

    #[test]
    fn an_operation_belongs_to_the_interval_in_which_it_ended() {
        let mut lanes = Lanes::new(1);
        let mut ledger = Ledger::new(&["read", "write"], false, OutageWatch::idle());
        for ended_ns in [0, 999, 1_000, 2_500, 9_000] {
            put(&lanes, ended_ns, Outcome::Committed);
        }
        put(&lanes, 1_500, Outcome::Failed);
        ledger.collect(&mut lanes, Phase::Measure, 0);
        let ramp = ledger.close(Phase::Ramp, 1_000);
        let first = ledger.close(Phase::Measure, 2_000);
        let second = ledger.close(Phase::Measure, 3_000);
        ledger.close_tail();
        assert_eq!((ramp.count, first.count, second.count), (2, 2, 1));
        assert_eq!(first.operations.len(), 2);
        assert_eq!([&ramp, &first, &second].map(|books| books.ended_per_100_ms.clone()), [[2], [1], [1]]);
        assert_eq!((second.operations[0].operation, second.operations[0].count), ("write", 1));
        let total = |outcome, measured, all| OperationTotal { operation: "write", outcome, measured, all };
        assert_eq!(ledger.totals(), [total(Outcome::Committed, 2, 5), total(Outcome::Failed, 1, 1)]);
        assert_eq!(
            (ledger.round_trips(), ledger.committed(OperationId(1)), ledger.committed(OperationId(0))),
            (6, 5, 0)
        );
    }

    #[test]
    fn operations_are_counted_in_each_tenth_of_a_second_of_their_interval() {
        let mut lanes = Lanes::new(1);
        let mut ledger = Ledger::new(&["read", "write"], false, OutageWatch::idle());
        for ended_ms in [10, 99, 100, 320, 1_050, 1_240] {
            put(&lanes, ended_ms * 1_000_000, Outcome::Committed);
            ledger.collect(&mut lanes, Phase::Measure, if ended_ms < 400 { 400_000_000 } else { 1_250_000_000 });
            if ended_ms == 320 {
                put(&lanes, 330_000_000, Outcome::Failed);
                ledger.collect(&mut lanes, Phase::Measure, 400_000_000);
                assert_eq!(ledger.close(Phase::Measure, 400_000_000).ended_per_100_ms, [2, 1, 0, 1]);
                assert_eq!(ledger.close(Phase::Measure, 1_000_000_000).ended_per_100_ms, [0; 6]);
            }
        }
        assert_eq!(ledger.close(Phase::Measure, 1_250_000_000).ended_per_100_ms, [1, 0, 1]);
    }

    #[test]
    fn errors_are_counted_by_sqlstate_in_their_interval_and_in_all() {
        let mut lanes = Lanes::new(1);
        let mut ledger = Ledger::new(&["read"], false, OutageWatch::idle());
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
        ledger.collect(&mut lanes, Phase::Measure, 0);
        let books = ledger.close(Phase::Measure, 5);
        let retried =
            ErrorCount { operation: "read", sqlstate: "40001".to_owned(), kind: ErrorKind::Retried, count: 2 };
        assert_eq!(books.errors, std::slice::from_ref(&retried));
        ledger.close_tail();
        assert_eq!(ledger.errors().len(), 3);
        assert_eq!((&ledger.errors()[0], ledger.in_doubt(OperationId(0))), (&retried, 2));
    }
}
