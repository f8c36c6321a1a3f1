//! TPC-C through the whole program: load, run, check, and what happens when transactions collide.

use crate::support;

use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};
use support::program::{self, Ended, exec, start};

fn tpcc(action: &str, dsn: &str) -> Value {
    program::spec(action, dsn, json!({"kind": "tpcc", "warehouses": 1}))
}

#[test]
fn load_run_check_and_collisions() {
    let Some(server) = support::server() else { return };
    let dsn = server.dsn();
    let loaded = exec(&tpcc("load", &dsn)).expect(0);
    let rows = |table: &str| {
        let tables = loaded.finished()["tables"].as_array().unwrap();
        tables.iter().find(|line| line["table"] == table).map(|line| line["rows"].as_u64().unwrap())
    };
    assert_eq!((rows("item"), rows("customer"), rows("warehouse")), (Some(100_000), Some(30_000), Some(1)));
    assert_eq!(loaded.finished()["conditions"].as_array().unwrap().len(), 16);

    let mut spec = tpcc("run", &dsn);
    spec["seed"] = json!(7);
    spec["connections"] = json!(8);
    spec["duration_s"] = json!(3);
    let ended = exec(&spec).expect(0);
    let finished = ended.finished();
    assert_eq!(finished["constants"]["c_load"], loaded.finished()["constants"]["c_load"]);
    assert!(finished["counters"].as_array().unwrap().iter().all(|counter| counter["agrees"] == true));
    assert_eq!(finished["conditions"].as_array().unwrap().len(), 15, "condition 11 holds only after loading");

    spec["target"]["isolation"] = json!("serializable");
    spec["max_retries"] = json!(2);
    spec["max_failed_percent"] = json!(100);
    let ended = exec(&spec).expect(0);
    assert_eq!(ended.finished()["isolation"], "serializable");
    let errors = ended.finished()["errors"].as_array().unwrap();
    assert!(errors.iter().any(|error| error["sqlstate"] == "40001" && error["kind"] == "retried"), "{errors:?}");
    exec(&tpcc("check", &dsn)).expect(0);

    let other = program::spec("run", &dsn, json!({"kind": "tpcc", "warehouses": 2}));
    let refused = exec(&other).expect(2);
    assert!(refused.message().contains("has 1 warehouse, the spec says 2"), "{}", refused.message());

    cut_sessions_lose_nothing(&server);
    a_commit_of_which_nobody_knows_is_in_doubt(&server);

    a_row_that_is_missing_ends_the_run_and_leaves_nothing_half_done(&server);

    server.connect().query("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 3").unwrap();
    let broken = exec(&tpcc("check", &dsn)).expect(5);
    assert!(broken.message().contains("condition 1 is broken"), "{}", broken.message());
}

fn counters(ended: &Ended) -> &Vec<Value> {
    ended.finished()["counters"].as_array().unwrap()
}

/// Sessions are ended again and again, in whatever they are doing: what was committed is counted, and no more.
fn cut_sessions_lose_nothing(server: &support::Server) {
    let mut spec = tpcc("run", &server.dsn());
    spec["seed"] = json!(8);
    spec["max_failed_percent"] = json!(100);
    spec["connections"] = json!(8);
    spec["duration_s"] = json!(4);
    // Any session in the middle of a transaction; one that is only logging in has nothing to lose.
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE \
               application_name = 'nephoscope-load' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL \
               ORDER BY random() LIMIT 4) AS cut";
    let mut admin = server.connect();
    let mut running = start(&spec);
    running.wait_for("interval");
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        admin.query(cut).unwrap();
        thread::sleep(Duration::from_millis(30));
    }
    let ended = running.end().expect(0);
    // Those that the counters count.
    let lost: u64 = ended.finished()["errors"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|error| {
            error["sqlstate"] == "lost" && (error["operation"] == "new_order" || error["operation"] == "payment")
        })
        .map(|error| error["count"].as_u64().unwrap())
        .sum();
    assert!(lost >= 5, "only {lost} of these operations were cut");
    assert_eq!(counters(&ended).len(), 2);
    assert!(counters(&ended).iter().all(|counter| counter["agrees"] == true), "{:?}", counters(&ended));
    let in_doubt: u64 = counters(&ended).iter().map(|counter| counter["in_doubt"].as_u64().unwrap()).sum();
    assert!(in_doubt < lost, "of {lost} lost operations, {in_doubt} are said to have been at their commit");
    let conditions = ended.finished()["conditions"].as_array().unwrap();
    assert!(conditions.iter().all(|condition| condition["holds"] == true));
}

/// In this profile the COMMIT is on its way before the answers are.
fn a_row_that_is_missing_ends_the_run_and_leaves_nothing_half_done(server: &support::Server) {
    server.connect().query("DELETE FROM customer WHERE c_id % 2 = 0").unwrap();
    let workload = json!({"kind": "tpcc", "warehouses": 1, "profile": "pipelined"});
    let ended = exec(&program::spec("run", &server.dsn(), workload)).expect(5);
    assert!(ended.message().contains("a row that the transaction needs is missing"), "{}", ended.message());
    let errors = ended.finished()["errors"].as_array().unwrap();
    assert!(errors.iter().any(|error| error["sqlstate"] == "data" && error["kind"] == "failed"), "{errors:?}");
    assert!(counters(&ended).iter().all(|counter| counter["agrees"] == true), "{:?}", counters(&ended));
    let broken = ended.finished()["conditions"].as_array().unwrap().iter().filter(|it| it["holds"] == false);
    let broken: Vec<i64> = broken.map(|condition| condition["number"].as_i64().unwrap()).collect();
    assert_eq!(broken, [10, 12, 15, 16], "those that count customers, and no others");
}

/// A server that answers COMMIT with "statement completion unknown" may have committed.
fn a_commit_of_which_nobody_knows_is_in_doubt(server: &support::Server) {
    server
        .connect()
        .query(
            "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE SQLSTATE '40003' USING MESSAGE = 'who knows'; END $$; \
             CREATE CONSTRAINT TRIGGER forget AFTER INSERT ON history DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW WHEN (NEW.h_amount < 1000) EXECUTE FUNCTION forget()",
        )
        .unwrap();
    let ended = exec(&tpcc("run", &server.dsn())).expect(7);
    server.connect().query("DROP TRIGGER forget ON history").unwrap();
    let errors = ended.finished()["errors"].as_array().unwrap();
    let unknown = errors.iter().find(|error| error["sqlstate"] == "40003").expect("such errors");
    assert_eq!((&unknown["operation"], &unknown["kind"]), (&json!("payment"), &json!("failed")));
    let payments = counters(&ended).iter().find(|counter| counter["name"] == "count_history").unwrap();
    assert_eq!((&payments["in_doubt"], &payments["agrees"]), (&unknown["count"], &json!(true)));
}
