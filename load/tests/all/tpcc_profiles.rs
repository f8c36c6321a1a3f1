//! TPC-C in each profile against a real server: the same rows and the same answers, in as many round trips as the
//! documentation says, by indexes only.

use crate::support;
use crate::tpcc_driver;

use nephoscope_load::target::postgres::{Batch, Connection, Isolation};
use nephoscope_load::workload::tpcc::profile::Profile;
use nephoscope_load::workload::tpcc::worker::TpccWorker;
use nephoscope_load::workload::tpcc::{DELIVERY, NEW_ORDER, OPERATIONS, ORDER_STATUS, PAYMENT, STOCK_LEVEL, Tpcc};
use nephoscope_load::workload::{Completion, OperationId, Worker, Workload};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};
use support::Server;
use tpcc_driver::{
    Client, Log, WAREHOUSES, assert_all_hold, attempt, check, connect, copy, drive, drive_many, drive_only,
    loaded_server, number, one, operate, witness, workload_in, workload_on,
};

const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "orders", "new_order", "order_line", "stock", "item"];

#[test]
fn profiles_on_postgres() {
    let Some(server) = loaded_server() else { return };
    all_profiles_leave_the_same_rows(&server, 400);
    thread::scope(|scope| {
        for profile in Profile::ALL {
            let server = &server;
            scope.spawn(move || nothing_is_left_of_a_transaction_that_misses_a_row(server, profile));
        }
    });
    each_does_what_it_says(&server, &[Profile::Batched]);
}

#[test]
#[ignore = "takes a minute; `make test-all` runs it"]
fn the_other_profiles_on_postgres() {
    let Some(server) = loaded_server() else { return };
    each_does_what_it_says(&server, &[Profile::Chatty, Profile::Pipelined, Profile::Proc]);
}

fn each_does_what_it_says(server: &Server, profiles: &[Profile]) {
    for &profile in profiles {
        let began = Instant::now();
        let database = profile.name();
        let tpcc = workload_in(profile, &mut copy(server, database), 4);
        deliveries_of_one_warehouse_share_its_queue(server, &tpcc, database);
        transactions_do_what_they_say(server, &tpcc, profile);
        every_statement_prepared_is_sent(server, &tpcc, database);
        indexes_find_all_rows(server, &tpcc, database);
        concurrent_transactions_do_not_deadlock(server, &tpcc, database);
        let strict = [Isolation::RepeatableRead, Isolation::Serializable];
        let retries = strict.map(|isolation| collisions_are_tried_again(server, profile, isolation));
        assert!(retries.iter().sum::<u64>() > 0, "nobody collided in {profile}");
        deliveries_skip_empty_districts(server, &tpcc, profile);
        eprintln!("{profile}: all of this in {:?}", began.elapsed());
    }
}

#[test]
#[ignore = "takes minutes; `make test-all` runs it"]
fn all_profiles_leave_the_same_rows_after_20000_transactions() {
    let Some(server) = loaded_server() else { return };
    all_profiles_leave_the_same_rows(&server, 20_000);
}

// ---- equality --------------------------------------------------------------------------------------------------

/// One connection, one seed: whatever the profile, every row of every table is the same, and so is what clients saw.
fn all_profiles_leave_the_same_rows(server: &Server, transactions: u32) {
    let began = Instant::now();
    let answers = thread::scope(|scope| {
        let threads = Profile::ALL.map(|profile| scope.spawn(move || answers(server, profile, transactions)));
        threads.map(|thread| thread.join().expect("no profile panics"))
    });
    let [first, others @ ..] = &answers;
    assert_eq!(first.len(), transactions as usize);
    for (profile, other) in Profile::ALL[1..].iter().zip(others) {
        for (number, (expected, seen)) in first.iter().zip(other).enumerate() {
            assert_eq!(seen, expected, "what clients see of transaction {number} in {profile}");
        }
    }
    for table in TABLES {
        let dumps = thread::scope(|scope| {
            let threads = Profile::ALL.map(|profile| scope.spawn(move || digest(server, profile, table)));
            threads.map(|thread| thread.join().expect("no dump panics"))
        });
        for (profile, dump) in Profile::ALL.iter().zip(&dumps) {
            assert!(dump == &dumps[0], "{table} in {profile}: {}", first_difference(server, *profile, table));
        }
    }
    eprintln!("{transactions} transactions leave equal rows in all profiles: {:?}", began.elapsed());
    let mut admin = connect(server, support::DATABASE);
    for profile in Profile::ALL {
        admin.query(&format!("DROP DATABASE equal_{profile}")).unwrap();
    }
}

/// Rows and the sums of two 64-bit hashes of each, whatever their order: sorting them would cost more than the run.
fn digest(server: &Server, profile: Profile, table: &str) -> String {
    let hash = |seed: u32| format!("sum(hashtextextended(t::text, {seed}))");
    let sql = format!("SELECT concat_ws(' ', count(*), {}, {}) FROM {table} AS t", hash(1), hash(2));
    one(&mut connect(server, &format!("equal_{profile}")), &sql)
}

fn first_difference(server: &Server, profile: Profile, table: &str) -> String {
    let [expected, found] = [Profile::ALL[0], profile].map(|profile| {
        let sql = format!("SELECT t::text FROM {table} AS t ORDER BY 1");
        connect(server, &format!("equal_{profile}")).query(&sql).unwrap()
    });
    let differs = expected.iter().zip(&found).find(|(expected, found)| expected != found);
    format!("{differs:?} ({} and {} rows)", expected.len(), found.len())
}

fn answers(server: &Server, profile: Profile, transactions: u32) -> Vec<String> {
    let connection = &mut copy(server, &format!("equal_{profile}"));
    let tpcc = workload_in(profile, connection, 11);
    connection.prepare(<Tpcc as Workload>::statements(&tpcc), Isolation::ReadCommitted).unwrap();
    let (mut client, mut batch, mut log) = (Client::new(&tpcc, 0, 1), Batch::new(), Log::default());
    (0..transactions)
        .map(|_| {
            let operation = operate(connection, &mut client, &mut batch, &mut log);
            answer(operation, &client.worker)
        })
        .collect()
}

/// All that a client learns of its transaction.
fn answer(operation: OperationId, worker: &TpccWorker) -> String {
    match operation {
        NEW_ORDER => {
            let output = worker.new_order();
            let lines = output.lines().iter().map(|line| {
                format!("{} {} {} {}", line.price_cents, line.stock_quantity, line.amount_cents, line.brand)
            });
            format!("order {} {} {:?}", output.order, output.total_cents(), lines.collect::<Vec<_>>())
        }
        PAYMENT => {
            let output = worker.payment();
            format!("payment {} {} {:?}", output.customer, output.balance_cents, output.rows_by_name)
        }
        ORDER_STATUS => {
            let output = worker.order_status();
            let found = (output.customer, output.balance_cents, output.order, output.lines, output.rows_by_name);
            format!("status {found:?}")
        }
        DELIVERY => format!("delivery {:?}", worker.delivery().delivered().collect::<Vec<_>>()),
        _ => format!("stock level {}", worker.stock_level().low_stock),
    }
}

// ---- each profile ----------------------------------------------------------------------------------------------

/// Round trips by operation: all that may be seen, and those of a Delivery when every district is empty.
struct RoundTrips {
    of: [RangeInclusive<u32>; 5],
    of_empty_delivery: u32,
    /// The documented mean over the deck.
    mean: f64,
}

fn documented(profile: Profile) -> RoundTrips {
    match profile {
        Profile::Chatty => {
            RoundTrips { of: [14..=25, 9..=11, 5..=6, 27..=27, 4..=4], of_empty_delivery: 12, mean: 14.5 }
        }
        Profile::Batched => RoundTrips { of: [11..=11, 6..=7, 5..=5, 8..=8, 4..=4], of_empty_delivery: 3, mean: 8.39 },
        Profile::Pipelined | Profile::Proc => {
            RoundTrips { of: [1..=1, 1..=1, 1..=1, 1..=1, 1..=1], of_empty_delivery: 1, mean: 1.0 }
        }
    }
}

fn transactions_do_what_they_say(server: &Server, tpcc: &Tpcc, profile: Profile) {
    let [connection, witness] = &mut [(); 2].map(|()| connect(server, profile.name()));
    connection.prepare(<Tpcc as Workload>::statements(tpcc), Isolation::ReadCommitted).unwrap();
    let (mut client, mut batch, mut log) = (Client::new(tpcc, 0, 10 * WAREHOUSES), Batch::new(), Log::default());
    for _ in 0..23 * 18 {
        let rolled_back = log.rolled_back;
        match operate(connection, &mut client, &mut batch, &mut log) {
            NEW_ORDER if log.rolled_back > rolled_back => witness::nothing_is_left(witness, &client.worker),
            NEW_ORDER => witness::an_order_is_entered(witness, &client.worker),
            PAYMENT => witness::a_payment_is_booked(witness, &client.worker),
            ORDER_STATUS => witness::the_newest_order_is_found(witness, &client.worker),
            STOCK_LEVEL => witness::low_stocks_are_counted(witness, &client.worker),
            _ => {}
        }
    }
    assert!(log.rolled_back > 0, "an order was rolled back");
    let documented = documented(profile);
    let mut line = format!("round trips of {profile}:");
    for ((trips, allowed), name) in log.round_trips.values().zip(documented.of).zip(OPERATIONS) {
        assert!(trips.iter().all(|trips| allowed.contains(trips)), "{name} in {profile}: {trips:?}, not {allowed:?}");
        assert!([allowed.start(), allowed.end()].iter().any(|end| trips.contains(end)), "{name} in {profile}");
        line += &format!(" {name} {:.2}", mean(trips));
    }
    let all: Vec<u32> = log.round_trips.values().flatten().copied().collect();
    eprintln!("{line}, all {:.2}", mean(&all));
    assert!((mean(&all) / documented.mean - 1.0).abs() < 0.02, "{} in {profile}", mean(&all));
}

fn mean(numbers: &[u32]) -> f64 {
    f64::from(numbers.iter().sum::<u32>()) / numbers.len() as f64
}

/// A connection prepares what its profile sends, and nothing else; the server soon stops to plan it again each time.
fn every_statement_prepared_is_sent(server: &Server, tpcc: &Tpcc, database: &str) {
    let connection = &mut connect(server, database);
    drive(connection, tpcc, (3, 20), 1_000, Isolation::ReadCommitted);
    let plans =
        "SELECT substr(name, 2), generic_plans, custom_plans FROM pg_prepared_statements WHERE name ~ '^s[0-9]+$'";
    let prepared = connection.query(plans).unwrap();
    assert_eq!(prepared.len(), <Tpcc as Workload>::statements(tpcc).len());
    for row in prepared {
        let [number, generic, custom] = [0, 1, 2].map(|column| row[column].as_ref().unwrap().parse::<usize>().unwrap());
        let name = <Tpcc as Workload>::statements(tpcc)[number].name;
        assert!(generic + custom > 0, "{name} is never sent in {database}");
        assert!(custom <= 40, "{name} was planned {custom} times in {database}");
    }
}

/// Plans may differ between the first executions of a statement and later ones. Whatever they are, they read no more
/// rows than the transactions need; tables of one page may be read as a whole.
fn indexes_find_all_rows(server: &Server, tpcc: &Tpcc, database: &str) {
    let transactions = 460;
    let before = reads(server, database);
    drive(&mut connect(server, database), tpcc, (5, 20), transactions, Isolation::ReadCommitted);
    let after = reads(server, database);
    let mut line = format!("rows read for each transaction of {database}:");
    for (table, (scans, rows)) in &after {
        let (scans_before, rows_before) = before[table];
        assert_eq!(scans - scans_before, 0, "sequential scans of {table} in {database}");
        let rows = (rows - rows_before) as f64 / f64::from(transactions);
        line += &format!(" {table} {rows:.1}");
        assert!(rows < 40.0, "{rows} rows of {table} for each transaction in {database}");
    }
    eprintln!("{line}");
}

/// Sequential scans, and rows read by indexes, of the large tables.
fn reads(server: &Server, database: &str) -> BTreeMap<String, (i64, i64)> {
    let connection = &mut connect(server, database);
    // What a session did is counted when it has ended.
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                  AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    while number(connection, others) > 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let sql = "SELECT t.relname, seq_scan, sum(idx_tup_read) FROM pg_stat_user_tables AS t \
               JOIN pg_stat_user_indexes USING (relid) WHERE t.relname NOT IN ('warehouse', 'district', 'tpcc_constant') \
               GROUP BY 1, 2";
    let number = |value: &Option<String>| value.as_ref().unwrap().parse().unwrap();
    let rows = connection.query(sql).unwrap();
    rows.iter().map(|row| (row[0].clone().unwrap(), (number(&row[1]), number(&row[2])))).collect()
}

fn concurrent_transactions_do_not_deadlock(server: &Server, tpcc: &Tpcc, database: &str) {
    let connection = &mut connect(server, database);
    let count = |connection: &mut Connection| -> Vec<i64> {
        <Tpcc as Workload>::server_counters(tpcc).iter().map(|counter| number(connection, &counter.sql)).collect()
    };
    let before = count(connection);
    let log = drive_many(server, database, tpcc, 4, 400, Isolation::ReadCommitted);
    assert_eq!(log.retries, 0, "locks are taken in one order: no deadlock under READ COMMITTED in {database}");
    assert!(log.rolled_back > 0);
    for ((counter, before), after) in
        <Tpcc as Workload>::server_counters(tpcc).iter().zip(before).zip(count(connection))
    {
        let client = i64::try_from(log.committed[&counter.operation]).unwrap();
        assert_eq!(after - before, client, "{} in {database}", counter.name);
    }
    assert_all_hold(connection, tpcc, false);
}

/// Stricter levels refuse what READ COMMITTED waits for (40001): everybody on one warehouse comes to an end all the same,
/// and everything done counts once. How many were tried again.
fn collisions_are_tried_again(server: &Server, profile: Profile, isolation: Isolation) -> u64 {
    let (database, connection) = (profile.name(), &mut connect(server, profile.name()));
    let tpcc = workload_on(1, profile, connection, 12);
    let orders = "SELECT sum(d_next_o_id) FROM district";
    let before = number(connection, orders);
    let log = drive_many(server, database, &tpcc, 4, 60, isolation);
    eprintln!("{database} at {}: {} retries of 240 transactions", isolation.sql(), log.retries);
    assert_eq!(log.committed.values().sum::<u64>() + log.rolled_back, 240);
    assert_eq!(number(connection, orders) - before, log.committed[&NEW_ORDER] as i64);
    assert_all_hold(connection, &tpcc, false);
    log.retries
}

// ---- damaged data ----------------------------------------------------------------------------------------------

/// Rows that transactions must find are gone. What an operation that meets this did before is undone, also where the
/// profile sends it with its COMMIT: the conditions that the damage itself does not break still hold.
fn nothing_is_left_of_a_transaction_that_misses_a_row(server: &Server, profile: Profile) {
    let database = format!("missing_{profile}");
    let tpcc = workload_in(profile, &mut copy(server, &database), 6);
    let mut admin = connect(server, &database);
    for damage in [
        "DELETE FROM customer WHERE c_id % 3 = 0",
        "DELETE FROM stock WHERE s_i_id % 50 = 0",
        "DELETE FROM order_line WHERE ol_number = 1 AND ol_o_id BETWEEN 2101 AND 2120 AND ol_d_id % 2 = 0",
        "DELETE FROM orders WHERE o_id BETWEEN 2101 AND 2120 AND o_d_id = 5",
    ] {
        admin.query(damage).unwrap();
    }
    let broken_by_the_damage = [4, 5, 6, 7, 10, 12, 13, 15, 16];
    let (waiting, orders) = ("SELECT count(*) FROM new_order", "SELECT sum(d_next_o_id) FROM district");
    let before = [waiting, orders].map(|sql| number(&mut admin, sql));
    let (mut client, mut batch) = (Client::new(&tpcc, 0, 10), Batch::new());
    let [mut entered, mut missed] = [BTreeMap::<OperationId, i64>::new(), BTreeMap::new()];
    let open = || {
        let mut connection = connect(server, &database);
        connection.prepare(<Tpcc as Workload>::statements(&tpcc), Isolation::ReadCommitted).unwrap();
        connection
    };
    let mut connection = open();
    for _ in 0..230 {
        let (operation, outcome) = attempt(&mut connection, &tpcc, &mut client, &mut batch);
        match outcome {
            Ok(Completion::Committed) => *entered.entry(operation).or_default() += 1,
            Ok(Completion::RolledBackByDesign) => {}
            Err(_) => {
                *missed.entry(operation).or_default() += 1;
                connection = open(); // as the engine does
            }
        }
    }
    for operation in [NEW_ORDER, PAYMENT, DELIVERY] {
        assert!(missed.get(&operation) > Some(&0), "no {operation:?} met the damage in {profile}");
    }
    assert!(entered[&NEW_ORDER] > 0 && entered[&PAYMENT] > 0, "{entered:?} in {profile}");
    assert_eq!(entered.get(&DELIVERY), None, "each Delivery meets the damage in {profile}");
    let after = [waiting, orders].map(|sql| number(&mut admin, sql));
    assert_eq!(after, before.map(|count| count + entered[&NEW_ORDER]), "{profile}");
    for condition in <Tpcc as Workload>::conditions(&tpcc).iter().filter(|condition| !condition.only_after_load) {
        let (violations, example) = check(&mut admin, condition);
        let holds = !broken_by_the_damage.contains(&condition.number);
        assert_eq!(violations == 0, holds, "condition {} in {profile}: {example}", condition.number);
    }
}

// ---- deliveries ------------------------------------------------------------------------------------------------

/// Whoever waits for another Delivery must take the next order and not the same one, nor skip the district.
fn deliveries_of_one_warehouse_share_its_queue(server: &Server, tpcc: &Tpcc, database: &str) {
    let connection = &mut connect(server, database);
    let log = drive_only(server, database, tpcc, DELIVERY, &[0, 2, 4, 6, 8, 10], 20);
    assert_eq!((log.committed[&DELIVERY], log.retries), (120, 0));
    assert_eq!(log.draws.tallies["skipped_district"].sum, 0.0);
    let delivered = "SELECT count(*), sum(c_delivery_cnt), max(o_id) FROM orders, customer WHERE o_w_id = 1 \
                     AND o_id > 2100 AND o_carrier_id IS NOT NULL AND c_w_id = 1 AND c_d_id = o_d_id AND c_id = o_c_id";
    assert_eq!(one(connection, delivered), "1200|1200|2220");
    assert_all_hold(connection, tpcc, false);
}

fn deliveries_skip_empty_districts(server: &Server, tpcc: &Tpcc, profile: Profile) {
    let connection = &mut connect(server, profile.name());
    connection.prepare(<Tpcc as Workload>::statements(tpcc), Isolation::ReadCommitted).unwrap();
    let (mut client, mut batch) = (Client::new(tpcc, 0, 10 * WAREHOUSES), Batch::new());
    let mut deliver = |connection: &mut Connection, empty: &str| {
        let mut log = Log::default();
        loop {
            // Orders placed since refill districts.
            connection.query(&format!("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id IN ({empty})")).unwrap();
            if operate(connection, &mut client, &mut batch, &mut log) == DELIVERY {
                break;
            }
        }
        let skipped = <TpccWorker as Worker>::draws(&client.worker).tallies["skipped_district"].sum;
        let districts = client.worker.delivery().delivered().map(|(district, ..)| district).collect::<Vec<_>>();
        (skipped, districts, log.round_trips[&DELIVERY][0])
    };
    let all: Vec<i32> = (1..=10).collect();
    let documented = documented(profile);
    let full = *documented.of[usize::from(DELIVERY.0)].end();
    assert_eq!(deliver(connection, "0"), (0.0, all.clone(), full));
    let partly = if profile == Profile::Chatty { full - 3 } else { full };
    assert_eq!(deliver(connection, "8, 9, 3"), (3.0, vec![1, 2, 4, 5, 6, 7, 10], partly));
    assert_eq!(deliver(connection, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"), (13.0, vec![], documented.of_empty_delivery));
}
