//! Compares PostgreSQL's table statistics (`pg_stat_user_tables`) with what the generator counted: written rows, and
//! scans, so that there is evidence of reads too.
//!
//! A session hands in what it counted when it ends, at the latest. So the second reading waits until the load's
//! sessions are gone. Nothing is sent while the load runs.

use crate::exit::{ExitCode, Failure};
use crate::output::CounterResult;
use crate::record::Ledger;
use crate::target::postgres::Connection;
use crate::tell;
use crate::workload::{Draws, EFFECTS, Effects, Times};
use std::thread;
use std::time::{Duration, Instant};

/// Other sessions of this program. One that is not among them any more has handed in what it counted.
pub const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
                            AND datname = current_database() AND application_name = current_setting('application_name')";
/// Sessions that a pooler keeps open, whatever they call themselves now, and that may not have handed in: they do so
/// once they were idle for 10 s. The session that is asked hands in, too, as it may be one of them (both in PostgreSQL
/// 15 and later).
pub const SESSIONS_OF_POOLER: &str = "SELECT count(*), pg_stat_force_next_flush() FROM pg_stat_activity \
    WHERE pid <> pg_backend_pid() AND datname = current_database() AND backend_type = 'client backend' \
    AND NOT (state = 'idle' AND state_change < clock_timestamp() - interval '10.5 s')";
/// The first version with them.
const POOLED_SINCE: u32 = 15;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// Sessions of an earlier action may still be ending …
const BEFORE_PATIENCE: Duration = Duration::from_secs(2);
/// … as may the load's. A pooler keeps all of them open, for 10.5 s that count.
const AFTER_PATIENCE: Duration = Duration::from_secs(12);

/// The query: the four counts in the order of [`EFFECTS`], and when they began. No row where a table is none (it may be
/// a view), or where the server counts nothing. After a crash the statistics begin again, as in another server.
#[must_use]
pub fn sql(effects: &Effects) -> String {
    let tables: Vec<String> = effects.tables.iter().map(|table| format!("to_regclass('{table}')")).collect();
    format!(
        "SELECT sum(n_tup_ins)::int8, sum(n_tup_upd)::int8, sum(n_tup_del)::int8, \
         sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0))::int8, \
         (SELECT concat_ws(' ', b.stats_reset, d.stats_reset) FROM pg_stat_bgwriter AS b, pg_stat_database AS d \
         WHERE d.datname = current_database()) FROM pg_stat_user_tables WHERE relid IN ({}) \
         HAVING count(*) = {} AND current_setting('track_counts') = 'on'",
        tables.join(", "),
        tables.len()
    )
}

/// What the server has counted since a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reading {
    counts: [i64; 4],
    since: String,
}

/// What is to be compared, and what the server had counted before the load.
#[derive(Debug)]
pub struct Statistics {
    effects: Effects,
    before: Reading,
    pooled: bool,
}

impl Statistics {
    /// Reads what was counted before a load; `None`, said to people, where the server does not count. `pooled`: a
    /// connection pooler keeps the sessions open.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub fn begin(connection: &mut Connection, effects: Effects, pooled: bool) -> Result<Option<Self>, Failure> {
        if pooled && connection.major_version().is_some_and(|version| version < POOLED_SINCE) {
            tell::say("not comparing table statistics: before version 15, sessions of a connection pooler report late");
            return Ok(None);
        }
        let patience = if pooled { AFTER_PATIENCE } else { BEFORE_PATIENCE };
        let before = settled(connection, &effects, pooled, patience)?;
        if before.is_none() {
            tell::say("not comparing table statistics: the server does not keep them for these tables");
        }
        Ok(before.map(|before| Self { effects, before, pooled }))
    }

    /// Compares what was counted since, once the load's sessions are gone. Nothing, said to people, where the server
    /// began to count again.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub fn end(
        &self,
        connection: &mut Connection,
        ledger: &Ledger,
        draws: &Draws,
    ) -> Result<Vec<CounterResult>, Failure> {
        let after = settled(connection, &self.effects, self.pooled, AFTER_PATIENCE)?;
        let Some(after) = after.filter(|after| after.since == self.before.since) else {
            tell::say("not comparing table statistics: the server reset them during the run");
            return Ok(Vec::new());
        };
        let grown = std::array::from_fn(|index| after.counts[index] - self.before.counts[index]);
        Ok(compare(&self.effects, grown, ledger, draws))
    }
}

/// Reads once all other sessions have handed in, or when the patience has ended.
fn settled(
    connection: &mut Connection,
    effects: &Effects,
    pooled: bool,
    patience: Duration,
) -> Result<Option<Reading>, Failure> {
    let deadline = Instant::now() + patience;
    while sessions(connection, pooled)? > 0 && Instant::now() < deadline {
        thread::sleep(PAUSE);
    }
    read(connection, effects)
}

fn sessions(connection: &mut Connection, pooled: bool) -> Result<u64, Failure> {
    let sql = if pooled { SESSIONS_OF_POOLER } else { SESSIONS };
    let rows = query(connection, sql)?;
    let found = rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
    found.ok_or_else(|| Failure::new(ExitCode::TargetLost, format!("{sql} returned {rows:?}")))
}

fn read(connection: &mut Connection, effects: &Effects) -> Result<Option<Reading>, Failure> {
    let rows = query(connection, &sql(effects))?;
    let Some([counts @ .., since]) = rows.first().map(Vec::as_slice) else { return Ok(None) };
    let counts: Vec<i64> = counts.iter().filter_map(|count| count.as_ref()?.parse().ok()).collect();
    let answered =
        || Failure::new(ExitCode::TargetLost, format!("the query for the server's statistics returned {rows:?}"));
    let counts = counts.try_into().map_err(|_| answered())?;
    Ok(Some(Reading { counts, since: since.clone().unwrap_or_default() }))
}

fn query(connection: &mut Connection, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
    connection.query(sql).map_err(|error| Failure::target("could not read the server's statistics", &error))
}

/// Compares growths with what operations must have done, and may have: attempts that met an error may have done all of
/// it, since what is rolled back counts too.
pub(super) fn compare(effects: &Effects, grown: [i64; 4], ledger: &Ledger, draws: &Draws) -> Vec<CounterResult> {
    let missed = effects.missed.and_then(|name| draws.tallies.get(name)).map_or(0, |tally| tally.sum as i64);
    let compare = |(index, name): (usize, &&str)| {
        let (mut client, mut most) = (0, Some(0));
        for effect in &effects.each {
            let Times { least, most: up_to } = effect.times()[index];
            let committed = signed(ledger.committed(effect.operation));
            let begun = committed + signed(ledger.errors_of(effect.operation));
            client += committed * i64::from(least);
            most = most.zip(up_to).map(|(most, up_to)| most + begun * i64::from(up_to));
        }
        if MAY_MISS[index] {
            client = (client - missed).max(0);
        }
        let server = grown[index];
        let most = most.unwrap_or(server.max(client));
        let agrees = (client..=most).contains(&server);
        let in_doubt = most - client;
        CounterResult { name: (*name).to_owned(), before: None, after: None, server, client, in_doubt, agrees }
    };
    EFFECTS.iter().enumerate().map(compare).collect()
}

/// Which of [`EFFECTS`] there may be less of, where rows were rightly not found.
const MAY_MISS: [bool; 4] = [false, true, true, false];

/// Counts of operations stay far below 2^63.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::ErrorKind;
    use crate::output::outcome::Outcome;
    use crate::record::{Lanes, Sample};
    use crate::workload::{Effect, OperationId, Tally};
    use std::collections::BTreeMap;

    const READ: OperationId = OperationId(0);
    const CHANGE: OperationId = OperationId(1);

    /// 7 reads and 5 changes that committed, and a change that was tried twice in vain.
    fn ledger() -> Ledger {
        let mut lanes = Lanes::new(1);
        let mut ledger = Ledger::new(&["read", "change"], false, crate::record::OutageWatch::idle());
        let lane = lanes.lane(0);
        for operation in [READ; 7].into_iter().chain([CHANGE; 5]) {
            lane.record(&mut None, || 1, |ended_ns| Sample::short(operation.0, Outcome::Committed, ended_ns));
        }
        for kind in [ErrorKind::Retried, ErrorKind::Failed] {
            lane.error(|| 1, CHANGE, "40001".to_owned(), kind, false);
        }
        ledger.collect(&mut lanes, crate::output::Phase::Measure, 0);
        ledger.close_tail();
        ledger
    }

    /// Which of the four disagree, where a change inserts and deletes one row, updates two, and begins two scans.
    fn wrong(scans_of_a_read: Times, grown: [i64; 4], missed: f64) -> Vec<String> {
        let once = Times::exactly(1);
        let change = Effect::of_reading(CHANGE, Times::exactly(2));
        let change = Effect { inserted: once, updated: Times::exactly(2), deleted: once, ..change };
        let each = vec![Effect::of_reading(READ, scans_of_a_read), change];
        let effects = Effects { missed: Some("missed"), ..Effects::of("t", each) };
        let tallies = BTreeMap::from([("missed", Tally { sum: missed, draws: 1 })]);
        let results = compare(&effects, grown, &ledger(), &Draws { tallies, ..Draws::default() });
        results.into_iter().filter(|result| !result.agrees).map(|result| result.name).collect()
    }

    #[test]
    fn what_committed_must_be_there_and_what_was_tried_in_vain_may_be() {
        let (once, nothing) = (Times::exactly(1), [""; 0]);
        assert_eq!(wrong(once, [5, 10, 5, 17], 0.0), nothing);
        assert_eq!(wrong(once, [7, 14, 7, 21], 0.0), nothing);
        assert_eq!(wrong(once, [4, 9, 4, 16], 0.0), EFFECTS, "a write or a read was lost");
        assert_eq!(wrong(once, [8, 15, 8, 22], 0.0), EFFECTS, "one was done twice");
        assert_eq!(wrong(once, [5, 9, 4, 17], 1.0), nothing, "a row was not there any more");
        assert_eq!(wrong(once, [4, 8, 3, 16], 1.0), EFFECTS);
    }

    #[test]
    fn how_often_a_server_scans_may_be_known_from_below_alone() {
        assert_eq!(wrong(Times::between(1, 3), [5, 10, 5, 35], 0.0), [""; 0]);
        assert_eq!(wrong(Times::between(1, 3), [5, 10, 5, 36], 0.0), ["scans"]);
        assert_eq!(wrong(Times::at_least(1), [5, 10, 5, 1_000], 0.0), [""; 0]);
        assert_eq!(wrong(Times::at_least(1), [5, 10, 5, 16], 0.0), ["scans"]);
    }
}
