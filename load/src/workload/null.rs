//! Nothing but round trips: one empty `Sync` each, on RESP and MySQL's protocol one
//! ping, on Aerospike one question. It measures what the
//! generator, the wire and the server's protocol can do without any query, so that a rate measured otherwise can be
//! compared with it.

use super::{AuditLine, Completion, DataError, Dataset, Draws, OperationId, Piece, Step, Worker, Workload};
use crate::target::aerospike::{self, Messages};
use crate::target::mysql;
use crate::target::postgres::{Batch, Reply};
use crate::target::resp::{self, Commands};
use crate::target::{Dialect, RowWriter};
use std::io;

/// The workload, and its data set of no tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct Null;

impl Worker for Null {
    fn draw(&mut self, _: u32, _: u64) -> OperationId {
        OperationId(0)
    }

    fn step(&mut self, reply: Option<&Reply>, _: &mut Batch) -> Result<Step, DataError> {
        Ok(if reply.is_none() { Step::Send } else { Step::Done(Completion::Committed) })
    }

    fn draws(&self) -> Draws {
        Draws::default()
    }
}

impl Workload for Null {
    fn operations(&self) -> &'static [&'static str] {
        &["sync"]
    }

    fn worker(&self, _: u32) -> Box<dyn Worker> {
        Box::new(Self)
    }

    fn audit(&self, _: u32, _: &Draws) -> Vec<AuditLine> {
        Vec::new()
    }
}

impl Worker<resp::Connection> for Null {
    fn draw(&mut self, _: u32, _: u64) -> OperationId {
        OperationId(0)
    }

    fn step(&mut self, reply: Option<&resp::Reply>, commands: &mut Commands) -> Result<Step, DataError> {
        if reply.is_some() {
            return Ok(Step::Done(Completion::Committed));
        }
        commands.all(&[b"PING"]);
        Ok(Step::Send)
    }

    fn draws(&self) -> Draws {
        Draws::default()
    }
}

impl Workload<resp::Connection> for Null {
    fn operations(&self) -> &'static [&'static str] {
        &["ping"]
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<resp::Connection>> {
        Box::new(Self)
    }

    fn audit(&self, _: u32, _: &Draws) -> Vec<AuditLine> {
        Vec::new()
    }
}

impl Worker<aerospike::Connection> for Null {
    fn draw(&mut self, _: u32, _: u64) -> OperationId {
        OperationId(0)
    }

    fn step(&mut self, reply: Option<&aerospike::Reply>, messages: &mut Messages) -> Result<Step, DataError> {
        if reply.is_some() {
            return Ok(Step::Done(Completion::Committed));
        }
        messages.info(&["node"]);
        Ok(Step::Send)
    }

    fn draws(&self) -> Draws {
        Draws::default()
    }
}

impl Workload<aerospike::Connection> for Null {
    fn operations(&self) -> &'static [&'static str] {
        &["info"]
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<aerospike::Connection>> {
        Box::new(Self)
    }

    fn audit(&self, _: u32, _: &Draws) -> Vec<AuditLine> {
        Vec::new()
    }
}

impl Worker<mysql::Connection> for Null {
    fn draw(&mut self, _: u32, _: u64) -> OperationId {
        OperationId(0)
    }

    fn step(&mut self, reply: Option<&mysql::Reply>, batch: &mut mysql::Batch) -> Result<Step, DataError> {
        if reply.is_some() {
            return Ok(Step::Done(Completion::Committed));
        }
        batch.ping();
        Ok(Step::Send)
    }

    fn draws(&self) -> Draws {
        Draws::default()
    }
}

impl Workload<mysql::Connection> for Null {
    fn operations(&self) -> &'static [&'static str] {
        &["ping"]
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<mysql::Connection>> {
        Box::new(Self)
    }

    fn audit(&self, _: u32, _: &Draws) -> Vec<AuditLine> {
        Vec::new()
    }
}

impl Dataset for Null {
    fn identity(&self) -> String {
        "null".to_owned()
    }

    fn create(&self, _: Dialect) -> Vec<String> {
        Vec::new()
    }

    fn pieces(&self) -> Vec<Piece> {
        Vec::new()
    }

    fn write(&self, _: &Piece, _: &mut dyn RowWriter) -> io::Result<()> {
        Ok(())
    }

    fn index(&self, _: Dialect) -> Vec<String> {
        Vec::new()
    }

    fn finish(&self, _: Dialect) -> Vec<String> {
        Vec::new()
    }
}
