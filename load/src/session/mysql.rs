//! Runs a spec on MySQL or MariaDB.

use super::registry::{SqlWorkload, sql_workload};
use super::sql::SqlAction;
use super::{COME_BACK_TIMEOUT, Execution};
use crate::engine::MysqlDialer;
use crate::exit::{ExitCode, Failure, worst};
use crate::fill::admin::Admin;
use crate::spec::{Action, CheckSpec};
use crate::target::mysql::Connection;
use crate::tell;
use crate::verify::check::{self, Moment};
use crate::verify::status::Status;
use crate::workload::Workload;

/// What the spec asks for, at this server.
pub(super) fn act(session: &Execution, admin: &Admin<Connection>) -> Result<(), Failure> {
    let parts = sql_workload(&session.spec);
    let connected = admin.connect();
    session.start(connected.as_ref().ok().map(Connection::server_version))?;
    let connection = connected?;
    require_measured(connection.server_version())?;
    let action = SqlAction { session, admin, pooled: false };
    match session.spec.action {
        Action::Load => action.load(&parts, connection),
        Action::Run => action.run(&parts, connection),
        Action::Check => action.check(&parts, connection, Moment::Later),
    }
}

/// TiDB speaks the protocol, and nobody has looked at what of it holds there.
fn require_measured(version: &str) -> Result<(), Failure> {
    if !version.contains("TiDB") {
        return Ok(());
    }
    let why = "transactions are optimistic or take locks of another kind there, and rows are counted otherwise";
    let message = format!("the server is TiDB ({version}): {why}; name a server of MySQL or MariaDB");
    Err(Failure::new(ExitCode::CannotConnect, message))
}

impl SqlAction<'_, Connection> {
    fn run(&self, parts: &SqlWorkload, mut connection: Connection) -> Result<(), Failure> {
        let workload = self.workload(parts, &mut connection)?;
        let spec = &self.session.spec;
        self.read_isolation(&mut connection)?;
        self.session.known().encryption = Some(connection.encryption());
        self.prepare(workload.as_ref(), &mut connection)?;
        let checked = spec.check == CheckSpec::Conditions;
        let counters = if checked { workload.server_counters() } else { Vec::new() };
        let before = check::read_counters(&mut connection, &counters)?;
        let hosts = MysqlDialer::hosts(self.admin.dsn(), spec.connections);
        let status = self.status(workload.as_ref(), &mut connection, hosts.len())?;
        // It would take one of the server's connections from the load.
        drop(connection);

        let dialer = MysqlDialer {
            hosts,
            isolation: spec.target.isolation,
            statements: workload.statements().to_vec(),
            pipeline: spec.target.pipeline as usize,
        };
        let driven = self.session.drive(&workload, dialer)?;
        self.session.note_audit(workload.as_ref(), &driven);
        let judged = self.session.judge(&driven);
        if !checked || self.session.stop.interrupted() {
            return worst([self.compare_writes(workload.as_ref()), judged]);
        }
        let mut connection = self.admin.connect_again(COME_BACK_TIMEOUT, &self.session.stop)?;
        let compared =
            status.map(|status| status.end(&mut connection, spec.connections, &driven.ledger, &driven.draws));
        let after = check::read_counters(&mut connection, &counters)?;
        let mut results = check::compare_counters(&counters, &before, &after, &driven.ledger, spec.shard.is_whole());
        results.extend(compared.transpose()?.unwrap_or_default());
        let disagreement = check::judge_counters(&results);
        self.session.known().counters = results;
        let agrees = disagreement.map_or(Ok(()), Err);
        let sound = self.check_conditions(workload.as_ref(), &mut connection, Moment::Later);
        worst([agrees, sound, self.compare_writes(workload.as_ref()), judged])
    }

    /// Reads what the server has counted before the load, where that can be compared.
    fn status(
        &self,
        workload: &dyn Workload<Connection>,
        connection: &mut Connection,
        hosts: usize,
    ) -> Result<Option<Status>, Failure> {
        let spec = &self.session.spec;
        // A ping is no statement, and is not counted.
        if spec.check != CheckSpec::Conditions || !spec.shard.is_whole() || workload.statements().is_empty() {
            return Ok(None);
        }
        if hosts > 1 {
            tell::say(format_args!("not comparing the server's status: each of the {hosts} hosts counts separately"));
            return Ok(None);
        }
        Status::begin(connection, workload.effects())
    }

    /// Sets the isolation level that the spec asks for, as each session of the load does, and compares what the server
    /// makes of it.
    fn read_isolation(&self, connection: &mut Connection) -> Result<(), Failure> {
        let asked = self.session.spec.target.isolation;
        let failed = |error| Failure::target("could not read the isolation level of the session", &error);
        connection.set_isolation(asked).map_err(|error| failed(error.error))?;
        let in_force = connection.isolation_in_force().map_err(failed)?;
        self.session.known().isolation = Some(in_force.clone());
        if in_force == asked.name() {
            return Ok(());
        }
        let message = format!(
            "the server runs transactions at {in_force}, although the spec asks for {}: ask for the isolation level \
             \"{in_force}\"",
            asked.name()
        );
        Err(Failure::new(ExitCode::BadSpec, message))
    }
}
