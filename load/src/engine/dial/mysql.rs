//! Sessions of MySQL's protocol that are ready for a workload.

use super::{DialError, Dialer};
use crate::exit::{Failure, cannot_connect};
use crate::target::Statement;
use crate::target::mysql::{Batch, Connection, Dsn, leads_to_the_next_host};
use crate::target::postgres::Isolation;
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
            super::is_used(&host.addresses()[0], Connection::open(host, None).err().filter(leads_to_the_next_host))
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

    fn request(&self) -> Batch {
        Batch::default()
    }

    fn server(&self, group: usize) -> String {
        super::any_of(self.hosts[group].addresses())
    }

    fn explain(&self, group: usize, error: DialError) -> Failure {
        let Some(statement) = error.statement else {
            return cannot_connect::<Connection>(&self.hosts[group], &error.error);
        };
        super::not_prepared(statement, &error.error, "")
    }
}
