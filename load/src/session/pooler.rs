//! What a connection pooler between the load and the server allows. With PgBouncer's transaction mode, each
//! transaction of a client may reach another session of the server.

use crate::exit::{ExitCode, Failure};
use crate::fill::admin::Admin;
use crate::spec::TargetSpec;
use crate::target::Dialect;
use crate::target::postgres::{Connection, Isolation, Prepared, keeps_names};
use crate::tell;
use std::time::Duration;

/// A pooler may have no second connection to the server to give.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a pooler answers for the server. What is set for a session then outlives it, in another client's session.
///
/// # Errors
/// [`ExitCode::TargetLost`] when the server does not answer.
pub(super) fn is_pooled(target: &TargetSpec, connection: &mut Connection) -> Result<bool, Failure> {
    // Only there is the number known to be that of the login.
    if target.dialect() != Dialect::Postgres {
        return Ok(false);
    }
    connection.is_pooled().map_err(|error| Failure::target("could not ask the server for its process", &error))
}

/// How to prepare statements, as the spec asks or the pooler allows.
///
/// # Errors
/// As [`is_pooled`].
pub(super) fn preparation(
    asked: Prepared,
    pooled: bool,
    connection: &mut Connection,
    admin: &Admin,
) -> Result<Prepared, Failure> {
    let chosen = match asked {
        Prepared::Auto if !pooled => Prepared::Named,
        Prepared::Auto => {
            let failed = |error| Failure::target("could not try prepared statements", &error);
            let mut second = admin.connect()?;
            second.set_timeout(Some(PATIENCE)).map_err(failed)?;
            let named = keeps_names(connection, &mut second).map_err(failed)?;
            if named { Prepared::Named } else { Prepared::Unnamed }
        }
        asked => asked,
    };
    if pooled {
        tell::say(format_args!(
            "a connection pooler answers for the server: prepared statements are {}",
            chosen.name()
        ));
    }
    Ok(chosen)
}

/// Compares the level of statements outside a transaction, which cannot be set through a pooler, with what is asked.
///
/// # Errors
/// [`ExitCode::BadSpec`] when they differ.
pub(super) fn require_default_isolation(connection: &mut Connection, asked: Isolation) -> Result<(), Failure> {
    let failed = |error| Failure::target("could not read the default isolation level", &error);
    let shown = connection.query(Isolation::SHOW_DEFAULT).map_err(failed)?;
    match shown.into_iter().flatten().next().flatten() {
        Some(level) if level == asked.name() => Ok(()),
        level => {
            let message = format!(
                "a connection pooler answers, so that no isolation level can be set for a session: the server's \
                 default is {}, and the spec asks for {}: ALTER DATABASE ... SET default_transaction_isolation, or \
                 connect to the server itself",
                level.unwrap_or_default(),
                asked.name()
            );
            Err(Failure::new(ExitCode::BadSpec, message))
        }
    }
}
