//! Payment (clause 2.5).

use super::script::{Act::Begin, Act::Do, Act::End, Answer, Outbox, Script, Transaction};
use super::{column, money};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, Value};
use crate::workload::DataError;
use crate::workload::tpcc::input::{Customer, PaymentInput};
use crate::workload::tpcc::profile::Profile;
use crate::workload::tpcc::random::last_name;
use crate::workload::tpcc::statements::Query;

/// Most characters of `C_DATA`.
const CREDIT_DATA: usize = 500;

/// Its statements.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    AddToWarehouse,
    ReadWarehouse,
    UpdateWarehouse,
    AddToDistrict,
    ReadDistrict,
    UpdateDistrict,
    CustomersByName,
    LockCustomer,
    CreditData,
    PayByLockedCustomer,
    UpdateCustomer,
    InsertHistory,
    Pay,
}
use Task::*;

const CHATTY: Script<Task> = &[
    &[Begin],
    &[Do(AddToWarehouse)],
    &[Do(ReadWarehouse)],
    &[Do(AddToDistrict)],
    &[Do(ReadDistrict)],
    &[Do(CustomersByName)],
    &[Do(LockCustomer)],
    &[Do(CreditData)],
    &[Do(PayByLockedCustomer)],
    &[Do(InsertHistory)],
    &[End],
];
const BATCHED: Script<Task> = &[
    &[Begin],
    &[Do(UpdateWarehouse)],
    &[Do(UpdateDistrict)],
    &[Do(CustomersByName)],
    &[Do(UpdateCustomer)],
    &[Do(InsertHistory)],
    &[End],
];
const PIPELINED: Script<Task> = &[&[Begin, Do(AddToWarehouse), Do(AddToDistrict), Do(Pay), End]];
/// One statement is a transaction of its own.
const PROC: Script<Task> = &[&[Do(Pay)]];

/// The output of the latest Payment.
#[derive(Debug, Clone, Default)]
pub struct Payment {
    now_micros: i64,
    /// `C_ID`.
    pub customer: i32,
    name: String,
    /// `W_NAME`, four blanks, `D_NAME`.
    history_data: String,
    bad_credit: bool,
    /// What is put before `C_DATA` of a customer of bad credit, behind the customer's number.
    credit_note: String,
    credit_data: String,
    /// Customers of the last name looked up.
    pub rows_by_name: Option<usize>,
    /// `C_BALANCE` after the payment, in cents.
    pub balance_cents: i64,
}

impl Transaction for Payment {
    type Input = PaymentInput;
    type Task = Task;

    fn script(profile: Profile, _dialect: Dialect, _input: &PaymentInput) -> Script<Task> {
        match profile {
            Profile::Chatty => CHATTY,
            Profile::Batched => BATCHED,
            Profile::Pipelined => PIPELINED,
            Profile::Proc => PROC,
        }
    }

    fn start(&mut self, input: &PaymentInput, now_micros: i64) {
        self.now_micros = now_micros;
        self.rows_by_name = None;
        self.bad_credit = false;
        match input.customer {
            Customer::Name(number) => last_name(number, &mut self.name),
            Customer::Id(id) => self.customer = id,
        }
        self.credit_note.clear();
        let PaymentInput { customer_district, customer_warehouse, district, warehouse, cents, .. } = *input;
        for number in [customer_district, customer_warehouse, district, warehouse, cents / 100] {
            self.credit_note.push(' ');
            push_number(number, &mut self.credit_note);
        }
        self.credit_note.push('.');
        push_number(cents / 10 % 10, &mut self.credit_note);
        push_number(cents % 10, &mut self.credit_note);
        self.credit_note.push(' ');
    }

    fn due(&self, task: Task, input: &PaymentInput) -> usize {
        match task {
            CustomersByName => usize::from(matches!(input.customer, Customer::Name(_))),
            CreditData => usize::from(self.bad_credit),
            _ => 1,
        }
    }

    fn send(&mut self, task: Task, _nth: usize, input: &PaymentInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let (warehouse, district) = (Value::I32(input.warehouse), Value::I32(input.district));
        let amount = money(i64::from(input.cents));
        match task {
            AddToWarehouse => out.execute(Query::PaymentAddToWarehouse, &[warehouse, amount]),
            ReadWarehouse => out.execute(Query::PaymentReadWarehouse, &[warehouse]),
            UpdateWarehouse => out.execute(Query::PaymentUpdateWarehouse, &[warehouse, amount]),
            AddToDistrict => out.execute(Query::PaymentAddToDistrict, &[warehouse, district, amount]),
            ReadDistrict => out.execute(Query::PaymentReadDistrict, &[warehouse, district]),
            UpdateDistrict => out.execute(Query::PaymentUpdateDistrict, &[warehouse, district, amount]),
            CustomersByName => {
                let [warehouse, district, _] = self.customer_key(input);
                out.execute(Query::CustomersByName, &[warehouse, district, Value::Text(&self.name)]);
            }
            LockCustomer => out.execute(Query::PaymentLockCustomer, &self.customer_key(input)),
            CreditData => out.execute(Query::PaymentCreditData, &self.customer_key(input)),
            PayByLockedCustomer => self.send_pay_by_locked_customer(input, out),
            UpdateCustomer => self.send_update_customer(input, out),
            InsertHistory => self.send_history(input, out),
            Pay => self.send_pay(input, out),
        }
    }

    fn read(
        &mut self,
        task: Task,
        _nth: usize,
        input: &PaymentInput,
        answer: Answer<'_, impl SqlReply>,
    ) -> Result<(), DataError> {
        match task {
            AddToWarehouse => answer.check_affected(1, "the update of a warehouse"),
            AddToDistrict => answer.check_affected(1, "the update of a district"),
            ReadWarehouse | UpdateWarehouse => {
                self.history_data.clear();
                self.history_data.push_str(column(answer.first_row("warehouse")?.text(0), "w_name")?);
                Ok(())
            }
            ReadDistrict | UpdateDistrict => {
                self.history_data.push_str("    ");
                self.history_data.push_str(column(answer.first_row("district")?.text(0), "d_name")?);
                Ok(())
            }
            CustomersByName => {
                self.rows_by_name = Some(answer.row_count());
                self.customer = column(answer.middle_row(&self.name)?.i32(0), "c_id")?;
                Ok(())
            }
            LockCustomer => {
                let row = answer.first_row("customer")?;
                self.bad_credit = column(row.text(10), "c_credit")? == "BC";
                self.balance_cents = column(row.numeric(13, 2), "c_balance")? - i64::from(input.cents);
                Ok(())
            }
            CreditData => {
                self.write_credit_data();
                self.credit_data.push_str(column(answer.first_row("customer")?.text(0), "c_data")?);
                let end = self.credit_data.char_indices().nth(CREDIT_DATA);
                self.credit_data.truncate(end.map_or(self.credit_data.len(), |(end, _)| end));
                Ok(())
            }
            PayByLockedCustomer => answer.check_affected(1, "the update of a customer"),
            UpdateCustomer => {
                self.balance_cents = column(answer.first_row("customer")?.numeric(13, 2), "c_balance")?;
                Ok(())
            }
            InsertHistory => answer.check_affected(1, "the insertion of history"),
            Pay => self.read_pay(input, answer),
        }
    }
}

impl Payment {
    fn read_pay(&mut self, input: &PaymentInput, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        let row = answer.first_row("customer")?;
        self.balance_cents = column(row.numeric(13, 2), "c_balance")?;
        if matches!(input.customer, Customer::Name(_)) {
            self.customer = column(row.i32(15), "c_id")?;
            self.rows_by_name = usize::try_from(column(row.i64(16), "the number of customers")?).ok();
        }
        Ok(())
    }

    fn customer_key(&self, input: &PaymentInput) -> [Value<'static>; 3] {
        // By name in the customer's own warehouse and district, not in those that are paid.
        [input.customer_warehouse, input.customer_district, self.customer].map(Value::I32)
    }

    fn write_credit_data(&mut self) {
        self.credit_data.clear();
        push_number(self.customer, &mut self.credit_data);
        self.credit_data.push_str(&self.credit_note);
    }

    fn send_pay_by_locked_customer(&self, input: &PaymentInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let [warehouse, district, customer] = self.customer_key(input);
        let amount = money(i64::from(input.cents));
        if self.bad_credit {
            let data = Value::Text(&self.credit_data);
            out.execute(Query::PaymentPayBadCustomer, &[warehouse, district, customer, amount, data]);
        } else {
            out.execute(Query::PaymentPayCustomer, &[warehouse, district, customer, amount]);
        }
    }

    fn send_update_customer(&mut self, input: &PaymentInput, out: &mut Outbox<'_, impl SqlBatch>) {
        self.write_credit_data();
        let [warehouse, district, customer] = self.customer_key(input);
        let (amount, data) = (money(i64::from(input.cents)), Value::Text(&self.credit_data));
        out.execute(Query::PaymentUpdateCustomer, &[warehouse, district, customer, amount, data]);
    }

    fn send_history(&self, input: &PaymentInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let [customer_warehouse, customer_district, customer] = self.customer_key(input);
        out.execute(
            Query::PaymentHistory,
            &[
                customer,
                customer_district,
                customer_warehouse,
                Value::I32(input.district),
                Value::I32(input.warehouse),
                Value::TimestampMicros(self.now_micros),
                money(i64::from(input.cents)),
                Value::Text(&self.history_data),
            ],
        );
    }

    fn send_pay(&self, input: &PaymentInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let (query, customer) = match input.customer {
            Customer::Id(id) => (Query::PaymentPayByNumber, Value::I32(id)),
            Customer::Name(_) => (Query::PaymentPayByName, Value::Text(&self.name)),
        };
        out.execute(
            query,
            &[
                Value::I32(input.customer_warehouse),
                Value::I32(input.customer_district),
                customer,
                money(i64::from(input.cents)),
                Value::Text(&self.credit_note),
                Value::I32(input.district),
                Value::I32(input.warehouse),
                Value::TimestampMicros(self.now_micros),
            ],
        );
    }
}

/// Appends a number in decimal: a tenth of the instructions of `write!`.
fn push_number(number: i32, text: &mut String) {
    let (mut digits, mut at, mut rest) = ([b'0'; 10], 10, number.unsigned_abs());
    while rest > 0 || at == 10 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if number < 0 {
        text.push('-');
    }
    text.extend(digits[at..].iter().map(|&digit| char::from(digit)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_rust_does() {
        for number in [0, 7, 10, 99, 1_234_567_890, i32::MAX, -1, i32::MIN] {
            let mut text = String::new();
            push_number(number, &mut text);
            assert_eq!(text, number.to_string());
        }
    }

    #[test]
    fn a_credit_note_names_customer_district_and_amount() {
        let mut payment = Payment::default();
        let input = PaymentInput {
            warehouse: 4,
            district: 3,
            customer_warehouse: 2,
            customer_district: 1,
            cents: 123_405,
            ..Default::default()
        };
        payment.start(&input, 0);
        assert_eq!(payment.credit_note, " 1 2 3 4 1234.05 ");
    }
}
