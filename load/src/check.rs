//! Does the data still make sense? Conditions are queries that count violations; counters are what the server
//! itself counted while the client did.

use crate::exit::{ExitCode, Failure};
use crate::output::{ConditionResult, CounterResult};
use crate::record::Ledger;
use crate::target::postgres::{Connection, TextRows};
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
    connection: &mut Connection,
    conditions: &[Condition],
    moment: Moment,
    mut found: impl FnMut(ConditionResult),
) -> Result<(), Failure> {
    let due = |condition: &&Condition| moment == Moment::AfterLoad || !condition.only_after_load;
    conditions.iter().filter(due).try_for_each(|condition| check(connection, condition).map(&mut found))
}

fn check(connection: &mut Connection, condition: &Condition) -> Result<ConditionResult, Failure> {
    let doing = || format!("condition {} ({}) could not be checked", condition.number, condition.text);
    let rows = connection.query(&condition.sql).map_err(|error| Failure::target(&doing(), &error))?;
    // A check that answers nonsense is not a check that passed.
    let answer = || Failure::new(ExitCode::ConsistencyBroken, format!("{}: its query answered {rows:?}", doing()));
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
pub fn read_counters(connection: &mut Connection, counters: &[ServerCounter]) -> Result<Vec<i64>, Failure> {
    counters.iter().map(|counter| read_counter(connection, counter)).collect()
}

fn read_counter(connection: &mut Connection, counter: &ServerCounter) -> Result<i64, Failure> {
    let doing = format!("counter {} could not be read", counter.name);
    let rows = connection.query(&counter.sql).map_err(|error| Failure::target(&doing, &error))?;
    single_number(&rows)
        .ok_or_else(|| Failure::new(ExitCode::ConsistencyBroken, format!("{doing}: its query answered {rows:?}")))
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
/// committed: the server may have counted so many more, and no others.
#[must_use]
pub fn compare_counters(
    counters: &[ServerCounter],
    before: &[i64],
    after: &[i64],
    ledger: &Ledger,
) -> Vec<CounterResult> {
    let compare = |(counter, (before, after)): (&ServerCounter, (&i64, &i64))| {
        let server = after - before;
        let of = |operations: u64| signed(operations.saturating_mul(u64::from(counter.each)));
        let client = of(ledger.committed(counter.operation));
        let in_doubt = of(ledger.in_doubt(counter.operation));
        let agrees = (client..=client + in_doubt).contains(&server);
        CounterResult { name: counter.name.to_owned(), server, client, in_doubt, agrees }
    };
    counters.iter().zip(before.iter().zip(after)).map(compare).collect()
}

/// Counts of operations stay far below 2^63.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The failure that disagreeing counters amount to, naming the first.
#[must_use]
pub fn judge_counters(results: &[CounterResult]) -> Option<Failure> {
    let wrong = results.iter().find(|result| !result.agrees)?;
    Some(Failure::new(
        ExitCode::ConsistencyBroken,
        format!(
            "counter {} disagrees: the server counted {}, the client {}{} (did anything else write to these tables?)",
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
    use crate::outcome::Outcome;
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
        let mut ledger = Ledger::new(&["order"], false);
        let lane = lanes.lane(0);
        for _ in 0..5 {
            let outcome = Outcome::Committed;
            lane.record(&mut None, || 1, |ended_ns| Sample::short(0, outcome, ended_ns));
        }
        lane.error(|| 1, OperationId(0), "lost".to_owned(), ErrorKind::Failed, true);
        lane.error(|| 1, OperationId(0), "lost".to_owned(), ErrorKind::Failed, false);
        ledger.collect(&mut lanes);
        let _ = ledger.close(Phase::Measure, 10);
        for (after, agrees) in [(104, false), (105, true), (106, true), (107, false)] {
            let results = compare_counters(&counters, &[100], &[after], &ledger);
            assert_eq!((results[0].agrees, results[0].in_doubt), (agrees, 1), "{results:?}");
            let failure = judge_counters(&results);
            assert!(failure.is_none() == agrees && failure.is_none_or(|it| it.message.contains("the client 5 to 6")));
        }
    }
}
