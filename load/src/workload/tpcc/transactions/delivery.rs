//! Delivery (clause 2.7): 8 round trips for all ten districts in one database transaction, 3 when all are empty.
//!
//! The clause queues it and measures the queueing; here it runs inline, as in all tools compared, and its time is that
//! of the work itself.

use super::{check_affected, column};
use crate::target::Value;
use crate::target::postgres::{Batch, Reply};
use crate::workload::tpcc::input::DeliveryInput;
use crate::workload::tpcc::population::DISTRICTS;
use crate::workload::tpcc::statements::Query;
use crate::workload::{Completion, DataError, Step};

const MOST: usize = DISTRICTS as usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sent {
    #[default]
    Begin,
    Oldest,
    Sums,
    Orders,
    Delete,
    Lines,
    Customers,
    End,
}

/// A Delivery in progress, and what the latest one did. The arrays hold one entry per order delivered, by district.
#[derive(Debug, Clone, Default)]
pub struct Delivery {
    sent: Sent,
    now_micros: i64,
    count: usize,
    districts: [i32; MOST],
    orders: [i32; MOST],
    customers: [i32; MOST],
    amounts_cents: [i64; MOST],
    lines: usize,
}

impl Delivery {
    /// See [`crate::workload::Worker::step`].
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    pub fn step(
        &mut self,
        input: &DeliveryInput,
        now_micros: i64,
        reply: Option<&Reply>,
        batch: &mut Batch,
    ) -> Result<Step, DataError> {
        if let Some(reply) = reply {
            self.read(reply)?;
            self.sent = match self.sent {
                Sent::Begin => Sent::Oldest,
                Sent::Oldest if self.count == 0 => Sent::End,
                Sent::Oldest => Sent::Sums,
                Sent::Sums => Sent::Orders,
                Sent::Orders => Sent::Delete,
                Sent::Delete => Sent::Lines,
                Sent::Lines => Sent::Customers,
                Sent::Customers => Sent::End,
                Sent::End => return Ok(Step::Done(Completion::Committed)),
            };
        } else {
            *self = Self { now_micros, ..Self::default() };
        }
        self.send(input, batch);
        Ok(Step::Send)
    }

    /// Districts that had no order to deliver (2.7.4.2: skipped, and counted).
    #[must_use]
    pub fn skipped(&self) -> usize {
        MOST - self.count
    }

    fn read(&mut self, reply: &Reply) -> Result<(), DataError> {
        match self.sent {
            Sent::Oldest => self.read_oldest(reply),
            Sent::Sums => self.read_sums(reply),
            Sent::Orders => self.read_orders(reply),
            Sent::Delete => check_affected(reply, self.count, "the deletion of new orders"),
            Sent::Lines => check_affected(reply, self.lines, "the delivery of lines"),
            Sent::Customers => check_affected(reply, self.count, "the update of customers"),
            Sent::Begin | Sent::End => Ok(()),
        }
    }

    fn read_oldest(&mut self, reply: &Reply) -> Result<(), DataError> {
        self.count = reply.row_count(0);
        if self.count > MOST {
            return Err(DataError(format!("{} oldest orders in ten districts", self.count)));
        }
        for index in 0..self.count {
            let row = column(reply.row(0, index), "new_order")?;
            self.districts[index] = column(row.i32(0), "no_d_id")?;
            self.orders[index] = column(row.i32(1), "no_o_id")?;
        }
        Ok(())
    }

    fn read_sums(&mut self, reply: &Reply) -> Result<(), DataError> {
        for index in 0..reply.row_count(0) {
            let row = column(reply.row(0, index), "order_line")?;
            let place = self.place(column(row.i32(0), "ol_d_id")?)?;
            self.amounts_cents[place] = column(row.numeric(1, 2), "sum(ol_amount)")?;
        }
        self.check_count(reply, "orders have lines")
    }

    fn read_orders(&mut self, reply: &Reply) -> Result<(), DataError> {
        self.lines = 0;
        for index in 0..reply.row_count(0) {
            let row = column(reply.row(0, index), "orders")?;
            let place = self.place(column(row.i32(0), "o_d_id")?)?;
            self.customers[place] = column(row.i32(1), "o_c_id")?;
            let lines = usize::try_from(column(row.i32(2), "o_ol_cnt")?);
            self.lines += column(lines.ok(), "a positive o_ol_cnt")?;
        }
        self.check_count(reply, "new orders have an order")
    }

    fn place(&self, district: i32) -> Result<usize, DataError> {
        let place = self.districts[..self.count].iter().position(|&known| known == district);
        place.ok_or_else(|| DataError(format!("district {district} was not asked for")))
    }

    fn check_count(&self, reply: &Reply, what: &str) -> Result<(), DataError> {
        if reply.row_count(0) == self.count {
            return Ok(());
        }
        Err(DataError(format!("{} of {} {what}", reply.row_count(0), self.count)))
    }

    fn send(&self, input: &DeliveryInput, batch: &mut Batch) {
        let warehouse = Value::I32(input.warehouse);
        let districts = Value::I32Array(&self.districts[..self.count]);
        let orders = Value::I32Array(&self.orders[..self.count]);
        match self.sent {
            Sent::Begin => batch.begin(),
            Sent::Oldest => batch.execute(Query::DeliveryOldest.id(), &[warehouse]),
            Sent::Sums => batch.execute(Query::DeliverySums.id(), &[warehouse, districts, orders]),
            Sent::Orders => {
                let carrier = Value::I32(input.carrier);
                batch.execute(Query::DeliveryOrders.id(), &[warehouse, carrier, districts, orders]);
            }
            Sent::Delete => batch.execute(Query::DeliveryDelete.id(), &[warehouse, districts, orders]),
            Sent::Lines => {
                let now = Value::TimestampMicros(self.now_micros);
                batch.execute(Query::DeliveryLines.id(), &[warehouse, now, districts, orders]);
            }
            Sent::Customers => {
                let customers = Value::I32Array(&self.customers[..self.count]);
                let amounts = Value::NumericArray { unscaled: &self.amounts_cents[..self.count], scale: 2 };
                batch.execute(Query::DeliveryCustomers.id(), &[warehouse, districts, customers, amounts]);
            }
            Sent::End => batch.commit(),
        }
    }
}
