//! Rows of ORDER, ORDER-LINE and NEW-ORDER. An order's number of lines is the first draw of its own stream, so that
//! ORDER and ORDER-LINE agree though they are written apart.

use super::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, Population, row_index, w_id};
use crate::target::RowWriter;
use crate::target::Value;
use crate::workload::tpcc::random::{Purpose, Stream};
use std::io;

/// The draws of one ORDER row.
struct Order {
    line_count: i32,
    carrier: i32,
}

impl Population {
    fn order(&self, warehouse: u32, district: i32, id: i32) -> Order {
        let mut stream = Stream::new(self.options.seed, Purpose::Order, warehouse, row_index(district, id));
        Order { line_count: stream.uniform(5, 15), carrier: stream.uniform(1, 10) }
    }

    pub(super) fn write_orders(&self, warehouse: u32, writer: &mut dyn RowWriter) -> io::Result<()> {
        for district in 1..=DISTRICTS {
            let customers = Stream::new(self.options.seed, Purpose::OrderCustomer, warehouse, district.unsigned_abs())
                .permutation(CUSTOMERS);
            for (id, customer) in (1..=CUSTOMERS).zip(customers) {
                let order = self.order(warehouse, district, id);
                writer.row(&[
                    Value::I32(w_id(warehouse)),
                    Value::I32(district),
                    Value::I32(id),
                    Value::I32(customer),
                    Value::TimestampMicros(self.options.loaded_at_micros),
                    if id < FIRST_NEW_ORDER { Value::I32(order.carrier) } else { Value::Null },
                    Value::I32(order.line_count),
                    Value::I32(1),
                ])?;
            }
        }
        Ok(())
    }

    pub(super) fn write_order_lines(&self, warehouse: u32, writer: &mut dyn RowWriter) -> io::Result<()> {
        for district in 1..=DISTRICTS {
            for id in 1..=CUSTOMERS {
                self.write_lines_of(warehouse, district, id, writer)?;
            }
        }
        Ok(())
    }

    fn write_lines_of(&self, warehouse: u32, district: i32, id: i32, writer: &mut dyn RowWriter) -> io::Result<()> {
        let stream = &mut Stream::new(self.options.seed, Purpose::OrderLine, warehouse, row_index(district, id));
        let delivered = id < FIRST_NEW_ORDER;
        let w_id = Value::I32(w_id(warehouse));
        for number in 1..=self.order(warehouse, district, id).line_count {
            let item = stream.uniform(1, ITEMS);
            let cents = if delivered { 0 } else { stream.uniform(1, 999_999) };
            writer.row(&[
                w_id,
                Value::I32(district),
                Value::I32(id),
                Value::I32(number),
                Value::I32(item),
                w_id,
                if delivered { Value::TimestampMicros(self.options.loaded_at_micros) } else { Value::Null },
                Value::I32(5),
                Value::Numeric { unscaled: i64::from(cents), scale: 2 },
                Value::Text(self.pools().letters(stream, 24)),
            ])?;
        }
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "one shape for the writers of all tables")]
    pub(super) fn write_new_orders(&self, warehouse: u32, writer: &mut dyn RowWriter) -> io::Result<()> {
        for district in 1..=DISTRICTS {
            for id in FIRST_NEW_ORDER..=CUSTOMERS {
                writer.row(&[w_id(warehouse), district, id].map(Value::I32))?;
            }
        }
        Ok(())
    }
}
