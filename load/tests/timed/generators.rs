//! Several generators that share one run, and several hosts that serve one.

use crate::support;

use nephoscope_load::target::postgres::Connection;
use serde_json::{Value, json};
use support::program::{self, Ended, exec, point_select, start, unix_ms};

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no whole number: {value}"))
}

/// Sum of the ids that were drawn, and how many were.
fn drawn(ended: &Ended) -> (f64, u64) {
    let mean = &ended.finished()["audit"][0];
    assert_eq!(mean["name"], "mean_id");
    let draws = number(&mean["draws"]);
    ((mean["observed"].as_f64().unwrap() * draws as f64).round(), draws)
}

#[test]
fn shards_draw_together_what_one_generator_draws_and_merge_into_one_run() {
    let Some(server) = support::server() else { return };
    exec(&point_select("load", &server.dsn())).expect(0);
    let mut spec = point_select("run", &server.dsn());
    spec["workers"] = json!(6);
    spec["operations"] = json!(4_001);
    spec["duration_s"] = json!(60);
    let whole = drawn(&exec(&spec).expect(0));
    spec["workers"] = json!(3);
    spec["start_at_unix_ms"] = json!(unix_ms() + 2_000);
    let shards: Vec<Ended> = program::shards(&spec, 2).into_iter().map(|shard| shard.end().expect(0)).collect();
    let parts: Vec<(f64, u64)> = shards.iter().map(drawn).collect();
    assert_eq!((parts[0].0 + parts[1].0, parts[0].1 + parts[1].1), whole);
    assert!(parts[0].0 != parts[1].0 && parts.iter().all(|(_, draws)| (2_000..=2_001).contains(draws)), "{parts:?}");

    let merged = program::merge(&shards).expect(0);
    let finished = merged.finished();
    assert_eq!((number(&finished["round_trips"]), number(&finished["operations"][0]["all"])), (4_001, 4_001));
    let counted = |ended: &Ended| -> u64 {
        ended.intervals().flat_map(|it| it["operations"].as_array().unwrap()).map(|it| number(&it["count"])).sum()
    };
    assert_eq!(counted(&merged), shards.iter().map(counted).sum::<u64>());
    assert_eq!(merged.intervals().next().unwrap()["client"]["threads"].as_array().unwrap().len(), 2);
    assert_eq!(merged.lines[0]["spec"]["workers"], 6);
}

#[test]
fn a_run_begins_at_the_time_it_is_told() {
    let Some(server) = support::server() else { return };
    let mut spec = program::spec("run", &server.dsn(), json!({"kind": "null"}));
    support::in_a_quiet_moment(|| {
        let start_ms = unix_ms() + 3_000;
        spec["start_at_unix_ms"] = json!(start_ms);
        let ended = exec(&spec).expect(0);
        let began_ms = number(&ended.intervals().next().unwrap()["at_unix_ms"]);
        let late_ms = began_ms.checked_sub(start_ms).expect("never before its time");
        (late_ms <= 50).then_some(()).ok_or_else(|| format!("{late_ms} ms late"))
    });
}

/// A machine that freezes says nothing, and its connections stay open.
#[test]
fn a_server_that_owes_an_answer_for_too_long_is_lost() {
    let Some(server) = support::server() else { return };
    exec(&point_select("load", &server.dsn())).expect(0);
    let mut spec = point_select("run", &format!("{}?connect_timeout=1", server.dsn()));
    spec["duration_s"] = json!(60);
    spec["answer_timeout_s"] = json!(1);
    spec["reconnect_timeout_s"] = json!(1);
    spec["check"] = json!("none");
    let mut running = start(&spec);
    running.wait_for("interval");
    server.signal(rustix::process::Signal::STOP);
    let ended = running.end().expect(6);
    let errors = ended.finished()["errors"].as_array().unwrap();
    let lost = errors.iter().find(|error| error["sqlstate"] == "lost").expect("lost operations");
    assert_eq!((&lost["kind"], number(&lost["count"])), (&json!("failed"), 4));
    assert!(ended.finished()["measured_s"].as_f64().unwrap() < 30.0);
}

/// Orders of each warehouse, by the address of the server that took them.
fn addresses(connection: &mut Connection) -> Vec<(String, String)> {
    let rows = connection.query("SELECT DISTINCT warehouse::text, address FROM seen ORDER BY 1, 2").unwrap();
    rows.into_iter().map(|mut row| (row.remove(0).unwrap(), row.remove(0).unwrap())).collect()
}

#[test]
fn the_home_of_a_client_decides_which_host_serves_it() {
    let Some(server) = support::server() else { return };
    let workload = json!({"kind": "tpcc", "warehouses": 2});
    exec(&program::spec("load", &server.dsn(), workload.clone())).expect(0);
    let mut connection = server.connect();
    let trigger = "CREATE TABLE seen (warehouse int, address text); \
                   CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                   INSERT INTO seen VALUES (NEW.o_w_id, host(inet_server_addr())); RETURN NULL; END $$; \
                   CREATE TRIGGER see AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION see()";
    connection.query(trigger).unwrap();
    let port = server.port;
    let hosts = format!("127.0.0.1:{port},127.0.0.2:{port}");
    let dsn = server.dsn().replace(&format!("127.0.0.1:{port}"), &hosts);
    exec(&program::spec("run", &dsn, workload)).expect(0);
    let expected = [("1", "127.0.0.1"), ("2", "127.0.0.2")].map(|(home, host)| (home.to_owned(), host.to_owned()));
    assert_eq!(addresses(&mut connection), expected);
}
