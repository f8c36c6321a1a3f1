//! The workload kv on a real PostgreSQL.

use crate::support;

use serde_json::{Value, json};
use support::program::{Ended, exec, spec};

fn kv(action: &str, dsn: &str, more: Value) -> Value {
    let mut workload = json!({"kind": "kv", "rows": 20_000, "min_block_bytes": 1, "max_block_bytes": 50});
    workload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec(action, dsn, workload)
}

fn counter(ended: &Ended) -> (u64, u64) {
    let counter = &ended.finished()["counters"][0];
    (counter["server"].as_u64().unwrap(), counter["client"].as_u64().unwrap())
}

/// What the server's statistics told, within what the client expected.
fn statistic(ended: &Ended, name: &str) -> u64 {
    let counters = ended.finished()["counters"].as_array().unwrap();
    let found = counters.iter().find(|counter| counter["name"] == name).expect("it was compared");
    assert_eq!(found["agrees"], true, "{found}");
    found["server"].as_u64().unwrap()
}

fn writes(ended: &Ended) -> u64 {
    let totals = ended.finished()["operations"].as_array().unwrap();
    totals.iter().filter(|total| total["operation"] == "write").map(|total| total["all"].as_u64().unwrap()).sum()
}

/// What the ledger of a run counts.
fn ledger(ended: &Ended, name: &str) -> u64 {
    ended.finished()["ledger"][name].as_u64().unwrap_or_else(|| panic!("{name}: {}", ended.finished()["ledger"]))
}

#[test]
fn acknowledged_writes_are_read_back_and_those_that_a_server_did_not_keep_are_counted() {
    let Some(server) = support::server() else { return };
    let with = |more: Value| {
        let mut all = json!({"min_block_bytes": 8, "read_percent": 50, "ledger": true});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    exec(&kv("load", &server.dsn(), with(json!({})))).expect(0);
    for more in [json!({"batch": 3}), json!({"distribution": "zipf"}), json!({"writes": "new", "batch": 2})] {
        let ended = exec(&kv("run", &server.dsn(), with(more))).expect(0);
        let batch = ended.lines[0]["spec"]["workload"]["batch"].as_u64().unwrap();
        assert_eq!(ledger(&ended, "acknowledged"), batch * writes(&ended));
        assert_eq!(["lost", "unsent", "in_doubt"].map(|name| ledger(&ended, name)), [0, 0, 0]);
    }
    // A server that says that it has written and has not, and counts for itself how often.
    let forgetful = "CREATE SEQUENCE forgotten; CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                     PERFORM nextval('forgotten'); RETURN NULL; END $$; \
                     CREATE TRIGGER forget BEFORE INSERT ON kv FOR EACH ROW WHEN (NEW.k % 5 = 0) \
                     EXECUTE FUNCTION forget()";
    let mut connection = server.connect();
    connection.query(forgetful).unwrap();
    let mut spec = kv("run", &server.dsn(), with(json!({"writes": "new"})));
    (spec["seed"], spec["check"]) = (json!(43), json!("none"));
    let ended = exec(&spec).expect(5);
    let forgotten = connection.query("SELECT last_value::text FROM forgotten").unwrap()[0][0].clone().unwrap();
    assert_eq!((ledger(&ended, "lost").to_string(), ledger(&ended, "unsent")), (forgotten, 0));
    assert!(ended.message().contains("acknowledged writes lost"), "{}", ended.message());
}

#[test]
fn writes_that_a_server_refuses_are_neither_acknowledged_nor_in_doubt() {
    let Some(server) = support::server() else { return };
    let more = json!({"min_block_bytes": 8, "read_percent": 50, "ledger": true, "writes": "new", "batch": 2});
    exec(&kv("load", &server.dsn(), more.clone())).expect(0);
    let refusing = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                    RAISE EXCEPTION 'cannot write now' USING ERRCODE = '25006'; END $$; \
                    CREATE TRIGGER refuse BEFORE INSERT ON kv FOR EACH ROW WHEN (NEW.k % 5 = 0) \
                    EXECUTE FUNCTION refuse()";
    server.connect().query(refusing).unwrap();
    let mut spec = kv("run", &server.dsn(), more);
    (spec["max_failed_percent"], spec["check"]) = (json!(100), json!("none"));
    let ended = exec(&spec).expect(0);
    assert!(ended.finished()["errors"][0]["count"].as_u64() > Some(0), "{}", ended.finished()["errors"]);
    assert!(ledger(&ended, "acknowledged") > 0);
    assert_eq!(["in_doubt", "lost", "unsent"].map(|name| ledger(&ended, name)), [0, 0, 0]);
}

#[test]
fn rows_are_loaded_driven_and_counted() {
    let Some(server) = support::server() else { return };
    let dsn = server.dsn();
    for order in ["hashed", "sequential"] {
        let mut load = kv("load", &dsn, json!({"order": order}));
        load["fingerprint"] = json!(true);
        let loaded = exec(&load).expect(0);
        let fingerprint = &loaded.finished()["fingerprints"][0];
        assert_eq!((&fingerprint["rows"], &fingerprint["hash"]), (&json!(20_000), &fingerprint["expected"]));
        for more in [
            json!({"order": order, "read_percent": 50}),
            json!({"order": order, "read_percent": 50, "batch": 7, "distribution": "zipf"}),
        ] {
            let ended = exec(&kv("run", &dsn, more)).expect(0);
            assert_eq!(counter(&ended), (0, 0));
            assert!(writes(&ended) > 50);
            let batch = ended.lines[0]["spec"]["workload"]["batch"].as_u64().unwrap();
            assert_eq!(statistic(&ended, "rows_updated"), batch * writes(&ended));
            assert!(statistic(&ended, "scans") > batch * writes(&ended));
            let audit = ended.finished()["audit"].as_array().unwrap();
            assert!(audit.len() == 3 && audit.iter().all(|line| line["passed"] != json!(false)), "{audit:?}");
        }
    }
    // New rows: the table grows by what was written, under a second seed once more.
    for seed in [42, 43] {
        let mut spec = kv("run", &dsn, json!({"order": "sequential", "read_percent": 50, "batch": 3, "writes": "new"}));
        spec["seed"] = json!(seed);
        let ended = exec(&spec).expect(0);
        let (grown, written) = counter(&ended);
        assert!(grown == written && written == 3 * writes(&ended) && written > 100, "{grown} {written}");
        assert_eq!((statistic(&ended, "rows_inserted"), statistic(&ended, "rows_updated")), (written, 0));
    }
    let mut again = kv("run", &dsn, json!({"order": "sequential", "read_percent": 50, "batch": 3, "writes": "new"}));
    again["check"] = json!("conditions");
    assert!(exec(&again).expect(5).message().contains("rows_added disagrees"));
}

#[test]
fn a_row_that_is_gone_is_damage() {
    let Some(server) = support::server() else { return };
    let dsn = server.dsn();
    exec(&kv("load", &dsn, json!({"order": "sequential"}))).expect(0);
    server.connect().query("DELETE FROM kv WHERE k BETWEEN 5000 AND 9000").unwrap();
    let broken = exec(&kv("check", &dsn, json!({"order": "sequential"}))).expect(5);
    assert!(broken.message().contains("4001 violations"), "{}", broken.message());
    let broken = exec(&kv("run", &dsn, json!({"order": "sequential", "read_percent": 100}))).expect(5);
    assert!(broken.message().contains("kv has 0 of the 1 rows"), "{}", broken.message());
}

/// Asks for another attempt at the third COPY, and fails at the fifth. A sequence counts what is rolled back, too.
const DISTURBED: &str = "CREATE SEQUENCE copies; \
    CREATE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE number int = nextval('copies'); BEGIN \
    IF number = 3 THEN RAISE EXCEPTION 'restart transaction' USING ERRCODE = '40001'; END IF; \
    IF number = 5 THEN RAISE EXCEPTION 'the disk is full'; END IF; RETURN NULL; END $$; \
    CREATE TRIGGER disturbed BEFORE INSERT ON kv FOR EACH STATEMENT EXECUTE FUNCTION disturb()";

/// As on a server that wants no large transactions: the same rows, each once, whatever came between.
#[test]
fn a_piece_in_several_transactions_is_loaded_once_through_attempts_and_an_end() {
    let Some(server) = support::server() else { return };
    let load = |part: &str| {
        let mut load = kv("load", &server.dsn(), json!({"min_block_bytes": 400, "max_block_bytes": 500}));
        load["target"]["dialect"] = json!("yugabytedb");
        (load["load"], load["fingerprint"]) = (json!({"part": part, "resume": false}), json!(true));
        load
    };
    exec(&load("create")).expect(0);
    let mut connection = server.connect();
    connection.query(DISTURBED).unwrap();
    assert!(exec(&load("rows")).expect(6).message().contains("the disk is full"));
    let mut rows = |sql: &str| connection.query(sql).unwrap()[0][0].as_ref().unwrap().parse::<u64>().unwrap();
    let noted = rows("SELECT rows FROM nephoscope_load WHERE step = 'first rows of kv 0'");
    assert!((12_000..15_000).contains(&noted), "three parts of 2 MiB: {noted}");
    assert_eq!(rows("SELECT count(*) FROM kv"), noted);
    assert!(exec(&load("finish")).expect(2).message().contains("1 of 1 pieces are not loaded"));
    exec(&load("rows")).expect(0);
    let finished = exec(&load("finish")).expect(0);
    let (table, fingerprint) = (&finished.finished()["tables"][0], &finished.finished()["fingerprints"][0]);
    assert_eq!((&table["rows"], &fingerprint["rows"]), (&json!(20_000), &json!(20_000)));
    assert_eq!(fingerprint["hash"], fingerprint["expected"]);
}
