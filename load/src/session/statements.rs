//! Lists every SQL statement that the program can send: for readers, for other tools, and for checks against a server's
//! grammar. The texts come from the code that sends them; a test compares the list with a real server's log.

use super::registry::{self, SqlWorkload};
use crate::exit::Failure;
use crate::fill::journal;
use crate::fill::loader;
use crate::fill::parts::TRANSACTION;
use crate::spec::{Spec, TpccSpec, WorkloadSpec};
use crate::target::postgres::{Connection, Isolation};
use crate::target::{Copied, Dialect, mysql};
use crate::verify::fingerprint;
use crate::verify::statistics;
use crate::verify::status;
use crate::workload::tpcb::TpcbOptions;
use crate::workload::tpcc::profile::Profile;
use crate::workload::{self, Trips, tables};
use clap::ValueEnum;
use std::fmt::Write;

/// Groups of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SqlPart {
    /// Tables, keys, indexes.
    Schema,
    /// Rows, the load's journal, statistics, constants.
    Load,
    /// Session settings, transaction control, operations.
    Run,
    /// Stored constants, counters, conditions, fingerprints.
    Check,
    /// Cluster settings of the 2022 Cloud Report, for you to apply; the program never sends them.
    Settings,
}

/// A statement and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// What it is, for people.
    pub name: String,
    /// Its text, without a semicolon.
    pub sql: String,
}

/// All statements of a part, or of all parts, each on a line of its own and ended by a semicolon. With `all_profiles`,
/// those of every profile of TPC-C that the dialect has, and of TPC-B.
///
/// # Errors
/// [`crate::exit::ExitCode::BadSpec`] when the spec has no such workload.
pub fn lines(spec: &Spec, all_profiles: bool, part: Option<SqlPart>, names: bool) -> Result<String, Failure> {
    let mut lines = String::new();
    for Named { name, sql } in statements(spec, all_profiles, part)? {
        // Nothing that is sent has a line break; blanks may stand in a literal.
        let sql = sql.replace('\n', " ");
        let comment = if names { format!(" -- {name}") } else { String::new() };
        writeln!(lines, "{sql};{comment}").expect("a String takes everything");
    }
    Ok(lines)
}

/// All statements of a part, or of all parts.
///
/// # Errors
/// As [`lines`].
pub fn statements(spec: &Spec, all_profiles: bool, part: Option<SqlPart>) -> Result<Vec<Named>, Failure> {
    let parts = registry::sql_workload(spec);
    let dialect = spec.target.dialect();
    let mut all = Vec::new();
    for each in SqlPart::value_variants() {
        if part.is_none_or(|part| part == *each) {
            all.extend(match each {
                SqlPart::Schema => schema(&parts, dialect),
                SqlPart::Load => load(&parts, dialect),
                SqlPart::Run => run(spec, all_profiles)?,
                SqlPart::Check => check(&parts, dialect)?,
                SqlPart::Settings => settings(dialect),
            });
        }
    }
    Ok(all)
}

fn named(name: impl Into<String>, sql: impl Into<String>) -> Named {
    Named { name: name.into(), sql: sql.into() }
}

fn schema(parts: &SqlWorkload, dialect: Dialect) -> Vec<Named> {
    let notes = [journal::DROP.to_owned(), journal::create_sql(dialect)].map(|sql| named("journal of the load", sql));
    let create = parts.dataset.create(dialect).into_iter().map(|sql| named("create", sql));
    let index = parts.dataset.index(dialect).into_iter().map(|sql| named("index", sql));
    notes.into_iter().chain(create).chain(index).collect()
}

fn load(parts: &SqlWorkload, dialect: Dialect) -> Vec<Named> {
    let dataset = parts.dataset.as_ref();
    let note = |step: &str| named("note", journal::note_sql(dialect, &dataset.identity(), step, Copied::default()));
    let settings = dialect.loading_settings().into_iter().map(|sql| named("session setting", sql));
    let mut all = vec![note(journal::CREATED), named("notes", journal::read_sql(dialect))];
    all.extend(settings);
    all.push(named("begin", TRANSACTION[0]));
    all.extend(tables(dataset).iter().map(|table| named(format!("copy {}", table.name), table.copy_sql(dialect))));
    // One of each table: those of other warehouses differ in the number.
    let pieces = dataset.pieces();
    let first = |table: &&workload::Table| pieces.iter().find(|piece| piece.table == *table);
    let firsts: Vec<_> = tables(dataset).iter().filter_map(first).collect();
    all.extend(firsts.iter().map(|piece| note(&loader::step(piece))));
    if dialect.max_transaction_bytes().is_some() {
        let again = |step: &str| journal::note_again_sql(dialect, &dataset.identity(), step, Copied::default());
        all.extend(firsts.iter().map(|piece| named("note", again(&loader::begun(piece)))));
    }
    all.push(named("commit", TRANSACTION[1]));
    all.extend(tables(dataset).iter().map(|table| named(format!("settle {}", table.name), dialect.settle(table.name))));
    let last = dataset.finish(dialect);
    all.extend(dataset.index(dialect).iter().chain(&last).map(|statement| note(statement)));
    all.extend(last.iter().map(|sql| named("finish", sql)));
    all.push(note(journal::FINISHED));
    if let Some(question) = dialect.may_checkpoint() {
        all.extend([named("may checkpoint", question), named("checkpoint", Dialect::CHECKPOINT)]);
    }
    all
}

fn run(spec: &Spec, all_profiles: bool) -> Result<Vec<Named>, Failure> {
    let is_mysql = spec.target.dialect() == Dialect::Mysql;
    let mut all = if is_mysql { mysql_sessions() } else { sessions(spec) };
    all.extend(["COMMIT", "ROLLBACK"].map(|sql| named("end", sql)));
    if !is_mysql {
        all.extend(Dialect::RESTART_PROTOCOL.map(|sql| named("retry by savepoint", sql)));
    }
    for profile in if all_profiles { profiles(spec) } else { vec![spec.clone()] } {
        let workload = registry::sql_workload(&profile).workload_of_fresh_data()?;
        let prepared = workload.prepare().into_iter().map(|sql| named("prepare", sql));
        let text = |sql: &str| if is_mysql { mysql::with_question_marks(sql) } else { sql.to_owned() };
        let sent = workload.statements().iter().map(|statement| named(statement.name, text(&statement.sql)));
        for statement in prepared.chain(sent) {
            // Profiles share what they send alike.
            if !all.contains(&statement) {
                all.push(statement);
            }
        }
    }
    Ok(all)
}

/// What sessions are set to, and transactions begun with.
fn sessions(spec: &Spec) -> Vec<Named> {
    let each = |isolation: Isolation| {
        [named("isolation level", isolation.session_sql()), named("begin", isolation.begin_sql())]
    };
    let mut all: Vec<_> = Isolation::ALL.into_iter().flat_map(each).collect();
    all.push(named("isolation level in force", Isolation::SHOW));
    if spec.target.dialect == Dialect::Postgres {
        all.push(named("is it a pooler", Connection::BACKEND));
        all.push(named("default isolation level, through a pooler", Isolation::SHOW_DEFAULT));
    }
    all
}

fn mysql_sessions() -> Vec<Named> {
    let levels = Isolation::ALL.map(|isolation| named("isolation level", mysql::set_isolation_sql(isolation)));
    let settings = named("session settings", mysql::SESSION_SETTINGS);
    let last = [named("isolation level in force", mysql::SHOW_ISOLATION), named("begin", "BEGIN")];
    std::iter::once(settings).chain(levels).chain(last).collect()
}

/// The spec with each profile whose statements are its own and that its dialect has.
fn profiles(spec: &Spec) -> Vec<Spec> {
    let of = |workload| Spec { workload, ..spec.clone() };
    match &spec.workload {
        WorkloadSpec::Tpcc(tpcc) => {
            let offered = Profile::ALL.into_iter().filter(|profile| profile.is_of(spec.target.dialect()));
            offered.map(|profile| of(WorkloadSpec::Tpcc(TpccSpec { profile, ..tpcc.clone() }))).collect()
        }
        WorkloadSpec::Tpcb(tpcb) => {
            let offered = |trips: &Trips| *trips == Trips::Chatty || spec.target.dialect() != Dialect::Mysql;
            let both = [Trips::Chatty, Trips::Pipelined].into_iter().filter(offered);
            both.map(|profile| of(WorkloadSpec::Tpcb(TpcbOptions { profile, ..*tpcb }))).collect()
        }
        _ => vec![spec.clone()],
    }
}

fn check(parts: &SqlWorkload, dialect: Dialect) -> Result<Vec<Named>, Failure> {
    let workload = parts.workload_of_fresh_data()?;
    let constants = parts.stored_constants.map(|sql| named("stored constants", sql));
    let counters = workload.server_counters().into_iter().map(|counter| named(counter.name, counter.sql));
    let condition = |condition: workload::Condition| {
        named(format!("condition {}: {}", condition.number, condition.text), condition.sql)
    };
    let conditions = workload.conditions().into_iter().map(condition);
    let effects = workload.effects().filter(|_| dialect.has_table_statistics());
    let statistics = effects.iter().flat_map(|effects| {
        [
            named("sessions of the load", statistics::SESSIONS),
            named("sessions of the load, through a pooler", statistics::SESSIONS_OF_POOLER),
            named("statistics of the tables", statistics::sql(effects)),
        ]
    });
    let status = (dialect == Dialect::Mysql).then(|| named("status of the server", status::sql()));
    let tables = tables(parts.dataset.as_ref());
    let fingerprint =
        |table: &&workload::Table| named(format!("fingerprint of {}", table.name), fingerprint::sql(table, dialect));
    Ok(constants
        .into_iter()
        .chain(statistics)
        .chain(status)
        .chain(counters)
        .chain(conditions)
        .chain(tables.iter().map(fingerprint))
        .collect())
}

fn settings(dialect: Dialect) -> Vec<Named> {
    dialect.edition_2022_settings().iter().map(|sql| named("for the user to apply", *sql)).collect()
}
