//! On Aerospike: one record with one bin per row, and one record per operation.

use super::names::{BIN, Held, held_in, write_key};
use super::operations::{OPERATIONS, READ, WRITE};
use super::options::KvOptions;
use super::plan::{Drawer, Plan};
use super::worker::{KvWorker, Verbs};
use crate::target::aerospike::{Connection, FOUND, Messages, Partitions, Reply, Write};
use crate::workload::{AuditLine, DataError, Draws, ServerCounter, Worker, Workload};
use std::sync::Arc;

/// The workload.
#[derive(Debug)]
pub struct KvAerospike {
    plan: Arc<Plan>,
    partitions: Partitions,
}

impl KvAerospike {
    /// With these options (one row an operation), on the nodes of a cluster.
    #[must_use]
    pub fn new(options: KvOptions, seed: u64, partitions: Partitions) -> Self {
        Self { plan: Arc::new(Plan::new(options, seed)), partitions }
    }
}

impl Workload<Connection> for KvAerospike {
    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn worker(&self, clients: u32) -> Box<dyn Worker<Connection>> {
        Box::new(KvWorker::new(&self.plan, clients))
    }

    fn part(&self, clients: u32, client: u32, turn: u64, _: usize) -> usize {
        if self.partitions.nodes().len() == 1 {
            return 0;
        }
        self.partitions.master(&write_key(self.plan.first_key(clients, client, turn)))
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    /// Records that were read and written, as the nodes' statistics of the namespace report them.
    fn server_counters(&self) -> Vec<ServerCounter> {
        vec![ServerCounter::by_name("read_success", READ), ServerCounter::by_name("write_success", WRITE)]
    }
}

impl Verbs for Connection {
    fn ask(drawer: &Drawer, messages: &mut Messages) {
        if drawer.reads() {
            messages.read(&write_key(drawer.keys()[0]));
        } else if let Some((key, value)) = drawer.rows().next() {
            messages.write(Write::Replace, &write_key(key), [(BIN, value)].into_iter());
        }
    }

    fn judge(drawer: &Drawer, reply: &Reply) -> Result<(), DataError> {
        let wrong = |what: &str| {
            let name = write_key(drawer.keys()[0]);
            Err(DataError(format!("the record {} {what}", String::from_utf8_lossy(&name))))
        };
        if reply.result(0) != Some(FOUND) {
            return wrong("is missing");
        }
        match drawer.reads().then(|| held_in(&mut reply.bins(0))) {
            None | Some(Held::Block(_)) => Ok(()),
            Some(Held::NoBlock) => wrong("is not a row of kv"),
            Some(Held::OtherBins) => wrong("has bins that no row of kv has: another program wrote to it"),
        }
    }
}
