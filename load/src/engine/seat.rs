//! One connection and the operation in progress on it: tries, tries again, records. It never waits.

use super::Shared;
use crate::exit::{ExitCode, Failure};
use crate::outcome::{DATA, ErrorClass, LOST, Outcome, classify, label};
use crate::output::ErrorKind;
use crate::pace::Arrival;
use crate::record::{Attempt, Lane, Sample};
use crate::target::TargetError;
use crate::target::postgres::{Batch, Connection, Poll, Retry};
use crate::workload::{DataError, OperationId, Step, Worker};

/// What comes next for a seat.
pub(super) enum Next {
    /// Its socket must become ready.
    Wait,
    /// The operation is to be tried again after a pause; it failed so often before.
    BackOff(u32),
    /// The operation is over.
    Ended(Ended),
}

/// How an operation ended.
pub(super) struct Ended {
    pub(super) arrival: Arrival,
    pub(super) at_ns: u64,
    pub(super) outcome: Outcome,
    /// Whether it queued work for later.
    pub(super) queues: bool,
    /// Whether it was such work.
    pub(super) deferred: bool,
    /// Why nothing can follow it, if so.
    pub(super) fatal: Option<Failure>,
}

/// The operation in progress.
struct Operation {
    id: OperationId,
    arrival: Arrival,
    unhindered: bool,
    /// Whether it is work that a client's turn queued.
    deferred: bool,
    /// When its first byte was sent, of the first attempt and of the latest.
    sent_ns: Option<u64>,
    attempt_sent_ns: Option<u64>,
    round_trips: u32,
    retries: u32,
    /// Whether a commit of it is on its way, and not answered.
    in_doubt: bool,
}

/// What an exchange under way is for.
enum Exchange {
    /// A step of the operation.
    Step,
    /// Leaving the transaction in which the operation met this error; then it is tried again, or not.
    Reset { error: String, again: bool },
}

pub(super) struct Seat {
    /// `None` between losing one and getting the next.
    pub(super) connection: Option<Connection>,
    pub(super) worker: Box<dyn Worker>,
    batch: Batch,
    operation: Operation,
    exchange: Option<Exchange>,
}

impl Seat {
    pub(super) fn new(connection: Connection, worker: Box<dyn Worker>, retry: Retry) -> Self {
        let operation = Operation {
            id: OperationId(0),
            arrival: Arrival { client: 0, turn: 0, due_ns: 0 },
            unhindered: false,
            deferred: false,
            sent_ns: None,
            attempt_sent_ns: None,
            round_trips: 0,
            retries: 0,
            in_doubt: false,
        };
        let connection = Some(connection);
        Self { connection, worker, batch: Batch::with_retry(retry), operation, exchange: None }
    }

    /// Whether an answer is due.
    pub(super) fn is_waiting(&self) -> bool {
        self.exchange.is_some()
    }

    /// Whether the socket must also be watched for room to write.
    pub(super) fn wants_write(&self) -> bool {
        self.is_waiting() && self.connection.as_ref().is_some_and(|connection| connection.wants_write(&self.batch))
    }

    /// Draws and begins an operation; `unhindered` when it waited for nobody but this program.
    pub(super) fn start(&mut self, shared: &Shared, lane: &Lane, arrival: Arrival, unhindered: bool) -> Next {
        let id = self.worker.draw(arrival.client, arrival.turn);
        self.operate(shared, lane, id, arrival, unhindered, false)
    }

    /// Begins the work that a client's turn queued at the time at which this arrival is due.
    pub(super) fn start_deferred(&mut self, shared: &Shared, lane: &Lane, arrival: Arrival) -> Next {
        let id = self.worker.draw_deferred(arrival.client, arrival.turn);
        self.operate(shared, lane, id, arrival, false, true)
    }

    fn operate(
        &mut self,
        shared: &Shared,
        lane: &Lane,
        id: OperationId,
        arrival: Arrival,
        unhindered: bool,
        deferred: bool,
    ) -> Next {
        self.operation = Operation {
            id,
            arrival,
            unhindered,
            deferred,
            sent_ns: None,
            attempt_sent_ns: None,
            round_trips: 0,
            retries: 0,
            in_doubt: false,
        };
        self.attempt(shared, lane)
    }

    /// Begins an attempt of the drawn operation.
    pub(super) fn attempt(&mut self, shared: &Shared, lane: &Lane) -> Next {
        self.batch.clear();
        self.operation.in_doubt = false;
        self.operation.attempt_sent_ns = None;
        let step = self.worker.step(None, &mut self.batch);
        self.take(shared, lane, step)
    }

    fn take(&mut self, shared: &Shared, lane: &Lane, step: Result<Step, DataError>) -> Next {
        match step {
            Ok(Step::Send) => self.send(shared, lane),
            Ok(Step::Done(completion)) => self.end(shared, lane, completion.into(), None),
            Err(error) => {
                self.connection = None;
                self.count_error(shared, lane, DATA.to_owned(), ErrorKind::Failed);
                self.end(shared, lane, Outcome::Failed, Some(Failure::data(&error)))
            }
        }
    }

    fn send(&mut self, shared: &Shared, lane: &Lane) -> Next {
        let Some(connection) = self.connection.as_mut() else {
            return self.interrupted(shared, lane, TargetError::Lost("no connection".to_owned()));
        };
        if self.operation.attempt_sent_ns.is_none() {
            let now_ns = shared.clock.now_ns();
            self.operation.attempt_sent_ns = Some(now_ns);
            self.operation.sent_ns.get_or_insert(now_ns);
        }
        self.operation.round_trips += 1;
        self.operation.in_doubt = connection.commits(&self.batch);
        if let Err(error) = connection.begin(&mut self.batch) {
            return self.interrupted(shared, lane, error);
        }
        self.exchange = Some(Exchange::Step);
        Next::Wait
    }

    /// Goes on when the socket is ready.
    pub(super) fn advance(&mut self, shared: &Shared, lane: &Lane) -> Next {
        let Some(connection) = self.connection.as_mut() else { return Next::Wait };
        let outcome = match connection.advance(&self.batch) {
            Ok(Poll::Pending) => return Next::Wait,
            outcome => outcome.map(|_| ()),
        };
        match (self.exchange.take(), outcome) {
            (Some(Exchange::Reset { error, again }), outcome) => {
                self.was_reset(shared, lane, error, again, outcome.is_ok())
            }
            (_, Err(error)) => self.interrupted(shared, lane, error),
            (_, Ok(())) => {
                self.operation.in_doubt = false;
                self.batch.clear();
                let step = self.worker.step(Some(connection.reply()), &mut self.batch);
                self.take(shared, lane, step)
            }
        }
    }

    /// Gives up waiting for an answer.
    pub(super) fn time_out(&mut self, shared: &Shared, lane: &Lane) -> Next {
        match self.exchange.take() {
            Some(Exchange::Reset { error, again }) => self.was_reset(shared, lane, error, again, false),
            _ => {
                let message = "waiting for an answer: the server was silent for longer than the timeout";
                self.interrupted(shared, lane, TargetError::Lost(message.to_owned()))
            }
        }
    }

    /// The attempt met an error: makes the connection usable again, or drops it.
    fn interrupted(&mut self, shared: &Shared, lane: &Lane, error: TargetError) -> Next {
        let class = classify(&error);
        let again = class == ErrorClass::Retry && self.operation.retries < shared.max_retries && !self.is_over(shared);
        // A server that tells an error has undone the operation before, unless it says that it does not know.
        self.operation.in_doubt &= matches!(class, ErrorClass::Lost | ErrorClass::Unknown | ErrorClass::Defect);
        match class {
            ErrorClass::Defect => {
                let message = format!("client and server misunderstand each other: {error}");
                self.connection = None;
                self.count_error(shared, lane, label(error), ErrorKind::Failed);
                self.end(shared, lane, Outcome::Failed, Some(Failure::new(ExitCode::TargetLost, message)))
            }
            // Under whatever SQLSTATE a server says farewell, the connection is lost.
            ErrorClass::Lost => self.was_reset(shared, lane, LOST.to_owned(), false, false),
            ErrorClass::Retry | ErrorClass::Unknown | ErrorClass::Fail => self.reset(shared, lane, label(error), again),
        }
    }

    /// Whether nothing is tried again any more; queued work is done even after the end.
    fn is_over(&self, shared: &Shared) -> bool {
        if self.operation.deferred { shared.stop.requested() } else { shared.is_over(shared.clock.now_ns()) }
    }

    /// Leaves a failed or open transaction, so that the next batch starts afresh.
    fn reset(&mut self, shared: &Shared, lane: &Lane, error: String, again: bool) -> Next {
        let Some(connection) = self.connection.as_mut().filter(|connection| connection.in_transaction()) else {
            return self.was_reset(shared, lane, error, again, self.connection.is_some());
        };
        if again {
            self.batch.restart();
        } else {
            self.batch.abandon();
        }
        self.operation.round_trips += 1;
        match connection.begin(&mut self.batch) {
            Ok(()) => {
                self.exchange = Some(Exchange::Reset { error, again });
                Next::Wait
            }
            Err(_) => self.was_reset(shared, lane, error, again, false),
        }
    }

    /// Counts the error, and tries again or ends. When the session goes only while it is reset, nothing more is in
    /// doubt, and the error keeps its own name.
    fn was_reset(&mut self, shared: &Shared, lane: &Lane, error: String, again: bool, usable: bool) -> Next {
        if !usable {
            self.connection = None;
        }
        let goes_on = again && usable;
        self.count_error(shared, lane, error, if goes_on { ErrorKind::Retried } else { ErrorKind::Failed });
        if !goes_on {
            return self.end(shared, lane, Outcome::Failed, None);
        }
        self.record_attempt(shared, lane);
        self.operation.retries += 1;
        Next::BackOff(self.operation.retries - 1)
    }

    fn count_error(&self, shared: &Shared, lane: &Lane, name: String, kind: ErrorKind) {
        lane.error(|| shared.clock.now_ns(), self.operation.id, name, kind, self.operation.in_doubt);
    }

    fn record_attempt(&self, shared: &Shared, lane: &Lane) {
        let Some(sent_ns) = self.operation.attempt_sent_ns else { return };
        let operation = self.operation.id;
        let attempt = |ended_ns| Attempt { ended_ns, service_ns: ended_ns - sent_ns, operation };
        lane.attempt(|| shared.clock.now_ns(), attempt);
    }

    fn end(&mut self, shared: &Shared, lane: &Lane, outcome: Outcome, fatal: Option<Failure>) -> Next {
        let operation = &self.operation;
        if operation.retries > 0 {
            self.record_attempt(shared, lane);
        }
        let sample = lane.record(
            || shared.clock.now_ns(),
            |ended_ns| {
                // An operation that never needed the server was served in no time, after queueing for all of it.
                let sent_ns = operation.sent_ns.unwrap_or(ended_ns);
                Sample {
                    ended_ns,
                    queue_ns: sent_ns.saturating_sub(operation.arrival.due_ns),
                    service_ns: ended_ns - sent_ns,
                    round_trips: operation.round_trips,
                    operation: operation.id,
                    outcome,
                    retried: operation.retries > 0,
                    unhindered: operation.unhindered,
                }
            },
        );
        Next::Ended(Ended {
            arrival: operation.arrival,
            at_ns: sample.ended_ns,
            outcome,
            queues: outcome != Outcome::Failed && self.worker.queues(),
            deferred: operation.deferred,
            fatal,
        })
    }
}
