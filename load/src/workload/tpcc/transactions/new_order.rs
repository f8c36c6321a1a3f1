//! New-Order (clause 2.4): 11 round trips, also when it is rolled back.

use super::{check_affected, column, first_row};
use crate::target::Value;
use crate::target::postgres::{Batch, Reply};
use crate::workload::tpcc::input::{MAX_LINES, NewOrderInput, UNUSED_ITEM};
use crate::workload::tpcc::statements::{Query, stock};
use crate::workload::{Completion, DataError, Step};

const ORIGINAL: &str = "ORIGINAL";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sent {
    #[default]
    Begin,
    District,
    Warehouse,
    Customer,
    Items,
    Stock,
    Order,
    NewOrder,
    UpdateStock,
    Lines,
    End,
}

impl Sent {
    const fn next(self) -> Self {
        match self {
            Self::Begin => Self::District,
            Self::District => Self::Warehouse,
            Self::Warehouse => Self::Customer,
            Self::Customer => Self::Items,
            Self::Items => Self::Stock,
            Self::Stock => Self::Order,
            Self::Order => Self::NewOrder,
            Self::NewOrder => Self::UpdateStock,
            Self::UpdateStock => Self::Lines,
            Self::Lines | Self::End => Self::End,
        }
    }
}

/// What was read for one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineOutput {
    /// `I_PRICE` in cents.
    pub price_cents: i64,
    /// `S_QUANTITY` after this order.
    pub stock_quantity: i32,
    /// `OL_AMOUNT` in cents: no tax and no discount in it.
    pub amount_cents: i64,
    /// True for "B": both `I_DATA` and `S_DATA` hold "ORIGINAL".
    pub brand: bool,
    item_original: bool,
    dist_info: String,
    found: bool,
}

/// A New-Order in progress, and the output of the latest one.
#[derive(Debug, Clone)]
pub struct NewOrder {
    sent: Sent,
    entry_micros: i64,
    district_tax: i64,
    warehouse_tax: i64,
    discount: i64,
    /// `O_ID`.
    pub order: i32,
    lines: Vec<LineOutput>,
    /// Lines of items that exist: all, or all but the last.
    valid: usize,
}

impl Default for NewOrder {
    fn default() -> Self {
        Self {
            sent: Sent::default(),
            entry_micros: 0,
            district_tax: 0,
            warehouse_tax: 0,
            discount: 0,
            order: 0,
            lines: vec![LineOutput::default(); MAX_LINES],
            valid: 0,
        }
    }
}

impl NewOrder {
    /// See [`crate::workload::Worker::step`].
    ///
    /// # Errors
    /// [`DataError`] when a row is missing.
    pub fn step(
        &mut self,
        input: &NewOrderInput,
        now_micros: i64,
        reply: Option<&Reply>,
        batch: &mut Batch,
    ) -> Result<Step, DataError> {
        if let Some(reply) = reply {
            if self.sent == Sent::End {
                let by_design = input.rolls_back();
                return Ok(Step::Done(if by_design { Completion::RolledBackByDesign } else { Completion::Committed }));
            }
            self.read(input, reply)?;
            self.sent = self.sent.next();
        } else {
            self.sent = Sent::Begin;
            self.entry_micros = now_micros;
            self.valid = input.lines.iter().filter(|line| line.item != UNUSED_ITEM).count();
        }
        self.send(input, batch);
        Ok(Step::Send)
    }

    /// The lines of items that exist.
    #[must_use]
    pub fn lines(&self) -> &[LineOutput] {
        &self.lines[..self.valid]
    }

    /// `sum(OL_AMOUNT) * (1 - C_DISCOUNT) * (1 + W_TAX + D_TAX)` in cents, rounded half up.
    #[must_use]
    pub fn total_cents(&self) -> i64 {
        let sum: i64 = self.lines().iter().map(|line| line.amount_cents).sum();
        let exact = sum * (10_000 - self.discount) * (10_000 + self.warehouse_tax + self.district_tax);
        (exact + 50_000_000) / 100_000_000
    }

    fn read(&mut self, input: &NewOrderInput, reply: &Reply) -> Result<(), DataError> {
        match self.sent {
            Sent::District => {
                let row = first_row(reply, "district")?;
                self.district_tax = column(row.numeric(0, 4), "d_tax")?;
                self.order = column(row.i32(1), "d_next_o_id")?;
                Ok(())
            }
            Sent::Warehouse => {
                self.warehouse_tax = column(first_row(reply, "warehouse")?.numeric(0, 4), "w_tax")?;
                Ok(())
            }
            Sent::Customer => {
                self.discount = column(first_row(reply, "customer")?.numeric(0, 4), "c_discount")?;
                Ok(())
            }
            Sent::Items => self.read_items(input, reply),
            Sent::Stock => self.read_stocks(input, reply),
            Sent::Order | Sent::NewOrder => check_affected(reply, 1, "the insertion of an order"),
            Sent::UpdateStock => check_affected(reply, self.valid, "the update of stocks"),
            Sent::Lines => check_affected(reply, self.valid, "the insertion of order lines"),
            Sent::Begin | Sent::End => Ok(()),
        }
    }

    fn read_items(&mut self, input: &NewOrderInput, reply: &Reply) -> Result<(), DataError> {
        for index in 0..reply.row_count(0) {
            let row = column(reply.row(0, index), "item")?;
            let id = column(row.i32(0), "i_id")?;
            let place = input.lines.iter().position(|line| line.item == id);
            let place = column(place.filter(|&place| place < self.valid), "the line of an item")?;
            let line = &mut self.lines[place];
            line.price_cents = column(row.numeric(1, 2), "i_price")?;
            line.amount_cents = line.price_cents * i64::from(input.lines[place].quantity);
            line.item_original = column(row.text(3), "i_data")?.contains(ORIGINAL);
        }
        // The unused item is the only one that may be missing. Its order goes on with all the others, and is rolled
        // back only at its end: no work may be saved by knowing it (2.4.2.3).
        if reply.row_count(0) == self.valid {
            return Ok(());
        }
        Err(DataError(format!("{} items found of {}", reply.row_count(0), self.valid)))
    }

    fn read_stocks(&mut self, input: &NewOrderInput, reply: &Reply) -> Result<(), DataError> {
        for line in &mut self.lines {
            line.found = false;
        }
        for index in 0..reply.row_count(0) {
            let row = column(reply.row(0, index), "stock")?;
            let (warehouse, item) = (column(row.i32(0), "s_w_id")?, column(row.i32(1), "s_i_id")?);
            let asked = &input.lines[..self.valid];
            let place = asked.iter().position(|line| line.item == item && line.supply_warehouse == warehouse);
            let place = column(place, "the line of a stock")?;
            let quantity = column(row.i32(2), "s_quantity")?;
            let line = &mut self.lines[place];
            line.stock_quantity = quantity_after(quantity, asked[place].quantity);
            line.brand = line.item_original && column(row.text(3), "s_data")?.contains(ORIGINAL);
            line.dist_info.clear();
            line.dist_info.push_str(column(row.text(4), "s_dist")?);
            line.found = true;
        }
        if self.lines().iter().all(|line| line.found) {
            return Ok(());
        }
        Err(DataError(format!("{} stocks found of {}", reply.row_count(0), self.valid)))
    }

    fn send(&self, input: &NewOrderInput, batch: &mut Batch) {
        let (warehouse, district) = (Value::I32(input.warehouse), Value::I32(input.district));
        let order = Value::I32(self.order);
        match self.sent {
            Sent::Begin => batch.begin(),
            Sent::District => batch.execute(Query::NewOrderDistrict.id(), &[warehouse, district]),
            Sent::Warehouse => batch.execute(Query::NewOrderWarehouse.id(), &[warehouse]),
            Sent::Customer => {
                batch.execute(Query::NewOrderCustomer.id(), &[warehouse, district, Value::I32(input.customer)]);
            }
            Sent::Items => {
                let items = each(input, |line| line.item);
                batch.execute(Query::NewOrderItems.id(), &[Value::I32Array(&items[..input.lines.len()])]);
            }
            Sent::Stock => {
                let warehouses = each(input, |line| line.supply_warehouse);
                let items = each(input, |line| line.item);
                let arrays = [&warehouses, &items].map(|array| Value::I32Array(&array[..self.valid]));
                batch.execute(stock(input.district), &arrays);
            }
            Sent::Order => self.send_order(input, batch),
            Sent::NewOrder => batch.execute(Query::NewOrderInsertNewOrder.id(), &[order, district, warehouse]),
            Sent::UpdateStock => self.send_stock(input, batch),
            Sent::Lines => self.send_lines(input, batch),
            Sent::End if input.rolls_back() => batch.rollback(),
            Sent::End => batch.commit(),
        }
    }

    fn send_order(&self, input: &NewOrderInput, batch: &mut Batch) {
        let count = i32::try_from(input.lines.len()).expect("at most fifteen lines");
        batch.execute(
            Query::NewOrderInsertOrder.id(),
            &[
                Value::I32(self.order),
                Value::I32(input.district),
                Value::I32(input.warehouse),
                Value::I32(input.customer),
                Value::TimestampMicros(self.entry_micros),
                Value::I32(count),
                Value::I32(i32::from(!input.is_remote())),
            ],
        );
    }

    fn send_stock(&self, input: &NewOrderInput, batch: &mut Batch) {
        let warehouses = each(input, |line| line.supply_warehouse);
        let items = each(input, |line| line.item);
        let after: [i32; MAX_LINES] = std::array::from_fn(|index| self.lines[index].stock_quantity);
        let ordered = each(input, |line| line.quantity);
        let remote = each(input, |line| i32::from(line.supply_warehouse != input.warehouse));
        let arrays = [&warehouses, &items, &after, &ordered, &remote];
        batch.execute(Query::NewOrderUpdateStock.id(), &arrays.map(|array| Value::I32Array(&array[..self.valid])));
    }

    fn send_lines(&self, input: &NewOrderInput, batch: &mut Batch) {
        const NUMBERS: [i32; MAX_LINES] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        let items = each(input, |line| line.item);
        let warehouses = each(input, |line| line.supply_warehouse);
        let quantities = each(input, |line| line.quantity);
        let amounts: [i64; MAX_LINES] = std::array::from_fn(|index| self.lines[index].amount_cents);
        let dist_infos: [&str; MAX_LINES] = std::array::from_fn(|index| self.lines[index].dist_info.as_str());
        batch.execute(
            Query::NewOrderInsertLines.id(),
            &[
                Value::I32(self.order),
                Value::I32(input.district),
                Value::I32(input.warehouse),
                Value::I32Array(&NUMBERS[..self.valid]),
                Value::I32Array(&items[..self.valid]),
                Value::I32Array(&warehouses[..self.valid]),
                Value::I32Array(&quantities[..self.valid]),
                Value::NumericArray { unscaled: &amounts[..self.valid], scale: 2 },
                Value::TextArray(&dist_infos[..self.valid]),
            ],
        );
    }
}

/// One value of each line, on the stack.
fn each(input: &NewOrderInput, value: impl Fn(&crate::workload::tpcc::input::Line) -> i32) -> [i32; MAX_LINES] {
    let mut values = [0; MAX_LINES];
    for (slot, line) in values.iter_mut().zip(&input.lines) {
        *slot = value(line);
    }
    values
}

/// `S_QUANTITY` after an order: it falls by the quantity, and is filled up by 91 rather than fall below 10 (2.4.2.2).
fn quantity_after(stock: i32, ordered: i32) -> i32 {
    if stock >= ordered + 10 { stock - ordered } else { stock - ordered + 91 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_never_falls_below_ten() {
        assert_eq!(quantity_after(20, 10), 10);
        assert_eq!(quantity_after(19, 10), 100);
        assert_eq!(quantity_after(100, 1), 99);
        assert!((10..=100).all(|stock| (1..=10).all(|ordered| (10..=100).contains(&quantity_after(stock, ordered)))));
    }

    #[test]
    fn the_total_applies_discount_and_both_taxes() {
        let mut order = NewOrder { district_tax: 1_000, warehouse_tax: 500, discount: 2_500, ..NewOrder::default() };
        order.lines[0].amount_cents = 10_000;
        order.valid = 1;
        assert_eq!(order.total_cents(), 8_625); // 100.00 x 0.75 x 1.15
        order.lines[0].amount_cents = 1;
        assert_eq!(order.total_cents(), 1); // 0.8625 cents
    }
}
