//! Fingerprints of tables: the number of rows, and the sum of a 64-bit hash of each row's text. The server computes
//! one in SQL, the generator another from the seed, without the server. They are equal right after a load, whatever the
//! order of the rows, and differ after one changed byte.

use crate::exit::{ExitCode, Failure};
use crate::fill::admin::Admin;
use crate::output::FingerprintResult;
use crate::stop::Stop;
use crate::target::{AdminSession, Dialect, RowWriter, Value};
use crate::words::counted;
use crate::workload::keys::fnv1a;
use crate::workload::{Dataset, NULL_TEXT, Table, tables};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Of one table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Rows.
    pub rows: u64,
    /// The sum of their hashes, modulo 2^64.
    pub hash: u64,
}

/// Compares every table with what its seed makes, on this many connections, and cores.
///
/// # Errors
/// [`ExitCode::ConsistencyBroken`] for a table that is empty or missing: nothing has no fingerprint. When the server
/// cannot answer.
pub fn compare(
    dataset: &dyn Dataset,
    dialect: Dialect,
    admin: &Admin<impl AdminSession>,
    connections: u32,
    stop: &Stop,
) -> Result<Vec<FingerprintResult>, Failure> {
    let tables = tables(dataset);
    let found = Mutex::new(BTreeMap::new());
    admin.in_parallel(connections, tables.len(), stop, &[], |connection, index| {
        let fingerprint = of_server(connection, tables[index], dialect)?;
        found.lock().unwrap_or_else(PoisonError::into_inner).insert(tables[index].name, fingerprint);
        Ok(())
    })?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let expected = of_dataset(dataset, dialect, connections);
    let result = |table: &&Table| {
        let (found, expected) = (found[table.name], expected[table.name]);
        FingerprintResult {
            table: table.name.to_owned(),
            rows: found.rows,
            hash: format!("{:016x}", found.hash),
            expected_rows: expected.rows,
            expected: format!("{:016x}", expected.hash),
        }
    };
    Ok(tables.iter().map(result).collect())
}

/// The failure that a difference amounts to, naming the first.
#[must_use]
pub fn judge(results: &[FingerprintResult]) -> Option<Failure> {
    let differs = |result: &&FingerprintResult| (result.rows, &result.hash) != (result.expected_rows, &result.expected);
    let first = results.iter().find(differs)?;
    let message = format!(
        "table {} differs from what was loaded: {} with fingerprint {}, expected {} with {}",
        first.table,
        counted(first.rows, "row"),
        first.hash,
        counted(first.expected_rows, "row"),
        first.expected
    );
    Some(Failure::new(ExitCode::ConsistencyBroken, message))
}

/// The query for the fingerprint of a table: its rows, and the sum of their hashes.
#[must_use]
pub fn sql(table: &Table, dialect: Dialect) -> String {
    let hash = dialect.text_hash(&table.text_sql(dialect));
    // MySQL's sums of integers are as long as they need to be.
    let exact = if dialect == Dialect::Mysql { hash } else { format!("{hash}::numeric") };
    format!("SELECT count(*), sum({exact}) FROM {}", table.name)
}

fn of_server(connection: &mut impl AdminSession, table: &Table, dialect: Dialect) -> Result<Fingerprint, Failure> {
    let doing = format!("could not compute the fingerprint of {}", table.name);
    let rows = connection.query(&sql(table, dialect)).map_err(|error| Failure::target(&doing, &error))?;
    let nothing = || Failure::new(ExitCode::ConsistencyBroken, format!("{doing}: the query returned {rows:?}"));
    let [row] = rows.as_slice() else { return Err(nothing()) };
    let [Some(count), Some(sum)] = row.as_slice() else {
        let message = format!("table {} is empty, so it has no fingerprint", table.name);
        return Err(Failure::new(ExitCode::ConsistencyBroken, message));
    };
    let (count, sum) = (count.parse(), sum.parse::<i128>());
    let (Ok(rows), Ok(sum)) = (count, sum) else { return Err(nothing()) };
    // Two's complement keeps the sum of signed numbers modulo 2^64.
    Ok(Fingerprint { rows, hash: sum as u64 })
}

/// What the tables of a data set must have, by name.
#[must_use]
pub fn of_dataset(dataset: &dyn Dataset, dialect: Dialect, threads: u32) -> BTreeMap<&'static str, Fingerprint> {
    let pieces = dataset.pieces();
    let (next, total) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<&'static str, Fingerprint>::new()));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores.min(threads as usize) {
            scope.spawn(|| {
                while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut rows = Rows { hash: text_hash(dialect), text: String::new(), sum: Fingerprint::default() };
                    dataset.write(piece, &mut rows).expect("hashing does no input or output");
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    let table = total.entry(piece.table.name).or_default();
                    table.rows += rows.sum.rows;
                    table.hash = table.hash.wrapping_add(rows.sum.hash);
                }
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The function behind [`Dialect::text_hash`].
fn text_hash(dialect: Dialect) -> fn(&[u8]) -> u64 {
    match dialect {
        Dialect::Postgres | Dialect::Yugabytedb => lookup3,
        Dialect::Cockroachdb => fnv1a,
        Dialect::Mysql => first_of_sha256,
    }
}

/// Adds up the hashes of rows.
struct Rows {
    hash: fn(&[u8]) -> u64,
    text: String,
    sum: Fingerprint,
}

impl RowWriter for Rows {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        self.text.clear();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.text.push('|');
            }
            push_text(value, &mut self.text);
        }
        self.sum.rows += 1;
        self.sum.hash = self.sum.hash.wrapping_add((self.hash)(self.text.as_bytes()));
        Ok(())
    }
}

/// Appends a value as [`Table::text_sql`] writes it.
fn push_text(value: &Value<'_>, text: &mut String) {
    let written = match *value {
        Value::Null => text.write_str(NULL_TEXT),
        Value::I32(number) => write!(text, "{number}"),
        Value::I64(number) | Value::TimestampMicros(number) => write!(text, "{number}"),
        Value::Text(value) => text.write_str(value),
        Value::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}")),
        Value::Numeric { unscaled, scale } => {
            let (sign, digits, power) =
                (if unscaled < 0 { "-" } else { "" }, unscaled.unsigned_abs(), 10_u64.pow(scale.into()));
            write!(text, "{sign}{}.{:0width$}", digits / power, digits % power, width = usize::from(scale))
        }
        Value::I32Array(_) | Value::TextArray(_) | Value::NumericArray { .. } => {
            unreachable!("no table of a workload has an array")
        }
    };
    written.expect("a String takes everything");
}

/// The first 64 bits of SHA-256, the highest first.
fn first_of_sha256(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
}

/// Bob Jenkins' lookup3 with 64 bits: `hashtextextended(text, 0)` of PostgreSQL.
fn lookup3(bytes: &[u8]) -> u64 {
    let start = 0x9E37_79B9_u32.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095);
    let [mut a, mut b, mut c] = [start; 3];
    let mut blocks = bytes.chunks_exact(12);
    for block in &mut blocks {
        a = a.wrapping_add(word(&block[0..4]));
        b = b.wrapping_add(word(&block[4..8]));
        c = c.wrapping_add(word(&block[8..12]));
        [a, b, c] = mix([a, b, c]);
    }
    let rest = blocks.remainder();
    let part = |from: usize, to: usize| word(rest.get(from..to.min(rest.len())).unwrap_or_default());
    a = a.wrapping_add(part(0, 4));
    b = b.wrapping_add(part(4, 8));
    // The lowest byte of c belongs to the length.
    c = c.wrapping_add(part(8, 12) << 8);
    finish([a, b, c])
}

/// Up to four bytes, the first the lowest.
fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for rotation in [4, 6, 8, 16, 19, 4] {
        a = a.wrapping_sub(c) ^ c.rotate_left(rotation);
        c = c.wrapping_add(b);
        [a, b, c] = [b, c, a];
    }
    [a, b, c]
}

fn finish([mut a, mut b, mut c]: [u32; 3]) -> u64 {
    for rotation in [14, 11, 25, 16, 4, 14, 24] {
        c = (c ^ b).wrapping_sub(b.rotate_left(rotation));
        [a, b, c] = [b, c, a];
    }
    // The last step changed c, which is now called b.
    u64::from(a) << 32 | u64::from(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What PostgreSQL 18 answers to `hashtextextended(text, 0)`.
    #[test]
    fn lookup3_is_postgresqls() {
        let letters = "abcdefghijklmnopqrstuvwxyz";
        for (length, expected) in [
            (0, -6_939_563_903_564_495_251),
            (1, 3_591_986_179_850_072_241),
            (3, -6_747_756_470_228_489_321),
            (4, -1_038_429_303_365_892_052),
            (5, 3_076_356_108_696_143_428),
            (7, -6_158_032_784_613_548_338),
            (8, -8_882_191_227_074_733_005),
            (9, -3_278_210_106_038_014_113),
            (11, 3_112_909_444_737_856_467),
            (12, -7_556_637_188_122_330_412),
            (13, 8_871_624_171_452_417_744),
            (23, -1_198_571_854_151_947_912),
            (24, -1_933_194_731_779_935_345),
            (26, -6_612_928_417_832_572_997),
        ] {
            assert_eq!(lookup3(&letters.as_bytes()[..length]) as i64, expected, "{length} letters");
        }
    }

    /// The published vectors of FNV-1a.
    #[test]
    fn fnv1a_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_F739_67E8);
    }

    #[test]
    fn values_are_written_as_the_server_writes_them() {
        let cents = |unscaled| Value::Numeric { unscaled, scale: 2 };
        let share = Value::Numeric { unscaled: 5, scale: 4 };
        let values =
            [Value::I32(-7), cents(-1_000), cents(-5), share, Value::Null, Value::Text("a b"), cents(30_000_000)];
        let mut text = String::new();
        for value in values {
            push_text(&value, &mut text);
            text.push('|');
        }
        assert_eq!(text, "-7|-10.00|-0.05|0.0005|null|a b|300000.00|");
    }
}
