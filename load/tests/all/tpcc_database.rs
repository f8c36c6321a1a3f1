//! TPC-C against a real server: what is loaded, what runs leave behind, and that each condition can fail.

use crate::tpcc_driver;

use crate::support::Server;
use nephoscope_load::target::postgres::{Connection, Isolation};
use nephoscope_load::target::{AdminSession, Dialect};
use nephoscope_load::workload::tpcc::Tpcc;
use nephoscope_load::workload::tpcc::population::{Population, PopulationOptions};
use nephoscope_load::workload::{Condition, Dataset, Workload};
use std::collections::BTreeSet;
use std::time::Instant;
use tpcc_driver::{
    LOADED, SEED, WAREHOUSES, assert_all_hold, check, connect, copy, drive, drive_many, loaded_server, number, one,
    workload,
};

#[test]
fn tpcc_on_postgres() {
    let Some(server) = loaded_server() else { return };
    damage(&server, Damages::OneForEachCondition);
    concurrent_runs_keep_all_conditions(&server, Isolation::ReadCommitted, 8, 300);
    concurrent_runs_keep_all_conditions(&server, Isolation::Serializable, 4, 150);
    one_terminal_leaves_the_same_rows_twice(&server);
    foreign_keys_fit(&server);
}

#[test]
#[ignore = "takes a minute; `make test-all` runs it"]
fn every_damage_breaks_its_conditions_and_no_others() {
    let Some(server) = loaded_server() else { return };
    damage(&server, Damages::All);
}

// ---- after the load --------------------------------------------------------------------------------------------

fn damage(server: &Server, damages: Damages) {
    let connection = &mut connect(server, LOADED);
    let tpcc = workload(connection, 1);
    assert_all_hold(connection, &tpcc, true);
    every_condition_fails_on_damaged_data(connection, &<Tpcc as Workload>::conditions(&tpcc), damages);
    empty_tables_violate(connection, &tpcc);
    assert_all_hold(connection, &tpcc, true);
    another_data_set_is_refused(connection);
}

fn another_data_set_is_refused(connection: &mut Connection) {
    use nephoscope_load::workload::tpcc::{TpccOptions, constants::StoredConstants, profile::Profile, worker::Clock};
    let stored = StoredConstants::new(WAREHOUSES, SEED);
    assert_eq!(number(connection, "SELECT value FROM tpcc_constant WHERE name = 'c_load'"), i64::from(stored.c_load));
    let options = TpccOptions {
        warehouses: 3,
        active_warehouses: None,
        seed: 1,
        clock: Clock::Wall,
        profile: Profile::Batched,
        mix: nephoscope_load::workload::tpcc::terminals::Mix::Standard,
        wait_factor: None,
        dialect: Dialect::Postgres,
    };
    assert!(Tpcc::new(options, &stored).unwrap_err().contains("2 warehouses, the spec says 3"));
    let options = TpccOptions { warehouses: 2, active_warehouses: Some(3), ..options };
    assert!(Tpcc::new(options, &stored).unwrap_err().contains("3 is not from 1 to 2"));
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

#[derive(Clone, Copy, PartialEq)]
pub enum Damages {
    /// And no condition may break that a damage has nothing to do with.
    All,
    /// Of each damage only its own conditions are asked.
    OneForEachCondition,
}

pub fn every_condition_fails_on_damaged_data(
    connection: &mut impl AdminSession,
    conditions: &[Condition],
    damages: Damages,
) {
    let mut seen = BTreeSet::new();
    for (damage, expected) in DAMAGES {
        if damages == Damages::OneForEachCondition && expected.iter().all(|number| seen.contains(number)) {
            continue;
        }
        connection.query("BEGIN").unwrap();
        connection.query(damage).unwrap_or_else(|error| panic!("{error}: {damage}"));
        let mut violated = Vec::new();
        let asked = |number| damages == Damages::All || expected.contains(&number);
        for condition in conditions.iter().filter(|condition| asked(condition.number)) {
            let (violations, example) = check(connection, condition);
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
    let violated: Vec<u8> = <Tpcc as Workload>::conditions(tpcc)
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
        <Tpcc as Workload>::server_counters(&tpcc).iter().map(|counter| number(connection, &counter.sql)).collect()
    };
    let before = count(&mut connection);
    let began = Instant::now();
    let log = drive_many(server, &name, &tpcc, workers, each, isolation);
    eprintln!("{name}: {} operations in {:?}, {} retries", workers * each, began.elapsed(), log.retries);
    assert_all_hold(&mut connection, &tpcc, false);
    let after = count(&mut connection);
    for (index, counter) in <Tpcc as Workload>::server_counters(&tpcc).iter().enumerate() {
        let client = i64::try_from(log.committed[&counter.operation]).unwrap();
        assert_eq!(after[index] - before[index], client, "{}", counter.name);
    }
    counts_beyond_the_conditions_agree(&mut connection);
    for line in <Tpcc as Workload>::audit(&tpcc, workers, &log.draws) {
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

fn foreign_keys_fit(server: &Server) {
    let connection = &mut copy(server, "foreign_keys");
    let population =
        Population::new(PopulationOptions { foreign_keys: true, ..PopulationOptions::new(WAREHOUSES, SEED) });
    for sql in population.finish(Dialect::Postgres).iter().filter(|sql| sql.starts_with("ALTER TABLE")) {
        connection.query(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
    assert_eq!(number(connection, "SELECT count(*) FROM pg_constraint WHERE contype = 'f'"), 10);
    let tpcc = workload(connection, 8);
    drive_many(server, "foreign_keys", &tpcc, 4, 50, Isolation::ReadCommitted);
    assert_all_hold(connection, &tpcc, false);
}
