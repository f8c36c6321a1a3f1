//! New-Order (clause 2.4).

use super::column;
use super::script::{Act::Begin, Act::Do, Act::End, Answer, Outbox, Script, Transaction};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, Value};
use crate::workload::DataError;
use crate::workload::tpcc::input::{Line, MAX_LINES, NewOrderInput, UNUSED_ITEM};
use crate::workload::tpcc::profile::Profile;
use crate::workload::tpcc::statements::Query;

const ORIGINAL: &str = "ORIGINAL";

/// Its statements.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    District,
    SetNextOrder,
    Warehouse,
    Customer,
    WarehouseAndCustomer,
    Items,
    LockStock,
    UpdateStock,
    UpdateStockOfLine,
    InsertOrder,
    InsertNewOrder,
    InsertLines,
    Enter,
}
use Task::*;

const CHATTY: Script<Task> = &[
    &[Begin],
    &[Do(District)],
    &[Do(SetNextOrder)],
    &[Do(WarehouseAndCustomer)],
    &[Do(InsertOrder)],
    &[Do(InsertNewOrder)],
    &[Do(Items)],
    &[Do(LockStock)],
    &[Do(UpdateStockOfLine)],
    &[Do(InsertLines)],
    &[End],
];
const BATCHED: Script<Task> = &[
    &[Begin],
    &[Do(District)],
    &[Do(Warehouse)],
    &[Do(Customer)],
    &[Do(Items)],
    &[Do(LockStock)],
    &[Do(InsertOrder)],
    &[Do(InsertNewOrder)],
    &[Do(UpdateStock)],
    &[Do(InsertLines)],
    &[End],
];
/// One statement is a transaction of its own.
const WHOLE: Script<Task> = &[&[Do(Enter)]];
const WHOLE_ROLLED_BACK: Script<Task> = &[&[Begin, Do(Enter), End]];

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

/// The output of the latest New-Order.
#[derive(Debug, Clone)]
pub struct NewOrder {
    entry_micros: i64,
    district_tax: i64,
    warehouse_tax: i64,
    discount: i64,
    /// `O_ID`.
    pub order: i32,
    lines: Vec<LineOutput>,
    /// Lines of items that exist: all, or all but the last.
    valid: usize,
    /// Places of the lines in the order of the stocks' key.
    by_stock: [u8; MAX_LINES],
}

impl Default for NewOrder {
    fn default() -> Self {
        Self {
            entry_micros: 0,
            district_tax: 0,
            warehouse_tax: 0,
            discount: 0,
            order: 0,
            lines: vec![LineOutput::default(); MAX_LINES],
            valid: 0,
            by_stock: [0; MAX_LINES],
        }
    }
}

impl NewOrder {
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
}

impl Transaction for NewOrder {
    type Input = NewOrderInput;
    type Task = Task;

    fn script(profile: Profile, dialect: Dialect, input: &NewOrderInput) -> Script<Task> {
        match profile {
            Profile::Chatty => CHATTY,
            Profile::Batched => BATCHED,
            // A procedure of MySQL's ends its transaction itself.
            Profile::Proc if dialect == Dialect::Mysql => WHOLE,
            Profile::Pipelined | Profile::Proc if input.rolls_back() => WHOLE_ROLLED_BACK,
            Profile::Pipelined | Profile::Proc => WHOLE,
        }
    }

    fn start(&mut self, input: &NewOrderInput, now_micros: i64) {
        self.entry_micros = now_micros;
        self.valid = input.lines.iter().filter(|line| line.item != UNUSED_ITEM).count();
        self.by_stock = order_by_stock(&input.lines);
        self.lines.iter_mut().for_each(|line| line.found = false);
    }

    fn due(&self, task: Task, _input: &NewOrderInput) -> usize {
        match task {
            UpdateStockOfLine => self.valid,
            _ => 1,
        }
    }

    fn send(&mut self, task: Task, nth: usize, input: &NewOrderInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let (warehouse, district) = (Value::I32(input.warehouse), Value::I32(input.district));
        let (order, customer) = (Value::I32(self.order), Value::I32(input.customer));
        match task {
            District => out.execute(Query::NewOrderDistrict, &[warehouse, district]),
            SetNextOrder => {
                out.execute(Query::NewOrderSetNextOrder, &[warehouse, district, Value::I32(self.order + 1)]);
            }
            Warehouse => out.execute(Query::NewOrderWarehouse, &[warehouse]),
            Customer => out.execute(Query::NewOrderCustomer, &[warehouse, district, customer]),
            WarehouseAndCustomer => {
                out.execute(Query::NewOrderWarehouseAndCustomer, &[warehouse, district, customer]);
            }
            Items => {
                let items = each(&input.lines, |line| line.item);
                out.execute(Query::NewOrderItems, &[Value::I32Array(&items[..input.lines.len()])]);
            }
            LockStock => {
                let warehouses = each(&input.lines, |line| line.supply_warehouse);
                let items = each(&input.lines, |line| line.item);
                let arrays = [&warehouses, &items].map(|array| Value::I32Array(&array[..self.valid]));
                out.execute_stock(input.district, &arrays);
            }
            UpdateStock => self.send_stocks(input, out),
            UpdateStockOfLine => self.send_stock_of_line(nth, input, out),
            InsertOrder => {
                let entry = Value::TimestampMicros(self.entry_micros);
                let [count, local] = order_facts(input);
                out.execute(Query::NewOrderInsertOrder, &[order, district, warehouse, customer, entry, count, local]);
            }
            InsertNewOrder => out.execute(Query::NewOrderInsertNewOrder, &[order, district, warehouse]),
            InsertLines => self.send_lines(input, out),
            Enter => self.send_whole(input, out),
        }
    }

    fn read(
        &mut self,
        task: Task,
        _nth: usize,
        input: &NewOrderInput,
        answer: Answer<'_, impl SqlReply>,
    ) -> Result<(), DataError> {
        match task {
            District => {
                let row = answer.first_row("district")?;
                self.district_tax = column(row.numeric(0, 4), "d_tax")?;
                self.order = column(row.i32(1), "d_next_o_id")?;
                Ok(())
            }
            Warehouse => {
                self.warehouse_tax = column(answer.first_row("warehouse")?.numeric(0, 4), "w_tax")?;
                Ok(())
            }
            Customer => {
                self.discount = column(answer.first_row("customer")?.numeric(0, 4), "c_discount")?;
                Ok(())
            }
            WarehouseAndCustomer => {
                let row = answer.first_row("warehouse and customer")?;
                self.discount = column(row.numeric(0, 4), "c_discount")?;
                self.warehouse_tax = column(row.numeric(3, 4), "w_tax")?;
                Ok(())
            }
            Items => self.read_items(input, answer),
            LockStock => self.read_stocks(input, answer),
            InsertOrder | InsertNewOrder => answer.check_affected(1, "the insertion of an order"),
            SetNextOrder => answer.check_affected(1, "the update of a district"),
            UpdateStock => answer.check_affected(self.valid, "the update of stocks"),
            UpdateStockOfLine => answer.check_affected(1, "the update of a stock"),
            InsertLines => answer.check_affected(self.valid, "the insertion of order lines"),
            Enter => self.read_whole(answer),
        }
    }

    fn rolls_back(input: &NewOrderInput) -> bool {
        input.rolls_back()
    }
}

/// Answers.
impl NewOrder {
    fn read_items(&mut self, input: &NewOrderInput, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        for row in answer.rows() {
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
        if answer.row_count() == self.valid {
            return Ok(());
        }
        Err(DataError(format!("{} items found of {}", answer.row_count(), self.valid)))
    }

    fn read_stocks(&mut self, input: &NewOrderInput, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        for row in answer.rows() {
            let (warehouse, item) = (column(row.i32(0), "s_w_id")?, column(row.i32(1), "s_i_id")?);
            let asked = &input.lines[..self.valid];
            let place = asked.iter().position(|line| line.item == item && line.supply_warehouse == warehouse);
            let place = column(place, "the line of a stock")?;
            let line = &mut self.lines[place];
            line.stock_quantity = quantity_after(column(row.i32(2), "s_quantity")?, asked[place].quantity);
            line.brand = line.item_original && column(row.text(3), "s_data")?.contains(ORIGINAL);
            line.dist_info.clear();
            line.dist_info.push_str(column(row.text(4), "s_dist")?);
            line.found = true;
        }
        self.check_found()
    }

    fn read_whole(&mut self, answer: Answer<'_, impl SqlReply>) -> Result<(), DataError> {
        // Every row repeats what the order has once.
        if let Some(row) = answer.rows().next() {
            self.order = column(row.i32(0), "o_id")?;
            self.district_tax = column(row.numeric(1, 4), "d_tax")?;
            self.warehouse_tax = column(row.numeric(2, 4), "w_tax")?;
            self.discount = column(row.numeric(3, 4), "c_discount")?;
        }
        for row in answer.rows() {
            let row = row.after(6);
            let number = usize::try_from(column(row.i32(0), "ol_number")?);
            let place = number.ok().and_then(|number| number.checked_sub(1)).filter(|&place| place < self.valid);
            let line = &mut self.lines[column(place, "the line of a number")?];
            let row = row.after(2);
            line.price_cents = column(row.numeric(0, 2), "i_price")?;
            line.amount_cents = column(row.numeric(1, 2), "ol_amount")?;
            let row = row.after(2);
            line.stock_quantity = column(row.i32(0), "s_quantity")?;
            line.brand = column(row.is_text(1, "B"), "the brand")?;
            line.found = true;
        }
        self.check_found()
    }

    fn check_found(&self) -> Result<(), DataError> {
        let found = self.lines().iter().filter(|line| line.found).count();
        if found == self.valid {
            return Ok(());
        }
        Err(DataError(format!("{found} stocks found of {}", self.valid)))
    }
}

/// Statements over lines.
impl NewOrder {
    fn send_stocks(&self, input: &NewOrderInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let warehouses = each(&input.lines, |line| line.supply_warehouse);
        let items = each(&input.lines, |line| line.item);
        let after: [i32; MAX_LINES] = std::array::from_fn(|index| self.lines[index].stock_quantity);
        let ordered = each(&input.lines, |line| line.quantity);
        let remote = each(&input.lines, |line| is_remote(input, line));
        let arrays = [&warehouses, &items, &after, &ordered, &remote];
        out.execute(Query::NewOrderUpdateStock, &arrays.map(|array| Value::I32Array(&array[..self.valid])));
    }

    fn send_stock_of_line(&self, place: usize, input: &NewOrderInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let line = &input.lines[place];
        let after = self.lines[place].stock_quantity;
        let values = [line.supply_warehouse, line.item, after, line.quantity, is_remote(input, line)];
        out.execute(Query::NewOrderUpdateStockOfLine, &values.map(Value::I32));
    }

    fn send_lines(&self, input: &NewOrderInput, out: &mut Outbox<'_, impl SqlBatch>) {
        const NUMBERS: [i32; MAX_LINES] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        let items = each(&input.lines, |line| line.item);
        let warehouses = each(&input.lines, |line| line.supply_warehouse);
        let quantities = each(&input.lines, |line| line.quantity);
        let amounts: [i64; MAX_LINES] = std::array::from_fn(|index| self.lines[index].amount_cents);
        let dist_infos: [&str; MAX_LINES] = std::array::from_fn(|index| self.lines[index].dist_info.as_str());
        out.execute_lines(
            self.valid,
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

    /// All lines, also one of the unused item: the server has to look for it.
    fn send_whole(&self, input: &NewOrderInput, out: &mut Outbox<'_, impl SqlBatch>) {
        let lines = self.by_stock(input);
        let numbers = self.by_stock.map(|place| i32::from(place) + 1);
        let warehouses = lines.map(|line| line.supply_warehouse);
        let items = lines.map(|line| line.item);
        let ordered = lines.map(|line| line.quantity);
        let [numbers, warehouses, items, ordered] =
            [&numbers, &warehouses, &items, &ordered].map(|array| Value::I32Array(&array[..input.lines.len()]));
        let [count, local] = order_facts(input);
        out.execute(
            Query::NewOrderEnter,
            &[
                Value::I32(input.warehouse),
                Value::I32(input.district),
                Value::I32(input.customer),
                Value::TimestampMicros(self.entry_micros),
                count,
                local,
                numbers,
                warehouses,
                items,
                ordered,
                Value::I32(i32::try_from(self.valid).expect("at most fifteen lines")),
            ],
        );
    }

    /// The lines in the order of the stocks' key, one of the unused item last.
    fn by_stock(&self, input: &NewOrderInput) -> [Line; MAX_LINES] {
        self.by_stock.map(|place| input.lines.get(usize::from(place)).copied().unwrap_or_default())
    }
}

/// Places of the lines in the order of the stocks' key, then those that the order does not have. The unused item is the
/// highest number of all, but its line may stand before one of a higher warehouse: it comes last.
fn order_by_stock(lines: &[Line]) -> [u8; MAX_LINES] {
    const PLACE_BITS: u32 = 4;
    const ITEM_BITS: u32 = 24;
    let mut keys: [u64; MAX_LINES] = std::array::from_fn(|place| u64::MAX << PLACE_BITS | place as u64);
    for (key, line) in keys.iter_mut().zip(lines) {
        let [warehouse, item] = [line.supply_warehouse, line.item].map(|number| u64::from(number.unsigned_abs()));
        let unused = u64::from(line.item == UNUSED_ITEM) << (u64::BITS - 2);
        *key = unused | warehouse << (PLACE_BITS + ITEM_BITS) | item << PLACE_BITS | *key & ((1 << PLACE_BITS) - 1);
    }
    keys[..lines.len()].sort_unstable(); // one number a line: cheaper than to compare lines
    keys.map(|key| (key & ((1 << PLACE_BITS) - 1)) as u8)
}

/// `O_OL_CNT` and `O_ALL_LOCAL`.
fn order_facts(input: &NewOrderInput) -> [Value<'static>; 2] {
    let count = i32::try_from(input.lines.len()).expect("at most fifteen lines");
    [count, i32::from(!input.is_remote())].map(Value::I32)
}

fn is_remote(input: &NewOrderInput, line: &Line) -> i32 {
    i32::from(line.supply_warehouse != input.warehouse)
}

/// One value of each line, on the stack.
fn each(lines: &[Line], value: impl Fn(&Line) -> i32) -> [i32; MAX_LINES] {
    let mut values = [0; MAX_LINES];
    for (slot, line) in values.iter_mut().zip(lines) {
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
    fn lines_are_ordered_by_warehouse_and_item_with_an_unused_item_last() {
        let line = |supply_warehouse, item| Line { item, supply_warehouse, quantity: 1 };
        let lines = [line(7, 5), line(i32::MAX, 1), line(7, 4), line(1, UNUSED_ITEM), line(2, 100_000)];
        let expected = [4, 2, 0, 1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
        assert_eq!(order_by_stock(&lines), expected);
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
