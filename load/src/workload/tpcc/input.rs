//! Inputs of the five transactions (clauses 2.4.1 to 2.8.1) and the terminal that draws them.
//!
//! All random numbers of an operation are drawn here, before it starts: a transaction that the database asks to repeat
//! is repeated with the same inputs.

use super::constants::RunConstants;
use super::population::{DISTRICTS, ITEMS};
use super::random::{NonUniform, Purpose, Stream};
use super::{DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use crate::workload::OperationId;

/// Most lines of an order.
pub const MAX_LINES: usize = 15;
/// An item that no catalogue holds, so that New-Order finds nothing (2.4.1.5).
pub const UNUSED_ITEM: i32 = ITEMS + 1;

/// One line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// The deck of 23 cards (5.2.4.2): 10 New-Orders, 10 Payments and one of each other. Every card is used before the deck
/// is shuffled again, so that the mix is exact after each deck.
#[derive(Debug, Clone)]
pub struct Deck {
    cards: [OperationId; 23],
    used: usize,
}

impl Deck {
    fn new() -> Self {
        let mut cards = [NEW_ORDER; 23];
        cards[10..20].fill(PAYMENT);
        cards[20..].copy_from_slice(&[ORDER_STATUS, DELIVERY, STOCK_LEVEL]);
        Self { cards, used: 23 }
    }

    fn draw(&mut self, stream: &mut Stream) -> OperationId {
        if self.used == self.cards.len() {
            stream.shuffle(&mut self.cards);
            self.used = 0;
        }
        self.used += 1;
        self.cards[self.used - 1]
    }
}

/// A terminal: its home, its deck and its random stream.
#[derive(Debug, Clone)]
pub struct Terminal {
    warehouse: i32,
    stock_level_district: i32,
    active_warehouses: i32,
    last_names: NonUniform,
    customers: NonUniform,
    items: NonUniform,
    stream: Stream,
    deck: Deck,
    /// What the latest draw of each operation was.
    pub inputs: Inputs,
}

impl Terminal {
    /// Terminal `index` of a run. Its home is active warehouse `index mod active`; its district for Stock-Level is its
    /// number within that warehouse, so that the first ten terminals of a warehouse have ten districts (2.8.1.1). With
    /// more than ten the districts are used again: there are no more.
    ///
    /// # Panics
    /// If `active_warehouses` is not within 1..2^31.
    #[must_use]
    pub fn new(seed: u64, index: u32, active_warehouses: u32, constants: &RunConstants) -> Self {
        let id = |number: u32| i32::try_from(number + 1).expect("fewer than 2^31 of everything");
        Self {
            warehouse: id(index % active_warehouses),
            stock_level_district: id(index / active_warehouses % DISTRICTS.unsigned_abs()),
            active_warehouses: i32::try_from(active_warehouses).expect("fewer than 2^31 warehouses"),
            last_names: constants.last_name(),
            customers: constants.customer(),
            items: constants.item(),
            stream: Stream::new(seed, Purpose::Terminal, index, 0),
            deck: Deck::new(),
            inputs: Inputs::default(),
        }
    }

    /// Draws the next card and its inputs.
    pub fn draw(&mut self) -> OperationId {
        let operation = self.deck.draw(&mut self.stream);
        match operation {
            NEW_ORDER => self.draw_new_order(),
            PAYMENT => self.draw_payment(),
            ORDER_STATUS => self.draw_order_status(),
            DELIVERY => {
                self.inputs.delivery = DeliveryInput { warehouse: self.warehouse, carrier: self.stream.uniform(1, 10) };
            }
            _ => {
                self.inputs.stock_level = StockLevelInput {
                    warehouse: self.warehouse,
                    district: self.stock_level_district,
                    threshold: self.stream.uniform(10, 20),
                };
            }
        }
        operation
    }

    fn draw_new_order(&mut self) {
        self.inputs.new_order.warehouse = self.warehouse;
        self.inputs.new_order.district = self.stream.uniform(1, DISTRICTS);
        self.inputs.new_order.customer = self.customers.draw(&mut self.stream);
        self.inputs.new_order.lines.clear();
        self.inputs.new_order.redrawn = 0;
        let count = self.stream.uniform(5, 15);
        for _ in 0..count {
            let line = self.draw_line();
            self.inputs.new_order.lines.push(line);
        }
        if self.stream.percent(1)
            && let Some(last) = self.inputs.new_order.lines.last_mut()
        {
            last.item = UNUSED_ITEM;
        }
    }

    fn draw_line(&mut self) -> Line {
        let mut item = self.items.draw(&mut self.stream);
        while self.inputs.new_order.lines.iter().any(|line| line.item == item) {
            item = self.items.draw(&mut self.stream);
            self.inputs.new_order.redrawn += 1;
        }
        let remote = self.stream.percent(1);
        let supply_warehouse = if remote { self.other_warehouse() } else { self.warehouse };
        Line { item, supply_warehouse, quantity: self.stream.uniform(1, 10) }
    }

    fn draw_payment(&mut self) {
        let district = self.stream.uniform(1, DISTRICTS);
        let remote = !self.stream.percent(85);
        let (customer_warehouse, customer_district) = if remote {
            (self.other_warehouse(), self.stream.uniform(1, DISTRICTS))
        } else {
            (self.warehouse, district)
        };
        self.inputs.payment = PaymentInput {
            warehouse: self.warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.draw_customer(),
            cents: self.stream.uniform(100, 500_000),
        };
    }

    fn draw_order_status(&mut self) {
        self.inputs.order_status = OrderStatusInput {
            warehouse: self.warehouse,
            district: self.stream.uniform(1, DISTRICTS),
            customer: self.draw_customer(),
        };
    }

    fn draw_customer(&mut self) -> Customer {
        if self.stream.percent(60) {
            Customer::Name(self.last_names.draw(&mut self.stream))
        } else {
            Customer::Id(self.customers.draw(&mut self.stream))
        }
    }

    /// Uniform among the other active warehouses; home when there is no other (2.4.1.5, 2.5.1.2, their comments).
    fn other_warehouse(&mut self) -> i32 {
        if self.active_warehouses == 1 {
            return self.warehouse;
        }
        let other = self.stream.uniform(1, self.active_warehouses - 1);
        if other < self.warehouse { other } else { other + 1 }
    }
}
