//! Rows of WAREHOUSE, DISTRICT, CUSTOMER and HISTORY.

use super::{CUSTOMERS, DISTRICTS, Population, row_index, w_id};
use crate::target::RowWriter;
use crate::target::Value;
use crate::workload::tpcc::random::{NonUniform, Purpose, Stream, Tenth, last_name};
use std::io;

const fn dollars(amount: i64) -> Value<'static> {
    Value::Numeric { unscaled: amount * 100, scale: 2 }
}

/// A share of one with four decimals, as taxes and discounts.
fn share(ten_thousandths: i32) -> Value<'static> {
    Value::Numeric { unscaled: i64::from(ten_thousandths), scale: 4 }
}

impl Population {
    /// Street 1, street 2, city and state; the zip code goes into `zip`.
    fn address<'a>(&'a self, stream: &mut Stream, zip: &mut String) -> [Value<'a>; 4] {
        let [street_1, street_2, city] = std::array::from_fn(|_| self.pools().text(stream, 10, 20));
        let state = self.pools().letters(stream, 2);
        self.pools().zip(stream, zip);
        [street_1, street_2, city, state].map(Value::Text)
    }

    pub(super) fn write_warehouse(&self, warehouse: u32, writer: &mut dyn RowWriter) -> io::Result<()> {
        let stream = &mut Stream::new(self.options.seed, Purpose::Warehouse, warehouse, 0);
        let mut zip = String::new();
        let name = self.pools().text(stream, 6, 10);
        let [street_1, street_2, city, state] = self.address(stream, &mut zip);
        let tax = share(stream.uniform(0, 2_000));
        let id = Value::I32(w_id(warehouse));
        let ytd = dollars(300_000);
        writer.row(&[id, Value::Text(name), street_1, street_2, city, state, Value::Text(&zip), tax, ytd])
    }

    pub(super) fn write_districts(&self, warehouse: u32, writer: &mut dyn RowWriter) -> io::Result<()> {
        let mut zip = String::new();
        for district in 1..=DISTRICTS {
            let stream = &mut Stream::new(self.options.seed, Purpose::District, warehouse, district.unsigned_abs());
            let name = self.pools().text(stream, 6, 10);
            let [street_1, street_2, city, state] = self.address(stream, &mut zip);
            let tax = share(stream.uniform(0, 2_000));
            writer.row(&[
                Value::I32(w_id(warehouse)),
                Value::I32(district),
                Value::Text(name),
                street_1,
                street_2,
                city,
                state,
                Value::Text(&zip),
                tax,
                dollars(30_000),
                Value::I32(CUSTOMERS + 1),
            ])?;
        }
        Ok(())
    }

    pub(super) fn write_customers(&self, warehouse: u32, writer: &mut dyn RowWriter) -> io::Result<()> {
        let mut zip = String::new();
        let mut last = String::new();
        for district in 1..=DISTRICTS {
            let credits =
                &mut Stream::new(self.options.seed, Purpose::CustomerCredit, warehouse, district.unsigned_abs());
            let mut tenth = Tenth::of(CUSTOMERS.unsigned_abs());
            for id in 1..=CUSTOMERS {
                let place = row_index(district, id);
                let stream = &mut Stream::new(self.options.seed, Purpose::Customer, warehouse, place);
                let credit = if tenth.next(credits) { "BC" } else { "GC" };
                last_name(self.last_name_number(id, stream), &mut last);
                let ids = [w_id(warehouse), district, id].map(Value::I32);
                self.write_customer(ids, credit, &last, &mut zip, stream, writer)?;
            }
        }
        Ok(())
    }

    /// The first thousand customers of a district hold each name once; the others draw theirs with `C_load`.
    fn last_name_number(&self, id: i32, stream: &mut Stream) -> i32 {
        if id <= 1_000 { id - 1 } else { NonUniform::last_name(self.constants.c_load).draw(stream) }
    }

    fn write_customer(
        &self,
        [w_id, d_id, id]: [Value<'_>; 3],
        credit: &str,
        last: &str,
        zip: &mut String,
        stream: &mut Stream,
        writer: &mut dyn RowWriter,
    ) -> io::Result<()> {
        let first = self.pools().text(stream, 8, 16);
        let [street_1, street_2, city, state] = self.address(stream, zip);
        writer.row(&[
            w_id,
            d_id,
            id,
            Value::Text(first),
            Value::Text("OE"),
            Value::Text(last),
            street_1,
            street_2,
            city,
            state,
            Value::Text(zip),
            Value::Text(self.pools().digits(stream, 16)),
            Value::TimestampMicros(self.options.loaded_at_micros),
            Value::Text(credit),
            dollars(50_000),
            share(stream.uniform(0, 5_000)),
            dollars(-10),
            dollars(10),
            Value::I32(1),
            Value::I32(0),
            Value::Text(self.pools().text(stream, 300, 500)),
        ])
    }

    pub(super) fn write_history(&self, warehouse: u32, writer: &mut dyn RowWriter) -> io::Result<()> {
        let w_id = Value::I32(w_id(warehouse));
        for district in 1..=DISTRICTS {
            for customer in 1..=CUSTOMERS {
                let place = row_index(district, customer);
                let stream = &mut Stream::new(self.options.seed, Purpose::History, warehouse, place);
                writer.row(&[
                    Value::I32(customer),
                    Value::I32(district),
                    w_id,
                    Value::I32(district),
                    w_id,
                    Value::TimestampMicros(self.options.loaded_at_micros),
                    dollars(10),
                    Value::Text(self.pools().text(stream, 12, 24)),
                ])?;
            }
        }
        Ok(())
    }
}
