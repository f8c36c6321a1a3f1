//! The rows of a workload on Redis and Valkey: they are written, checked and counted here, on one server or on the
//! masters of a cluster. What admin, loader and check are to targets that speak SQL, this is to targets of RESP.

use crate::engine::cannot_use;
use crate::exit::{ExitCode, Failure};
use crate::output::{ConditionResult, TableLoad};
use crate::spec::ShardSpec;
use crate::stop::Stop;
use crate::target::Request;
use crate::target::resp::{Answer, Commands, Connection, Slots, Url};
use crate::workload::kv::MARKER;
use crate::workload::{Records, ServerCounter};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Rows that one thread takes at a time.
const CHUNK: u64 = 10_000;
/// Commands sent before their answers are read …
const MOST_COMMANDS: usize = 1_000;
/// … and bytes: a server that answers what we do not read would stop to read what we send.
const MOST_BYTES: u64 = 256 * 1024;
/// A server that is silent for longer is lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the rows are.
pub struct Keyspace {
    servers: Vec<Url>,
    slots: Option<Slots>,
    version: Option<String>,
}

/// What is asked of many rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Each {
    /// Write it; what is told is the bytes of its values.
    Store,
    /// Tell how much of it is there.
    Measure,
}

impl Keyspace {
    /// Finds the servers, of which `url` is one.
    ///
    /// # Errors
    /// [`ExitCode::CannotConnect`] when nobody answers, or we are not let in, or a cluster is not whole.
    pub fn open(url: &Url, cluster: bool) -> Result<Self, Failure> {
        let refused = |error| cannot_use(url, &error);
        let mut connection = Connection::open(url, Some(PATIENCE)).map_err(refused)?;
        let info = connection.text(&[b"INFO", b"server"]).map_err(refused)?;
        let named = |name: &str| info.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
        let version = named("valkey_version:").or_else(|| named("redis_version:"));
        if !cluster {
            return Ok(Self { servers: vec![url.clone()], slots: None, version });
        }
        let nodes = connection.text(&[b"CLUSTER", b"NODES"]).map_err(refused)?;
        let slots = Slots::read(&nodes, url.address()).map_err(refused)?;
        let servers = slots.masters().iter().map(|address| url.at(address.clone())).collect();
        Ok(Self { servers, slots: Some(slots), version })
    }

    /// One server, or the masters of a cluster.
    #[must_use]
    pub fn servers(&self) -> &[Url] {
        &self.servers
    }

    /// Which master has which keys; `None` with one server.
    #[must_use]
    pub fn slots(&self) -> Option<&Slots> {
        self.slots.as_ref()
    }

    /// What the first server says of itself.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    fn master(&self, key: &[u8]) -> usize {
        self.slots.as_ref().map_or(0, |slots| slots.master(key))
    }

    fn connect(&self) -> Result<Vec<Connection>, Failure> {
        let open = |url: &Url| Connection::open(url, Some(PATIENCE)).map_err(|error| cannot_use(url, &error));
        self.servers.iter().map(open).collect()
    }

    /// Empties the database, and notes what will be in it.
    ///
    /// # Errors
    /// [`ExitCode::BadSpec`] when it holds what no load wrote: that is never deleted. When a server refuses.
    pub fn create(&self, data: &dyn Records) -> Result<(), Failure> {
        let mut connections = self.connect()?;
        let own = &mut connections[self.master(MARKER)];
        let marked = own.call(&[b"GET", MARKER]).map_err(lost)?.answer(0) != Some(Answer::Nothing);
        let keys = count_keys(&mut connections)?;
        if keys > 0 && !marked {
            let message = format!(
                "the database holds {keys} keys that no load wrote: choose an empty one (redis://host/NUMBER), or empty it"
            );
            return Err(Failure::new(ExitCode::BadSpec, message));
        }
        for connection in &mut connections {
            connection.call(&[b"FLUSHDB"]).map_err(lost)?;
        }
        let identity = data.identity();
        connections[self.master(MARKER)].call(&[b"SET", MARKER, identity.as_bytes()]).map(|_| ()).map_err(lost)
    }

    /// Writes the rows of a shard on so many threads.
    ///
    /// # Errors
    /// [`ExitCode::BadSpec`] when the database was made for other rows; a server's refusal; an interruption.
    pub fn write(&self, data: &dyn Records, threads: u32, shard: ShardSpec, stop: &Stop) -> Result<TableLoad, Failure> {
        let identity = self.identity()?;
        if identity.as_deref() != Some(data.identity().as_str()) {
            let found = identity.unwrap_or_else(|| "nothing".to_owned());
            let message = format!("the database was made for {found}, not for {}: create it first", data.identity());
            return Err(Failure::new(ExitCode::BadSpec, message));
        }
        let bound = |index: u32| u128::from(data.rows()) * u128::from(index) / u128::from(shard.count);
        let (first, last) = (bound(shard.index) as u64, bound(shard.index + 1) as u64);
        let bytes = AtomicU64::new(0);
        self.each(data, Each::Store, (first, last), threads, stop, &|_, stored| {
            bytes.fetch_add(stored, Ordering::Relaxed);
        })?;
        Ok(TableLoad { table: data.table().to_owned(), rows: last - first, bytes: bytes.into_inner() })
    }

    /// What the last load noted.
    fn identity(&self) -> Result<Option<String>, Failure> {
        let url = &self.servers[self.master(MARKER)];
        let mut connection = Connection::open(url, Some(PATIENCE)).map_err(|error| cannot_use(url, &error))?;
        Ok(match connection.call(&[b"GET", MARKER]).map_err(lost)?.answer(0) {
            Some(Answer::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        })
    }

    /// Whether there are as many keys as there must be: at least, or exactly right after loading.
    ///
    /// # Errors
    /// When a server cannot be asked.
    pub fn check_count(&self, data: &dyn Records, only_loaded: bool) -> Result<Vec<ConditionResult>, Failure> {
        let found = count_keys(&mut self.connect()?)?;
        let expected = data.rows() + 1; // with the note
        let example = format!("{found} keys, with the note of the load; {expected} were loaded");
        let mut results = vec![condition(
            1,
            "there are at least the rows that were loaded",
            expected.saturating_sub(found),
            &example,
        )];
        if only_loaded {
            results.push(condition(
                2,
                "there are no other rows right after loading",
                found.saturating_sub(expected),
                &example,
            ));
        }
        Ok(results)
    }

    /// Whether every loaded row is there, and whole.
    ///
    /// # Errors
    /// When a server cannot be asked.
    pub fn check_rows(&self, data: &dyn Records, threads: u32, stop: &Stop) -> Result<ConditionResult, Failure> {
        let (wrong, first) = (AtomicU64::new(0), Mutex::new(None));
        let [text, unit] = data.whole();
        self.each(data, Each::Measure, (0, data.rows()), threads, stop, &|number, measured| {
            if !data.is_whole(measured) {
                wrong.fetch_add(1, Ordering::Relaxed);
                first.lock().expect("no thread panics").get_or_insert((number, measured));
            }
        })?;
        let example = first.into_inner().expect("no thread panics").map_or_else(String::new, |(number, measured)| {
            format!("{} has {measured} {unit}", data.name(number).text())
        });
        Ok(condition(3, text, wrong.into_inner(), &example))
    }

    /// How often commands were called so far, on all servers.
    ///
    /// # Errors
    /// When a server cannot be asked.
    pub fn calls(&self, counters: &[ServerCounter]) -> Result<Vec<i64>, Failure> {
        let mut calls = vec![0; counters.len()];
        for connection in &mut self.connect()? {
            let stats = connection.text(&[b"INFO", b"commandstats"]).map_err(lost)?;
            for (calls, counter) in calls.iter_mut().zip(counters) {
                *calls += calls_of(&stats, &counter.sql);
            }
        }
        Ok(calls)
    }

    /// Asks something about every row of a range, many at a time, and tells what was answered.
    fn each(
        &self,
        data: &dyn Records,
        what: Each,
        (first, last): (u64, u64),
        threads: u32,
        stop: &Stop,
        told: &(impl Fn(u64, u64) + Sync),
    ) -> Result<(), Failure> {
        let next = AtomicU64::new(first);
        let work = || -> Result<(), Failure> {
            let connections = self.connect()?;
            let mut lines: Vec<Line> = connections.into_iter().map(|connection| Line::new(connection, what)).collect();
            loop {
                stop.reason().map_or(Ok(()), Err)?;
                let chunk = next.fetch_add(CHUNK, Ordering::Relaxed);
                if chunk >= last {
                    return Ok(());
                }
                for number in chunk..last.min(chunk + CHUNK) {
                    lines[self.master(data.name(number).bytes())].ask(data, number, told)?;
                }
                lines.iter_mut().try_for_each(|line| line.flush(told))?;
            }
        };
        let stopped = || next.store(last, Ordering::Relaxed);
        thread::scope(|scope| {
            let wanted = (last - first).div_ceil(CHUNK).min(u64::from(threads));
            let threads: Vec<_> = (0..wanted).map(|_| scope.spawn(|| work().inspect_err(|_| stopped()))).collect();
            let outcomes = threads.into_iter().map(|thread| thread.join().expect("no thread panics"));
            outcomes.fold(Ok(()), Result::and)
        })
    }
}

/// A connection, and what is under way on it.
struct Line {
    connection: Connection,
    what: Each,
    commands: Commands,
    bytes: u64,
    /// Rows, and what was stored of each.
    asked: Vec<(u64, u64)>,
}

impl Line {
    fn new(connection: Connection, what: Each) -> Self {
        let asked = Vec::with_capacity(MOST_COMMANDS);
        Self { connection, what, commands: Commands::default(), bytes: 0, asked }
    }

    fn ask(&mut self, data: &dyn Records, number: u64, told: &impl Fn(u64, u64)) -> Result<(), Failure> {
        let stored = match self.what {
            Each::Store => data.store(number, &mut self.commands),
            Each::Measure => {
                data.measure(number, &mut self.commands);
                0
            }
        };
        self.asked.push((number, stored));
        self.bytes += stored;
        if self.asked.len() >= MOST_COMMANDS || self.bytes >= MOST_BYTES { self.flush(told) } else { Ok(()) }
    }

    /// Sends what was asked, and tells what was stored, or the answers: 0 where there is none.
    fn flush(&mut self, told: &impl Fn(u64, u64)) -> Result<(), Failure> {
        if self.asked.is_empty() {
            return Ok(());
        }
        let reply = self.connection.exchange(&mut self.commands).map_err(lost)?;
        for (index, &(number, stored)) in self.asked.iter().enumerate() {
            let measured = match reply.answer(index) {
                Some(Answer::Integer(measured)) => measured as u64,
                _ => 0,
            };
            told(number, if self.what == Each::Store { stored } else { measured });
        }
        self.commands.clear();
        self.asked.clear();
        self.bytes = 0;
        Ok(())
    }
}

fn count_keys(connections: &mut [Connection]) -> Result<u64, Failure> {
    let mut sum = 0;
    for connection in connections {
        match connection.call(&[b"DBSIZE"]).map_err(lost)?.answer(0) {
            Some(Answer::Integer(keys)) => sum += keys as u64,
            other => {
                return Err(Failure::new(ExitCode::ConsistencyBroken, format!("DBSIZE was answered by {other:?}")));
            }
        }
    }
    Ok(sum)
}

/// `cmdstat_get:calls=21,usec=…`; none that was never called.
fn calls_of(stats: &str, command: &str) -> i64 {
    let line =
        stats.lines().find_map(|line| line.strip_prefix("cmdstat_")?.strip_prefix(command)?.strip_prefix(":calls="));
    line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
}

fn condition(number: u8, text: &str, violations: u64, example: &str) -> ConditionResult {
    let example = (violations > 0).then(|| example.to_owned());
    ConditionResult { number, text: text.to_owned(), holds: violations == 0, violations, example }
}

fn lost(error: crate::target::TargetError) -> Failure {
    Failure::target("the database cannot be used", &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_from_their_own_line() {
        let stats =
            "# Commandstats\r\ncmdstat_mget:calls=7,usec=1\r\ncmdstat_get:calls=21,usec=175,usec_per_call=8.33\r\n";
        assert_eq!(calls_of(stats, "get"), 21);
        assert_eq!(calls_of(stats, "mget"), 7);
        assert_eq!(calls_of(stats, "set"), 0);
    }
}
