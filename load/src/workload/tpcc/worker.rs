//! An executor of transactions as the engine sees it.

use super::operations::{DELIVERY, DELIVERY_DEFERRED, NEW_ORDER, ORDER_STATUS, PAYMENT};
use super::population::DEFAULT_LOADED_AT_MICROS;
use super::profile::Profile;
use super::tally::{Quantity, Tallies};
use super::terminals::{Layout, Terminals};
use super::transactions::{Delivery, NewOrder, OrderStatus, Payment, Performance, StockLevel};
use crate::target::{Dialect, SqlSession};
use crate::workload::{Completion, DataError, Draws, OperationId, Step, Worker};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the timestamps of new rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The system's time, as the specification asks.
    #[default]
    Wall,
    /// A start and a step per operation, numbered by turn and client, so that runs with one seed leave equal rows.
    Logical {
        /// Microseconds since the Unix epoch.
        start_micros: i64,
        /// Added by each operation.
        step_micros: i64,
    },
}

impl Clock {
    /// A millisecond an operation, from the moment of the load on.
    pub const LOGICAL: Self = Self::Logical { start_micros: DEFAULT_LOADED_AT_MICROS, step_micros: 1_000 };

    fn now_micros(self, number: i64) -> i64 {
        match self {
            Self::Wall => {
                let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
            }
            Self::Logical { start_micros, step_micros } => start_micros + number * step_micros,
        }
    }
}

/// Executes transactions of any client, one at a time.
#[derive(Debug)]
pub struct TpccWorker {
    terminals: Terminals,
    clock: Clock,
    layout: Layout,
    /// Whether Delivery is only queued by its terminal.
    defers: bool,
    operation: OperationId,
    /// Of the operation in the run: all clients' first turns, then their second ones.
    number: i64,
    now_micros: i64,
    tallies: Tallies,
    new_order: Performance<NewOrder>,
    payment: Performance<Payment>,
    order_status: Performance<OrderStatus>,
    delivery: Performance<Delivery>,
    stock_level: Performance<StockLevel>,
}

impl TpccWorker {
    pub(super) fn new(
        layout: Layout,
        terminals: Terminals,
        tallies: Tallies,
        clock: Clock,
        (profile, dialect): (Profile, Dialect),
    ) -> Self {
        Self {
            terminals,
            clock,
            layout,
            defers: false,
            operation: NEW_ORDER,
            number: 0,
            now_micros: 0,
            tallies,
            new_order: Performance::new(profile, dialect),
            payment: Performance::new(profile, dialect),
            order_status: Performance::new(profile, dialect),
            delivery: Performance::new(profile, dialect),
            stock_level: Performance::new(profile, dialect),
        }
    }

    /// The same, which queues its Deliveries or does not.
    pub(super) fn with_deferred(self, defers: bool) -> Self {
        Self { defers, ..self }
    }

    /// The terminals, with the inputs of their latest operations.
    #[must_use]
    pub fn terminals(&self) -> &Terminals {
        &self.terminals
    }

    /// The latest New-Order.
    #[must_use]
    pub fn new_order(&self) -> &NewOrder {
        &self.new_order.state
    }

    /// The latest Payment.
    #[must_use]
    pub fn payment(&self) -> &Payment {
        &self.payment.state
    }

    /// The latest Order-Status.
    #[must_use]
    pub fn order_status(&self) -> &OrderStatus {
        &self.order_status.state
    }

    /// The latest Delivery.
    #[must_use]
    pub fn delivery(&self) -> &Delivery {
        &self.delivery.state
    }

    /// The latest Stock-Level.
    #[must_use]
    pub fn stock_level(&self) -> &StockLevel {
        &self.stock_level.state
    }

    fn only_queues(&self) -> bool {
        self.defers && self.operation == DELIVERY
    }

    /// Counts what only the database's answers tell.
    fn count_answers(&mut self) {
        let rows_by_name = match self.operation {
            PAYMENT => self.payment.state.rows_by_name,
            ORDER_STATUS => self.order_status.state.rows_by_name,
            DELIVERY | DELIVERY_DEFERRED => {
                let skipped = self.delivery.state.skipped();
                self.tallies.add(Quantity::SkippedDelivery, f64::from(u8::from(skipped > 0)));
                self.tallies.add(Quantity::SkippedDistrict, skipped as f64);
                None
            }
            _ => None,
        };
        if let Some(rows) = rows_by_name {
            self.tallies.add(Quantity::RowsPerName, rows as f64);
        }
    }
}

impl<S: SqlSession> Worker<S> for TpccWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.operation = self.terminals.draw(client, turn);
        self.number = turn as i64 * i64::from(self.layout.clients()) + i64::from(client);
        self.tallies.operation((client, turn), self.operation, &self.terminals.inputs);
        self.operation
    }

    fn step(&mut self, reply: Option<&S::Reply>, batch: &mut S::Request) -> Result<Step, DataError> {
        if self.only_queues() {
            return Ok(Step::Done(Completion::Committed));
        }
        if reply.is_none() {
            self.now_micros = self.clock.now_micros(self.number);
        }
        let (inputs, now) = (&self.terminals.inputs, self.now_micros);
        let step = match self.operation {
            NEW_ORDER => self.new_order.step(&inputs.new_order, now, reply, batch),
            PAYMENT => self.payment.step(&inputs.payment, now, reply, batch),
            ORDER_STATUS => self.order_status.step(&inputs.order_status, now, reply, batch),
            DELIVERY | DELIVERY_DEFERRED => self.delivery.step(&inputs.delivery, now, reply, batch),
            _ => self.stock_level.step(&inputs.stock_level, now, reply, batch),
        }?;
        if matches!(step, Step::Done(_)) {
            self.count_answers();
        }
        Ok(step)
    }

    fn queues(&self) -> bool {
        self.only_queues()
    }

    fn draw_deferred(&mut self, client: u32, turn: u64) -> OperationId {
        self.terminals.draw(client, turn);
        self.number = turn as i64 * i64::from(self.layout.clients()) + i64::from(client);
        self.operation = DELIVERY_DEFERRED;
        self.operation
    }

    fn draws(&self) -> Draws {
        self.tallies.draws()
    }
}
