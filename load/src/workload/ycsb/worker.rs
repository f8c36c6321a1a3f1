//! The steps of an operation: the same on every kind of target.

use super::plan::{Drawer, Plan};
use super::{OPERATIONS, READ, READ_MODIFY_WRITE, UPDATE};
use crate::target::Session;
use crate::workload::{Completion, DataError, Draws, OperationId, Step, Worker};
use std::sync::Arc;

/// How a kind of target reads and writes records.
pub(super) trait Verbs: Session {
    /// Asks for a read, an update, an insert or a scan of what was drawn.
    fn ask(drawer: &Drawer, verb: OperationId, request: &mut Self::Request);

    /// Judges the answer to it.
    ///
    /// # Errors
    /// What it met, which cannot be of such a record.
    fn judge(drawer: &Drawer, verb: OperationId, reply: &Self::Reply) -> Result<(), String>;
}

pub(super) struct YcsbWorker {
    drawer: Drawer,
    /// What was asked for last: a read-modify-write reads, then updates.
    verb: OperationId,
}

impl YcsbWorker {
    pub(super) fn new(plan: &Arc<Plan>) -> Self {
        Self { drawer: Drawer::new(Arc::clone(plan)), verb: READ }
    }
}

impl<S: Verbs> Worker<S> for YcsbWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.drawer.draw(client, turn)
    }

    fn step(&mut self, reply: Option<&S::Reply>, request: &mut S::Request) -> Result<Step, DataError> {
        let Self { drawer, verb } = self;
        let twice = drawer.operation == READ_MODIFY_WRITE;
        *verb = match reply {
            None if twice => READ,
            None => drawer.operation,
            Some(reply) => {
                S::judge(drawer, *verb, reply).map_err(|met| wrong(drawer, &met))?;
                if !twice || *verb == UPDATE {
                    drawer.settle(true);
                    return Ok(Step::Done(Completion::Committed));
                }
                UPDATE
            }
        };
        S::ask(drawer, *verb, request);
        Ok(Step::Send)
    }

    fn draws(&self) -> Draws {
        self.drawer.draws()
    }
}

fn wrong(drawer: &Drawer, met: &str) -> DataError {
    let (operation, name) = (OPERATIONS[usize::from(drawer.operation.0)], drawer.name.text());
    DataError(format!("{operation} of {name} found {met}, which cannot belong to such a record"))
}
