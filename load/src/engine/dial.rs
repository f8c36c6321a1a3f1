//! How workers get their connections, the first time and again.

use crate::exit::{ExitCode, Failure};
use crate::outcome::{ErrorClass, classify};
use crate::stop::Stop;
use crate::target::postgres::{Connection, Dsn, Isolation, PrepareError};
use crate::target::{Statement, TargetError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Logging in costs the server a process and the client an expensive hash: so many at a time are fast enough.
const PARALLEL_LOGINS: usize = 16;
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Opens connections that are ready for a workload.
#[derive(Debug)]
pub struct Dial {
    /// Where to.
    pub dsn: Dsn,
    /// Of explicit transactions and of single statements.
    pub isolation: Isolation,
    /// What to prepare.
    pub statements: Vec<Statement>,
    /// How long a server may be silent when an answer is due.
    pub answer_timeout: Duration,
    /// How long a worker tries to get a lost connection back.
    pub reconnect_timeout: Duration,
}

enum DialError {
    Open(TargetError),
    Prepare(PrepareError),
}

impl Dial {
    fn open(&self) -> Result<Connection, DialError> {
        let mut connection = Connection::open(&self.dsn, Some(self.answer_timeout)).map_err(DialError::Open)?;
        connection.prepare(&self.statements, self.isolation).map_err(DialError::Prepare)?;
        Ok(connection)
    }

    /// Opens so many connections, several at a time.
    ///
    /// # Errors
    /// The first failure.
    pub fn open_all(&self, count: usize, stop: &Stop) -> Result<Vec<Connection>, Failure> {
        let next = AtomicUsize::new(0);
        let open_some = || {
            let mut opened = Vec::new();
            while next.fetch_add(1, Ordering::Relaxed) < count && !stop.requested() {
                match self.open() {
                    Ok(connection) => opened.push(connection),
                    Err(error) => {
                        next.store(count, Ordering::Relaxed);
                        return Err(self.explain_first(error));
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
            Ok(all)
        })?;
        stop.reason().map_or(Ok(opened), Err)
    }

    fn explain_first(&self, error: DialError) -> Failure {
        match error {
            DialError::Open(error) => cannot_connect(&self.dsn, &error),
            DialError::Prepare(error) => {
                let doing = format!("statement {} cannot be prepared", error.statement);
                let failure = Failure::target(&doing, &error.error);
                let missing_data = failure.code == ExitCode::ConsistencyBroken;
                if missing_data { failure } else { Failure::new(ExitCode::CannotConnect, failure.message) }
            }
        }
    }

    /// Tries until a connection is back, for a bounded time; `None` when the program stops meanwhile, or when it is
    /// `end` and nobody needs the connection any more.
    ///
    /// # Errors
    /// [`ExitCode::TargetLost`] when the time is over, or the server refuses us for good.
    pub fn reopen(&self, stop: &Stop, end: Instant) -> Result<Option<Connection>, Failure> {
        let deadline = Instant::now() + self.reconnect_timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.open() {
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
    fn nobody_reconnects_after_the_end() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let dial = Dial {
            dsn: Dsn::parse(&format!("postgresql://u@127.0.0.1:{port}/d"), |_| None).unwrap(),
            isolation: Isolation::ReadCommitted,
            statements: Vec::new(),
            answer_timeout: Duration::from_secs(5),
            reconnect_timeout: Duration::from_millis(700),
        };
        let began = Instant::now();
        assert!(dial.reopen(&Stop::default(), began + Duration::from_millis(100)).unwrap().is_none());
        assert!(began.elapsed() < Duration::from_millis(600));
        let failure = dial.reopen(&Stop::default(), began + Duration::from_secs(60)).unwrap_err();
        assert_eq!(failure.code, ExitCode::TargetLost);
    }
}
