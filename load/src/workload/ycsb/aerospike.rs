//! On Aerospike: a record each, with a bin for each field.

use super::data::field_names;
use super::plan::{Drawer, Plan};
use super::{INSERT, OPERATIONS, READ, READ_MODIFY_WRITE, UPDATE, YcsbOptions};
use crate::spec::ShardSpec;
use crate::target::aerospike::{Connection, FOUND, Messages, Partitions, Reply, Write, name_of};
use crate::workload::{AuditLine, Completion, DataError, Draws, OperationId, ServerCounter, Step, Worker, Workload};
use std::sync::Arc;

/// The workload.
#[derive(Debug)]
pub struct YcsbAerospike {
    plan: Arc<Plan>,
    partitions: Partitions,
}

impl YcsbAerospike {
    /// With these options (of a core workload that does not scan, and inserts on one node only), on the nodes of a cluster;
    /// `shard` is the part of this process in the run.
    #[must_use]
    pub fn new(options: YcsbOptions, seed: u64, shard: ShardSpec, partitions: Partitions) -> Self {
        Self { plan: Arc::new(Plan::new(options, seed, shard)), partitions }
    }
}

impl Workload<Connection> for YcsbAerospike {
    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<Connection>> {
        Box::new(YcsbWorker { drawer: Drawer::new(Arc::clone(&self.plan)), has_read: false })
    }

    fn part(&self, _: u32, client: u32, turn: u64, _: usize) -> usize {
        if self.partitions.nodes().len() == 1 {
            return 0;
        }
        self.partitions.master(self.plan.first_name(client, turn).bytes())
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    /// Records that were read and written, as the nodes' statistics of the namespace tell them.
    fn server_counters(&self) -> Vec<ServerCounter> {
        self.plan.counters("read_success", "write_success")
    }
}

struct YcsbWorker {
    drawer: Drawer,
    /// Whether a read-modify-write has read.
    has_read: bool,
}

impl Worker<Connection> for YcsbWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.drawer.draw(client, turn)
    }

    fn step(&mut self, reply: Option<&Reply>, messages: &mut Messages) -> Result<Step, DataError> {
        let Some(reply) = reply else {
            self.has_read = false;
            match self.drawer.operation {
                INSERT => self.insert(messages),
                UPDATE => self.update(messages),
                _ => {
                    messages.read(self.drawer.name.bytes());
                }
            }
            return Ok(Step::Send);
        };
        self.check_found(reply)?;
        match self.drawer.operation {
            READ => self.check_record(reply)?,
            READ_MODIFY_WRITE if !self.has_read => {
                self.check_record(reply)?;
                self.has_read = true;
                self.update(messages);
                return Ok(Step::Send);
            }
            _ => {}
        }
        self.drawer.settle(true);
        Ok(Step::Done(Completion::Committed))
    }

    fn draws(&self) -> Draws {
        self.drawer.draws()
    }
}

impl YcsbWorker {
    fn insert(&self, messages: &mut Messages) {
        let fields = field_names(self.drawer.plan.options.fields);
        let bins = fields.zip(self.drawer.new_fields().map(str::as_bytes));
        messages.write(Write::Create, self.drawer.name.bytes(), bins);
    }

    fn update(&self, messages: &mut Messages) {
        let name = field_names(self.drawer.plan.options.fields).nth(self.drawer.field).expect("a field that was drawn");
        let value = self.drawer.update().as_bytes();
        messages.write(Write::Update, self.drawer.name.bytes(), [(name, value)].into_iter());
    }

    /// What is read or updated must be there, and what is inserted must not.
    fn check_found(&self, reply: &Reply) -> Result<(), DataError> {
        match reply.result(0) {
            Some(FOUND) => Ok(()),
            other => Err(self.wrong(&other.map_or_else(|| "nothing".to_owned(), name_of))),
        }
    }

    fn check_record(&self, reply: &Reply) -> Result<(), DataError> {
        let (bins, fields) = (reply.bins(0).count(), self.drawer.plan.options.fields as usize);
        if bins == fields { Ok(()) } else { Err(self.wrong(&format!("{bins} bins"))) }
    }

    fn wrong(&self, met: &str) -> DataError {
        let (operation, name) = (OPERATIONS[usize::from(self.drawer.operation.0)], self.drawer.name.text());
        DataError(format!("{operation} of {name} met {met}, which cannot be of such a record"))
    }
}
