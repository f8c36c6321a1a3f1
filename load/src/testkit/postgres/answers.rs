//! What the fake target says to each statement: bytes made once.

use crate::target::Value;
use crate::target::postgres::value::{
    BPCHAR_OID, INT4_OID, INT8_OID, NUMERIC_OID, TEXT_OID, VARCHAR_OID, encode_field,
};
use crate::target::postgres::{Connection, Isolation};
use crate::workload::tpcc::constants::StoredConstants;
use bytes::{BufMut, BytesMut};
use postgres_protocol::message::backend::{DATA_ROW_TAG, ROW_DESCRIPTION_TAG};

const TIMESTAMP_OID: u32 = 1114;
const VOID_OID: u32 = 2278;
/// `NoData`, which `postgres_protocol` does not name.
const NO_DATA_TAG: u8 = b'n';
/// All values are sent as binary; texts are the same bytes in both formats, and the simple protocol gets only texts.
const BINARY: i16 = 1;

/// What a statement does to the session's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    Begins,
    Ends,
}

/// How many of an answer's rows are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    All,
    /// One for each item of stock that this parameter names.
    Items(usize),
}

/// The answer to one statement.
#[derive(Debug)]
pub(super) struct Answer {
    /// The statements that begin so.
    prefix: &'static str,
    /// The command tag, without the number of rows of a SELECT.
    pub(super) tag: &'static str,
    pub(super) effect: Effect,
    /// `RowDescription` or `NoData`.
    pub(super) description: BytesMut,
    rows: Vec<BytesMut>,
    sent: Rows,
}

impl Answer {
    fn command(prefix: &'static str, tag: &'static str, effect: Effect) -> Self {
        let mut description = BytesMut::new();
        message(NO_DATA_TAG, &mut description, |_| {});
        Self { prefix, tag, effect, description, rows: Vec::new(), sent: Rows::All }
    }

    fn rows(prefix: &'static str, columns: &[u32], rows: &[Vec<Value<'_>>]) -> Self {
        let mut description = BytesMut::new();
        message(ROW_DESCRIPTION_TAG, &mut description, |out| describe(columns, out));
        let row = |values: &Vec<Value<'_>>| {
            let mut bytes = BytesMut::new();
            message(DATA_ROW_TAG, &mut bytes, |out| {
                out.put_i16(values.len() as i16);
                values.iter().for_each(|value| encode_field(value, out));
            });
            bytes
        };
        let rows = rows.iter().map(row).collect();
        Self { prefix, tag: "SELECT", effect: Effect::None, description, rows, sent: Rows::All }
    }

    fn one_for_each_item(self, parameter: usize) -> Self {
        Self { sent: Rows::Items(parameter), ..self }
    }

    /// The rows to send; `items` answers how many items of stock the n-th parameter names.
    pub(super) fn rows_for(&self, items: impl Fn(usize) -> usize) -> &[BytesMut] {
        let count = match self.sent {
            Rows::All => self.rows.len(),
            Rows::Items(parameter) => items(parameter),
        };
        &self.rows[..count.min(self.rows.len())]
    }
}

/// A message: its tag, its length, its body.
pub(super) fn message(tag: u8, out: &mut BytesMut, body: impl FnOnce(&mut BytesMut)) {
    out.put_u8(tag);
    let at = out.len();
    out.put_i32(0);
    body(out);
    let length = (out.len() - at) as i32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn describe(columns: &[u32], out: &mut BytesMut) {
    out.put_i16(columns.len() as i16);
    for oid in columns {
        out.put_slice(b"column\0");
        out.put_i32(0); // no table
        out.put_i16(0);
        out.put_u32(*oid);
        out.put_i16(-1); // no fixed length, no modifier
        out.put_i32(-1);
        out.put_i16(BINARY);
    }
}

/// The answers to all statements that it knows.
#[derive(Debug)]
pub struct Answers(Vec<Answer>);

impl Answers {
    /// Of a data set of this many warehouses, as it is loaded from seed 1.
    #[must_use]
    pub fn new(warehouses: u32) -> Self {
        let mut all = vec![
            Answer::command("BEGIN", "BEGIN", Effect::Begins),
            Answer::command("COMMIT", "COMMIT", Effect::Ends),
            Answer::command("ROLLBACK", "ROLLBACK", Effect::Ends),
            Answer::command("SET ", "SET", Effect::None),
            Answer::rows(Isolation::SHOW, &[TEXT_OID], &[vec![Value::Text(Isolation::default().name())]]),
            Answer::command("CREATE OR REPLACE FUNCTION", "CREATE FUNCTION", Effect::None),
            Answer::rows(Connection::BACKEND, &[INT4_OID], &[vec![Value::Text("0")]]),
            Answer::rows("SELECT pg_advisory_xact_lock", &[VOID_OID], &[vec![Value::Text("")]]),
            Answer::rows("SELECT c FROM sbtest1", &[BPCHAR_OID], &[vec![Value::Text(&"0".repeat(120))]]),
            constants(warehouses),
        ];
        all.extend([new_order(), payment(), order_status(), delivery(), stock_level()]);
        Self(all)
    }

    pub(super) fn find(&self, sql: &str) -> Option<usize> {
        self.0.iter().position(|answer| sql.starts_with(answer.prefix))
    }

    pub(super) fn get(&self, index: usize) -> &Answer {
        &self.0[index]
    }
}

fn constants(warehouses: u32) -> Answer {
    let rows = StoredConstants::new(warehouses, 1).rows().map(|(name, value)| (name, value.to_string()));
    let values: Vec<_> = rows.iter().map(|(name, value)| vec![Value::Text(name), Value::Text(value)]).collect();
    Answer::rows("SELECT name, value FROM tpcc_constant", &[TEXT_OID, TEXT_OID], &values)
}

const TAX: Value<'_> = Value::Numeric { unscaled: 1_000, scale: 4 };

fn money(cents: i64) -> Value<'static> {
    Value::Numeric { unscaled: cents, scale: 2 }
}

/// A row for each item that exists: parameter 9 names them.
fn new_order() -> Answer {
    let columns = [
        INT4_OID,
        NUMERIC_OID,
        NUMERIC_OID,
        NUMERIC_OID,
        VARCHAR_OID,
        BPCHAR_OID,
        INT4_OID,
        VARCHAR_OID,
        NUMERIC_OID,
        NUMERIC_OID,
        INT4_OID,
        TEXT_OID,
    ];
    let row = |number| {
        let [name, credit, item, brand] = ["BARBARBAR", "GC", "an item of no stock", "G"].map(Value::Text);
        let [order, number, quantity] = [3_001, number, 50].map(Value::I32);
        vec![order, TAX, TAX, TAX, name, credit, number, item, money(1_000), money(5_000), quantity, brand]
    };
    let rows: Vec<_> = (1..=15).map(row).collect();
    Answer::rows("SELECT * FROM tpcc_new_order(", &columns, &rows).one_for_each_item(8)
}

fn payment() -> Answer {
    let address = [VARCHAR_OID, VARCHAR_OID, VARCHAR_OID, VARCHAR_OID, BPCHAR_OID, BPCHAR_OID];
    let customer = [
        VARCHAR_OID,
        BPCHAR_OID,
        VARCHAR_OID,
        VARCHAR_OID,
        VARCHAR_OID,
        VARCHAR_OID,
        BPCHAR_OID,
        BPCHAR_OID,
        BPCHAR_OID,
        TIMESTAMP_OID,
        BPCHAR_OID,
        NUMERIC_OID,
        NUMERIC_OID,
        NUMERIC_OID,
        TEXT_OID,
        INT4_OID,
        INT8_OID,
    ];
    let columns: Vec<u32> = customer.into_iter().chain(address).chain(address).collect();
    let mut row: Vec<_> = columns.iter().map(|_| Value::Text("of nobody")).collect();
    row[9] = Value::TimestampMicros(0);
    row[11..14].copy_from_slice(&[money(5_000_000), TAX, money(-1_000)]);
    row[15..17].copy_from_slice(&[Value::I32(1), Value::I64(3)]);
    Answer::rows("SELECT * FROM tpcc_payment(", &columns, &[row])
}

fn order_status() -> Answer {
    let columns = [
        INT4_OID,
        NUMERIC_OID,
        VARCHAR_OID,
        BPCHAR_OID,
        VARCHAR_OID,
        INT8_OID,
        INT4_OID,
        TIMESTAMP_OID,
        INT4_OID,
        INT4_OID,
        INT4_OID,
        INT4_OID,
        NUMERIC_OID,
        TIMESTAMP_OID,
    ];
    let [first, middle, last] = ["of nobody", "OE", "BARBARBAR"].map(Value::Text);
    let [customer, order, carrier, item, warehouse, quantity] = [1, 3_000, 1, 1, 1, 5].map(Value::I32);
    let at = Value::TimestampMicros(0);
    let row = vec![
        customer,
        money(-1_000),
        first,
        middle,
        last,
        Value::I64(3),
        order,
        at,
        carrier,
        item,
        warehouse,
        quantity,
        money(5_000),
        at,
    ];
    Answer::rows("SELECT * FROM tpcc_order_status(", &columns, &vec![row; 10])
}

fn delivery() -> Answer {
    let columns = [INT4_OID, INT4_OID, INT4_OID, NUMERIC_OID, INT8_OID, INT8_OID];
    let row = |district| {
        let [district, order, customer] = [district, 2_101, 1].map(Value::I32);
        vec![district, order, customer, money(50_000), Value::I64(10), Value::I64(10)]
    };
    Answer::rows("SELECT * FROM tpcc_delivery(", &columns, &(1..=10).map(row).collect::<Vec<_>>())
}

fn stock_level() -> Answer {
    Answer::rows("SELECT * FROM tpcc_stock_level(", &[INT8_OID], &[vec![Value::I64(7)]])
}
