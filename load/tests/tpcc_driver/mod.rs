//! Loads and drives TPC-C without the engine: a few connections, each with one terminal.

#![allow(dead_code, missing_docs, reason = "each test binary uses a part of it")]

pub mod witness;

use super::support::{self, Server};
use nephoscope_load::target::Request as _;
use nephoscope_load::target::postgres::{Batch, Connection, CopyWriter, Isolation};
use nephoscope_load::target::{AdminSession, Dialect, Fill, TargetError};
use nephoscope_load::workload::tpcc::constants::{STORED_CONSTANTS_QUERY, StoredConstants};
use nephoscope_load::workload::tpcc::population::{Population, PopulationOptions};
use nephoscope_load::workload::tpcc::profile::Profile;
use nephoscope_load::workload::tpcc::terminals::Mix;
use nephoscope_load::workload::tpcc::worker::{Clock, TpccWorker};
use nephoscope_load::workload::tpcc::{Tpcc, TpccOptions};
use nephoscope_load::workload::{Completion, Condition, Dataset, Draws, OperationId, Step, Worker, Workload};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

pub const WAREHOUSES: u32 = 2;

pub fn connect(server: &Server, database: &str) -> Connection {
    let dsn = server.dsn().replace(&format!("/{}", support::DATABASE), &format!("/{database}"));
    Connection::open(&support::parse(&dsn), Some(Duration::from_secs(120))).expect("a connection")
}

/// The database that the others are copies of.
pub const LOADED: &str = "loaded";
pub const SEED: u64 = 20_240_607;

/// A server with the initial population in [`LOADED`].
pub fn loaded_server() -> Option<Server> {
    support::server_with(LOADED, |server| {
        connect(server, support::DATABASE).query(&format!("CREATE DATABASE {LOADED}")).unwrap();
        load(&mut connect(server, LOADED), &Population::new(PopulationOptions::new(WAREHOUSES, SEED)));
    })
}

/// A new database with the rows of [`LOADED`].
pub fn copy(server: &Server, name: &str) -> Connection {
    let mut admin = connect(server, support::DATABASE);
    admin.query(&format!("CREATE DATABASE {name} TEMPLATE {LOADED} STRATEGY file_copy")).unwrap();
    connect(server, name)
}

pub fn one(connection: &mut Connection, sql: &str) -> String {
    let rows = connection.query(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    rows[0].iter().map(|value| value.clone().unwrap_or_default()).collect::<Vec<_>>().join("|")
}

pub fn number(connection: &mut Connection, sql: &str) -> i64 {
    one(connection, sql).parse().expect("a number")
}

pub fn load(connection: &mut Connection, population: &Population) {
    let run = |connection: &mut Connection, statements: Vec<String>| {
        for sql in statements {
            connection.query(&sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        }
    };
    let dialect = Dialect::Postgres;
    run(connection, population.create(dialect));
    for piece in population.pieces() {
        let mut writer = CopyWriter::start(connection, &piece.table.copy_sql(Dialect::Postgres)).unwrap();
        population.write(&piece, &mut writer).unwrap();
        writer.finish().unwrap_or_else(|error| panic!("{error}: {}", piece.table.name));
    }
    run(connection, population.index(dialect));
    run(connection, population.finish(dialect));
}

pub fn workload(connection: &mut Connection, seed: u64) -> Tpcc {
    workload_in(Profile::default(), connection, seed)
}

pub fn workload_in(profile: Profile, connection: &mut Connection, seed: u64) -> Tpcc {
    workload_on(WAREHOUSES, profile, connection, seed)
}

/// On so many active warehouses.
pub fn workload_on(active: u32, profile: Profile, connection: &mut Connection, seed: u64) -> Tpcc {
    let rows = connection.query(STORED_CONSTANTS_QUERY).unwrap();
    let texts = rows.iter().map(|row| (row[0].as_deref().unwrap(), row[1].as_deref().unwrap()));
    let stored = StoredConstants::from_rows(texts).unwrap();
    let clock = Clock::Logical { start_micros: 1_750_000_000_000_000, step_micros: 1_000 };
    let options = TpccOptions {
        warehouses: WAREHOUSES,
        active_warehouses: Some(active),
        seed,
        clock,
        profile,
        mix: Mix::Standard,
        wait_factor: None,
        dialect: Dialect::Postgres,
    };
    let tpcc = Tpcc::new(options, &stored).unwrap();
    for sql in <Tpcc as Workload>::prepare(&tpcc) {
        connection.query(&sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
    tpcc
}

/// Completions by operation, round trips by operation, and retries.
#[derive(Default)]
pub struct Log {
    pub committed: BTreeMap<OperationId, u64>,
    pub rolled_back: u64,
    pub round_trips: BTreeMap<OperationId, Vec<u32>>,
    pub retries: u64,
    pub draws: Draws,
}

impl Log {
    fn merge(&mut self, other: Self) {
        for (operation, count) in other.committed {
            *self.committed.entry(operation).or_default() += count;
        }
        self.rolled_back += other.rolled_back;
        self.retries += other.retries;
        self.draws.merge(&other.draws);
    }
}

/// One client and the executor that serves it alone.
pub struct Client {
    pub worker: TpccWorker,
    index: u32,
    turn: u64,
}

impl Client {
    pub fn new(tpcc: &Tpcc, index: u32, clients: u32) -> Self {
        Self { worker: tpcc.tpcc_worker(clients), index, turn: 0 }
    }

    pub fn draw(&mut self) -> OperationId {
        self.turn += 1;
        <TpccWorker as Worker>::draw(&mut self.worker, self.index, self.turn - 1)
    }
}

/// Runs one operation to its end, repeating it with the same inputs when the server asks for that.
pub fn operate(connection: &mut Connection, client: &mut Client, batch: &mut Batch, log: &mut Log) -> OperationId {
    let operation = client.draw();
    carry_out(operation, connection, &mut client.worker, batch, log)
}

fn carry_out(
    operation: OperationId,
    connection: &mut Connection,
    worker: &mut TpccWorker,
    batch: &mut Batch,
    log: &mut Log,
) -> OperationId {
    let mut round_trips = 0;
    batch.clear();
    let mut step = <TpccWorker as Worker>::step(worker, None, batch).unwrap();
    loop {
        if let Step::Done(completion) = step {
            match completion {
                Completion::Committed => *log.committed.entry(operation).or_default() += 1,
                Completion::RolledBackByDesign => log.rolled_back += 1,
            }
            log.round_trips.entry(operation).or_default().push(round_trips);
            return operation;
        }
        round_trips += 1;
        step = match connection.exchange(batch) {
            Ok(reply) => {
                batch.clear();
                <TpccWorker as Worker>::step(worker, Some(reply), batch).unwrap()
            }
            Err(TargetError::Database { sqlstate, message }) => {
                assert!(sqlstate == "40001" || sqlstate == "40P01", "{sqlstate} {message}");
                log.retries += 1;
                round_trips = 0;
                connection.reset().unwrap();
                batch.clear();
                <TpccWorker as Worker>::step(worker, None, batch).unwrap()
            }
            Err(error) => panic!("{error}"),
        };
    }
}

/// Runs one operation; what the server or the worker says when a row is missing. Then the transaction may be open.
pub fn attempt(
    connection: &mut Connection,
    tpcc: &Tpcc,
    client: &mut Client,
    batch: &mut Batch,
) -> (OperationId, Result<Completion, String>) {
    let operation = client.draw();
    batch.clear();
    let mut step = <TpccWorker as Worker>::step(&mut client.worker, None, batch);
    loop {
        match step {
            Ok(Step::Done(completion)) => return (operation, Ok(completion)),
            Ok(Step::Send) => {}
            Err(error) => return (operation, Err(error.0)),
        }
        step = match connection.exchange(batch) {
            Ok(reply) => {
                batch.clear();
                <TpccWorker as Worker>::step(&mut client.worker, Some(reply), batch)
            }
            Err(TargetError::Database { sqlstate, message })
                if <Tpcc as Workload>::missing_rows(tpcc).contains(&sqlstate.as_str()) =>
            {
                return (operation, Err(format!("{sqlstate} {message}")));
            }
            Err(error) => panic!("{error}"),
        };
    }
}

pub fn drive(
    connection: &mut Connection,
    tpcc: &Tpcc,
    (index, workers): (u32, u32),
    operations: u32,
    isolation: Isolation,
) -> Log {
    connection.prepare(<Tpcc as Workload>::statements(tpcc), isolation).unwrap();
    let (mut client, mut batch, mut log) = (Client::new(tpcc, index, workers), Batch::new(), Log::default());
    for _ in 0..operations {
        operate(connection, &mut client, &mut batch, &mut log);
    }
    log.draws = <TpccWorker as Worker>::draws(&client.worker);
    log
}

pub fn drive_many(server: &Server, database: &str, tpcc: &Tpcc, workers: u32, each: u32, isolation: Isolation) -> Log {
    thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|index| {
                scope.spawn(move || drive(&mut connect(server, database), tpcc, (index, workers), each, isolation))
            })
            .collect();
        let mut total = Log::default();
        for handle in handles {
            total.merge(handle.join().expect("no worker panics"));
        }
        total
    })
}

/// Terminals (ten a warehouse) that carry out only one kind of operation, each on its own connection.
pub fn drive_only(server: &Server, database: &str, tpcc: &Tpcc, only: OperationId, workers: &[u32], each: u32) -> Log {
    let terminal = |index: u32| {
        let mut connection = connect(server, database);
        connection.prepare(<Tpcc as Workload>::statements(tpcc), Isolation::ReadCommitted).unwrap();
        let (mut client, mut batch, mut log) =
            (Client::new(tpcc, index, 10 * WAREHOUSES), Batch::new(), Log::default());
        for _ in 0..each {
            while client.draw() != only {}
            carry_out(only, &mut connection, &mut client.worker, &mut batch, &mut log);
        }
        log.draws = <TpccWorker as Worker>::draws(&client.worker);
        log
    };
    thread::scope(|scope| {
        let handles: Vec<_> = workers.iter().map(|&index| scope.spawn(move || terminal(index))).collect();
        let mut total = Log::default();
        handles.into_iter().for_each(|handle| total.merge(handle.join().expect("no worker panics")));
        total
    })
}

pub fn check(connection: &mut impl AdminSession, condition: &Condition) -> (i64, String) {
    let row = connection.query(&condition.sql).unwrap_or_else(|error| panic!("{}: {error}", condition.number));
    (row[0][0].as_ref().unwrap().parse().unwrap(), row[0][1].clone().unwrap_or_default())
}

pub fn assert_all_hold(connection: &mut Connection, tpcc: &Tpcc, after_load: bool) {
    let began = Instant::now();
    for condition in
        <Tpcc as Workload>::conditions(tpcc).iter().filter(|condition| after_load || !condition.only_after_load)
    {
        let started = Instant::now();
        let (violations, example) = check(connection, condition);
        eprintln!("condition {:2}: {:?}", condition.number, started.elapsed());
        assert_eq!(violations, 0, "condition {}: {}: {example}", condition.number, condition.text);
    }
    eprintln!("all conditions: {:?}", began.elapsed());
}
