//! A transaction as a script: which of its parts go out together in a round trip. A profile is a script, and nothing
//! else: what a part sends and how its answer is read is written once.

use crate::target::postgres::{Batch, Reply, Row};
use crate::target::{StatementId, Value};
use crate::words::counted;
use crate::workload::tpcc::profile::Profile;
use crate::workload::tpcc::statements::{Query, stock};
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

    /// How `profile` cuts it.
    fn script(profile: Profile, input: &Self::Input) -> Script<Self::Task>;

    /// Forgets what the latest one read. `now_micros` stamps new rows.
    fn start(&mut self, input: &Self::Input, now_micros: i64);

    /// How often `task` must be sent: not at all, once, or (each time in a round trip of its own) once for each line
    /// or district. Of parts that share a round trip, no answer may change how often the others are due.
    fn due(&self, _task: Self::Task, _input: &Self::Input) -> usize {
        1
    }

    /// Sends `task` for the `nth` time, counted from 0.
    fn send(&mut self, task: Self::Task, nth: usize, input: &Self::Input, out: &mut Outbox<'_>);

    /// Reads what `task`, sent for the `nth` time, was answered.
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    fn read(&mut self, task: Self::Task, nth: usize, input: &Self::Input, answer: Answer<'_>) -> Result<(), DataError>;

    /// Whether it must be rolled back.
    fn rolls_back(_input: &Self::Input) -> bool {
        false
    }
}

/// A transaction in progress, and what the latest one read.
#[derive(Debug, Clone)]
pub struct Performance<T> {
    profile: Profile,
    /// The round trip that was sent last, and how often it was sent before.
    trip: usize,
    nth: usize,
    /// What it has read.
    pub state: T,
}

impl<T: Transaction> Performance<T> {
    /// One in `profile`.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self { profile, trip: 0, nth: 0, state: T::default() }
    }

    /// See [`crate::workload::Worker::step`].
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    pub fn step(
        &mut self,
        input: &T::Input,
        now_micros: i64,
        reply: Option<&Reply>,
        batch: &mut Batch,
    ) -> Result<Step, DataError> {
        let script = T::script(self.profile, input);
        if let Some(reply) = reply {
            self.read(script[self.trip], input, reply)?;
            self.nth += 1;
        } else {
            (self.trip, self.nth) = (0, 0);
            self.state.start(input, now_micros);
        }
        while let Some(acts) = script.get(self.trip) {
            self.send(acts, input, batch);
            if !batch.is_empty() {
                return Ok(Step::Send);
            }
            self.trip += 1;
            self.nth = 0;
        }
        Ok(Step::Done(if T::rolls_back(input) { Completion::RolledBackByDesign } else { Completion::Committed }))
    }

    /// Fills a round trip with what of it is still due; with nothing when it is over.
    fn send(&mut self, acts: &[Act<T::Task>], input: &T::Input, batch: &mut Batch) {
        for act in acts {
            match *act {
                Act::Do(task) if self.nth < self.state.due(task, input) => {
                    let out = &mut Outbox { profile: self.profile, batch };
                    self.state.send(task, self.nth, input, out);
                }
                Act::Do(_) => {}
                Act::Begin if self.nth == 0 => batch.begin(),
                Act::End if self.nth == 0 && T::rolls_back(input) => batch.rollback(),
                Act::End if self.nth == 0 => batch.commit(),
                Act::Begin | Act::End => {}
            }
        }
    }

    fn read(&mut self, acts: &[Act<T::Task>], input: &T::Input, reply: &Reply) -> Result<(), DataError> {
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
pub struct Outbox<'a> {
    /// The profile, for what differs in it beyond the script.
    pub profile: Profile,
    batch: &'a mut Batch,
}

impl Outbox<'_> {
    /// Appends a statement of the profile.
    pub fn execute(&mut self, query: Query, values: &[Value<'_>]) {
        self.batch.execute(query.id(self.profile), values);
    }

    /// Appends the statement for stocks of an order of `district`.
    pub fn execute_stock(&mut self, district: i32, values: &[Value<'_>]) {
        let id: StatementId = stock(self.profile, district);
        self.batch.execute(id, values);
    }
}

/// What one statement was answered.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    reply: &'a Reply,
    execute: usize,
}

impl<'a> Answer<'a> {
    /// How many rows came.
    pub fn row_count(self) -> usize {
        self.reply.row_count(self.execute)
    }

    /// All rows.
    pub fn rows(self) -> impl Iterator<Item = Row<'a>> {
        self.reply.rows(self.execute)
    }

    /// The first row, which must be there.
    pub fn first_row(self, what: &str) -> Result<Row<'a>, DataError> {
        self.reply.row(self.execute, 0).ok_or_else(|| DataError(format!("no row from {what}")))
    }

    /// The row in the middle of those of one last name, sorted by first name: position n/2 rounded up, counted from one
    /// (2.5.2.2, 2.6.2.2).
    pub fn middle_row(self, name: &str) -> Result<Row<'a>, DataError> {
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
