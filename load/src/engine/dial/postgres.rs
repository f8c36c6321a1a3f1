//! Sessions of the PostgreSQL wire that are ready for a workload.

use super::{DialError, Dialer};
use crate::exit::{Failure, cannot_connect};
use crate::target::Statement;
use crate::target::postgres::{
    Batch, Connection, Dsn, Isolation, Retry, SessionAttributes, Unnamed, leads_to_the_next_host,
};
use std::sync::Arc;
use std::time::Duration;

/// Opens them.
#[derive(Debug)]
pub struct PostgresDialer {
    /// Where to: each host serves a group of connections, see [`PostgresDialer::hosts`].
    pub hosts: Vec<Dsn>,
    /// Of explicit transactions and of single statements.
    pub isolation: Isolation,
    /// How transactions are retried.
    pub retry: Retry,
    /// What to prepare.
    pub statements: Vec<Statement>,
    /// The same without names, where sessions do not keep those.
    pub unnamed: Option<Arc<Unnamed>>,
    /// A connection pooler answers: nothing may be set for a session.
    pub pooled: bool,
}

impl PostgresDialer {
    /// The hosts that this many connections are spread over: all of the DSN's that can be reached, when any of them
    /// will do. A DSN that wants a server of a certain kind leads to one host, as libpq has it.
    #[must_use]
    pub fn hosts(dsn: &Dsn, connections: u32) -> Vec<Dsn> {
        Self::spread(dsn, connections, |host| {
            super::is_used(&host.addresses()[0], Connection::open(host, None).err().filter(leads_to_the_next_host))
        })
    }

    fn spread(dsn: &Dsn, connections: u32, answers: impl Fn(&Dsn) -> bool) -> Vec<Dsn> {
        let hosts = match dsn.session_attributes() {
            SessionAttributes::Any => dsn.each_host(),
            _ => vec![dsn.clone()],
        };
        super::spread(hosts, connections, answers)
    }
}

impl Dialer for PostgresDialer {
    type Session = Connection;

    fn groups(&self) -> usize {
        self.hosts.len()
    }

    fn open(&self, group: usize, answer_timeout: Duration, most: Duration) -> Result<Connection, DialError> {
        let dsn = self.hosts[group].within(most);
        let mut connection = Connection::open(&dsn, Some(answer_timeout.min(most)))?;
        if !self.pooled {
            connection.set_isolation(self.isolation)?;
        }
        if self.unnamed.is_some() {
            connection.describe(&self.statements)?;
        } else {
            connection.prepare(&self.statements, self.isolation)?;
            connection.prepare_retry(self.retry)?;
        }
        connection.set_timeout(Some(answer_timeout))?;
        Ok(connection)
    }

    fn request(&self) -> Batch {
        Batch::with(self.retry, self.unnamed.clone())
    }

    fn server(&self, group: usize) -> String {
        super::any_of(self.hosts[group].addresses())
    }

    fn explain(&self, group: usize, error: DialError) -> Failure {
        let Some(statement) = error.statement else {
            return cannot_connect::<Connection>(&self.hosts[group], &error.error);
        };
        let named = self.pooled && self.unnamed.is_none();
        let pooler = ": the connection pooler does not keep named statements apart; use unnamed ones";
        super::not_prepared(statement, &error.error, if named { pooler } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Dial;
    use crate::exit::ExitCode;
    use crate::stop::Stop;
    use std::time::Instant;

    #[test]
    fn connections_are_spread_over_hosts_of_which_any_will_do() {
        let hosts = |options: &str, connections, up: &str| {
            let dsn = Dsn::parse(&format!("postgresql://u@a:1,b:2,c:3/d{options}"), |_| None).unwrap();
            let name = |dsn: &Dsn| -> String {
                dsn.addresses().iter().map(|address| address.to_string()[..1].to_owned()).collect()
            };
            let spread = PostgresDialer::spread(&dsn, connections, |host| up.contains(&name(host)));
            spread.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(hosts("", 8, "abc"), ["a", "b", "c"]);
        assert_eq!(hosts("", 2, "abc"), ["a", "b"]);
        assert_eq!(hosts("", 2, "bc"), ["b", "c"], "a host that cannot be reached leads to the next one");
        assert_eq!(hosts("", 8, "b"), ["b"]);
        assert_eq!(hosts("", 8, ""), ["a", "b", "c"], "to open one says why none is there");
        assert_eq!(hosts("?target_session_attrs=read-write", 8, "b"), ["abc"]);
    }

    /// How long something may take before it hangs, however busy the machine is.
    const HANGS: Duration = Duration::from_secs(60);

    fn dial(listener: &std::net::TcpListener, reconnect_timeout: Duration) -> Dial<PostgresDialer> {
        let address = listener.local_addr().unwrap();
        let dialer = PostgresDialer {
            hosts: vec![Dsn::parse(&format!("postgresql://u@{address}/d"), |_| None).unwrap()],
            isolation: Isolation::ReadCommitted,
            retry: Retry::Restart,
            statements: Vec::new(),
            unnamed: None,
            pooled: false,
        };
        Dial { dialer, answer_timeout: 2 * HANGS, reconnect_timeout, failover: false }
    }

    #[test]
    fn a_server_that_says_nothing_is_waited_for_no_longer_than_a_lost_connection_may_take() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let began = Instant::now();
        let dial = dial(&listener, Duration::from_millis(700));
        let failure = dial.reopen(0, &Stop::default(), began + 2 * HANGS).expect_err("nobody answers");
        assert_eq!(failure.code, ExitCode::TargetLost);
        let lost = format!("the connection to {} was lost", listener.local_addr().unwrap());
        assert!(failure.message.starts_with(&lost), "{}", failure.message);
        assert!(began.elapsed() >= Duration::from_millis(700) && began.elapsed() < HANGS, "{:?}", began.elapsed());
    }

    #[test]
    fn nobody_reconnects_after_the_end() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let began = Instant::now();
        let end = began + Duration::from_millis(100);
        assert!(dial(&listener, 2 * HANGS).reopen(0, &Stop::default(), end).unwrap().is_none());
        assert!(began.elapsed() < HANGS);
        let soon = Duration::from_millis(700);
        let failure = dial(&listener, soon).reopen(0, &Stop::default(), began + 3 * HANGS).unwrap_err();
        assert_eq!(failure.code, ExitCode::TargetLost);
    }
}
