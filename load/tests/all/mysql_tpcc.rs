//! TPC-C on a real MariaDB: what is loaded, what runs leave behind, and that each condition can fail.

use crate::support;
use crate::tpcc_database::{Damages, every_condition_fails_on_damaged_data};
use crate::tpcc_driver::check;

use nephoscope_load::target::mysql::Connection;
use nephoscope_load::target::{Dialect, postgres};
use nephoscope_load::workload::Dataset;
use nephoscope_load::workload::tpcc::conditions::conditions;
use nephoscope_load::workload::tpcc::population::{Population, PopulationOptions};
use nephoscope_load::workload::tpcc::schema::TABLES;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;
use support::mariadb::{MariaDb, mariadb};
use support::program::{self, Ended, exec, start};

/// On either server, in a profile that both have.
fn tpcc(action: &str, dsn: &str, warehouses: u32) -> Value {
    let mut spec = program::spec(action, dsn, json!({"kind": "tpcc", "warehouses": warehouses, "profile": "chatty"}));
    spec["target"]["kind"] = json!(if dsn.starts_with("mysql") { "mysql" } else { "postgres" });
    spec
}

fn load(dsn: &str, warehouses: u32) {
    let mut load = tpcc("load", dsn, warehouses);
    load["fingerprint"] = json!(true);
    let loaded = exec(&load).expect(0);
    let fingerprints = loaded.finished()["fingerprints"].as_array().unwrap();
    assert_eq!(fingerprints.len(), TABLES.len());
    assert!(fingerprints.iter().all(|it| it["hash"] == it["expected"]), "{fingerprints:?}");
    assert_eq!(loaded.finished()["conditions"].as_array().unwrap().len(), 16);
}

fn session(server: &MariaDb, dsn: &str) -> Connection {
    let mut connection = server.connect();
    connection.query(&format!("USE {}", dsn.rsplit('/').next().unwrap())).unwrap();
    connection
}

fn errors(ended: &Ended) -> &Vec<Value> {
    ended.finished()["errors"].as_array().unwrap()
}

/// The server's counters and the conditions agree with what the run says of itself.
fn expect_sound(ended: Ended, isolation: &str) -> Ended {
    let ended = ended.expect(0);
    let finished = ended.finished();
    let counters = finished["counters"].as_array().unwrap();
    assert!(counters.len() >= 2 && counters.iter().all(|it| it["agrees"] == true), "{counters:?}");
    let conditions = finished["conditions"].as_array().unwrap();
    assert!(conditions.len() == 15 && conditions.iter().all(|it| it["holds"] == true), "{conditions:?}");
    assert_eq!(finished["isolation"], isolation);
    ended
}

#[test]
fn tpcc_on_mariadb() {
    let Some(server) = mariadb() else { return };
    let dsn = server.database();
    load(&dsn, 2);
    let of_data = conditions(2, Dialect::Mysql);
    every_condition_fails_on_damaged_data(&mut session(&server, &dsn), &of_data, Damages::OneForEachCondition);
    let ended = run_at("serializable", "chatty", &dsn);
    assert!(errors(&ended).iter().any(|it| it["sqlstate"] == "40001"), "nobody met a deadlock");
    run_at("repeatable read", "proc", &dsn);
    killed_sessions_leave_nothing_half_done(&server, &dsn);
    session(&server, &dsn).query("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 3").unwrap();
    let broken = exec(&tpcc("check", &dsn, 2)).expect(5);
    assert!(broken.message().contains("condition 1 is broken"), "{}", broken.message());
}

/// Eight clients, who try again whatever the level makes them give up.
fn run_at(isolation: &str, profile: &str, dsn: &str) -> Ended {
    let mut run = tpcc("run", dsn, 2);
    run["workload"]["profile"] = json!(profile);
    (run["target"]["isolation"], run["connections"], run["duration_s"]) = (json!(isolation), json!(8), json!(60));
    (run["operations"], run["max_retries"]) = (json!(250), json!(1_000));
    let ended = expect_sound(exec(&run), isolation);
    assert!(errors(&ended).iter().all(|it| it["kind"] == "retried"), "{:?}", errors(&ended));
    ended
}

#[test]
#[ignore = "takes minutes; `make test-all` runs it"]
fn every_damage_breaks_its_conditions_and_kills_at_every_level_none() {
    let Some(server) = mariadb() else { return };
    let dsn = server.database();
    load(&dsn, 2);
    let of_data = conditions(2, Dialect::Mysql);
    every_condition_fails_on_damaged_data(&mut session(&server, &dsn), &of_data, Damages::All);
    for isolation in ["read committed", "repeatable read", "serializable"] {
        for profile in ["chatty", "proc"] {
            run_at(isolation, profile, &dsn);
            killed_generators_leave_nothing_half_done(&server, (isolation, profile), &dsn);
        }
    }
}

/// The server rolls back what its clients cannot finish any more.
fn killed_generators_leave_nothing_half_done(server: &MariaDb, (isolation, profile): (&str, &str), dsn: &str) {
    let mut admin = session(server, dsn);
    let mut payments = || admin.query("SELECT count(*) FROM history").unwrap();
    for seed in 100..105 {
        let before = payments();
        let mut run = tpcc("run", dsn, 2);
        (run["target"]["isolation"], run["connections"], run["duration_s"]) = (json!(isolation), json!(12), json!(60));
        (run["seed"], run["workload"]["profile"]) = (json!(seed), json!(profile));
        let running = start(&run);
        while payments() == before {
            thread::sleep(Duration::from_millis(seed));
        }
        running.kill();
        exec(&tpcc("check", dsn, 2)).expect(0);
    }
    mariadb_check_finds_nothing(server, dsn);
}

/// The statement that `mariadb-check` sends.
fn mariadb_check_finds_nothing(server: &MariaDb, dsn: &str) {
    let mut admin = session(server, dsn);
    for table in TABLES {
        let found = admin.query(&format!("CHECK TABLE {}", table.name)).unwrap();
        assert_eq!(found[0][2..], ["status", "OK"].map(|text| Some(text.to_owned())), "{found:?}");
    }
}

/// Tables that are there and have no rows are not consistent.
#[test]
fn empty_tables_violate() {
    let Some(server) = mariadb() else { return };
    let dsn = server.database();
    let mut connection = session(&server, &dsn);
    for sql in Population::new(PopulationOptions::new(1, 1)).create(Dialect::Mysql) {
        connection.query(&sql).unwrap();
    }
    let violated = conditions(1, Dialect::Mysql).into_iter().filter(|it| check(&mut connection, it).0 > 0);
    let violated: Vec<u8> = violated.map(|condition| condition.number).collect();
    assert_eq!(violated, [1, 2, 4, 8, 9, 10, 11, 12, 13, 15, 16]);
}

/// Kills sessions of the load while it runs, as an administrator does.
fn killed_sessions_leave_nothing_half_done(server: &MariaDb, dsn: &str) {
    let mut run = tpcc("run", dsn, 2);
    (run["connections"], run["duration_s"], run["max_failed_percent"]) = (json!(6), json!(3), json!(100));
    let mut admin = session(server, dsn);
    let mut payments = || admin.query("SELECT count(*) FROM history").unwrap();
    let before = payments();
    let running = start(&run);
    // A session that is killed before the run begins is a server that cannot be reached.
    while payments() == before {
        thread::sleep(Duration::from_millis(20));
    }
    // Those that are open now: the session that checks the tables afterwards is none of them.
    let of_the_load = "SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()";
    let mut killed = 0;
    for session in admin.query(of_the_load).unwrap() {
        thread::sleep(Duration::from_millis(50));
        // It may have gone meanwhile.
        killed += u32::from(admin.query(&format!("KILL {}", session[0].as_ref().unwrap())).is_ok());
    }
    let ended = expect_sound(running.end(), "read committed");
    mariadb_check_finds_nothing(server, dsn);
    assert!(killed > 2 && errors(&ended).iter().any(|it| it["kind"] != "retried"), "{killed}: {:?}", errors(&ended));
}

/// One client, one seed, no clock: both servers hold the same rows after it, and so they do where procedures wrote them.
#[test]
fn postgresql_and_mariadb_are_left_with_the_same_rows() {
    let (Some(server), Some(postgres)) = (mariadb(), support::server()) else { return };
    let (dsns, others) = ([server.database(), server.database()], postgres.dsn());
    for (dsn, profile) in [(&dsns[0], "chatty"), (&dsns[1], "proc"), (&others, "chatty")] {
        load(dsn, 1);
        let mut run = tpcc("run", dsn, 1);
        (run["connections"], run["operations"], run["duration_s"]) = (json!(1), json!(250), json!(60));
        (run["workload"]["timestamps"], run["workload"]["profile"]) = (json!("logical"), json!(profile));
        run["seed"] = json!(3);
        let ended = expect_sound(exec(&run), "read committed");
        let outcomes = ended.finished()["operations"].as_array().unwrap();
        assert!(outcomes.iter().any(|it| it["outcome"] == "rolled_back_by_design"), "{outcomes:?}");
    }
    let mut others = postgres.connect();
    for dsn in &dsns {
        expect_same_rows(&mut session(&server, dsn), &mut others);
    }
    a_procedure_that_misses_a_row_leaves_nothing(&server, &dsns[1]);
}

fn a_procedure_that_misses_a_row_leaves_nothing(server: &MariaDb, dsn: &str) {
    let mut admin = session(server, dsn);
    for (damage, mix, changed) in [
        ("UPDATE order_line SET ol_w_id = 2", "standard", "sum(c_delivery_cnt) FROM customer"),
        ("DELETE FROM stock", "new_order", "sum(d_next_o_id), (SELECT count(*) FROM order_line) FROM district"),
    ] {
        admin.query(damage).unwrap();
        let before = admin.query(&format!("SELECT {changed}")).unwrap();
        let mut run = tpcc("run", dsn, 1);
        (run["connections"], run["operations"], run["duration_s"]) = (json!(1), json!(60), json!(60));
        (run["workload"]["mix"], run["workload"]["profile"], run["check"]) = (json!(mix), json!("proc"), json!("none"));
        let ended = exec(&run).expect(5);
        assert!(ended.message().contains("a row is missing"), "{}", ended.message());
        assert_eq!(admin.query(&format!("SELECT {changed}")).unwrap(), before);
    }
}

fn expect_same_rows(ours: &mut Connection, others: &mut postgres::Connection) {
    for table in TABLES {
        let changed = match table.name {
            "stock" => "s_order_cnt > 0",
            "customer" => "c_payment_cnt > 1 OR c_delivery_cnt > 0",
            "order_line" => "ol_o_id > 2100",
            "history" => "h_amount <> 10",
            "item" => continue,
            _ => "0 = 0",
        };
        let text = |dialect| format!("SELECT {} FROM {} WHERE {changed}", table.text_sql(dialect), table.name);
        let mut rows = [ours.query(&text(Dialect::Mysql)).unwrap(), others.query(&text(Dialect::Postgres)).unwrap()];
        rows.iter_mut().for_each(|rows| rows.sort());
        let different = rows[0].iter().zip(&rows[1]).find(|(ours, others)| ours != others);
        assert_eq!((different, rows[0].len()), (None, rows[1].len()), "{}", table.name);
        assert!(!rows[0].is_empty(), "{}", table.name);
    }
}
