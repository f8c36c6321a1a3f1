//! Order-Status (clause 2.6), read-only.

use super::column;
use super::script::{Act::Begin, Act::Do, Act::End, Answer, Outbox, Script, Transaction};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, Value};
use crate::workload::DataError;
use crate::workload::tpcc::input::{Customer, OrderStatusInput};
use crate::workload::tpcc::profile::Profile;
use crate::workload::tpcc::random::last_name;
use crate::workload::tpcc::statements::Query;

/// Its statements.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    CustomersByName,
    CustomerByNumber,
    CustomerByEither,
    NewestOrder,
    Lines,
    Status,
}
use Task::*;

const CHATTY: Script<Task> =
    &[&[Begin], &[Do(CustomersByName)], &[Do(CustomerByNumber)], &[Do(NewestOrder)], &[Do(Lines)], &[End]];
const BATCHED: Script<Task> = &[&[Begin], &[Do(CustomerByEither)], &[Do(NewestOrder)], &[Do(Lines)], &[End]];
/// One statement, so that order and lines are of one moment; it is a transaction of its own.
const ONE_TRIP: Script<Task> = &[&[Do(Status)]];

/// What the latest Order-Status read.
#[derive(Debug, Clone, Default)]
pub struct OrderStatus {
    name: String,
    /// `C_ID`.
    pub customer: i32,
    /// `C_BALANCE` in cents.
    pub balance_cents: i64,
    /// `O_ID` of the newest order.
    pub order: i32,
    /// Its lines.
    pub lines: usize,
    /// Customers of the last name looked up.
    pub rows_by_name: Option<usize>,
}

impl Transaction for OrderStatus {
    type Input = OrderStatusInput;
    type Task = Task;

    fn script(profile: Profile, _dialect: Dialect, _input: &OrderStatusInput) -> Script<Task> {
        match profile {
            Profile::Chatty => CHATTY,
            Profile::Batched => BATCHED,
            Profile::Pipelined | Profile::Proc => ONE_TRIP,
        }
    }

    fn start(&mut self, input: &OrderStatusInput, _now_micros: i64) {
        self.rows_by_name = None;
        match input.customer {
            Customer::Name(number) => last_name(number, &mut self.name),
            Customer::Id(id) => self.customer = id,
        }
    }

    fn due(&self, task: Task, input: &OrderStatusInput) -> usize {
        match task {
            CustomersByName => usize::from(matches!(input.customer, Customer::Name(_))),
            _ => 1,
        }
    }

    fn send(&mut self, task: Task, _nth: usize, input: &OrderStatusInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let (warehouse, district) = (Value::I32(input.warehouse), Value::I32(input.district));
        let (customer, name) = (Value::I32(self.customer), Value::Text(&self.name));
        match (task, input.customer) {
            (CustomersByName, _) => out.execute(Query::CustomersByName, &[warehouse, district, name]),
            (CustomerByNumber, _) | (CustomerByEither, Customer::Id(_)) => {
                out.execute(Query::OrderStatusCustomer, &[warehouse, district, customer]);
            }
            (CustomerByEither, Customer::Name(_)) => {
                out.execute(Query::OrderStatusCustomersByName, &[warehouse, district, name]);
            }
            (NewestOrder, _) => out.execute(Query::OrderStatusOrder, &[warehouse, district, customer]),
            (Lines, _) => out.execute(Query::OrderStatusLines, &[warehouse, district, Value::I32(self.order)]),
            (Status, Customer::Id(_)) => out.execute(Query::OrderStatusByNumber, &[warehouse, district, customer]),
            (Status, Customer::Name(_)) => out.execute(Query::OrderStatusByName, &[warehouse, district, name]),
        }
    }

    fn read(
        &mut self,
        task: Task,
        _nth: usize,
        input: &OrderStatusInput,
        answer: Answer<'_, impl SqlReply>,
    ) -> Result<(), DataError> {
        match (task, input.customer) {
            (CustomersByName, _) => {
                self.rows_by_name = Some(answer.row_count());
                self.customer = column(answer.middle_row(&self.name)?.i32(0), "c_id")?;
            }
            (CustomerByNumber, _) | (CustomerByEither, Customer::Id(_)) => {
                self.balance_cents = column(answer.first_row("customer")?.numeric(0, 2), "c_balance")?;
            }
            (CustomerByEither, Customer::Name(_)) => {
                self.rows_by_name = Some(answer.row_count());
                let row = answer.middle_row(&self.name)?;
                self.customer = column(row.i32(0), "c_id")?;
                self.balance_cents = column(row.numeric(1, 2), "c_balance")?;
            }
            // Every customer has one order after the load, and orders never go away.
            (NewestOrder, _) => self.order = column(answer.first_row("orders")?.i32(0), "o_id")?,
            (Lines, _) => {
                self.lines = answer.row_count();
                answer.first_row("order_line")?;
            }
            (Status, asked) => self.read_status(asked, answer)?,
        }
        Ok(())
    }
}

impl OrderStatus {
    fn read_status(&mut self, asked: Customer, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        let row = answer.first_row("customer, orders and order_line")?;
        self.customer = column(row.i32(0), "c_id")?;
        self.balance_cents = column(row.numeric(1, 2), "c_balance")?;
        if matches!(asked, Customer::Name(_)) {
            self.rows_by_name = usize::try_from(column(row.i64(5), "the number of customers")?).ok();
        }
        self.order = column(row.i32(6), "o_id")?;
        self.lines = answer.row_count();
        Ok(())
    }
}
