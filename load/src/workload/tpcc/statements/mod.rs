//! Everything that each profile sends. Where profiles send the same, they share its text; where one statement has
//! another text in another profile, it takes the same values and gives the same columns. The texts never change, so
//! each is planned once.
//!
//! All are right under READ COMMITTED: whoever computes a new value from an old one holds the row's lock since it was
//! read (`UPDATE ... RETURNING`, `FOR UPDATE`). Locks are taken in one order everywhere (warehouse, district, stock by
//! warehouse and item; new_order by district, customer last), so that transactions wait but do not deadlock.

mod functions;
mod mysql;
mod procedures;
mod texts;

pub use texts::Query;

use super::input::MAX_LINES;
use super::profile::Profile;
use crate::target::{Dialect, Statement, StatementId};
use texts::{ALL, stock_sql};

/// Stocks of an order with the district's own information: a statement for each district, since a column cannot be a
/// parameter.
const STOCK_NAMES: [&str; 10] = [
    "new_order.stock_01",
    "new_order.stock_02",
    "new_order.stock_03",
    "new_order.stock_04",
    "new_order.stock_05",
    "new_order.stock_06",
    "new_order.stock_07",
    "new_order.stock_08",
    "new_order.stock_09",
    "new_order.stock_10",
];

/// Place of each query among the statements of each profile, and how many of them the profile has.
const PLACES: [([u16; ALL.len()], u16); 4] =
    [places(Profile::Chatty), places(Profile::Batched), places(Profile::Pipelined), places(Profile::Proc)];
const NOWHERE: u16 = u16::MAX;

const fn places(profile: Profile) -> ([u16; ALL.len()], u16) {
    let (mut places, mut next, mut index) = ([NOWHERE; ALL.len()], 0, 0);
    while index < ALL.len() {
        if ALL[index].0.sql(profile).is_some() {
            places[index] = next;
            next += 1;
        }
        index += 1;
    }
    (places, next)
}

impl Query {
    /// Its place among the statements of `profile`.
    ///
    /// # Panics
    /// If the profile does not send it.
    #[must_use]
    pub fn id(self, profile: Profile) -> StatementId {
        let place = PLACES[profile as usize].0[self as usize];
        assert!(place != NOWHERE, "{profile} does not send {self:?}");
        StatementId(place)
    }
}

/// The statement that reads stocks for orders of `district`.
///
/// # Panics
/// If the district is not within 1..=10.
#[must_use]
pub fn stock(profile: Profile, district: i32) -> StatementId {
    assert!((1..=10).contains(&district), "a warehouse has ten districts");
    StatementId(PLACES[profile as usize].1 + district.unsigned_abs() as u16 - 1)
}

/// The statement that inserts so many order lines. Without arrays each number of them has its own: the most as all
/// others have it, the less behind the stocks.
///
/// # Panics
/// If no order has so many.
#[must_use]
pub fn lines(profile: Profile, dialect: Dialect, count: usize) -> StatementId {
    if dialect != Dialect::Mysql || count == MAX_LINES {
        return Query::NewOrderInsertLines.id(profile);
    }
    let place = mysql::FEWER_LINES.iter().position(|(lines, _)| *lines == count).expect("an order has 4 to 15 lines");
    StatementId(PLACES[profile as usize].1 + (STOCK_NAMES.len() + place) as u16)
}

/// What the server must have before the statements of `profile` are prepared.
#[must_use]
pub fn prepare(profile: Profile, dialect: Dialect) -> Vec<String> {
    match (profile, dialect) {
        (Profile::Proc, Dialect::Mysql) => procedures::create(),
        (Profile::Proc, _) => functions::functions(),
        _ => Vec::new(),
    }
}

/// SQLSTATEs that say that a row is missing, where a whole transaction is one statement or one call: PostgreSQL's
/// not-null violation and division by zero, which happen for no other reason.
#[must_use]
pub fn missing_rows(profile: Profile, dialect: Dialect) -> &'static [&'static str] {
    match (profile, dialect) {
        (Profile::Chatty | Profile::Batched, _) => &[],
        (_, Dialect::Mysql) => &[procedures::MISSING],
        _ => &["23502", "22012"],
    }
}

/// All statements of `profile` by [`StatementId`].
#[must_use]
pub fn all(profile: Profile, dialect: Dialect) -> Vec<Statement> {
    let is_mysql = dialect == Dialect::Mysql;
    let text = |&(query, name): &(Query, &'static str)| {
        let sql = query.sql(profile)?;
        let sql = match profile {
            Profile::Proc if is_mysql => procedures::call(sql),
            _ if is_mysql => mysql::sql(query, sql),
            _ => sql.to_owned(),
        };
        Some(Statement { name, sql })
    };
    let stock = |(&name, district)| {
        let sql = stock_sql(profile, district)?;
        Some(Statement { name, sql: if is_mysql { mysql::stock_sql(district) } else { sql } })
    };
    let fewer = |&(count, name)| Statement { name, sql: mysql::insert_lines_sql(count) };
    let fewer = (is_mysql && profile == Profile::Chatty)
        .then_some(mysql::FEWER_LINES)
        .into_iter()
        .flat_map(move |all| all.iter().map(fewer));
    ALL.iter().filter_map(text).chain(STOCK_NAMES.iter().zip(1..).filter_map(stock)).chain(fewer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn identifiers_point_at_their_statements() {
        for profile in Profile::ALL {
            let all = all(profile, Dialect::Postgres);
            let sent = ALL.iter().filter_map(|&(query, name)| Some((query, name, query.sql(profile)?)));
            for (query, name, sql) in sent {
                let statement = &all[usize::from(query.id(profile).0)];
                assert_eq!((statement.name, statement.sql.as_str()), (name, sql));
            }
            for district in (1..=10).filter(|_| profile < Profile::Pipelined) {
                let statement = &all[usize::from(stock(profile, district).0)];
                assert_eq!(statement.name, format!("new_order.stock_{district:02}"));
                assert!(statement.sql.contains(&format!("s_dist_{district:02}")));
            }
        }
    }

    #[test]
    fn names_are_unique_and_statements_have_one_line() {
        for profile in Profile::ALL {
            let all = all(profile, Dialect::Postgres);
            let names: BTreeSet<&str> = all.iter().map(|statement| statement.name).collect();
            assert_eq!(names.len(), all.len());
            assert!(all.iter().all(|statement| !statement.sql.contains(['\n', ';'])));
        }
    }

    #[test]
    fn a_statement_of_another_profile_has_no_place() {
        assert!(std::panic::catch_unwind(|| Query::NewOrderEnter.id(Profile::Batched)).is_err());
        assert!(std::panic::catch_unwind(|| Query::NewOrderItems.id(Profile::Proc)).is_err());
    }
}
