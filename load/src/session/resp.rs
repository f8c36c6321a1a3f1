//! Carries a spec out on Redis or Valkey.

use super::Session;
use crate::check;
use crate::engine::RespDialer;
use crate::exit::{ExitCode, Failure, worst};
use crate::keyspace::Keyspace;
use crate::spec::{Action, CheckSpec, LoadPart, RESP_WORKLOADS, Spec, WorkloadSpec};
use crate::target::resp::{Connection, Url};
use crate::tell;
use crate::workload::kv::{KvData, KvResp};
use crate::workload::null::Null;
use crate::workload::ycsb::{YcsbData, YcsbResp};
use crate::workload::{Records, Workload};
use std::sync::Arc;

/// What the spec asks for, at this server.
pub(super) fn act(session: &Session, url: &Url) -> Result<(), Failure> {
    let spec = &session.spec;
    let opened = Keyspace::open(url, spec.target.cluster);
    session.start(opened.as_ref().ok().and_then(Keyspace::version))?;
    let keyspace = opened?;
    let place = Place { session, spec, keyspace: &keyspace };
    let (seed, slots) = (spec.seed, keyspace.slots().cloned());
    let (data, workload): (Box<dyn Records>, Arc<dyn Workload<Connection>>) = match &spec.workload {
        WorkloadSpec::Null(_) => return place.run(&(Arc::new(Null) as _), None),
        WorkloadSpec::Kv(options) => {
            (Box::new(KvData::new(*options, seed)), Arc::new(KvResp::new(*options, seed, slots)))
        }
        WorkloadSpec::Ycsb(options) => {
            let workload = YcsbResp::new(*options, seed, spec.shard, slots);
            (Box::new(YcsbData::new(*options, seed)), Arc::new(workload))
        }
        _ => return Err(Failure::new(ExitCode::BadSpec, RESP_WORKLOADS)),
    };
    match spec.action {
        Action::Run => place.run(&workload, Some(data.as_ref())),
        Action::Load => place.load(data.as_ref()),
        Action::Check => place.check(data.as_ref(), true, false),
    }
}

struct Place<'a> {
    session: &'a Session,
    spec: &'a Spec,
    keyspace: &'a Keyspace,
}

impl Place<'_> {
    fn load(&self, data: &dyn Records) -> Result<(), Failure> {
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

    fn check(&self, data: &dyn Records, every_row: bool, only_loaded: bool) -> Result<(), Failure> {
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
    fn run(&self, workload: &Arc<dyn Workload<Connection>>, data: Option<&dyn Records>) -> Result<(), Failure> {
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
