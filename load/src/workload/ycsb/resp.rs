//! On Redis and Valkey: a hash each record, as YCSB's own binding has it.

use super::data::field_names;
use super::plan::{Drawer, Plan};
use super::worker::{Verbs, YcsbWorker};
use super::{INSERT, OPERATIONS, UPDATE, YcsbOptions};
use crate::target::resp::{Answer, Commands, Connection, Reply, Slots};
use crate::workload::ShardSpec;
use crate::workload::{AuditLine, Draws, OperationId, ServerCounter, Worker, Workload};
use std::sync::Arc;

/// The workload.
#[derive(Debug)]
pub struct YcsbResp {
    plan: Arc<Plan>,
    /// Of a cluster.
    slots: Option<Slots>,
}

impl YcsbResp {
    /// With these options (of a core workload that does not scan), on one server or, by its slots, on a cluster;
    /// `shard` is the part of this process in the run.
    #[must_use]
    pub fn new(options: YcsbOptions, seed: u64, shard: ShardSpec, slots: Option<Slots>) -> Self {
        Self { plan: Arc::new(Plan::new(options, seed, shard)), slots }
    }
}

impl Workload<Connection> for YcsbResp {
    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<Connection>> {
        Box::new(YcsbWorker::new(&self.plan))
    }

    fn part(&self, _: u32, client: u32, turn: u64, parts: usize) -> usize {
        match &self.slots {
            Some(slots) => slots.master(self.plan.first_name(client, turn).bytes()),
            None => client as usize % parts,
        }
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    /// Calls of commands, as INFO commandstats reports them.
    fn server_counters(&self) -> Vec<ServerCounter> {
        self.plan.counters("hgetall", "hset")
    }
}

impl Verbs for Connection {
    fn ask(drawer: &Drawer, verb: OperationId, commands: &mut Commands) {
        match verb {
            INSERT => insert(drawer, commands),
            UPDATE => update(drawer, commands),
            _ => {
                commands.all(&[b"HGETALL", drawer.name.bytes()]);
            }
        }
    }

    /// HSET tells how many of the fields are new, HGETALL names and values of all.
    fn judge(drawer: &Drawer, verb: OperationId, reply: &Reply) -> Result<(), String> {
        let fields = drawer.plan.options.fields as usize;
        let (right, met) = match (verb, reply.answer(0)) {
            (INSERT, Some(Answer::Integer(new))) => (new == fields as i64, new as usize),
            (UPDATE, Some(Answer::Integer(new))) => (new == 0, new as usize),
            (INSERT | UPDATE, _) => (false, 0),
            _ => {
                let parts = reply.answers(0).filter(|answer| matches!(answer, Answer::Text(_))).count();
                (parts == 2 * fields, parts / 2)
            }
        };
        if right { Ok(()) } else { Err(format!("{met} fields")) }
    }
}

fn insert(drawer: &Drawer, commands: &mut Commands) {
    let fields = drawer.plan.options.fields;
    commands.command(2 + 2 * fields as usize).part(b"HSET").part(drawer.name.bytes());
    for (name, value) in field_names(fields).zip(drawer.new_fields()) {
        commands.part(name.as_bytes()).part(value.as_bytes());
    }
}

fn update(drawer: &Drawer, commands: &mut Commands) {
    let (name, value) = drawer.update();
    commands.all(&[b"HSET", drawer.name.bytes(), name.as_bytes(), value.as_bytes()]);
}
