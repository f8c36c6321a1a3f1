//! How connections are opened, the first time and again.

use crate::exit::{ExitCode, Failure};
use crate::outcome::{ErrorClass, classify};
use crate::stop::Stop;
use crate::target::postgres::{Connection, Dsn, Isolation, PrepareError, Retry, SessionAttributes};
use crate::target::{Statement, TargetError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Logging in costs the server a process and the client an expensive hash: so many at a time are fast enough.
pub(super) const PARALLEL_LOGINS: usize = 16;
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// A socket takes no wait of nothing at all.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Opens connections that are ready for a workload.
#[derive(Debug)]
pub struct Dial {
    /// Where to: each host serves a group of connections, see [`Dial::hosts`].
    pub hosts: Vec<Dsn>,
    /// Of explicit transactions and of single statements.
    pub isolation: Isolation,
    /// How transactions are tried again.
    pub retry: Retry,
    /// What to prepare.
    pub statements: Vec<Statement>,
    /// How long a server may be silent when an answer is due.
    pub answer_timeout: Duration,
    /// How long to try to get a lost connection back.
    pub reconnect_timeout: Duration,
}

enum DialError {
    Open(TargetError),
    Prepare(PrepareError),
}

impl Dial {
    /// The hosts that so many connections are spread over: all of the DSN's, when any of them will do. A DSN that wants
    /// a server of a certain kind leads to one host, as libpq has it.
    #[must_use]
    pub fn hosts(dsn: &Dsn, connections: u32) -> Vec<Dsn> {
        match dsn.session_attributes() {
            SessionAttributes::Any => dsn.each_host().into_iter().take(connections.max(1) as usize).collect(),
            _ => vec![dsn.clone()],
        }
    }

    /// Number of groups of connections: a client's home decides which one serves it.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.hosts.len()
    }

    /// Opens a connection; each wait for the server is at most `most` long, and as long as the DSN and the spec say.
    fn open(&self, group: usize, most: Duration) -> Result<Connection, DialError> {
        let dsn = self.hosts[group].within(most);
        let mut connection = Connection::open(&dsn, Some(self.answer_timeout.min(most))).map_err(DialError::Open)?;
        connection.prepare(&self.statements, self.isolation).map_err(DialError::Prepare)?;
        connection.prepare_retry(self.retry).map_err(DialError::Prepare)?;
        connection.set_timeout(Some(self.answer_timeout)).map_err(DialError::Open)?;
        Ok(connection)
    }

    /// Opens so many connections, several at a time; connection i is of group i mod [`Dial::groups`].
    ///
    /// # Errors
    /// The first failure.
    pub fn open_all(&self, count: usize, stop: &Stop) -> Result<Vec<Connection>, Failure> {
        let next = AtomicUsize::new(0);
        let open_some = || {
            let mut opened = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count || stop.requested() {
                    break;
                }
                match self.open(index % self.groups(), Duration::MAX) {
                    Ok(connection) => opened.push((index, connection)),
                    Err(error) => {
                        next.store(count, Ordering::Relaxed);
                        return Err(explain_first(&self.hosts[index % self.groups()], error));
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
            Ok(all.into_iter().map(|(_, connection)| connection).collect())
        })?;
        stop.reason().map_or(Ok(opened), Err)
    }

    /// Tries until a connection is back, for a bounded time; `None` when the program stops meanwhile, or when it is
    /// `end` and nobody needs the connection any more.
    ///
    /// # Errors
    /// [`ExitCode::TargetLost`] when the time is over, or the server refuses us for good.
    pub fn reopen(&self, group: usize, stop: &Stop, end: Instant) -> Result<Option<Connection>, Failure> {
        let deadline = Instant::now() + self.reconnect_timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).max(SHORTEST_WAIT);
            let error = match self.open(group, left) {
                Ok(connection) => return Ok(Some(connection)),
                Err(DialError::Open(error) | DialError::Prepare(PrepareError { error, .. })) => error,
            };
            // A server that restarts says "starting up"; one that is full of dying sessions says "too many clients".
            let passing = classify(&error) == ErrorClass::Lost || is_too_many_clients(&error);
            let now = Instant::now();
            if now >= end {
                return Ok(None);
            }
            if !passing || now >= deadline {
                let seconds = self.reconnect_timeout.as_secs_f64();
                let message = format!("the connection was lost and did not come back within {seconds} s: {error}");
                return Err(Failure::new(ExitCode::TargetLost, message));
            }
            if stop.wait_until(deadline.min(end).min(now + pause)) {
                return Ok(None);
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }
}

fn explain_first(dsn: &Dsn, error: DialError) -> Failure {
    match error {
        DialError::Open(error) => cannot_connect(dsn, &error),
        DialError::Prepare(error) => {
            let doing = format!("statement {} cannot be prepared", error.statement);
            let failure = Failure::target(&doing, &error.error);
            let missing_data = failure.code == ExitCode::ConsistencyBroken;
            if missing_data { failure } else { Failure::new(ExitCode::CannotConnect, failure.message) }
        }
    }
}

fn is_too_many_clients(error: &TargetError) -> bool {
    matches!(error, TargetError::Database { sqlstate, .. } if sqlstate == "53300")
}

/// Nobody answers, or we are not let in.
#[must_use]
pub fn cannot_connect(dsn: &Dsn, error: &TargetError) -> Failure {
    let hint = match error {
        TargetError::Database { sqlstate, .. } if sqlstate.starts_with("28") => {
            "; check the user, and the password in PGPASSWORD"
        }
        TargetError::Database { sqlstate, .. } if sqlstate == "53300" => {
            "; raise max_connections or lower \"connections\""
        }
        _ => "",
    };
    Failure::new(ExitCode::CannotConnect, format!("cannot use {dsn}: {error}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_spread_over_hosts_of_which_any_will_do() {
        let hosts = |options: &str, connections| {
            let dsn = Dsn::parse(&format!("postgresql://u@a:1,b:2,c:3/d{options}"), |_| None).unwrap();
            Dial::hosts(&dsn, connections).iter().map(|dsn| dsn.addresses().len()).collect::<Vec<_>>()
        };
        assert_eq!(hosts("", 8), [1, 1, 1]);
        assert_eq!(hosts("", 2), [1, 1]);
        assert_eq!(hosts("?target_session_attrs=read-write", 8), [3]);
    }

    fn dial(listener: &std::net::TcpListener) -> Dial {
        let address = listener.local_addr().unwrap();
        Dial {
            hosts: vec![Dsn::parse(&format!("postgresql://u@{address}/d"), |_| None).unwrap()],
            isolation: Isolation::ReadCommitted,
            retry: Retry::Restart,
            statements: Vec::new(),
            answer_timeout: Duration::from_secs(5),
            reconnect_timeout: Duration::from_millis(700),
        }
    }

    #[test]
    fn a_server_that_says_nothing_is_waited_for_no_longer_than_a_lost_connection_may_take() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let began = Instant::now();
        let failure =
            dial(&listener).reopen(0, &Stop::default(), began + Duration::from_secs(60)).expect_err("nobody answers");
        assert_eq!(failure.code, ExitCode::TargetLost);
        assert!((700..4_000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    }

    #[test]
    fn nobody_reconnects_after_the_end() {
        let dial = dial(&std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        let began = Instant::now();
        assert!(dial.reopen(0, &Stop::default(), began + Duration::from_millis(100)).unwrap().is_none());
        assert!(began.elapsed() < Duration::from_millis(600));
        let failure = dial.reopen(0, &Stop::default(), began + Duration::from_secs(60)).unwrap_err();
        assert_eq!(failure.code, ExitCode::TargetLost);
    }
}
