//! Tables, keys and indexes (clause 1.3; `orders` instead of ORDER, which SQL reserves).
//!
//! The clause fixes the least domain of each column, not its type: `numeric(m,n)` means at least m digits. `W_YTD` and
//! `D_YTD` get two digits more than it asks for, since 4 million Payments to one warehouse would overflow (12,2).
//! Money is never a float. `C_LAST` and `C_FIRST` are compared byte by byte, so that the customer in the middle of a
//! name's rows is the same on every server, whatever its locale. Integers say their width: `integer` has four bytes in
//! PostgreSQL and eight in CockroachDB.

use crate::target::Dialect;
use crate::workload::{Key, Table};

/// WAREHOUSE.
pub const WAREHOUSE: Table = Table {
    name: "warehouse",
    columns: &[
        ("w_id", "int4 NOT NULL"),
        ("w_name", "varchar(10) NOT NULL"),
        ("w_street_1", "varchar(20) NOT NULL"),
        ("w_street_2", "varchar(20) NOT NULL"),
        ("w_city", "varchar(20) NOT NULL"),
        ("w_state", "char(2) NOT NULL"),
        ("w_zip", "char(9) NOT NULL"),
        ("w_tax", "numeric(4,4) NOT NULL"),
        ("w_ytd", "numeric(14,2) NOT NULL"),
    ],
    key: Key::Primary("w_id"),
    fill_factor: Some(10),
};

/// DISTRICT.
pub const DISTRICT: Table = Table {
    name: "district",
    columns: &[
        ("d_w_id", "int4 NOT NULL"),
        ("d_id", "int4 NOT NULL"),
        ("d_name", "varchar(10) NOT NULL"),
        ("d_street_1", "varchar(20) NOT NULL"),
        ("d_street_2", "varchar(20) NOT NULL"),
        ("d_city", "varchar(20) NOT NULL"),
        ("d_state", "char(2) NOT NULL"),
        ("d_zip", "char(9) NOT NULL"),
        ("d_tax", "numeric(4,4) NOT NULL"),
        ("d_ytd", "numeric(14,2) NOT NULL"),
        ("d_next_o_id", "int4 NOT NULL"),
    ],
    key: Key::Primary("d_w_id, d_id"),
    fill_factor: Some(10),
};

/// CUSTOMER.
pub const CUSTOMER: Table = Table {
    name: "customer",
    columns: &[
        ("c_w_id", "int4 NOT NULL"),
        ("c_d_id", "int4 NOT NULL"),
        ("c_id", "int4 NOT NULL"),
        ("c_first", "varchar(16) COLLATE \"C\" NOT NULL"),
        ("c_middle", "char(2) NOT NULL"),
        ("c_last", "varchar(16) COLLATE \"C\" NOT NULL"),
        ("c_street_1", "varchar(20) NOT NULL"),
        ("c_street_2", "varchar(20) NOT NULL"),
        ("c_city", "varchar(20) NOT NULL"),
        ("c_state", "char(2) NOT NULL"),
        ("c_zip", "char(9) NOT NULL"),
        ("c_phone", "char(16) NOT NULL"),
        ("c_since", "timestamp NOT NULL"),
        ("c_credit", "char(2) NOT NULL"),
        ("c_credit_lim", "numeric(12,2) NOT NULL"),
        ("c_discount", "numeric(4,4) NOT NULL"),
        ("c_balance", "numeric(12,2) NOT NULL"),
        ("c_ytd_payment", "numeric(12,2) NOT NULL"),
        ("c_payment_cnt", "int4 NOT NULL"),
        ("c_delivery_cnt", "int4 NOT NULL"),
        ("c_data", "varchar(500) NOT NULL"),
    ],
    key: Key::Primary("c_w_id, c_d_id, c_id"),
    fill_factor: Some(80),
};

/// HISTORY.
pub const HISTORY: Table = Table {
    name: "history",
    columns: &[
        ("h_c_id", "int4 NOT NULL"),
        ("h_c_d_id", "int4 NOT NULL"),
        ("h_c_w_id", "int4 NOT NULL"),
        ("h_d_id", "int4 NOT NULL"),
        ("h_w_id", "int4 NOT NULL"),
        ("h_date", "timestamp NOT NULL"),
        ("h_amount", "numeric(6,2) NOT NULL"),
        ("h_data", "varchar(24) NOT NULL"),
    ],
    key: Key::None { near: "h_w_id" },
    fill_factor: None,
};

/// ORDERS.
pub const ORDERS: Table = Table {
    name: "orders",
    columns: &[
        ("o_w_id", "int4 NOT NULL"),
        ("o_d_id", "int4 NOT NULL"),
        ("o_id", "int4 NOT NULL"),
        ("o_c_id", "int4 NOT NULL"),
        ("o_entry_d", "timestamp NOT NULL"),
        ("o_carrier_id", "int4"),
        ("o_ol_cnt", "int4 NOT NULL"),
        ("o_all_local", "int4 NOT NULL"),
    ],
    key: Key::Primary("o_w_id, o_d_id, o_id"),
    fill_factor: None,
};

/// NEW_ORDER.
pub const NEW_ORDER: Table = Table {
    name: "new_order",
    columns: &[("no_w_id", "int4 NOT NULL"), ("no_d_id", "int4 NOT NULL"), ("no_o_id", "int4 NOT NULL")],
    key: Key::Primary("no_w_id, no_d_id, no_o_id"),
    fill_factor: None,
};

/// ORDER_LINE.
pub const ORDER_LINE: Table = Table {
    name: "order_line",
    columns: &[
        ("ol_w_id", "int4 NOT NULL"),
        ("ol_d_id", "int4 NOT NULL"),
        ("ol_o_id", "int4 NOT NULL"),
        ("ol_number", "int4 NOT NULL"),
        ("ol_i_id", "int4 NOT NULL"),
        ("ol_supply_w_id", "int4 NOT NULL"),
        ("ol_delivery_d", "timestamp"),
        ("ol_quantity", "int4 NOT NULL"),
        ("ol_amount", "numeric(6,2) NOT NULL"),
        ("ol_dist_info", "char(24) NOT NULL"),
    ],
    key: Key::Primary("ol_w_id, ol_d_id, ol_o_id, ol_number"),
    fill_factor: None,
};

/// STOCK.
pub const STOCK: Table = Table {
    name: "stock",
    columns: &[
        ("s_w_id", "int4 NOT NULL"),
        ("s_i_id", "int4 NOT NULL"),
        ("s_quantity", "int4 NOT NULL"),
        ("s_dist_01", "char(24) NOT NULL"),
        ("s_dist_02", "char(24) NOT NULL"),
        ("s_dist_03", "char(24) NOT NULL"),
        ("s_dist_04", "char(24) NOT NULL"),
        ("s_dist_05", "char(24) NOT NULL"),
        ("s_dist_06", "char(24) NOT NULL"),
        ("s_dist_07", "char(24) NOT NULL"),
        ("s_dist_08", "char(24) NOT NULL"),
        ("s_dist_09", "char(24) NOT NULL"),
        ("s_dist_10", "char(24) NOT NULL"),
        ("s_ytd", "int4 NOT NULL"),
        ("s_order_cnt", "int4 NOT NULL"),
        ("s_remote_cnt", "int4 NOT NULL"),
        ("s_data", "varchar(50) NOT NULL"),
    ],
    key: Key::Primary("s_w_id, s_i_id"),
    fill_factor: Some(80),
};

/// ITEM.
pub const ITEM: Table = Table {
    name: "item",
    columns: &[
        ("i_id", "int4 NOT NULL"),
        ("i_im_id", "int4 NOT NULL"),
        ("i_name", "varchar(24) NOT NULL"),
        ("i_price", "numeric(5,2) NOT NULL"),
        ("i_data", "varchar(50) NOT NULL"),
    ],
    key: Key::Primary("i_id"),
    fill_factor: None,
};

/// The largest first: writers and index builders that take them in this order end together.
pub const TABLES: [&Table; 9] =
    [&STOCK, &ORDER_LINE, &CUSTOMER, &HISTORY, &ORDERS, &NEW_ORDER, &DISTRICT, &WAREHOUSE, &ITEM];

/// Statements that replace all tables by empty ones.
#[must_use]
pub fn create(dialect: Dialect) -> Vec<String> {
    let drops = TABLES.iter().map(|table| table.drop_sql());
    let creates = TABLES.iter().map(|table| table.create_sql(dialect));
    // MySQL's keys have a length.
    let columns = ["name varchar(30) PRIMARY KEY, value", &dialect.column("int8 NOT NULL")].join(" ");
    let constants = [
        "DROP TABLE IF EXISTS tpcc_constant CASCADE".to_owned(),
        format!("CREATE TABLE tpcc_constant ({columns}){}", dialect.table_options()),
    ];
    drops.chain(creates).chain(constants).collect()
}

/// Keys and indexes, largest first: none depends on another, so they may be built in parallel.
///
/// HISTORY has no key in the specification. Customers are found by name through one index whose last column breaks ties
/// of equal first names, and their newest order through a unique one.
#[must_use]
pub fn index(dialect: Dialect) -> Vec<String> {
    let keys = [&ORDER_LINE, &STOCK, &CUSTOMER, &ORDERS, &NEW_ORDER, &ITEM, &DISTRICT, &WAREHOUSE];
    let unless_there = dialect.unless_index_exists();
    let secondary = [
        ("INDEX", "customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)"),
        ("UNIQUE INDEX", "orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)"),
    ];
    let secondary = secondary.map(|(kind, index)| format!("CREATE {kind} {unless_there} {index}"));
    keys.iter().filter_map(|table| table.key_sql(dialect)).chain(secondary).collect()
}

/// The ten foreign keys, for those who want them; they need the primary keys.
#[must_use]
pub fn foreign_keys() -> Vec<String> {
    [
        "district ADD FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)",
        "customer ADD FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id)",
        "history ADD FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)",
        "history ADD FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id)",
        "orders ADD FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)",
        "new_order ADD FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)",
        "order_line ADD FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)",
        "order_line ADD FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id)",
        "stock ADD FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id)",
        "stock ADD FOREIGN KEY (s_i_id) REFERENCES item (i_id)",
    ]
    .map(|constraint| format!("ALTER TABLE {constraint}"))
    .to_vec()
}
