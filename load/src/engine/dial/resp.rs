//! Sessions of RESP that are ready for a workload.

use super::{DialError, Dialer};
use crate::exit::{Failure, cannot_use};
use crate::target::resp::{Commands, Connection, Slots, Url};
use std::time::Duration;

/// Opens them.
#[derive(Debug)]
pub struct RespDialer {
    /// One server, or the masters of a cluster: each serves a group of connections.
    pub servers: Vec<Url>,
    /// Of a cluster, which of them has which slots.
    pub slots: Option<Slots>,
    /// How many operations are in flight on a connection at a time, at most.
    pub pipeline: usize,
    /// A key of each server, to ask whether it serves.
    keys: Vec<String>,
}

impl RespDialer {
    /// Of one server, or of the masters of a cluster, with which of them has which slots.
    #[must_use]
    pub fn new(servers: Vec<Url>, slots: Option<Slots>, pipeline: usize) -> Self {
        let key = |group| slots.as_ref().map_or_else(String::new, |slots| slots.key_of(group));
        let keys = (0..servers.len()).map(key).collect();
        Self { servers, slots, pipeline, keys }
    }
}

impl Dialer for RespDialer {
    type Session = Connection;

    fn groups(&self) -> usize {
        self.servers.len()
    }

    fn depth(&self) -> usize {
        self.pipeline
    }

    fn open(&self, group: usize, answer_timeout: Duration, most: Duration) -> Result<Connection, DialError> {
        Ok(Connection::open_within(&self.servers[group], Some(answer_timeout), most)?)
    }

    /// Of a cluster, another node with each attempt tells who has the group's slots now. Whoever has them may not serve
    /// them yet: while it reads its data, or until most masters agree.
    fn open_anywhere(
        &self,
        group: usize,
        attempt: usize,
        answer_timeout: Duration,
        most: Duration,
    ) -> Result<Connection, DialError> {
        let mut url = self.servers[group].clone();
        if let Some(slots) = &self.slots {
            // First whoever is not lost.
            let node = &slots.nodes()[(group + 1 + attempt) % slots.nodes().len()];
            let nodes =
                Connection::open_within(&url.at(node.clone()), Some(most), most)?.text(&[b"CLUSTER", b"NODES"])?;
            url = url.at(Slots::read(&nodes, node)?.master_of(slots.first_of(group)).clone());
        }
        let mut connection = Connection::open_within(&url, Some(answer_timeout), most)?;
        connection.call(&[b"EXISTS", self.keys[group].as_bytes()])?;
        Ok(connection)
    }

    fn request(&self) -> Commands {
        Commands::default()
    }

    fn server(&self, group: usize) -> String {
        self.servers[group].to_string()
    }

    fn explain(&self, group: usize, error: DialError) -> Failure {
        cannot_use(&self.servers[group], &error.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Dial;
    use crate::stop::Stop;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(60);

    /// The only master of a cluster, which says so often why it does not serve; its nodes; how often it was asked.
    fn master(refusals: u32, why: &'static str) -> (Url, String, Arc<AtomicU32>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let nodes = format!("a {address}@1 myself,master - 0 0 1 connected 0-16383\n");
        let asked = Arc::new(AtomicU32::new(0));
        let (told, counted) = (nodes.clone(), Arc::clone(&asked));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut bytes = [0; 512];
                while let Ok(length @ 1..) = stream.read(&mut bytes) {
                    let command = String::from_utf8_lossy(&bytes[..length]);
                    let answer = if command.contains("NODES") {
                        format!("${}\r\n{told}\r\n", told.len())
                    } else if command.contains("EXISTS") && counted.fetch_add(1, Ordering::Relaxed) < refusals {
                        format!("-{why}\r\n")
                    } else {
                        ":0\r\n".to_owned()
                    };
                    let _ = stream.write_all(answer.as_bytes());
                }
            }
        });
        (Url::parse(&format!("redis://{address}"), |_| None).unwrap(), nodes, asked)
    }

    #[test]
    fn a_server_that_is_there_and_does_not_serve_yet_is_asked_until_it_does() {
        for why in ["CLUSTERDOWN The cluster is down", "LOADING data", "MOVED 0 127.0.0.1:1"] {
            for in_cluster in [true, false] {
                let (url, nodes, asked) = master(2, why);
                let slots = in_cluster.then(|| Slots::read(&nodes, url.address()).unwrap());
                let dialer = RespDialer::new(vec![url], slots, 1);
                let dial = Dial { dialer, answer_timeout: LONG, reconnect_timeout: LONG, failover: true };
                let session = dial.reopen(0, &Stop::default(), Instant::now() + LONG).unwrap();
                assert!(session.is_some() && asked.load(Ordering::Relaxed) == 3, "{why}");
            }
        }
    }
}
