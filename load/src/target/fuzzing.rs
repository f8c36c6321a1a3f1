//! Decoders of what servers say, fed from memory, for the fuzz targets in `load/fuzz`. Whatever comes is refused or read
//! without a panic; and what comes in two pieces, cut anywhere, means what it means in one.

use super::inbox::Inbox;
use super::link::Answers;
use super::postgres::{Address, Batch};
use super::{SqlBatch, SqlReply, SqlRow, StatementId, TargetError, aerospike, mysql, postgres, resp};

/// How many answers are due: enough that one of them can be out of step with the next.
const DUE: usize = 3;
/// Types that a column of PostgreSQL may have, and more columns than that.
const COLUMNS: [u32; 9] = [17, 20, 21, 23, 25, 1042, 1043, 1700, 0];
const NAMESPACE: &str = "test";

/// Answers to commands of Valkey and Redis.
///
/// # Panics
/// When the decoder does, or the pieces mean something else than the whole.
pub fn resp(bytes: &[u8]) {
    cut_anywhere(bytes, resp::Reply::default, DUE, |reply| {
        let answers: Vec<_> = (0..=DUE).map(|command| reply.answers(command).collect::<Vec<_>>()).collect();
        format!("{answers:?}")
    });
}

/// What a server answers to CLUSTER NODES.
///
/// # Panics
/// When the decoder does.
pub fn cluster_nodes(text: &str) {
    let asked = Address::Tcp { host: "asked".to_owned(), port: 1 };
    if let Ok(slots) = resp::Slots::read(text, &asked) {
        assert!(slots.master(text.as_bytes()) < slots.masters().len());
    }
}

/// Answers to messages about records, or to a question.
///
/// # Panics
/// As [`resp()`].
pub fn aerospike(bytes: &[u8], question: bool) {
    let due = if question { (1, aerospike::INFO) } else { (DUE, aerospike::MESSAGE) };
    cut_anywhere(bytes, aerospike::Reply::default, due, |reply| {
        let bins: Vec<_> = (0..=DUE).map(|message| reply.bins(message).collect::<Vec<_>>()).collect();
        format!("{:?} {:?} {bins:?}", reply.text(0), reply.result(0))
    });
}

/// What nodes say of their partitions and of each other.
///
/// # Panics
/// When the decoder does.
pub fn aerospike_cluster(text: &str) {
    let _ = aerospike::Claim::read(text, NAMESPACE);
    let _ = aerospike::read_peers(text);
    let _ = aerospike::read_services(text);
}

/// Answers to a batch of a transaction with one statement, whose rows have a column of each type.
///
/// # Panics
/// As [`resp()`].
pub fn postgres(bytes: &[u8]) {
    let mut batch = Batch::default();
    batch.begin();
    batch.execute(StatementId(0), &[]);
    batch.commit();
    let make = || {
        let mut reply = postgres::Reply::new(Inbox::default());
        reply.push_columns(COLUMNS.to_vec());
        reply
    };
    cut_anywhere(bytes, make, batch.commands(), |reply| {
        let mut shown = format!("{} {}", reply.row_count(0), reply.affected(0));
        for row in (0..).map_while(|row| reply.row(0, row)) {
            for column in 0..=COLUMNS.len() {
                let integers = (row.i32(column), row.i64(column), row.numeric(column, 2));
                shown += &format!("{integers:?} {:?} {:?}", row.text(column), row.bytes(column));
            }
        }
        shown
    });
}

/// Answers to a transaction with one statement, of whose result the definitions come with it, or have come before.
///
/// # Panics
/// As [`resp()`].
pub fn mysql(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let mut batch = mysql::Batch::of_one_statement();
    batch.begin();
    batch.execute(StatementId(0), &[]);
    batch.commit();
    let make = || {
        let mut reply = mysql::Reply::new(Inbox::default(), first % 2 == 1);
        reply.push_columns(Vec::new());
        reply
    };
    cut_anywhere(bytes, make, batch.commands(), |reply| {
        let mut shown = format!("{} {}", reply.row_count(0), reply.affected(0));
        for row in (0..).map_while(|row| reply.row(0, row)) {
            for column in 0..COLUMNS.len() {
                let integers = (row.i32(column), row.i64(column), row.numeric(column, 2));
                shown += &format!("{integers:?} {:?} {:?}", row.text(column), row.bytes(column));
            }
        }
        shown
    });
}

/// Reads an answer at once, and in two pieces; the first byte says where it is cut.
fn cut_anywhere<A: Answers>(bytes: &[u8], make: impl Fn() -> A, due: A::Due<'_>, show: impl Fn(&A) -> String) {
    let Some((cut, answer)) = bytes.split_first() else { return };
    let (first, second) = answer.split_at(usize::from(*cut).min(answer.len()));
    let (mut whole, mut pieces) = (make(), make());
    let at_once = read(&mut whole, &[answer], due);
    let in_pieces = read(&mut pieces, &[first, second], due);
    assert_eq!(at_once, in_pieces, "cut at {}", first.len());
    if at_once == Ok(Some(Ok(()))) {
        assert_eq!(show(&whole), show(&pieces), "cut at {}", first.len());
    }
}

/// As a link reads it; `None` when the answer is not whole.
fn read<A: Answers>(
    answers: &mut A,
    pieces: &[&[u8]],
    due: A::Due<'_>,
) -> Result<Option<Result<(), TargetError>>, TargetError> {
    for piece in pieces {
        if answers.is_empty() {
            answers.inbox().restart();
        }
        answers.inbox().feed(piece);
        if let Some(outcome) = answers.parse(due)? {
            return Ok(Some(outcome));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn recorded(name: &str) -> Vec<u8> {
        fs::read(format!("{}/fuzz/corpus/mysql/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    /// What MariaDB 10.11 answered, cut anywhere, and with each byte damaged.
    #[test]
    fn recorded_answers_of_mysql_are_read_in_pieces_and_damaged_ones_refused_without_a_panic() {
        for name in ["integers", "texts", "texts-cached", "decimal-and-time", "affected", "no-rows", "refused", "file"]
        {
            let mut bytes = recorded(name);
            for cut in 0..=u8::MAX {
                bytes[1] = cut;
                mysql(&bytes);
            }
            for at in 2..bytes.len() {
                for damage in [0x01, 0x80, 0xFF] {
                    bytes[at] ^= damage;
                    mysql(&bytes);
                    bytes[at] ^= damage;
                }
            }
        }
    }

    #[test]
    fn recorded_rows_of_mysql_are_read() {
        let mut batch = mysql::Batch::of_one_statement();
        batch.begin();
        batch.execute(StatementId(0), &[]);
        batch.commit();
        let mut reply = mysql::Reply::new(Inbox::default(), false);
        reply.push_columns(Vec::new());
        assert_eq!(read(&mut reply, &[&recorded("texts")[2..]], batch.commands()), Ok(Some(Ok(()))));
        let ids: Vec<_> =
            (0..).map_while(|row| reply.row(0, row)).map(|row| (row.i32(0), row.text(2).map(str::len))).collect();
        assert_eq!(ids, [(Some(1), Some(119)), (Some(2), Some(119))]);
        let mut refused = mysql::Reply::new(Inbox::default(), false);
        let outcome = read(&mut refused, &[&recorded("refused")[2..]], batch.commands());
        assert!(
            matches!(outcome, Ok(Some(Err(TargetError::Database { .. })))),
            "the COMMIT behind it was answered, too"
        );
    }
}
