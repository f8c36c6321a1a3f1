//! TPC-C through the whole program: load, run, check, and what happens when transactions collide.

mod support;

use serde_json::{Value, json};
use support::program::{self, exec};

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
    assert_eq!(loaded.finished()["conditions"].as_array().unwrap().len(), 12);

    let mut spec = tpcc("run", &dsn);
    spec["seed"] = json!(7);
    spec["connections"] = json!(8);
    spec["duration_s"] = json!(3);
    let ended = exec(&spec).expect(0);
    let finished = ended.finished();
    assert_eq!(finished["constants"]["c_load"], loaded.finished()["constants"]["c_load"]);
    assert!(finished["counters"].as_array().unwrap().iter().all(|counter| counter["agrees"] == true));
    assert_eq!(finished["conditions"].as_array().unwrap().len(), 11, "condition 11 holds only after loading");

    spec["target"]["isolation"] = json!("serializable");
    spec["max_retries"] = json!(2);
    let ended = exec(&spec).expect(0);
    let errors = ended.finished()["errors"].as_array().unwrap();
    assert!(errors.iter().any(|error| error["sqlstate"] == "40001" && error["kind"] == "retried"), "{errors:?}");
    exec(&tpcc("check", &dsn)).expect(0);

    let other = program::spec("run", &dsn, json!({"kind": "tpcc", "warehouses": 2}));
    let refused = exec(&other).expect(5);
    assert!(refused.message().contains("warehouses"), "{}", refused.message());

    server.connect().query("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 3").unwrap();
    let broken = exec(&tpcc("check", &dsn)).expect(5);
    assert!(broken.message().contains("condition 1 is broken"), "{}", broken.message());
}
