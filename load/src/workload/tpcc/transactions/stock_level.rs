//! Stock-Level (clause 2.8), read-only.

use super::column;
use super::script::{Act::Begin, Act::Do, Act::End, Answer, Outbox, Script, Transaction};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, Value};
use crate::workload::DataError;
use crate::workload::tpcc::input::StockLevelInput;
use crate::workload::tpcc::profile::Profile;
use crate::workload::tpcc::statements::Query;

/// Orders whose items are counted.
const ORDERS: i32 = 20;

/// Its statements.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    NextOrder,
    CountBelow,
    Count,
}
use Task::*;

const TWO_STATEMENTS: Script<Task> = &[&[Begin], &[Do(NextOrder)], &[Do(CountBelow)], &[End]];
/// One statement is a transaction of its own.
const ONE_TRIP: Script<Task> = &[&[Do(Count)]];

/// What the latest Stock-Level read.
#[derive(Debug, Clone, Default)]
pub struct StockLevel {
    next_order: i32,
    /// Items of the last twenty orders whose stock is low.
    pub low_stock: i64,
}

impl Transaction for StockLevel {
    type Input = StockLevelInput;
    type Task = Task;

    fn script(profile: Profile, _dialect: Dialect, _input: &StockLevelInput) -> Script<Task> {
        match profile {
            Profile::Chatty | Profile::Batched => TWO_STATEMENTS,
            Profile::Pipelined | Profile::Proc => ONE_TRIP,
        }
    }

    fn start(&mut self, _input: &StockLevelInput, _now_micros: i64) {}

    fn send(&mut self, task: Task, _nth: usize, input: &StockLevelInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let [warehouse, district, threshold] = [input.warehouse, input.district, input.threshold].map(Value::I32);
        match task {
            NextOrder => out.execute(Query::StockLevelNextOrder, &[warehouse, district]),
            CountBelow => {
                let [first, next] = [self.next_order - ORDERS, self.next_order].map(Value::I32);
                out.execute(Query::StockLevelCountBelow, &[warehouse, district, first, next, threshold]);
            }
            Count => out.execute(Query::StockLevelCount, &[warehouse, district, threshold]),
        }
    }

    fn read(
        &mut self,
        task: Task,
        _nth: usize,
        _input: &StockLevelInput,
        answer: Answer<'_, impl SqlReply>,
    ) -> Result<(), DataError> {
        match task {
            NextOrder => self.next_order = column(answer.first_row("district")?.i32(0), "d_next_o_id")?,
            CountBelow | Count => self.low_stock = column(answer.first_row("count")?.i64(0), "count")?,
        }
        Ok(())
    }
}
