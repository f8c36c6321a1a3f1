//! Whether what the server acknowledged is there after the run.

use crate::exit::{ExitCode, Failure};
use crate::output::LedgerResult;
use crate::words::counted;
use crate::workload::writes::{Write, of_one_run};
use std::thread;
use std::time::{Duration, Instant};

/// Rows that are read at a time.
const CHUNK: usize = 1_000;
/// Before rows are looked for anew.
const PAUSE: Duration = Duration::from_millis(100);

/// Reads every row that was written, and compares: `numbers` reads what the values of some keys begin with.
///
/// # Errors
/// Those of reading.
pub fn compare(mut writes: Vec<Write>, mut numbers: impl FnMut(&[i64]) -> Read) -> Result<LedgerResult, Failure> {
    writes.sort_unstable_by_key(|write| (write.key, write.number));
    let rows: Vec<&[Write]> = writes.chunk_by(|one, other| one.key == other.key).collect();
    let acknowledged = writes.iter().filter(|write| write.acknowledged.is_some()).count() as u64;
    let mut result = LedgerResult {
        rows: rows.len() as u64,
        acknowledged,
        in_doubt: writes.len() as u64 - acknowledged,
        ..LedgerResult::default()
    };
    for chunk in rows.chunks(CHUNK) {
        let keys: Vec<i64> = chunk.iter().map(|row| row[0].key).collect();
        for (row, stored) in chunk.iter().zip(numbers(&keys)?) {
            add(&mut result, row, stored);
        }
    }
    Ok(result)
}

/// What the values of some keys begin with; `None` where there is no such row.
type Read = Result<Vec<Option<u64>>, Failure>;

/// Reads numbers by what `open` gives. A server that fails meanwhile may be about to hand its rows to another one:
/// they are then looked for anew, for so long.
///
/// # Errors
/// Those of opening.
pub fn reopened<N>(
    open: impl Fn() -> Result<N, Failure>,
    patience: Duration,
) -> Result<impl FnMut(&[i64]) -> Read, Failure>
where
    N: FnMut(&[i64]) -> Read,
{
    let mut numbers = open()?;
    Ok(move |keys: &[i64]| {
        let deadline = Instant::now() + patience;
        loop {
            match numbers(keys) {
                Err(failure) if failure.code == ExitCode::TargetLost && Instant::now() < deadline => {
                    thread::sleep(PAUSE);
                    numbers = open()?;
                }
                outcome => return outcome,
            }
        }
    })
}

/// Judges one row by its writes and the number that is there.
///
/// What is there may have overwritten every write but those that were sent after it was acknowledged. A write in doubt
/// may have been carried out at any time, also after later ones, and proves nothing about them.
fn add(result: &mut LedgerResult, writes: &[Write], stored: Option<u64>) {
    let kept = stored.and_then(|number| writes.iter().find(|write| write.number == number));
    if let (None, Some(number)) = (kept, stored.filter(|&number| of_one_run(number, writes[0].number))) {
        result.unsent += 1;
        let told = format!("row {} holds write {number}, which was never sent there, or was refused", writes[0].key);
        result.example.get_or_insert(told);
        return;
    }
    result.in_doubt_kept += u64::from(kept.is_some_and(|write| write.acknowledged.is_none()));
    let is_lost = |write: &&Write| match kept {
        _ if write.acknowledged.is_none() => false,
        None => true,
        Some(kept) => kept.acknowledged.is_some_and(|time| write.number > time.get()),
    };
    let lost = writes.iter().filter(is_lost).count() as u64;
    let Some(latest) = writes.iter().rfind(is_lost).filter(|_| lost > 0) else { return };
    result.lost += lost;
    result.lost_rows += 1;
    let instead = match (kept, stored) {
        (Some(kept), _) => format!("write {}", kept.number),
        (None, Some(_)) => "what was there before the run".to_owned(),
        (None, None) => "nothing".to_owned(),
    };
    let told = format!("row {} holds {instead}, and write {} was acknowledged", latest.key, latest.number);
    result.example.get_or_insert(told);
}

/// What is wrong with a result, if something is.
#[must_use]
pub fn judge(result: &LedgerResult) -> Option<Failure> {
    let example = result.example.as_deref()?;
    let mut wrong = Vec::new();
    if result.lost > 0 {
        let (of, rows) = (counted(result.acknowledged, "acknowledged write"), counted(result.lost_rows, "row"));
        wrong.push(format!("{} of {of} lost, in {rows}", result.lost));
    }
    if result.unsent > 0 {
        wrong.push(format!("{} with a write that was never sent there, or was refused", counted(result.unsent, "row")));
    }
    Some(Failure::new(ExitCode::ConsistencyBroken, format!("{}: {example}", wrong.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::num::NonZeroU64;

    const RUN: u64 = 3 << 40;

    fn sent(key: i64, number: u64, acknowledged: u64) -> Write {
        Write {
            key,
            number: RUN + number,
            acknowledged: NonZeroU64::new(acknowledged).map(|time| time.saturating_add(RUN)),
        }
    }

    /// Counts (lost, rows with a loss, unsent, in doubt and there) of one row with these writes, and this number in it.
    fn counts(writes: &[Write], stored: Option<u64>) -> [u64; 4] {
        let result = compare(writes.to_vec(), move |keys| Ok(vec![stored; keys.len()])).unwrap();
        assert_eq!(judge(&result).is_some(), result.lost + result.unsent > 0);
        [result.lost, result.lost_rows, result.unsent, result.in_doubt_kept]
    }

    #[test]
    fn a_loss_is_what_nothing_that_is_there_can_have_overwritten() {
        let (first, second) = (sent(1, 1, 2), sent(1, 3, 4));
        for (writes, stored, expected, why) in [
            (vec![first, second], Some(RUN + 3), [0, 0, 0, 0], "the last write is there"),
            (vec![second, first], Some(RUN + 1), [1, 1, 0, 0], "an older one is there"),
            (vec![first, second], None, [2, 1, 0, 0], "the row is gone"),
            (vec![first, second], Some(5), [2, 1, 0, 0], "what was there before the run"),
            (vec![first], Some(RUN + 9), [0, 0, 1, 0], "newer than anything sent"),
            (vec![sent(1, 1, 4), sent(1, 2, 3)], Some(RUN + 1), [0, 0, 0, 0], "both were under way at a time"),
            (vec![sent(1, 1, 4), sent(1, 2, 3)], Some(RUN + 2), [0, 0, 0, 0], "in either order"),
            (vec![first, sent(1, 3, 0)], Some(RUN + 3), [0, 0, 0, 1], "a write in doubt arrived"),
            (vec![first, sent(1, 3, 0)], Some(RUN + 1), [0, 0, 0, 0], "or did not"),
            (vec![sent(1, 1, 0), second], Some(RUN + 1), [0, 0, 0, 1], "and may arrive late"),
            (vec![sent(1, 1, 0)], None, [0, 0, 0, 0], "nothing was promised"),
        ] {
            assert_eq!(counts(&writes, stored), expected, "{why}");
        }
    }

    /// Says why it cannot be read so often, each time that it is opened; then it can.
    fn passing(refusals: u32, code: ExitCode, patience: Duration) -> (Read, u32) {
        let opened = Cell::new(0);
        let open = || {
            opened.set(opened.get() + 1);
            let serves = opened.get() > refusals;
            let refused = Failure::new(code, "server error CLUSTERDOWN: The cluster is down");
            Ok(move |keys: &[i64]| if serves { Ok(vec![Some(RUN); keys.len()]) } else { Err(refused.clone()) })
        };
        let read = reopened(open, patience).unwrap()(&[1, 2]);
        (read, opened.get())
    }

    #[test]
    fn rows_that_another_server_takes_over_while_they_are_read_are_looked_for_anew() {
        const LONG: Duration = Duration::from_secs(60);
        let (read, opened) = passing(2, ExitCode::TargetLost, LONG);
        assert_eq!((read, opened), (Ok(vec![Some(RUN); 2]), 3));
        for (code, patience) in [(ExitCode::TargetLost, Duration::ZERO), (ExitCode::ConsistencyBroken, LONG)] {
            let (read, opened) = passing(2, code, patience);
            assert_eq!((read.unwrap_err().code, opened), (code, 1));
        }
    }

    #[test]
    fn every_row_is_read_once_and_planted_losses_are_found() {
        let writes: Vec<Write> = (0..2_500).map(|row| sent(row, 2 * row as u64 + 1, 2 * row as u64 + 2)).collect();
        let mut read = Vec::new();
        let numbers = |keys: &[i64]| {
            read.extend_from_slice(keys);
            let stored = |&key: &i64| (key % 100 != 7).then_some(RUN + 2 * key as u64 + 1);
            Ok(keys.iter().map(stored).collect())
        };
        let result = compare(writes, numbers).unwrap();
        assert_eq!((result.rows, result.acknowledged, result.lost, result.lost_rows), (2_500, 2_500, 25, 25));
        assert_eq!(read, (0..2_500).collect::<Vec<_>>());
        let told = judge(&result).unwrap().message;
        assert!(told.starts_with("25 of 2500 acknowledged writes lost, in 25 rows: row 7 holds nothing"), "{told}");
    }
}
