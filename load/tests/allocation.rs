//! What an operation costs in memory: nothing. All that it needs is there once the load goes on.
//!
//! An allocation takes a lock or asks the kernel now and then, and the operation that meets it is slow: the load
//! generator would measure itself.

mod support;
mod tpcc_driver;

use nephoscope_load::exit::ExitCode;
use nephoscope_load::output::Output;
use nephoscope_load::session;
use nephoscope_load::spec::Spec;
use nephoscope_load::stop::Stop;
use nephoscope_load::target::postgres::{Batch, Connection, Isolation};
use nephoscope_load::workload::Workload;
use nephoscope_load::workload::tpcc::profile::Profile;
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::io;
use std::sync::{Arc, Mutex};
use support::program::{exec, spec};
use support::{DATABASE, PASSWORD, Server};
use tpcc_driver::{Client, Log, connect, operate, workload_in};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocations(work: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    work();
    let change = region.change();
    change.allocations + change.reallocations
}

/// The whole engine, through some operations of a workload within three lines of output.
fn session_at(rate_per_s: u32, dsn: &str, workload: &Value) {
    let mut spec = spec("run", dsn, workload.clone());
    spec["duration_s"] = json!(2);
    // What is inserted is drawn from the seed.
    spec["seed"] = json!(rate_per_s);
    spec["pace"] = json!({"kind": "constant", "rate_per_s": rate_per_s});
    let spec: Spec = serde_json::from_value(spec).expect("a spec");
    let code = session::execute(spec, &Arc::new(Output::new(io::sink())), &Arc::new(Stop::default()));
    assert!(matches!(code, ExitCode::Finished | ExitCode::RateNotKept), "{code:?}");
}

/// One test at a time, as the allocator counts for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn the_hot_path_allocates_nothing() {
    let _alone = ALONE.lock();
    let Some(server) = support::server() else { return };
    let selects = (json!({"kind": "point_select", "rows": 20_000}), [50, 5_000]);
    more_operations_take_no_more_allocations(&server, &[selects]);
    transactions_allocate_nothing_once_their_buffers_have_grown(&server, &[Profile::Batched]);
}

#[test]
#[ignore = "takes a minute; `make test-all` runs it"]
fn the_hot_path_of_every_workload_allocates_nothing() {
    let _alone = ALONE.lock();
    let Some(server) = support::server() else { return };
    let workloads = [
        (json!({"kind": "oltp_insert", "tables": 2, "rows": 500, "distribution": "special"}), [20, 2_000]),
        (oltp_read_write("chatty"), [20, 200]),
        (json!({"kind": "tpcb", "scale": 1}), [20, 300]),
        // One of 20 inserts: enough of them for every connection's buffers to have grown at the lower rate, too.
        (json!({"kind": "ycsb", "rows": 5_000, "mix": "d"}), [300, 3_000]),
        (json!({"kind": "ycsb", "rows": 5_000, "mix": "f"}), [20, 1_000]),
    ];
    more_operations_take_no_more_allocations(&server, &workloads);
    transactions_allocate_nothing_once_their_buffers_have_grown(&server, &Profile::ALL);
}

fn more_operations_take_no_more_allocations(server: &Server, workloads: &[(Value, [u32; 2])]) {
    let dsn = server.dsn();
    for (workload, rates_per_s) in workloads {
        exec(&spec("load", &dsn, workload.clone())).expect(0);
        let dsn = dsn.replace('@', &format!(":{PASSWORD}@"));
        let [few, many] = rates_per_s.map(|rate_per_s| allocations(|| session_at(rate_per_s, &dsn, workload)));
        let [slow, fast] = rates_per_s;
        eprintln!("{workload}: {few} allocations at {slow} operations/s, {many} at {fast}");
        // As many lines of output, and many times the operations: what differs is how full the histograms are.
        assert!(many < few + 150, "{workload}: {few} allocations at {slow} operations/s, {many} at {fast}");
    }
}

fn oltp_read_write(profile: &str) -> Value {
    json!({"kind": "oltp_read_write", "tables": 1, "rows": 5_000, "distribution": "uniform", "profile": profile})
}

/// Operations that let buffers grow to their size, and operations that must find them large enough.
const WARM_UP: u32 = 600;
const MEASURED: u32 = 400;

fn transactions_allocate_nothing_once_their_buffers_have_grown(server: &Server, profiles: &[Profile]) {
    exec(&spec("load", &server.dsn(), json!({"kind": "tpcc", "warehouses": 2}))).expect(0);
    for &profile in profiles {
        let connection = &mut connect(server, DATABASE);
        let tpcc = workload_in(profile, connection, 5);
        connection.prepare(Workload::<Connection>::statements(&tpcc), Isolation::ReadCommitted).unwrap();
        let (mut client, mut batch, mut log) = (Client::new(&tpcc, 0, 1), Batch::new(), Log::default());
        let mut drive = |operations| {
            allocations(|| {
                for _ in 0..operations {
                    operate(connection, &mut client, &mut batch, &mut log);
                }
            })
        };
        let (grown, counted) = (drive(WARM_UP), drive(MEASURED));
        eprintln!("{profile}: {grown} allocations in {WARM_UP} transactions, then {counted} in {MEASURED}");
        assert!(counted < 20, "{profile}: {counted} allocations in {MEASURED} transactions");
    }
}
