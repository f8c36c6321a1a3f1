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
    assert!(other_districts > 0, "15 % still pay in a district drawn anew (2.5.1.2, comment)");
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
