//! The twelve consistency conditions (clause 3.3.2) as queries over grouped scans, and more that the clause does not
//! ask for: rows that must be there, and counters of STOCK and CUSTOMER, where updates can be lost unseen by the
//! twelve.
//!
//! Each compares NULL-safely and joins fully: a missing row, or one too many, is a violation on either side. What must
//! exist is counted from the number of warehouses and not from the tables, so that empty tables violate too.

mod mysql;

use super::population::{CUSTOMERS, FIRST_NEW_ORDER, ITEMS};
use crate::target::Dialect;
use crate::workload::Condition;

/// Conditions 1 to 12 of the specification, and ours from 13 on.
const TEXTS: [&str; 16] = [
    "w_ytd = sum(d_ytd) of every warehouse",
    "d_next_o_id - 1 = max(o_id) = max(no_o_id) of every district",
    "max(no_o_id) - min(no_o_id) + 1 = count(new_order) of every district",
    "sum(o_ol_cnt) = count(order_line) of every district",
    "o_carrier_id is NULL if and only if the order is in new_order",
    "o_ol_cnt = count(order_line) of every order",
    "ol_delivery_d is NULL if and only if its order's o_carrier_id is",
    "w_ytd = sum(h_amount) of every warehouse",
    "d_ytd = sum(h_amount) of every district",
    "c_balance = sum(ol_amount delivered) - sum(h_amount) of every customer",
    "count(orders) - count(new_order) = 2100 of every district",
    "c_balance + c_ytd_payment = sum(ol_amount delivered) of every customer",
    "item has 100,000 rows, stock as many of every warehouse (not in the specification)",
    "s_ytd, s_order_cnt and s_remote_cnt = sums over the lines ordered since the load (not in the specification)",
    "c_payment_cnt = count(history) of every customer (not in the specification)",
    "c_delivery_cnt = orders delivered since the load of every customer (not in the specification)",
];

/// The conditions of a data set of `warehouses`.
#[must_use]
pub fn conditions(warehouses: u32, dialect: Dialect) -> Vec<Condition> {
    let queries = if dialect == Dialect::Mysql { mysql::queries(warehouses) } else { queries(warehouses) };
    let condition = |(number, (text, sql)): (u8, _)| Condition { number, text, sql, only_after_load: number == 11 };
    (1..).zip(TEXTS.into_iter().zip(queries)).map(condition).collect()
}

/// Of PostgreSQL and those that speak its SQL.
fn queries(warehouses: u32) -> [String; 16] {
    [
        warehouse_and_districts(warehouses),
        next_order(warehouses),
        no_gap(),
        lines_of_districts(warehouses),
        undelivered_orders(),
        lines_of_orders(),
        undelivered_lines(),
        warehouse_and_history(warehouses),
        district_and_history(warehouses),
        balances(warehouses),
        orders_after_load(warehouses),
        deliveries(warehouses),
        row_counts(warehouses),
        stocks(),
        payment_counts(warehouses),
        delivery_counts(warehouses),
    ]
}

/// `count(*)` and an example of the rows of `from` that fulfil `violated`.
fn violations(example: &str, from: &str, violated: &str) -> String {
    format!("SELECT count(*), min({example}) FROM {from} WHERE {violated}")
}

/// An expression that tells an example: each `%s` of the template is a value, and nothing where that is NULL. All
/// versions of CockroachDB have `concat`; its `format` is newer than 22.1.
fn told(template: &str, values: &[&str]) -> String {
    let mut texts = template.split("%s");
    let first = texts.next().unwrap_or_default();
    let rest = texts.zip(values).map(|(text, value)| format!(", ({value})::text, '{text}'"));
    format!("concat('{first}'{})", rest.collect::<String>())
}

/// A subquery of all districts that must exist.
fn districts(warehouses: u32) -> String {
    format!(
        "(SELECT w AS w_id, d AS d_id FROM generate_series(1, {warehouses}) AS w, generate_series(1, 10) AS d) AS k"
    )
}

/// Condition 1.
fn warehouse_and_districts(warehouses: u32) -> String {
    violations(
        &told("warehouse %s: w_ytd %s, sum(d_ytd) %s", &["coalesce(k.w, w_id, d_w_id)", "w_ytd", "total"]),
        &format!(
            "generate_series(1, {warehouses}) AS k (w) FULL JOIN warehouse ON w_id = k.w \
             FULL JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM district GROUP BY d_w_id) AS d \
             ON d_w_id = coalesce(k.w, w_id)"
        ),
        "w_id IS NULL OR w_ytd IS DISTINCT FROM total",
    )
}

/// Condition 2; it does not apply to new_order in a district that has none left.
fn next_order(warehouses: u32) -> String {
    violations(
        &told(
            "warehouse %s district %s: d_next_o_id %s, max(o_id) %s, max(no_o_id) %s",
            &["w_id", "d_id", "d.next", "o.newest", "n.newest"],
        ),
        &format!(
            "{} FULL JOIN (SELECT d_w_id AS w_id, d_id, d_next_o_id AS next FROM district) AS d USING (w_id, d_id) \
             FULL JOIN (SELECT o_w_id AS w_id, o_d_id AS d_id, max(o_id) AS newest FROM orders GROUP BY 1, 2) AS o \
             USING (w_id, d_id) \
             FULL JOIN (SELECT no_w_id AS w_id, no_d_id AS d_id, max(no_o_id) AS newest FROM new_order GROUP BY 1, 2) \
             AS n USING (w_id, d_id)",
            districts(warehouses)
        ),
        "d.next IS NULL OR d.next - 1 IS DISTINCT FROM o.newest OR n.newest <> d.next - 1",
    )
}

/// Condition 3; a district without a new order has nothing to violate it.
fn no_gap() -> String {
    violations(
        &told("warehouse %s district %s: no_o_id %s..%s in %s rows", &["no_w_id", "no_d_id", "oldest", "newest", "n"]),
        "(SELECT no_w_id, no_d_id, min(no_o_id) AS oldest, max(no_o_id) AS newest, count(*) AS n \
         FROM new_order GROUP BY no_w_id, no_d_id) AS queue",
        "newest - oldest + 1 IS DISTINCT FROM n",
    )
}

/// Condition 4.
fn lines_of_districts(warehouses: u32) -> String {
    violations(
        &told("warehouse %s district %s: sum(o_ol_cnt) %s, %s lines", &["w_id", "d_id", "promised", "n"]),
        &format!(
            "{} FULL JOIN (SELECT o_w_id AS w_id, o_d_id AS d_id, sum(o_ol_cnt) AS promised FROM orders GROUP BY 1, 2) \
             AS o USING (w_id, d_id) \
             FULL JOIN (SELECT ol_w_id AS w_id, ol_d_id AS d_id, count(*) AS n FROM order_line GROUP BY 1, 2) AS l \
             USING (w_id, d_id)",
            districts(warehouses)
        ),
        "promised IS NULL OR promised IS DISTINCT FROM n",
    )
}

/// Condition 5.
fn undelivered_orders() -> String {
    violations(
        &told(
            "warehouse %s district %s order %s: carrier %s, in new_order %s",
            &[
                "coalesce(o_w_id, no_w_id)",
                "coalesce(o_d_id, no_d_id)",
                "coalesce(o_id, no_o_id)",
                "o_carrier_id",
                "no_o_id IS NOT NULL",
            ],
        ),
        "orders FULL JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id",
        "(o_id IS NOT NULL AND o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    )
}

/// Condition 6.
fn lines_of_orders() -> String {
    violations(
        &told(
            "warehouse %s district %s order %s: o_ol_cnt %s, %s lines",
            &["coalesce(o_w_id, ol_w_id)", "coalesce(o_d_id, ol_d_id)", "coalesce(o_id, ol_o_id)", "o_ol_cnt", "n"],
        ),
        "orders FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS n FROM order_line GROUP BY 1, 2, 3) AS l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id",
        "o_ol_cnt IS DISTINCT FROM n",
    )
}

/// Condition 7.
fn undelivered_lines() -> String {
    violations(
        &told(
            "warehouse %s district %s order %s line %s: ol_delivery_d %s, o_carrier_id %s",
            &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number", "ol_delivery_d", "o_carrier_id"],
        ),
        "order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id",
        "o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    )
}

/// Condition 8.
fn warehouse_and_history(warehouses: u32) -> String {
    violations(
        &told("warehouse %s: w_ytd %s, sum(h_amount) %s", &["coalesce(k.w, w_id, h_w_id)", "w_ytd", "total"]),
        &format!(
            "generate_series(1, {warehouses}) AS k (w) FULL JOIN warehouse ON w_id = k.w \
             FULL JOIN (SELECT h_w_id, sum(h_amount) AS total FROM history GROUP BY h_w_id) AS h \
             ON h_w_id = coalesce(k.w, w_id)"
        ),
        "w_id IS NULL OR w_ytd IS DISTINCT FROM total",
    )
}

/// Condition 9.
fn district_and_history(warehouses: u32) -> String {
    violations(
        &told("warehouse %s district %s: d_ytd %s, sum(h_amount) %s", &["w_id", "d_id", "d.ytd", "h.total"]),
        &format!(
            "{} FULL JOIN (SELECT d_w_id AS w_id, d_id, d_ytd AS ytd FROM district) AS d USING (w_id, d_id) \
             FULL JOIN (SELECT h_w_id AS w_id, h_d_id AS d_id, sum(h_amount) AS total FROM history GROUP BY 1, 2) AS h \
             USING (w_id, d_id)",
            districts(warehouses)
        ),
        "d.ytd IS NULL OR d.ytd IS DISTINCT FROM h.total",
    )
}

/// Customers that are missing or too many, told by one row, so that no condition on customers holds without them.
fn customer_count(warehouses: u32) -> String {
    let expected = u64::from(warehouses) * 10 * u64::from(CUSTOMERS.unsigned_abs());
    let example = told(&format!("%s customers instead of {expected}"), &["count(*)"]);
    format!("SELECT 1, {example} FROM customer HAVING count(*) <> {expected}")
}

/// Sums of the delivered lines of each customer.
const DELIVERED: &str = "SELECT o_w_id, o_d_id, o_c_id, sum(amount) AS delivered FROM orders \
     JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) AS amount FROM order_line WHERE ol_delivery_d IS NOT NULL \
     GROUP BY 1, 2, 3) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY 1, 2, 3";

/// Customers joined fully with `payments`, and violations of `equation` among them.
fn customers(warehouses: u32, joins: &str, columns: [&str; 3], violated: &str) -> String {
    let [first, second, third] = columns;
    let template = format!("warehouse %s district %s customer %s: {first} %s, {second} %s, {third} %s");
    let key = ["coalesce(c_w_id, o_w_id)", "coalesce(c_d_id, o_d_id)", "coalesce(c_id, o_c_id)"];
    let example = told(&template, &[key, columns].concat());
    format!(
        "SELECT count(*), min(example) FROM (\
         SELECT 1, {example} AS example \
         FROM customer FULL JOIN ({DELIVERED}) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id {joins} \
         WHERE {violated} UNION ALL {}) AS v",
        customer_count(warehouses)
    )
}

/// Condition 10.
fn balances(warehouses: u32) -> String {
    customers(
        warehouses,
        "FULL JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY 1, 2, 3) AS h \
         ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id",
        ["c_balance", "delivered", "paid"],
        "c_balance IS DISTINCT FROM coalesce(delivered, 0) - coalesce(paid, 0)",
    )
}

/// Condition 11.
fn orders_after_load(warehouses: u32) -> String {
    violations(
        &told("warehouse %s district %s: %s orders, %s new orders", &["w_id", "d_id", "o.n", "q.n"]),
        &format!(
            "{} FULL JOIN (SELECT o_w_id AS w_id, o_d_id AS d_id, count(*) AS n FROM orders GROUP BY 1, 2) AS o \
             USING (w_id, d_id) \
             FULL JOIN (SELECT no_w_id AS w_id, no_d_id AS d_id, count(*) AS n FROM new_order GROUP BY 1, 2) AS q \
             USING (w_id, d_id)",
            districts(warehouses)
        ),
        "coalesce(o.n, 0) - coalesce(q.n, 0) <> 2100",
    )
}

/// Condition 12.
fn deliveries(warehouses: u32) -> String {
    customers(
        warehouses,
        "",
        ["c_balance", "c_ytd_payment", "delivered"],
        "c_balance + c_ytd_payment IS DISTINCT FROM coalesce(delivered, 0)",
    )
}

/// Condition 13.
fn row_counts(warehouses: u32) -> String {
    violations(
        &told(
            &format!("%s of warehouse %s: %s rows instead of {ITEMS}"),
            &["name", "coalesce(w, found)", "coalesce(n, 0)"],
        ),
        &format!(
            "(SELECT 'stock' AS name, w, found, n FROM generate_series(1, {warehouses}) AS w \
             FULL JOIN (SELECT s_w_id AS found, count(*) AS n FROM stock GROUP BY 1) AS s ON found = w \
             UNION ALL SELECT 'item', 0, 0, count(*) FROM item) AS counts"
        ),
        &format!("w IS NULL OR n IS DISTINCT FROM {ITEMS}"),
    )
}

/// Condition 14: STOCK starts with nothing sold, and orders with number 3,001.
fn stocks() -> String {
    violations(
        &told(
            "warehouse %s item %s: s_ytd %s, sold %s; s_order_cnt %s, lines %s; s_remote_cnt %s, remote lines %s",
            &[
                "coalesce(s_w_id, ol_supply_w_id)",
                "coalesce(s_i_id, ol_i_id)",
                "s_ytd",
                "sold",
                "s_order_cnt",
                "n",
                "s_remote_cnt",
                "far",
            ],
        ),
        &format!(
            "stock FULL JOIN (SELECT ol_supply_w_id, ol_i_id, sum(ol_quantity) AS sold, count(*) AS n, \
             count(*) FILTER (WHERE ol_supply_w_id <> ol_w_id) AS far FROM order_line WHERE ol_o_id > {CUSTOMERS} \
             GROUP BY 1, 2) AS l ON ol_supply_w_id = s_w_id AND ol_i_id = s_i_id"
        ),
        "s_i_id IS NULL OR s_ytd IS DISTINCT FROM coalesce(sold, 0) OR s_order_cnt IS DISTINCT FROM coalesce(n, 0) \
         OR s_remote_cnt IS DISTINCT FROM coalesce(far, 0)",
    )
}

/// Customers joined fully with a count of their rows, and those whose counter differs.
fn counted(warehouses: u32, counter: &str, rows: &str) -> String {
    let example = told(
        &format!("warehouse %s district %s customer %s: {counter} %s, counted %s"),
        &["coalesce(c_w_id, w)", "coalesce(c_d_id, d)", "coalesce(c_id, c)", counter, "n"],
    );
    format!(
        "SELECT count(*), min(example) FROM (\
         SELECT 1, {example} AS example \
         FROM customer FULL JOIN ({rows} GROUP BY 1, 2, 3) AS r ON w = c_w_id AND d = c_d_id AND c = c_id \
         WHERE {counter} IS DISTINCT FROM coalesce(n, 0) UNION ALL {}) AS v",
        customer_count(warehouses)
    )
}

/// Condition 15.
fn payment_counts(warehouses: u32) -> String {
    let rows = "SELECT h_c_w_id AS w, h_c_d_id AS d, h_c_id AS c, count(*) AS n FROM history";
    counted(warehouses, "c_payment_cnt", rows)
}

/// Condition 16: the orders that the load delivered itself are not counted in `C_DELIVERY_CNT`.
fn delivery_counts(warehouses: u32) -> String {
    let rows = format!(
        "SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, count(*) AS n FROM orders \
         WHERE o_id >= {FIRST_NEW_ORDER} AND o_carrier_id IS NOT NULL"
    );
    counted(warehouses, "c_delivery_cnt", &rows)
}
