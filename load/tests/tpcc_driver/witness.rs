//! What one transaction must have done, told by another session.

use super::{number, one};
use nephoscope_load::target::postgres::Connection;
use nephoscope_load::workload::tpcc::input::Customer;
use nephoscope_load::workload::tpcc::worker::TpccWorker;

pub fn nothing_is_left(witness: &mut Connection, worker: &TpccWorker) {
    let input = &worker.terminals().inputs.new_order;
    let (w, d, order) = (input.warehouse, input.district, worker.new_order().order);
    let left = format!(
        "SELECT (SELECT count(*) FROM orders WHERE o_w_id = {w} AND o_d_id = {d} AND o_id = {order}), \
         (SELECT count(*) FROM new_order WHERE no_w_id = {w} AND no_d_id = {d} AND no_o_id = {order}), \
         (SELECT count(*) FROM order_line WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {order}), d_next_o_id \
         FROM district WHERE d_w_id = {w} AND d_id = {d}"
    );
    assert_eq!(one(witness, &left), format!("0|0|0|{order}"));
    assert_eq!(worker.new_order().lines().len(), input.lines.len() - 1, "all valid items were processed");
}

pub fn an_order_is_entered(witness: &mut Connection, worker: &TpccWorker) {
    let (input, output) = (&worker.terminals().inputs.new_order, worker.new_order());
    let (w, d, o) = (input.warehouse, input.district, output.order);
    let order = format!(
        "SELECT o_c_id, o_ol_cnt, o_all_local, o_carrier_id IS NULL FROM orders \
         WHERE o_w_id = {w} AND o_d_id = {d} AND o_id = {o}"
    );
    let expected = format!("{}|{}|{}|t", input.customer, input.lines.len(), i32::from(!input.is_remote()));
    assert_eq!(one(witness, &order), expected);
    let lines = format!(
        "SELECT string_agg(concat_ws('/', ol_number, ol_i_id, ol_supply_w_id, ol_quantity, (ol_amount * 100)::int8, \
         s_quantity, i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%', ol_dist_info = s_dist_{d:02}, \
         ol_amount = ol_quantity * i_price, ol_delivery_d IS NULL), ' ' ORDER BY ol_number) \
         FROM order_line JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id JOIN item ON i_id = ol_i_id \
         WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {o}"
    );
    let expected: Vec<String> = (1..)
        .zip(input.lines.iter().zip(output.lines()))
        .map(|(number, (asked, line))| {
            let flag = if line.brand { 't' } else { 'f' };
            format!(
                "{number}/{}/{}/{}/{}/{}/{flag}/t/t/t",
                asked.item, asked.supply_warehouse, asked.quantity, line.amount_cents, line.stock_quantity
            )
        })
        .collect();
    let found = one(witness, &lines);
    assert_eq!(found, expected.join(" "));
    let total = format!(
        "SELECT round(100 * sum(ol_amount) * (1 - c_discount) * (1 + w_tax + d_tax))::int8 FROM order_line, customer, \
         warehouse, district WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {o} AND c_w_id = {w} AND c_d_id = {d} \
         AND c_id = {} AND w_id = {w} AND d_w_id = {w} AND d_id = {d} GROUP BY c_discount, w_tax, d_tax",
        input.customer
    );
    assert_eq!(number(witness, &total), output.total_cents());
}

fn middle_customer(witness: &mut Connection, w: i32, d: i32, customer: Customer) -> i32 {
    let Customer::Name(name) = customer else {
        let Customer::Id(id) = customer else { unreachable!() };
        return id;
    };
    let mut last = String::new();
    nephoscope_load::workload::tpcc::random::last_name(name, &mut last);
    let sql = format!(
        "SELECT (array_agg(c_id ORDER BY c_first, c_id))[ceil(count(*) / 2.0)::int] FROM customer \
         WHERE c_w_id = {w} AND c_d_id = {d} AND c_last = '{last}'"
    );
    i32::try_from(number(witness, &sql)).unwrap()
}

pub fn a_payment_is_booked(witness: &mut Connection, worker: &TpccWorker) {
    let (input, output) = (&worker.terminals().inputs.payment, worker.payment());
    let (w, d) = (input.customer_warehouse, input.customer_district);
    let customer = middle_customer(witness, w, d, input.customer);
    assert_eq!(output.customer, customer);
    let amount = format!("{}.{:02}", input.cents / 100, input.cents % 100);
    let history = format!(
        "SELECT count(*) FROM history, warehouse, district WHERE h_c_id = {customer} AND h_c_d_id = {d} \
         AND h_c_w_id = {w} AND h_d_id = {1} AND h_w_id = {0} AND h_amount = {amount} AND w_id = {0} AND d_w_id = {0} \
         AND d_id = {1} AND h_data = w_name || '    ' || d_name",
        input.warehouse, input.district
    );
    assert!(number(witness, &history) >= 1, "{history}");
    let prefix = format!("{customer} {d} {w} {} {} {amount} ", input.district, input.warehouse);
    let row = format!(
        "SELECT (c_credit = 'BC') = starts_with(c_data, '{prefix}'), length(c_data) BETWEEN 300 AND 500, \
         round(c_balance * 100)::int8 FROM customer WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {customer}"
    );
    assert_eq!(one(witness, &row), format!("t|t|{}", output.balance_cents));
}

pub fn the_newest_order_is_found(witness: &mut Connection, worker: &TpccWorker) {
    let (input, output) = (&worker.terminals().inputs.order_status, worker.order_status());
    let customer = middle_customer(witness, input.warehouse, input.district, input.customer);
    let newest = format!(
        "SELECT o_c_id, o_id, o_ol_cnt FROM orders WHERE o_w_id = {} AND o_d_id = {} AND o_c_id = {customer} \
         ORDER BY o_id DESC LIMIT 1",
        input.warehouse, input.district
    );
    assert_eq!(one(witness, &newest), format!("{}|{}|{}", output.customer, output.order, output.lines));
    let balance = format!(
        "SELECT round(c_balance * 100)::int8 FROM customer WHERE c_w_id = {} AND c_d_id = {} AND c_id = {customer}",
        input.warehouse, input.district
    );
    assert_eq!(number(witness, &balance), output.balance_cents);
}

pub fn low_stocks_are_counted(witness: &mut Connection, worker: &TpccWorker) {
    let input = &worker.terminals().inputs.stock_level;
    let sql = format!(
        "SELECT count(*) FROM stock WHERE s_w_id = {0} AND s_quantity < {2} AND s_i_id IN (SELECT ol_i_id FROM order_line, \
         district WHERE d_w_id = {0} AND d_id = {1} AND ol_w_id = {0} AND ol_d_id = {1} \
         AND ol_o_id BETWEEN d_next_o_id - 20 AND d_next_o_id - 1)",
        input.warehouse, input.district, input.threshold
    );
    assert_eq!(number(witness, &sql), worker.stock_level().low_stock);
}
