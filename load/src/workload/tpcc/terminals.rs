//! The terminals of a run, and how workers take turns with them.
//!
//! A run has as many terminals as the least common multiple of its workers and of ten a warehouse: each warehouse is
//! home of equally many (ten or a multiple of it, with ten districts for Stock-Level), and each worker owns equally
//! many. A worker serves its terminals in turn, one transaction each, so that with any number of connections no active
//! warehouse goes without, and none gets more than its share.
//!
//! What a terminal draws is a function of (seed, terminal, number), so that a thousand idle terminals take no memory.
//! All random numbers of an operation are drawn here, before it starts: a transaction that the database asks to repeat
//! is repeated with the same inputs.

use super::constants::RunConstants;
use super::input::{
    Customer, DeliveryInput, Inputs, Line, OrderStatusInput, PaymentInput, StockLevelInput, UNUSED_ITEM,
};
use super::population::DISTRICTS;
use super::random::{NonUniform, Purpose, Stream};
use super::{DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use crate::workload::OperationId;

/// Terminals of a warehouse, at least (clause 4.2.2).
const TERMINALS: u64 = 10;
const CARDS: u64 = 23;

/// Where a worker stands in a run, and with it which terminals are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    worker: u32,
    workers: u32,
    active_warehouses: u32,
    terminals: u64,
    homes: u64,
}

impl Place {
    /// Worker `worker` of `workers`, counted from 0, on warehouses 1 to `active_warehouses`.
    ///
    /// # Panics
    /// If there are no workers, no warehouses, or not so many workers.
    #[must_use]
    pub fn new(worker: u32, workers: u32, active_warehouses: u32) -> Self {
        assert!(worker < workers, "worker {worker} of {workers}");
        assert!((1..i32::MAX as u32).contains(&active_warehouses), "{active_warehouses} active warehouses");
        let (all, active) = (u64::from(workers), u64::from(active_warehouses));
        let wanted = TERMINALS * active;
        let (terminals, homes) = (wanted / gcd(wanted, all), active / gcd(active, all));
        Self { worker, workers, active_warehouses, terminals, homes }
    }

    /// Workers of the run.
    #[must_use]
    pub fn workers(self) -> u32 {
        self.workers
    }

    /// Active warehouses of the run.
    #[must_use]
    pub fn active_warehouses(self) -> u32 {
        self.active_warehouses
    }

    /// How many terminals each worker owns: lcm(workers, 10 x active) / workers.
    #[must_use]
    pub fn terminals(self) -> u64 {
        self.terminals
    }

    /// How many warehouses are home of them; after so many transactions the worker has been at each once.
    #[must_use]
    pub fn homes(self) -> u64 {
        self.homes
    }

    /// The number, in the run, of the worker's terminal that has turn `turn`.
    fn terminal(self, turn: u64) -> u64 {
        u64::from(self.worker) + turn % self.terminals() * u64::from(self.workers)
    }

    /// Its home: at any moment of a run in step, the homes of all terminals served are as even as whole numbers can be.
    fn home(self, turn: u64) -> i32 {
        let index = self.terminal(turn) % u64::from(self.active_warehouses);
        i32::try_from(index + 1).expect("fewer than 2^31 warehouses")
    }

    /// Its district for Stock-Level: its number within its warehouse, so that ten terminals have ten (2.8.1.1).
    fn stock_level_district(self, turn: u64) -> i32 {
        let index = self.terminal(turn) / u64::from(self.active_warehouses) % u64::from(DISTRICTS.unsigned_abs());
        i32::try_from(index + 1).expect("ten districts")
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

/// The terminals of one worker.
#[derive(Debug, Clone)]
pub struct Terminals {
    seed: u64,
    place: Place,
    /// Transactions drawn so far.
    turns: u64,
    active_warehouses: i32,
    last_names: NonUniform,
    customers: NonUniform,
    items: NonUniform,
    /// Of the transaction being drawn.
    warehouse: i32,
    stock_level_district: i32,
    stream: Stream,
    /// What the latest draw of each operation was.
    pub inputs: Inputs,
}

impl Terminals {
    /// The terminals of the worker at `place`.
    #[must_use]
    pub fn new(seed: u64, place: Place, constants: &RunConstants) -> Self {
        Self {
            seed,
            place,
            turns: 0,
            active_warehouses: place.active_warehouses as i32,
            last_names: constants.last_name(),
            customers: constants.customer(),
            items: constants.item(),
            warehouse: place.home(0),
            stock_level_district: place.stock_level_district(0),
            stream: Stream::new(seed, Purpose::Terminal, place.worker, 0),
            inputs: Inputs::default(),
        }
    }

    /// Draws the next card of the terminal whose turn it is, and its inputs.
    pub fn draw(&mut self) -> OperationId {
        let (turn, worker) = (self.turns, self.place.worker);
        self.turns += 1;
        self.warehouse = self.place.home(turn);
        self.stock_level_district = self.place.stock_level_district(turn);
        // (worker, turn) and (terminal, number) name the same things; streams repeat after 2^32 turns of a worker.
        self.stream = Stream::new(self.seed, Purpose::Terminal, worker, turn as u32);
        let operation = self.card(turn);
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

    /// Shuffles the terminal's deck as it lies now, and looks at the card whose turn it is: cheaper than keeping the
    /// decks of all terminals.
    fn card(&self, turn: u64) -> OperationId {
        let terminals = self.place.terminals();
        let (number, terminal) = (turn / terminals, turn % terminals);
        let place = number / CARDS * terminals + terminal;
        let mut stream = Stream::new(self.seed, Purpose::Deck, self.place.worker, place as u32);
        deck(&mut stream)[(number % CARDS) as usize]
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

#[cfg(test)]
#[path = "terminals_tests.rs"]
mod tests;
