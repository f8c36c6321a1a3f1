//! TPC-C against a real server: what is loaded, what runs leave behind, and that each condition can fail.

mod support;
mod tpcc_driver;

use nephoscope_load::target::postgres::{Batch, Connection, Isolation};
use nephoscope_load::workload::tpcc::input::Customer;
use nephoscope_load::workload::tpcc::population::{Population, PopulationOptions};
use nephoscope_load::workload::tpcc::worker::TpccWorker;
use nephoscope_load::workload::tpcc::{DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL, Tpcc};
use nephoscope_load::workload::{Dataset, OperationId, Worker, Workload};
use std::collections::BTreeSet;
use std::time::Instant;
use support::Server;
use tpcc_driver::{
    Client, Log, WAREHOUSES, assert_all_hold, check, connect, drive, drive_many, drive_only, load, number, one,
    operate, workload,
};

/// The database that the others are copies of.
const LOADED: &str = "loaded";

#[test]
fn tpcc_on_postgres() {
    let Some(server) = support::server() else { return };
    load_and_damage(&server);
    concurrent_runs_keep_all_conditions(&server, Isolation::ReadCommitted, 8, 500);
    concurrent_runs_keep_all_conditions(&server, Isolation::Serializable, 4, 250);
    transactions_do_what_they_say(&server);
    one_terminal_leaves_the_same_rows_twice(&server);
    deliveries_skip_empty_districts(&server);
    deliveries_of_one_warehouse_share_its_queue(&server);
    foreign_keys_fit(&server);
}

fn copy(server: &Server, name: &str) -> Connection {
    let mut admin = connect(server, support::DATABASE);
    admin.query(&format!("CREATE DATABASE {name} TEMPLATE {LOADED} STRATEGY file_copy")).unwrap();
    connect(server, name)
}

// ---- after the load --------------------------------------------------------------------------------------------

fn load_and_damage(server: &Server) {
    connect(server, support::DATABASE).query(&format!("CREATE DATABASE {LOADED}")).unwrap();
    let connection = &mut connect(server, LOADED);
    let began = Instant::now();
    load(connection, &Population::new(PopulationOptions::new(WAREHOUSES, 20_240_607)));
    eprintln!("loaded {WAREHOUSES} warehouses in {:?}", began.elapsed());
    let tpcc = workload(connection, 1);
    assert_all_hold(connection, &tpcc, true);
    every_condition_fails_on_damaged_data(connection, &tpcc);
    empty_tables_violate(connection, &tpcc);
    assert_all_hold(connection, &tpcc, true);
    another_data_set_is_refused(connection);
}

fn another_data_set_is_refused(connection: &mut Connection) {
    use nephoscope_load::workload::tpcc::{TpccOptions, constants::StoredConstants, profile::Profile, worker::Clock};
    let stored = StoredConstants::new(WAREHOUSES, 20_240_607);
    assert_eq!(number(connection, "SELECT value FROM tpcc_constant WHERE name = 'c_load'"), i64::from(stored.c_load));
    let options =
        TpccOptions { warehouses: 3, active_warehouses: None, seed: 1, clock: Clock::Wall, profile: Profile::Batched };
    assert!(Tpcc::new(options, &stored).unwrap_err().contains("2 warehouses, the spec says 3"));
    let options = TpccOptions { warehouses: 2, active_warehouses: Some(3), ..options };
    assert!(Tpcc::new(options, &stored).unwrap_err().contains("3 active warehouses of 2"));
}

/// Damage, and exactly the conditions that it must break.
const DAMAGES: [(&str, &[u8]); 28] = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2", &[1, 8]),
    ("DELETE FROM warehouse WHERE w_id = 1", &[1, 8]),
    ("UPDATE district SET d_next_o_id = 3002 WHERE d_w_id = 1 AND d_id = 10", &[2]),
    ("DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 3000", &[2, 5, 11]),
    ("DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 2500", &[3, 5, 11]),
    ("DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 1", &[5, 11]),
    ("INSERT INTO new_order VALUES (1, 1, 2100)", &[5, 11]),
    ("INSERT INTO new_order VALUES (3, 1, 1)", &[2, 5, 11]),
    ("DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 1 AND ol_number = 1", &[4, 6]),
    (
        "UPDATE order_line SET ol_o_id = 2, ol_number = 99 WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 1 \
         AND ol_number = 1",
        &[6],
    ),
    ("DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 5", &[4, 6, 7, 11]),
    ("UPDATE orders SET o_carrier_id = 5 WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 3000", &[5, 7, 16]),
    (
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 1 AND ol_number = 1",
        &[7],
    ),
    ("UPDATE history SET h_amount = 10.01 WHERE h_c_w_id = 1 AND h_c_d_id = 1 AND h_c_id = 1", &[8, 9, 10]),
    ("DELETE FROM history WHERE h_w_id = 2", &[8, 9, 10, 15]),
    ("UPDATE district SET d_ytd = d_ytd + CASE d_id WHEN 1 THEN 5 ELSE -5 END WHERE d_w_id = 1 AND d_id < 3", &[9]),
    (
        "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_w_id = 1 \
         AND c_d_id = 1 AND c_id = 1",
        &[10],
    ),
    ("DELETE FROM customer WHERE c_w_id = 2 AND c_d_id = 10 AND c_id = 3000", &[10, 12, 15, 16]),
    ("INSERT INTO orders VALUES (1, 1, 0, 1, now(), 5, 0, 1)", &[6, 11]),
    ("UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1", &[12]),
    ("DELETE FROM item WHERE i_id = 100000", &[13]),
    ("DELETE FROM stock WHERE s_w_id = 2 AND s_i_id = 5", &[13]),
    ("DELETE FROM stock WHERE s_w_id = 2", &[13]),
    ("UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_w_id = 1 AND s_i_id = 77", &[14]),
    ("UPDATE stock SET s_order_cnt = s_order_cnt + 1 WHERE s_w_id = 1 AND s_i_id = 77", &[14]),
    ("UPDATE stock SET s_remote_cnt = s_remote_cnt + 1 WHERE s_w_id = 1 AND s_i_id = 77", &[14]),
    ("UPDATE customer SET c_payment_cnt = c_payment_cnt - 1 WHERE c_w_id = 1 AND c_d_id = 3 AND c_id = 8", &[15]),
    ("UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 3 AND c_id = 8", &[16]),
];

fn every_condition_fails_on_damaged_data(connection: &mut Connection, tpcc: &Tpcc) {
    let mut seen = BTreeSet::new();
    for (damage, expected) in DAMAGES {
        connection.query("BEGIN").unwrap();
        connection.query(damage).unwrap_or_else(|error| panic!("{error}: {damage}"));
        let mut violated = Vec::new();
        for condition in tpcc.conditions() {
            let (violations, example) = check(connection, &condition);
            if violations > 0 {
                assert!(!example.is_empty(), "condition {} gives no example of {damage}", condition.number);
                violated.push(condition.number);
            }
        }
        connection.query("ROLLBACK").unwrap();
        assert_eq!(violated, expected, "{damage}");
        seen.extend(violated);
    }
    assert_eq!(seen, (1..=16).collect());
}

/// A database with nothing in it is not consistent.
fn empty_tables_violate(connection: &mut Connection, tpcc: &Tpcc) {
    connection.query("BEGIN").unwrap();
    connection.query("TRUNCATE warehouse, district, customer, history, orders, new_order, order_line, stock").unwrap();
    let violated: Vec<u8> = tpcc
        .conditions()
        .iter()
        .filter(|condition| check(connection, condition).0 > 0)
        .map(|condition| condition.number)
        .collect();
    connection.query("ROLLBACK").unwrap();
    assert_eq!(violated, [1, 2, 4, 8, 9, 10, 11, 12, 13, 15, 16]);
}

// ---- runs ------------------------------------------------------------------------------------------------------

fn concurrent_runs_keep_all_conditions(server: &Server, isolation: Isolation, workers: u32, each: u32) {
    let name = isolation.sql().replace(' ', "_").to_lowercase();
    let mut connection = copy(server, &name);
    let tpcc = workload(&mut connection, 3);
    let count = |connection: &mut Connection| -> Vec<i64> {
        tpcc.server_counters().iter().map(|counter| number(connection, &counter.sql)).collect()
    };
    let before = count(&mut connection);
    let began = Instant::now();
    let log = drive_many(server, &name, &tpcc, workers, each, isolation);
    eprintln!("{name}: {} operations in {:?}, {} retries", workers * each, began.elapsed(), log.retries);
    assert_all_hold(&mut connection, &tpcc, false);
    let after = count(&mut connection);
    for (index, counter) in tpcc.server_counters().iter().enumerate() {
        let client = i64::try_from(log.committed[&counter.operation]).unwrap();
        assert_eq!(after[index] - before[index], client, "{}", counter.name);
    }
    counts_beyond_the_conditions_agree(&mut connection);
    for line in tpcc.audit(workers, &log.draws) {
        assert_ne!(line.passed, Some(false), "{line:?}");
    }
    if isolation == Isolation::ReadCommitted {
        assert_eq!(log.retries, 0, "locks are taken in one order: no deadlock under READ COMMITTED");
        let by_name = log.draws.tallies["rows_per_name"];
        assert!((1.5..4.5).contains(&(by_name.sum / by_name.draws as f64)), "{by_name:?}");
        assert!(log.rolled_back > 0);
    }
}

/// What no condition covers.
fn counts_beyond_the_conditions_agree(connection: &mut Connection) {
    let stock = "SELECT count(*) FROM stock WHERE s_quantity NOT BETWEEN 10 AND 100";
    assert_eq!(number(connection, stock), 0, "s_quantity");
    let local = "SELECT count(*) FROM orders JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, \
                 bool_and(ol_supply_w_id = ol_w_id)::int AS local FROM order_line GROUP BY 1, 2, 3) AS l \
                 ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_all_local <> local";
    assert_eq!(number(connection, local), 0, "o_all_local");
    assert!(number(connection, "SELECT sum(s_remote_cnt) FROM stock") > 0, "some lines are remote");
    assert!(number(connection, "SELECT count(*) FROM history WHERE h_c_w_id <> h_w_id") > 0, "some payments are");
}

fn one_terminal_leaves_the_same_rows_twice(server: &Server) {
    let tables = ["warehouse", "district", "customer", "history", "orders", "new_order", "order_line", "stock"];
    let [one_run, other_run] = ["first", "second"].map(|name| {
        let connection = &mut copy(server, name);
        let tpcc = workload(connection, 5);
        drive(connection, &tpcc, (0, 1), 150, Isolation::ReadCommitted);
        tables.map(|table| {
            let sql = format!("SELECT count(*), sum(hashtextextended({table}::text, 0)::numeric) FROM {table}");
            one(connection, &sql)
        })
    });
    assert_eq!(one_run, other_run);
}

fn deliveries_skip_empty_districts(server: &Server) {
    let connection = &mut copy(server, "queue");
    let tpcc = workload(connection, 6);
    connection.prepare(tpcc.statements(), Isolation::ReadCommitted).unwrap();
    let (mut client, mut batch) = (Client::new(&tpcc, 0, 10 * WAREHOUSES), Batch::new());
    let mut deliver = |connection: &mut Connection| {
        let mut log = Log::default();
        while operate(connection, &mut client, &mut batch, &mut log) != DELIVERY {}
        let draws = client.worker.draws();
        (draws.tallies["skipped_district"].sum, draws.tallies["skipped_delivery"].sum, log.round_trips[&DELIVERY][0])
    };
    assert_eq!(deliver(connection), (0.0, 0.0, 8));
    connection.query("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id > 7").unwrap();
    // Orders placed since may refill a district; none is delivered out of turn.
    let (districts, deliveries, round_trips) = deliver(connection);
    assert!((0.0..=3.0).contains(&districts) && deliveries <= 1.0 && round_trips == 8);
    connection.query("ALTER TABLE new_order RENAME TO kept; CREATE TABLE new_order (LIKE kept INCLUDING ALL)").unwrap();
    let before = worker_round_trips_of_an_empty_delivery(connection, &tpcc);
    assert_eq!(before, 3);
}

/// BEGIN, nothing found, COMMIT.
fn worker_round_trips_of_an_empty_delivery(connection: &mut Connection, tpcc: &Tpcc) -> u32 {
    let (mut client, mut batch, mut log) = (Client::new(tpcc, 1, 10 * WAREHOUSES), Batch::new(), Log::default());
    loop {
        connection.query("TRUNCATE new_order").unwrap();
        if operate(connection, &mut client, &mut batch, &mut log) == DELIVERY {
            return log.round_trips[&DELIVERY][0];
        }
    }
}

/// Whoever waits for another Delivery must take the next order and not the same one, nor skip the district.
fn deliveries_of_one_warehouse_share_its_queue(server: &Server) {
    let connection = &mut copy(server, "deliveries");
    let tpcc = workload(connection, 7);
    let log = drive_only(server, "deliveries", &tpcc, DELIVERY, &[0, 2, 4, 6, 8, 10], 20);
    assert_eq!((log.committed[&DELIVERY], log.retries), (120, 0));
    assert_eq!(log.draws.tallies["skipped_district"].sum, 0.0);
    let delivered = "SELECT count(*), sum(c_delivery_cnt), max(o_id) FROM orders, customer WHERE o_w_id = 1 \
                     AND o_id > 2100 AND o_carrier_id IS NOT NULL AND c_w_id = 1 AND c_d_id = o_d_id AND c_id = o_c_id";
    assert_eq!(one(connection, delivered), "1200|1200|2220");
    assert_all_hold(connection, &tpcc, false);
}

fn foreign_keys_fit(server: &Server) {
    let connection = &mut copy(server, "foreign_keys");
    let population =
        Population::new(PopulationOptions { foreign_keys: true, ..PopulationOptions::new(WAREHOUSES, 20_240_607) });
    for sql in population.finish().iter().filter(|sql| sql.starts_with("ALTER TABLE")) {
        connection.query(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
    assert_eq!(number(connection, "SELECT count(*) FROM pg_constraint WHERE contype = 'f'"), 10);
    let tpcc = workload(connection, 8);
    drive_many(server, "foreign_keys", &tpcc, 4, 50, Isolation::ReadCommitted);
    assert_all_hold(connection, &tpcc, false);
}

// ---- one operation at a time -----------------------------------------------------------------------------------

fn transactions_do_what_they_say(server: &Server) {
    let (connection, witness) = (&mut copy(server, "facts"), &mut connect(server, "facts"));
    let tpcc = workload(connection, 4);
    connection.prepare(tpcc.statements(), Isolation::ReadCommitted).unwrap();
    let (mut client, mut batch, mut log) = (Client::new(&tpcc, 0, 10 * WAREHOUSES), Batch::new(), Log::default());
    let mut seen: Vec<OperationId> = Vec::new();
    for _ in 0..600 {
        let rolled_back = log.rolled_back;
        let operation = operate(connection, &mut client, &mut batch, &mut log);
        match operation {
            NEW_ORDER if log.rolled_back > rolled_back => nothing_is_left(witness, &client.worker),
            NEW_ORDER => an_order_is_entered(witness, &client.worker),
            PAYMENT => a_payment_is_booked(witness, &client.worker),
            ORDER_STATUS => the_newest_order_is_found(witness, &client.worker),
            STOCK_LEVEL => low_stocks_are_counted(witness, &client.worker),
            _ => {}
        }
        seen.push(operation);
    }
    assert!(log.rolled_back > 0, "an order was rolled back");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 5);
    let of = |operation: OperationId| log.round_trips[&operation].iter().copied().collect::<BTreeSet<u32>>();
    assert_eq!(of(NEW_ORDER), BTreeSet::from([11]));
    assert_eq!(of(PAYMENT), BTreeSet::from([6, 7]));
    assert_eq!(of(ORDER_STATUS), BTreeSet::from([5]));
    assert_eq!(of(DELIVERY), BTreeSet::from([8]));
    assert_eq!(of(STOCK_LEVEL), BTreeSet::from([4]));
    assert_all_hold(witness, &tpcc, false);
}

fn nothing_is_left(witness: &mut Connection, worker: &TpccWorker) {
    let input = &worker.terminals().inputs.new_order;
    let place = format!("o_w_id = {} AND o_d_id = {}", input.warehouse, input.district);
    let order = worker.new_order().order;
    assert_eq!(number(witness, &format!("SELECT count(*) FROM orders WHERE {place} AND o_id = {order}")), 0);
    assert_eq!(worker.new_order().lines().len(), input.lines.len() - 1, "all valid items were processed");
}

fn an_order_is_entered(witness: &mut Connection, worker: &TpccWorker) {
    let (input, output) = (&worker.terminals().inputs.new_order, worker.new_order());
    let (w, d, o) = (input.warehouse, input.district, output.order);
    let order = format!(
        "SELECT o_c_id, o_ol_cnt, o_all_local, o_carrier_id IS NULL FROM orders \
         WHERE o_w_id = {w} AND o_d_id = {d} AND o_id = {o}"
    );
    let expected = format!("{}|{}|{}|t", input.customer, input.lines.len(), i32::from(!input.is_remote()));
    assert_eq!(one(witness, &order), expected);
    let lines = format!(
        "SELECT string_agg(concat_ws('/', ol_number, ol_i_id, ol_supply_w_id, ol_quantity, (ol_amount * 100)::int8, \
         s_quantity, i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%', ol_dist_info = s_dist_{d:02}, \
         ol_amount = ol_quantity * i_price, ol_delivery_d IS NULL), ' ' ORDER BY ol_number) \
         FROM order_line JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id JOIN item ON i_id = ol_i_id \
         WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {o}"
    );
    let expected: Vec<String> = (1..)
        .zip(input.lines.iter().zip(output.lines()))
        .map(|(number, (asked, line))| {
            let flag = if line.brand { 't' } else { 'f' };
            format!(
                "{number}/{}/{}/{}/{}/{}/{flag}/t/t/t",
                asked.item, asked.supply_warehouse, asked.quantity, line.amount_cents, line.stock_quantity
            )
        })
        .collect();
    let found = one(witness, &lines);
    assert_eq!(found, expected.join(" "));
    let total = format!(
        "SELECT round(100 * sum(ol_amount) * (1 - c_discount) * (1 + w_tax + d_tax))::int8 FROM order_line, customer, \
         warehouse, district WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {o} AND c_w_id = {w} AND c_d_id = {d} \
         AND c_id = {} AND w_id = {w} AND d_w_id = {w} AND d_id = {d} GROUP BY c_discount, w_tax, d_tax",
        input.customer
    );
    assert_eq!(number(witness, &total), output.total_cents());
}

fn middle_customer(witness: &mut Connection, w: i32, d: i32, customer: Customer) -> i32 {
    let Customer::Name(name) = customer else {
        let Customer::Id(id) = customer else { unreachable!() };
        return id;
    };
    let mut last = String::new();
    nephoscope_load::workload::tpcc::random::last_name(name, &mut last);
    let sql = format!(
        "SELECT (array_agg(c_id ORDER BY c_first, c_id))[ceil(count(*) / 2.0)::int] FROM customer \
         WHERE c_w_id = {w} AND c_d_id = {d} AND c_last = '{last}'"
    );
    i32::try_from(number(witness, &sql)).unwrap()
}

fn a_payment_is_booked(witness: &mut Connection, worker: &TpccWorker) {
    let (input, output) = (&worker.terminals().inputs.payment, worker.payment());
    let (w, d) = (input.customer_warehouse, input.customer_district);
    let customer = middle_customer(witness, w, d, input.customer);
    assert_eq!(output.customer, customer);
    let amount = format!("{}.{:02}", input.cents / 100, input.cents % 100);
    let history = format!(
        "SELECT count(*) FROM history, warehouse, district WHERE h_c_id = {customer} AND h_c_d_id = {d} \
         AND h_c_w_id = {w} AND h_d_id = {1} AND h_w_id = {0} AND h_amount = {amount} AND w_id = {0} AND d_w_id = {0} \
         AND d_id = {1} AND h_data = w_name || '    ' || d_name",
        input.warehouse, input.district
    );
    assert!(number(witness, &history) >= 1, "{history}");
    let prefix = format!("{customer} {d} {w} {} {} {amount} ", input.district, input.warehouse);
    let row = format!(
        "SELECT (c_credit = 'BC') = starts_with(c_data, '{prefix}'), length(c_data) BETWEEN 300 AND 500, \
         round(c_balance * 100)::int8 FROM customer WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {customer}"
    );
    assert_eq!(one(witness, &row), format!("t|t|{}", output.balance_cents));
}

fn the_newest_order_is_found(witness: &mut Connection, worker: &TpccWorker) {
    let (input, output) = (&worker.terminals().inputs.order_status, worker.order_status());
    let customer = middle_customer(witness, input.warehouse, input.district, input.customer);
    let newest = format!(
        "SELECT o_c_id, o_id, o_ol_cnt FROM orders WHERE o_w_id = {} AND o_d_id = {} AND o_c_id = {customer} \
         ORDER BY o_id DESC LIMIT 1",
        input.warehouse, input.district
    );
    assert_eq!(one(witness, &newest), format!("{}|{}|{}", output.customer, output.order, output.lines));
}

fn low_stocks_are_counted(witness: &mut Connection, worker: &TpccWorker) {
    let input = &worker.terminals().inputs.stock_level;
    let sql = format!(
        "SELECT count(*) FROM stock WHERE s_w_id = {0} AND s_quantity < {2} AND s_i_id IN (SELECT ol_i_id FROM order_line, \
         district WHERE d_w_id = {0} AND d_id = {1} AND ol_w_id = {0} AND ol_d_id = {1} \
         AND ol_o_id BETWEEN d_next_o_id - 20 AND d_next_o_id - 1)",
        input.warehouse, input.district, input.threshold
    );
    assert_eq!(number(witness, &sql), worker.stock_level().low_stock);
}
