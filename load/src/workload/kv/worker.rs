//! The one round trip of an operation: the same on every kind of target.

use super::plan::{Drawer, Plan};
use crate::target::Session;
use crate::workload::writes::Pen;
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

pub(super) struct KvWorker {
    drawer: Drawer,
    pen: Option<Pen>,
}

impl KvWorker {
    pub(super) fn new(plan: &Arc<Plan>, clients: u32) -> Self {
        Self { drawer: Drawer::new(Arc::clone(plan), clients), pen: plan.log.clone().map(Pen::new) }
    }
}

impl<S: Verbs> Worker<S> for KvWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.drawer.draw(client, turn)
    }

    fn step(&mut self, reply: Option<&S::Reply>, request: &mut S::Request) -> Result<Step, DataError> {
        let Some(reply) = reply else {
            if let Some(pen) = self.pen.as_mut().filter(|_| !self.drawer.reads()) {
                let number = pen.send(self.drawer.keys());
                self.drawer.mark(number);
            }
            S::ask(&self.drawer, request);
            return Ok(Step::Send);
        };
        S::judge(&self.drawer, reply)?;
        if let Some(pen) = self.pen.as_mut().filter(|_| !self.drawer.reads()) {
            pen.acknowledge();
        }
        Ok(Step::Done(Completion::Committed))
    }

    fn was_refused(&mut self) {
        if let Some(pen) = self.pen.as_mut().filter(|_| !self.drawer.reads()) {
            pen.withdraw();
        }
    }

    fn draws(&self) -> Draws {
        self.drawer.draws()
    }
}
