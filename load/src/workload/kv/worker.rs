//! The one round trip of an operation: the same on every kind of target.

use super::plan::{Drawer, Plan};
use crate::target::Session;
use crate::workload::{Completion, DataError, Draws, OperationId, Step, Worker};
use std::sync::Arc;

/// How a kind of target reads and writes rows.
pub(super) trait Verbs: Session {
    /// Asks for what was drawn.
    fn ask(drawer: &Drawer, request: &mut Self::Request);

    /// Judges the answer.
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    fn judge(drawer: &Drawer, reply: &Self::Reply) -> Result<(), DataError>;
}

pub(super) struct KvWorker(Drawer);

impl KvWorker {
    pub(super) fn new(plan: &Arc<Plan>, clients: u32) -> Self {
        Self(Drawer::new(Arc::clone(plan), clients))
    }
}

impl<S: Verbs> Worker<S> for KvWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.0.draw(client, turn)
    }

    fn step(&mut self, reply: Option<&S::Reply>, request: &mut S::Request) -> Result<Step, DataError> {
        let Some(reply) = reply else {
            S::ask(&self.0, request);
            return Ok(Step::Send);
        };
        S::judge(&self.0, reply).map(|()| Step::Done(Completion::Committed))
    }

    fn draws(&self) -> Draws {
        self.0.draws()
    }
}
