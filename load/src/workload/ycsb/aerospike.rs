//! On Aerospike: a record each, with a bin for each field.

use super::data::field_names;
use super::plan::{Drawer, Plan};
use super::worker::{Verbs, YcsbWorker};
use super::{INSERT, OPERATIONS, READ, UPDATE, YcsbOptions};
use crate::target::aerospike::{Connection, FOUND, Messages, Partitions, Reply, Write, name_of};
use crate::workload::ShardSpec;
use crate::workload::{AuditLine, Draws, OperationId, ServerCounter, Worker, Workload};
use std::sync::Arc;

/// The workload.
#[derive(Debug)]
pub struct YcsbAerospike {
    plan: Arc<Plan>,
    partitions: Partitions,
}

impl YcsbAerospike {
    /// With these options (of a core workload that does not scan), on the nodes of a cluster; `shard` is the part of
    /// this process in the run.
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
        Box::new(YcsbWorker::new(&self.plan))
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

    /// Records that were read and written, as the nodes' statistics of the namespace report them.
    fn server_counters(&self) -> Vec<ServerCounter> {
        self.plan.counters("read_success", "write_success")
    }
}

impl Verbs for Connection {
    fn ask(drawer: &Drawer, verb: OperationId, messages: &mut Messages) {
        let name = drawer.name.bytes();
        match verb {
            INSERT => {
                let fields = field_names(drawer.plan.options.fields);
                messages.write(Write::Create, name, fields.zip(drawer.new_fields().map(str::as_bytes)))
            }
            UPDATE => {
                let (field, value) = drawer.update();
                // The only field is the whole record: it is replaced, as YCSB's own binding does.
                let how = if drawer.plan.options.fields == 1 { Write::ReplaceExisting } else { Write::Update };
                messages.write(how, name, [(field, value.as_bytes())].into_iter())
            }
            _ => messages.read(name),
        };
    }

    /// What is read or updated must be there, and what is inserted must not.
    fn judge(drawer: &Drawer, verb: OperationId, reply: &Reply) -> Result<(), String> {
        match reply.result(0) {
            Some(FOUND) if verb == READ => match reply.bins(0).count() {
                bins if bins == drawer.plan.options.fields as usize => Ok(()),
                bins => Err(format!("{bins} bins instead of {}", drawer.plan.options.fields)),
            },
            Some(FOUND) => Ok(()),
            other => Err(other.map_or_else(|| "nothing".to_owned(), name_of)),
        }
    }
}
