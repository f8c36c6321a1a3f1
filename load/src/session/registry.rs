//! From a spec to its workload: the only module that knows all workloads.

use crate::exit::{ExitCode, Failure};
use crate::spec::{Spec, TpccDelivery, TpccSpec, TpccTimestamps, TpccWait, WorkloadSpec};
use crate::target::{SqlSession, TextRows};
use crate::workload::kv::{Kv, KvData};
use crate::workload::null::Null;
use crate::workload::point_select::PointSelect;
use crate::workload::sysbench::{OltpInsert, OltpTransactions, SbtestData, Tables};
use crate::workload::tpcb::{Tpcb, TpcbData};
use crate::workload::tpcc::constants::{STORED_CONSTANTS_QUERY, StoredConstants};
use crate::workload::tpcc::population::{Population, PopulationOptions};
use crate::workload::tpcc::worker::Clock;
use crate::workload::tpcc::{Tpcc, TpccOptions};
use crate::workload::ycsb::{Ycsb, YcsbData};
use crate::workload::{DataError, Dataset, Workload};
use std::sync::Arc;

/// What a spec's workload consists of. The workload itself may depend on constants that are stored with the data
/// set (TPC-C's C_load), so it is built only when they have been read.
pub struct SqlWorkload {
    spec: Spec,
    /// Writes the tables.
    pub dataset: Arc<dyn Dataset>,
    /// Reads the stored constants; `None` when the workload has none.
    pub stored_constants: Option<&'static str>,
}

/// Finds the parts of the workload that a spec asks for.
#[must_use]
pub fn sql_workload(spec: &Spec) -> SqlWorkload {
    let sbtest = |count, rows| Arc::new(SbtestData::new(Tables { count, rows }, spec.seed));
    let (dataset, stored_constants): (Arc<dyn Dataset>, _) = match &spec.workload {
        WorkloadSpec::PointSelect(select) => (sbtest(1, select.rows), None),
        WorkloadSpec::OltpInsert(insert) => (sbtest(insert.tables, insert.rows), None),
        WorkloadSpec::OltpReadWrite(both) => (sbtest(both.tables, both.rows), None),
        WorkloadSpec::OltpReadOnly(read) => (sbtest(read.tables, read.rows), None),
        WorkloadSpec::Tpcb(tpcb) => (Arc::new(TpcbData::new(tpcb.scale)), None),
        WorkloadSpec::Kv(options) => (Arc::new(KvData::new(*options, spec.seed)), None),
        WorkloadSpec::Ycsb(options) => (Arc::new(YcsbData::new(*options, spec.seed)), None),
        WorkloadSpec::Null(_) => (Arc::new(Null), None),
        WorkloadSpec::Tpcc(tpcc) => {
            let options = PopulationOptions::new(tpcc.warehouses, spec.seed);
            (Arc::new(Population::new(options)), Some(STORED_CONSTANTS_QUERY))
        }
    };
    SqlWorkload { spec: spec.clone(), dataset, stored_constants }
}

impl SqlWorkload {
    /// Builds the workload. `stored` is the answer to [`SqlWorkload::stored_constants`], empty when there is no query.
    ///
    /// # Errors
    /// [`ExitCode::ConsistencyBroken`] when the data set is not whole, [`ExitCode::BadSpec`] when it is, and the spec
    /// describes another one.
    pub fn workload<S: SqlSession>(&self, stored: &TextRows) -> Result<Arc<dyn Workload<S>>, Failure>
    where
        Null: Workload<S>,
    {
        let (seed, dialect) = (self.spec.seed, self.spec.target.dialect());
        Ok(match &self.spec.workload {
            WorkloadSpec::PointSelect(select) => Arc::new(PointSelect::new(select.rows, seed, dialect)),
            WorkloadSpec::OltpInsert(options) => Arc::new(OltpInsert::new(*options, seed, dialect)),
            WorkloadSpec::OltpReadWrite(options) => Arc::new(OltpTransactions::read_write(*options, seed, dialect)),
            WorkloadSpec::OltpReadOnly(options) => Arc::new(OltpTransactions::read_only(*options, seed, dialect)),
            WorkloadSpec::Tpcb(options) => Arc::new(Tpcb::new(*options, seed, dialect)),
            WorkloadSpec::Kv(options) => Arc::new(Kv::new(*options, seed, dialect)),
            WorkloadSpec::Ycsb(options) => Arc::new(Ycsb::new(*options, seed, self.spec.shard, dialect)),
            WorkloadSpec::Null(_) => Arc::new(Null),
            WorkloadSpec::Tpcc(tpcc) => {
                let stored =
                    StoredConstants::from_rows(pairs(stored)).map_err(|error| Failure::data(&DataError(error)))?;
                Arc::new(self.tpcc(tpcc, &stored)?)
            }
        })
    }

    /// Builds the workload as it is on its own data set, without reading it.
    ///
    /// # Errors
    /// As [`SqlWorkload::workload`].
    pub fn workload_of_fresh_data(&self) -> Result<Arc<dyn Workload>, Failure> {
        match &self.spec.workload {
            WorkloadSpec::Tpcc(tpcc) => {
                Ok(Arc::new(self.tpcc(tpcc, &StoredConstants::new(tpcc.warehouses, self.spec.seed))?))
            }
            _ => self.workload(&TextRows::new()),
        }
    }

    fn tpcc(&self, tpcc: &TpccSpec, stored: &StoredConstants) -> Result<Tpcc, Failure> {
        let options = TpccOptions {
            warehouses: tpcc.warehouses,
            active_warehouses: tpcc.active_warehouses,
            seed: self.spec.seed,
            clock: match tpcc.timestamps {
                TpccTimestamps::Wall => Clock::Wall,
                TpccTimestamps::Logical => Clock::LOGICAL,
            },
            profile: tpcc.profile,
            mix: tpcc.mix,
            wait_factor: (tpcc.wait == TpccWait::Spec).then_some(tpcc.wait_factor),
            dialect: self.spec.target.dialect(),
        };
        let defers = tpcc.delivery == TpccDelivery::Deferred;
        let tpcc = Tpcc::new(options, stored).map_err(|error| Failure::new(ExitCode::BadSpec, error))?;
        Ok(tpcc.with_deferred(defers))
    }
}

/// Rows of (name, value); others cannot be constants.
fn pairs(rows: &TextRows) -> impl Iterator<Item = (&str, &str)> {
    rows.iter().filter_map(|row| match row.as_slice() {
        [Some(name), Some(value)] => Some((name.as_str(), value.as_str())),
        _ => None,
    })
}
