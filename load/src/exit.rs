//! How the program ends. Exit codes are part of its interface.

use crate::target::postgres::Address;
use crate::target::resp::{Url, is_too_many_clients};
use crate::target::{AdminSession, TargetError};
use crate::workload::DataError;
use std::fmt;

/// Exit codes of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// All went well.
    Finished = 0,
    /// The spec or the command line is wrong.
    BadSpec = 2,
    /// Cannot connect or log in to the server.
    CannotConnect = 3,
    /// The load was not sent at the requested rate; the data is complete.
    RateNotKept = 4,
    /// The data contradicts the workload: a condition is broken, a row is missing, a counter disagrees.
    ConsistencyBroken = 5,
    /// The server went away, or refused a command that the action needs.
    TargetLost = 6,
    /// More operations failed than `max_failed_percent` allows; the data is complete.
    TooManyFailed = 7,
    /// The load generator itself stood still (stopped, frozen, or paused with its machine); the data is complete.
    StoodStill = 8,
    /// Stopped by a signal, or the reader of the output exited.
    Interrupted = 130,
}

impl ExitCode {
    /// The code of this number.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        use ExitCode::{
            BadSpec, CannotConnect, ConsistencyBroken, Finished, Interrupted, RateNotKept, StoodStill, TargetLost,
            TooManyFailed,
        };
        let all = [
            Finished,
            BadSpec,
            CannotConnect,
            RateNotKept,
            ConsistencyBroken,
            TargetLost,
            TooManyFailed,
            StoodStill,
            Interrupted,
        ];
        all.into_iter().find(|&code| u64::from(code as u8) == number)
    }

    /// Which of two reasons the process reports: broken data before a lost target before its own standstill, which
    /// explains the others, before failed operations before a missed rate. Between a lost target and an interruption the
    /// one that came first explains the other.
    fn rank(self) -> u8 {
        match self {
            Self::ConsistencyBroken => 6,
            Self::TargetLost | Self::Interrupted | Self::BadSpec | Self::CannotConnect => 5,
            Self::StoodStill => 4,
            Self::TooManyFailed => 3,
            Self::RateNotKept => 2,
            Self::Finished => 0,
        }
    }
}

/// Why the program ends early or badly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What the process exits with.
    pub code: ExitCode,
    /// One sentence for people: what happened, and what to try.
    pub message: String,
}

impl Failure {
    /// A failure with its sentence.
    #[must_use]
    pub fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The server failed us while we were `doing` something.
    #[must_use]
    pub fn target(doing: &str, error: &TargetError) -> Self {
        let code = if says_data_is_missing(error) { ExitCode::ConsistencyBroken } else { ExitCode::TargetLost };
        let hint = if code == ExitCode::ConsistencyBroken {
            " (is the data set loaded? run action \"load\" first)"
        } else {
            ""
        };
        Self::new(code, format!("{doing}: {error}{hint}"))
    }

    /// The workload met rows that cannot be.
    #[must_use]
    pub fn data(error: &DataError) -> Self {
        Self::new(ExitCode::ConsistencyBroken, format!("the data set is damaged: {}", error.0))
    }

    /// A signal came.
    #[must_use]
    pub fn interrupted() -> Self {
        Self::new(ExitCode::Interrupted, "interrupted by a signal")
    }

    /// The failure to report when both happened, `self` first.
    #[must_use]
    pub fn or_worse(self, later: Self) -> Self {
        if later.code.rank() > self.code.rank() { later } else { self }
    }
}

/// Undefined schema, table or column: not a broken server, but a data set that is not there.
fn says_data_is_missing(error: &TargetError) -> bool {
    matches!(error, TargetError::Database { sqlstate, .. } if matches!(sqlstate.as_str(), "3F000" | "42P01" | "42703" | "42S02" | "42S22"))
}

/// The failure to report of several outcomes, in the order in which they came.
///
/// # Errors
/// The one that outranks the others.
pub fn worst(outcomes: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
    let failures = outcomes.into_iter().filter_map(Result::err);
    failures.reduce(Failure::or_worse).map_or(Ok(()), Err)
}

/// The server cannot be reached, or refuses the login.
#[must_use]
pub fn cannot_connect<C: AdminSession>(dsn: &C::Dsn, error: &TargetError) -> Failure {
    let hint = match error {
        TargetError::Database { sqlstate, .. } if sqlstate.starts_with("28") => {
            format!("; check the user, and the password in {}", C::PASSWORD_VARIABLE)
        }
        error if is_full(error) => "; raise max_connections or lower \"connections\"".to_owned(),
        TargetError::Lost(_) => "; check that the server runs, and the address".to_owned(),
        _ => String::new(),
    };
    Failure::new(ExitCode::CannotConnect, format!("cannot use {dsn}: {error}{hint}"))
}

/// Whether a server of SQL has as many clients as it takes: too_many_connections, or MySQL's 1040.
#[must_use]
pub fn is_full(error: &TargetError) -> bool {
    matches!(error, TargetError::Database { sqlstate, .. } if matches!(sqlstate.as_str(), "53300" | "08004"))
}

/// What an ACL must allow. DBSIZE is a command that reads, FLUSHDB one that writes.
const NEEDED_COMMANDS: &str = "; let the user run ACL SETUSER NAME ~* +@read +@write +info, with +select if the URL has a \
                               database, and +cluster|nodes for a cluster";

/// The server cannot be reached, or refuses the login.
#[must_use]
pub fn cannot_use(url: &Url, error: &TargetError) -> Failure {
    let hint = match error {
        TargetError::Database { sqlstate, .. } if sqlstate == "NOAUTH" || sqlstate == "WRONGPASS" => {
            "; check the user, and the password in REDISCLI_AUTH"
        }
        TargetError::Database { sqlstate, .. } if sqlstate == "NOPERM" => NEEDED_COMMANDS,
        TargetError::Database { message, .. } if message.starts_with("unknown command") => {
            "; the server must not have renamed INFO, DBSIZE and FLUSHDB"
        }
        error if is_too_many_clients(error) => "; raise maxclients, or use fewer connections",
        TargetError::Lost(_) => "; check that the server runs, and the address",
        _ => "",
    };
    Failure::new(ExitCode::CannotConnect, format!("cannot use {url}: {error}{hint}"))
}

/// The cluster cannot be reached, refuses the login, or is incomplete.
#[must_use]
pub fn cannot_use_node(address: &Address, error: &TargetError) -> Failure {
    let hint = match error {
        TargetError::Database { sqlstate, .. } if sqlstate == "NOT_AUTHENTICATED" => {
            "; this client cannot log in: disable security on the cluster"
        }
        TargetError::Lost(_) => "; check that the server runs, and the address",
        _ => "",
    };
    Failure::new(ExitCode::CannotConnect, format!("cannot use aerospike://{address}: {error}{hint}"))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_data_outranks_a_lost_target_which_outranks_failed_operations_and_these_a_missed_rate() {
        use ExitCode::{ConsistencyBroken, Interrupted, RateNotKept, StoodStill, TargetLost, TooManyFailed};
        for (first, later, reported) in [
            (TargetLost, ConsistencyBroken, ConsistencyBroken),
            (ConsistencyBroken, TargetLost, ConsistencyBroken),
            (RateNotKept, TargetLost, TargetLost),
            (TargetLost, RateNotKept, TargetLost),
            (RateNotKept, TooManyFailed, TooManyFailed),
            (TooManyFailed, RateNotKept, TooManyFailed),
            (TooManyFailed, StoodStill, StoodStill),
            (StoodStill, TargetLost, TargetLost),
            (TooManyFailed, Interrupted, Interrupted),
            (Interrupted, TargetLost, Interrupted),
            (TargetLost, Interrupted, TargetLost),
            (Interrupted, ConsistencyBroken, ConsistencyBroken),
        ] {
            let both = Failure::new(first, "a").or_worse(Failure::new(later, "b"));
            assert_eq!(both.code, reported, "{first:?} then {later:?}");
            let outcomes = [Ok(()), Err(Failure::new(first, "a")), Err(Failure::new(later, "b"))];
            assert_eq!(worst(outcomes).unwrap_err().code, reported);
        }
    }

    #[test]
    fn nothing_wrong_is_no_failure() {
        assert_eq!(worst([Ok(()), Ok(())]), Ok(()));
    }

    #[test]
    fn a_missing_table_is_missing_data() {
        let database =
            |sqlstate: &str| TargetError::Database { sqlstate: sqlstate.to_owned(), message: "no".to_owned() };
        assert_eq!(Failure::target("x", &database("42P01")).code, ExitCode::ConsistencyBroken);
        assert_eq!(Failure::target("x", &database("53100")).code, ExitCode::TargetLost);
    }
}
