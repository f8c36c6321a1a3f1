//! Payment (clause 2.5): 6 round trips, 7 by last name.

use super::{check_affected, column, first_row, middle_row, money};
use crate::target::Value;
use crate::target::postgres::{Batch, Reply};
use crate::workload::tpcc::input::{Customer, PaymentInput};
use crate::workload::tpcc::random::last_name;
use crate::workload::tpcc::statements::Query;
use crate::workload::{Completion, DataError, Step};
use std::fmt::Write;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sent {
    #[default]
    Begin,
    Warehouse,
    District,
    CustomersByName,
    Customer,
    History,
    End,
}

/// A Payment in progress, and what the latest one read.
#[derive(Debug, Clone, Default)]
pub struct Payment {
    sent: Sent,
    now_micros: i64,
    /// `C_ID`.
    pub customer: i32,
    name: String,
    /// `W_NAME`, four blanks, `D_NAME`.
    history_data: String,
    credit_data: String,
    /// Customers of the last name looked up.
    pub rows_by_name: Option<usize>,
    /// `C_BALANCE` after the payment, in cents.
    pub balance_cents: i64,
}

impl Payment {
    /// See [`crate::workload::Worker::step`].
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    pub fn step(
        &mut self,
        input: &PaymentInput,
        now_micros: i64,
        reply: Option<&Reply>,
        batch: &mut Batch,
    ) -> Result<Step, DataError> {
        if let Some(reply) = reply {
            if self.sent == Sent::End {
                return Ok(Step::Done(Completion::Committed));
            }
            self.read(input, reply)?;
            self.sent = self.next(input);
        } else {
            self.sent = Sent::Begin;
            self.now_micros = now_micros;
            self.rows_by_name = None;
            if let Customer::Name(number) = input.customer {
                last_name(number, &mut self.name);
            }
        }
        self.send(input, batch);
        Ok(Step::Send)
    }

    fn next(&self, input: &PaymentInput) -> Sent {
        match self.sent {
            Sent::Begin => Sent::Warehouse,
            Sent::Warehouse => Sent::District,
            Sent::District if matches!(input.customer, Customer::Name(_)) => Sent::CustomersByName,
            Sent::District | Sent::CustomersByName => Sent::Customer,
            Sent::Customer => Sent::History,
            Sent::History | Sent::End => Sent::End,
        }
    }

    fn read(&mut self, input: &PaymentInput, reply: &Reply) -> Result<(), DataError> {
        match self.sent {
            Sent::Warehouse => {
                self.history_data.clear();
                self.history_data.push_str(column(first_row(reply, "warehouse")?.text(0), "w_name")?);
            }
            Sent::District => {
                self.history_data.push_str("    ");
                self.history_data.push_str(column(first_row(reply, "district")?.text(0), "d_name")?);
                if let Customer::Id(id) = input.customer {
                    self.customer = id;
                }
            }
            Sent::CustomersByName => {
                self.rows_by_name = Some(reply.row_count(0));
                self.customer = column(middle_row(reply, &self.name)?.i32(0), "c_id")?;
            }
            Sent::Customer => self.balance_cents = column(first_row(reply, "customer")?.numeric(13, 2), "c_balance")?,
            Sent::History => check_affected(reply, 1, "the insertion of history")?,
            Sent::Begin | Sent::End => {}
        }
        Ok(())
    }

    fn send(&mut self, input: &PaymentInput, batch: &mut Batch) {
        let (warehouse, district) = (Value::I32(input.warehouse), Value::I32(input.district));
        let amount = money(i64::from(input.cents));
        match self.sent {
            Sent::Begin => batch.begin(),
            Sent::Warehouse => batch.execute(Query::PaymentWarehouse.id(), &[warehouse, amount]),
            Sent::District => batch.execute(Query::PaymentDistrict.id(), &[warehouse, district, amount]),
            // By name in the customer's own warehouse and district, not in those that are paid.
            Sent::CustomersByName => batch.execute(
                Query::PaymentCustomersByName.id(),
                &[Value::I32(input.customer_warehouse), Value::I32(input.customer_district), Value::Text(&self.name)],
            ),
            Sent::Customer => self.send_customer(input, batch),
            Sent::History => self.send_history(input, batch),
            Sent::End => batch.commit(),
        }
    }

    fn send_customer(&mut self, input: &PaymentInput, batch: &mut Batch) {
        self.credit_data.clear();
        write!(
            self.credit_data,
            "{} {} {} {} {} {}.{:02} ",
            self.customer,
            input.customer_district,
            input.customer_warehouse,
            input.district,
            input.warehouse,
            input.cents / 100,
            input.cents % 100
        )
        .expect("a String takes everything");
        batch.execute(
            Query::PaymentCustomer.id(),
            &[
                Value::I32(input.customer_warehouse),
                Value::I32(input.customer_district),
                Value::I32(self.customer),
                money(i64::from(input.cents)),
                Value::Text(&self.credit_data),
            ],
        );
    }

    fn send_history(&self, input: &PaymentInput, batch: &mut Batch) {
        batch.execute(
            Query::PaymentHistory.id(),
            &[
                Value::I32(self.customer),
                Value::I32(input.customer_district),
                Value::I32(input.customer_warehouse),
                Value::I32(input.district),
                Value::I32(input.warehouse),
                Value::TimestampMicros(self.now_micros),
                money(i64::from(input.cents)),
                Value::Text(&self.history_data),
            ],
        );
    }
}
