//! Carries a spec out on Redis or Valkey.

use super::Session;
use crate::check;
use crate::engine::RespDialer;
use crate::exit::{ExitCode, Failure, worst};
use crate::keyspace::Keyspace;
use crate::spec::{Action, CheckSpec, LoadPart, Spec, WorkloadSpec};
use crate::target::resp::{Connection, Url};
use crate::tell;
use crate::workload::Workload;
use crate::workload::kv::{KvData, KvResp};
use crate::workload::null::Null;
use std::sync::Arc;

/// What the spec asks for, at this server.
pub(super) fn act(session: &Session, url: &Url) -> Result<(), Failure> {
    let spec = &session.spec;
    let opened = Keyspace::open(url, spec.target.cluster);
    session.start(opened.as_ref().ok().and_then(Keyspace::version))?;
    let keyspace = opened?;
    let place = Place { session, spec, keyspace: &keyspace };
    match (&spec.workload, spec.action) {
        (WorkloadSpec::Null(_), _) => place.run(&(Arc::new(Null) as _), None),
        (WorkloadSpec::Kv(options), Action::Run) => {
            let data = KvData::new(*options, spec.seed);
            let workload = KvResp::new(*options, spec.seed, keyspace.slots().cloned());
            place.run(&(Arc::new(workload) as _), Some(&data))
        }
        (WorkloadSpec::Kv(options), Action::Load) => place.load(&KvData::new(*options, spec.seed)),
        (WorkloadSpec::Kv(options), Action::Check) => place.check(&KvData::new(*options, spec.seed), true, false),
        (WorkloadSpec::Tpcc(_) | WorkloadSpec::PointSelect(_), _) => {
            Err(Failure::new(ExitCode::BadSpec, "workload.kind: targets of kind resp have kv and null"))
        }
    }
}

struct Place<'a> {
    session: &'a Session,
    spec: &'a Spec,
    keyspace: &'a Keyspace,
}

impl Place<'_> {
    fn load(&self, data: &KvData) -> Result<(), Failure> {
        let Spec { load, connections, shard, .. } = self.spec;
        if matches!(load.part, LoadPart::All | LoadPart::Create) {
            tell::progress("emptying the database");
            self.keyspace.create(data)?;
        }
        if matches!(load.part, LoadPart::All | LoadPart::Rows) {
            tell::progress("writing rows");
            let written = self.keyspace.write(data, *connections, *shard, &self.session.stop)?;
            self.session.known().tables = vec![written];
        }
        if matches!(load.part, LoadPart::All | LoadPart::Finish) { self.check(data, true, true) } else { Ok(()) }
    }

    fn check(&self, data: &KvData, every_row: bool, only_loaded: bool) -> Result<(), Failure> {
        if self.spec.check == CheckSpec::None {
            return Ok(());
        }
        tell::progress("checking conditions");
        let mut results = self.keyspace.check_count(data, only_loaded)?;
        if every_row {
            results.push(self.keyspace.check_rows(data, self.spec.connections, &self.session.stop)?);
        }
        let broken = check::judge_conditions(&results);
        self.session.known().conditions = results;
        broken.map_or(Ok(()), Err)
    }

    /// Drives the workload, then checks its data, where it has some.
    fn run(&self, workload: &Arc<dyn Workload<Connection>>, data: Option<&KvData>) -> Result<(), Failure> {
        let checked = self.spec.check == CheckSpec::Conditions;
        let counters = if checked { self.session.counters(workload.as_ref()) } else { Vec::new() };
        let before = self.keyspace.calls(&counters)?;
        let servers = self.keyspace.servers().to_vec();
        let dialer = RespDialer { servers, pipeline: self.spec.target.pipeline as usize };
        let driven = self.session.drive(workload, dialer)?;
        self.session.note_audit(workload.as_ref(), &driven);
        let rate = self.session.judge_rate(&driven);
        if !checked || self.session.stop.interrupted() {
            return rate;
        }
        let counted = self.keyspace.calls(&counters).and_then(|after| {
            let results = check::compare_counters(&counters, &before, &after, &driven.ledger);
            let disagreement = check::judge_counters(&results);
            self.session.known().counters = results;
            disagreement.map_or(Ok(()), Err)
        });
        let sound = data.map_or(Ok(()), |data| self.check(data, false, false));
        worst([counted, sound, rate])
    }
}
