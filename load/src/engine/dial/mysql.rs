//! Sessions of MySQL's protocol that are ready for a workload.

use super::{DialError, Dialer};
use crate::exit::{ExitCode, Failure, cannot_connect};
use crate::target::Statement;
use crate::target::mysql::{Batch, Connection, Dsn, leads_to_the_next_host};
use crate::target::postgres::Isolation;
use crate::tell;
use std::time::Duration;

/// Opens them.
#[derive(Debug)]
pub struct MysqlDialer {
    /// Where to: each host serves a group of connections, see [`MysqlDialer::hosts`].
    pub hosts: Vec<Dsn>,
    /// Of all transactions.
    pub isolation: Isolation,
    /// What to prepare.
    pub statements: Vec<Statement>,
    /// Operations under way on one connection.
    pub pipeline: usize,
}

impl MysqlDialer {
    /// The hosts that this many connections are spread over: all of the DSN's that can be reached.
    #[must_use]
    pub fn hosts(dsn: &Dsn, connections: u32) -> Vec<Dsn> {
        super::spread(dsn.each_host(), connections, |host| {
            let unreachable = Connection::open(host, None).err().filter(leads_to_the_next_host);
            if let Some(error) = &unreachable {
                tell::say(format_args!("not using {}: {error}", host.addresses()[0]));
            }
            unreachable.is_none()
        })
    }
}

impl Dialer for MysqlDialer {
    type Session = Connection;

    fn groups(&self) -> usize {
        self.hosts.len()
    }

    fn depth(&self) -> usize {
        self.pipeline
    }

    fn open(&self, group: usize, answer_timeout: Duration, most: Duration) -> Result<Connection, DialError> {
        let dsn = self.hosts[group].within(most);
        let mut connection = Connection::open(&dsn, Some(answer_timeout.min(most)))?;
        connection.set_isolation(self.isolation)?;
        connection.prepare(&self.statements)?;
        connection.set_timeout(Some(answer_timeout))?;
        Ok(connection)
    }

    fn open_anywhere(
        &self,
        group: usize,
        attempt: usize,
        answer_timeout: Duration,
        most: Duration,
    ) -> Result<Connection, DialError> {
        self.open((group + attempt) % self.hosts.len(), answer_timeout, most)
    }

    fn request(&self) -> Batch {
        Batch::default()
    }

    fn server(&self, group: usize) -> String {
        let addresses: Vec<_> = self.hosts[group].addresses().iter().map(ToString::to_string).collect();
        addresses.join(" or ")
    }

    fn explain(&self, group: usize, error: DialError) -> Failure {
        let Some(statement) = error.statement else {
            return cannot_connect::<Connection>(&self.hosts[group], &error.error);
        };
        let failure = Failure::target(&format!("cannot prepare statement {statement}"), &error.error);
        let missing_data = failure.code == ExitCode::ConsistencyBroken;
        if missing_data { failure } else { Failure::new(ExitCode::CannotConnect, failure.message) }
    }
}
