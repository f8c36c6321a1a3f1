//! Runs statements one after the other on a server that speaks SQL, and answers with the rows of the last: for whoever
//! prepares a measurement and must reach the server as the measurement will, with the same DSN and the same
//! TLS, from the same machine.

use crate::exit::{ExitCode, Failure};
use crate::fill::admin::Admin;
use crate::stop::Stop;
use crate::target::{AdminSession, TargetError, TextRows, mysql, postgres};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

const SCHEMA: &str = "nephoscope/load-answer/1";
/// A statement that was asked to end may take this long before nobody waits for it.
const CANCEL_GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// What to ask.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// As in a spec.
    dsn: String,
    /// Each a transaction of its own; the first that fails is the last that runs.
    statements: Vec<String>,
    /// Settings that a session of PostgreSQL's protocol starts with.
    #[serde(default)]
    settings: BTreeMap<String, String>,
}

/// What came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    schema: &'static str,
    /// `None`: there was no session.
    session: Option<SessionFacts>,
    /// Of the last statement, as text.
    rows: TextRows,
    /// `None`: all statements ran.
    failure: Option<QueryFailure>,
}

#[derive(Debug, Clone, Serialize)]
struct SessionFacts {
    server_version: Option<String>,
    address: String,
    /// That the login named; a pooler's, where one answers. On MySQL, the session's number.
    process_id: Option<i64>,
    encryption: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    /// The DSN cannot be read.
    Dsn,
    /// There is no session yet.
    Login,
    Statement,
}

/// Whose answer the failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Cause {
    /// The server refused; `sqlstate` says why.
    Server,
    /// The server cannot be reached, or went away.
    Lost,
    /// The client did not accept what the server is or offers, or was given what it cannot use.
    Client,
}

#[derive(Debug, Clone, Serialize)]
struct QueryFailure {
    stage: Stage,
    cause: Cause,
    sqlstate: Option<String>,
    message: String,
}

/// A session that tells of itself.
trait Told: AdminSession + 'static {
    fn facts(&self) -> SessionFacts;
}

impl Told for postgres::Connection {
    fn facts(&self) -> SessionFacts {
        SessionFacts {
            server_version: self.server_version().map(str::to_owned),
            address: self.address().to_string(),
            process_id: self.process_id().map(i64::from),
            encryption: self.encryption(),
        }
    }
}

impl Told for mysql::Connection {
    fn facts(&self) -> SessionFacts {
        SessionFacts {
            server_version: Some(self.server_version().to_owned()),
            address: self.address().to_string(),
            process_id: Some(self.session_id().into()),
            encryption: self.encryption(),
        }
    }
}

impl Query {
    /// Reads the JSON of a query.
    ///
    /// # Errors
    /// [`ExitCode::BadSpec`] when it is none.
    pub fn parse(json: &str) -> Result<Self, Failure> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        serde_path_to_error::deserialize(&mut deserializer)
            .map_err(|error| Failure::new(ExitCode::BadSpec, format!("the query cannot be read: {error}")))
    }

    /// Asks the server; when the program is to stop, the server is asked to cancel what it does.
    #[must_use]
    pub fn run(self, stop: &Stop) -> (Answer, ExitCode) {
        let environment = |name: &str| std::env::var(name).ok();
        if !mysql::Dsn::is_one(&self.dsn) {
            return match postgres::Dsn::parse(&self.dsn, environment) {
                Ok(dsn) => {
                    let dsn = dsn.with_settings(&self.settings);
                    self.run_at::<postgres::Connection>(dsn, stop)
                }
                Err(error) => Answer::unreadable(error.to_string()),
            };
        }
        match mysql::Dsn::parse(&self.dsn, environment) {
            Ok(_) if !self.settings.is_empty() => Answer::unreadable("no settings on MySQL and MariaDB".to_owned()),
            Ok(dsn) => self.run_at::<mysql::Connection>(dsn, stop),
            Err(error) => Answer::unreadable(error.to_string()),
        }
    }

    fn run_at<C: Told>(self, dsn: C::Dsn, stop: &Stop) -> (Answer, ExitCode)
    where
        C::Dsn: 'static,
    {
        let admin = Arc::new(Admin::<C>::new(dsn));
        let (done, ending) = mpsc::channel();
        let worker = Arc::clone(&admin);
        thread::spawn(move || {
            // Who no longer waits has given an answer of its own.
            let _ = done.send(self.ask(&worker));
        });
        let mut give_up_at = None;
        loop {
            match ending.recv_timeout(POLL) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Disconnected) => return Answer::interrupted("the query crashed"),
                Err(RecvTimeoutError::Timeout) if stop.interrupted() => {
                    let give_up_at = *give_up_at.get_or_insert_with(|| {
                        admin.cancel_all();
                        Instant::now() + CANCEL_GRACE
                    });
                    if Instant::now() >= give_up_at {
                        return Answer::interrupted("interrupted by a signal; a statement was left running");
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn ask<C: Told>(&self, admin: &Admin<C>) -> (Answer, ExitCode) {
        let mut connection = match admin.open() {
            Ok(connection) => connection,
            Err(error) => return Answer::refused(None, Stage::Login, error),
        };
        let session = Some(connection.facts());
        match self.rows(&mut connection) {
            Ok(rows) => (Answer { schema: SCHEMA, session, rows, failure: None }, ExitCode::Finished),
            Err(error) => Answer::refused(session, Stage::Statement, error),
        }
    }

    fn rows(&self, connection: &mut impl AdminSession) -> Result<TextRows, TargetError> {
        let mut rows = TextRows::new();
        for statement in &self.statements {
            rows = connection.query(statement)?;
        }
        Ok(rows)
    }
}

impl Answer {
    fn unreadable(why: String) -> (Self, ExitCode) {
        Self::failed(None, Stage::Dsn, Cause::Client, None, why)
    }

    fn refused(session: Option<SessionFacts>, stage: Stage, error: TargetError) -> (Self, ExitCode) {
        match error {
            TargetError::Database { sqlstate, message } => {
                Self::failed(session, stage, Cause::Server, Some(sqlstate), message)
            }
            TargetError::Lost(message) => Self::failed(session, stage, Cause::Lost, None, message),
            TargetError::Refused(message) | TargetError::Protocol(message) => {
                Self::failed(session, stage, Cause::Client, None, message)
            }
        }
    }

    fn failed(
        session: Option<SessionFacts>,
        stage: Stage,
        cause: Cause,
        sqlstate: Option<String>,
        message: String,
    ) -> (Self, ExitCode) {
        let code = match stage {
            Stage::Dsn => ExitCode::BadSpec,
            Stage::Login => ExitCode::CannotConnect,
            Stage::Statement => ExitCode::TargetLost,
        };
        let failure = Some(QueryFailure { stage, cause, sqlstate, message });
        (Self { schema: SCHEMA, session, rows: TextRows::new(), failure }, code)
    }

    fn interrupted(why: &str) -> (Self, ExitCode) {
        let (answer, _) = Self::failed(None, Stage::Statement, Cause::Client, None, why.to_owned());
        (answer, ExitCode::Interrupted)
    }
}
