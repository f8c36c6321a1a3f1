//! The procedures that the profile `proc` calls on MySQL and MariaDB. Each is a transaction: it begins it and ends it, and
//! an error in it, or a row that is missing, rolls it back. They take locks in the order of all other profiles. There are
//! no arrays: what is done for each line or district stands there for each.

use super::mysql::each;
use super::texts::{CUSTOMER, DISTRICT_ADDRESS, PAY_CUSTOMER, SHOWN_CREDIT_DATA, WAREHOUSE_ADDRESS};
use crate::workload::keys::fnv1a;
use crate::workload::tpcc::input::MAX_LINES;
use crate::workload::tpcc::population::DISTRICTS;

/// The SQLSTATE of a row that is missing; nothing else is signalled so.
pub(super) const MISSING: &str = "45000";
const SIGNAL: &str = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row is missing'";
/// Of a parameter or a variable: the columns' own character set, whatever the database's.
const TEXT: &str = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// Its name without the version, its parameters, its variables, and what it does.
struct Procedure {
    name: &'static str,
    parameters: String,
    variables: String,
    body: String,
}

/// Statements that create the procedures. Those of another version of this program have other names, and stay: a
/// procedure cannot be replaced while it is called.
pub(super) fn create() -> Vec<String> {
    let all = all();
    let version = version(&all);
    let create = |Procedure { name, parameters, variables, body }: &Procedure| {
        format!(
            "CREATE PROCEDURE IF NOT EXISTS {name}_{version}({parameters}) BEGIN {variables} DECLARE EXIT HANDLER FOR \
             SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END; START TRANSACTION; {body} END"
        )
    };
    all.iter().map(create).collect()
}

/// The call of a procedure that the others' text, such as `SELECT * FROM tpcc_payment($1, $2, $3::int4)`, names as a
/// function. One takes either a customer's number or a last name, the other is NULL.
pub(super) fn call(others: &str) -> String {
    let rest = others.strip_prefix("SELECT * FROM ").expect("a function of the profile");
    let (name, values) = rest.split_once('(').expect("a function has parameters");
    let values = values.replace("$3::int4", "$3, NULL").replace("$3::text", "NULL, $3");
    let values = if name == "tpcc_new_order" { (7..=10).fold(values, with_elements) } else { values };
    format!("CALL {name}_{}({values}", version(&all()))
}

/// An array as its elements, one by one.
fn with_elements(values: String, array: usize) -> String {
    values.replacen(&format!("${array},"), &format!("{},", lines(|n| format!("${array}.{n}"), ", ")), 1)
}

fn version(all: &[Procedure]) -> String {
    let texts = all.iter().flat_map(|it| [&it.parameters, &it.variables, &it.body].map(String::as_str));
    format!("{:016x}", fnv1a(texts.collect::<String>().as_bytes()))
}

fn all() -> [Procedure; 5] {
    [new_order(), payment(), order_status(), delivery(), stock_level()]
}

fn lines(text: impl Fn(usize) -> String, between: &str) -> String {
    each(MAX_LINES, between, text)
}

fn districts(text: impl Fn(usize) -> String, between: &str) -> String {
    each(DISTRICTS as usize, between, text)
}

/// An item that is not there rolls the order back once all its lines were looked for (2.4.2.3).
fn new_order() -> Procedure {
    let array = |name: &str| lines(|n| format!("p_{name}_{n} int"), ", ");
    let dist_info = districts(|d| format!("WHEN {d} THEN s_dist_{d:02}"), " ");
    let line = |n: usize| {
        format!(
            "IF p_count >= {n} THEN \
             UPDATE stock SET s_quantity = s_quantity - p_ordered_{n} + \
             CASE WHEN s_quantity >= p_ordered_{n} + 10 THEN 0 ELSE 91 END, s_ytd = s_ytd + p_ordered_{n}, \
             s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (p_supply_{n} <> p_w) \
             WHERE s_w_id = p_supply_{n} AND s_i_id = p_item_{n}; \
             INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
             ol_amount, ol_dist_info) SELECT v_o, p_d, p_w, p_number_{n}, p_item_{n}, p_supply_{n}, p_ordered_{n}, \
             i_price * p_ordered_{n}, CASE p_d {dist_info} END FROM item JOIN stock ON s_i_id = i_id \
             WHERE i_id = p_item_{n} AND s_w_id = p_supply_{n}; \
             SET v_found = v_found + ROW_COUNT(); END IF;"
        )
    };
    Procedure {
        name: "tpcc_new_order",
        parameters: format!(
            "p_w int, p_d int, p_c int, p_at datetime(6), p_count int, p_local int, {}, {}, {}, {}, p_valid int",
            array("number"),
            array("supply"),
            array("item"),
            array("ordered")
        ),
        variables: format!(
            "DECLARE v_o int; DECLARE v_found int DEFAULT 0; DECLARE v_d_tax, v_w_tax, v_discount decimal(4,4); \
             DECLARE v_last varchar(16) {TEXT}; DECLARE v_credit char(2) {TEXT};"
        ),
        body: format!(
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d; \
             SELECT d_next_o_id - 1, d_tax INTO v_o, v_d_tax FROM district WHERE d_w_id = p_w AND d_id = p_d; \
             SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_w_tax FROM customer \
             JOIN warehouse ON w_id = c_w_id WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c; \
             IF v_o IS NULL OR v_w_tax IS NULL THEN {SIGNAL}; END IF; \
             INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
             VALUES (v_o, p_d, p_w, p_c, p_at, p_count, p_local); \
             INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o, p_d, p_w); {} \
             IF v_found <> p_valid THEN {SIGNAL}; END IF; \
             SELECT STRAIGHT_JOIN v_o, v_d_tax, v_w_tax, v_discount, v_last, v_credit, ol_number, i_name, i_price, \
             ol_amount, s_quantity, CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' \
             END FROM order_line JOIN item ON i_id = ol_i_id JOIN stock ON s_w_id = ol_supply_w_id \
             AND s_i_id = ol_i_id WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o; \
             IF v_found < p_count THEN ROLLBACK; ELSE COMMIT; END IF;",
            lines(line, " ")
        ),
    }
}

/// Sets `v_c` and `v_names` to the customer in the middle of those of a last name, or to the one of a number.
const CHOOSE: &str = "IF p_last IS NULL THEN SET v_c = p_c, v_names = 1; ELSE \
    SELECT count(*) INTO v_names FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last; \
    SET v_before = greatest(v_names - 1, 0) DIV 2; \
    SELECT c_id INTO v_c FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last \
    ORDER BY c_first, c_id LIMIT v_before, 1; END IF;";
const CHOSEN: &str = "DECLARE v_c int; DECLARE v_names, v_before bigint;";

fn payment() -> Procedure {
    let missing = format!("IF ROW_COUNT() <> 1 THEN {SIGNAL}; END IF;");
    let pay = PAY_CUSTOMER.replace("$4", "p_amount");
    Procedure {
        name: "tpcc_payment",
        parameters: format!(
            "p_c_w int, p_c_d int, p_c int, p_last varchar(16) {TEXT}, p_amount decimal(12,2), \
             p_note varchar(100) {TEXT}, p_d int, p_w int, p_at datetime(6)"
        ),
        variables: CHOSEN.to_owned(),
        body: format!(
            "UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w; {missing} \
             UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d; {missing} {CHOOSE} \
             {pay}, c_data = CASE c_credit WHEN 'BC' THEN left(concat(c_id, p_note, c_data), 500) ELSE c_data END \
             WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c; {missing} \
             INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             SELECT v_c, p_c_d, p_c_w, p_d, p_w, p_at, p_amount, concat(w_name, '    ', d_name) \
             FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = p_w AND d_id = p_d; \
             SELECT {CUSTOMER}, {SHOWN_CREDIT_DATA}, c_id, v_names, {WAREHOUSE_ADDRESS}, {DISTRICT_ADDRESS} \
             FROM customer JOIN warehouse ON w_id = p_w JOIN district ON d_w_id = p_w AND d_id = p_d \
             WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c; COMMIT;"
        ),
    }
}

fn order_status() -> Procedure {
    Procedure {
        name: "tpcc_order_status",
        parameters: format!("p_c_w int, p_c_d int, p_c int, p_last varchar(16) {TEXT}"),
        variables: format!("{CHOSEN} DECLARE v_o int;"),
        body: format!(
            "{CHOOSE} SELECT o_id INTO v_o FROM orders WHERE o_w_id = p_c_w AND o_d_id = p_c_d AND o_c_id = v_c \
             ORDER BY o_id DESC LIMIT 1; \
             SELECT STRAIGHT_JOIN c_id, c_balance, c_first, c_middle, c_last, v_names, o_id, o_entry_d, o_carrier_id, \
             ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM customer \
             JOIN orders ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_id = v_o \
             JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
             WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c; COMMIT;"
        ),
    }
}

/// All oldest orders are locked first, and customers are changed last.
fn delivery() -> Procedure {
    let lock = |d| {
        format!(
            "SELECT no_o_id INTO o_{d} FROM new_order WHERE no_w_id = p_w AND no_d_id = {d} ORDER BY no_o_id LIMIT 1 \
             FOR UPDATE;"
        )
    };
    let deliver = |d| {
        let lines = format!("ol_w_id = p_w AND ol_d_id = {d} AND ol_o_id = o_{d}");
        let order = format!("o_w_id = p_w AND o_d_id = {d} AND o_id = o_{d}");
        format!(
            "IF o_{d} IS NOT NULL THEN \
             DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = {d} AND no_o_id = o_{d}; \
             UPDATE orders SET o_carrier_id = p_carrier WHERE {order}; \
             SELECT o_c_id, o_ol_cnt INTO c_{d}, n_{d} FROM orders WHERE {order}; \
             UPDATE order_line SET ol_delivery_d = p_at WHERE {lines}; \
             SELECT sum(ol_amount), count(*) INTO a_{d}, l_{d} FROM order_line WHERE {lines}; \
             IF NOT l_{d} <=> n_{d} THEN {SIGNAL}; END IF; END IF;"
        )
    };
    let pay = |d| {
        format!(
            "IF o_{d} IS NOT NULL THEN \
             UPDATE customer SET c_balance = c_balance + a_{d}, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = p_w AND c_d_id = {d} AND c_id = c_{d}; \
             IF ROW_COUNT() <> 1 THEN {SIGNAL}; END IF; END IF;"
        )
    };
    let delivered = |d| format!("SELECT {d}, o_{d}, c_{d}, a_{d}, n_{d}, l_{d} FROM DUAL WHERE o_{d} IS NOT NULL");
    Procedure {
        name: "tpcc_delivery",
        parameters: "p_w int, p_carrier int, p_at datetime(6)".to_owned(),
        variables: districts(
            |d| format!("DECLARE o_{d}, c_{d}, n_{d} int; DECLARE l_{d} bigint; DECLARE a_{d} decimal(12,2);"),
            " ",
        ),
        body: format!(
            "{} {} {} {}; COMMIT;",
            districts(lock, " "),
            districts(deliver, " "),
            districts(pay, " "),
            districts(delivered, " UNION ALL ")
        ),
    }
}

fn stock_level() -> Procedure {
    Procedure {
        name: "tpcc_stock_level",
        parameters: "p_w int, p_d int, p_threshold int".to_owned(),
        variables: "DECLARE v_next int;".to_owned(),
        body: "SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d; \
               SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = p_w AND s_i_id = ol_i_id \
               WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next \
               AND s_quantity < p_threshold; COMMIT;"
            .to_owned(),
    }
}
