//! A seat: room for one operation on a connection. It tries, retries and records the operation, and never waits.

use super::shared::Shared;
use crate::engine::pace::Arrival;
use crate::exit::{ExitCode, Failure};
use crate::output::ErrorKind;
use crate::output::outcome::{DATA, ErrorClass, LOST, Outcome, label};
use crate::record::{Attempt, Lane, Sample};
use crate::target::{Poll, Request, Session, TargetError};
use crate::workload::{DataError, OperationId, Step, Worker};

/// What comes next for a seat.
pub(super) enum Next {
    /// An exchange of it has started: its answer comes behind those of the exchanges before.
    Wait,
    /// The operation is to be retried after a pause; it failed so often before.
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

impl Operation {
    fn of(id: OperationId, arrival: Arrival) -> Self {
        Self {
            id,
            arrival,
            unhindered: false,
            deferred: false,
            sent_ns: None,
            attempt_sent_ns: None,
            round_trips: 0,
            retries: 0,
            in_doubt: false,
        }
    }
}

/// What an exchange in flight is for.
enum Exchange {
    /// A step of the operation.
    Step,
    /// Leaving the transaction in which the operation met this error; then it is retried, or not.
    Reset { error: String, again: bool },
}

/// What a seat works with, and does not own.
pub(super) struct SeatContext<'a, S: Session> {
    pub(super) shared: &'a Shared,
    pub(super) lane: &'a Lane,
    /// The connection, which other seats may share; `None` between losing one and getting the next.
    pub(super) link: &'a mut Option<S>,
    /// When the requests that travel with the next one were sent, if it is not the first.
    pub(super) sent_ns: &'a mut Option<u64>,
    /// When the answers that were last read came, if the clock was read since.
    pub(super) came_ns: &'a mut Option<u64>,
    /// Whether what goes on now is an answer that came then.
    pub(super) together: bool,
}

pub(super) struct Seat<S: Session> {
    pub(super) worker: Box<dyn Worker<S>>,
    request: S::Request,
    operation: Operation,
    exchange: Option<Exchange>,
}

impl<S: Session> Seat<S> {
    pub(super) fn new(worker: Box<dyn Worker<S>>, request: S::Request) -> Self {
        let operation = Operation::of(OperationId(0), Arrival { client: 0, turn: 0, due_ns: 0 });
        Self { worker, request, operation, exchange: None }
    }

    /// Whether the socket must also be watched for room to write.
    pub(super) fn wants_write(&self, session: Option<&S>) -> bool {
        session.is_some_and(|session| session.wants_write(&self.request))
    }

    /// Draws and begins an operation; `unhindered` when it waited for nobody but this program.
    pub(super) fn start(&mut self, context: &mut SeatContext<'_, S>, arrival: Arrival, unhindered: bool) -> Next {
        let id = self.worker.draw(arrival.client, arrival.turn);
        self.operate(context, Operation { unhindered, ..Operation::of(id, arrival) })
    }

    /// Begins the work that a client's turn queued at the time at which this arrival is due.
    pub(super) fn start_deferred(&mut self, context: &mut SeatContext<'_, S>, arrival: Arrival) -> Next {
        let id = self.worker.draw_deferred(arrival.client, arrival.turn);
        self.operate(context, Operation { deferred: true, ..Operation::of(id, arrival) })
    }

    fn operate(&mut self, context: &mut SeatContext<'_, S>, operation: Operation) -> Next {
        self.operation = operation;
        self.attempt(context)
    }

    /// Begins an attempt of the drawn operation.
    pub(super) fn attempt(&mut self, context: &mut SeatContext<'_, S>) -> Next {
        self.operation.in_doubt = false;
        self.operation.attempt_sent_ns = None;
        self.step(context, false)
    }

    /// Does what the worker wants next, at the beginning or after an answer.
    fn step(&mut self, context: &mut SeatContext<'_, S>, answered: bool) -> Next {
        self.request.clear();
        let Self { worker, request, .. } = self;
        let step = match context.link.as_mut() {
            Some(session) => session.fill(request, |reply, request| worker.step(answered.then_some(reply), request)),
            None => worker.step(None, request),
        };
        self.take(context, step)
    }

    fn take(&mut self, context: &mut SeatContext<'_, S>, step: Result<Step, DataError>) -> Next {
        match step {
            Ok(Step::Send) => self.send(context),
            Ok(Step::Done(completion)) => self.end(context, completion.into(), None),
            Err(error) => self.meet_damage(context, &error),
        }
    }

    /// The data set is damaged: nothing can follow. Without its connection, an open transaction is rolled back.
    fn meet_damage(&mut self, context: &mut SeatContext<'_, S>, error: &DataError) -> Next {
        *context.link = None;
        self.count_error(context, DATA.to_owned(), ErrorKind::Failed);
        self.end(context, Outcome::Failed, Some(Failure::data(error)))
    }

    fn send(&mut self, context: &mut SeatContext<'_, S>) -> Next {
        let Some(session) = context.link.as_mut() else {
            return self.interrupted(context, TargetError::Lost("no connection".to_owned()));
        };
        if self.operation.attempt_sent_ns.is_none() {
            let now_ns = *context.sent_ns.get_or_insert_with(|| context.shared.clock.now_ns());
            self.operation.attempt_sent_ns = Some(now_ns);
            self.operation.sent_ns.get_or_insert(now_ns);
        }
        self.operation.round_trips += 1;
        self.operation.in_doubt = session.commits(&self.request);
        if let Err(error) = session.begin(&mut self.request) {
            return self.interrupted(context, error);
        }
        self.exchange = Some(Exchange::Step);
        Next::Wait
    }

    /// Goes on when the socket is ready; `None` while its answer is not there.
    pub(super) fn advance(&mut self, context: &mut SeatContext<'_, S>) -> Option<Next> {
        let session = context.link.as_mut()?;
        let outcome = match session.advance(&self.request) {
            Ok(Poll::Pending) => return None,
            Ok(Poll::Ready { together }) => {
                context.together = together;
                Ok(())
            }
            Err(error) => Err(error),
        };
        if !context.together {
            *context.came_ns = None;
        }
        Some(match (self.exchange.take(), outcome) {
            (Some(Exchange::Reset { error, again }), outcome) => self.was_reset(context, error, again, outcome.is_ok()),
            (_, Err(error)) => self.interrupted(context, error),
            (_, Ok(())) => {
                self.operation.in_doubt = false;
                self.step(context, true)
            }
        })
    }

    /// Gives up waiting for an answer, for this reason.
    pub(super) fn give_up(&mut self, context: &mut SeatContext<'_, S>, why: &str) -> Next {
        match self.exchange.take() {
            Some(Exchange::Reset { error, again }) => self.was_reset(context, error, again, false),
            _ => self.interrupted(context, TargetError::Lost(why.to_owned())),
        }
    }

    /// The attempt met an error: makes the connection usable again, or drops it.
    fn interrupted(&mut self, context: &mut SeatContext<'_, S>, error: TargetError) -> Next {
        let class = context.shared.classify(&error);
        let again = class == ErrorClass::Retry
            && self.operation.retries < context.shared.max_retries
            && !self.is_over(context.shared);
        // A server that tells an error has undone the operation before, unless it says that it does not know.
        self.operation.in_doubt &= matches!(class, ErrorClass::Lost | ErrorClass::Unknown | ErrorClass::Defect);
        match class {
            ErrorClass::Defect => {
                let message = format!("client and server disagree on the protocol: {error}");
                *context.link = None;
                self.count_error(context, label(error), ErrorKind::Failed);
                self.end(context, Outcome::Failed, Some(Failure::new(ExitCode::TargetLost, message)))
            }
            ErrorClass::Data => {
                let message = format!("a row that the transaction needs is missing ({error})");
                self.meet_damage(context, &DataError(message))
            }
            // Under whatever SQLSTATE a server says farewell, the connection is lost.
            ErrorClass::Lost => self.was_reset(context, LOST.to_owned(), false, false),
            ErrorClass::Moved => self.was_reset(context, label(error), false, false),
            ErrorClass::Retry | ErrorClass::Unknown | ErrorClass::Fail => self.reset(context, label(error), again),
        }
    }

    /// Whether nothing is retried any more; queued work is done even after the end.
    fn is_over(&self, shared: &Shared) -> bool {
        if self.operation.deferred { shared.stop.requested() } else { shared.is_over(shared.clock.now_ns()) }
    }

    /// Leaves a failed or open transaction, so that the next batch starts afresh.
    fn reset(&mut self, context: &mut SeatContext<'_, S>, error: String, again: bool) -> Next {
        let Some(session) = context.link.as_mut() else { return self.was_reset(context, error, again, false) };
        if !session.leave(&mut self.request, again) {
            return self.was_reset(context, error, again, true);
        }
        self.operation.round_trips += 1;
        match session.begin(&mut self.request) {
            Ok(()) => {
                self.exchange = Some(Exchange::Reset { error, again });
                Next::Wait
            }
            Err(_) => self.was_reset(context, error, again, false),
        }
    }

    /// Counts the error, and tries again or ends. When the session goes only while it is reset, nothing more is in
    /// doubt, and the error keeps its own name.
    fn was_reset(&mut self, context: &mut SeatContext<'_, S>, error: String, again: bool, usable: bool) -> Next {
        if !usable {
            *context.link = None;
        }
        let goes_on = again && usable;
        self.count_error(context, error, if goes_on { ErrorKind::Retried } else { ErrorKind::Failed });
        if !goes_on {
            return self.end(context, Outcome::Failed, None);
        }
        self.record_attempt(context);
        self.operation.retries += 1;
        Next::BackOff(self.operation.retries - 1)
    }

    fn count_error(&mut self, context: &SeatContext<'_, S>, name: String, kind: ErrorKind) {
        if !self.operation.in_doubt {
            self.worker.was_refused();
        }
        context.lane.error(|| context.shared.clock.now_ns(), self.operation.id, name, kind, self.operation.in_doubt);
    }

    fn record_attempt(&self, context: &SeatContext<'_, S>) {
        let Some(sent_ns) = self.operation.attempt_sent_ns else { return };
        let operation = self.operation.id;
        let attempt = |ended_ns| Attempt { ended_ns, service_ns: ended_ns - sent_ns, operation };
        context.lane.attempt(|| context.shared.clock.now_ns(), attempt);
    }

    fn end(&mut self, context: &mut SeatContext<'_, S>, outcome: Outcome, fatal: Option<Failure>) -> Next {
        let operation = &self.operation;
        if operation.retries > 0 {
            self.record_attempt(context);
        }
        if !context.together {
            *context.came_ns = None;
        }
        let sample = context.lane.record(
            context.came_ns,
            || context.shared.clock.now_ns(),
            |ended_ns| {
                // An operation that never needed the server was served in no time, after queueing for all of it.
                let sent_ns = operation.sent_ns.unwrap_or(ended_ns);
                Sample {
                    ended_ns,
                    queue_ns: sent_ns.saturating_sub(operation.arrival.due_ns),
                    service_ns: ended_ns.saturating_sub(sent_ns),
                    round_trips: operation.round_trips,
                    client: operation.arrival.client,
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
