//! The rows of a workload on a key-value target: a [`RowStore`] writes, checks and counts them.

use crate::exit::{ExitCode, Failure};
use crate::output::{ConditionResult, TableLoad};
use crate::spec::ShardSpec;
use crate::stop::Stop;
use crate::target::{Request, Session};
use crate::workload::{OTHER_BINS, Records, ServerCounter};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Of each key; `None` where there is no such row, or a shorter one.
pub(crate) type Numbers = Box<dyn FnMut(&[i64]) -> Result<Vec<Option<u64>>, Failure>>;

/// Rows that one thread takes at a time.
const CHUNK: u64 = 10_000;
/// Bytes sent before answers are read: a server that answers what we do not read would stop to read what we send.
const MAX_BYTES: u64 = 256 * 1024;

/// What is asked of many rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Each {
    /// Write it, and report the bytes of its values.
    Store,
    /// Report how much of it exists.
    Measure,
}

/// A session on which something is asked about many rows, many of them at a time.
pub(crate) trait Asks: Session {
    /// How many are asked about before answers are read.
    const MAX_ROWS: usize;

    /// Appends what is asked about a row; the bytes of its values, where they are stored by it.
    fn ask(data: &dyn Records, what: Each, number: u64, request: &mut Self::Request) -> u64;

    /// Sends what was asked, and waits for the answers.
    ///
    /// # Errors
    /// A server's refusal, or a session that is lost.
    fn exchange_rows(&mut self, request: &mut Self::Request) -> Result<&Self::Reply, Failure>;

    /// What the answer to the `index`-th question reports about a row of which this many bytes were stored.
    ///
    /// # Errors
    /// It answers something else.
    fn told(reply: &Self::Reply, index: usize, what: Each, stored: u64, data: &dyn Records) -> Result<u64, Failure>;
}

/// A session, and what is in flight on it.
struct Line<S: Asks> {
    session: S,
    what: Each,
    request: S::Request,
    bytes: u64,
    /// Rows, and what was stored of each.
    asked: Vec<(u64, u64)>,
}

impl<S: Asks> Line<S> {
    fn new(session: S, what: Each, request: S::Request) -> Self {
        Self { session, what, request, bytes: 0, asked: Vec::with_capacity(S::MAX_ROWS) }
    }

    fn ask(&mut self, data: &dyn Records, number: u64, told: &dyn Fn(u64, u64)) -> Result<(), Failure> {
        let stored = S::ask(data, self.what, number, &mut self.request);
        self.asked.push((number, stored));
        self.bytes += stored;
        if self.asked.len() >= S::MAX_ROWS || self.bytes >= MAX_BYTES { self.flush(data, told) } else { Ok(()) }
    }

    /// Sends the questions and reports the answers.
    fn flush(&mut self, data: &dyn Records, told: &dyn Fn(u64, u64)) -> Result<(), Failure> {
        if self.asked.is_empty() {
            return Ok(());
        }
        let reply = self.session.exchange_rows(&mut self.request)?;
        for (index, &(number, stored)) in self.asked.iter().enumerate() {
            told(number, S::told(reply, index, self.what, stored, data)?);
        }
        self.request.clear();
        self.asked.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// What all servers together had counted before a load and after it, in the order of the counters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) before: Vec<i64>,
    pub(crate) after: Vec<i64>,
    /// Whether rows changed their server in between.
    pub(crate) moved: bool,
}

/// Where rows are written, checked and counted.
pub(crate) trait RowStore: Sync {
    /// What it is reached by.
    type Session: Asks;

    /// What its counters said at one moment.
    type Reading;

    /// Its counters count what a generator reads beside its load, too: when several share one, theirs do not add up.
    const COUNTS_CHECKS: bool;

    /// Opens a session with each server.
    ///
    /// # Errors
    /// [`ExitCode::CannotConnect`].
    fn connect(&self) -> Result<Vec<Self::Session>, Failure>;

    /// An empty request for one of them.
    fn request(&self) -> <Self::Session as Session>::Request;

    /// The number of the server that has the row of this name.
    fn master(&self, name: &[u8]) -> usize;

    /// Removes the rows of earlier loads, and notes which will be there.
    ///
    /// # Errors
    /// [`ExitCode::BadSpec`] when there are rows that no load wrote: they are never deleted. When a server
    /// refuses.
    fn create(&self, data: &dyn Records) -> Result<(), Failure>;

    /// What the last load noted.
    ///
    /// # Errors
    /// When a server cannot be asked.
    fn identity(&self) -> Result<Option<String>, Failure>;

    /// Asks something about every row of a range on this many threads, and reports each answer.
    ///
    /// # Errors
    /// A server's refusal; an interruption.
    fn each(
        &self,
        data: &dyn Records,
        what: Each,
        rows: Range<u64>,
        threads: u32,
        stop: &Stop,
        told: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(), Failure> {
        let open = || -> Result<Vec<_>, Failure> {
            Ok(self.connect()?.into_iter().map(|session| Line::new(session, what, self.request())).collect())
        };
        share_out(rows, threads, stop, open, |lines, chunk| {
            for number in chunk {
                lines[self.master(data.name(number).bytes())].ask(data, number, told)?;
            }
            lines.iter_mut().try_for_each(|line| line.flush(data, told))
        })
    }

    /// How many rows there are, with the note of the load.
    ///
    /// # Errors
    /// When a server cannot be asked.
    fn count(&self) -> Result<u64, Failure>;

    /// What the servers have counted so far.
    ///
    /// # Errors
    /// When a server cannot be asked.
    fn read(&self, counters: &[ServerCounter]) -> Result<Self::Reading, Failure>;

    /// Two readings, added up over the servers.
    ///
    /// # Errors
    /// Why they cannot be compared: a server that counted is gone, or counts from 0 again.
    fn calls(&self, before: &Self::Reading, after: &Self::Reading) -> Result<Calls, String>;

    /// Finds the servers again, trying for a while, and reads the first eight bytes of rows of kv there, as a number.
    ///
    /// # Errors
    /// When they cannot be asked.
    fn numbers(&self, patience: Duration) -> Result<Numbers, Failure>;

    /// Why rows cannot be counted now; `None`: they can.
    ///
    /// # Errors
    /// When a server cannot be asked.
    fn unsettled(&self) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// Writes the rows of a shard.
    ///
    /// # Errors
    /// [`ExitCode::BadSpec`] when the place was made for other rows; as [`RowStore::each`].
    fn write(&self, data: &dyn Records, threads: u32, shard: ShardSpec, stop: &Stop) -> Result<TableLoad, Failure> {
        let identity = self.identity()?;
        if identity.as_deref() != Some(data.identity().as_str()) {
            let found = identity.unwrap_or_else(|| "nothing".to_owned());
            let message = format!(
                "the database was created for {found}, not for {}: create it again (part \"create\")",
                data.identity()
            );
            return Err(Failure::new(ExitCode::BadSpec, message));
        }
        let bound = |index: u32| (u128::from(data.rows()) * u128::from(index) / u128::from(shard.count)) as u64;
        let rows = bound(shard.index)..bound(shard.index + 1);
        let bytes = AtomicU64::new(0);
        self.each(data, Each::Store, rows.clone(), threads, stop, &|_, stored| {
            bytes.fetch_add(stored, Ordering::Relaxed);
        })?;
        Ok(TableLoad { table: data.table().to_owned(), rows: rows.end - rows.start, bytes: bytes.into_inner() })
    }

    /// Whether there are as many rows as there must be: at least, or exactly right after loading.
    ///
    /// # Errors
    /// When a server cannot be asked.
    fn check_count(&self, data: &dyn Records, only_loaded: bool) -> Result<Vec<ConditionResult>, Failure> {
        let found = self.count()?;
        let expected = data.rows() + 1; // with the note
        let example = format!("{found} keys with the load's marker; {expected} were loaded");
        let missing = expected.saturating_sub(found);
        let mut results = vec![condition(1, "at least the loaded rows exist", missing, &example)];
        if only_loaded {
            let more = found.saturating_sub(expected);
            results.push(condition(2, "right after loading there are no other rows", more, &example));
        }
        Ok(results)
    }

    /// Whether every loaded row is there, and whole.
    ///
    /// # Errors
    /// As [`RowStore::each`].
    fn check_rows(&self, data: &dyn Records, threads: u32, stop: &Stop) -> Result<ConditionResult, Failure> {
        let (wrong, first) = (AtomicU64::new(0), Mutex::new(None));
        let [text, unit] = data.whole();
        self.each(data, Each::Measure, 0..data.rows(), threads, stop, &|number, measured| {
            if !data.is_whole(measured) {
                wrong.fetch_add(1, Ordering::Relaxed);
                first.lock().expect("no thread panics").get_or_insert((number, measured));
            }
        })?;
        let example = first.into_inner().expect("no thread panics").map_or_else(String::new, |(number, measured)| {
            let name = data.name(number);
            match measured {
                OTHER_BINS => format!("{} has bins that no load wrote: another program wrote to it", name.text()),
                _ => format!("{} has {measured} {unit}", name.text()),
            }
        });
        Ok(condition(3, text, wrong.into_inner(), &example))
    }
}

fn condition(number: u8, text: &str, violations: u64, example: &str) -> ConditionResult {
    let example = (violations > 0).then(|| example.to_owned());
    ConditionResult { number, text: text.to_owned(), holds: violations == 0, violations, example }
}

/// Lets threads take chunks of a range of rows until all are done, each with lines of its own to the servers.
fn share_out<L>(
    rows: Range<u64>,
    threads: u32,
    stop: &Stop,
    open: impl Fn() -> Result<L, Failure> + Sync,
    work: impl Fn(&mut L, Range<u64>) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let next = AtomicU64::new(rows.start);
    let take = || -> Result<(), Failure> {
        let mut lines = open()?;
        loop {
            stop.reason().map_or(Ok(()), Err)?;
            let chunk = next.fetch_add(CHUNK, Ordering::Relaxed);
            if chunk >= rows.end {
                return Ok(());
            }
            work(&mut lines, chunk..rows.end.min(chunk + CHUNK))?;
        }
    };
    let stopped = || next.store(rows.end, Ordering::Relaxed);
    thread::scope(|scope| {
        let wanted = (rows.end - rows.start).div_ceil(CHUNK).min(u64::from(threads));
        let threads: Vec<_> = (0..wanted).map(|_| scope.spawn(|| take().inspect_err(|_| stopped()))).collect();
        let outcomes = threads.into_iter().map(|thread| thread.join().expect("no thread panics"));
        outcomes.fold(Ok(()), Result::and)
    })
}
