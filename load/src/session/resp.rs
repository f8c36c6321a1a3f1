//! Runs a spec on Redis or Valkey.

use super::Execution;
use super::rows::{RowAction, RowWorkload};
use crate::engine::RespDialer;
use crate::exit::{ExitCode, Failure};
use crate::fill::keyspace::Keyspace;
use crate::spec::{RESP_WORKLOADS, WorkloadSpec};
use crate::target::resp::{Connection, Url};
use crate::workload::kv::{KvData, KvResp};
use crate::workload::null::Null;
use crate::workload::ycsb::{YcsbData, YcsbResp};
use std::sync::Arc;

/// What the spec asks for, at this server.
pub(super) fn act(session: &Execution, url: &Url) -> Result<(), Failure> {
    let spec = &session.spec;
    let opened = Keyspace::open(url, spec.target.cluster);
    session.start(opened.as_ref().ok().and_then(Keyspace::version))?;
    let keyspace = opened?;
    let (seed, slots) = (spec.seed, keyspace.slots().cloned());
    let parts: RowWorkload<Connection> = match &spec.workload {
        WorkloadSpec::Null(_) => (None, Arc::new(Null)),
        WorkloadSpec::Kv(options) => {
            (Some(Box::new(KvData::new(*options, seed))), Arc::new(KvResp::new(*options, seed, slots)))
        }
        WorkloadSpec::Ycsb(options) => {
            let workload = YcsbResp::new(*options, seed, spec.shard, slots);
            (Some(Box::new(YcsbData::new(*options, seed))), Arc::new(workload))
        }
        _ => return Err(Failure::new(ExitCode::BadSpec, RESP_WORKLOADS)),
    };
    let (servers, slots) = (keyspace.servers().to_vec(), keyspace.slots().cloned());
    let dialer = RespDialer::new(servers, slots, spec.target.pipeline as usize);
    RowAction { session, spec, store: &keyspace }.act(parts, dialer)
}
