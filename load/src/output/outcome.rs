//! How operations end, and what an error means for the operation it hit.

use crate::target::TargetError;
use crate::workload::Completion;
use serde::Serialize;

/// How an operation ended, its retries included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its effects are in the database (or it only read).
    Committed,
    /// Rolled back because its inputs say so.
    RolledBackByDesign,
    /// Given up after an error.
    Failed,
}

impl Outcome {
    /// Every outcome, in the order in which they are reported.
    pub const ALL: [Self; 3] = [Self::Committed, Self::RolledBackByDesign, Self::Failed];
}

impl From<Completion> for Outcome {
    fn from(completion: Completion) -> Self {
        match completion {
            Completion::Committed => Self::Committed,
            Completion::RolledBackByDesign => Self::RolledBackByDesign,
        }
    }
}

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The server asks to try again: serialisation failure, deadlock.
    Retry,
    /// The session is over, and the operation is never retried: its commit may have arrived.
    Lost,
    /// The session goes on, but the server cannot say what became of the operation: never retried either.
    Unknown,
    /// The operation failed, as its server does not serve it any more: another one does.
    Moved,
    /// The operation failed; the session goes on.
    Fail,
    /// The server says that a row is missing: the data set is damaged, and the operation was undone.
    Data,
    /// Client and server do not understand each other: nothing measured after this means anything.
    Defect,
}

/// The label under which lost connections are counted in place of a SQLSTATE.
pub const LOST: &str = "lost";
/// The label of operations that met rows which cannot be.
pub const DATA: &str = "data";

/// Judges an error.
#[must_use]
pub fn classify(error: &TargetError) -> ErrorClass {
    match error {
        TargetError::Lost(_) => ErrorClass::Lost,
        TargetError::Protocol(_) => ErrorClass::Defect,
        TargetError::Refused(_) => ErrorClass::Fail,
        TargetError::Database { sqlstate, .. } => match sqlstate.as_str() {
            "40001" | "40P01" => ErrorClass::Retry,
            // MySQL: a lock wait timeout, and a row that changed since its snapshot; both leave the transaction open.
            "1205" | "1020" => ErrorClass::Retry,
            // statement_completion_unknown; MySQL: an error during COMMIT, which does not say how far it came.
            "40003" | "1180" => ErrorClass::Unknown,
            // Connection exceptions; shutdown, crash, starting up.
            "57P01" | "57P02" | "57P03" => ErrorClass::Lost,
            state if state.starts_with("08") => ErrorClass::Lost,
            _ => ErrorClass::Fail,
        },
    }
}

/// The name under which an error is counted.
#[must_use]
pub fn label(error: TargetError) -> String {
    match error {
        TargetError::Database { sqlstate, .. } => sqlstate,
        TargetError::Lost(_) => LOST.to_owned(),
        TargetError::Protocol(_) => "protocol".to_owned(),
        TargetError::Refused(_) => "refused".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates() {
        for (sqlstate, class) in [
            ("40001", ErrorClass::Retry),
            ("40P01", ErrorClass::Retry),
            ("1205", ErrorClass::Retry),
            ("40000", ErrorClass::Fail),
            ("40003", ErrorClass::Unknown),
            ("1180", ErrorClass::Unknown),
            ("23505", ErrorClass::Fail),
            ("57014", ErrorClass::Fail),
            ("57P01", ErrorClass::Lost),
            ("08006", ErrorClass::Lost),
        ] {
            let error = TargetError::Database { sqlstate: sqlstate.to_owned(), message: String::new() };
            assert_eq!(classify(&error), class, "{sqlstate}");
            assert_eq!(label(error), sqlstate);
        }
        assert_eq!(classify(&TargetError::Lost(String::new())), ErrorClass::Lost);
        assert_eq!(label(TargetError::Lost("reset".to_owned())), "lost");
    }
}
