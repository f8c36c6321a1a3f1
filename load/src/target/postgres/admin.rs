//! Sessions for set-up, loading and checks.

use super::connection::{Canceller, Connection};
use super::copy::CopyWriter;
use super::dsn::Dsn;
use crate::target::{AdminSession, Cancel, TargetError, TextRows};
use std::time::Duration;

impl Cancel for Canceller {
    fn cancel(self) -> Result<(), TargetError> {
        Self::cancel(self)
    }
}

impl AdminSession for Connection {
    type Dsn = Dsn;
    type Canceller = Canceller;
    type Filler<'a> = CopyWriter<'a>;
    const PASSWORD_VARIABLE: &'static str = "PGPASSWORD";

    fn open(dsn: &Dsn, timeout: Option<Duration>) -> Result<Self, TargetError> {
        Self::open(dsn, timeout)
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
        self.canceller()
    }
}
