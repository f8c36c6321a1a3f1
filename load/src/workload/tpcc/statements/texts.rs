//! The texts of the statements. Parts that several of them share are written once.

use super::super::profile::Profile;

macro_rules! queries {
    ($($(#[$doc:meta])* $variant:ident = $name:literal { $($($profile:ident)|+ => $sql:expr,)+ })*) => {
        /// A statement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Query { $($(#[$doc])* $variant,)* }

        /// All of them with their names, in order.
        pub(super) const ALL: &[(Query, &str)] = &[$((Query::$variant, $name)),*];

        impl Query {
            /// Its text in `profile`; `None` where the profile does not send it.
            #[must_use]
            pub const fn sql(self, profile: Profile) -> Option<&'static str> {
                match (self, profile) {
                    $($((Self::$variant, $(Profile::$profile)|+) => Some($sql),)+)*
                    _ => None,
                }
            }
        }
    };
}

/// Customers of one name are sorted by first name, and the one in the middle is taken: position n/2 rounded up, counted
/// from one (2.5.2.2, 2.6.2.2). $1 warehouse, $2 district, $3 last name. There is no division, which gives an integer in
/// PostgreSQL and a decimal in CockroachDB.
///
/// Who was chosen is found by a subselect and never by a join: before a join the planner may expect many of them, and
/// read the customers of a whole district.
macro_rules! chosen_by_name {
    () => {
        "WITH chosen (id, names) AS (SELECT c_id, names FROM (SELECT c_id, \
         row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS names FROM customer \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS named WHERE place * 2 BETWEEN names AND names + 1)"
    };
}

/// $3 customer.
macro_rules! chosen_by_number {
    () => {
        "WITH chosen (id, names) AS (SELECT $3::int4, 1::bigint)"
    };
}

macro_rules! address {
    (w) => {
        "w_name, w_street_1, w_street_2, w_city, w_state, w_zip"
    };
    (d) => {
        "d_name, d_street_1, d_street_2, d_city, d_state, d_zip"
    };
}

macro_rules! customer {
    () => {
        "c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, \
         c_credit_lim, c_discount, c_balance"
    };
}

/// $4 amount.
macro_rules! pay_customer {
    () => {
        "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
         c_payment_cnt = c_payment_cnt + 1"
    };
}

/// The data of a customer of bad credit (2.5.2.2), cut to what 2.5.3.4 shows.
macro_rules! shown_credit_data {
    () => {
        "CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END"
    };
}

/// These parts, for procedures.
pub(super) const WAREHOUSE_ADDRESS: &str = address!(w);
pub(super) const DISTRICT_ADDRESS: &str = address!(d);
pub(super) const CUSTOMER: &str = customer!();
pub(super) const PAY_CUSTOMER: &str = pay_customer!();
pub(super) const SHOWN_CREDIT_DATA: &str = shown_credit_data!();

/// $1 customer's warehouse, $2 its district, $4 amount, $5 what is put between C_ID and C_DATA of a customer of bad
/// credit, $6 district, $7 warehouse, $8 time. A customer, warehouse or district that is missing is a NULL in history,
/// which the server rejects.
macro_rules! pay_chosen {
    () => {
        concat!(
            ", place AS (SELECT ",
            address!(w),
            ", ",
            address!(d),
            " FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = $7 AND d_id = $6), paid AS (",
            pay_customer!(),
            ", c_data = CASE c_credit WHEN 'BC' THEN left(c_id::text || $5::text || c_data, 500) ELSE c_data END \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = (SELECT id FROM chosen) RETURNING ",
            customer!(),
            ", ",
            shown_credit_data!(),
            " AS shown_data, c_id), booked AS (INSERT INTO history \
             (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             SELECT (SELECT c_id FROM paid), $2, $1, $6, $7, $8::timestamp, $4, \
             (SELECT w_name || '    ' || d_name FROM place) RETURNING h_w_id) \
             SELECT paid.*, (SELECT names FROM chosen) AS names, place.* FROM paid CROSS JOIN place"
        )
    };
}

macro_rules! status_of_chosen {
    () => {
        " SELECT c_id, c_balance, c_first, c_middle, c_last, (SELECT names FROM chosen) AS names, newest.o_id, \
         o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM customer \
         CROSS JOIN LATERAL (SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 \
         AND o_c_id = c_id ORDER BY o_id DESC LIMIT 1) AS newest \
         JOIN order_line ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = newest.o_id \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = (SELECT id FROM chosen)"
    };
}

queries! {
    /// $1 warehouse, $2 district.
    NewOrderDistrict = "new_order.district" {
        Chatty => "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE",
        Batched =>
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 \
             RETURNING d_tax, d_next_o_id - 1",
    }
    /// $1 warehouse, $2 district, $3 next order.
    NewOrderSetNextOrder = "new_order.set_next_order" {
        Chatty => "UPDATE district SET d_next_o_id = $3 WHERE d_w_id = $1 AND d_id = $2",
    }
    /// $1 warehouse.
    NewOrderWarehouse = "new_order.warehouse" {
        Batched => "SELECT w_tax FROM warehouse WHERE w_id = $1",
    }
    /// $1 warehouse, $2 district, $3 customer.
    NewOrderCustomer = "new_order.customer" {
        Batched => "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    }
    /// $1 warehouse, $2 district, $3 customer.
    NewOrderWarehouseAndCustomer = "new_order.warehouse_and_customer" {
        Chatty =>
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    }
    /// $1 items.
    NewOrderItems = "new_order.items" {
        Chatty | Batched =>
            "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id = ANY ($1::int4[])",
    }
    /// $1 order, $2 district, $3 warehouse, $4 customer, $5 time, $6 lines, $7 all local.
    NewOrderInsertOrder = "new_order.insert_order" {
        Chatty | Batched =>
            "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
    }
    /// $1 order, $2 district, $3 warehouse.
    NewOrderInsertNewOrder = "new_order.insert_new_order" {
        Chatty | Batched => "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)",
    }
    /// Arrays: $1 warehouses, $2 items, $3 new quantities, $4 quantities ordered, $5 1 if remote.
    NewOrderUpdateStock = "new_order.update_stock" {
        Batched =>
            "UPDATE stock SET s_quantity = line.quantity, s_ytd = s_ytd + line.ordered, \
             s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + line.remote \
             FROM unnest($1::int4[], $2::int4[], $3::int4[], $4::int4[], $5::int4[]) \
             AS line (w_id, i_id, quantity, ordered, remote) WHERE s_w_id = line.w_id AND s_i_id = line.i_id",
    }
    /// $1 warehouse, $2 item, $3 new quantity, $4 quantity ordered, $5 1 if remote.
    NewOrderUpdateStockOfLine = "new_order.update_stock_of_line" {
        Chatty =>
            "UPDATE stock SET s_quantity = $3, s_ytd = s_ytd + $4::int4, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + $5::int4 WHERE s_w_id = $1 AND s_i_id = $2",
    }
    /// $1 order, $2 district, $3 warehouse; arrays: $4 numbers, $5 items, $6 supply warehouses, $7 quantities,
    /// $8 amounts, $9 district information.
    NewOrderInsertLines = "new_order.insert_lines" {
        Chatty | Batched =>
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
             ol_amount, ol_dist_info) SELECT $1::int4, $2::int4, $3::int4, line.* \
             FROM unnest($4::int4[], $5::int4[], $6::int4[], $7::int4[], $8::numeric[], $9::text[]) AS line",
    }
    /// $1 warehouse, $2 district, $3 customer, $4 time, $5 lines, $6 all local; arrays in the order of the stocks' key:
    /// $7 numbers, $8 supply warehouses, $9 items, $10 quantities; $11 lines whose item exists. A row for each of
    /// these. Stocks are joined with the district just updated, and so locked after it. A customer that is missing is a
    /// NULL in orders, an item or a stock that is missing a NULL in new_order, which the server rejects.
    NewOrderEnter = "new_order.enter" {
        Pipelined =>
            "WITH numbered AS (UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 \
             RETURNING d_next_o_id - 1 AS o_id, d_tax), \
             buyer AS (SELECT c_id, c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3), \
             entered AS (INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
             SELECT o_id, $2, $1, (SELECT c_id FROM buyer), $4::timestamp, $5::int4, $6::int4 FROM numbered \
             RETURNING o_id), \
             taken AS (UPDATE stock SET \
             s_quantity = s_quantity - ordered + CASE WHEN s_quantity >= ordered + 10 THEN 0 ELSE 91 END, \
             s_ytd = s_ytd + ordered, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + CASE WHEN supply_w_id <> $1 THEN 1 ELSE 0 END \
             FROM numbered CROSS JOIN unnest($7::int4[], $8::int4[], $9::int4[], $10::int4[]) \
             AS line (number, supply_w_id, item, ordered) JOIN item ON i_id = item \
             WHERE s_w_id = supply_w_id AND s_i_id = item \
             RETURNING o_id, d_tax, number, supply_w_id, item, ordered, i_name, i_price, i_price * ordered AS amount, \
             s_quantity, CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand, \
             CASE $2 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 \
             WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 \
             WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist_info), \
             waiting AS (INSERT INTO new_order (no_o_id, no_d_id, no_w_id) \
             SELECT CASE WHEN (SELECT count(*) FROM taken) = $11::int4 THEN o_id END, $2, $1 FROM numbered \
             RETURNING no_o_id), \
             lines AS (INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
             ol_quantity, ol_amount, ol_dist_info) \
             SELECT o_id, $2, $1, number, item, supply_w_id, ordered, amount, dist_info FROM taken \
             RETURNING ol_number) \
             SELECT o_id, d_tax, w_tax, c_discount, c_last, c_credit, number, i_name, i_price, amount, s_quantity, \
             brand FROM buyer CROSS JOIN taken",
        Proc => "SELECT * FROM tpcc_new_order($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    }
    /// $1 warehouse, $2 amount.
    PaymentAddToWarehouse = "payment.add_to_warehouse" {
        Chatty | Pipelined => "UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1",
    }
    /// $1 warehouse.
    PaymentReadWarehouse = "payment.read_warehouse" {
        Chatty => concat!("SELECT ", address!(w), " FROM warehouse WHERE w_id = $1"),
    }
    /// $1 warehouse, $2 amount.
    PaymentUpdateWarehouse = "payment.update_warehouse" {
        Batched => concat!("UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1 RETURNING ", address!(w)),
    }
    /// $1 warehouse, $2 district, $3 amount.
    PaymentAddToDistrict = "payment.add_to_district" {
        Chatty | Pipelined => "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2",
    }
    /// $1 warehouse, $2 district.
    PaymentReadDistrict = "payment.read_district" {
        Chatty => concat!("SELECT ", address!(d), " FROM district WHERE d_w_id = $1 AND d_id = $2"),
    }
    /// $1 warehouse, $2 district, $3 amount.
    PaymentUpdateDistrict = "payment.update_district" {
        Batched => concat!(
            "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2 RETURNING ",
            address!(d)
        ),
    }
    /// $1 warehouse, $2 district, $3 last name.
    CustomersByName = "customers_by_name" {
        Chatty | Batched =>
            "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id",
    }
    /// $1 warehouse, $2 district, $3 customer.
    PaymentLockCustomer = "payment.lock_customer" {
        Chatty => concat!(
            "SELECT ",
            customer!(),
            " FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE"
        ),
    }
    /// $1 warehouse, $2 district, $3 customer.
    PaymentCreditData = "payment.credit_data" {
        Chatty => "SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    }
    /// $1 warehouse, $2 district, $3 customer, $4 amount.
    PaymentPayCustomer = "payment.pay_customer" {
        Chatty => concat!(pay_customer!(), " WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"),
    }
    /// $1 warehouse, $2 district, $3 customer, $4 amount, $5 C_DATA.
    PaymentPayBadCustomer = "payment.pay_bad_customer" {
        Chatty => concat!(pay_customer!(), ", c_data = $5 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"),
    }
    /// $1 warehouse, $2 district, $3 customer, $4 amount, $5 what is put before C_DATA of a customer of bad credit.
    PaymentUpdateCustomer = "payment.update_customer" {
        Batched => concat!(
            pay_customer!(),
            ", c_data = CASE c_credit WHEN 'BC' THEN left($5::text || c_data, 500) ELSE c_data END \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 RETURNING ",
            customer!(),
            ", ",
            shown_credit_data!()
        ),
    }
    /// $1..$3 customer, its district and warehouse, $4 district, $5 warehouse, $6 time, $7 amount, $8 data.
    PaymentHistory = "payment.history" {
        Chatty | Batched =>
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    }
    /// $1 customer's warehouse, $2 its district, $3 customer, $4 amount, $5 what is put between C_ID and C_DATA of a
    /// customer of bad credit, $6 district, $7 warehouse, $8 time. The balance is column 13, C_ID 15, the number of
    /// customers of the name 16.
    PaymentPayByNumber = "payment.pay_by_number" {
        Pipelined => concat!(chosen_by_number!(), pay_chosen!()),
        Proc => "SELECT * FROM tpcc_payment($1, $2, $3::int4, $4, $5, $6, $7, $8)",
    }
    /// As by number, but $3 last name.
    PaymentPayByName = "payment.pay_by_name" {
        Pipelined => concat!(chosen_by_name!(), pay_chosen!()),
        Proc => "SELECT * FROM tpcc_payment($1, $2, $3::text, $4, $5, $6, $7, $8)",
    }
    /// $1 warehouse, $2 district, $3 customer.
    OrderStatusCustomer = "order_status.customer" {
        Chatty | Batched =>
            "SELECT c_balance, c_first, c_middle, c_last FROM customer \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    }
    /// $1 warehouse, $2 district, $3 last name.
    OrderStatusCustomersByName = "order_status.customers_by_name" {
        Batched =>
            "SELECT c_id, c_balance, c_first, c_middle FROM customer \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id",
    }
    /// $1 warehouse, $2 district, $3 customer.
    OrderStatusOrder = "order_status.order" {
        Chatty | Batched =>
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 \
             ORDER BY o_id DESC LIMIT 1",
    }
    /// $1 warehouse, $2 district, $3 order.
    OrderStatusLines = "order_status.lines" {
        Chatty | Batched =>
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
    }
    /// $1 warehouse, $2 district, $3 customer. A row for each line, with customer and order.
    OrderStatusByNumber = "order_status.by_number" {
        Pipelined => concat!(chosen_by_number!(), status_of_chosen!()),
        Proc => "SELECT * FROM tpcc_order_status($1, $2, $3::int4)",
    }
    /// As by number, but $3 last name.
    OrderStatusByName = "order_status.by_name" {
        Pipelined => concat!(chosen_by_name!(), status_of_chosen!()),
        Proc => "SELECT * FROM tpcc_order_status($1, $2, $3::text)",
    }
    /// $1 warehouse, $2 district. Whoever waits here for another Delivery finds the row gone and takes the next one:
    /// LIMIT counts rows after they are locked.
    DeliveryOldestOfDistrict = "delivery.oldest_of_district" {
        Chatty =>
            "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    }
    /// $1 warehouse. Waits as the statement for one district.
    DeliveryOldest = "delivery.oldest" {
        Batched =>
            "SELECT d_id, no_o_id FROM generate_series(1, 10) AS d_id CROSS JOIN LATERAL (SELECT no_o_id \
             FROM new_order WHERE no_w_id = $1 AND no_d_id = d_id ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS oldest",
    }
    /// $1 warehouse; arrays: $2 districts, $3 orders.
    DeliverySums = "delivery.sums" {
        Chatty | Batched =>
            "SELECT ol_d_id, sum(ol_amount) FROM order_line JOIN unnest($2::int4[], $3::int4[]) \
             AS oldest (d_id, o_id) ON ol_d_id = oldest.d_id AND ol_o_id = oldest.o_id \
             WHERE ol_w_id = $1 GROUP BY ol_d_id",
    }
    /// $1 warehouse, $2 carrier; arrays: $3 districts, $4 orders.
    DeliverySetCarrier = "delivery.set_carrier" {
        Chatty =>
            "UPDATE orders SET o_carrier_id = $2 FROM unnest($3::int4[], $4::int4[]) AS oldest (d_id, o_id) \
             WHERE o_w_id = $1 AND o_d_id = oldest.d_id AND orders.o_id = oldest.o_id",
    }
    /// $1 warehouse; arrays: $2 districts, $3 orders.
    DeliveryReadOrders = "delivery.read_orders" {
        Chatty =>
            "SELECT o_d_id, o_c_id, o_ol_cnt FROM orders JOIN unnest($2::int4[], $3::int4[]) AS oldest (d_id, o_id) \
             ON o_d_id = oldest.d_id AND orders.o_id = oldest.o_id WHERE o_w_id = $1",
    }
    /// $1 warehouse, $2 carrier; arrays: $3 districts, $4 orders.
    DeliveryUpdateOrders = "delivery.update_orders" {
        Batched =>
            "UPDATE orders SET o_carrier_id = $2 FROM unnest($3::int4[], $4::int4[]) AS oldest (d_id, o_id) \
             WHERE o_w_id = $1 AND o_d_id = oldest.d_id AND orders.o_id = oldest.o_id \
             RETURNING o_d_id, o_c_id, o_ol_cnt",
    }
    /// $1 warehouse; arrays: $2 districts, $3 orders.
    DeliveryDelete = "delivery.delete" {
        Chatty | Batched =>
            "DELETE FROM new_order WHERE no_w_id = $1 AND (no_d_id, no_o_id) IN \
             (SELECT d_id, o_id FROM unnest($2::int4[], $3::int4[]) AS oldest (d_id, o_id))",
    }
    /// $1 warehouse, $2 time; arrays: $3 districts, $4 orders.
    DeliveryUpdateLines = "delivery.update_lines" {
        Chatty | Batched =>
            "UPDATE order_line SET ol_delivery_d = $2 FROM unnest($3::int4[], $4::int4[]) AS oldest (d_id, o_id) \
             WHERE ol_w_id = $1 AND ol_d_id = oldest.d_id AND ol_o_id = oldest.o_id",
    }
    /// $1 warehouse, $2 district, $3 customer, $4 amount.
    DeliveryUpdateCustomer = "delivery.update_customer" {
        Chatty =>
            "UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    }
    /// $1 warehouse; arrays: $2 districts, $3 customers, $4 amounts.
    DeliveryUpdateCustomers = "delivery.update_customers" {
        Batched =>
            "UPDATE customer SET c_balance = c_balance + paid.amount, c_delivery_cnt = c_delivery_cnt + 1 \
             FROM unnest($2::int4[], $3::int4[], $4::numeric[]) AS paid (d_id, c_id, amount) \
             WHERE c_w_id = $1 AND c_d_id = paid.d_id AND customer.c_id = paid.c_id",
    }
    /// $1 warehouse, $2 carrier, $3 time. A row for each district with a new order: district, order, customer, amount,
    /// O_OL_CNT, lines. Its customers are updated in the order of their districts. An order, a line or a customer that is
    /// missing makes the server divide by zero.
    DeliveryDeliver = "delivery.deliver" {
        Pipelined =>
            "WITH oldest AS (SELECT d_id, no_o_id FROM generate_series(1, 10) AS d_id CROSS JOIN LATERAL \
             (SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = d_id ORDER BY no_o_id LIMIT 1 FOR UPDATE) \
             AS first), \
             gone AS (DELETE FROM new_order WHERE no_w_id = $1 AND (no_d_id, no_o_id) IN \
             (SELECT d_id, oldest.no_o_id FROM oldest) RETURNING no_o_id), \
             entered AS (UPDATE orders SET o_carrier_id = $2 FROM oldest \
             WHERE o_w_id = $1 AND o_d_id = oldest.d_id AND o_id = oldest.no_o_id RETURNING o_d_id, o_c_id, o_ol_cnt), \
             line AS (UPDATE order_line SET ol_delivery_d = $3 FROM oldest \
             WHERE ol_w_id = $1 AND ol_d_id = oldest.d_id AND ol_o_id = oldest.no_o_id RETURNING ol_d_id, ol_amount), \
             due AS (SELECT o_d_id, o_c_id, o_ol_cnt::bigint AS expected, sum(ol_amount) AS amount, count(*) AS lines \
             FROM entered JOIN line ON ol_d_id = o_d_id GROUP BY o_d_id, o_c_id, o_ol_cnt ORDER BY o_d_id), \
             paid AS (UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1 \
             FROM due WHERE c_w_id = $1 AND c_d_id = o_d_id AND c_id = o_c_id \
             RETURNING c_d_id, c_id, amount, expected, lines) \
             SELECT d_id, no_o_id, c_id, amount, expected, \
             (coalesce(lines, 0) / CASE WHEN lines = expected THEN 1 ELSE 0 END)::bigint AS lines \
             FROM oldest LEFT JOIN paid ON c_d_id = d_id ORDER BY d_id",
        Proc => "SELECT * FROM tpcc_delivery($1, $2, $3)",
    }
    /// $1 warehouse, $2 district.
    StockLevelNextOrder = "stock_level.next_order" {
        Chatty | Batched => "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2",
    }
    /// $1 warehouse, $2 district, $3 first order, $4 order after the last, $5 threshold.
    StockLevelCountBelow = "stock_level.count_below" {
        Chatty | Batched =>
            "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = $1 AND s_i_id = ol_i_id \
             WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5",
    }
    /// $1 warehouse, $2 district, $3 threshold.
    StockLevelCount = "stock_level.count" {
        Pipelined =>
            "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = $1 AND s_i_id = ol_i_id \
             WHERE ol_w_id = $1 AND ol_d_id = $2 AND s_quantity < $3 \
             AND ol_o_id >= (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = $1 AND d_id = $2) \
             AND ol_o_id < (SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2)",
        Proc => "SELECT * FROM tpcc_stock_level($1, $2, $3)",
    }
}

/// Arrays: $1 supply warehouses, $2 items. Rows are locked in the order of the key.
pub(super) fn stock_sql(profile: Profile, district: usize) -> Option<String> {
    match profile {
        Profile::Chatty | Profile::Batched => Some(format!(
            "SELECT s_w_id, s_i_id, s_quantity, s_data, s_dist_{district:02} FROM stock \
             JOIN unnest($1::int4[], $2::int4[]) AS line (w_id, i_id) ON s_w_id = line.w_id AND s_i_id = line.i_id \
             ORDER BY s_w_id, s_i_id FOR UPDATE OF stock"
        )),
        Profile::Pipelined | Profile::Proc => None,
    }
}
