//! The initial population (clause 4.3.3.1): every row is a function of (data seed, table, warehouse, row), so that
//! pieces can be written in any order, by any number of connections, on any machine, and always hold the same bytes.
//!
//! `C_SINCE`, `H_DATE`, `O_ENTRY_D` and `OL_DELIVERY_D` are "the time of the load"; here they are one fixed moment, an
//! option, because the wall clock would make two loads of one seed differ.

mod catalog;
mod orders;
mod people;
mod pool;

use super::constants::{POPULATION_VERSION, StoredConstants};
use super::schema;
use crate::target::Dialect;
use crate::target::RowWriter;
use crate::workload::{Dataset, Piece};
use pool::Pools;
use std::io;
use std::sync::OnceLock;

/// Items in the catalogue, and stocks of each warehouse.
pub const ITEMS: i32 = 100_000;
/// Districts of a warehouse.
pub const DISTRICTS: i32 = 10;
/// Customers of a district, and orders in it after the load.
pub const CUSTOMERS: i32 = 3_000;
/// Orders of a district from this number on are not delivered.
pub const FIRST_NEW_ORDER: i32 = 2_101;
/// 2025-01-01 00:00:00 UTC, the default moment of the load.
pub const DEFAULT_LOADED_AT_MICROS: i64 = 1_735_689_600_000_000;

/// What is to be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PopulationOptions {
    /// Warehouses, numbered from 1.
    pub warehouses: u32,
    /// The data seed.
    pub seed: u64,
    /// The moment of the load in microseconds since the Unix epoch.
    pub loaded_at_micros: i64,
    /// Adds the ten foreign keys. Off by default: each costs a lookup and a KEY SHARE lock per row written, most of
    /// them on the rows of WAREHOUSE and DISTRICT that every transaction wants. The specification asks for none.
    pub foreign_keys: bool,
}

impl PopulationOptions {
    /// `warehouses` from `seed`, all else default.
    #[must_use]
    pub fn new(warehouses: u32, seed: u64) -> Self {
        Self { warehouses, seed, loaded_at_micros: DEFAULT_LOADED_AT_MICROS, foreign_keys: false }
    }
}

/// The population as a data set that a loader can write.
#[derive(Debug)]
pub struct Population {
    options: PopulationOptions,
    constants: StoredConstants,
    /// Made when the first row is written, since that takes 20 milliseconds: a run writes none.
    pools: OnceLock<Pools>,
}

impl Population {
    /// The population of `options`.
    #[must_use]
    pub fn new(options: PopulationOptions) -> Self {
        let constants = StoredConstants::new(options.warehouses, options.seed);
        Self { options, constants, pools: OnceLock::new() }
    }

    fn pools(&self) -> &Pools {
        self.pools.get_or_init(|| Pools::new(self.options.seed))
    }

    /// What will be stored beside the rows.
    #[must_use]
    pub fn constants(&self) -> &StoredConstants {
        &self.constants
    }
}

impl Dataset for Population {
    fn identity(&self) -> String {
        let PopulationOptions { warehouses, seed, loaded_at_micros, .. } = self.options;
        format!(
            "tpcc, {warehouses} warehouses, seed {seed}, loaded at {loaded_at_micros}, version {POPULATION_VERSION}"
        )
    }

    fn create(&self, dialect: Dialect) -> Vec<String> {
        schema::create(dialect)
    }

    /// ITEM and then, warehouse by warehouse, the largest tables first, so that parallel writers end together.
    fn pieces(&self) -> Vec<Piece> {
        let of_warehouses = schema::TABLES.into_iter().filter(|table| **table != schema::ITEM);
        let of_warehouse = |index| of_warehouses.clone().map(move |table| Piece { table, index });
        let item = Piece { table: &schema::ITEM, index: 0 };
        std::iter::once(item).chain((1..=self.options.warehouses).flat_map(of_warehouse)).collect()
    }

    fn write(&self, piece: &Piece, writer: &mut dyn RowWriter) -> io::Result<()> {
        match piece.table.name {
            "item" => self.write_items(writer),
            "stock" => self.write_stock(piece.index, writer),
            "warehouse" => self.write_warehouse(piece.index, writer),
            "district" => self.write_districts(piece.index, writer),
            "customer" => self.write_customers(piece.index, writer),
            "history" => self.write_history(piece.index, writer),
            "orders" => self.write_orders(piece.index, writer),
            "order_line" => self.write_order_lines(piece.index, writer),
            "new_order" => self.write_new_orders(piece.index, writer),
            other => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("TPC-C has no table {other:?}"))),
        }
    }

    fn index(&self, dialect: Dialect) -> Vec<String> {
        schema::index(dialect)
    }

    fn finish(&self, dialect: Dialect) -> Vec<String> {
        let mut statements = if self.options.foreign_keys { schema::foreign_keys() } else { Vec::new() };
        statements.push(self.constants.insert_sql(dialect));
        statements
    }
}

/// A warehouse number as a column value.
fn w_id(warehouse: u32) -> i32 {
    i32::try_from(warehouse).expect("fewer than 2^31 warehouses")
}

/// The place of (district, number) among the rows of a warehouse, for the row's own stream.
fn row_index(district: i32, number: i32) -> u32 {
    u32::try_from((district - 1) * CUSTOMERS + number).expect("both are positive")
}
