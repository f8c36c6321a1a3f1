//! The five transactions as state machines. Each knows what it sent last; a reply is read, then the next statement is
//! put into the batch. Started anew (`reply` is `None`) it forgets all it read and uses the same inputs.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

pub use delivery::Delivery;
pub use new_order::NewOrder;
pub use order_status::OrderStatus;
pub use payment::Payment;
pub use stock_level::StockLevel;

use crate::target::Value;
use crate::target::postgres::{Reply, Row};
use crate::workload::DataError;

/// The first row of the answer.
fn first_row<'a>(reply: &'a Reply, what: &str) -> Result<Row<'a>, DataError> {
    reply.row(0, 0).ok_or_else(|| DataError(format!("no row from {what}")))
}

/// A column that must be there.
fn column<T>(value: Option<T>, name: &str) -> Result<T, DataError> {
    value.ok_or_else(|| DataError(format!("{name} is NULL or of another type")))
}

/// That a statement changed as many rows as it must.
fn check_affected(reply: &Reply, expected: usize, what: &str) -> Result<(), DataError> {
    if reply.affected(0) == expected as u64 {
        return Ok(());
    }
    Err(DataError(format!("{what} changed {} rows instead of {expected}", reply.affected(0))))
}

/// The row in the middle of those of one last name, sorted by first name: position n/2 rounded up, counted from one
/// (2.5.2.2, 2.6.2.2).
fn middle_row<'a>(reply: &'a Reply, name: &str) -> Result<Row<'a>, DataError> {
    let rows = reply.row_count(0);
    let middle = rows.div_ceil(2).checked_sub(1).and_then(|index| reply.row(0, index));
    middle.ok_or_else(|| DataError(format!("no customer is called {name}")))
}

/// An amount of money.
const fn money(cents: i64) -> Value<'static> {
    Value::Numeric { unscaled: cents, scale: 2 }
}
