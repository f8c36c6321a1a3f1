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
    /// This many clients on `active_warehouses` of `warehouses` that are loaded.
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

    /// How many warehouses are home of them; after this many transactions the client has been at each once.
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
const DECK: [OperationId; CARDS as usize] = {
    let mut cards = [NEW_ORDER; CARDS as usize];
    let mut place = 10;
    while place < 20 {
        cards[place] = PAYMENT;
        place += 1;
    }
    (cards[20], cards[21], cards[22]) = (ORDER_STATUS, DELIVERY, STOCK_LEVEL);
    cards
};

/// Shuffles the terminal's deck as it lies now, as far as the card whose turn it is: cheaper than keeping the decks of
/// all terminals.
pub fn card(seed: u64, layout: Layout, client: u32, turn: u64) -> OperationId {
    let (number, terminal) = (turn / layout.terminals, turn % layout.terminals);
    let place = number / CARDS * layout.terminals + terminal;
    let (mut cards, turned) = (DECK, (number % CARDS) as usize);
    Stream::new(seed, Purpose::Deck, client, place as u32).shuffle_from(turned, &mut cards);
    cards[turned]
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
        if self.stream.percent(1) {
            if let Some(last) = self.inputs.new_order.lines.last_mut() {
                last.item = UNUSED_ITEM;
            }
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
mod tests {
    use super::*;
    use crate::workload::tpcc::input::NewOrderInput;
    use crate::workload::tpcc::population::ITEMS;
    use std::collections::{BTreeMap, BTreeSet};

    /// One client's draws, in turn.
    struct Client {
        index: u32,
        turn: u64,
        layout: Layout,
        terminals: Terminals,
    }

    impl Client {
        fn draw(&mut self) -> OperationId {
            self.turn += 1;
            self.terminals.draw(self.index, self.turn - 1)
        }
    }

    /// Ten clients a warehouse: each has one terminal.
    fn terminal(index: u32, active: u32) -> Client {
        client(index, Layout::new(10 * active, active, active))
    }

    fn client(index: u32, layout: Layout) -> Client {
        Client { index, turn: 0, layout, terminals: Terminals::new(9, layout, &RunConstants::draw(9, 30)) }
    }

    #[test]
    fn any_number_of_clients_drives_every_active_warehouse_alike() {
        for (clients, active) in [(1, 10), (8, 10), (10, 8), (7, 3), (3, 7), (64, 100), (5, 5), (30, 4), (12, 1)] {
            let mut transactions = BTreeMap::<i32, u64>::new();
            let mut districts = BTreeMap::<(i32, i32), u64>::new();
            let layout = Layout::new(clients, active, active);
            for index in 0..clients {
                let mut visits = BTreeMap::<i32, u64>::new();
                let mut client = client(index, layout);
                for turn in 0..layout.terminals() {
                    let operation = client.draw();
                    let home = client.terminals.inputs.home(operation);
                    assert_eq!(home, layout.home(index, turn));
                    *transactions.entry(home).or_default() += 1;
                    *visits.entry(home).or_default() += 1;
                    *districts.entry((home, layout.stock_level_district(index, turn))).or_default() += 1;
                    if turn + 1 == layout.homes() {
                        assert!(visits.values().all(|&count| count == 1), "one visit each, before any second one");
                    }
                }
            }
            let even = |counts: Vec<u64>, all: u32| {
                assert_eq!(counts.len(), all as usize, "{clients} clients, {active} warehouses");
                assert!(
                    counts.iter().all(|&count| count == counts[0]),
                    "{clients} clients, {active} warehouses: {counts:?}"
                );
            };
            even(transactions.into_values().collect(), active);
            even(districts.into_values().collect(), 10 * active);
        }
    }

    #[test]
    fn at_any_moment_the_clients_in_step_are_spread_evenly() {
        let layout = Layout::new(8, 10, 10);
        for turn in 0..100 {
            let homes: BTreeSet<i32> = (0..8).map(|client| layout.home(client, turn)).collect();
            assert_eq!(homes.len(), 8);
        }
    }

    #[test]
    fn active_warehouses_are_spread_over_the_loaded_ones() {
        let active = |active, loaded| {
            let layout = Layout::new(1, active, loaded);
            (0..active).map(|index| layout.warehouse(index)).collect::<Vec<_>>()
        };
        assert_eq!(active(4, 4), [1, 2, 3, 4]);
        assert_eq!(active(3, 10), [1, 4, 7]);
        assert_eq!(active(4, 6), [1, 2, 4, 5]);
        for (active, loaded) in [(1, 9), (3, 10), (7, 9), (999, 1_000), (5, 5), (1, 1), (400_000, 999_999)] {
            let layout = Layout::new(1, active, loaded);
            let found: Vec<_> = (0..active).map(|index| layout.index(layout.warehouse(index))).collect();
            assert!(found.iter().zip(0..).all(|(found, index)| *found == Some(index)));
            if loaded < 2_000 {
                let of_all = (-1..=loaded.cast_signed() + 1).filter(|&warehouse| layout.index(warehouse).is_some());
                assert_eq!(of_all.count(), active as usize, "{active} of {loaded}");
            }
        }
    }

    #[test]
    fn every_23_cards_of_a_terminal_are_a_whole_deck_in_different_orders() {
        // 4 clients on 2 warehouses: 20 terminals, 5 for each client.
        let mut client = client(1, Layout::new(4, 2, 2));
        assert_eq!(client.layout.terminals(), 5);
        let mut hands = vec![Vec::new(); 5];
        for turn in 0..5 * 23 * 40 {
            hands[turn % 5].push(client.draw());
        }
        let decks: BTreeSet<&[OperationId]> = hands.iter().flat_map(|hand| hand.chunks(23)).collect();
        assert_eq!(decks.len(), 200, "no two alike");
        for deck in decks {
            let count = |operation| deck.iter().filter(|&&card| card == operation).count();
            let counts = [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL].map(count);
            assert_eq!(counts, [10, 10, 1, 1, 1]);
        }
    }

    #[test]
    fn a_terminal_repeats_itself_from_its_seed_and_differs_from_others() {
        let inputs = |index| {
            let mut terminal = terminal(index, 2);
            (0..100).map(|_| (terminal.draw(), format!("{:?}", terminal.terminals.inputs))).collect::<Vec<_>>()
        };
        assert_eq!(inputs(0), inputs(0));
        assert_ne!(inputs(0), inputs(2), "same home, another terminal");
    }

    #[test]
    fn a_draw_depends_on_the_client_and_its_turn_alone() {
        let mut one = client(3, Layout::new(4, 3, 3));
        let in_turn: Vec<_> = (0..50).map(|_| (one.draw(), one.terminals.inputs.clone())).collect();
        // Another order, with other clients' turns between: as when connections serve whoever is due.
        let mut other = client(0, one.layout);
        for turn in (0..50).rev() {
            other.terminals.draw(1, turn);
            let operation = other.terminals.draw(3, turn);
            let (expected, inputs) = &in_turn[turn as usize];
            assert_eq!(operation, *expected);
            assert_eq!(other.terminals.inputs.home(operation), inputs.home(operation));
            if operation == NEW_ORDER {
                assert_eq!(other.terminals.inputs.new_order, inputs.new_order);
            }
        }
    }

    #[test]
    fn every_input_stays_within_its_range() {
        let mut terminal = terminal(4, 3);
        for _ in 0..20_000 {
            match terminal.draw() {
                NEW_ORDER => check_new_order(&terminal.terminals.inputs.new_order),
                PAYMENT => check_payment(&terminal.terminals.inputs.payment),
                ORDER_STATUS => {
                    let input = &terminal.terminals.inputs.order_status;
                    assert!(input.warehouse == 2 && (1..=10).contains(&input.district));
                    check_customer(input.customer);
                }
                DELIVERY => assert!((1..=10).contains(&terminal.terminals.inputs.delivery.carrier)),
                _ => {
                    let input = &terminal.terminals.inputs.stock_level;
                    assert!((10..=20).contains(&input.threshold));
                    assert_eq!((input.warehouse, input.district), (2, 2), "fixed for the terminal");
                }
            }
        }
    }

    fn check_customer(customer: Customer) {
        match customer {
            Customer::Id(id) => assert!((1..=3_000).contains(&id)),
            Customer::Name(number) => assert!((0..=999).contains(&number)),
        }
    }

    fn check_new_order(input: &NewOrderInput) {
        assert!(input.warehouse == 2 && (1..=10).contains(&input.district) && (1..=3_000).contains(&input.customer));
        assert!((5..=15).contains(&input.lines.len()));
        let items: BTreeSet<i32> = input.lines.iter().map(|line| line.item).collect();
        assert_eq!(items.len(), input.lines.len(), "items differ");
        let (last, others) = input.lines.split_last().unwrap();
        assert!(others.iter().all(|line| (1..=ITEMS).contains(&line.item)), "only the last item may be unused");
        assert_eq!(last.item > ITEMS, input.rolls_back());
        assert!(input.lines.iter().all(|line| (1..=10).contains(&line.quantity)));
        assert!(input.lines.iter().all(|line| (1..=3).contains(&line.supply_warehouse)));
    }

    fn check_payment(input: &PaymentInput) {
        assert!((100..=500_000).contains(&input.cents) && input.warehouse == 2);
        assert!((1..=10).contains(&input.district) && (1..=10).contains(&input.customer_district));
        let home = input.customer_warehouse == 2;
        assert!(!home || input.customer_district == input.district, "a home customer pays in his own district");
        check_customer(input.customer);
    }

    #[test]
    fn all_other_active_warehouses_are_remote_ones_alike_and_inactive_ones_never() {
        let mut terminal = terminal(1, 4); // home is warehouse 2
        terminal.draw();
        let mut counts = BTreeMap::<i32, u32>::new();
        for _ in 0..30_000 {
            *counts.entry(terminal.terminals.other_warehouse()).or_default() += 1;
        }
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [1, 3, 4]);
        assert!(counts.values().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn with_one_active_warehouse_everything_is_home() {
        let mut terminal = terminal(0, 1);
        let mut other_districts = 0;
        for _ in 0..5_000 {
            match terminal.draw() {
                NEW_ORDER => assert!(!terminal.terminals.inputs.new_order.is_remote()),
                PAYMENT => {
                    let input = &terminal.terminals.inputs.payment;
                    assert_eq!(input.customer_warehouse, 1);
                    other_districts += u32::from(input.customer_district != input.district);
                }
                _ => {}
            }
        }
        assert!(other_districts > 0, "15 % still pay in a district that is drawn again (2.5.1.2, comment)");
    }

    #[test]
    fn a_run_of_new_orders_alone_does_nothing_else_and_draws_them_as_always() {
        let layout = Layout::new(4, 2, 2);
        let mut standard = Terminals::new(9, layout, &RunConstants::draw(9, 30));
        let mut alone = standard.clone().with_mix(Mix::NewOrder);
        for turn in 0..200 {
            assert_eq!(alone.draw(1, turn), NEW_ORDER);
            if standard.draw(1, turn) == NEW_ORDER {
                assert_eq!(alone.inputs.new_order, standard.inputs.new_order);
            }
        }
    }
}
