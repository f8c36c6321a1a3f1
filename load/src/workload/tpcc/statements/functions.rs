//! The functions that the profile `proc` calls, in PL/pgSQL. Where the profile `pipelined` does all in one statement,
//! the function is that statement.

use super::texts::Query;
use crate::workload::tpcc::profile::Profile;

/// A number of PostgreSQL's choosing is as good as any other: "tpcc" in ASCII.
const LOCK: i32 = 0x7470_6363;

/// Statements that create the functions, or replace those of another version of this program, as one transaction.
/// Several generators may start at once, and two that replace one function would hinder each other: hence the lock.
pub(super) fn functions() -> Vec<String> {
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

fn new_order() -> String {
    function(
        "tpcc_new_order(integer, integer, integer, timestamp, integer, integer, integer[], integer[], integer[], \
         integer[], integer) RETURNS TABLE (r_o_id integer, r_d_tax numeric, r_w_tax numeric, r_c_discount numeric, \
         r_c_last varchar, r_c_credit bpchar, r_ol_number integer, r_i_name varchar, r_i_price numeric, \
         r_ol_amount numeric, r_s_quantity integer, r_brand text)",
        &format!("BEGIN RETURN QUERY {}; END", statement(Query::NewOrderEnter)),
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
