//! The five transactions, and the work of a Delivery that was queued.

use crate::workload::OperationId;

/// Names of the operations.
pub const OPERATIONS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];
/// The same, and the work of Deliveries that were queued.
pub const OPERATIONS_DEFERRED: [&str; 6] =
    ["new_order", "payment", "order_status", "delivery", "stock_level", "delivery_deferred"];
/// Clause 2.4.
pub const NEW_ORDER: OperationId = OperationId(0);
/// Clause 2.5.
pub const PAYMENT: OperationId = OperationId(1);
/// Clause 2.6.
pub const ORDER_STATUS: OperationId = OperationId(2);
/// Clause 2.7.
pub const DELIVERY: OperationId = OperationId(3);
/// The work of a Delivery that its terminal queued (2.7.2).
pub const DELIVERY_DEFERRED: OperationId = OperationId(5);
/// Clause 2.8.
pub const STOCK_LEVEL: OperationId = OperationId(4);
