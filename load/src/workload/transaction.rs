//! Transactions whose inputs are all known before the first statement is sent: their statements may go one by one, or
//! all at once.

use super::{Completion, DataError, Step};
use crate::target::{SqlBatch, SqlReply};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How such a transaction is split into round trips. Both do the same in the same order. Never compare numbers of the
/// two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Trips {
    /// One statement per round trip, as sysbench and pgbench do; BEGIN and COMMIT are round trips too.
    #[default]
    Chatty,
    /// The whole transaction in one round trip.
    Pipelined,
}

impl Trips {
    /// As a spec writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chatty => "chatty",
            Self::Pipelined => "pipelined",
        }
    }
}

/// A transaction that was drawn.
pub(super) trait Script {
    /// How many statements it has between BEGIN and COMMIT.
    fn statements(&self) -> usize;

    /// Appends a statement, counted from 0.
    fn send(&self, statement: usize, batch: &mut impl SqlBatch);

    /// Judges its answer, which is the reply's to this `execute`.
    fn check(&self, statement: usize, reply: &impl SqlReply, execute: usize) -> Result<(), DataError>;
}

/// Sends a script's round trips, and has the answers judged.
#[derive(Debug)]
pub(super) struct Sender {
    trips: Trips,
    /// How many answers of this attempt came.
    answered: usize,
}

impl Sender {
    pub(super) fn new(trips: Trips) -> Self {
        Self { trips, answered: 0 }
    }

    /// The statements whose answers the next reply brings: the n-th of them by its n-th `execute`.
    pub(super) fn answered_by_next(&self, script: &impl Script) -> Range<usize> {
        match self.trips {
            Trips::Pipelined => 0..script.statements(),
            Trips::Chatty if (1..=script.statements()).contains(&self.answered) => self.answered - 1..self.answered,
            Trips::Chatty => 0..0, // BEGIN, COMMIT
        }
    }

    /// See [`super::Worker::step`].
    pub(super) fn step(
        &mut self,
        script: &impl Script,
        reply: Option<&impl SqlReply>,
        batch: &mut impl SqlBatch,
    ) -> Result<Step, DataError> {
        match reply {
            None => self.answered = 0,
            Some(reply) => {
                let answered = self.answered_by_next(script);
                for (execute, statement) in answered.enumerate() {
                    script.check(statement, reply, execute)?;
                }
                if self.trips == Trips::Pipelined {
                    return Ok(Step::Done(Completion::Committed));
                }
                self.answered += 1;
            }
        }
        match self.trips {
            Trips::Pipelined => {
                batch.begin();
                (0..script.statements()).for_each(|statement| script.send(statement, batch));
                batch.commit();
            }
            Trips::Chatty if self.answered == 0 => batch.begin(),
            Trips::Chatty if self.answered <= script.statements() => script.send(self.answered - 1, batch),
            Trips::Chatty if self.answered == script.statements() + 1 => batch.commit(),
            Trips::Chatty => return Ok(Step::Done(Completion::Committed)),
        }
        Ok(Step::Send)
    }
}
