//! Sessions of Aerospike that are ready for a workload.

use super::{DialError, Dialer};
use crate::exit::{Failure, cannot_use_node};
use crate::target::aerospike::{Connection, Messages, Partitions};
use std::sync::Arc;
use std::time::Duration;

/// Opens them: each node serves a group of connections.
#[derive(Debug)]
pub struct AerospikeDialer {
    /// The cluster, as it was when the load began.
    pub partitions: Partitions,
}

impl Dialer for AerospikeDialer {
    type Session = Connection;

    fn groups(&self) -> usize {
        self.partitions.nodes().len()
    }

    fn open(&self, group: usize, answer_timeout: Duration, most: Duration) -> Result<Connection, DialError> {
        Ok(Connection::open_within(&self.partitions.nodes()[group], Some(answer_timeout), most)?)
    }

    fn request(&self) -> Messages {
        Messages::new(Arc::clone(self.partitions.set()))
    }

    fn server(&self, group: usize) -> String {
        self.partitions.nodes()[group].to_string()
    }

    fn explain(&self, group: usize, error: DialError) -> Failure {
        cannot_use_node(&self.partitions.nodes()[group], &error.error)
    }
}
