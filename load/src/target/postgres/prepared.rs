//! Prepared statements: kept under a name in the session, or sent with each execution where a connection pooler hands
//! each transaction to another session of the server.

use super::connection::Connection;
use crate::target::TargetError;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the statements of a workload are prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Prepared {
    /// Named, unless a connection pooler answers that does not keep named statements apart.
    #[default]
    Auto,
    /// Once per connection, under a name.
    Named,
    /// With each execution, without a name: parsed and planned each time, through any pooler.
    Unnamed,
}

impl Prepared {
    /// As a spec writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Named => "named",
            Self::Unnamed => "unnamed",
        }
    }
}

const PROBE: &str = "nephoscope_probe";
/// A pooler that takes the servers in turn leads to another one of them within a few transactions.
const LOOKS: usize = 8;

/// Whether two clients of a pooler may prepare different statements under the same name, and execute each their own.
/// No transaction stays open meanwhile: a pooler with one connection to the server must not wait for us.
///
/// # Errors
/// [`TargetError`] when the first session is of no more use. The second one may be: a pooler that gives each client a
/// session of its own may have no other to give.
pub fn keeps_names(first: &mut Connection, second: &mut Connection) -> Result<bool, TargetError> {
    let other = match taken(second.prepare_one(PROBE, "SELECT 2")) {
        Err(TargetError::Lost(_)) => true,
        outcome => outcome?,
    };
    if !other || !taken(first.prepare_one(PROBE, "SELECT 1"))? {
        return Ok(false);
    }
    for _ in 0..LOOKS {
        match first.execute_named(PROBE) {
            Ok(rows) if rows == [[Some("1".to_owned())]] => {}
            Ok(_) | Err(TargetError::Database { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether the server took what was sent.
fn taken<T>(outcome: Result<T, TargetError>) -> Result<bool, TargetError> {
    match outcome {
        Ok(_) => Ok(true),
        Err(TargetError::Database { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
