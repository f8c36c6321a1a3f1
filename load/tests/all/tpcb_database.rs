//! pgbench's transaction on a real PostgreSQL.

use crate::support;

use serde_json::{Value, json};
use support::program::{Ended, exec, spec};

fn tpcb(profile: &str) -> Value {
    json!({"kind": "tpcb", "scale": 1, "profile": profile})
}

fn committed(ended: &Ended) -> u64 {
    let totals = ended.finished()["operations"].as_array().unwrap();
    totals.iter().filter(|it| it["outcome"] == "committed").map(|it| it["all"].as_u64().unwrap()).sum()
}

#[test]
fn deposits_are_counted_and_what_does_not_add_up_is_found() {
    let Some(server) = support::server() else { return };
    let dsn = server.dsn();
    let mut load = spec("load", &dsn, tpcb("chatty"));
    load["fingerprint"] = json!(true);
    let loaded = exec(&load).expect(0);
    assert_eq!(loaded.finished()["conditions"].as_array().unwrap().len(), 7);
    for fingerprint in loaded.finished()["fingerprints"].as_array().unwrap() {
        assert_eq!(fingerprint["hash"], fingerprint["expected"]);
    }
    for (profile, trips) in [("chatty", 7), ("pipelined", 1)] {
        let mut run = spec("run", &dsn, tpcb(profile));
        (run["operations"], run["duration_s"]) = (json!(300), json!(60));
        let ended = exec(&run).expect(0);
        let (done, finished) = (committed(&ended), ended.finished());
        let counter = &finished["counters"][0];
        assert!(done == 300 && counter["server"] == json!(done) && counter["name"] == "history_rows", "{counter}");
        let statistics = &finished["counters"].as_array().unwrap()[1..];
        let told: Vec<_> = statistics.iter().map(|it| (it["name"].as_str().unwrap(), &it["server"])).collect();
        let expected = [json!(done), json!(3 * done), json!(0), json!(4 * done)];
        let names = ["rows_inserted", "rows_updated", "rows_deleted", "scans"];
        assert_eq!(told, names.into_iter().zip(&expected).collect::<Vec<_>>());
        assert_eq!(finished["round_trips"], json!(trips * done));
        let audit = finished["audit"].as_array().unwrap();
        assert!(audit.len() == 4 && audit.iter().all(|line| line["passed"] != json!(false)), "{audit:?}");
    }
    for (damage, numbers) in [
        ("UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 5", "condition 2"),
        ("UPDATE pgbench_accounts SET abalance = abalance - 1 WHERE aid = 6", "condition 6"),
        (
            "UPDATE pgbench_accounts SET abalance = abalance + CASE aid WHEN 5 THEN -1 ELSE 1 END WHERE aid IN (5, 6); \
          UPDATE pgbench_tellers SET tbalance = tbalance + CASE tid WHEN 1 THEN 1 ELSE -1 END WHERE tid < 3",
            "condition 5",
        ),
        ("DELETE FROM pgbench_history", "condition 3"),
        ("DELETE FROM pgbench_tellers WHERE tid = 4", "condition 1"),
    ] {
        server.connect().query(damage).unwrap();
        let broken = exec(&spec("check", &dsn, tpcb("chatty"))).expect(5);
        assert!(broken.message().contains(numbers), "{damage}: {}", broken.message());
    }
    let lost = exec(&spec("run", &dsn, tpcb("chatty"))).expect(5);
    assert!(lost.message().contains("update_teller found 0 rows"), "{}", lost.message());
    let balances =
        || server.connect().query("SELECT sum(bbalance), sum(abalance) FROM pgbench_branches, pgbench_accounts");
    server.connect().query("DELETE FROM pgbench_tellers").unwrap();
    for profile in ["chatty", "pipelined"] {
        let before = balances().unwrap();
        let lost = exec(&spec("run", &dsn, tpcb(profile))).expect(5);
        assert_eq!(committed(&lost), 0, "{profile}");
        assert_eq!(balances().unwrap(), before, "{profile}: half of a deposit was committed");
        assert!(lost.message().contains("row"), "{}", lost.message());
    }
}
