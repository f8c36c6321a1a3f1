//! Opening connections, and opening them again.

mod aerospike;
mod mysql;
mod postgres;
mod resp;

pub use aerospike::AerospikeDialer;
pub use mysql::MysqlDialer;
pub use postgres::PostgresDialer;
pub use resp::RespDialer;

use crate::exit::ExitCode;
use crate::exit::{Failure, is_full};
use crate::output::outcome::{ErrorClass, classify};
use crate::stop::Stop;
use crate::target::postgres::Address;
use crate::target::resp::is_too_many_clients;
use crate::target::{PrepareError, Session, TargetError};
use crate::tell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Logging in costs the server a process and the client an expensive hash: this many at a time are fast enough.
pub(super) const PARALLEL_LOGINS: usize = 16;
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Where another server may take over: by so much an outage may seem longer than it was.
const LONGEST_PAUSE_OF_FAILOVER: Duration = Duration::from_millis(100);
/// How long the first server may take that is tried, where there are others; twice as long each time.
const FIRST_TRY: Duration = Duration::from_secs(1);
/// A socket takes no wait of nothing at all.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Opens sessions that are ready for a workload, of one kind of target.
pub trait Dialer: Send + Sync + 'static {
    /// What it opens.
    type Session: Session;

    /// Number of groups of connections: a client's home decides which one serves it.
    fn groups(&self) -> usize;

    /// How many operations a connection carries at a time.
    fn depth(&self) -> usize {
        1
    }

    /// Opens a connection of a group. It counts as lost when an answer takes longer than `answer_timeout`. Until it is
    /// open, each wait for the server takes at most `most`.
    ///
    /// # Errors
    /// Why there is none.
    fn open(&self, group: usize, answer_timeout: Duration, most: Duration) -> Result<Self::Session, DialError>;

    /// Opens a connection of a group where its keys are served now: tries another server with each attempt. Where every
    /// server has all keys, or passes on what is not its own, any serves.
    ///
    /// # Errors
    /// Why there is none.
    fn open_anywhere(
        &self,
        group: usize,
        attempt: usize,
        answer_timeout: Duration,
        most: Duration,
    ) -> Result<Self::Session, DialError> {
        self.open((group + attempt) % self.groups(), answer_timeout, most)
    }

    /// An empty request for such a connection.
    fn request(&self) -> <Self::Session as Session>::Request;

    /// Whom the connections of a group lead to, for messages.
    fn server(&self, group: usize) -> String;

    /// What to say when the first connection of a group could not be opened.
    fn explain(&self, group: usize, error: DialError) -> Failure;
}

/// Why a connection is not there.
#[derive(Debug)]
pub struct DialError {
    /// The statement that would not be prepared, if it came that far.
    pub statement: Option<&'static str>,
    /// What happened.
    pub error: TargetError,
}

impl From<TargetError> for DialError {
    fn from(error: TargetError) -> Self {
        Self { statement: None, error }
    }
}

impl From<PrepareError> for DialError {
    fn from(PrepareError { statement, error }: PrepareError) -> Self {
        Self { statement: Some(statement), error }
    }
}

/// Opens connections, and lost ones again.
#[derive(Debug)]
pub struct Dial<D> {
    /// How.
    pub dialer: D,
    /// How long a server may be silent when an answer is due.
    pub answer_timeout: Duration,
    /// How long to try to get a lost connection back.
    pub reconnect_timeout: Duration,
    /// Whether it may come back on another server of the target.
    pub failover: bool,
}

impl<D: Dialer> Dial<D> {
    /// Number of groups of connections.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.dialer.groups()
    }

    /// Opens this many connections, several at a time; connection i is of group i mod [`Dial::groups`].
    ///
    /// # Errors
    /// The first failure.
    pub fn open_all(&self, count: usize, stop: &Stop) -> Result<Vec<D::Session>, Failure> {
        let next = AtomicUsize::new(0);
        let open_some = || {
            let mut opened = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count || stop.requested() {
                    break;
                }
                let group = index % self.groups();
                match self.dialer.open(group, self.answer_timeout, Duration::MAX) {
                    Ok(session) => opened.push((index, session)),
                    Err(error) => {
                        next.store(count, Ordering::Relaxed);
                        return Err(self.dialer.explain(group, error));
                    }
                }
            }
            Ok(opened)
        };
        let opened = thread::scope(|scope| {
            let threads: Vec<_> = (0..count.min(PARALLEL_LOGINS)).map(|_| scope.spawn(open_some)).collect();
            let mut all = Vec::with_capacity(count);
            for thread in threads {
                all.extend(thread.join().expect("a login does not panic")?);
            }
            all.sort_by_key(|(index, _)| *index);
            Ok(all.into_iter().map(|(_, session)| session).collect())
        })?;
        stop.reason().map_or(Ok(opened), Err)
    }

    /// Tries until a connection is back, for a bounded time; `None` when the program stops meanwhile, or when it is
    /// `end` and nobody needs the connection any more.
    ///
    /// # Errors
    /// [`ExitCode::TargetLost`] when the time is over, or the server rejects the login for good.
    pub fn reopen(&self, group: usize, stop: &Stop, end: Instant) -> Result<Option<D::Session>, Failure> {
        let deadline = Instant::now() + self.reconnect_timeout;
        let longest = if self.failover { LONGEST_PAUSE_OF_FAILOVER } else { LONGEST_PAUSE };
        let mut pause = FIRST_PAUSE;
        for attempt in 0.. {
            let left = deadline.saturating_duration_since(Instant::now()).max(SHORTEST_WAIT);
            let opened = if self.failover {
                // A server that says nothing must leave time for the others.
                let most = left.min(FIRST_TRY * 2_u32.pow(attempt.min(4)));
                self.dialer.open_anywhere(group, attempt as usize, self.answer_timeout, most)
            } else {
                self.dialer.open(group, self.answer_timeout, left)
            };
            let error = match opened {
                Ok(session) => return Ok(Some(session)),
                Err(DialError { error, .. }) => error,
            };
            // A server that restarts says "starting up"; one that is full of dying sessions says "too many clients".
            // While one takes over from another, they say many things.
            let class = classify(&error);
            let passing = class == ErrorClass::Lost
                || is_full(&error)
                || is_too_many_clients(&error)
                || self.failover && class != ErrorClass::Defect;
            let now = Instant::now();
            if now >= end {
                return Ok(None);
            }
            if !passing || now >= deadline {
                let seconds = self.reconnect_timeout.as_secs_f64();
                let server = self.dialer.server(group);
                let message =
                    format!("the connection to {server} was lost and did not come back within {seconds} s: {error}");
                return Err(Failure::new(ExitCode::TargetLost, message));
            }
            if stop.wait_until(deadline.min(end).min(now + pause)) {
                return Ok(None);
            }
            pause = longest.min(pause * 2);
        }
        Ok(None) // after 2^32 attempts
    }
}

/// Whether a host is among those that are used; says why not.
fn is_used(address: &Address, unreachable: Option<TargetError>) -> bool {
    if let Some(error) = &unreachable {
        tell::say(format_args!("not using {address}: {error}"));
    }
    unreachable.is_none()
}

/// Hosts of which each will do, for messages.
fn any_of(addresses: &[Address]) -> String {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(" or ")
}

/// What to say of a statement that a server refuses: a table that is not there is missing data.
fn not_prepared(statement: &str, error: &TargetError, hint: &str) -> Failure {
    let mut failure = Failure::target(&format!("cannot prepare statement {statement}"), error);
    failure.message.push_str(hint);
    let missing_data = failure.code == ExitCode::ConsistencyBroken;
    if missing_data { failure } else { Failure::new(ExitCode::CannotConnect, failure.message) }
}

/// The hosts that this many connections are spread over: those that answer, where there are several. Where none does, all
/// are kept: to open a connection says why.
fn spread<D>(mut hosts: Vec<D>, connections: u32, answers: impl Fn(&D) -> bool) -> Vec<D> {
    if hosts.len() > 1 {
        let there: Vec<_> = hosts.iter().map(answers).collect();
        if there.contains(&true) {
            let mut each = there.iter();
            hosts.retain(|_| *each.next().expect("one for each host"));
        }
    }
    hosts.truncate(connections.max(1) as usize);
    hosts
}
