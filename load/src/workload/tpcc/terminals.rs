//! The terminals of a run, and how clients take turns with them.
//!
//! A run has as many terminals as the least common multiple of its clients and of ten a warehouse: each warehouse is
//! home of equally many (ten or a multiple of it, with ten districts for Stock-Level), and each client owns equally
//! many. A client serves its terminals in turn, one transaction each, so that with any number of clients no active
//! warehouse goes without, and none gets more than its share. With ten clients a warehouse each has one terminal.
//!
//! What a terminal draws is a function of (seed, terminal, number), so that a hundred thousand idle terminals take no
//! memory. All random numbers of an operation are drawn here, before it starts: a transaction that the database asks to
//! repeat is repeated with the same inputs.

use super::constants::RunConstants;
use super::input::{
    Customer, DeliveryInput, Inputs, Line, OrderStatusInput, PaymentInput, StockLevelInput, UNUSED_ITEM,
};
use super::operations::{DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use super::population::DISTRICTS;
use super::random::{NonUniform, Purpose, Stream};
use crate::workload::OperationId;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Terminals of a warehouse, at least (clause 4.2.2).
pub(crate) const TERMINALS: u64 = 10;
const CARDS: u64 = 23;

/// Which transactions terminals run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// All five, with the deck of clause 5.2.4.2.
    #[default]
    Standard,
    /// Only New-Orders, for comparison with tools that do no more. This is not TPC-C.
    NewOrder,
}

/// Which terminals a run's clients own, and where these are at home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    clients: u32,
    active_warehouses: u32,
    warehouses: u32,
    terminals: u64,
    homes: u64,
}

impl Layout {
    /// So many clients on `active_warehouses` of `warehouses` that are loaded.
    ///
    /// # Panics
    /// If there are no clients, no active warehouses, or more of them than are loaded.
    #[must_use]
    pub fn new(clients: u32, active_warehouses: u32, warehouses: u32) -> Self {
        assert!(clients > 0, "no clients");
        assert!((1..=warehouses).contains(&active_warehouses), "{active_warehouses} of {warehouses} warehouses");
        assert!(warehouses < i32::MAX as u32, "{warehouses} warehouses");
        let (all, active) = (u64::from(clients), u64::from(active_warehouses));
        let wanted = TERMINALS * active;
        let (terminals, homes) = (wanted / gcd(wanted, all), active / gcd(active, all));
        Self { clients, active_warehouses, warehouses, terminals, homes }
    }

    /// Clients of the run.
    #[must_use]
    pub fn clients(self) -> u32 {
        self.clients
    }

    /// Active warehouses of the run.
    #[must_use]
    pub fn active_warehouses(self) -> u32 {
        self.active_warehouses
    }

    /// How many terminals each client owns: lcm(clients, 10 x active) / clients.
    #[must_use]
    pub fn terminals(self) -> u64 {
        self.terminals
    }

    /// How many warehouses are home of them; after so many transactions the client has been at each once.
    #[must_use]
    pub fn homes(self) -> u64 {
        self.homes
    }

    /// The number, in the run, of the client's terminal that has turn `turn`.
    #[must_use]
    pub fn terminal(self, client: u32, turn: u64) -> u64 {
        u64::from(client) + turn % self.terminals * u64::from(self.clients)
    }

    /// Its home, as a number below [`Layout::active_warehouses`]. At any moment of a run in step, the homes of all
    /// terminals served are as even as whole numbers can be.
    #[must_use]
    pub fn home_index(self, client: u32, turn: u64) -> u32 {
        (self.terminal(client, turn) % u64::from(self.active_warehouses)) as u32
    }

    /// Its home warehouse.
    #[must_use]
    pub fn home(self, client: u32, turn: u64) -> i32 {
        self.warehouse(self.home_index(client, turn))
    }

    /// The `index`-th active warehouse: they are spread evenly over the loaded ones.
    #[must_use]
    pub fn warehouse(self, index: u32) -> i32 {
        let place = u64::from(index) * u64::from(self.warehouses) / u64::from(self.active_warehouses);
        place as i32 + 1
    }

    /// Which of the active warehouses this is; `None` when it is not one of them.
    #[must_use]
    pub fn index(self, warehouse: i32) -> Option<u32> {
        let place = u64::try_from(warehouse).ok()?.checked_sub(1)?;
        let index = (place * u64::from(self.active_warehouses)).div_ceil(u64::from(self.warehouses)) as u32;
        (index < self.active_warehouses && self.warehouse(index) == warehouse).then_some(index)
    }

    /// Its district for Stock-Level: its number within its warehouse, so that ten terminals have ten (2.8.1.1).
    fn stock_level_district(self, client: u32, turn: u64) -> i32 {
        let number = self.terminal(client, turn) / u64::from(self.active_warehouses);
        (number % u64::from(DISTRICTS.unsigned_abs())) as i32 + 1
    }
}

/// The greatest common divisor.
#[must_use]
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The deck of 23 cards (5.2.4.2): 10 New-Orders, 10 Payments and one of each other. Every card is used before the deck
/// is shuffled again, so that the mix of a terminal is exact after each deck.
fn deck(stream: &mut Stream) -> [OperationId; CARDS as usize] {
    let mut cards = [NEW_ORDER; CARDS as usize];
    cards[10..20].fill(PAYMENT);
    cards[20..].copy_from_slice(&[ORDER_STATUS, DELIVERY, STOCK_LEVEL]);
    stream.shuffle(&mut cards);
    cards
}

/// Shuffles the terminal's deck as it lies now, and looks at the card whose turn it is: cheaper than keeping the decks
/// of all terminals.
pub fn card(seed: u64, layout: Layout, client: u32, turn: u64) -> OperationId {
    let (number, terminal) = (turn / layout.terminals, turn % layout.terminals);
    let place = number / CARDS * layout.terminals + terminal;
    let mut stream = Stream::new(seed, Purpose::Deck, client, place as u32);
    deck(&mut stream)[(number % CARDS) as usize]
}

/// Draws what terminals do.
#[derive(Debug, Clone)]
pub struct Terminals {
    seed: u64,
    layout: Layout,
    mix: Mix,
    last_names: NonUniform,
    customers: NonUniform,
    items: NonUniform,
    /// Of the transaction being drawn.
    home: u32,
    warehouse: i32,
    stock_level_district: i32,
    stream: Stream,
    /// What the latest draw of each operation was.
    pub inputs: Inputs,
}

impl Terminals {
    /// The terminals of a run.
    #[must_use]
    pub fn new(seed: u64, layout: Layout, constants: &RunConstants) -> Self {
        Self {
            seed,
            layout,
            mix: Mix::Standard,
            last_names: constants.last_name(),
            customers: constants.customer(),
            items: constants.item(),
            home: 0,
            warehouse: layout.home(0, 0),
            stock_level_district: layout.stock_level_district(0, 0),
            stream: Stream::new(seed, Purpose::Terminal, 0, 0),
            inputs: Inputs::default(),
        }
    }

    /// The same terminals, doing something else.
    #[must_use]
    pub fn with_mix(self, mix: Mix) -> Self {
        Self { mix, ..self }
    }

    /// Draws the next card of the terminal that has this turn of the client, and its inputs.
    pub fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.home = self.layout.home_index(client, turn);
        self.warehouse = self.layout.warehouse(self.home);
        self.stock_level_district = self.layout.stock_level_district(client, turn);
        // (client, turn) and (terminal, number) name the same things; streams repeat after 2^32 turns of a client.
        self.stream = Stream::new(self.seed, Purpose::Terminal, client, turn as u32);
        let operation = match self.mix {
            Mix::Standard => card(self.seed, self.layout, client, turn),
            Mix::NewOrder => NEW_ORDER,
        };
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
        let others = self.layout.active_warehouses as i32 - 1;
        if others == 0 {
            return self.warehouse;
        }
        let other = self.stream.uniform(0, others - 1) as u32;
        self.layout.warehouse(if other < self.home { other } else { other + 1 })
    }
}

#[cfg(test)]
#[path = "terminals_tests.rs"]
mod tests;
