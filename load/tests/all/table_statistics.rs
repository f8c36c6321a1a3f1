//! A real PostgreSQL's own statistics of tables, against what the generator counted: what was not done, and what was done
//! twice, is found.

use crate::support;

use serde_json::{Value, json};
use support::program::{Ended, exec, point_select, spec, start};

fn kv(action: &str, server: &support::Server) -> Value {
    let mut spec = spec(action, &server.dsn(), json!({"kind": "kv", "rows": 1_000, "read_percent": 50}));
    (spec["operations"], spec["duration_s"]) = (json!(2_000), json!(60));
    spec
}

/// (server, client) of the counter that disagrees, which must be this one.
fn disagreement(ended: &Ended, name: &str) -> (i64, i64) {
    assert!(ended.message().contains(&format!("counter {name} disagrees")), "{}", ended.message());
    let counters = ended.finished()["counters"].as_array().unwrap();
    let wrong: Vec<&Value> = counters.iter().filter(|counter| counter["agrees"] == false).collect();
    assert!(wrong.len() == 1 && wrong[0]["name"] == name, "{wrong:?}");
    (wrong[0]["server"].as_i64().unwrap(), wrong[0]["client"].as_i64().unwrap())
}

/// The spec's run, during which somebody else says this.
fn disturbed(server: &support::Server, spec: &Value, sql: &str) -> Ended {
    let mut running = start(spec);
    running.wait_for("interval");
    server.connect().query(sql).unwrap();
    running.end()
}

#[test]
fn a_read_too_many_is_found() {
    let Some(server) = support::server() else { return };
    exec(&point_select("load", &server.dsn())).expect(0);
    let mut spec = point_select("run", &server.dsn());
    let ended = exec(&spec).expect(0);
    let counters = ended.finished()["counters"].as_array().unwrap();
    let selects = &ended.finished()["operations"][0]["all"];
    let told: Vec<_> = counters.iter().map(|it| (it["name"].as_str().unwrap(), &it["server"])).collect();
    let none = &json!(0);
    assert_eq!(told, [("rows_inserted", none), ("rows_updated", none), ("rows_deleted", none), ("scans", selects)]);

    spec["duration_s"] = json!(2);
    let ended = disturbed(&server, &spec, "SELECT c FROM sbtest1 WHERE id = 17").expect(5);
    let (server, client) = disagreement(&ended, "scans");
    assert_eq!(server, client + 1);
}

#[test]
fn an_update_that_was_lost_or_done_twice_is_found() {
    let Some(server) = support::server() else { return };
    exec(&kv("load", &server)).expect(0);
    exec(&kv("run", &server)).expect(0);
    // Some rows keep their value, and the client is told that all went well.
    let lose = "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
                CREATE TRIGGER lose BEFORE UPDATE ON kv FOR EACH ROW WHEN (OLD.k % 20 = 0) EXECUTE FUNCTION lose()";
    server.connect().query(lose).unwrap();
    let (counted, client) = disagreement(&exec(&kv("run", &server)).expect(5), "rows_updated");
    assert!(counted < client && client < counted + 200, "{counted} of {client}");
    server.connect().query("DROP TRIGGER lose ON kv").unwrap();

    let mut spec = kv("run", &server);
    (spec["operations"], spec["duration_s"]) = (Value::Null, json!(2));
    let once_more = "UPDATE kv SET v = 'x' WHERE k = (SELECT min(k) FROM kv)";
    let (counted, client) = disagreement(&disturbed(&server, &spec, once_more).expect(5), "rows_updated");
    assert_eq!(counted, client + 1);
}

#[test]
fn statistics_that_began_anew_or_are_not_kept_are_not_compared_and_people_are_told() {
    let Some(server) = support::server() else { return };
    exec(&kv("load", &server)).expect(0);
    let mut spec = kv("run", &server);
    (spec["operations"], spec["duration_s"]) = (Value::Null, json!(2));
    let names = |ended: &Ended| -> Vec<String> {
        let counters = ended.finished()["counters"].as_array().unwrap();
        counters.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut several = kv("run", &server);
    let port = server.port;
    let hosts = format!("127.0.0.1:{port},127.0.0.2:{port}");
    several["target"]["dsn"] = json!(server.dsn().replace(&format!("127.0.0.1:{port}"), &hosts));
    let ended = exec(&several).expect(0);
    assert!(names(&ended) == ["rows_added"] && ended.stderr.contains("2 hosts"), "{}", ended.stderr);
    let ended = disturbed(&server, &spec, "SELECT pg_stat_reset()").expect(0);
    assert!(names(&ended) == ["rows_added"] && ended.stderr.contains("reset them during the run"), "{}", ended.stderr);
    let mut connection = server.connect();
    connection.query("ALTER SYSTEM SET track_counts = off").unwrap();
    connection.query("SELECT pg_reload_conf()").unwrap();
    drop(connection);
    let ended = exec(&kv("run", &server)).expect(0);
    assert!(names(&ended) == ["rows_added"] && ended.stderr.contains("does not keep them"), "{}", ended.stderr);
}
