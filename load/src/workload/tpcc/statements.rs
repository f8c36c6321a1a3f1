//! Everything that the profile `batched` sends, one statement a round trip: the statements of CockroachDB's own TPC-C,
//! each over a whole set of rows, in SQL that both databases take. The texts never change, so each is planned once.
//!
//! All are right under READ COMMITTED: whoever computes a new value from an old one holds the row's lock since it was
//! read (`UPDATE ... RETURNING`, `FOR UPDATE`). Locks are taken in one order everywhere (warehouse, district, stock by
//! warehouse and item; new_order by district, customer last), so that transactions wait but do not deadlock.

use crate::target::{Statement, StatementId};

macro_rules! queries {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $sql:literal;)*) => {
        /// A statement; its position is its [`StatementId`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Query { $($(#[$doc])* $variant,)* }

        const TEXTS: &[(&str, &str)] = &[$(($name, $sql)),*];
    };
}

queries! {
    /// $1 warehouse, $2 district.
    NewOrderDistrict = "new_order.district",
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 \
         RETURNING d_tax, d_next_o_id - 1";
    /// $1 warehouse.
    NewOrderWarehouse = "new_order.warehouse", "SELECT w_tax FROM warehouse WHERE w_id = $1";
    /// $1 warehouse, $2 district, $3 customer.
    NewOrderCustomer = "new_order.customer",
        "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    /// $1 items.
    NewOrderItems = "new_order.items", "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id = ANY ($1::int[])";
    /// $1 order, $2 district, $3 warehouse, $4 customer, $5 time, $6 lines, $7 all local.
    NewOrderInsertOrder = "new_order.insert_order",
        "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    /// $1 order, $2 district, $3 warehouse.
    NewOrderInsertNewOrder = "new_order.insert_new_order",
        "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)";
    /// Arrays: $1 warehouses, $2 items, $3 new quantities, $4 quantities ordered, $5 1 if remote.
    NewOrderUpdateStock = "new_order.update_stock",
        "UPDATE stock SET s_quantity = line.quantity, s_ytd = s_ytd + line.ordered, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + line.remote \
         FROM unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::int[]) \
         AS line (w_id, i_id, quantity, ordered, remote) WHERE s_w_id = line.w_id AND s_i_id = line.i_id";
    /// $1 order, $2 district, $3 warehouse; arrays: $4 numbers, $5 items, $6 supply warehouses, $7 quantities,
    /// $8 amounts, $9 district information.
    NewOrderInsertLines = "new_order.insert_lines",
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
         ol_amount, ol_dist_info) SELECT $1, $2, $3, line.* \
         FROM unnest($4::int[], $5::int[], $6::int[], $7::int[], $8::numeric[], $9::text[]) AS line";
    /// $1 warehouse, $2 amount.
    PaymentWarehouse = "payment.warehouse",
        "UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1 \
         RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip";
    /// $1 warehouse, $2 district, $3 amount.
    PaymentDistrict = "payment.district",
        "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2 \
         RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip";
    /// $1 warehouse, $2 district, $3 last name.
    PaymentCustomersByName = "payment.customers_by_name",
        "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id";
    /// $1 warehouse, $2 district, $3 customer, $4 amount, $5 what is put before C_DATA of a customer of bad credit.
    PaymentCustomer = "payment.customer",
        "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
         c_payment_cnt = c_payment_cnt + 1, \
         c_data = CASE c_credit WHEN 'BC' THEN left($5::text || c_data, 500) ELSE c_data END \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 \
         RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
         c_credit, c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END";
    /// $1..$3 customer, its district and warehouse, $4 district, $5 warehouse, $6 time, $7 amount, $8 data.
    PaymentHistory = "payment.history",
        "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    /// $1 warehouse, $2 district, $3 customer.
    OrderStatusCustomer = "order_status.customer",
        "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    /// $1 warehouse, $2 district, $3 last name.
    OrderStatusCustomersByName = "order_status.customers_by_name",
        "SELECT c_id, c_balance, c_first, c_middle FROM customer \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id";
    /// $1 warehouse, $2 district, $3 customer.
    OrderStatusOrder = "order_status.order",
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 \
         ORDER BY o_id DESC LIMIT 1";
    /// $1 warehouse, $2 district, $3 order.
    OrderStatusLines = "order_status.lines",
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
    /// $1 warehouse. Whoever waits here for another Delivery finds the row gone and takes the next one: LIMIT counts
    /// rows after they are locked.
    DeliveryOldest = "delivery.oldest",
        "SELECT d_id, no_o_id FROM generate_series(1, 10) AS d_id CROSS JOIN LATERAL (SELECT no_o_id FROM new_order \
         WHERE no_w_id = $1 AND no_d_id = d_id ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest";
    /// $1 warehouse; arrays: $2 districts, $3 orders.
    DeliverySums = "delivery.sums",
        "SELECT ol_d_id, sum(ol_amount) FROM order_line \
         JOIN unnest($2::int[], $3::int[]) AS oldest (d_id, o_id) ON ol_d_id = oldest.d_id AND ol_o_id = oldest.o_id \
         WHERE ol_w_id = $1 GROUP BY ol_d_id";
    /// $1 warehouse, $2 carrier; arrays: $3 districts, $4 orders.
    DeliveryOrders = "delivery.orders",
        "UPDATE orders SET o_carrier_id = $2 FROM unnest($3::int[], $4::int[]) AS oldest (d_id, o_id) \
         WHERE o_w_id = $1 AND o_d_id = oldest.d_id AND orders.o_id = oldest.o_id RETURNING o_d_id, o_c_id, o_ol_cnt";
    /// $1 warehouse; arrays: $2 districts, $3 orders.
    DeliveryDelete = "delivery.delete",
        "DELETE FROM new_order USING unnest($2::int[], $3::int[]) AS oldest (d_id, o_id) \
         WHERE no_w_id = $1 AND no_d_id = oldest.d_id AND no_o_id = oldest.o_id";
    /// $1 warehouse, $2 time; arrays: $3 districts, $4 orders.
    DeliveryLines = "delivery.lines",
        "UPDATE order_line SET ol_delivery_d = $2 FROM unnest($3::int[], $4::int[]) AS oldest (d_id, o_id) \
         WHERE ol_w_id = $1 AND ol_d_id = oldest.d_id AND ol_o_id = oldest.o_id";
    /// $1 warehouse; arrays: $2 districts, $3 customers, $4 amounts.
    DeliveryCustomers = "delivery.customers",
        "UPDATE customer SET c_balance = c_balance + paid.amount, c_delivery_cnt = c_delivery_cnt + 1 \
         FROM unnest($2::int[], $3::int[], $4::numeric[]) AS paid (d_id, c_id, amount) \
         WHERE c_w_id = $1 AND c_d_id = paid.d_id AND customer.c_id = paid.c_id";
    /// $1 warehouse, $2 district.
    StockLevelDistrict = "stock_level.district", "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2";
    /// $1 warehouse, $2 district, $3 first order, $4 order after the last, $5 threshold.
    StockLevelCount = "stock_level.count",
        "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = $1 AND s_i_id = ol_i_id \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5";
}

/// Stocks of an order with the district's own information: a statement for each district, since a column cannot be a
/// parameter. Arrays: $1 supply warehouses, $2 items. Rows are locked in the order of the key.
const STOCK_NAMES: [&str; 10] = [
    "new_order.stock_01",
    "new_order.stock_02",
    "new_order.stock_03",
    "new_order.stock_04",
    "new_order.stock_05",
    "new_order.stock_06",
    "new_order.stock_07",
    "new_order.stock_08",
    "new_order.stock_09",
    "new_order.stock_10",
];

impl Query {
    /// Its place among the statements.
    #[must_use]
    pub const fn id(self) -> StatementId {
        StatementId(self as u16)
    }
}

/// The statement that reads stocks for orders of `district`.
///
/// # Panics
/// If the district is not within 1..=10.
#[must_use]
pub fn stock(district: i32) -> StatementId {
    assert!((1..=10).contains(&district), "a warehouse has ten districts");
    StatementId((TEXTS.len() + district.unsigned_abs() as usize - 1) as u16)
}

fn stock_sql(district: usize) -> String {
    format!(
        "SELECT s_w_id, s_i_id, s_quantity, s_data, s_dist_{district:02} FROM stock \
         JOIN unnest($1::int[], $2::int[]) AS line (w_id, i_id) ON s_w_id = line.w_id AND s_i_id = line.i_id \
         ORDER BY s_w_id, s_i_id FOR UPDATE OF stock"
    )
}

/// All statements by [`StatementId`].
#[must_use]
pub fn all() -> Vec<Statement> {
    let fixed = TEXTS.iter().map(|&(name, sql)| Statement { name, sql: sql.to_owned() });
    let stocks = STOCK_NAMES.iter().zip(1..).map(|(name, district)| Statement { name, sql: stock_sql(district) });
    fixed.chain(stocks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_point_at_their_statements() {
        let all = all();
        let name = |id: StatementId| all[usize::from(id.0)].name;
        assert_eq!(name(Query::NewOrderDistrict.id()), "new_order.district");
        assert_eq!(name(Query::PaymentCustomer.id()), "payment.customer");
        assert_eq!(name(Query::StockLevelCount.id()), "stock_level.count");
        for district in 1..=10 {
            let statement = &all[usize::from(stock(district).0)];
            assert_eq!(statement.name, format!("new_order.stock_{district:02}"));
            assert!(statement.sql.contains(&format!("s_dist_{district:02} ")));
        }
    }

    #[test]
    fn names_are_unique() {
        let all = all();
        let names: std::collections::BTreeSet<&str> = all.iter().map(|statement| statement.name).collect();
        assert_eq!(names.len(), all.len());
    }
}
