use super::*;
use crate::workload::OperationId;
use crate::workload::tpcc::input::{Customer, Inputs, Line};
use crate::workload::tpcc::random::{Purpose, Stream};
use crate::workload::tpcc::tally::Tallies;
use crate::workload::tpcc::terminals::{Layout, Terminals};
use crate::workload::tpcc::{DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use std::collections::BTreeSet;

fn constants() -> RunConstants {
    RunConstants::draw(11, 100)
}

/// Draws of `clients` on `active` warehouses; `damage` may change what a terminal drew before it is counted.
fn drawn(active: u32, clients: u32, operations: u64, mut damage: impl FnMut(&mut OperationId, &mut Inputs)) -> Draws {
    let (constants, layout) = (constants(), Layout::new(clients, active, active));
    let mut draws = Draws::default();
    // Two executors that take turns: no client is of one of them.
    let mut executors = [0, 1].map(|_| (Terminals::new(42, layout, &constants), Tallies::new(layout, constants)));
    for client in 0..clients {
        for turn in 0..operations {
            let (terminals, tallies) = &mut executors[turn as usize % 2];
            let mut operation = terminals.draw(client, turn);
            damage(&mut operation, &mut terminals.inputs);
            tallies.operation((client, turn), operation, &terminals.inputs);
        }
    }
    executors.iter().for_each(|(_, tallies)| draws.merge(&tallies.draws()));
    draws
}

fn healthy(active: u32, clients: u32, operations: u64) -> Draws {
    drawn(active, clients, operations, |_, _| {})
}

/// Judges draws of so many clients on so many active warehouses.
fn judged(draws: &Draws, active: u32, clients: u32) -> Vec<AuditLine> {
    audit(draws, Layout::new(clients, active, active), &constants())
}

fn failed(draws: &Draws, active: u32) -> Vec<String> {
    let clients = draws.tallies.get("clients").map_or(1, |tally| mean(*tally) as u32);
    let lines = judged(draws, active, clients);
    lines.into_iter().filter(|line| line.passed == Some(false)).map(|line| line.name).collect()
}

fn mean_of(draws: &Draws, name: &str) -> f64 {
    mean(draws.tallies[name])
}

#[test]
fn a_correct_generator_passes_and_everything_it_draws_is_judged() {
    let draws = healthy(5, 50, 4_600);
    let unjudged: Vec<String> = judged(&draws, 5, 50)
        .into_iter()
        .filter(|line| line.passed != Some(true))
        .map(|line| format!("{line:?}"))
        .collect();
    // The last two are counted in the database's answers, and no database answered here.
    assert_eq!(unjudged.len(), 2, "{unjudged:#?}");
    assert!(unjudged[0].contains("rows_per_name") && unjudged[1].contains("skipped_delivery"));
}

#[test]
fn shares_of_remote_work_are_those_of_the_specification() {
    let draws = healthy(10, 100, 4_600);
    let near = |name, expected: f64, tolerance: f64| {
        let observed = mean_of(&draws, name);
        assert!((observed - expected).abs() < tolerance, "{name}: {observed}, not {expected}");
    };
    near("remote_order", 0.0952, 0.003);
    near("remote_payment", 0.15, 0.003);
    near("remote_transaction", 0.1066, 0.002);
    near("rollback", 0.01, 0.001);
    near("item_redrawn", 0.0085, 0.001);
    near("mix_new_order", 10.0 / 23.0, 1e-12);
    near("mix_delivery", 1.0 / 23.0, 1e-12);
}

#[test]
fn few_draws_are_not_judged() {
    for line in judged(&healthy(2, 1, 22), 2, 1) {
        assert!(line.passed.is_none() || line.name == "c_last_delta", "{line:?}");
    }
    assert!(judged(&Draws::default(), 2, 1).iter().all(|line| line.passed != Some(false)));
}

#[test]
fn short_correct_runs_do_not_fail_by_bad_luck() {
    for clients in 1..40 {
        assert_eq!(failed(&healthy(3, clients, 700), 3), [""; 0], "{clients} clients on 3 warehouses");
        assert_eq!(failed(&healthy(37, clients, 701), 37), [""; 0], "{clients} clients on 37 warehouses");
    }
}

#[test]
fn one_warehouse_has_no_remote_work_and_must_have_none() {
    let draws = healthy(1, 10, 2_300);
    assert_eq!(mean_of(&draws, "remote_transaction"), 0.0);
    assert_eq!(failed(&draws, 1), [""; 0]);
    // Draws of two warehouses, judged as if there were one.
    assert!(failed(&healthy(2, 10, 2_300), 1).contains(&"remote_line".to_owned()));
}

#[test]
fn a_generator_without_remote_lines_fails() {
    let draws = drawn(5, 10, 4_600, |_, inputs| {
        let home = inputs.new_order.warehouse;
        inputs.new_order.lines.iter_mut().for_each(|line| line.supply_warehouse = home);
    });
    let failed = failed(&draws, 5);
    assert!(failed.contains(&"remote_line".to_owned()) && failed.contains(&"remote_order".to_owned()), "{failed:?}");
}

#[test]
fn a_generator_that_always_takes_the_next_warehouse_fails() {
    let draws = drawn(5, 10, 4_600, |_, inputs| {
        let home = inputs.new_order.warehouse;
        for line in inputs.new_order.lines.iter_mut().filter(|line| line.supply_warehouse != home) {
            line.supply_warehouse = home % 5 + 1;
        }
    });
    assert!(failed(&draws, 5).contains(&"remote_rank".to_owned()));
}

#[test]
fn clients_that_stay_at_one_warehouse_fail_unless_their_number_fits() {
    // As if client i had its one terminal at warehouse i mod active.
    let stuck = |active: u32, clients: u32| {
        let (constants, layout) = (constants(), Layout::new(clients, active, active));
        let (mut terminals, mut tallies) = (Terminals::new(42, layout, &constants), Tallies::new(layout, constants));
        for client in 0..clients {
            for turn in 0..920 {
                let operation = terminals.draw(client, turn);
                let home = (client % active).cast_signed() + 1;
                let inputs = &mut terminals.inputs;
                inputs.new_order.warehouse = home;
                inputs.payment.warehouse = home;
                inputs.order_status.warehouse = home;
                inputs.delivery.warehouse = home;
                inputs.stock_level.warehouse = home;
                tallies.operation((client, turn), operation, inputs);
            }
        }
        let draws = tallies.draws();
        let homes = |name: &String| name.starts_with("home");
        failed(&draws, active).into_iter().filter(homes).collect::<Vec<_>>()
    };
    assert_eq!(stuck(10, 8), ["home_warehouses", "home_spread"], "two warehouses are nobody's home");
    assert_eq!(stuck(8, 10), ["home_spread"], "two warehouses are home twice as often");
    assert_eq!(stuck(5, 10), [""; 0]);
}

#[test]
fn uneven_draws_with_the_right_mean_and_draws_outside_their_domain_fail() {
    let draws = drawn(5, 10, 4_600, |operation, inputs| match *operation {
        NEW_ORDER => {
            inputs.new_order.district = if inputs.new_order.district > 5 { 10 } else { 1 };
            inputs.new_order.lines.iter_mut().for_each(|line| line.quantity = 4 + line.quantity % 4);
        }
        DELIVERY => inputs.delivery.carrier = if inputs.delivery.carrier > 5 { 8 } else { 3 },
        STOCK_LEVEL => inputs.stock_level.threshold = 15,
        _ => {}
    });
    let failed_lines = failed(&draws, 5);
    for name in ["district_bins", "line_quantity_bins", "carrier_bins", "threshold_bins"] {
        assert!(failed_lines.contains(&name.to_owned()), "{name} not in {failed_lines:?}");
    }
    let mut last = 0;
    let draws = drawn(5, 10, 4_600, |_, inputs| {
        last += 1;
        if last == 40_000 {
            inputs.new_order.lines[0].item = 0;
            inputs.payment.district = 11;
        }
    });
    assert_eq!(failed(&draws, 5), ["in_domain"]);
}

#[test]
fn a_generator_that_draws_cards_with_replacement_fails() {
    let mut stream = Stream::new(1, Purpose::Terminal, 0, 0);
    let draws = drawn(5, 10, 2_300, |operation, _| {
        *operation = OperationId(match stream.below(23) {
            0..10 => 0,
            10..20 => 1,
            card => u8::try_from(card - 18).unwrap(),
        });
    });
    assert!(failed(&draws, 5).contains(&"deck_exact".to_owned()));
}

#[test]
fn equal_constants_fail_by_the_constants_and_by_the_rows_read() {
    let equal = RunConstants { c_last: 100, ..constants() };
    let line = &audit(&Draws::default(), Layout::new(1, 2, 2), &equal)[0];
    assert_eq!((line.name.as_str(), line.observed, line.passed), ("c_last_delta", 0.0, Some(false)));
    let illegal = RunConstants { c_last: 196, ..constants() };
    assert_eq!(
        audit(&Draws::default(), Layout::new(1, 2, 2), &illegal)[0].passed,
        Some(false),
        "96 lies between the ends, and is banned"
    );
    // The data set's own constant was lost: the database answers with 12.29 rows a name.
    let mut draws = Draws::default();
    (0..2_000).for_each(|_| draws.add("rows_per_name", 12.29));
    assert_eq!(failed(&draws, 2), ["rows_per_name"]);
}

#[test]
fn uniform_items_customers_and_names_fail() {
    let mut stream = Stream::new(1, Purpose::Terminal, 0, 0);
    let draws = drawn(2, 10, 2_300, |operation, inputs| match *operation {
        NEW_ORDER => {
            inputs.new_order.customer = stream.uniform(1, 3_000);
            inputs.new_order.lines.iter_mut().for_each(|line| line.item = stream.uniform(1, 100_000));
        }
        PAYMENT => inputs.payment.customer = Customer::Name(stream.uniform(0, 999)),
        _ => {}
    });
    let failed = failed(&draws, 2);
    for name in ["item_bits", "customer_bits", "last_name_bits", "payment_by_name", "rollback"] {
        assert!(failed.contains(&name.to_owned()), "{name} not in {failed:?}");
    }
}

#[test]
fn orders_of_a_fixed_length_fail() {
    let draws = drawn(2, 10, 2_300, |_, inputs| inputs.new_order.lines.truncate(5));
    let failed = failed(&draws, 2);
    assert!(
        ["lines_per_order", "lines_05", "lines_10", "rollback"].iter().all(|name| failed.contains(&(*name).into()))
    );
}

/// Everything that a terminal draws is one value, and of what other tests damage each by itself, all at once.
fn stuck(operation: &mut OperationId, inputs: &mut Inputs) {
    match *operation {
        NEW_ORDER => {
            let order = &mut inputs.new_order;
            (order.warehouse, order.district, order.customer) = (1, 10, 1);
            order.lines.truncate(5);
            order.lines.iter_mut().for_each(|line| *line = Line { item: 1, supply_warehouse: 2, quantity: 10 });
        }
        PAYMENT => {
            let payment = &mut inputs.payment;
            (payment.warehouse, payment.customer_warehouse, payment.district) = (1, 1, 11);
            (payment.customer, payment.cents) = (Customer::Name(0), 100);
        }
        ORDER_STATUS => {
            let status = &mut inputs.order_status;
            (status.warehouse, status.district, status.customer) = (1, 10, Customer::Name(0));
        }
        DELIVERY => (inputs.delivery.warehouse, inputs.delivery.carrier) = (1, 10),
        _ => (inputs.stock_level.warehouse, inputs.stock_level.threshold) = (1, 20),
    }
}

#[test]
fn each_line_of_the_audit_fails_for_some_damaged_generator() {
    let (layout, equal) = (Layout::new(11, 5, 5), RunConstants { c_last: 100, ..constants() });
    let mut damaged = drawn(5, 11, 2_300, stuck);
    // What is counted in the database's answers.
    (0..2_000).for_each(|_| damaged.add("rows_per_name", 12.29));
    (0..1_000).for_each(|_| damaged.add("skipped_delivery", 1.0));
    let only_orders = drawn(5, 11, 2_300, |operation, _| *operation = NEW_ORDER);
    let lines = [damaged, only_orders].map(|draws| audit(&draws, layout, &equal)).concat();
    let named = |failed: bool| -> BTreeSet<&str> {
        lines.iter().filter(|line| !failed || line.passed == Some(false)).map(|line| line.name.as_str()).collect()
    };
    assert_eq!(named(true), named(false));
}

#[test]
fn deferred_work_that_came_late_or_never_is_told() {
    let judged = |name: &'static str, good: u32| {
        let mut draws = Draws::default();
        (0..1_000).for_each(|index| draws.add(name, f64::from(u8::from(index < good))));
        deferred(&draws).into_iter().find(|line| line.name == name).and_then(|line| line.passed)
    };
    for (name, enough) in [(DEFERRED_WITHIN_80_S, 900), (DEFERRED_DONE, 1_000)] {
        assert_eq!((judged(name, enough), judged(name, enough - 1)), (Some(true), Some(false)), "{name}");
    }
}

#[test]
fn skipped_deliveries_are_told() {
    let mut draws = healthy(2, 1, 23);
    (0..1_000).for_each(|index| draws.add("skipped_delivery", f64::from(u8::from(index % 50 == 0))));
    assert_eq!(failed(&draws, 2), ["skipped_delivery"]);
}

#[test]
fn the_witness_of_skew_agrees_with_what_is_drawn() {
    // The means in `rules` come from enumeration; a million draws must agree.
    let constants = constants();
    let mut stream = Stream::new(3, Purpose::Terminal, 0, 0);
    for (generator, expected) in
        [(constants.item(), 9.705_622_5), (constants.customer(), 6.988_895_833_3), (constants.last_name(), 5.685_25)]
    {
        let sum: f64 = (0..1_000_000).map(|_| f64::from(generator.or_bits(generator.draw(&mut stream)))).sum();
        assert!((sum / 1e6 - expected).abs() < 0.01, "{} instead of {expected}", sum / 1e6);
    }
}
