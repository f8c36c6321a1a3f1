//! One worker on one connection: draws operations, carries them out, tries again, records.

use super::clock::Clock;
use super::dial::Dial;
use crate::exit::{ExitCode, Failure};
use crate::outcome::{DATA, ErrorClass, LOST, Outcome, classify, label};
use crate::output::ErrorKind;
use crate::pace::Pace;
use crate::record::{Lane, Sample};
use crate::stop::Stop;
use crate::target::TargetError;
use crate::target::postgres::{Batch, Connection};
use crate::workload::{Completion, DataError, Draws, OperationId, Step, Worker};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Pauses before a retry, and after an operation that failed, grow from here …
const FIRST_BACK_OFF: Duration = Duration::from_micros(500);
/// … to here, doubling; each is drawn uniformly below that, so that two which collided do not meet again.
const LONGEST_BACK_OFF: Duration = Duration::from_millis(50);

/// What every driver of a load shares.
#[derive(Debug)]
pub struct Shared {
    /// Tells the time since the start of the load.
    pub clock: Clock,
    /// No operation starts at or after this time.
    pub end_ns: u64,
    /// How often one operation is tried again.
    pub max_retries: u32,
    /// Gets lost connections back.
    pub dial: Dial,
    /// Watched between operations.
    pub stop: Arc<Stop>,
}

/// A worker, its connection, and what they need to go on.
pub struct Driver {
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    worker: Box<dyn Worker>,
    client: u32,
    turns: u64,
    pace: Box<dyn Pace>,
    /// `None` between losing one and getting the next.
    connection: Option<Connection>,
    batch: Batch,
    /// Of the operation in progress: when its first byte was sent, and its exchanges.
    sent_ns: Option<u64>,
    round_trips: u64,
    /// Whether a commit of it is on its way, and not answered.
    in_doubt: bool,
    /// For back-off only: the workload's draws must not depend on how often it was retried.
    jitter: Xoshiro256PlusPlus,
}

/// Why an attempt did not come to its end.
enum Interruption {
    Target(TargetError),
    Data(DataError),
}

impl Driver {
    /// A driver of the `index`-th worker.
    pub fn new(
        shared: Arc<Shared>,
        lane: Arc<Lane>,
        worker: Box<dyn Worker>,
        pace: Box<dyn Pace>,
        connection: Connection,
        index: u32,
    ) -> Self {
        Self {
            shared,
            lane,
            worker,
            client: index,
            turns: 0,
            pace,
            connection: Some(connection),
            batch: Batch::new(),
            sent_ns: None,
            round_trips: 0,
            in_doubt: false,
            jitter: Xoshiro256PlusPlus::seed_from_u64(u64::from(index)),
        }
    }

    /// Drives until the end of the load, or until somebody asks to stop; answers what was drawn. Damaged data, a
    /// target that is lost for good, or a defect ends the load of everybody.
    pub fn run(mut self) -> Draws {
        if let Err(failure) = self.drive() {
            self.shared.stop.request(failure);
        }
        self.lane.set_in_flight(0);
        self.worker.draws()
    }

    fn drive(&mut self) -> Result<(), Failure> {
        let mut free_ns = self.shared.clock.now_ns();
        let mut failed_in_a_row = 0;
        loop {
            let scheduled_ns = self.pace.intended_ns(free_ns);
            if self.is_over(scheduled_ns) {
                return Ok(());
            }
            self.shared.clock.wait_until(scheduled_ns);
            // Time without a connection is queue time of the operation that waits for it.
            if !self.connect()? {
                return Ok(());
            }
            let operation = self.worker.draw(self.client, self.turns);
            self.turns += 1;
            self.lane.set_in_flight(1);
            let (outcome, fatal) = self.perform(operation);
            free_ns = self.record(operation, outcome, scheduled_ns);
            self.lane.set_in_flight(0);
            fatal.map_or(Ok(()), Err)?;
            if outcome == Outcome::Failed {
                // A server that refuses everything is not to be asked as fast as it can refuse.
                self.back_off(failed_in_a_row);
                failed_in_a_row += 1;
                free_ns = self.shared.clock.now_ns();
            } else {
                failed_in_a_row = 0;
            }
        }
    }

    /// Whether nothing may start at `ns` any more.
    fn is_over(&self, ns: u64) -> bool {
        ns >= self.shared.end_ns || self.shared.stop.requested()
    }

    /// Gets a lost connection back; false when the load is over before that.
    fn connect(&mut self) -> Result<bool, Failure> {
        if self.connection.is_none() {
            let end = self.shared.clock.instant(self.shared.end_ns);
            self.connection = self.shared.dial.reopen(&self.shared.stop, end)?;
        }
        Ok(self.connection.is_some() && !self.is_over(self.shared.clock.now_ns()))
    }

    /// Carries out the drawn operation, with its retries; also why nothing can follow it, if so.
    fn perform(&mut self, operation: OperationId) -> (Outcome, Option<Failure>) {
        self.sent_ns = None;
        self.round_trips = 0;
        let mut retries = 0;
        loop {
            let error = match self.attempt() {
                Ok(completion) => return (completion.into(), None),
                Err(Interruption::Data(error)) => {
                    self.connection = None;
                    self.count_error(operation, DATA.to_owned(), ErrorKind::Failed);
                    return (Outcome::Failed, Some(Failure::data(&error)));
                }
                Err(Interruption::Target(error)) => error,
            };
            let again = classify(&error) == ErrorClass::Retry
                && retries < self.shared.max_retries
                && !self.is_over(self.shared.clock.now_ns());
            match self.recover(operation, error, again) {
                Ok(true) => self.back_off(retries),
                Ok(false) => return (Outcome::Failed, None),
                Err(failure) => return (Outcome::Failed, Some(failure)),
            }
            retries += 1;
        }
    }

    /// One attempt: round trips until the worker says that the operation is over.
    fn attempt(&mut self) -> Result<Completion, Interruption> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(Interruption::Target(TargetError::Lost("no connection".to_owned())));
        };
        self.batch.clear();
        self.in_doubt = false;
        let mut step = self.worker.step(None, &mut self.batch).map_err(Interruption::Data)?;
        loop {
            match step {
                Step::Done(completion) => return Ok(completion),
                Step::Send => {
                    self.sent_ns.get_or_insert_with(|| self.shared.clock.now_ns());
                    self.round_trips += 1;
                    self.in_doubt = connection.commits(&self.batch);
                    let reply = connection.exchange(&mut self.batch).map_err(Interruption::Target)?;
                    self.in_doubt = false;
                    self.batch.clear();
                    step = self.worker.step(Some(reply), &mut self.batch).map_err(Interruption::Data)?;
                }
            }
        }
    }

    /// Makes the connection usable again, or drops it, and counts the error. True when the operation goes on.
    fn recover(&mut self, operation: OperationId, error: TargetError, again: bool) -> Result<bool, Failure> {
        let class = classify(&error);
        // A server that tells an error has undone the operation before, unless it says that it does not know.
        self.in_doubt &= matches!(class, ErrorClass::Lost | ErrorClass::Unknown | ErrorClass::Defect);
        if class == ErrorClass::Defect {
            let message = format!("client and server misunderstand each other: {error}");
            self.connection = None;
            self.count_error(operation, label(error), ErrorKind::Failed);
            return Err(Failure::new(ExitCode::TargetLost, message));
        }
        // When the session goes only now, nothing more is in doubt, and the error keeps its own name.
        let usable = class != ErrorClass::Lost && self.reset();
        if !usable {
            self.connection = None;
        }
        let goes_on = again && usable;
        let kind = if goes_on { ErrorKind::Retried } else { ErrorKind::Failed };
        // Under whatever SQLSTATE a server says farewell, the connection is lost.
        let name = if class == ErrorClass::Lost { LOST.to_owned() } else { label(error) };
        self.count_error(operation, name, kind);
        Ok(goes_on)
    }

    fn count_error(&self, operation: OperationId, name: String, kind: ErrorKind) {
        self.lane.error(|| self.shared.clock.now_ns(), operation, name, kind, self.in_doubt);
    }

    /// True when the session can go on.
    fn reset(&mut self) -> bool {
        match self.connection.as_mut().map(Connection::reset) {
            Some(Ok(round_trips)) => {
                self.round_trips += u64::from(round_trips);
                true
            }
            Some(Err(_)) | None => false,
        }
    }

    fn back_off(&mut self, retries: u32) {
        let longest = LONGEST_BACK_OFF.min(FIRST_BACK_OFF * 2_u32.saturating_pow(retries.min(16)));
        let longest_ns = longest.as_nanos() as u64;
        thread::sleep(Duration::from_nanos(self.jitter.next_u64() % longest_ns));
    }

    fn record(&self, operation: OperationId, outcome: Outcome, scheduled_ns: u64) -> u64 {
        let clock = self.shared.clock;
        self.lane.record(
            || clock.now_ns(),
            self.round_trips,
            |ended_ns| {
                // An operation that never needed the server was served in no time, after queueing for all of it.
                let sent_ns = self.sent_ns.unwrap_or(ended_ns);
                Sample {
                    ended_ns,
                    queue_ns: sent_ns.saturating_sub(scheduled_ns),
                    service_ns: ended_ns - sent_ns,
                    operation,
                    outcome,
                }
            },
        )
    }
}
