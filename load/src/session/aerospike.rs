//! Runs a spec on Aerospike.

use super::Execution;
use super::rows::{RowAction, RowWorkload};
use crate::engine::AerospikeDialer;
use crate::exit::{ExitCode, Failure};
use crate::fill::recordset::Recordset;
use crate::spec::{AEROSPIKE_WORKLOADS, Action, WorkloadSpec};
use crate::target::aerospike::{self, Connection};
use crate::tell;
use crate::workload::kv::{KvAerospike, KvData};
use crate::workload::null::Null;
use crate::workload::ycsb::{YcsbAerospike, YcsbData};
use std::sync::Arc;
use std::time::Duration;

/// What the spec asks for, at these nodes.
pub(super) fn act(session: &Execution, place: &aerospike::Place) -> Result<(), Failure> {
    let spec = &session.spec;
    let patience = (spec.action == Action::Run).then(|| Duration::from_secs_f64(spec.answer_timeout_s));
    let opened = Recordset::open(place.clone(), patience);
    session.start(opened.as_ref().ok().map(|opened| opened.cluster().version.as_str()))?;
    let records = opened?;
    let (seed, partitions) = (spec.seed, records.cluster().partitions.clone());
    let dialer = AerospikeDialer { partitions: partitions.clone() };
    let parts: RowWorkload<Connection> = match &spec.workload {
        WorkloadSpec::Null(_) => (None, Arc::new(Null)),
        WorkloadSpec::Kv(options) => {
            (Some(Box::new(KvData::new(*options, seed))), Arc::new(KvAerospike::new(*options, seed, partitions)))
        }
        WorkloadSpec::Ycsb(options) => {
            let workload = YcsbAerospike::new(*options, seed, spec.shard, partitions);
            (Some(Box::new(YcsbData::new(*options, seed))), Arc::new(workload))
        }
        _ => return Err(Failure::new(ExitCode::BadSpec, AEROSPIKE_WORKLOADS)),
    };
    let outcome = RowAction { session, spec, store: &records }.act(parts, dialer);
    let lost = outcome.as_ref().is_err_and(|failure| failure.code == ExitCode::TargetLost);
    if spec.action == Action::Run && !lost && records.has_moved().is_ok_and(|moved| moved) {
        tell::say("partitions moved during the run: the old nodes forwarded operations on them");
    }
    outcome
}
