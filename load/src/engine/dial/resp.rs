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

    /// Of a cluster, another node with each attempt tells who has the group's slots now.
    fn open_anywhere(
        &self,
        group: usize,
        attempt: usize,
        answer_timeout: Duration,
        most: Duration,
    ) -> Result<Connection, DialError> {
        let Some(slots) = &self.slots else { return self.open(group, answer_timeout, most) };
        // First whoever is not lost.
        let node = &slots.nodes()[(group + 1 + attempt) % slots.nodes().len()];
        let url = self.servers[group].at(node.clone());
        let nodes = Connection::open_within(&url, Some(most), most)?.text(&[b"CLUSTER", b"NODES"])?;
        let master = Slots::read(&nodes, node)?.master_of(slots.first_of(group)).clone();
        Ok(Connection::open_within(&url.at(master), Some(answer_timeout), most)?)
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
