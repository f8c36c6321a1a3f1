//! On Redis and Valkey: one string per row, with GET and SET, or MGET and MSET for operations on several rows.

use super::names::write_key;
use super::operations::{OPERATIONS, READ, WRITE};
use super::options::KvOptions;
use super::plan::{Drawer, Plan};
use super::worker::{KvWorker, Verbs};
use crate::target::resp::{Answer, Commands, Connection, Reply, Slots};
use crate::words::counted;
use crate::workload::{AuditLine, DataError, Draws, ServerCounter, Worker, Workload, WriteLog};
use std::sync::Arc;

/// The workload.
#[derive(Debug)]
pub struct KvResp {
    plan: Arc<Plan>,
    /// Of a cluster.
    slots: Option<Slots>,
}

impl KvResp {
    /// With these options, on one server or, by its slots, on a cluster.
    #[must_use]
    pub fn new(options: KvOptions, seed: u64, slots: Option<Slots>) -> Self {
        Self { plan: Arc::new(Plan::new(options, seed)), slots }
    }
}

impl Workload<Connection> for KvResp {
    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn worker(&self, clients: u32) -> Box<dyn Worker<Connection>> {
        Box::new(KvWorker::new(&self.plan, clients))
    }

    fn part(&self, clients: u32, client: u32, turn: u64, parts: usize) -> usize {
        match &self.slots {
            Some(slots) => slots.master(&write_key(self.plan.first_key(clients, client, turn))),
            None => client as usize % parts,
        }
    }

    fn writes(&self) -> Option<&WriteLog> {
        self.plan.log.as_deref()
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    /// Calls of commands, as INFO commandstats reports them.
    fn server_counters(&self) -> Vec<ServerCounter> {
        let [read, write] = if self.plan.options.batch == 1 { ["get", "set"] } else { ["mget", "mset"] };
        vec![ServerCounter::by_name(read, READ), ServerCounter::by_name(write, WRITE)]
    }
}

impl Verbs for Connection {
    fn ask(drawer: &Drawer, commands: &mut Commands) {
        let rows = drawer.keys().len();
        if drawer.reads() {
            commands.command(1 + rows).part(if rows == 1 { b"GET" } else { b"MGET" });
            drawer.keys().iter().for_each(|&key| {
                commands.part(&write_key(key));
            });
        } else {
            commands.command(1 + 2 * rows).part(if rows == 1 { b"SET" } else { b"MSET" });
            drawer.rows().for_each(|(key, value)| {
                commands.part(&write_key(key)).part(value);
            });
        }
    }

    /// Every row that was asked for must be there.
    fn judge(drawer: &Drawer, reply: &Reply) -> Result<(), DataError> {
        let keys = drawer.keys();
        let there = || reply.answers(0).filter(|answer| matches!(answer, Answer::Text(_))).count();
        if !drawer.reads() || there() == keys.len() {
            return Ok(());
        }
        Err(DataError(format!(
            "found only {} of {}, of those starting with {}",
            there(),
            counted(keys.len() as u64, "row"),
            String::from_utf8_lossy(&write_key(keys[0]))
        )))
    }
}
