//! On Redis and Valkey: a string a row, by GET and SET, or MGET and MSET where an operation has several rows.

use super::plan::{Drawer, KvOptions, Plan};
use super::{OPERATIONS, READ, WRITE};
use crate::target::resp::{Answer, Commands, Connection, Reply, Slots};
use crate::workload::{AuditLine, Completion, DataError, Draws, OperationId, ServerCounter, Step, Worker, Workload};
use std::sync::Arc;

/// The key under which a load notes what it loaded.
pub const MARKER: &[u8] = b"nephoscope-kv";
const PREFIX: &[u8; 3] = b"kv:";
const KEY_BYTES: usize = PREFIX.len() + 16;

/// The name of a key: 16 hexadecimal digits behind `kv:`.
#[must_use]
pub fn write_key(key: i64) -> [u8; KEY_BYTES] {
    let mut name = [0; KEY_BYTES];
    name[..PREFIX.len()].copy_from_slice(PREFIX);
    let mut rest = key as u64;
    for digit in name[PREFIX.len()..].iter_mut().rev() {
        *digit = b"0123456789abcdef"[(rest & 15) as usize];
        rest >>= 4;
    }
    name
}

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
        Box::new(KvRespWorker(Drawer::new(Arc::clone(&self.plan), clients)))
    }

    fn part(&self, clients: u32, client: u32, turn: u64, parts: usize) -> usize {
        match &self.slots {
            Some(slots) => slots.master(&write_key(self.plan.first_key(clients, client, turn))),
            None => client as usize % parts,
        }
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    /// Calls of commands, as INFO commandstats tells them.
    fn server_counters(&self) -> Vec<ServerCounter> {
        let [read, write] = if self.plan.options.batch == 1 { ["get", "set"] } else { ["mget", "mset"] };
        vec![ServerCounter::by_name(read, READ), ServerCounter::by_name(write, WRITE)]
    }
}

struct KvRespWorker(Drawer);

impl Worker<Connection> for KvRespWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.0.draw(client, turn)
    }

    fn step(&mut self, reply: Option<&Reply>, commands: &mut Commands) -> Result<Step, DataError> {
        let Self(drawer) = self;
        match reply {
            None => {
                fill(drawer, commands);
                Ok(Step::Send)
            }
            Some(reply) if drawer.reads() => check(reply, drawer.keys()),
            Some(_) => Ok(Step::Done(Completion::Committed)),
        }
    }

    fn draws(&self) -> Draws {
        self.0.draws()
    }
}

fn fill(drawer: &Drawer, commands: &mut Commands) {
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
fn check(reply: &Reply, keys: &[i64]) -> Result<Step, DataError> {
    match reply.answers(0).filter(|answer| matches!(answer, Answer::Text(_))).count() {
        count if count == keys.len() => Ok(Step::Done(Completion::Committed)),
        count => Err(DataError(format!(
            "{count} of {} rows are there, of those that begin with {}",
            keys.len(),
            String::from_utf8_lossy(&write_key(keys[0]))
        ))),
    }
}
