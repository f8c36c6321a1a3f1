//! What MySQL and MariaDB are sent in the profile `chatty`, where the text of all others has an array: its elements one by
//! one. A text that finds rows has room for the most of them, and is sent the last one again in the places left.

use super::super::input::MAX_LINES;
use super::super::population::DISTRICTS;
use super::texts::Query;

/// Numbers of order lines but for the most: an order has five at least, and one that is rolled back inserts one less.
pub(super) const FEWER_LINES: &[(usize, &str)] = &[
    (4, "new_order.insert_lines_04"),
    (5, "new_order.insert_lines_05"),
    (6, "new_order.insert_lines_06"),
    (7, "new_order.insert_lines_07"),
    (8, "new_order.insert_lines_08"),
    (9, "new_order.insert_lines_09"),
    (10, "new_order.insert_lines_10"),
    (11, "new_order.insert_lines_11"),
    (12, "new_order.insert_lines_12"),
    (13, "new_order.insert_lines_13"),
    (14, "new_order.insert_lines_14"),
];

/// The text of a statement whose text is `others` elsewhere. It takes the same values and gives the same columns.
pub(super) fn sql(query: Query, others: &str) -> String {
    match query {
        Query::NewOrderItems => {
            let items = each(MAX_LINES, ", ", |n| format!("$1.{n}"));
            format!("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({items})")
        }
        Query::NewOrderInsertLines => insert_lines_sql(MAX_LINES),
        // What a plain SELECT reads may be older than the lock on the row, under REPEATABLE READ.
        Query::PaymentCreditData => format!("{others} FOR UPDATE"),
        Query::DeliverySums => {
            let these = orders("ol_d_id", "ol_o_id", 2);
            format!("SELECT ol_d_id, sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ({these}) GROUP BY ol_d_id")
        }
        Query::DeliverySetCarrier => {
            let these = orders("o_d_id", "o_id", 3);
            format!("UPDATE orders SET o_carrier_id = $2 WHERE o_w_id = $1 AND ({these})")
        }
        Query::DeliveryReadOrders => {
            let these = orders("o_d_id", "o_id", 2);
            format!("SELECT o_d_id, o_c_id, o_ol_cnt FROM orders WHERE o_w_id = $1 AND ({these})")
        }
        Query::DeliveryDelete => {
            format!("DELETE FROM new_order WHERE no_w_id = $1 AND ({})", orders("no_d_id", "no_o_id", 2))
        }
        Query::DeliveryUpdateLines => {
            let these = orders("ol_d_id", "ol_o_id", 3);
            format!("UPDATE order_line SET ol_delivery_d = $2 WHERE ol_w_id = $1 AND ({these})")
        }
        // It knows the type of a parameter without help.
        _ => others.replace("::int4", ""),
    }
}

/// Stocks of an order with the information of `district`. Rows are locked in the order of the key.
pub(super) fn stock_sql(district: usize) -> String {
    let these = each(MAX_LINES, " OR ", |n| format!("(s_w_id = $1.{n} AND s_i_id = $2.{n})"));
    format!(
        "SELECT s_w_id, s_i_id, s_quantity, s_data, s_dist_{district:02} FROM stock WHERE {these} \
         ORDER BY s_w_id, s_i_id FOR UPDATE"
    )
}

/// Inserts so many order lines.
pub(super) fn insert_lines_sql(count: usize) -> String {
    let rows = each(count, ", ", |n| format!("($1, $2, $3, $4.{n}, $5.{n}, $6.{n}, $7.{n}, $8.{n}, $9.{n})"));
    format!(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
         ol_amount, ol_dist_info) VALUES {rows}"
    )
}

/// One order of each district: parameter `first` holds the districts, the next one the orders.
fn orders(district: &str, order: &str, first: usize) -> String {
    let next = first + 1;
    each(DISTRICTS as usize, " OR ", |n| format!("({district} = ${first}.{n} AND {order} = ${next}.{n})"))
}

pub(super) fn each(count: usize, between: &str, text: impl Fn(usize) -> String) -> String {
    (1..=count).map(text).collect::<Vec<_>>().join(between)
}
