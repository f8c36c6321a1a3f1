//! Compares the status of a MySQL or MariaDB server with what the generator counted: the commands of all round trips, and
//! what they did to rows.
//!
//! The server counts for all its sessions together, and at once. So nothing is compared where others use it, which
//! further sessions reveal. Nothing is sent while the load runs.

use super::statistics::compare;
use crate::exit::{ExitCode, Failure};
use crate::output::CounterResult;
use crate::record::Ledger;
use crate::target::mysql::Connection;
use crate::tell;
use crate::workload::{Draws, Effects};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// In the order of [`crate::workload::EFFECTS`]: what is looked up by a key is a scan.
const OF_ROWS: [&str; 4] = ["Handler_write", "Handler_update", "Handler_delete", "Handler_read_key"];
/// Each is a command. A procedure sends none: it begins its transaction itself, and ends it.
const COMMANDS: [&str; 4] = ["Com_stmt_execute", "Com_begin", "Com_commit", "Com_rollback"];
const CALLS: &str = "Com_call_procedure";
const IN_A_CALL: i64 = 2;
const SESSIONS_EVER: &str = "Connections";
const SESSIONS_NOW: &str = "Threads_connected";
const UPTIME: &str = "Uptime_since_flush_status";
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// Sessions of an earlier action may still be ending …
const BEFORE_PATIENCE: Duration = Duration::from_secs(2);
/// … as may the load's.
const AFTER_PATIENCE: Duration = Duration::from_secs(12);

fn names() -> impl Iterator<Item = &'static str> {
    OF_ROWS.into_iter().chain(COMMANDS).chain([CALLS, SESSIONS_EVER, SESSIONS_NOW, UPTIME])
}

/// The question.
#[must_use]
pub fn sql() -> String {
    let names: Vec<String> = names().map(|name| format!("'{name}'")).collect();
    format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "))
}

/// What the server had counted before the load.
#[derive(Debug)]
pub struct Status {
    effects: Option<Effects>,
    before: Reading,
}

#[derive(Debug, Clone, Default)]
struct Reading(BTreeMap<String, i64>);

impl Status {
    /// Reads what was counted before a load; `None`, said to people, where others use the server.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub fn begin(connection: &mut Connection, effects: Option<Effects>) -> Result<Option<Self>, Failure> {
        let before = alone(connection, BEFORE_PATIENCE)?;
        if before.is_none() {
            tell::say("not comparing the server's status: it has other sessions");
        }
        Ok(before.map(|before| Self { effects, before }))
    }

    /// Compares what was counted since, once the load's sessions are gone. Nothing, said to people, where there were
    /// others than `sessions` and the one that is asked.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub fn end(
        &self,
        connection: &mut Connection,
        sessions: u32,
        ledger: &Ledger,
        draws: &Draws,
    ) -> Result<Vec<CounterResult>, Failure> {
        let grown = alone(connection, AFTER_PATIENCE)?.and_then(|after| after.since(&self.before));
        let Some(grown) = grown.filter(|grown| grown.get(SESSIONS_EVER) == i64::from(sessions) + 1) else {
            tell::say("not comparing the server's status: it was reset, lost sessions of the load, or had others");
            return Ok(Vec::new());
        };
        let commands = COMMANDS.iter().map(|name| grown.get(name)).sum::<i64>() - IN_A_CALL * grown.get(CALLS);
        let mut results = vec![equal("commands", commands, ledger.round_trips())];
        if let Some(effects) = &self.effects {
            results.extend(compare(effects, OF_ROWS.map(|name| grown.get(name)), ledger, draws));
        }
        Ok(results)
    }
}

fn equal(name: &str, server: i64, client: u64) -> CounterResult {
    let client = i64::try_from(client).unwrap_or(i64::MAX);
    let (name, agrees) = (name.to_owned(), server == client);
    CounterResult { name, before: None, after: None, server, client, in_doubt: 0, agrees }
}

impl Reading {
    fn get(&self, name: &str) -> i64 {
        self.0.get(&name.to_lowercase()).copied().unwrap_or(0)
    }

    /// What was counted after `before`; `None` where the server began anew meanwhile.
    fn since(&self, before: &Self) -> Option<Self> {
        let grown = |name: &String| (name.clone(), self.get(name) - before.get(name));
        (self.get(UPTIME) >= before.get(UPTIME)).then(|| Self(self.0.keys().map(grown).collect()))
    }
}

/// What is counted while no other session is open; `None`: one stays.
fn alone(connection: &mut Connection, patience: Duration) -> Result<Option<Reading>, Failure> {
    let deadline = Instant::now() + patience;
    loop {
        let reading = read(connection)?;
        if reading.get(SESSIONS_NOW) == 1 {
            return Ok(Some(reading));
        }
        if Instant::now() > deadline {
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}

fn read(connection: &mut Connection) -> Result<Reading, Failure> {
    let sql = sql();
    let rows = connection.query(&sql).map_err(|error| Failure::target("could not read the server's status", &error))?;
    let number = |row: &Vec<Option<String>>| match row.as_slice() {
        [Some(name), Some(value)] => Some((name.to_lowercase(), value.parse().ok()?)),
        _ => None,
    };
    let reading: BTreeMap<String, i64> = rows.iter().filter_map(number).collect();
    if reading.len() == names().count() {
        return Ok(Reading(reading));
    }
    Err(Failure::new(ExitCode::TargetLost, format!("{sql} returned {rows:?}")))
}
