//! Reads back what a run of kv has written, on servers that speak SQL.

use crate::exit::Failure;
use crate::target::{AdminSession, Dialect};
use std::collections::HashMap;

/// The first eight bytes of the values of these keys, as a number; `None` where there is no such row, or a shorter one.
///
/// # Errors
/// The server's.
pub fn read_numbers<C: AdminSession>(
    connection: &mut C,
    dialect: Dialect,
    keys: &[i64],
) -> Result<Vec<Option<u64>>, Failure> {
    let list: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let columns = match dialect {
        Dialect::Mysql => "k, hex(substring(v, 1, 8))",
        _ => "k::text, encode(substring(v from 1 for 8), 'hex')",
    };
    let rows = connection
        .query(&format!("SELECT {columns} FROM kv WHERE k IN ({})", list.join(", ")))
        .map_err(|error| Failure::target("cannot read what was written", &error))?;
    let row = |row: &Vec<Option<String>>| {
        let [Some(key), Some(number)] = row.as_slice() else { return None };
        Some((key.parse::<i64>().ok()?, u64::from_str_radix(number, 16).ok().filter(|_| number.len() == 16)?))
    };
    let stored: HashMap<i64, u64> = rows.iter().filter_map(row).collect();
    Ok(keys.iter().map(|key| stored.get(key).copied()).collect())
}
