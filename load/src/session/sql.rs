//! Runs a spec on a target that speaks SQL, and all of it on one with PostgreSQL's protocol.

use super::registry::{SqlWorkload, sql_workload};
use super::{COME_BACK_TIMEOUT, Execution, pooler};
use crate::engine::{Driven, PostgresDialer};
use crate::exit::{ExitCode, Failure, worst};
use crate::fill::admin::Admin;
use crate::fill::kv;
use crate::fill::loader::Loader;
use crate::output::ConditionResult;
use crate::spec::{Action, CheckSpec, LoadPart, Spec, TargetSpec};
use crate::target::postgres::{Connection, Dsn, Prepared, Unnamed};
use crate::target::{AdminSession, SqlSession};
use crate::tell;
use crate::verify::check::{self, Moment};
use crate::verify::fingerprint;
use crate::verify::statistics::Statistics;
use crate::workload::null::Null;
use crate::workload::{ServerCounter, Workload};
use std::sync::Arc;

/// What the spec asks for, at this server.
pub(super) fn act(session: &Execution, admin: &Admin) -> Result<(), Failure> {
    let parts = sql_workload(&session.spec);
    let connected = admin.connect();
    session.start(connected.as_ref().ok().and_then(|connection| connection.server_version()))?;
    let mut connection = connected?;
    let pooled = pooler::is_pooled(&session.spec.target, &mut connection)?;
    let action = SqlAction { session, admin, pooled };
    match session.spec.action {
        Action::Load => action.load(&parts, connection),
        Action::Run => action.run(&parts, connection),
        Action::Check => action.check(&parts, connection, Moment::Later),
    }
}

/// What the server had counted before the load, and what of it is to be compared.
#[derive(Default)]
struct Counted {
    counters: Vec<ServerCounter>,
    before: Vec<i64>,
    statistics: Option<Statistics>,
}

pub(super) struct SqlAction<'a, C: AdminSession> {
    pub(super) session: &'a Execution,
    pub(super) admin: &'a Admin<C>,
    /// A connection pooler answers for the server.
    pub(super) pooled: bool,
}

impl<C: AdminSession + SqlSession> SqlAction<'_, C>
where
    Null: Workload<C>,
{
    pub(super) fn load(&self, parts: &SqlWorkload, connection: C) -> Result<(), Failure> {
        let tables = Loader {
            dataset: parts.dataset.as_ref(),
            dialect: self.session.spec.target.dialect(),
            pooled: self.pooled,
            admin: self.admin,
            connections: self.session.spec.connections,
            shard: self.session.spec.shard,
            stop: &self.session.stop,
            progress: &tell::progress,
        }
        .run(self.session.spec.load)?;
        self.session.known().tables = tables;
        if matches!(self.session.spec.load.part, LoadPart::Create | LoadPart::Rows) {
            return Ok(());
        }
        self.check(parts, connection, Moment::AfterLoad)
    }

    pub(super) fn check(&self, parts: &SqlWorkload, mut connection: C, moment: Moment) -> Result<(), Failure> {
        let workload = self.workload(parts, &mut connection)?;
        let checked = match self.session.spec.check {
            CheckSpec::Conditions => self.check_conditions(workload.as_ref(), &mut connection, moment),
            CheckSpec::None => Ok(()),
        };
        worst([checked, self.compare_fingerprints()])
    }

    /// Compares every table with what its seed makes, if that is requested.
    fn compare_fingerprints(&self) -> Result<(), Failure> {
        if !self.session.spec.fingerprint {
            return Ok(());
        }
        tell::progress("comparing fingerprints");
        // The data set's own seed, where it keeps one: a run may have had another.
        let stored = self.session.known().constants.get("data_seed").and_then(|seed| u64::try_from(*seed).ok());
        let spec = Spec { seed: stored.unwrap_or(self.session.spec.seed), ..self.session.spec.clone() };
        let parts = sql_workload(&spec);
        let (dialect, connections) = (spec.target.dialect(), spec.connections);
        let results =
            fingerprint::compare(parts.dataset.as_ref(), dialect, self.admin, connections, &self.session.stop)?;
        let difference = fingerprint::judge(&results);
        self.session.known().fingerprints = results;
        difference.map_or(Ok(()), Err)
    }

    /// Breaches that were found are not forgotten when a later condition cannot be checked.
    pub(super) fn check_conditions(
        &self,
        workload: &dyn Workload<C>,
        connection: &mut C,
        moment: Moment,
    ) -> Result<(), Failure> {
        tell::progress("checking conditions");
        let unknown = |error| Failure::target("cannot ask for the cluster of the server", &error);
        let has_copies = connection.wait_for_copies().map_err(unknown)?;
        let copies = if has_copies { connection.others(self.admin.dsn()) } else { Vec::new() };
        let on_first = check::conditions(connection, &workload.conditions(), moment, |found| {
            self.session.known().conditions.push(found)
        });
        let on_copies = copies.iter().map(|copy| self.check_copy(workload, copy, moment));
        let ended = on_copies.fold(on_first, |ended, next| worst([ended, next]));
        let broken = check::judge_conditions(&self.session.known().conditions);
        worst([broken.map_or(Ok(()), Err), ended])
    }

    /// What a further server breaks takes the place of what holds on the first. One that cannot be asked is a failure:
    /// nobody knows what its copy of the data is.
    fn check_copy(&self, workload: &dyn Workload<C>, copy: &C::Dsn, moment: Moment) -> Result<(), Failure> {
        let failed = |error| Failure::target(&format!("cannot check the copy of the data at {copy}"), &error);
        tell::progress("checking conditions at the next host");
        let mut connection = self.admin.open_at(copy).map_err(failed)?;
        connection.wait_for_copies().map_err(failed)?;
        check::conditions(&mut connection, &workload.conditions(), moment, |found| {
            let mut known = self.session.known();
            if let Some(first) =
                known.conditions.iter_mut().find(|it| !found.holds && it.holds && it.number == found.number)
            {
                let example = found.example.unwrap_or_default();
                *first = ConditionResult { example: Some(format!("{example} at {copy}")), ..found };
            }
        })
    }

    /// Gives the database what the workload needs beside its tables.
    pub(super) fn prepare(&self, workload: &dyn Workload<C>, connection: &mut C) -> Result<(), Failure> {
        let failed = |error| Failure::target("cannot prepare the database for the workload", &error);
        workload.prepare().iter().try_for_each(|sql| connection.query(sql).map(drop).map_err(failed))
    }

    /// Builds the workload, on the constants that the data set was loaded with.
    pub(super) fn workload(&self, parts: &SqlWorkload, connection: &mut C) -> Result<Arc<dyn Workload<C>>, Failure> {
        let read = |sql: &str| {
            connection.query(sql).map_err(|error| Failure::target("cannot read the constants of the data set", &error))
        };
        let stored = parts.stored_constants.map_or(Ok(Vec::new()), read)?;
        let workload = parts.workload(&stored)?;
        let mut known = self.session.known();
        known.constants = workload.constants();
        known.profile = self.session.spec.workload.profile().map(str::to_owned);
        drop(known);
        Ok(workload)
    }

    /// Compares what is there with the run's ledger of its writes, if it keeps one. Comes last, as the server counts what
    /// is read.
    pub(super) fn compare_writes(&self, workload: &dyn Workload<C>) -> Result<(), Failure>
    where
        C: 'static,
    {
        let dialect = self.session.spec.target.dialect();
        self.session.compare_writes(workload, || {
            let mut connection = self.admin.connect_again(COME_BACK_TIMEOUT, &self.session.stop)?;
            Ok(Box::new(move |keys| kv::read_numbers(&mut connection, dialect, keys)))
        })
    }
}

impl SqlAction<'_, Connection> {
    fn run(&self, parts: &SqlWorkload, mut connection: Connection) -> Result<(), Failure> {
        let workload = self.workload(parts, &mut connection)?;
        let checked = self.session.spec.check == CheckSpec::Conditions;
        self.read_isolation(&mut connection)?;
        let asked = self.session.spec.target.prepared;
        let prepared = pooler::preparation(asked, self.pooled, &mut connection, self.admin)?;
        self.session.known().prepared = Some(prepared.name());
        self.session.known().pooled = Some(self.pooled);
        self.session.known().encryption = Some(connection.encryption());
        self.prepare(workload.as_ref(), &mut connection)?;
        let hosts = PostgresDialer::hosts(self.admin.dsn(), self.session.spec.connections);
        let counted = self.count(workload.as_ref(), connection, hosts.len())?;

        let driven = self.session.drive(&workload, self.dialer(workload.as_ref(), hosts, prepared))?;
        self.session.note_audit(workload.as_ref(), &driven);
        let judged = self.session.judge(&driven);
        // Who interrupted does not want to wait. After anything else the data is looked at: a server that went away
        // may be back, and what it lost is worth more than that it went.
        if !checked || self.session.stop.interrupted() {
            return worst([self.compare_writes(workload.as_ref()), judged]);
        }
        let mut connection = self.admin.connect_again(COME_BACK_TIMEOUT, &self.session.stop)?;
        let agrees = self.compare(&counted, &mut connection, &driven);
        let sound = self.check_conditions(workload.as_ref(), &mut connection, Moment::Later);
        worst([agrees, sound, self.compare_writes(workload.as_ref()), judged])
    }

    /// Compares the isolation level of a transaction with the one that the spec asks for: a server may take a statement
    /// that asks for one level, and run at another (CockroachDB).
    fn read_isolation(&self, connection: &mut Connection) -> Result<(), Failure> {
        let asked = self.session.spec.target.isolation;
        let failed = |error| Failure::target("could not read the isolation level of a transaction", &error);
        let in_force = connection.isolation_in_force(asked).map_err(failed)?;
        self.session.known().isolation = Some(in_force.clone());
        if in_force == asked.name() {
            return if self.pooled { pooler::require_default_isolation(connection, asked) } else { Ok(()) };
        }
        let message = format!(
            "the server runs transactions at {in_force}, although the spec asks for {}: ask for the isolation level \
             \"{in_force}\" (CockroachDB before 23.2 has no other than serializable)",
            asked.name()
        );
        Err(Failure::new(ExitCode::BadSpec, message))
    }

    /// Reads what the server has counted before the load. No session is left open, which would take one of the server's
    /// actions from the load.
    fn count(&self, workload: &dyn Workload, mut connection: Connection, hosts: usize) -> Result<Counted, Failure> {
        let Spec { check, ref target, .. } = self.session.spec;
        if check != CheckSpec::Conditions {
            return Ok(Counted::default());
        }
        let counters = workload.server_counters();
        let before = check::read_counters(&mut connection, &counters)?;
        // To count the rows of a table is a scan of it, which a session hands in when it ends.
        drop(connection);
        let alone = self.session.spec.shard.is_whole() && target.dialect().has_table_statistics();
        let statistics = match workload.effects().filter(|_| alone) {
            Some(effects) if hosts == 1 => Statistics::begin(&mut self.admin.connect()?, effects, self.pooled)?,
            Some(_) => {
                tell::say(format_args!("not comparing table statistics: each of the {hosts} hosts counts separately"));
                None
            }
            None => None,
        };
        Ok(Counted { counters, before, statistics })
    }

    /// Compares what the server has counted since; first its statistics, since to read the counters is counted there.
    fn compare(&self, counted: &Counted, connection: &mut Connection, driven: &Driven) -> Result<(), Failure> {
        let Counted { counters, before, statistics } = counted;
        let compared = statistics.as_ref().map(|statistics| statistics.end(connection, &driven.ledger, &driven.draws));
        let compared = compared.transpose()?.unwrap_or_default();
        let after = check::read_counters(connection, counters)?;
        let mut results =
            check::compare_counters(counters, before, &after, &driven.ledger, self.session.spec.shard.is_whole());
        results.extend(compared);
        let disagreement = check::judge_counters(&results);
        self.session.known().counters = results;
        disagreement.map_or(Ok(()), Err)
    }

    /// Opens sessions for the workload.
    fn dialer(&self, workload: &dyn Workload, hosts: Vec<Dsn>, prepared: Prepared) -> PostgresDialer {
        let TargetSpec { isolation, retry, .. } = self.session.spec.target;
        let statements = workload.statements().to_vec();
        let unnamed = (prepared == Prepared::Unnamed).then(|| Arc::new(Unnamed::new(&statements, isolation)));
        PostgresDialer { hosts, isolation, retry, statements, unnamed, pooled: self.pooled }
    }
}
