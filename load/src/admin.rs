//! Sessions for set-up and checks. They wait for ever, because an index or a check of a large data set takes its
//! time; so that nobody else has to, their statements are cancelled when the program is asked to stop.

use crate::engine::cannot_connect;
use crate::exit::Failure;
use crate::target::postgres::{Canceller, Connection, Dsn};
use std::sync::{Mutex, PoisonError};

/// Opens such sessions and remembers how to cancel what they do.
#[derive(Debug)]
pub struct Admin {
    dsn: Dsn,
    cancellers: Mutex<Vec<Canceller>>,
}

impl Admin {
    /// For the server at `dsn`.
    #[must_use]
    pub fn new(dsn: Dsn) -> Self {
        Self { dsn, cancellers: Mutex::new(Vec::new()) }
    }

    /// Where the sessions go.
    #[must_use]
    pub fn dsn(&self) -> &Dsn {
        &self.dsn
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`crate::exit::ExitCode::CannotConnect`] when nobody answers or we are not let in.
    pub fn connect(&self) -> Result<Connection, Failure> {
        let connection = Connection::open(&self.dsn, None).map_err(|error| cannot_connect(&self.dsn, &error))?;
        self.cancellers.lock().unwrap_or_else(PoisonError::into_inner).extend(connection.canceller());
        Ok(connection)
    }

    /// Asks the server to cancel whatever these sessions are doing. It may ignore it: this is only a request, and a
    /// session that is gone is nobody's any more.
    pub fn cancel_all(&self) {
        for canceller in self.cancellers.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = canceller.cancel(&self.dsn);
        }
    }
}
