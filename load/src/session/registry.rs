//! From a spec to its workload: the only module that knows all workloads.

use crate::exit::{ExitCode, Failure};
use crate::spec::{Spec, TpccDelivery, TpccSpec, TpccTimestamps, TpccWait, WorkloadSpec};
use crate::target::{SqlSession, TextRows, mysql};
use crate::workload::kv::{Kv, KvData};
use crate::workload::null::Null;
use crate::workload::point_select::PointSelect;
use crate::workload::sysbench::{OltpInsert, OltpReadWrite, SbtestData, Tables};
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
    pub fn workload(&self, stored: &TextRows) -> Result<Arc<dyn Workload>, Failure> {
        if let Some(workload) = self.of_any_server() {
            return Ok(workload);
        }
        match &self.spec.workload {
            WorkloadSpec::Tpcc(tpcc) => {
                let stored =
                    StoredConstants::from_rows(pairs(stored)).map_err(|error| Failure::data(&DataError(error)))?;
                self.tpcc(tpcc, &stored)
            }
            _ => Ok(Arc::new(Null)),
        }
    }

    /// The same on a server of MySQL's protocol; no workload there stores constants.
    ///
    /// # Errors
    /// [`ExitCode::BadSpec`] for TPC-C.
    pub fn mysql_workload(&self, _stored: &TextRows) -> Result<Arc<dyn Workload<mysql::Connection>>, Failure> {
        match (self.of_any_server(), &self.spec.workload) {
            (Some(workload), _) => Ok(workload),
            (None, WorkloadSpec::Null(_)) => Ok(Arc::new(Null)),
            (None, _) => Err(Failure::new(ExitCode::BadSpec, "this workload is not supported on MySQL and MariaDB")),
        }
    }

    /// The workloads that any server of SQL can do.
    fn of_any_server<S: SqlSession>(&self) -> Option<Arc<dyn Workload<S>>> {
        let (seed, dialect) = (self.spec.seed, self.spec.target.dialect());
        match &self.spec.workload {
            WorkloadSpec::PointSelect(select) => Some(Arc::new(PointSelect::new(select.rows, seed, dialect))),
            WorkloadSpec::OltpInsert(options) => Some(Arc::new(OltpInsert::new(*options, seed, dialect))),
            WorkloadSpec::OltpReadWrite(options) => Some(Arc::new(OltpReadWrite::new(*options, seed, dialect))),
            WorkloadSpec::Tpcb(options) => Some(Arc::new(Tpcb::new(*options, seed, dialect))),
            WorkloadSpec::Kv(options) => Some(Arc::new(Kv::new(*options, seed, dialect))),
            WorkloadSpec::Ycsb(options) => Some(Arc::new(Ycsb::new(*options, seed, self.spec.shard, dialect))),
            WorkloadSpec::Null(_) | WorkloadSpec::Tpcc(_) => None,
        }
    }

    /// Builds the workload as it is on its own data set, without reading it.
    ///
    /// # Errors
    /// As [`SqlWorkload::workload`].
    pub fn workload_of_fresh_data(&self) -> Result<Arc<dyn Workload>, Failure> {
        match &self.spec.workload {
            WorkloadSpec::Tpcc(tpcc) => self.tpcc(tpcc, &StoredConstants::new(tpcc.warehouses, self.spec.seed)),
            _ => self.workload(&TextRows::new()),
        }
    }

    fn tpcc(&self, tpcc: &TpccSpec, stored: &StoredConstants) -> Result<Arc<dyn Workload>, Failure> {
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
        };
        let defers = tpcc.delivery == TpccDelivery::Deferred;
        let tpcc = Tpcc::new(options, stored).map_err(|error| Failure::new(ExitCode::BadSpec, error))?;
        Ok(Arc::new(tpcc.with_deferred(defers)))
    }
}

/// Rows of (name, value); others cannot be constants.
fn pairs(rows: &TextRows) -> impl Iterator<Item = (&str, &str)> {
    rows.iter().filter_map(|row| match row.as_slice() {
        [Some(name), Some(value)] => Some((name.as_str(), value.as_str())),
        _ => None,
    })
}
