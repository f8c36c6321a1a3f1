//! What terminals really drew, counted from the inputs themselves and not from the generator's own decisions, so that a
//! damaged generator cannot vouch for itself.

use super::constants::RunConstants;
use super::input::{Customer, DeliveryInput, Inputs, NewOrderInput, OrderStatusInput, PaymentInput, UNUSED_ITEM};
use super::operations::{DELIVERY, NEW_ORDER, OPERATIONS, ORDER_STATUS, PAYMENT};
use super::population::ITEMS;
use super::terminals::Layout;
use crate::workload::{Draws, OperationId, Tally};
use std::collections::BTreeMap;

/// Cards of a deck by operation.
pub const DECK: [u32; 5] = [10, 10, 1, 1, 1];
/// Names of the tallies of how often each operation was drawn.
pub const MIX: [&str; 5] = ["mix_new_order", "mix_payment", "mix_order_status", "mix_delivery", "mix_stock_level"];
/// Names of the tallies of how often an order had this many lines.
pub const LINES: [&str; 11] = [
    "lines_05", "lines_06", "lines_07", "lines_08", "lines_09", "lines_10", "lines_11", "lines_12", "lines_13",
    "lines_14", "lines_15",
];

macro_rules! quantities {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A quantity whose mean or share is kept.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Quantity { $($(#[$doc])* $variant,)* }

        impl Quantity {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name of its tally.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

quantities! {
    /// New-Orders that must be rolled back.
    Rollback = "rollback",
    /// Lines per order.
    LinesPerOrder = "lines_per_order",
    /// Lines supplied by another warehouse.
    RemoteLine = "remote_line",
    /// Orders with such a line.
    RemoteOrder = "remote_order",
    /// Payments of a customer of another warehouse.
    RemotePayment = "remote_payment",
    /// Transactions that touch another warehouse.
    RemoteTransaction = "remote_transaction",
    /// Which of the other warehouses: 0 the next one, towards 1 the one before home.
    RemoteRank = "remote_rank",
    /// The square of it, so that a mean that is right by chance is not enough.
    RemoteRankSquared = "remote_rank_squared",
    /// Payments by last name.
    PaymentByName = "payment_by_name",
    /// Order-Status by last name.
    OrderStatusByName = "order_status_by_name",
    /// Customers with the name looked up, counted in the database's answers.
    RowsPerName = "rows_per_name",
    /// Items, districts, quantities, carriers and thresholds that lie in their domain.
    InDomain = "in_domain",
    /// `NonUniform::or_bits` of items.
    ItemBits = "item_bits",
    /// ... of customer numbers.
    CustomerBits = "customer_bits",
    /// ... of last names.
    LastNameBits = "last_name_bits",
    /// `OL_QUANTITY`.
    LineQuantity = "line_quantity",
    /// Districts of New-Order, Payment and Order-Status.
    District = "district",
    /// `H_AMOUNT` in dollars.
    PaymentAmount = "payment_amount",
    /// `O_CARRIER_ID`.
    Carrier = "carrier",
    /// Threshold of Stock-Level.
    Threshold = "threshold",
    /// Orders in which an item was drawn again.
    ItemRedrawn = "item_redrawn",
    /// Deliveries that found a district empty.
    SkippedDelivery = "skipped_delivery",
    /// Districts that a Delivery found empty, of ten each.
    SkippedDistrict = "skipped_district",
}

/// Uniform draws of which every value is counted: name of the bins, lowest and highest value.
pub const BINNED: [(&str, i32, i32); 4] =
    [("district_bins", 1, 10), ("line_quantity_bins", 1, 10), ("carrier_bins", 1, 10), ("threshold_bins", 10, 20)];
const DISTRICT_BINS: usize = 0;
const QUANTITY_BINS: usize = 1;
const CARRIER_BINS: usize = 2;
const THRESHOLD_BINS: usize = 3;
const MAX_BINS: usize = 11;
/// Name of the bins of home warehouses.
pub const HOMES: &str = "home";
/// Names of the bins of cards by terminal.
pub const CARDS: [&str; 5] =
    ["cards_new_order", "cards_payment", "cards_order_status", "cards_delivery", "cards_stock_level"];
/// Cards of this many terminals are kept: enough to judge, few enough to keep.
const CARD_TERMINALS: u64 = 1_024;

/// The tallies of one executor. Clients may be served by several: tallies are sums, so that it does not matter.
#[derive(Debug, Clone)]
pub struct Tallies {
    constants: RunConstants,
    layout: Layout,
    operations: [u64; 5],
    /// How many of the run's terminals drew for the first time here.
    terminals: u64,
    /// How many clients completed here their first visit to each of their warehouses.
    full_rounds: u64,
    /// Cards of each of the first terminals.
    cards: Vec<[u64; 5]>,
    line_counts: [u64; 11],
    bins: [[u64; MAX_BINS]; BINNED.len()],
    homes: BTreeMap<i32, u64>,
    quantities: Vec<Tally>,
}

impl Tallies {
    /// Empty tallies of a run.
    #[must_use]
    pub fn new(layout: Layout, constants: RunConstants) -> Self {
        Self {
            constants,
            layout,
            operations: [0; 5],
            terminals: 0,
            full_rounds: 0,
            cards: vec![[0; 5]; CARD_TERMINALS.min(layout.terminals() * u64::from(layout.clients())) as usize],
            line_counts: [0; 11],
            bins: [[0; MAX_BINS]; BINNED.len()],
            homes: BTreeMap::new(),
            quantities: vec![Tally::default(); Quantity::ALL.len()],
        }
    }

    /// Adds one draw of `value`.
    pub fn add(&mut self, quantity: Quantity, value: f64) {
        self.add_sum(quantity, value, 1);
    }

    /// Adds this many draws.
    fn add_sum(&mut self, quantity: Quantity, sum: f64, draws: usize) {
        let tally = &mut self.quantities[quantity as usize];
        tally.sum += sum;
        tally.draws += draws as u64;
    }

    fn share(&mut self, quantity: Quantity, hit: bool) {
        self.add(quantity, f64::from(u8::from(hit)));
    }

    /// Counts what a client drew at its turn.
    pub fn operation(&mut self, (client, turn): (u32, u64), operation: OperationId, inputs: &Inputs) {
        let kind = usize::from(operation.0);
        self.operations[kind] += 1;
        self.terminals += u64::from(turn < self.layout.terminals());
        self.full_rounds += u64::from(turn + 1 == self.layout.homes());
        if let Some(cards) = self.cards.get_mut(self.layout.terminal(client, turn) as usize) {
            cards[kind] += 1;
        }
        *self.homes.entry(inputs.home(operation)).or_default() += 1;
        match operation {
            NEW_ORDER => self.new_order(&inputs.new_order),
            PAYMENT => self.payment(&inputs.payment),
            ORDER_STATUS => self.order_status(&inputs.order_status),
            DELIVERY => self.delivery(&inputs.delivery),
            _ => self.binned(THRESHOLD_BINS, Quantity::Threshold, inputs.stock_level.threshold),
        }
        let remote = match operation {
            NEW_ORDER => inputs.new_order.is_remote(),
            PAYMENT => inputs.payment.warehouse != inputs.payment.customer_warehouse,
            _ => false,
        };
        self.share(Quantity::RemoteTransaction, remote);
    }

    /// Counts a draw that must be uniform over its domain: its mean, its own bin, and that it has one.
    fn binned(&mut self, bins: usize, quantity: Quantity, value: i32) {
        let (_, low, high) = BINNED[bins];
        self.add(quantity, f64::from(value));
        self.share(Quantity::InDomain, (low..=high).contains(&value));
        if (low..=high).contains(&value) {
            self.bins[bins][(value - low) as usize] += 1;
        }
    }

    /// Counts the inputs of a New-Order.
    pub fn new_order(&mut self, input: &NewOrderInput) {
        let lines = input.lines.len();
        self.share(Quantity::Rollback, input.rolls_back());
        self.add(Quantity::LinesPerOrder, lines as f64);
        if let Some(count) = lines.checked_sub(5).and_then(|index| self.line_counts.get_mut(index)) {
            *count += 1;
        }
        self.share(Quantity::RemoteOrder, input.is_remote());
        self.share(Quantity::ItemRedrawn, input.redrawn > 0);
        self.binned(DISTRICT_BINS, Quantity::District, input.district);
        self.add(Quantity::CustomerBits, f64::from(self.constants.customer().or_bits(input.customer)));
        self.lines(input);
    }

    /// Counts the lines of an order, each quantity of all of them at once.
    fn lines(&mut self, input: &NewOrderInput) {
        let (_, least, most) = BINNED[QUANTITY_BINS];
        let items = self.constants.item();
        let (mut remote, mut quantity, mut bits, mut in_domain, mut used) = (0, 0, 0, 0, 0);
        for line in &input.lines {
            if line.supply_warehouse != input.warehouse {
                remote += 1;
                self.remote(input.warehouse, line.supply_warehouse);
            }
            quantity += i64::from(line.quantity);
            if (least..=most).contains(&line.quantity) {
                in_domain += 1;
                self.bins[QUANTITY_BINS][(line.quantity - least) as usize] += 1;
            }
            if line.item != UNUSED_ITEM {
                used += 1;
                in_domain += u32::from((1..=ITEMS).contains(&line.item));
                bits += items.or_bits(line.item);
            }
        }
        let lines = input.lines.len();
        self.add_sum(Quantity::RemoteLine, f64::from(remote), lines);
        self.add_sum(Quantity::LineQuantity, quantity as f64, lines);
        self.add_sum(Quantity::InDomain, f64::from(in_domain), lines + used);
        self.add_sum(Quantity::ItemBits, f64::from(bits), used);
    }

    fn payment(&mut self, input: &PaymentInput) {
        self.share(Quantity::RemotePayment, input.customer_warehouse != input.warehouse);
        self.remote(input.warehouse, input.customer_warehouse);
        self.binned(DISTRICT_BINS, Quantity::District, input.district);
        self.add(Quantity::PaymentAmount, f64::from(input.cents) / 100.0);
        self.customer(Quantity::PaymentByName, input.customer);
    }

    fn order_status(&mut self, input: &OrderStatusInput) {
        self.binned(DISTRICT_BINS, Quantity::District, input.district);
        self.customer(Quantity::OrderStatusByName, input.customer);
    }

    fn delivery(&mut self, input: &DeliveryInput) {
        self.binned(CARRIER_BINS, Quantity::Carrier, input.carrier);
    }

    fn customer(&mut self, by_name: Quantity, customer: Customer) {
        match customer {
            Customer::Name(number) => {
                self.share(by_name, true);
                self.add(Quantity::LastNameBits, f64::from(self.constants.last_name().or_bits(number)));
            }
            Customer::Id(id) => {
                self.share(by_name, false);
                self.add(Quantity::CustomerBits, f64::from(self.constants.customer().or_bits(id)));
            }
        }
    }

    /// Where a remote warehouse lies among the others, so that "every other one alike" can be judged by two means.
    fn remote(&mut self, home: i32, other: i32) {
        if other == home {
            return;
        }
        let (Some(home), Some(other)) = (self.layout.index(home), self.layout.index(other)) else {
            return self.share(Quantity::InDomain, false);
        };
        let active = i64::from(self.layout.active_warehouses());
        let place = (i64::from(other) - i64::from(home) - 1).rem_euclid(active);
        let rank = (place as f64 + 0.5) / (active - 1) as f64;
        self.add(Quantity::RemoteRank, rank);
        self.add(Quantity::RemoteRankSquared, rank * rank);
    }

    /// The tallies by name.
    #[must_use]
    pub fn draws(&self) -> Draws {
        let mut draws = Draws::default();
        let operations: u64 = self.operations.iter().sum();
        let orders: u64 = self.line_counts.iter().sum();
        let tallies = &mut draws.tallies;
        tallies.insert("clients", Tally { sum: f64::from(self.layout.clients()), draws: 1 });
        tallies.insert("terminals", Tally { sum: self.terminals as f64, draws: 1 });
        tallies.insert("full_rounds", Tally { sum: self.full_rounds as f64, draws: 1 });
        for (name, &count) in MIX.iter().zip(&self.operations) {
            tallies.insert(name, Tally { sum: count as f64, draws: operations });
        }
        for (name, &count) in LINES.iter().zip(&self.line_counts) {
            tallies.insert(name, Tally { sum: count as f64, draws: orders });
        }
        for &quantity in Quantity::ALL {
            tallies.insert(quantity.name(), self.quantities[quantity as usize]);
        }
        for ((name, low, high), counts) in BINNED.iter().zip(&self.bins) {
            draws.bins.insert(name, (*low..=*high).zip(counts.iter().copied()).collect());
        }
        for (kind, name) in CARDS.iter().enumerate() {
            draws.bins.insert(name, (0..).zip(self.cards.iter().map(|cards| cards[kind])).collect());
        }
        draws.bins.insert(HOMES, self.homes.clone());
        draws
    }
}

const _: () = assert!(OPERATIONS.len() == DECK.len());
