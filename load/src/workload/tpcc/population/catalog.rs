//! Rows of ITEM and STOCK.

use super::{ITEMS, Population, w_id};
use crate::target::RowWriter;
use crate::target::Value;
use crate::workload::tpcc::random::{Purpose, Stream, Tenth};
use std::io;

impl Population {
    pub(super) fn write_items(&self, writer: &mut dyn RowWriter) -> io::Result<()> {
        let mut originals = Stream::new(self.options.seed, Purpose::ItemOriginal, 0, 0);
        let mut tenth = Tenth::of(ITEMS.unsigned_abs());
        let mut data = String::new();
        for id in 1..=ITEMS {
            let stream = &mut Stream::new(self.options.seed, Purpose::Item, 0, id.unsigned_abs());
            let image = stream.uniform(1, 10_000);
            let name = self.pools().text(stream, 14, 24);
            let price = i64::from(stream.uniform(100, 10_000));
            self.pools().data(stream, tenth.next(&mut originals), &mut data);
            writer.row(&[
                Value::I32(id),
                Value::I32(image),
                Value::Text(name),
                Value::Numeric { unscaled: price, scale: 2 },
                Value::Text(&data),
            ])?;
        }
        Ok(())
    }

    pub(super) fn write_stock(&self, warehouse: u32, writer: &mut dyn RowWriter) -> io::Result<()> {
        let mut originals = Stream::new(self.options.seed, Purpose::StockOriginal, warehouse, 0);
        let mut tenth = Tenth::of(ITEMS.unsigned_abs());
        let mut data = String::new();
        for id in 1..=ITEMS {
            let stream = &mut Stream::new(self.options.seed, Purpose::Stock, warehouse, id.unsigned_abs());
            let quantity = stream.uniform(10, 100);
            let mut row = [Value::I32(0); 17];
            row[0] = Value::I32(w_id(warehouse));
            row[1] = Value::I32(id);
            row[2] = Value::I32(quantity);
            for dist in &mut row[3..13] {
                *dist = Value::Text(self.pools().letters(stream, 24));
            }
            // 13..16: s_ytd, s_order_cnt and s_remote_cnt start at 0.
            self.pools().data(stream, tenth.next(&mut originals), &mut data);
            row[16] = Value::Text(&data);
            writer.row(&row)?;
        }
        Ok(())
    }
}
