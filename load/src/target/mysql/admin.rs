//! Sessions for set-up, loading and checks.

use super::connection::Connection;
use super::dsn::Dsn;
use super::load::LoadData;
use crate::target::{AdminSession, Cancel, TargetError, TextRows};
use std::time::Duration;

/// 1 on a server of Galera. MySQL's do not know the variable.
const IN_GALERA: &str = "SELECT @@GLOBAL.wsrep_on";
/// Has it wait, before it reads, for what others have committed.
const SEES_ALL: &str = "SET SESSION wsrep_sync_wait = 1";
const UNKNOWN_VARIABLE: &str = "1193";

/// Cancels what a session is doing, from outside.
#[derive(Debug, Clone)]
pub struct Canceller {
    dsn: Dsn,
    session_id: u32,
}

impl Cancel for Canceller {
    /// By a session of its own, on the same server.
    fn cancel(self) -> Result<(), TargetError> {
        let mut connection = Connection::open(&self.dsn, Some(self.dsn.connect_timeout()))?;
        connection.query(&format!("KILL QUERY {}", self.session_id)).map(|_| ())
    }
}

impl AdminSession for Connection {
    type Dsn = Dsn;
    type Canceller = Canceller;
    type Filler<'a> = LoadData<'a>;
    const PASSWORD_VARIABLE: &'static str = "MYSQL_PWD";

    fn open(dsn: &Dsn, timeout: Option<Duration>) -> Result<Self, TargetError> {
        Self::open_first(dsn, timeout, true)
    }

    fn wait_for_copies(&mut self) -> Result<bool, TargetError> {
        let in_galera = match self.query(IN_GALERA) {
            Err(TargetError::Database { sqlstate, .. }) if sqlstate == UNKNOWN_VARIABLE => false,
            asked => asked? == [[Some("1".to_owned())]],
        };
        if in_galera {
            self.query(SEES_ALL)?;
        }
        Ok(in_galera)
    }

    fn others(&self, dsn: &Dsn) -> Vec<Dsn> {
        dsn.each_host().into_iter().filter(|it| it.addresses() != [self.address().clone()]).collect()
    }

    fn query(&mut self, sql: &str) -> Result<TextRows, TargetError> {
        self.query(sql)
    }

    fn reset(&mut self) -> Result<u32, TargetError> {
        self.reset()
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<(), TargetError> {
        self.set_timeout(timeout)
    }

    fn canceller(&self) -> Option<Canceller> {
        let dsn = self.dsn().each_host().into_iter().find(|dsn| dsn.addresses() == [self.address().clone()])?;
        Some(Canceller { dsn, session_id: self.session_id() })
    }
}
