//! Order-Status (clause 2.6): 5 round trips, read-only.

use super::{column, first_row, middle_row};
use crate::target::Value;
use crate::target::postgres::{Batch, Reply};
use crate::workload::tpcc::input::{Customer, OrderStatusInput};
use crate::workload::tpcc::random::last_name;
use crate::workload::tpcc::statements::Query;
use crate::workload::{Completion, DataError, Step};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sent {
    #[default]
    Begin,
    Customer,
    Order,
    Lines,
    End,
}

/// An Order-Status in progress, and what the latest one read.
#[derive(Debug, Clone, Default)]
pub struct OrderStatus {
    sent: Sent,
    name: String,
    /// `C_ID`.
    pub customer: i32,
    /// `O_ID` of the newest order.
    pub order: i32,
    /// Its lines.
    pub lines: usize,
    /// Customers of the last name looked up.
    pub rows_by_name: Option<usize>,
}

impl OrderStatus {
    /// See [`crate::workload::Worker::step`].
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    pub fn step(
        &mut self,
        input: &OrderStatusInput,
        reply: Option<&Reply>,
        batch: &mut Batch,
    ) -> Result<Step, DataError> {
        if let Some(reply) = reply {
            self.read(input, reply)?;
            self.sent = match self.sent {
                Sent::Begin => Sent::Customer,
                Sent::Customer => Sent::Order,
                Sent::Order => Sent::Lines,
                Sent::Lines => Sent::End,
                Sent::End => return Ok(Step::Done(Completion::Committed)),
            };
        } else {
            self.sent = Sent::Begin;
            self.rows_by_name = None;
            if let Customer::Name(number) = input.customer {
                last_name(number, &mut self.name);
            }
        }
        self.send(input, batch);
        Ok(Step::Send)
    }

    fn read(&mut self, input: &OrderStatusInput, reply: &Reply) -> Result<(), DataError> {
        match self.sent {
            Sent::Customer => match input.customer {
                Customer::Id(id) => {
                    column(first_row(reply, "customer")?.numeric(0, 2), "c_balance")?;
                    self.customer = id;
                }
                Customer::Name(_) => {
                    self.rows_by_name = Some(reply.row_count(0));
                    self.customer = column(middle_row(reply, &self.name)?.i32(0), "c_id")?;
                }
            },
            // Every customer has one order after the load, and orders never go away.
            Sent::Order => self.order = column(first_row(reply, "orders")?.i32(0), "o_id")?,
            Sent::Lines => {
                self.lines = reply.row_count(0);
                first_row(reply, "order_line")?;
            }
            Sent::Begin | Sent::End => {}
        }
        Ok(())
    }

    fn send(&self, input: &OrderStatusInput, batch: &mut Batch) {
        let (warehouse, district) = (Value::I32(input.warehouse), Value::I32(input.district));
        match self.sent {
            Sent::Begin => batch.begin(),
            Sent::Customer => match input.customer {
                Customer::Id(id) => {
                    batch.execute(Query::OrderStatusCustomer.id(), &[warehouse, district, Value::I32(id)]);
                }
                Customer::Name(_) => batch
                    .execute(Query::OrderStatusCustomersByName.id(), &[warehouse, district, Value::Text(&self.name)]),
            },
            Sent::Order => {
                batch.execute(Query::OrderStatusOrder.id(), &[warehouse, district, Value::I32(self.customer)]);
            }
            Sent::Lines => {
                batch.execute(Query::OrderStatusLines.id(), &[warehouse, district, Value::I32(self.order)]);
            }
            Sent::End => batch.commit(),
        }
    }
}
