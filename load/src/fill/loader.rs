//! Fills the tables: rows by parallel streams, then statistics for the planner, then keys and indexes, then the rest. The
//! [`journal`] notes each finished step, so that a resumed load repeats and skips none.

use crate::exit::{ExitCode, Failure};
use crate::fill::admin::Admin;
use crate::fill::journal::{self, Journal};
use crate::fill::parts::{Copy, Parts, TRANSACTION};
use crate::output::TableLoad;
use crate::output::outcome::{self, ErrorClass};
use crate::spec::{LoadPart, LoadSpec, ShardSpec};
use crate::stop::Stop;
use crate::target::{AdminSession, Copied, Dialect, TargetError};
use crate::workload::{Dataset, Piece, tables};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A load to do.
pub struct Loader<'a, C: AdminSession> {
    /// What to write.
    pub dataset: &'a dyn Dataset,
    /// Whose SQL.
    pub dialect: Dialect,
    /// A connection pooler answers: what a session sets stays in the session that the load gets later.
    pub pooled: bool,
    /// Opens the sessions.
    pub admin: &'a Admin<C>,
    /// Parallel streams.
    pub connections: u32,
    /// Whose rows.
    pub shard: ShardSpec,
    /// Watched between rows and between statements.
    pub stop: &'a Stop,
    /// Told after each step, for people.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// How long a server may take to make an empty table.
const FIRST_COMMIT: Duration = Duration::from_secs(60);
/// How often a transaction is tried. CockroachDB asks for another attempt (40001) when it moves a range, or its clock,
/// under a large one.
const MAX_ATTEMPTS: u32 = 10;

impl<C: AdminSession> Loader<'_, C> {
    /// Carries the asked part of the load out; what is in the tables of this shard now, in the order of the data set's
    /// tables.
    ///
    /// # Errors
    /// [`ExitCode::BadSpec`] when there is nothing to go on with, or something else; the server's first refusal, a
    /// lost connection, or an interruption.
    pub fn run(&self, load: LoadSpec) -> Result<Vec<TableLoad>, Failure> {
        if matches!(load.part, LoadPart::All | LoadPart::Create) && !load.resume {
            self.create()?;
        }
        if load.part == LoadPart::Create {
            return Ok(Vec::new());
        }
        let pieces = self.dataset.pieces();
        let journal = self.journal()?;
        if journal.done(journal::FINISHED).is_some() {
            return Err(Failure::new(ExitCode::BadSpec, "the data set is already complete: there is nothing to load"));
        }
        let own = share(pieces.clone(), self.shard);
        if load.part != LoadPart::Finish {
            self.copy(&journal, &own)?;
        }
        let journal = self.journal()?;
        if load.part != LoadPart::Rows {
            self.finish(&journal, &pieces)?;
        }
        Ok(totals(&journal, &own))
    }

    fn create(&self) -> Result<(), Failure> {
        (self.progress)("creating tables");
        let mut connection = self.admin.connect()?;
        self.begin_journal(&mut connection)?;
        let noted = self.note_sql(journal::CREATED, Copied::default());
        let statements = self.dataset.create(self.dialect).into_iter().chain([noted]);
        statements.into_iter().try_for_each(|statement| self.execute(&mut connection, &statement))
    }

    /// The first commit, of a table without rows: a server that does not manage it soon waits for something that may
    /// never come, and everything that follows waits without a timeout.
    fn begin_journal(&self, connection: &mut C) -> Result<(), Failure> {
        let limit =
            |connection: &mut C, timeout| connection.set_timeout(timeout).map_err(|error| refused("a timeout", &error));
        limit(connection, Some(FIRST_COMMIT))?;
        let begun = Instant::now();
        let explained = |failure: Failure| match failure.code {
            ExitCode::TargetLost if begun.elapsed() >= FIRST_COMMIT => Failure::new(
                failure.code,
                format!(
                    "{}; it did not commit an empty table within {} s: does it wait for a standby that is not there \
                     (synchronous_standby_names), or for a lock?",
                    failure.message,
                    FIRST_COMMIT.as_secs()
                ),
            ),
            _ => failure,
        };
        for statement in [journal::DROP.to_owned(), journal::create_sql(self.dialect)] {
            self.execute(connection, &statement).map_err(explained)?;
        }
        limit(connection, None)
    }

    fn journal(&self) -> Result<Journal, Failure> {
        Journal::read(&mut self.admin.connect()?, self.dialect, &self.dataset.identity())
    }

    fn copy(&self, journal: &Journal, pieces: &[Piece]) -> Result<(), Failure> {
        let missing: Vec<&Piece> = pieces.iter().filter(|piece| journal.done(&step(piece)).is_none()).collect();
        self.parallel("copying rows", missing.len(), |connection, index| {
            let begun = journal.done(&begun(missing[index])).unwrap_or_default();
            self.load_piece(connection, missing[index], begun)
        })
    }

    /// Loads a piece after what was loaded of it before. Each transaction notes how far it comes, and is repeated where
    /// the server asks for that.
    fn load_piece(&self, connection: &mut C, piece: &Piece, mut done: Copied) -> Result<(), Failure> {
        let mut attempts = 1;
        loop {
            let before = done.rows;
            let error = match self.try_piece(connection, piece, &mut done) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            attempts = if done.rows > before { 1 } else { attempts + 1 };
            if !error.again || attempts > MAX_ATTEMPTS {
                return Err(error.failure);
            }
            // The server may have ended the transaction itself, as it does when it rejects COMMIT.
            connection.reset().map_err(|error| refused("ROLLBACK", &error))?;
        }
    }

    fn try_piece(&self, connection: &mut C, piece: &Piece, done: &mut Copied) -> Result<(), StepError> {
        self.ask(connection, TRANSACTION[0])?;
        let rest = self.copy_rest(connection, piece, done)?;
        let mut whole = *done;
        whole += rest;
        self.ask(connection, &self.note_sql(&step(piece), whole))?;
        self.ask(connection, TRANSACTION[1])
    }

    /// Copies the rows after the first `done`, and commits all but the last of them; what is not committed.
    fn copy_rest(&self, connection: &mut C, piece: &Piece, done: &mut Copied) -> Result<Copied, StepError> {
        let refused = |error: TargetError| {
            StepError::of(&error, Failure::target(&format!("copying into {}", piece.table.name), &error))
        };
        let note = |copied| journal::note_again_sql(self.dialect, &self.dataset.identity(), &begun(piece), copied);
        let max_bytes = self.dialect.max_transaction_bytes();
        let copy = Copy { sql: piece.table.copy_sql(self.dialect), max_bytes, note: &note };
        let mut parts = Parts::start(connection, &copy, done, self.stop).map_err(refused)?;
        match self.dataset.write(piece, &mut parts) {
            Ok(()) => parts.finish().map_err(refused),
            Err(error) => Err(match error.downcast::<TargetError>() {
                Ok(error) => refused(error),
                Err(error) => match self.stop.reason() {
                    Some(reason) => {
                        parts.abandon().map_err(refused)?;
                        reason.into()
                    }
                    None => refused(TargetError::Lost(error.to_string())),
                },
            }),
        }
    }

    /// What needs all rows of all shards. Statistics come first: freezing touches each page once, and an index build
    /// that finds its rows frozen need not.
    fn finish(&self, journal: &Journal, pieces: &[Piece]) -> Result<(), Failure> {
        let missing: Vec<String> = pieces.iter().map(step).filter(|step| journal.done(step).is_none()).collect();
        if let Some(first) = missing.first() {
            let (missing, all) = (missing.len(), pieces.len());
            let message =
                format!("{missing} of {all} pieces are not loaded, the first is {first}: load the rows first");
            return Err(Failure::new(ExitCode::BadSpec, message));
        }
        let tables = tables(self.dataset);
        self.parallel("settling tables", tables.len(), |connection, index| {
            self.execute(connection, &self.dialect.settle(tables[index].name))
        })?;
        let indexes = self.dataset.index(self.dialect);
        self.parallel("building indexes", indexes.len(), |connection, index| {
            self.once(connection, journal, &indexes[index])
        })?;
        (self.progress)("finishing");
        // A session of its own, whose commits wait for the disk.
        let mut connection = self.admin.connect()?;
        let statements = self.dataset.finish(self.dialect);
        statements.iter().try_for_each(|statement| self.once(&mut connection, journal, statement))?;
        self.note(&mut connection, journal::FINISHED, Copied::default())?;
        self.checkpoint(&mut connection)
    }

    /// Runs a statement and notes it, unless it was noted before.
    fn once(&self, connection: &mut C, journal: &Journal, statement: &str) -> Result<(), Failure> {
        if journal.done(statement).is_some() {
            return Ok(());
        }
        let together = self.dialect.has_transactional_ddl();
        if together {
            self.execute(connection, TRANSACTION[0])?;
        }
        self.execute(connection, statement)?;
        self.note(connection, statement, Copied::default())?;
        if together { self.execute(connection, TRANSACTION[1]) } else { Ok(()) }
    }

    fn checkpoint(&self, connection: &mut C) -> Result<(), Failure> {
        let Some(question) = self.dialect.may_checkpoint() else { return Ok(()) };
        let answer = connection.query(question).map_err(|error| refused(question, &error))?;
        if answer == [[Some("t".to_owned())]] { self.execute(connection, Dialect::CHECKPOINT) } else { Ok(()) }
    }

    fn note(&self, connection: &mut C, step: &str, copied: Copied) -> Result<(), Failure> {
        self.execute(connection, &self.note_sql(step, copied))
    }

    fn note_sql(&self, step: &str, copied: Copied) -> String {
        journal::note_sql(self.dialect, &self.dataset.identity(), step, copied)
    }

    fn execute(&self, connection: &mut C, statement: &str) -> Result<(), Failure> {
        self.ask(connection, statement).map_err(|error| error.failure)
    }

    fn ask(&self, connection: &mut C, statement: &str) -> Result<(), StepError> {
        self.stop.reason().map_or(Ok(()), Err)?;
        let outcome = connection.query(statement).map(|_| ());
        outcome.map_err(|error| StepError::of(&error, refused(statement, &error)))
    }

    /// Does `count` things on the loader's connections, and tells how far it is.
    fn parallel(
        &self,
        doing: &str,
        count: usize,
        work: impl Fn(&mut C, usize) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let done = AtomicUsize::new(0);
        let settings = if self.pooled { Vec::new() } else { self.dialect.loading_settings() };
        self.admin.in_parallel(self.connections, count, self.stop, &settings, |connection, index| {
            work(connection, index)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.progress)(&format!("{doing}: {done} of {count}"));
            Ok(())
        })
    }
}

/// Why a step failed.
struct StepError {
    failure: Failure,
    /// Whether the server asks for another attempt.
    again: bool,
}

impl StepError {
    fn of(error: &TargetError, failure: Failure) -> Self {
        Self { failure, again: outcome::classify(error) == ErrorClass::Retry }
    }
}

impl From<Failure> for StepError {
    fn from(failure: Failure) -> Self {
        Self { failure, again: false }
    }
}

/// The name of a piece in the journal.
#[must_use]
pub fn step(piece: &Piece) -> String {
    format!("rows of {} {}", piece.table.name, piece.index)
}

/// The name in the journal of what was committed of a piece before its last rows.
#[must_use]
pub fn begun(piece: &Piece) -> String {
    format!("first {}", step(piece))
}

/// The pieces of a shard: of all that have one index (a warehouse) none is on another machine, and neighbours stay
/// together.
#[must_use]
pub fn share(pieces: Vec<Piece>, shard: ShardSpec) -> Vec<Piece> {
    let mut indexes: Vec<u32> = pieces.iter().map(|piece| piece.index).collect();
    indexes.sort_unstable();
    indexes.dedup();
    let of = |index: u32| {
        let rank = indexes.partition_point(|other| *other < index) as u64;
        rank * u64::from(shard.count) / indexes.len() as u64
    };
    pieces.into_iter().filter(|piece| of(piece.index) == u64::from(shard.index)).collect()
}

fn totals(journal: &Journal, pieces: &[Piece]) -> Vec<TableLoad> {
    let mut totals: Vec<TableLoad> = Vec::new();
    for piece in pieces {
        let Some(copied) = journal.done(&step(piece)) else { continue };
        let at = totals.iter().position(|total| total.table == piece.table.name).unwrap_or_else(|| {
            totals.push(TableLoad { table: piece.table.name.to_owned(), rows: 0, bytes: 0 });
            totals.len() - 1
        });
        totals[at].rows += copied.rows;
        totals[at].bytes += copied.bytes;
    }
    totals
}

fn refused(statement: &str, error: &TargetError) -> Failure {
    let shown: String = statement.chars().take(120).collect();
    // Not `Failure::target`: while loading, a missing table is not a data set that was never loaded.
    Failure::new(ExitCode::TargetLost, format!("{shown}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::population::{Population, PopulationOptions};

    #[test]
    fn shards_are_neighbouring_warehouses_and_together_the_whole() {
        let pieces = Population::new(PopulationOptions::new(10, 1)).pieces();
        let of = |index, count| share(pieces.clone(), ShardSpec { index, count });
        assert_eq!(of(0, 1), pieces);
        for count in [2, 3, 11, 40] {
            let all: Vec<Piece> = (0..count).flat_map(|index| of(index, count)).collect();
            assert_eq!(all.len(), pieces.len(), "{count} shards");
            assert!(pieces.iter().all(|piece| all.contains(piece)));
        }
        let first: Vec<u32> = of(0, 2).iter().map(|piece| piece.index).collect();
        assert!(first.iter().all(|index| *index <= 5) && first.contains(&0));
        assert!(of(1, 2).iter().all(|piece| piece.index > 5));
    }
}
