//! The whole program when things go wrong: what it finds out is told, and nothing is measured that is not meant.

use crate::support;

use rustix::process::Signal;
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};
use support::program::{self, Ended, exec, point_select, start};

fn loaded() -> Option<support::Server> {
    let server = support::server()?;
    exec(&point_select("load", &server.dsn())).expect(0);
    Some(server)
}

/// Puts a view in the table's place: `c` as this expression makes it, and rows only where `condition` holds.
fn replace_table(server: &support::Server, c: &str, condition: &str) {
    let sql = format!(
        "ALTER TABLE sbtest1 RENAME TO base; CREATE VIEW sbtest1 AS SELECT id, ({c})::text AS c FROM base WHERE {condition}"
    );
    server.connect().query(&sql).unwrap();
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

/// How many errors of this name were given up on.
fn failed_with(ended: &Ended, name: &str) -> u64 {
    let errors = list(&ended.finished()["errors"]).iter();
    errors
        .filter(|error| error["sqlstate"] == name && error["kind"] == "failed")
        .map(|it| it["count"].as_u64().unwrap())
        .sum()
}

fn total(ended: &Ended, outcome: &str) -> u64 {
    let totals = list(&ended.finished()["operations"]).iter();
    totals.filter(|total| total["outcome"] == outcome).map(|total| total["all"].as_u64().unwrap()).sum()
}

#[test]
#[should_panic(expected = "NEPHOSCOPE_PG_BIN")]
fn without_postgres_nothing_passes_in_ci() {
    let _ = support::skip::<()>(true);
}

#[test]
fn a_breach_stays_found_when_a_later_condition_cannot_be_checked() {
    let Some(server) = loaded() else { return };
    // Counting the rows does not look at their ids; looking for an id does, and divides by zero.
    server
        .connect()
        .query("DROP TABLE sbtest1; CREATE VIEW sbtest1 AS SELECT 1 / (g - g) AS id, 'c' AS c FROM generate_series(1, 7) AS g")
        .unwrap();
    let ended = exec(&point_select("check", &server.dsn())).expect(5);
    assert!(
        ended.message().contains("condition 1 is broken") && ended.message().contains("7 rows"),
        "{}",
        ended.message()
    );
    assert_eq!(list(&ended.finished()["conditions"]).len(), 1);
}

#[test]
fn a_server_that_comes_back_is_asked_what_it_lost() {
    let Some(mut server) = loaded() else { return };
    server.connect().query("INSERT INTO sbtest1 (id, k, c, pad) VALUES (20001, 1, 'x', 'y'); CHECKPOINT").unwrap();
    let mut spec = point_select("run", &server.dsn());
    spec["duration_s"] = json!(60);
    let mut running = start(&spec);
    running.wait_for("interval");
    server.kill();
    thread::sleep(Duration::from_secs(7)); // The load gives up after 5.
    server.restart();
    let ended = running.end().expect(5);
    assert!(ended.message().contains("condition 1 is broken"), "{}", ended.message());
    assert_eq!(list(&ended.finished()["conditions"]).len(), 2);
    assert_eq!(failed_with(&ended, "lost"), 4);

    server.connect().query("DELETE FROM sbtest1 WHERE id = 20001").unwrap();
    let mut running = start(&spec);
    running.wait_for("interval");
    server.kill();
    thread::sleep(Duration::from_secs(7));
    server.restart();
    let ended = running.end().expect(6);
    assert!(ended.message().contains("did not come back"), "{}", ended.message());
    let holds = |condition: &Value| condition["holds"] == true;
    assert!(list(&ended.finished()["conditions"]).iter().filter(|it| holds(it)).count() == 2, "checked all the same");
}

#[test]
fn who_leaves_a_statement_behind_tells_what_is_known() {
    let Some(server) = loaded() else { return };
    replace_table(&server, "c", "pg_sleep(0.001)::text IS NOT NULL"); // 20 s for a count of all rows
    let mut running = start(&point_select("run", &server.dsn()));
    running.wait_for("interval");
    thread::sleep(Duration::from_millis(500));
    server.signal(Signal::STOP);
    running.signal(Signal::INT);
    let ended = running.end_within(support::HANGS);
    server.signal(Signal::CONT);
    let ended = ended.expect(130);
    assert!(ended.message().contains("interrupted by a signal") && ended.message().contains("left running"));
    assert!(total(&ended, "committed") > 0 && ended.finished()["measured_s"] == 1.0, "{}", ended.finished());
    assert!(!list(&ended.finished()["audit"]).is_empty());
}

#[test]
fn a_closed_stderr_is_no_reason_to_fail() {
    let Some(server) = loaded() else { return };
    server.connect().query("DELETE FROM sbtest1 WHERE id = 1").unwrap();
    let mut running = start(&point_select("check", &server.dsn()));
    running.close_stderr();
    running.end().expect(5).finished();
    let mut running = program::spawn(program::command().arg("exec"));
    running.close_stderr();
    running.close_stdin();
    assert_eq!(running.end().code, 2, "no spec");
}

#[test]
fn retries_end_with_the_load() {
    let Some(server) = loaded() else { return };
    let collide = "CREATE FUNCTION collide() RETURNS text LANGUAGE plpgsql STABLE AS \
                   $$ BEGIN RAISE SQLSTATE '40001' USING MESSAGE = 'always'; END $$";
    server.connect().query(collide).unwrap();
    replace_table(&server, "collide()", "true");
    let mut spec = point_select("run", &server.dsn());
    spec["max_retries"] = json!(1_000);
    let began = Instant::now();
    let ended = exec(&spec).expect(7);
    assert!(began.elapsed() < support::HANGS, "{:?}", began.elapsed());
    assert_eq!((total(&ended, "failed"), failed_with(&ended, "40001")), (4, 4), "one operation each");
}

#[test]
fn a_server_that_refuses_everything_is_told_and_is_not_pressed() {
    let Some(server) = loaded() else { return };
    replace_table(&server, "1 / (k - k)", "true");
    let mut spec = point_select("run", &server.dsn());
    let ended = exec(&spec).expect(7);
    let failed = total(&ended, "failed");
    assert!(ended.message().contains("operations failed, most of them point_select with 22012: 100.000 %"));
    assert_eq!(list(&ended.finished()["conditions"]).len(), 2, "the output is complete");
    assert_eq!(ended.finished()["isolation"], "read committed");
    spec["max_failed_percent"] = json!(100);
    let allowed = exec(&spec).expect(0);
    let all = format!("all {} operations failed", total(&allowed, "failed"));
    assert!(allowed.message().contains(&all), "{}", allowed.message());
    assert!(ended.message().contains("22012") && ended.stderr.contains("22012"), "{}", ended.message());
    assert!((8..2_000).contains(&failed), "{failed} operations of 4 connections in a second");
}

#[test]
fn the_operation_that_met_damaged_data_failed_of_it() {
    let Some(server) = loaded() else { return };
    server.connect().query("DELETE FROM sbtest1 WHERE id > 19000").unwrap();
    let ended = exec(&point_select("run", &server.dsn())).expect(5);
    assert!(ended.message().contains("damaged"), "{}", ended.message());
    let failed = total(&ended, "failed");
    assert!((1..=4).contains(&failed) && failed_with(&ended, "data") == failed, "{}", ended.finished());
}

#[test]
fn nothing_is_checked_before_every_worker_has_ended() {
    let Some(server) = loaded() else { return };
    let slow = "CREATE FUNCTION slow(text) RETURNS text LANGUAGE plpgsql STABLE AS \
                $$ BEGIN PERFORM pg_sleep(4.5); RETURN $1; END $$";
    server.connect().query(slow).unwrap();
    // Half of the rows are missing, which ends the load at once; the others take longer than who interrupts would wait.
    replace_table(&server, "slow(c)", "id <= 10000");
    // On a busy machine the first worker may end the load before another has begun: then there was nothing to wait for.
    for _ in 0..10 {
        let began = Instant::now();
        let ended = exec(&point_select("run", &server.dsn())).expect(5);
        assert_eq!(failed_with(&ended, "data"), total(&ended, "failed"), "{}", ended.finished());
        if total(&ended, "committed") > 0 {
            assert!(began.elapsed() > Duration::from_secs(4), "{:?}", began.elapsed());
            return;
        }
    }
    panic!("in ten loads no worker had a slow operation under way");
}
