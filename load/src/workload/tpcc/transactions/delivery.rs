//! Delivery (clause 2.7): all ten districts in one database transaction.
//!
//! The clause queues it and measures the queueing. Inline, as in all tools compared, its time is that of the work
//! itself; deferred, the work is an operation of its own.

use super::script::{Act::Begin, Act::Do, Act::End, Answer, Outbox, Script, Transaction};
use super::{column, money};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, Value};
use crate::workload::DataError;
use crate::workload::tpcc::input::DeliveryInput;
use crate::workload::tpcc::population::DISTRICTS;
use crate::workload::tpcc::profile::Profile;
use crate::workload::tpcc::statements::Query;

const MAX_DISTRICTS: usize = DISTRICTS as usize;

/// Its statements.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    OldestOfDistrict,
    Oldest,
    Sums,
    SetCarrier,
    ReadOrders,
    UpdateOrders,
    Delete,
    UpdateLines,
    UpdateCustomer,
    UpdateCustomers,
    Deliver,
}
use Task::*;

const CHATTY: Script<Task> = &[
    &[Begin],
    &[Do(OldestOfDistrict)],
    &[Do(Sums)],
    &[Do(SetCarrier)],
    &[Do(ReadOrders)],
    &[Do(Delete)],
    &[Do(UpdateLines)],
    &[Do(UpdateCustomer)],
    &[End],
];
const BATCHED: Script<Task> = &[
    &[Begin],
    &[Do(Oldest)],
    &[Do(Sums)],
    &[Do(UpdateOrders)],
    &[Do(Delete)],
    &[Do(UpdateLines)],
    &[Do(UpdateCustomers)],
    &[End],
];
/// One statement is a transaction of its own.
const ONE_TRIP: Script<Task> = &[&[Do(Deliver)]];

/// What the latest Delivery did. The arrays hold one entry per order delivered, by district.
#[derive(Debug, Clone, Default)]
pub struct Delivery {
    now_micros: i64,
    count: usize,
    districts: [i32; MAX_DISTRICTS],
    orders: [i32; MAX_DISTRICTS],
    customers: [i32; MAX_DISTRICTS],
    amounts_cents: [i64; MAX_DISTRICTS],
    lines: usize,
}

impl Transaction for Delivery {
    type Input = DeliveryInput;
    type Task = Task;

    fn script(profile: Profile, _dialect: Dialect, _input: &DeliveryInput) -> Script<Task> {
        match profile {
            Profile::Chatty => CHATTY,
            Profile::Batched => BATCHED,
            Profile::Pipelined | Profile::Proc => ONE_TRIP,
        }
    }

    fn start(&mut self, _input: &DeliveryInput, now_micros: i64) {
        *self = Self { now_micros, ..Self::default() };
    }

    /// When all districts are empty, nothing is left to do.
    fn due(&self, task: Task, _input: &DeliveryInput) -> usize {
        match task {
            OldestOfDistrict => MAX_DISTRICTS,
            Oldest | Deliver => 1,
            UpdateCustomer => self.count,
            _ => usize::from(self.count > 0),
        }
    }

    fn send(&mut self, task: Task, nth: usize, input: &DeliveryInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let (warehouse, carrier) = (Value::I32(input.warehouse), Value::I32(input.carrier));
        let now = Value::TimestampMicros(self.now_micros);
        let districts = Value::I32Array(&self.districts[..self.count]);
        let orders = Value::I32Array(&self.orders[..self.count]);
        match task {
            OldestOfDistrict => {
                let district = i32::try_from(nth + 1).expect("ten districts");
                out.execute(Query::DeliveryOldestOfDistrict, &[warehouse, Value::I32(district)]);
            }
            Oldest => out.execute(Query::DeliveryOldest, &[warehouse]),
            Sums => out.execute(Query::DeliverySums, &[warehouse, districts, orders]),
            SetCarrier => out.execute(Query::DeliverySetCarrier, &[warehouse, carrier, districts, orders]),
            ReadOrders => out.execute(Query::DeliveryReadOrders, &[warehouse, districts, orders]),
            UpdateOrders => out.execute(Query::DeliveryUpdateOrders, &[warehouse, carrier, districts, orders]),
            Delete => out.execute(Query::DeliveryDelete, &[warehouse, districts, orders]),
            UpdateLines => out.execute(Query::DeliveryUpdateLines, &[warehouse, now, districts, orders]),
            UpdateCustomer => {
                let [district, customer] = [self.districts[nth], self.customers[nth]].map(Value::I32);
                let amount = money(self.amounts_cents[nth]);
                out.execute(Query::DeliveryUpdateCustomer, &[warehouse, district, customer, amount]);
            }
            UpdateCustomers => {
                let customers = Value::I32Array(&self.customers[..self.count]);
                let amounts = Value::NumericArray { unscaled: &self.amounts_cents[..self.count], scale: 2 };
                out.execute(Query::DeliveryUpdateCustomers, &[warehouse, districts, customers, amounts]);
            }
            Deliver => out.execute(Query::DeliveryDeliver, &[warehouse, carrier, now]),
        }
    }

    fn read(
        &mut self,
        task: Task,
        nth: usize,
        _input: &DeliveryInput,
        answer: Answer<'_, impl SqlReply>,
    ) -> Result<(), DataError> {
        match task {
            OldestOfDistrict => self.read_oldest_of_district(nth, answer),
            Oldest => self.read_oldest(answer),
            Sums => self.read_sums(answer),
            SetCarrier => answer.check_affected(self.count, "the update of orders"),
            ReadOrders | UpdateOrders => self.read_orders(answer),
            Delete => answer.check_affected(self.count, "the deletion of new orders"),
            UpdateLines => answer.check_affected(self.lines, "the delivery of lines"),
            UpdateCustomer => answer.check_affected(1, "the update of a customer"),
            UpdateCustomers => answer.check_affected(self.count, "the update of customers"),
            Deliver => self.read_delivered(answer),
        }
    }
}

impl Delivery {
    /// Districts that had no order to deliver (2.7.4.2: skipped, and counted).
    #[must_use]
    pub fn skipped(&self) -> usize {
        MAX_DISTRICTS - self.count
    }

    /// Districts, orders, customers and amounts in cents of what was delivered, by district.
    pub fn delivered(&self) -> impl Iterator<Item = (i32, i32, i32, i64)> {
        let delivered =
            |index| (self.districts[index], self.orders[index], self.customers[index], self.amounts_cents[index]);
        (0..self.count).map(delivered)
    }

    fn read_oldest_of_district(&mut self, nth: usize, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        if let Some(row) = answer.rows().next() {
            self.districts[self.count] = i32::try_from(nth + 1).expect("ten districts");
            self.orders[self.count] = column(row.i32(0), "no_o_id")?;
            self.count += 1;
        }
        Ok(())
    }

    fn read_oldest(&mut self, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        self.make_room(answer)?;
        for (index, row) in answer.rows().enumerate() {
            self.districts[index] = column(row.i32(0), "no_d_id")?;
            self.orders[index] = column(row.i32(1), "no_o_id")?;
        }
        Ok(())
    }

    fn make_room(&mut self, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        self.count = answer.row_count();
        if self.count > MAX_DISTRICTS {
            return Err(DataError(format!("{} oldest orders in ten districts", self.count)));
        }
        Ok(())
    }

    fn read_sums(&mut self, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        for row in answer.rows() {
            let place = self.place(column(row.i32(0), "ol_d_id")?)?;
            self.amounts_cents[place] = column(row.numeric(1, 2), "sum(ol_amount)")?;
        }
        self.check_count(answer, "orders have lines")
    }

    fn read_orders(&mut self, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        self.lines = 0;
        for row in answer.rows() {
            let place = self.place(column(row.i32(0), "o_d_id")?)?;
            self.customers[place] = column(row.i32(1), "o_c_id")?;
            let lines = usize::try_from(column(row.i32(2), "o_ol_cnt")?);
            self.lines += column(lines.ok(), "a positive o_ol_cnt")?;
        }
        self.check_count(answer, "new orders have an order")
    }

    /// A row for each district that had a new order; what is missing of the order is NULL.
    fn read_delivered(&mut self, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        self.make_room(answer)?;
        for (index, row) in answer.rows().enumerate() {
            self.districts[index] = column(row.i32(0), "no_d_id")?;
            self.orders[index] = column(row.i32(1), "no_o_id")?;
            self.customers[index] = column(row.i32(2), "c_id")?;
            self.amounts_cents[index] = column(row.numeric(3, 2), "sum(ol_amount)")?;
            if column(row.i64(4), "o_ol_cnt")? != column(row.i64(5), "the number of lines")? {
                return Err(DataError(format!("order {} does not have o_ol_cnt lines", self.orders[index])));
            }
        }
        Ok(())
    }

    fn place(&self, district: i32) -> Result<usize, DataError> {
        let place = self.districts[..self.count].iter().position(|&known| known == district);
        place.ok_or_else(|| DataError(format!("unexpected district {district}")))
    }

    fn check_count(&self, answer: Answer<'_, impl SqlReply>, what: &str) -> Result<(), DataError> {
        if answer.row_count() == self.count {
            return Ok(());
        }
        Err(DataError(format!("{} of {} {what}", answer.row_count(), self.count)))
    }
}
