//! Stock-Level (clause 2.8): 4 round trips, read-only.

use super::{column, first_row};
use crate::target::Value;
use crate::target::postgres::{Batch, Reply};
use crate::workload::tpcc::input::StockLevelInput;
use crate::workload::tpcc::statements::Query;
use crate::workload::{Completion, DataError, Step};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sent {
    #[default]
    Begin,
    District,
    Count,
    End,
}

/// A Stock-Level in progress, and what the latest one read.
#[derive(Debug, Clone, Default)]
pub struct StockLevel {
    sent: Sent,
    next_order: i32,
    /// Items of the last twenty orders whose stock is low.
    pub low_stock: i64,
}

impl StockLevel {
    /// See [`crate::workload::Worker::step`].
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    pub fn step(
        &mut self,
        input: &StockLevelInput,
        reply: Option<&Reply>,
        batch: &mut Batch,
    ) -> Result<Step, DataError> {
        if let Some(reply) = reply {
            self.read(reply)?;
            self.sent = match self.sent {
                Sent::Begin => Sent::District,
                Sent::District => Sent::Count,
                Sent::Count => Sent::End,
                Sent::End => return Ok(Step::Done(Completion::Committed)),
            };
        } else {
            self.sent = Sent::Begin;
        }
        self.send(input, batch);
        Ok(Step::Send)
    }

    fn read(&mut self, reply: &Reply) -> Result<(), DataError> {
        match self.sent {
            Sent::District => self.next_order = column(first_row(reply, "district")?.i32(0), "d_next_o_id")?,
            Sent::Count => self.low_stock = column(first_row(reply, "count")?.i64(0), "count")?,
            Sent::Begin | Sent::End => {}
        }
        Ok(())
    }

    fn send(&self, input: &StockLevelInput, batch: &mut Batch) {
        let place = [Value::I32(input.warehouse), Value::I32(input.district)];
        match self.sent {
            Sent::Begin => batch.begin(),
            Sent::District => batch.execute(Query::StockLevelDistrict.id(), &place),
            Sent::Count => batch.execute(
                Query::StockLevelCount.id(),
                &[
                    place[0],
                    place[1],
                    Value::I32(self.next_order - 20),
                    Value::I32(self.next_order),
                    Value::I32(input.threshold),
                ],
            ),
            Sent::End => batch.commit(),
        }
    }
}
