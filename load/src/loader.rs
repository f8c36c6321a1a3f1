//! Fills the tables: parallel COPY BINARY, then keys and indexes in parallel, then what must come last.

use crate::engine::cannot_connect;
use crate::exit::{ExitCode, Failure};
use crate::output::TableLoad;
use crate::stop::Stop;
use crate::target::postgres::{Connection, Copied, CopyWriter, Dsn};
use crate::target::{TargetError, Value};
use crate::workload::{Dataset, Piece, RowWriter};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A load to carry out.
pub struct Loader<'a> {
    /// What to write.
    pub dataset: &'a dyn Dataset,
    /// Where to.
    pub dsn: &'a Dsn,
    /// Parallel streams.
    pub connections: u32,
    /// Watched between rows and between statements.
    pub stop: &'a Stop,
    /// Told after each step, for people.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl Loader<'_> {
    /// Creates, fills, indexes and finishes; what was written, in the order of the data set's tables.
    ///
    /// # Errors
    /// The server's first refusal, a lost connection, or an interruption.
    pub fn run(&self) -> Result<Vec<TableLoad>, Failure> {
        self.in_order("creating tables", &self.dataset.create())?;
        let tables = self.copy()?;
        let statements = self.dataset.index();
        self.parallel("building indexes", statements.len(), |connection, index| {
            run_statement(connection, &statements[index])
        })?;
        self.in_order("finishing", &self.dataset.finish())?;
        Ok(tables)
    }

    fn in_order(&self, doing: &str, statements: &[String]) -> Result<(), Failure> {
        (self.progress)(doing);
        let mut connection = self.connect()?;
        for statement in statements {
            self.stop.reason().map_or(Ok(()), Err)?;
            run_statement(&mut connection, statement)?;
        }
        Ok(())
    }

    fn copy(&self) -> Result<Vec<TableLoad>, Failure> {
        let pieces = self.dataset.pieces();
        let written = Mutex::new(BTreeMap::<&'static str, Copied>::new());
        self.parallel("copying rows", pieces.len(), |connection, index| {
            let piece = &pieces[index];
            let copied = self.copy_piece(connection, piece)?;
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            let table = written.entry(piece.table).or_default();
            table.rows += copied.rows;
            table.bytes += copied.bytes;
            Ok(())
        })?;
        let mut written = written.into_inner().unwrap_or_else(PoisonError::into_inner);
        // In the order in which the data set names its tables, which is the order people expect.
        let take = |piece: &Piece| Some((piece.table, written.remove(piece.table)?));
        let load = |(table, copied): (&str, Copied)| TableLoad {
            table: table.to_owned(),
            rows: copied.rows,
            bytes: copied.bytes,
        };
        Ok(pieces.iter().filter_map(take).map(load).collect())
    }

    fn copy_piece(&self, connection: &mut Connection, piece: &Piece) -> Result<Copied, Failure> {
        let refused = |error: TargetError| Failure::target(&format!("copying into {}", piece.table), &error);
        let mut writer = CopyWriter::start(connection, piece.columns).map_err(refused)?;
        let written = self.dataset.write(piece, &mut Stoppable { writer: &mut writer, stop: self.stop });
        match (written, self.stop.reason()) {
            (Ok(()), _) => writer.finish().map_err(refused),
            (Err(_), Some(reason)) => {
                writer.abandon("interrupted").map_err(refused)?;
                Err(reason)
            }
            (Err(error), None) => Err(match error.downcast::<TargetError>() {
                Ok(error) => refused(error),
                Err(error) => refused(TargetError::Lost(error.to_string())),
            }),
        }
    }

    /// Does `count` things on up to `self.connections` connections; stops at the first failure.
    fn parallel(
        &self,
        doing: &str,
        count: usize,
        work: impl Fn(&mut Connection, usize) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let work_some = || -> Result<(), Failure> {
            let mut connection = self.connect()?;
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return Ok(());
                }
                self.stop.reason().map_or(Ok(()), Err)?;
                work(&mut connection, index).inspect_err(|_| next.store(count, Ordering::Relaxed))?;
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                (self.progress)(&format!("{doing}: {done} of {count}"));
            }
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..count.min(self.connections as usize)).map(|_| scope.spawn(work_some)).collect();
            let outcomes = threads.into_iter().map(|thread| thread.join().expect("loading does not panic"));
            outcomes.fold(Ok(()), Result::and)
        })
    }

    /// Without a timeout: an index may take hours.
    fn connect(&self) -> Result<Connection, Failure> {
        Connection::open(self.dsn, None).map_err(|error| cannot_connect(self.dsn, &error))
    }
}

fn run_statement(connection: &mut Connection, statement: &str) -> Result<(), Failure> {
    connection.query(statement).map(|_| ()).map_err(|error| {
        let shown: String = statement.chars().take(120).collect();
        // Not `Failure::target`: while loading, a missing table is not a data set that was never loaded.
        Failure::new(ExitCode::TargetLost, format!("{shown}: {error}"))
    })
}

/// Passes rows on until somebody asks to stop.
struct Stoppable<'a> {
    writer: &'a mut dyn RowWriter,
    stop: &'a Stop,
}

impl RowWriter for Stoppable<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        if self.stop.requested() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "asked to stop"));
        }
        self.writer.row(values)
    }
}
