//! The conditions for MySQL and MariaDB. They have no FULL JOIN, and read the word as an alias, so that a condition
//! would hold whatever is there: here the rows of several tables stand below each other, grouped by their key.

use super::super::population::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS};

/// What one table says of each key: its rows, the columns of the key, and names and expressions of what it tells.
struct Source<'a> {
    rows: &'a str,
    key: &'a [&'a str],
    tells: &'a [(&'a str, &'a str)],
}

/// Lines that were delivered, with their orders.
const DELIVERED: Source<'_> = Source {
    rows: "orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
           WHERE ol_delivery_d IS NOT NULL",
    key: &["o_w_id", "o_d_id", "o_c_id"],
    tells: &[("delivered", "sum(ol_amount)")],
};

/// Queries of the conditions, in their order.
pub(super) fn queries(warehouses: u32) -> [String; 16] {
    let w = &["warehouse"][..];
    let wd = &["warehouse", "district"][..];
    let wdo = &["warehouse", "district", "order_number"][..];
    let wdc = &["warehouse", "district", "customer"][..];
    let source = |rows, key, tells| Source { rows, key, tells };
    let of_warehouse = |tells| source("warehouse", &["w_id"], tells);
    let of_district = |tells| source("district", &["d_w_id", "d_id"], tells);
    let of_customer = |tells| source("customer", &["c_w_id", "c_d_id", "c_id"], tells);
    let of_order = |tells| source("orders", &["o_w_id", "o_d_id", "o_id"], tells);
    let orders = |tells| source("orders", &["o_w_id", "o_d_id"], tells);
    let queue = |tells| source("new_order", &["no_w_id", "no_d_id"], tells);
    let paid_by = |tells| source("history", &["h_c_w_id", "h_c_d_id", "h_c_id"], tells);
    let ordered = format!("order_line WHERE ol_o_id > {CUSTOMERS}");
    let delivered = format!("orders WHERE o_id >= {FIRST_NEW_ORDER} AND o_carrier_id IS NOT NULL");
    let warehouses_must_be = || number_of("warehouse", u64::from(warehouses), &[("w_id", u64::from(warehouses))]);
    let districts_must_be = || {
        let all = u64::from(warehouses) * u64::from(DISTRICTS.unsigned_abs());
        number_of("district", all, &[("d_w_id", warehouses.into()), ("d_id", DISTRICTS.unsigned_abs().into())])
    };
    let customers_must_be = || {
        let each = u64::from(DISTRICTS.unsigned_abs()) * u64::from(CUSTOMERS.unsigned_abs());
        number_of("customer", u64::from(warehouses) * each, &[])
    };
    let items_and_stocks_must_be = {
        let items = u64::from(ITEMS.unsigned_abs());
        let stocks = number_of("stock", u64::from(warehouses) * items, &[("s_w_id", warehouses.into())]);
        format!("{} UNION ALL {stocks}", number_of("item", items, &[]))
    };
    [
        violations(
            w,
            &[of_warehouse(&[("w_ytd", "max(w_ytd)")]), source("district", &["d_w_id"], &[("total", "sum(d_ytd)")])],
            "NOT w_ytd <=> total",
            Some(warehouses_must_be()),
        ),
        violations(
            wd,
            &[
                of_district(&[("d_next_o_id", "max(d_next_o_id)")]),
                orders(&[("max_o_id", "max(o_id)")]),
                queue(&[("max_no_o_id", "max(no_o_id)")]),
            ],
            "d_next_o_id IS NULL OR NOT d_next_o_id - 1 <=> max_o_id OR max_no_o_id <> d_next_o_id - 1",
            Some(districts_must_be()),
        ),
        violations(
            wd,
            &[queue(&[("oldest", "min(no_o_id)"), ("newest", "max(no_o_id)"), ("queued", "count(*)")])],
            "newest - oldest + 1 <> queued",
            None,
        ),
        violations(
            wd,
            &[
                of_district(&[("there", "count(*)")]),
                orders(&[("promised", "sum(o_ol_cnt)")]),
                source("order_line", &["ol_w_id", "ol_d_id"], &[("lines", "count(*)")]),
            ],
            "promised IS NULL OR NOT promised <=> `lines`",
            Some(districts_must_be()),
        ),
        violations(
            wdo,
            &[
                of_order(&[("undelivered", "max(o_carrier_id IS NULL)")]),
                source("new_order", &["no_w_id", "no_d_id", "no_o_id"], &[("queued", "count(*)")]),
            ],
            "coalesce(undelivered, 0) <> coalesce(queued, 0)",
            None,
        ),
        violations(
            wdo,
            &[
                of_order(&[("o_ol_cnt", "max(o_ol_cnt)")]),
                source("order_line", &["ol_w_id", "ol_d_id", "ol_o_id"], &[("lines", "count(*)")]),
            ],
            "NOT o_ol_cnt <=> `lines`",
            None,
        ),
        "SELECT count(*), min(concat('warehouse ', ol_w_id, ' district ', ol_d_id, ' order ', ol_o_id, ' line ', \
         ol_number)) FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)"
            .to_owned(),
        violations(
            w,
            &[of_warehouse(&[("w_ytd", "max(w_ytd)")]), source("history", &["h_w_id"], &[("total", "sum(h_amount)")])],
            "NOT w_ytd <=> total",
            Some(warehouses_must_be()),
        ),
        violations(
            wd,
            &[
                of_district(&[("d_ytd", "max(d_ytd)")]),
                source("history", &["h_w_id", "h_d_id"], &[("total", "sum(h_amount)")]),
            ],
            "NOT d_ytd <=> total",
            Some(districts_must_be()),
        ),
        violations(
            wdc,
            &[of_customer(&[("c_balance", "max(c_balance)")]), DELIVERED, paid_by(&[("paid", "sum(h_amount)")])],
            "NOT c_balance <=> coalesce(delivered, 0) - coalesce(paid, 0)",
            Some(customers_must_be()),
        ),
        violations(
            wd,
            &[
                of_district(&[("there", "count(*)")]),
                orders(&[("placed", "count(*)")]),
                queue(&[("queued", "count(*)")]),
            ],
            "coalesce(placed, 0) - coalesce(queued, 0) <> 2100",
            Some(districts_must_be()),
        ),
        violations(
            wdc,
            &[of_customer(&[("balance_and_payments", "max(c_balance + c_ytd_payment)")]), DELIVERED],
            "NOT balance_and_payments <=> coalesce(delivered, 0)",
            Some(customers_must_be()),
        ),
        violations(
            w,
            &[source("stock", &["s_w_id"], &[("stocks", "count(*)")])],
            &format!("stocks <> {ITEMS}"),
            Some(items_and_stocks_must_be),
        ),
        violations(
            &["warehouse", "item"],
            &[
                source(
                    "stock",
                    &["s_w_id", "s_i_id"],
                    &[
                        ("s_ytd", "max(s_ytd)"),
                        ("s_order_cnt", "max(s_order_cnt)"),
                        ("s_remote_cnt", "max(s_remote_cnt)"),
                    ],
                ),
                source(
                    &ordered,
                    &["ol_supply_w_id", "ol_i_id"],
                    &[
                        ("sold", "sum(ol_quantity)"),
                        ("lines", "count(*)"),
                        ("remote_lines", "sum(ol_supply_w_id <> ol_w_id)"),
                    ],
                ),
            ],
            "s_ytd IS NULL OR s_ytd <> coalesce(sold, 0) OR s_order_cnt <> coalesce(`lines`, 0) \
             OR s_remote_cnt <> coalesce(remote_lines, 0)",
            None,
        ),
        violations(
            wdc,
            &[of_customer(&[("c_payment_cnt", "max(c_payment_cnt)")]), paid_by(&[("counted", "count(*)")])],
            "NOT c_payment_cnt <=> coalesce(counted, 0)",
            Some(customers_must_be()),
        ),
        violations(
            wdc,
            &[
                of_customer(&[("c_delivery_cnt", "max(c_delivery_cnt)")]),
                source(&delivered, &["o_w_id", "o_d_id", "o_c_id"], &[("counted", "count(*)")]),
            ],
            "NOT c_delivery_cnt <=> coalesce(counted, 0)",
            Some(customers_must_be()),
        ),
    ]
}

/// `count(*)` and an example of the keys of which `violated` is true, and of `must_be`, which tells a wrong number.
fn violations(key: &[&str], sources: &[Source<'_>], violated: &str, must_be: Option<String>) -> String {
    let names: Vec<&str> = sources.iter().flat_map(|source| source.tells.iter().map(|(name, _)| *name)).collect();
    let select = |source: &Source<'_>| {
        let keys = source.key.iter().zip(key).map(|(column, name)| format!("{column} AS `{name}`"));
        let tells = names.iter().map(|name| {
            let told = source.tells.iter().find(|(told, _)| told == name);
            format!("{} AS `{name}`", told.map_or("NULL", |(_, expression)| *expression))
        });
        let columns: Vec<String> = keys.chain(tells).collect();
        format!("SELECT {} FROM {} GROUP BY {}", columns.join(", "), source.rows, source.key.join(", "))
    };
    let keys = key.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let merged = names.iter().map(|name| format!(", max(`{name}`) AS `{name}`")).collect::<String>();
    let below = sources.iter().map(select).collect::<Vec<_>>().join(" UNION ALL ");
    let told = key.iter().chain(&names).map(|name| format!("'{name} ', coalesce(`{name}`, 'none')"));
    let example = format!("concat({})", told.collect::<Vec<_>>().join(", ' ', "));
    let must_be = must_be.map(|sql| format!(" UNION ALL {sql}")).unwrap_or_default();
    format!(
        "SELECT count(*), min(example) FROM (SELECT {example} AS example FROM \
         (SELECT {keys}{merged} FROM ({below}) AS below GROUP BY {keys}) AS merged WHERE {violated}{must_be}) AS v"
    )
}

/// A row where a table has another number of rows than this, or numbers in a column of its key outside of 1 to so many.
fn number_of(table: &str, rows: u64, numbered: &[(&str, u64)]) -> String {
    let outside = |(column, most): &(&str, u64)| format!(" OR min({column}) <> 1 OR max({column}) <> {most}");
    let outside: String = numbered.iter().map(outside).collect();
    format!(
        "SELECT concat(count(*), ' rows of {table} instead of {rows}, or not those') FROM {table} \
         HAVING count(*) <> {rows}{outside}"
    )
}
