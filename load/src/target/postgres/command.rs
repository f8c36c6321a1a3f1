//! The commands of a batch, and the names of their prepared statements.

use crate::target::StatementId;

/// One command of a batch, in the order in which the server will answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::target) enum Command {
    Begin,
    Commit,
    Rollback,
    Savepoint,
    Release,
    RollbackToSavepoint,
    Execute(StatementId),
}

impl Command {
    /// Of its prepared statement.
    pub(super) fn name(self, space: &mut [u8; StatementName::MAX_BYTES]) -> &str {
        match self {
            Self::Begin => BEGIN_NAME,
            Self::Commit => COMMIT_NAME,
            Self::Rollback => ROLLBACK_NAME,
            Self::Savepoint => SAVEPOINT_NAME,
            Self::Release => RELEASE_NAME,
            Self::RollbackToSavepoint => ROLLBACK_TO_NAME,
            Self::Execute(statement) => StatementName::write(statement, space),
        }
    }
}

pub(super) const BEGIN_NAME: &str = "begin";
pub(super) const COMMIT_NAME: &str = "commit";
pub(super) const ROLLBACK_NAME: &str = "rollback";

pub(super) const SAVEPOINT_NAME: &str = "savepoint";
pub(super) const RELEASE_NAME: &str = "release";
pub(super) const ROLLBACK_TO_NAME: &str = "rollback_to";

/// Names of prepared statements on the server: `s0`, `s1`, …
pub(super) struct StatementName;

impl StatementName {
    pub(super) const MAX_BYTES: usize = 6;

    /// Writes the name into `space`, without allocating: this is on the path of every operation.
    pub(super) fn write(statement: StatementId, space: &mut [u8; Self::MAX_BYTES]) -> &str {
        let mut at = space.len();
        let mut rest = statement.0;
        loop {
            at -= 1;
            space[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        at -= 1;
        space[at] = b's';
        std::str::from_utf8(&space[at..]).expect("digits are ASCII")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_names() {
        for (id, expected) in [(0, "s0"), (9, "s9"), (10, "s10"), (65_535, "s65535")] {
            assert_eq!(StatementName::write(StatementId(id), &mut [0; StatementName::MAX_BYTES]), expected);
        }
    }
}
