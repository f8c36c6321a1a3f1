//! Inputs of the five transactions (clauses 2.4.1 to 2.8.1). [`super::terminals`] draws them.

use super::operations::{DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT};
use super::population::ITEMS;
use crate::workload::OperationId;

/// Most lines of an order.
pub const MAX_LINES: usize = 15;
/// An item that no catalogue holds, so that New-Order finds nothing (2.4.1.5).
pub const UNUSED_ITEM: i32 = ITEMS + 1;

/// One line of an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    /// `OL_I_ID`.
    pub item: i32,
    /// `OL_SUPPLY_W_ID`.
    pub supply_warehouse: i32,
    /// `OL_QUANTITY`.
    pub quantity: i32,
}

/// Input of New-Order (2.4.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewOrderInput {
    /// Home warehouse.
    pub warehouse: i32,
    /// District.
    pub district: i32,
    /// Customer.
    pub customer: i32,
    /// 5 to 15 lines with different items. The specification allows an item twice (0.85 % of orders would have one);
    /// such an item is drawn again, because statements that update all stocks of an order at once need each of them
    /// once.
    pub lines: Vec<Line>,
    /// How many items were drawn again.
    pub redrawn: u32,
}

impl NewOrderInput {
    /// Whether the last item is unused, so that the order must be rolled back.
    #[must_use]
    pub fn rolls_back(&self) -> bool {
        self.lines.last().is_some_and(|line| line.item == UNUSED_ITEM)
    }

    /// Whether a line is supplied by another warehouse.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.lines.iter().any(|line| line.supply_warehouse != self.warehouse)
    }
}

/// How a customer is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Customer {
    /// By `C_ID`.
    Id(i32),
    /// By the number of `C_LAST`.
    Name(i32),
}

impl Default for Customer {
    fn default() -> Self {
        Self::Id(1)
    }
}

/// Input of Payment (2.5.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaymentInput {
    /// Warehouse that is paid.
    pub warehouse: i32,
    /// District that is paid.
    pub district: i32,
    /// Warehouse of the customer.
    pub customer_warehouse: i32,
    /// District of the customer.
    pub customer_district: i32,
    /// The customer.
    pub customer: Customer,
    /// `H_AMOUNT` in cents.
    pub cents: i32,
}

/// Input of Order-Status (2.6.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderStatusInput {
    /// Home warehouse.
    pub warehouse: i32,
    /// District.
    pub district: i32,
    /// The customer.
    pub customer: Customer,
}

/// Input of Delivery (2.7.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryInput {
    /// Home warehouse.
    pub warehouse: i32,
    /// `O_CARRIER_ID`.
    pub carrier: i32,
}

/// Input of Stock-Level (2.8.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StockLevelInput {
    /// Home warehouse.
    pub warehouse: i32,
    /// The terminal's own district.
    pub district: i32,
    /// Stocks below this are counted.
    pub threshold: i32,
}

/// Inputs of the latest operation of each kind; reused, so that drawing allocates nothing.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// New-Order.
    pub new_order: NewOrderInput,
    /// Payment.
    pub payment: PaymentInput,
    /// Order-Status.
    pub order_status: OrderStatusInput,
    /// Delivery.
    pub delivery: DeliveryInput,
    /// Stock-Level.
    pub stock_level: StockLevelInput,
}

impl Inputs {
    /// The home warehouse that `operation` was drawn for.
    #[must_use]
    pub fn home(&self, operation: OperationId) -> i32 {
        match operation {
            NEW_ORDER => self.new_order.warehouse,
            PAYMENT => self.payment.warehouse,
            ORDER_STATUS => self.order_status.warehouse,
            DELIVERY => self.delivery.warehouse,
            _ => self.stock_level.warehouse,
        }
    }
}
