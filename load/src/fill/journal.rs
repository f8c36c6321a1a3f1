//! What a load has done so far, stored beside the rows. The transaction that does a step also notes it, so that an
//! interrupted load can resume and several machines can share one.

use crate::exit::{ExitCode, Failure};
use crate::target::{AdminSession, Copied, Dialect, TargetError};
use std::collections::BTreeMap;

/// Removes the notes of an older load.
pub const DROP: &str = "DROP TABLE IF EXISTS nephoscope_load CASCADE";

/// Makes room for notes.
#[must_use]
pub fn create_sql(dialect: Dialect) -> String {
    let columns = [("rows", "int8 NOT NULL"), ("bytes", "int8 NOT NULL"), ("data_set", "text NOT NULL")];
    let columns = columns.map(|(name, kind)| format!("{} {}", quoted_name(dialect, name), dialect.column(kind)));
    // MySQL's keys have a length; the longest step is a statement that makes an index.
    let step = if dialect == Dialect::Mysql { "varchar(700)" } else { "text" };
    let options = dialect.table_options();
    format!("CREATE TABLE nephoscope_load (step {step} PRIMARY KEY, {}){options}", columns.join(", "))
}

/// Reads all notes.
#[must_use]
pub fn read_sql(dialect: Dialect) -> String {
    format!("SELECT step, {}, bytes, data_set FROM nephoscope_load", quoted_name(dialect, "rows"))
}

/// MariaDB keeps the word `rows` for itself.
fn quoted_name(dialect: Dialect, name: &str) -> String {
    if dialect == Dialect::Mysql { format!("`{name}`") } else { name.to_owned() }
}

/// The tables are there, and empty.
pub const CREATED: &str = "create";
/// Nothing is left to do.
pub const FINISHED: &str = "finish";

/// Notes of one data set.
#[derive(Debug)]
pub struct Journal {
    done: BTreeMap<String, Copied>,
}

impl Journal {
    /// Reads what was noted about the data set of this name.
    ///
    /// # Errors
    /// [`ExitCode::BadSpec`] when nothing was started here, or another data set.
    pub fn read(connection: &mut impl AdminSession, dialect: Dialect, data_set: &str) -> Result<Self, Failure> {
        let nothing = || {
            let message = "there is no load to resume: start one (load, or load with part \"create\")";
            Failure::new(ExitCode::BadSpec, message)
        };
        let rows = match connection.query(&read_sql(dialect)) {
            Ok(rows) => rows,
            Err(TargetError::Database { sqlstate, .. }) if ["42P01", "42S02"].contains(&sqlstate.as_str()) => {
                return Err(nothing());
            }
            Err(error) => return Err(Failure::target("cannot read the load's journal", &error)),
        };
        let mut done = BTreeMap::new();
        for row in rows {
            let [Some(step), Some(rows), Some(bytes), Some(noted_for)] = row.as_slice() else { return Err(nothing()) };
            if noted_for != data_set {
                let message =
                    format!("an earlier load here belongs to another data set ({noted_for}), not to {data_set}");
                return Err(Failure::new(ExitCode::BadSpec, message));
            }
            let number = |text: &str| text.parse::<u64>().unwrap_or_default();
            done.insert(step.clone(), Copied { rows: number(rows), bytes: number(bytes) });
        }
        if done.contains_key(CREATED) { Ok(Self { done }) } else { Err(nothing()) }
    }

    /// What a step wrote; `None` when it was not done.
    #[must_use]
    pub fn done(&self, step: &str) -> Option<Copied> {
        self.done.get(step).copied()
    }
}

/// Notes that a step is done.
#[must_use]
pub fn note_sql(dialect: Dialect, data_set: &str, step: &str, copied: Copied) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let Copied { rows, bytes } = copied;
    format!(
        "INSERT INTO nephoscope_load (step, {}, bytes, data_set) VALUES ({}, {rows}, {bytes}, {})",
        quoted_name(dialect, "rows"),
        quoted(step),
        quoted(data_set)
    )
}

/// Notes how far a step has come, in place of what was noted of it before.
#[must_use]
pub fn note_again_sql(dialect: Dialect, data_set: &str, step: &str, copied: Copied) -> String {
    let note = note_sql(dialect, data_set, step, copied);
    format!("{note} ON CONFLICT (step) DO UPDATE SET rows = excluded.rows, bytes = excluded.bytes")
}
