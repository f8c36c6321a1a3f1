use super::*;
use std::collections::{BTreeMap, BTreeSet};

fn terminal(index: u32, active: u32) -> Terminal {
    Terminal::new(9, index, active, &RunConstants::draw(9, 30))
}

#[test]
fn homes_go_round_and_districts_of_stock_level_are_unique_for_ten_terminals_a_warehouse() {
    let places: BTreeSet<(i32, i32)> = (0..30)
        .map(|index| {
            let terminal = terminal(index, 3);
            assert_eq!(terminal.warehouse, i32::try_from(index % 3).unwrap() + 1);
            (terminal.warehouse, terminal.stock_level_district)
        })
        .collect();
    assert_eq!(places.len(), 30);
    assert_eq!(terminal(30, 3).stock_level_district, 1);
}

#[test]
fn every_23_cards_are_a_whole_deck_in_different_orders() {
    let mut terminal = terminal(0, 2);
    let decks: BTreeSet<Vec<OperationId>> = (0..200)
        .map(|_| {
            let deck: Vec<OperationId> = (0..23).map(|_| terminal.draw()).collect();
            let count = |operation| deck.iter().filter(|&&card| card == operation).count();
            let counts = [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL].map(count);
            assert_eq!(counts, [10, 10, 1, 1, 1]);
            deck
        })
        .collect();
    assert_eq!(decks.len(), 200);
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
