//! The program through a real PgBouncer: which prepared statements it may use, and what it leaves in sessions that are
//! others' next.

use crate::support::{self, pgbouncer, program};

use nephoscope_load::target::postgres::Connection;
use pgbouncer::Pooler;
use program::{Ended, exec};
use serde_json::{Value, json};

const TRANSACTION: &str = "pool_mode = transaction";

fn tpcb(action: &str, dsn: &str, profile: &str) -> Value {
    let mut spec = program::spec(action, dsn, json!({"kind": "tpcb", "scale": 1, "profile": profile}));
    spec["connections"] = json!(8);
    spec
}

fn prepared(ended: &Ended) -> (&str, Option<bool>) {
    let finished = ended.finished();
    (finished["prepared"].as_str().unwrap_or_default(), finished["pooled"].as_bool())
}

#[test]
fn in_transaction_mode_statements_are_unnamed_and_no_session_keeps_a_setting() {
    let Some(server) = support::server() else { return };
    let Some(pooler) = Pooler::start(&server, TRANSACTION) else { return };
    exec(&tpcb("load", &server.dsn(), "chatty")).expect(0);
    assert_eq!(prepared(&exec(&tpcb("run", &server.dsn(), "chatty")).expect(0)), ("named", Some(false)));
    exec(&tpcb("load", &pooler.dsn(), "chatty")).expect(0);
    let mut through = Connection::open(&support::parse(&pooler.dsn()), None).unwrap();
    let kept = through.query("SHOW synchronous_commit").unwrap();
    assert_eq!(kept, [[Some("on".to_owned())]], "a load that does not wait for the disk is no run's");
    drop(through);
    for profile in ["chatty", "pipelined"] {
        let mut spec = tpcb("run", &pooler.dsn(), profile);
        if pgbouncer::keeps_names() {
            spec["target"]["prepared"] = json!("unnamed");
        }
        let ended = exec(&spec).expect(0);
        assert_eq!(prepared(&ended), ("unnamed", Some(true)));
        assert!(ended.stderr.contains("a connection pooler answers for the server: prepared statements are unnamed"));
        assert!(!ended.finished()["counters"].as_array().unwrap().is_empty());
    }

    let mut strict = tpcb("run", &pooler.dsn(), "chatty");
    strict["target"]["isolation"] = json!("serializable");
    let refused = exec(&strict).expect(2);
    assert!(refused.message().contains("ALTER DATABASE"), "{}", refused.message());
    if !pgbouncer::keeps_names() {
        let mut named = tpcb("run", &pooler.dsn(), "chatty");
        named["target"]["prepared"] = json!("named");
        let refused = exec(&named).expect(3);
        assert!(refused.message().contains("does not keep named statements apart"), "{}", refused.message());
    }
}

#[test]
fn statements_are_named_where_the_pooler_keeps_names_apart() {
    let Some(server) = support::server() else { return };
    let Some(sessions) = Pooler::start(&server, "pool_mode = session\nquery_wait_timeout = 20") else { return };
    exec(&tpcb("load", &sessions.dsn(), "chatty")).expect(0);
    let mut spec = tpcb("run", &sessions.dsn(), "chatty");
    spec["connections"] = json!(4);
    assert_eq!(prepared(&exec(&spec).expect(0)), ("named", Some(true)));
    drop(sessions);
    if pgbouncer::keeps_names() {
        let transactions = format!("{TRANSACTION}\nmax_prepared_statements = 100");
        let Some(pooler) = Pooler::start(&server, &transactions) else { return };
        assert_eq!(prepared(&exec(&tpcb("run", &pooler.dsn(), "chatty")).expect(0)), ("named", Some(true)));
    }
}
