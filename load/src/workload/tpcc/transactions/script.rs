//! A transaction as a script: which of its parts go out together in a round trip. A profile is a script, and nothing
//! else: what a part sends and how its answer is read is written once.

use crate::target::{Dialect, SqlBatch, SqlReply, Value};
use crate::words::counted;
use crate::workload::tpcc::profile::Profile;
use crate::workload::tpcc::statements::{self, Query};
use crate::workload::{Completion, DataError, Step};

/// One command of a round trip.
#[derive(Debug, Clone, Copy)]
pub enum Act<P> {
    /// BEGIN.
    Begin,
    /// A statement.
    Do(P),
    /// COMMIT, or ROLLBACK of an order that is to be rolled back.
    End,
}

/// Round trips in order, each of them the commands that it sends together.
pub type Script<P> = &'static [&'static [Act<P>]];

/// What the five transactions have in common.
pub trait Transaction: Default {
    /// Its input.
    type Input;
    /// Its statements.
    type Task: Copy + 'static;

    /// How `profile` cuts it on a server of `dialect`.
    fn script(profile: Profile, dialect: Dialect, input: &Self::Input) -> Script<Self::Task>;

    /// Forgets what the latest one read. `now_micros` stamps new rows.
    fn start(&mut self, input: &Self::Input, now_micros: i64);

    /// How often `task` must be sent: not at all, once, or (each time in a round trip of its own) once for each line
    /// or district. Of parts that share a round trip, no answer may change how often the others are due.
    fn due(&self, _task: Self::Task, _input: &Self::Input) -> usize {
        1
    }

    /// Sends `task` for the `nth` time, counted from 0.
    fn send(&mut self, task: Self::Task, nth: usize, input: &Self::Input, out: &mut Outbox<'_, impl SqlBatch>);

    /// Reads what `task`, sent for the `nth` time, was answered.
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    fn read(
        &mut self,
        task: Self::Task,
        nth: usize,
        input: &Self::Input,
        answer: Answer<'_, impl SqlReply>,
    ) -> Result<(), DataError>;

    /// Whether it must be rolled back.
    fn rolls_back(_input: &Self::Input) -> bool {
        false
    }
}

/// A transaction in progress, and what the latest one read.
#[derive(Debug, Clone)]
pub struct Performance<T> {
    profile: Profile,
    dialect: Dialect,
    /// The round trip that was sent last, and how often it was sent before.
    trip: usize,
    nth: usize,
    /// What it has read.
    pub state: T,
}

impl<T: Transaction> Performance<T> {
    /// One in `profile`, on a server of `dialect`.
    #[must_use]
    pub fn new(profile: Profile, dialect: Dialect) -> Self {
        Self { profile, dialect, trip: 0, nth: 0, state: T::default() }
    }

    /// See [`crate::workload::Worker::step`].
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    pub fn step(
        &mut self,
        input: &T::Input,
        now_micros: i64,
        reply: Option<&impl SqlReply>,
        batch: &mut impl SqlBatch,
    ) -> Result<Step, DataError> {
        let script = T::script(self.profile, self.dialect, input);
        if let Some(reply) = reply {
            self.read(script[self.trip], input, reply)?;
            self.nth += 1;
        } else {
            (self.trip, self.nth) = (0, 0);
            self.state.start(input, now_micros);
        }
        while let Some(acts) = script.get(self.trip) {
            if self.send(acts, input, batch) {
                return Ok(Step::Send);
            }
            self.trip += 1;
            self.nth = 0;
        }
        Ok(Step::Done(if T::rolls_back(input) { Completion::RolledBackByDesign } else { Completion::Committed }))
    }

    /// Fills a round trip with what of it is still due; false when that is nothing.
    fn send(&mut self, acts: &[Act<T::Task>], input: &T::Input, batch: &mut impl SqlBatch) -> bool {
        let mut sends = false;
        for act in acts {
            match *act {
                Act::Do(task) if self.nth < self.state.due(task, input) => {
                    let out = &mut Outbox { profile: self.profile, dialect: self.dialect, batch };
                    self.state.send(task, self.nth, input, out);
                }
                Act::Begin if self.nth == 0 => batch.begin(),
                Act::End if self.nth == 0 && T::rolls_back(input) => batch.rollback(),
                Act::End if self.nth == 0 => batch.commit(),
                Act::Do(_) | Act::Begin | Act::End => continue,
            }
            sends = true;
        }
        sends
    }

    fn read(&mut self, acts: &[Act<T::Task>], input: &T::Input, reply: &impl SqlReply) -> Result<(), DataError> {
        let mut execute = 0;
        for act in acts {
            let Act::Do(task) = *act else { continue };
            if self.nth < self.state.due(task, input) {
                self.state.read(task, self.nth, input, Answer { reply, execute })?;
                execute += 1;
            }
        }
        Ok(())
    }
}

/// Takes the statements of a round trip.
pub struct Outbox<'a, B> {
    /// The profile, for what differs in it beyond the script.
    pub profile: Profile,
    dialect: Dialect,
    batch: &'a mut B,
}

impl<B: SqlBatch> Outbox<'_, B> {
    /// Appends a statement of the profile.
    pub fn execute(&mut self, query: Query, values: &[Value<'_>]) {
        self.batch.execute(query.id(self.profile), values);
    }

    /// Appends the statement for stocks of an order of `district`.
    pub fn execute_stock(&mut self, district: i32, values: &[Value<'_>]) {
        self.batch.execute(statements::stock(self.profile, district), values);
    }

    /// Appends the statement that inserts `count` order lines.
    pub fn execute_lines(&mut self, count: usize, values: &[Value<'_>]) {
        self.batch.execute(statements::lines(self.profile, self.dialect, count), values);
    }
}

/// What one statement was answered.
pub struct Answer<'a, R> {
    reply: &'a R,
    execute: usize,
}

impl<R> Clone for Answer<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Answer<'_, R> {}

impl<'a, R: SqlReply> Answer<'a, R> {
    /// How many rows came.
    pub fn row_count(self) -> usize {
        self.reply.row_count(self.execute)
    }

    /// All rows.
    pub fn rows(self) -> impl Iterator<Item = R::Row<'a>> {
        self.reply.rows(self.execute)
    }

    /// The first row, which must be there.
    pub fn first_row(self, what: &str) -> Result<R::Row<'a>, DataError> {
        self.reply.row(self.execute, 0).ok_or_else(|| DataError(format!("no row from {what}")))
    }

    /// The row in the middle of those of one last name, sorted by first name: position n/2 rounded up, counted from one
    /// (2.5.2.2, 2.6.2.2).
    pub fn middle_row(self, name: &str) -> Result<R::Row<'a>, DataError> {
        let middle = self.row_count().div_ceil(2).checked_sub(1);
        let row = middle.and_then(|index| self.reply.row(self.execute, index));
        row.ok_or_else(|| DataError(format!("there is no customer with last name {name}")))
    }

    /// That the statement changed as many rows as it must.
    pub fn check_affected(self, expected: usize, what: &str) -> Result<(), DataError> {
        let changed = self.reply.affected(self.execute);
        if changed == expected as u64 {
            return Ok(());
        }
        Err(DataError(format!("{what} changed {} instead of {expected}", counted(changed, "row"))))
    }
}
