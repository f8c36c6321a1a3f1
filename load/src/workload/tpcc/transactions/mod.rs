//! The five transactions, each with its script in every profile. When they start again they forget all they read and
//! use the same inputs.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod script;
mod stock_level;

pub use delivery::Delivery;
pub use new_order::NewOrder;
pub use order_status::OrderStatus;
pub use payment::Payment;
pub use script::Performance;
pub use stock_level::StockLevel;

use crate::target::Value;
use crate::workload::DataError;

/// A column that must be there.
fn column<T>(value: Option<T>, name: &str) -> Result<T, DataError> {
    value.ok_or_else(|| DataError(format!("{name} is NULL or has the wrong type")))
}

/// An amount of money.
const fn money(cents: i64) -> Value<'static> {
    Value::Numeric { unscaled: cents, scale: 2 }
}
