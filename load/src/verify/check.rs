//! Whether the data is consistent. Conditions are queries that count violations; counters are what the server counted
//! itself.

use crate::exit::{ExitCode, Failure};
use crate::output::{ConditionResult, CounterResult};
use crate::record::Ledger;
use crate::target::{AdminSession, TextRows};
use crate::workload::{Condition, ServerCounter};

/// When conditions are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Right after loading: all of them hold.
    AfterLoad,
    /// Once something may have run: those that only describe fresh data are left out.
    Later,
}

/// Checks conditions one after the other, and hands each result on as soon as it is there: what is found stays found
/// when a later condition cannot be checked.
///
/// # Errors
/// When a condition cannot be checked at all; a broken one is a result, not an error.
pub fn conditions(
    connection: &mut impl AdminSession,
    conditions: &[Condition],
    moment: Moment,
    mut found: impl FnMut(ConditionResult),
) -> Result<(), Failure> {
    let due = |condition: &&Condition| moment == Moment::AfterLoad || !condition.only_after_load;
    conditions.iter().filter(due).try_for_each(|condition| check(connection, condition).map(&mut found))
}

fn check(connection: &mut impl AdminSession, condition: &Condition) -> Result<ConditionResult, Failure> {
    let doing = || format!("could not check condition {} ({})", condition.number, condition.text);
    let rows = connection.query(&condition.sql).map_err(|error| Failure::target(&doing(), &error))?;
    // A check that answers nonsense is not a check that passed.
    let answer = || Failure::new(ExitCode::ConsistencyBroken, format!("{}: its query returned {rows:?}", doing()));
    let [row] = rows.as_slice() else { return Err(answer()) };
    let [Some(violations), example] = row.as_slice() else { return Err(answer()) };
    let violations: u64 = violations.parse().map_err(|_| answer())?;
    Ok(ConditionResult {
        number: condition.number,
        text: condition.text.to_owned(),
        holds: violations == 0,
        violations,
        example: example.clone().filter(|_| violations > 0),
    })
}

/// The failure that broken conditions amount to, naming the first.
#[must_use]
pub fn judge_conditions(results: &[ConditionResult]) -> Option<Failure> {
    let broken = results.iter().filter(|result| !result.holds).count();
    let first = results.iter().find(|result| !result.holds)?;
    let example = first.example.as_ref().map(|example| format!(", for example: {example}")).unwrap_or_default();
    let others = if broken > 1 { format!(" (and {} more conditions)", broken - 1) } else { String::new() };
    Some(Failure::new(
        ExitCode::ConsistencyBroken,
        format!(
            "condition {} is broken ({}): {} violations{example}{others}",
            first.number, first.text, first.violations
        ),
    ))
}

/// Reads what the server has counted so far.
///
/// # Errors
/// When a counter cannot be read.
pub fn read_counters(connection: &mut impl AdminSession, counters: &[ServerCounter]) -> Result<Vec<i64>, Failure> {
    counters.iter().map(|counter| read_counter(connection, counter)).collect()
}

fn read_counter(connection: &mut impl AdminSession, counter: &ServerCounter) -> Result<i64, Failure> {
    let doing = format!("could not read counter {}", counter.name);
    let rows = connection.query(&counter.sql).map_err(|error| Failure::target(&doing, &error))?;
    single_number(&rows)
        .ok_or_else(|| Failure::new(ExitCode::ConsistencyBroken, format!("{doing}: its query returned {rows:?}")))
}

fn single_number(rows: &TextRows) -> Option<i64> {
    match rows.as_slice() {
        [row] => match row.as_slice() {
            [Some(number)] => number.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Compares the server's counts with the client's. An operation whose commit was sent and never answered may have
/// committed: the server may have counted this many more, and no others; beside other shards, any number more.
#[must_use]
pub fn compare_counters(
    counters: &[ServerCounter],
    before: &[i64],
    after: &[i64],
    ledger: &Ledger,
    alone: bool,
) -> Vec<CounterResult> {
    let compare = |(counter, (before, after)): (&ServerCounter, (&i64, &i64))| {
        let of = |operations: u64| signed(operations.saturating_mul(u64::from(counter.each)));
        let (client, in_doubt) = (of(ledger.committed(counter.operation)), of(ledger.in_doubt(counter.operation)));
        let whole = compared(counter.name, (*before, *after), client, in_doubt);
        CounterResult { agrees: whole.agrees || (!alone && whole.server >= client), ..whole }
    };
    counters.iter().zip(before.iter().zip(after)).map(compare).collect()
}

fn compared(name: &str, (before, after): (i64, i64), client: i64, in_doubt: i64) -> CounterResult {
    let server = after - before;
    let agrees = (client..=client + in_doubt).contains(&server);
    CounterResult { name: name.to_owned(), before: Some(before), after: Some(after), server, client, in_doubt, agrees }
}

/// The counters of one load that several shards drove, against what all of them counted. Each reads before it begins
/// and after it ended, and counters only grow: the lowest of the first readings was taken before any of them began, the
/// highest of the last ones after all had ended. A counter that one of them did not read twice is left out.
#[must_use]
pub fn merge_counters(of_shards: &[Vec<CounterResult>]) -> Vec<CounterResult> {
    let [first, others @ ..] = of_shards else { return Vec::new() };
    if others.is_empty() {
        return first.clone();
    }
    let merge = |counter: &CounterResult| {
        let its = |shard: &Vec<CounterResult>| shard.iter().find(|other| other.name == counter.name).cloned();
        let all: Vec<CounterResult> = of_shards.iter().map(its).collect::<Option<_>>()?;
        let readings: Vec<(i64, i64)> = all.iter().map(|it| it.before.zip(it.after)).collect::<Option<_>>()?;
        let lowest = readings.iter().map(|(before, _)| *before).min()?;
        let highest = readings.iter().map(|(_, after)| *after).max()?;
        let sum = |of: fn(&CounterResult) -> i64| all.iter().map(of).sum();
        Some(compared(&counter.name, (lowest, highest), sum(|it| it.client), sum(|it| it.in_doubt)))
    };
    first.iter().filter_map(merge).collect()
}

/// Counts of operations stay far below 2^63.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The failure that disagreeing counters amount to, naming the first.
#[must_use]
pub fn judge_counters(results: &[CounterResult]) -> Option<Failure> {
    judge_counters_by(results, "did another program write to these tables?")
}

/// The same, with what may explain it.
#[must_use]
pub fn judge_counters_by(results: &[CounterResult], explanation: &str) -> Option<Failure> {
    let wrong = results.iter().find(|result| !result.agrees)?;
    Some(Failure::new(
        ExitCode::ConsistencyBroken,
        format!(
            "counter {} disagrees: the server counted {}, the client {}{} ({explanation})",
            wrong.name,
            wrong.server,
            wrong.client,
            if wrong.in_doubt > 0 { format!(" to {}", wrong.client + wrong.in_doubt) } else { String::new() },
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::outcome::Outcome;
    use crate::output::{ErrorKind, Phase};
    use crate::record::{Lanes, Sample};
    use crate::workload::OperationId;

    fn condition(number: u8, violations: u64, example: Option<&str>) -> ConditionResult {
        let example = example.map(str::to_owned);
        ConditionResult { number, text: "sums agree".to_owned(), holds: violations == 0, violations, example }
    }

    #[test]
    fn the_first_broken_condition_is_named_with_its_example() {
        assert_eq!(judge_conditions(&[condition(1, 0, None)]), None);
        let results = [condition(1, 0, None), condition(2, 3, Some("w_id 7")), condition(3, 1, None)];
        let failure = judge_conditions(&results).unwrap();
        assert_eq!(failure.code, ExitCode::ConsistencyBroken);
        let expected = "condition 2 is broken (sums agree): 3 violations, for example: w_id 7 (and 1 more conditions)";
        assert_eq!(failure.message, expected);
    }

    #[test]
    fn operations_in_doubt_may_have_been_counted_by_the_server_and_no_others() {
        let counters = [ServerCounter { name: "orders", sql: String::new(), operation: OperationId(0), each: 1 }];
        let mut lanes = Lanes::new(1);
        let mut ledger = Ledger::new(&["order"], false, crate::record::OutageWatch::idle());
        let lane = lanes.lane(0);
        for _ in 0..5 {
            let outcome = Outcome::Committed;
            lane.record(&mut None, || 1, |ended_ns| Sample::short(0, outcome, ended_ns));
        }
        lane.error(|| 1, OperationId(0), "lost".to_owned(), ErrorKind::Failed, true);
        lane.error(|| 1, OperationId(0), "lost".to_owned(), ErrorKind::Failed, false);
        ledger.collect(&mut lanes, Phase::Measure, 0);
        let _ = ledger.close(Phase::Measure, 10);
        for (after, agrees) in [(104, false), (105, true), (106, true), (107, false)] {
            let results = compare_counters(&counters, &[100], &[after], &ledger, true);
            assert_eq!((results[0].agrees, results[0].in_doubt), (agrees, 1), "{results:?}");
            let failure = judge_counters(&results);
            assert!(failure.is_none() == agrees && failure.is_none_or(|it| it.message.contains("the client 5 to 6")));
            let beside_others = compare_counters(&counters, &[100], &[after], &ledger, false);
            assert_eq!(beside_others[0].agrees, after >= 105, "{beside_others:?}");
        }
    }

    fn read(name: &str, before: i64, after: i64, client: i64) -> CounterResult {
        compared(name, (before, after), client, 0)
    }

    #[test]
    fn counters_of_shards_are_held_against_what_all_of_them_counted() {
        let [early, late] = [vec![read("rows", 100, 160, 40)], vec![read("rows", 110, 190, 50)]];
        let whole = merge_counters(&[early.clone(), late.clone()]);
        assert_eq!(whole, [read("rows", 100, 190, 90)]);
        assert!(whole[0].agrees);
        for (more, client) in [(1, 90), (0, 89), (0, 91)] {
            let lost = vec![read("rows", 110, 190 + more, client - 40)];
            assert!(!merge_counters(&[early.clone(), lost])[0].agrees, "{more} more, {client} counted");
        }
        let doubtful = vec![CounterResult { in_doubt: 1, ..read("rows", 110, 191, 50) }];
        assert!(merge_counters(&[early.clone(), doubtful])[0].agrees);
    }

    #[test]
    fn counters_that_one_shard_did_not_read_are_not_compared() {
        let one = vec![read("rows", 0, 3, 1), read("orders", 0, 4, 2)];
        let statistics = CounterResult { before: None, after: None, ..read("orders", 0, 4, 2) };
        assert!(merge_counters(&[one.clone(), Vec::new()]).is_empty());
        assert_eq!(merge_counters(&[one.clone(), vec![statistics.clone(), read("rows", 1, 3, 2)]]).len(), 1);
        assert_eq!(merge_counters(&[vec![statistics.clone()]]), [statistics]);
        assert!(merge_counters(&[]).is_empty());
    }
}
