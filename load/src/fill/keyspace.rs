//! Writes, checks and counts the rows of a workload on Redis and Valkey, on one server or on the masters of a cluster.

use crate::exit::{ExitCode, Failure, cannot_use};
use crate::fill::rows::{Asks, Calls, Each, Numbers, RowStore};
use crate::target::resp::{Answer, Commands, Connection, Reply, Slots, Url};
use crate::workload::kv::{MARKER, write_key};
use crate::workload::{Records, ServerCounter};
use std::thread;
use std::time::{Duration, Instant};

/// Between two attempts to find the servers.
const PAUSE: Duration = Duration::from_millis(200);
/// A server that is silent for longer is lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the rows are.
pub struct Keyspace {
    servers: Vec<Url>,
    slots: Option<Slots>,
    version: Option<String>,
}

impl Keyspace {
    /// Finds the servers, of which `url` is one.
    ///
    /// # Errors
    /// [`ExitCode::CannotConnect`] when the server cannot be reached or refuses the login, or a cluster is not whole.
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

    /// The servers as they are now: after a failover, others have the keys. Any node that was known may tell.
    fn find_again(&self, patience: Duration) -> Result<Self, Failure> {
        let own = &self.servers[0];
        let nodes = self.slots.as_ref().map_or_else(Vec::new, |slots| slots.nodes().to_vec());
        let urls: Vec<Url> =
            if nodes.is_empty() { vec![own.clone()] } else { nodes.into_iter().map(|node| own.at(node)).collect() };
        let deadline = Instant::now() + patience;
        for url in urls.iter().cycle() {
            let open = || {
                let keyspace = Self::open(url, self.slots.is_some())?;
                keyspace.connect().map(|_| keyspace)
            };
            match open() {
                Err(_) if Instant::now() < deadline => thread::sleep(PAUSE),
                outcome => return outcome,
            }
        }
        Self::open(own, self.slots.is_some())
    }

    fn read_numbers(&self, connections: &mut [Connection], keys: &[i64]) -> Result<Vec<Option<u64>>, Failure> {
        let mut asked: Vec<(Commands, Vec<usize>)> = connections.iter().map(|_| Default::default()).collect();
        for (place, &key) in keys.iter().enumerate() {
            let name = write_key(key);
            let (commands, places) = &mut asked[self.master(&name)];
            commands.all(&[b"GETRANGE", &name, b"0", b"7"]);
            places.push(place);
        }
        let mut numbers = vec![None; keys.len()];
        for (connection, (commands, places)) in
            connections.iter_mut().zip(&mut asked).filter(|(_, it)| !it.1.is_empty())
        {
            let reply = connection.exchange(commands).map_err(lost)?;
            for (index, &place) in places.iter().enumerate() {
                if let Some(Answer::Text(text)) = reply.answer(index) {
                    numbers[place] = text.try_into().ok().map(u64::from_be_bytes);
                }
            }
        }
        Ok(numbers)
    }

    /// The version that the first server reports.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

impl RowStore for Keyspace {
    type Session = Connection;
    type Reading = Vec<i64>;

    const COUNTS_CHECKS: bool = false;

    fn connect(&self) -> Result<Vec<Connection>, Failure> {
        let open = |url: &Url| Connection::open(url, Some(PATIENCE)).map_err(|error| cannot_use(url, &error));
        self.servers.iter().map(open).collect()
    }

    fn request(&self) -> Commands {
        Commands::default()
    }

    fn master(&self, key: &[u8]) -> usize {
        self.slots.as_ref().map_or(0, |slots| slots.master(key))
    }

    fn create(&self, data: &dyn Records) -> Result<(), Failure> {
        let mut connections = self.connect()?;
        let own = &mut connections[self.master(MARKER)];
        let marked = own.call(&[b"GET", MARKER]).map_err(lost)?.answer(0) != Some(Answer::Nothing);
        let keys = count_keys(&mut connections)?;
        if keys > 0 && !marked {
            let message = format!(
                "the database holds {keys} keys that no load wrote: use an empty database (redis://host/NUMBER), or empty this one"
            );
            return Err(Failure::new(ExitCode::BadSpec, message));
        }
        for connection in &mut connections {
            connection.call(&[b"FLUSHDB"]).map_err(lost)?;
        }
        let identity = data.identity();
        connections[self.master(MARKER)].call(&[b"SET", MARKER, identity.as_bytes()]).map(|_| ()).map_err(lost)
    }

    /// Read by a command that no workload calls, so that it is no call of the other shards' load.
    fn identity(&self) -> Result<Option<String>, Failure> {
        let url = &self.servers[self.master(MARKER)];
        let mut connection = Connection::open(url, Some(PATIENCE)).map_err(|error| cannot_use(url, &error))?;
        Ok(match connection.call(&[b"GETRANGE", MARKER, b"0", b"-1"]).map_err(lost)?.answer(0) {
            Some(Answer::Text(text)) if !text.is_empty() => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        })
    }

    fn count(&self) -> Result<u64, Failure> {
        count_keys(&mut self.connect()?)
    }

    /// How often commands were called.
    fn read(&self, counters: &[ServerCounter]) -> Result<Vec<i64>, Failure> {
        let mut calls = vec![0; counters.len()];
        for connection in &mut self.connect()? {
            let stats = connection.text(&[b"INFO", b"commandstats"]).map_err(lost)?;
            for (calls, counter) in calls.iter_mut().zip(counters) {
                *calls += calls_of(&stats, &counter.sql);
            }
        }
        Ok(calls)
    }

    fn numbers(&self, patience: Duration) -> Result<Numbers, Failure> {
        let keyspace = self.find_again(patience)?;
        let mut connections = keyspace.connect()?;
        Ok(Box::new(move |keys| keyspace.read_numbers(&mut connections, keys)))
    }

    fn calls(&self, before: &Vec<i64>, after: &Vec<i64>) -> Result<Calls, String> {
        Ok(Calls { before: before.clone(), after: after.clone(), moved: false })
    }
}

impl Asks for Connection {
    const MAX_ROWS: usize = 1_000;

    fn ask(data: &dyn Records, what: Each, number: u64, commands: &mut Commands) -> u64 {
        match what {
            Each::Store => data.store(number, commands),
            Each::Measure => {
                data.measure(number, commands);
                0
            }
        }
    }

    fn exchange_rows(&mut self, commands: &mut Commands) -> Result<&Reply, Failure> {
        self.exchange(commands).map_err(lost)
    }

    /// What is stored is refused as a whole, or not; what is measured is 0 where there is none.
    fn told(reply: &Reply, index: usize, what: Each, stored: u64, _: &dyn Records) -> Result<u64, Failure> {
        Ok(match (what, reply.answer(index)) {
            (Each::Store, _) => stored,
            (Each::Measure, Some(Answer::Integer(measured))) => measured as u64,
            (Each::Measure, _) => 0,
        })
    }
}

fn count_keys(connections: &mut [Connection]) -> Result<u64, Failure> {
    let mut sum = 0;
    for connection in connections {
        match connection.call(&[b"DBSIZE"]).map_err(lost)?.answer(0) {
            Some(Answer::Integer(keys)) => sum += keys as u64,
            other => {
                return Err(Failure::new(ExitCode::ConsistencyBroken, format!("the answer to DBSIZE was {other:?}")));
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

fn lost(error: crate::target::TargetError) -> Failure {
    Failure::target("cannot use the database", &error)
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
