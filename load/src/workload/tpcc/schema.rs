//! Tables, keys and indexes in PostgreSQL's words (clause 1.3; `orders` instead of ORDER, which SQL reserves).
//!
//! The clause fixes the least domain of each column, not its type: `numeric(m,n)` means at least m digits. `W_YTD` and
//! `D_YTD` get two digits more than it asks for, since 4 million Payments to one warehouse would overflow (12,2).
//! Money is never a float. `C_LAST` and `C_FIRST` are compared byte by byte, so that the customer in the middle of a
//! name's rows is the same on every server, whatever its locale.

/// Fill factors: rows that every transaction updates get room for new versions in their own page (heap-only updates).
const TABLES: [(&str, &str); 10] = [
    (
        "warehouse",
        "w_id integer NOT NULL, w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL, \
         w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, w_state char(2) NOT NULL, \
         w_zip char(9) NOT NULL, w_tax numeric(4,4) NOT NULL, w_ytd numeric(14,2) NOT NULL) WITH (fillfactor = 10",
    ),
    (
        "district",
        "d_w_id integer NOT NULL, d_id integer NOT NULL, d_name varchar(10) NOT NULL, \
         d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL, \
         d_state char(2) NOT NULL, d_zip char(9) NOT NULL, d_tax numeric(4,4) NOT NULL, \
         d_ytd numeric(14,2) NOT NULL, d_next_o_id integer NOT NULL) WITH (fillfactor = 10",
    ),
    (
        "customer",
        "c_w_id integer NOT NULL, c_d_id integer NOT NULL, c_id integer NOT NULL, \
         c_first varchar(16) COLLATE \"C\" NOT NULL, c_middle char(2) NOT NULL, \
         c_last varchar(16) COLLATE \"C\" NOT NULL, c_street_1 varchar(20) NOT NULL, \
         c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL, c_state char(2) NOT NULL, \
         c_zip char(9) NOT NULL, c_phone char(16) NOT NULL, c_since timestamp NOT NULL, c_credit char(2) NOT NULL, \
         c_credit_lim numeric(12,2) NOT NULL, c_discount numeric(4,4) NOT NULL, c_balance numeric(12,2) NOT NULL, \
         c_ytd_payment numeric(12,2) NOT NULL, c_payment_cnt integer NOT NULL, c_delivery_cnt integer NOT NULL, \
         c_data varchar(500) NOT NULL) WITH (fillfactor = 80",
    ),
    (
        "history",
        "h_c_id integer NOT NULL, h_c_d_id integer NOT NULL, h_c_w_id integer NOT NULL, h_d_id integer NOT NULL, \
         h_w_id integer NOT NULL, h_date timestamp NOT NULL, h_amount numeric(6,2) NOT NULL, \
         h_data varchar(24) NOT NULL",
    ),
    (
        "orders",
        "o_w_id integer NOT NULL, o_d_id integer NOT NULL, o_id integer NOT NULL, o_c_id integer NOT NULL, \
         o_entry_d timestamp NOT NULL, o_carrier_id integer, o_ol_cnt integer NOT NULL, o_all_local integer NOT NULL",
    ),
    ("new_order", "no_w_id integer NOT NULL, no_d_id integer NOT NULL, no_o_id integer NOT NULL"),
    (
        "order_line",
        "ol_w_id integer NOT NULL, ol_d_id integer NOT NULL, ol_o_id integer NOT NULL, ol_number integer NOT NULL, \
         ol_i_id integer NOT NULL, ol_supply_w_id integer NOT NULL, ol_delivery_d timestamp, \
         ol_quantity integer NOT NULL, ol_amount numeric(6,2) NOT NULL, ol_dist_info char(24) NOT NULL",
    ),
    (
        "stock",
        "s_w_id integer NOT NULL, s_i_id integer NOT NULL, s_quantity integer NOT NULL, s_dist_01 char(24) NOT NULL, \
         s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL, s_dist_04 char(24) NOT NULL, \
         s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL, s_dist_07 char(24) NOT NULL, \
         s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL, s_dist_10 char(24) NOT NULL, \
         s_ytd integer NOT NULL, s_order_cnt integer NOT NULL, s_remote_cnt integer NOT NULL, \
         s_data varchar(50) NOT NULL) WITH (fillfactor = 80",
    ),
    (
        "item",
        "i_id integer NOT NULL, i_im_id integer NOT NULL, i_name varchar(24) NOT NULL, i_price numeric(5,2) NOT NULL, \
         i_data varchar(50) NOT NULL",
    ),
    ("tpcc_constant", "name text PRIMARY KEY, value bigint NOT NULL"),
];

/// Statements that replace all tables by empty ones.
#[must_use]
pub fn create() -> Vec<String> {
    let drop = |(name, _): &(&str, &str)| format!("DROP TABLE IF EXISTS {name} CASCADE");
    let create = |(name, columns): &(&str, &str)| format!("CREATE TABLE {name} ({columns})");
    TABLES.iter().map(drop).chain(TABLES.iter().map(create)).collect()
}

/// `table (column, ...)` in the order in which the population writes the values.
///
/// # Panics
/// If TPC-C has no such table.
#[must_use]
pub fn copy_columns(table: &str) -> &'static str {
    match table {
        "warehouse" => "warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd)",
        "district" => {
            "district (d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id)"
        }
        "customer" => {
            "customer (c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
             c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, \
             c_delivery_cnt, c_data)"
        }
        "history" => "history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)",
        "orders" => "orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)",
        "new_order" => "new_order (no_w_id, no_d_id, no_o_id)",
        "order_line" => {
            "order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, \
             ol_amount, ol_dist_info)"
        }
        "stock" => {
            "stock (s_w_id, s_i_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, \
             s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data)"
        }
        "item" => "item (i_id, i_im_id, i_name, i_price, i_data)",
        other => panic!("TPC-C has no table {other:?}"),
    }
}

/// Keys and indexes, largest first: none depends on another, so they may be built in parallel.
///
/// HISTORY has no key in the specification. Customers are found by name through one index whose last column breaks ties
/// of equal first names, and their newest order through a unique one.
#[must_use]
pub fn index() -> Vec<String> {
    [
        "ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
        "ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id)",
        "ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id)",
        "ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id)",
        "ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
        "ALTER TABLE item ADD PRIMARY KEY (i_id)",
        "ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id)",
        "ALTER TABLE warehouse ADD PRIMARY KEY (w_id)",
        "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)",
        "CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The ten foreign keys, for those who want them; they need the primary keys.
#[must_use]
pub fn foreign_keys() -> Vec<String> {
    [
        "district ADD FOREIGN KEY (d_w_id) REFERENCES warehouse",
        "customer ADD FOREIGN KEY (c_w_id, c_d_id) REFERENCES district",
        "history ADD FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer",
        "history ADD FOREIGN KEY (h_w_id, h_d_id) REFERENCES district",
        "orders ADD FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer",
        "new_order ADD FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders",
        "order_line ADD FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders",
        "order_line ADD FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock",
        "stock ADD FOREIGN KEY (s_w_id) REFERENCES warehouse",
        "stock ADD FOREIGN KEY (s_i_id) REFERENCES item",
    ]
    .map(|constraint| format!("ALTER TABLE {constraint}"))
    .to_vec()
}

/// Freezes and analyzes every table, so that a run starts without that debt: otherwise hint bits, visibility maps and
/// missing statistics would be paid for by whichever run comes first.
#[must_use]
pub fn vacuum() -> Vec<String> {
    TABLES.iter().map(|(name, _)| format!("VACUUM (FREEZE, ANALYZE) {name}")).collect()
}
