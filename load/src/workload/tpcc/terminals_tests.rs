use super::*;
use crate::workload::tpcc::input::NewOrderInput;
use crate::workload::tpcc::population::ITEMS;
use std::collections::{BTreeMap, BTreeSet};

/// Ten workers a warehouse: each has one terminal.
fn terminal(index: u32, active: u32) -> Terminals {
    terminals(index, 10 * active, active)
}

fn terminals(worker: u32, workers: u32, active: u32) -> Terminals {
    Terminals::new(9, Place::new(worker, workers, active), &RunConstants::draw(9, 30))
}

#[test]
fn any_number_of_workers_drives_every_active_warehouse_alike() {
    for (workers, active) in [(1, 10), (8, 10), (10, 8), (7, 3), (3, 7), (64, 100), (5, 5), (30, 4), (12, 1)] {
        let mut transactions = BTreeMap::<i32, u64>::new();
        let mut districts = BTreeMap::<(i32, i32), u64>::new();
        for worker in 0..workers {
            let place = Place::new(worker, workers, active);
            let mut visits = BTreeMap::<i32, u64>::new();
            let mut terminals = terminals(worker, workers, active);
            for turn in 0..place.terminals() {
                let operation = terminals.draw();
                let home = terminals.inputs.home(operation);
                assert_eq!(home, place.home(turn));
                *transactions.entry(home).or_default() += 1;
                *visits.entry(home).or_default() += 1;
                *districts.entry((home, place.stock_level_district(turn))).or_default() += 1;
                if turn + 1 == place.homes() {
                    assert!(visits.values().all(|&count| count == 1), "one visit each, before any second one");
                }
            }
        }
        let even = |counts: Vec<u64>, all: u32| {
            assert_eq!(counts.len(), all as usize, "{workers} workers, {active} warehouses");
            assert!(
                counts.iter().all(|&count| count == counts[0]),
                "{workers} workers, {active} warehouses: {counts:?}"
            );
        };
        even(transactions.into_values().collect(), active);
        even(districts.into_values().collect(), 10 * active);
    }
}

#[test]
fn at_any_moment_the_workers_in_step_are_spread_evenly() {
    for turn in 0..100 {
        let homes: BTreeSet<i32> = (0..8).map(|worker| Place::new(worker, 8, 10).home(turn)).collect();
        assert_eq!(homes.len(), 8);
    }
}

#[test]
fn every_23_cards_of_a_terminal_are_a_whole_deck_in_different_orders() {
    // 4 workers on 2 warehouses: 20 terminals, 5 for each worker.
    let mut terminals = terminals(1, 4, 2);
    assert_eq!(terminals.place.terminals(), 5);
    let mut hands = vec![Vec::new(); 5];
    for turn in 0..5 * 23 * 40 {
        hands[turn % 5].push(terminals.draw());
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
        (0..100).map(|_| (terminal.draw(), format!("{:?}", terminal.inputs))).collect::<Vec<_>>()
    };
    assert_eq!(inputs(0), inputs(0));
    assert_ne!(inputs(0), inputs(2), "same home, another terminal");
}

#[test]
fn every_input_stays_within_its_range() {
    let mut terminal = terminal(4, 3);
    for _ in 0..20_000 {
        match terminal.draw() {
            NEW_ORDER => check_new_order(&terminal.inputs.new_order),
            PAYMENT => check_payment(&terminal.inputs.payment),
            ORDER_STATUS => {
                let input = &terminal.inputs.order_status;
                assert!(input.warehouse == 2 && (1..=10).contains(&input.district));
                check_customer(input.customer);
            }
            DELIVERY => assert!((1..=10).contains(&terminal.inputs.delivery.carrier)),
            _ => {
                let input = &terminal.inputs.stock_level;
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
    let mut counts = BTreeMap::<i32, u32>::new();
    for _ in 0..30_000 {
        *counts.entry(terminal.other_warehouse()).or_default() += 1;
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
            NEW_ORDER => assert!(!terminal.inputs.new_order.is_remote()),
            PAYMENT => {
                let input = &terminal.inputs.payment;
                assert_eq!(input.customer_warehouse, 1);
                other_districts += u32::from(input.customer_district != input.district);
            }
            _ => {}
        }
    }
    assert!(other_districts > 0, "15 % still pay in a district drawn anew (2.5.1.2, comment)");
}
