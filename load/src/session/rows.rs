//! Runs a spec on a key-value target.

use super::COME_BACK_TIMEOUT;
use crate::engine::Dialer;
use crate::exit::{ExitCode, Failure, worst};
use crate::fill::rows::{Calls, RowStore};
use crate::record::Ledger;
use crate::spec::{Action, CheckSpec, LoadPart, Spec};
use crate::target::Session;
use crate::tell;
use crate::verify::check;
use crate::workload::{Records, ServerCounter, Workload};
use std::sync::Arc;

/// What the spec's workload is on such a target: its rows, where it has some, and its operations.
pub(super) type RowWorkload<S> = (Option<Box<dyn Records>>, Arc<dyn Workload<S>>);

/// Where it is carried out.
pub(super) struct RowAction<'a, R> {
    pub(super) session: &'a super::Execution,
    pub(super) spec: &'a Spec,
    pub(super) store: &'a R,
}

impl<R: RowStore> RowAction<'_, R> {
    /// Does what the spec asks for.
    pub(super) fn act<D: Dialer>(&self, (data, workload): RowWorkload<D::Session>, dialer: D) -> Result<(), Failure> {
        match (self.spec.action, &data) {
            (Action::Load, Some(data)) => self.load(data.as_ref()),
            (Action::Check, Some(data)) => self.check(data.as_ref(), true, false),
            _ => self.run(&workload, data.as_deref(), dialer),
        }
    }

    fn load(&self, data: &dyn Records) -> Result<(), Failure> {
        let Spec { load, connections, shard, .. } = self.spec;
        if matches!(load.part, LoadPart::All | LoadPart::Create) {
            tell::progress("emptying the database");
            self.store.create(data)?;
        }
        if matches!(load.part, LoadPart::All | LoadPart::Rows) {
            tell::progress("writing rows");
            let written = self.store.write(data, *connections, *shard, &self.session.stop)?;
            self.session.known().tables = vec![written];
        }
        if matches!(load.part, LoadPart::All | LoadPart::Finish) { self.check(data, true, true) } else { Ok(()) }
    }

    fn check(&self, data: &dyn Records, every_row: bool, only_loaded: bool) -> Result<(), Failure> {
        if self.spec.check == CheckSpec::None {
            return Ok(());
        }
        tell::progress("checking conditions");
        if let Some(why) = self.store.unsettled()? {
            if self.spec.action == Action::Run {
                tell::say(format!("the rows were not counted: {why}"));
                return Ok(());
            }
            return Err(Failure::new(ExitCode::TargetLost, format!("cannot count the rows: {why}; check again later")));
        }
        let mut results = self.store.check_count(data, only_loaded)?;
        if every_row {
            results.push(self.store.check_rows(data, self.spec.connections, &self.session.stop)?);
        }
        let broken = check::judge_conditions(&results);
        self.session.known().conditions = results;
        broken.map_or(Ok(()), Err)
    }

    /// Drives the workload, then checks its data, where it has some.
    fn run<D: Dialer>(
        &self,
        workload: &Arc<dyn Workload<D::Session>>,
        data: Option<&dyn Records>,
        dialer: D,
    ) -> Result<(), Failure> {
        let servers = dialer.groups();
        if (self.spec.connections as usize) < servers {
            let message = format!("connections: must be at least {servers}, one per server of the cluster");
            return Err(Failure::new(ExitCode::BadSpec, message));
        }
        let checked = self.spec.check == CheckSpec::Conditions && !self.spec.failover;
        if self.spec.failover && self.spec.check == CheckSpec::Conditions {
            tell::say("not counting rows and calls: after a failover, other servers have them");
        }
        let counters = if checked { self.counters(workload.as_ref()) } else { Vec::new() };
        let before = self.store.read(&counters)?;
        let driven = self.session.drive(workload, dialer)?;
        self.session.note_audit(workload.as_ref(), &driven);
        let kept = self.session.compare_writes(workload.as_ref(), || self.store.numbers(COME_BACK_TIMEOUT));
        let judged = worst([kept.map_err(gone), self.session.judge(&driven)]);
        if !checked || self.session.stop.interrupted() {
            return judged;
        }
        let after = match self.store.read(&counters) {
            Ok(after) => after,
            // Whoever does not answer now would be waited for once more by each further question.
            Err(failure) => return worst([Err(gone(failure)), judged]),
        };
        let counted = match self.store.calls(&before, &after) {
            Ok(calls) => self.compare(&counters, &calls, &driven.ledger),
            Err(why) => {
                tell::say(format!("the server's counters were not compared: {why}"));
                Ok(())
            }
        };
        let sound = data.map_or(Ok(()), |data| self.check(data, false, false));
        worst([counted, sound.map_err(gone), judged])
    }

    fn compare(&self, counters: &[ServerCounter], calls: &Calls, ledger: &Ledger) -> Result<(), Failure> {
        let alone = self.spec.shard.is_whole();
        let results = check::compare_counters(counters, &calls.before, &calls.after, ledger, alone);
        let disagreement = if calls.moved {
            check::judge_counters_by(&results, "partitions moved during the run")
        } else {
            check::judge_counters(&results)
        };
        self.session.known().counters = results;
        disagreement.map_or(Ok(()), Err)
    }

    /// The server's counters that can be compared with the generator's counts, alone or once its shards are merged.
    fn counters<S: Session>(&self, workload: &dyn Workload<S>) -> Vec<ServerCounter> {
        let counters = workload.server_counters();
        if counters.is_empty() || self.spec.shard.is_whole() || !R::COUNTS_CHECKS {
            return counters;
        }
        tell::say("not comparing the server's counters: they include what the checks of other shards read");
        Vec::new()
    }
}

/// A server that was there when the load began, and cannot be reached after it.
fn gone(failure: Failure) -> Failure {
    match failure.code {
        ExitCode::CannotConnect => Failure::new(ExitCode::TargetLost, failure.message),
        _ => failure,
    }
}
