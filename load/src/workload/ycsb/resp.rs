//! On Redis and Valkey: a hash each record, as YCSB's own binding has it.

use super::data::field_names;
use super::plan::{Drawer, Plan};
use super::{INSERT, OPERATIONS, READ, UPDATE, YcsbOptions};
use crate::spec::ShardSpec;
use crate::target::resp::{Answer, Commands, Connection, Reply, Slots};
use crate::workload::{AuditLine, Completion, DataError, Draws, OperationId, ServerCounter, Step, Worker, Workload};
use std::sync::Arc;

/// The workload.
#[derive(Debug)]
pub struct YcsbResp {
    plan: Arc<Plan>,
    /// Of a cluster.
    slots: Option<Slots>,
}

impl YcsbResp {
    /// With these options (of a core workload that does not scan), on one server or, by its slots, on a cluster; `shard` is
    /// the part of this process in the run.
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
        Box::new(YcsbWorker { drawer: Drawer::new(Arc::clone(&self.plan)), has_read: false })
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

    /// Calls of commands, as INFO commandstats tells them.
    fn server_counters(&self) -> Vec<ServerCounter> {
        self.plan.counters("hgetall", "hset")
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

    fn step(&mut self, reply: Option<&Reply>, commands: &mut Commands) -> Result<Step, DataError> {
        let fields = u64::from(self.drawer.plan.options.fields);
        let Some(reply) = reply else {
            self.has_read = false;
            match self.drawer.operation {
                INSERT => self.insert(commands),
                UPDATE => self.update(commands),
                _ => {
                    commands.all(&[b"HGETALL", self.drawer.name.bytes()]);
                }
            }
            return Ok(Step::Send);
        };
        match self.drawer.operation {
            READ => self.check_record(reply, fields)?,
            UPDATE => self.check_new(reply, 0)?,
            INSERT => self.check_new(reply, fields)?,
            _ if self.has_read => self.check_new(reply, 0)?,
            _ => {
                self.check_record(reply, fields)?;
                self.has_read = true;
                self.update(commands);
                return Ok(Step::Send);
            }
        }
        self.drawer.settle(true);
        Ok(Step::Done(Completion::Committed))
    }

    fn draws(&self) -> Draws {
        self.drawer.draws()
    }
}

impl YcsbWorker {
    fn insert(&self, commands: &mut Commands) {
        let fields = self.drawer.plan.options.fields;
        commands.command(2 + 2 * fields as usize).part(b"HSET").part(self.drawer.name.bytes());
        for (name, value) in field_names(fields).zip(self.drawer.new_fields()) {
            commands.part(name.as_bytes()).part(value.as_bytes());
        }
    }

    fn update(&self, commands: &mut Commands) {
        let name = field_names(self.drawer.plan.options.fields).nth(self.drawer.field).expect("a field that was drawn");
        let value = self.drawer.update().as_bytes();
        commands.all(&[b"HSET", self.drawer.name.bytes(), name.as_bytes(), value]);
    }

    /// Names and values of all fields.
    fn check_record(&self, reply: &Reply, fields: u64) -> Result<(), DataError> {
        let parts = reply.answers(0).filter(|answer| matches!(answer, Answer::Text(_))).count() as u64;
        if parts == 2 * fields { Ok(()) } else { Err(self.wrong(parts / 2)) }
    }

    /// HSET tells how many of the fields are new.
    fn check_new(&self, reply: &Reply, expected: u64) -> Result<(), DataError> {
        match reply.answer(0) {
            Some(Answer::Integer(new)) if new as u64 == expected => Ok(()),
            Some(Answer::Integer(new)) => Err(self.wrong(new as u64)),
            _ => Err(self.wrong(0)),
        }
    }

    fn wrong(&self, fields: u64) -> DataError {
        let (operation, name) = (OPERATIONS[usize::from(self.drawer.operation.0)], self.drawer.name.text());
        DataError(format!("{operation} of {name} met {fields} fields, which cannot be of such a record"))
    }
}
