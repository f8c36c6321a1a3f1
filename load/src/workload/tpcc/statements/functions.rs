//! The functions that the profile `proc` calls, in PL/pgSQL. Where the profile `pipelined` does all in one statement,
//! the function is that statement.

use super::texts::Query;
use crate::workload::tpcc::profile::Profile;

/// A number of PostgreSQL's choosing is as good as any other: "tpcc" in ASCII.
const LOCK: i32 = 0x7470_6363;

/// Statements that create the functions, or replace those of another version of this program, as one transaction.
/// Several generators may start at once, and two that replace one function would hinder each other: hence the lock.
#[must_use]
pub fn functions() -> Vec<String> {
    let begin = ["BEGIN".to_owned(), format!("SELECT pg_advisory_xact_lock({LOCK})")];
    let bodies = [new_order(), delivery(), stock_level()].into_iter().chain(payments()).chain(order_statuses());
    begin.into_iter().chain(bodies).chain(["COMMIT".to_owned()]).collect()
}

fn function(head: &str, body: &str) -> String {
    format!("CREATE OR REPLACE FUNCTION {head} LANGUAGE plpgsql AS $${body}$$")
}

/// The text of the profile `pipelined`, whose parameters are the function's.
fn statement(query: Query) -> &'static str {
    query.sql(Profile::Pipelined).expect("the profile sends it")
}

/// Lines come in the order of the stocks' key, in which they are locked. An order that finds another number of items
/// than it is told fails; the caller rolls back the one whose last item is unused. A row for each line.
fn new_order() -> String {
    function(
        "tpcc_new_order(p_w_id integer, p_d_id integer, p_c_id integer, p_entry_d timestamp, p_ol_cnt integer, \
         p_all_local integer, p_items integer, p_numbers integer[], p_supply_w_ids integer[], p_i_ids integer[], \
         p_quantities integer[]) \
         RETURNS TABLE (r_o_id integer, r_d_tax numeric, r_w_tax numeric, r_c_discount numeric, r_c_last varchar, \
         r_c_credit bpchar, r_ol_number integer, r_i_name varchar, r_i_price numeric, r_ol_amount numeric, \
         r_s_quantity integer, r_brand text)",
        "DECLARE v_items integer; \
         BEGIN \
         UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w_id AND d_id = p_d_id \
         RETURNING d_next_o_id - 1, d_tax INTO STRICT r_o_id, r_d_tax; \
         SELECT c_discount, c_last, c_credit, w_tax INTO STRICT r_c_discount, r_c_last, r_c_credit, r_w_tax \
         FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id; \
         INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES (r_o_id, p_d_id, p_w_id, p_c_id, p_entry_d, p_ol_cnt, p_all_local); \
         INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (r_o_id, p_d_id, p_w_id); \
         RETURN QUERY WITH taken AS (UPDATE stock SET \
         s_quantity = s_quantity - ordered + CASE WHEN s_quantity >= ordered + 10 THEN 0 ELSE 91 END, \
         s_ytd = s_ytd + ordered, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + (supply_w_id <> p_w_id)::integer \
         FROM unnest(p_numbers, p_supply_w_ids, p_i_ids, p_quantities) AS line (number, supply_w_id, item, ordered) \
         JOIN item ON i_id = item WHERE s_w_id = supply_w_id AND s_i_id = item \
         RETURNING number, supply_w_id, item, ordered, i_name, i_price, i_price * ordered AS amount, s_quantity, \
         CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand, \
         CASE p_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 \
         WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 \
         WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist_info), \
         entered AS (INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
         ol_quantity, ol_amount, ol_dist_info) \
         SELECT r_o_id, p_d_id, p_w_id, number, item, supply_w_id, ordered, amount, dist_info FROM taken) \
         SELECT r_o_id, r_d_tax, r_w_tax, r_c_discount, r_c_last, r_c_credit, number, i_name, i_price, amount, \
         s_quantity, brand FROM taken; \
         GET DIAGNOSTICS v_items = ROW_COUNT; \
         IF v_items <> p_items THEN RAISE EXCEPTION '% items and stocks found of %', v_items, p_items; END IF; \
         END",
    )
}

/// One for a customer's number, one for a last name.
fn payments() -> [String; 2] {
    [("integer", Query::PaymentPayByNumber), ("text", Query::PaymentPayByName)].map(|(customer, pay)| {
        let address = |table: char| {
            let columns = ["name", "street_1", "street_2", "city"].map(|column| format!("r_{table}_{column} varchar"));
            format!("{}, r_{table}_state bpchar, r_{table}_zip bpchar", columns.join(", "))
        };
        let head = format!(
            "tpcc_payment(integer, integer, {customer}, numeric, text, integer, integer, timestamp) RETURNS TABLE \
             (r_c_first varchar, r_c_middle bpchar, r_c_last varchar, r_c_street_1 varchar, r_c_street_2 varchar, \
             r_c_city varchar, r_c_state bpchar, r_c_zip bpchar, r_c_phone bpchar, r_c_since timestamp, \
             r_c_credit bpchar, r_c_credit_lim numeric, r_c_discount numeric, r_c_balance numeric, r_c_data text, \
             r_c_id integer, r_names bigint, {}, {})",
            address('w'),
            address('d')
        );
        let body = format!(
            "BEGIN UPDATE warehouse SET w_ytd = w_ytd + $4 WHERE w_id = $7; \
             UPDATE district SET d_ytd = d_ytd + $4 WHERE d_w_id = $7 AND d_id = $6; \
             RETURN QUERY {}; END",
            statement(pay)
        );
        function(&head, &body)
    })
}

/// One for a customer's number, one for a last name.
fn order_statuses() -> [String; 2] {
    [("integer", Query::OrderStatusByNumber), ("text", Query::OrderStatusByName)].map(|(customer, status)| {
        let head = format!(
            "tpcc_order_status(integer, integer, {customer}) RETURNS TABLE (r_c_id integer, r_c_balance numeric, \
             r_c_first varchar, r_c_middle bpchar, r_c_last varchar, r_names bigint, r_o_id integer, \
             r_o_entry_d timestamp, r_o_carrier_id integer, r_ol_i_id integer, r_ol_supply_w_id integer, \
             r_ol_quantity integer, r_ol_amount numeric, r_ol_delivery_d timestamp)"
        );
        function(&head, &format!("BEGIN RETURN QUERY {}; END", statement(status)))
    })
}

fn delivery() -> String {
    function(
        "tpcc_delivery(integer, integer, timestamp) RETURNS TABLE (r_d_id integer, r_o_id integer, r_c_id integer, \
         r_amount numeric, r_expected bigint, r_lines bigint)",
        &format!("BEGIN RETURN QUERY {}; END", statement(Query::DeliveryDeliver)),
    )
}

fn stock_level() -> String {
    function(
        "tpcc_stock_level(integer, integer, integer) RETURNS bigint",
        &format!("BEGIN RETURN ({}); END", statement(Query::StockLevelCount)),
    )
}
