//! The initial population in memory: cardinalities and rules of clauses 4.2.2 and 4.3.3.1, for two warehouses.

use nephoscope_load::target::RowWriter;
use nephoscope_load::target::Value;
use nephoscope_load::workload::tpcc::population::{Population, PopulationOptions};
use nephoscope_load::workload::tpcc::random::last_name;
use nephoscope_load::workload::{Dataset, Piece};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

const SEED: u64 = 77;

/// Hands every row to a function.
struct Rows<F>(F);

impl<F: FnMut(&[Value<'_>])> RowWriter for Rows<F> {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        (self.0)(values);
        Ok(())
    }
}

fn population() -> Population {
    Population::new(PopulationOptions::new(2, SEED))
}

fn each_row(population: &Population, table: &'static str, index: u32, row: impl FnMut(&[Value<'_>])) {
    let piece = population.pieces().into_iter().find(|piece| piece.table.name == table && piece.index == index);
    population.write(&piece.expect("the piece"), &mut Rows(row)).unwrap();
}

fn int(value: &Value<'_>) -> i32 {
    if let Value::I32(value) = value { *value } else { panic!("{value:?} is no integer") }
}

fn text<'a>(value: &Value<'a>) -> &'a str {
    if let Value::Text(value) = value { value } else { panic!("{value:?} is no text") }
}

fn money(value: &Value<'_>) -> i64 {
    if let Value::Numeric { unscaled, .. } = value { *unscaled } else { panic!("{value:?} is no money") }
}

fn assert_text(value: &Value<'_>, low: usize, high: usize) {
    let text = text(value);
    assert!((low..=high).contains(&text.len()), "{text:?}");
    assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text:?}");
}

fn assert_zip(value: &Value<'_>) {
    let zip = text(value);
    assert!(zip.len() == 9 && zip.ends_with("11111") && zip.bytes().all(|byte| byte.is_ascii_digit()), "{zip}");
}

/// FNV-1a over the values of all rows.
fn fingerprint(population: &Population, piece: &Piece) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    };
    let mut rows = Rows(|values: &[Value<'_>]| {
        for value in values {
            match value {
                Value::I32(number) => add(&number.to_le_bytes()),
                Value::TimestampMicros(number) | Value::Numeric { unscaled: number, .. } => add(&number.to_le_bytes()),
                Value::Text(text) => add(text.as_bytes()),
                Value::Null => add(b"NULL"),
                other => panic!("{other:?} is in no row"),
            }
            add(&[0xFF]);
        }
    });
    population.write(piece, &mut rows).unwrap();
    hash
}

#[test]
fn tables_have_the_rows_of_clause_4_2_2() {
    let population = population();
    let mut counts = BTreeMap::<&str, Vec<u32>>::new();
    for piece in population.pieces() {
        let mut rows = 0;
        let columns = piece.table.columns.len();
        let mut count = Rows(|values: &[Value<'_>]| {
            rows += 1;
            assert_eq!(values.len(), columns, "{}", piece.table.name);
        });
        population.write(&piece, &mut count).unwrap();
        counts.entry(piece.table.name).or_default().push(rows);
    }
    let lines = counts.remove("order_line").unwrap();
    assert!(lines.iter().all(|rows| (297_000..=303_000).contains(rows)), "{lines:?}");
    assert_ne!(lines[0], lines[1]);
    let expected = [
        ("customer", vec![30_000, 30_000]),
        ("district", vec![10, 10]),
        ("history", vec![30_000, 30_000]),
        ("item", vec![100_000]),
        ("new_order", vec![9_000, 9_000]),
        ("orders", vec![30_000, 30_000]),
        ("stock", vec![100_000, 100_000]),
        ("warehouse", vec![1, 1]),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
}

/// Fingerprints of warehouse 1 (or ITEM) from seed 77. Data sets already loaded must stay those that their seed makes:
/// when these change, raise POPULATION_VERSION.
const VERSION_1: [(&str, u64); 9] = [
    ("item", 0x15A1_177F_000D_2852),
    ("stock", 0x38C2_3694_8C77_AB70),
    ("order_line", 0xBCF4_3F2E_49AB_1310),
    ("customer", 0x1829_88F4_A79E_A14C),
    ("history", 0xF982_A48E_5043_7543),
    ("orders", 0xE7C1_AE73_1F80_443C),
    ("new_order", 0x21A3_FB5F_C4F2_1841),
    ("district", 0x9E1E_0010_679B_E66A),
    ("warehouse", 0x2BCD_3CCA_C1D8_29FA),
];

#[test]
fn one_seed_makes_the_same_rows_and_another_seed_or_warehouse_others() {
    let one = population();
    let other_seed = Population::new(PopulationOptions::new(2, SEED + 1));
    let more_warehouses = Population::new(PopulationOptions::new(5, SEED));
    let (mut seen, mut first) = (BTreeMap::new(), Vec::new());
    for piece in one.pieces() {
        let hash = fingerprint(&one, &piece);
        assert_eq!(seen.insert(hash, piece.clone()), None);
        if piece.index < 2 {
            first.push((piece.table.name, hash));
            assert_eq!(hash, fingerprint(&more_warehouses, &piece), "{piece:?} depends on the number of warehouses");
            let depends_on_the_seed = hash != fingerprint(&other_seed, &piece);
            assert_eq!(depends_on_the_seed, piece.table.name != "new_order", "{piece:?}");
        }
    }
    assert_eq!(first, VERSION_1);
}

#[test]
fn items_and_stocks() {
    let population = population();
    let (mut originals, mut ids) = (0, 0);
    each_row(&population, "item", 0, |row| {
        ids += 1;
        assert_eq!(int(&row[0]), ids);
        assert!((1..=10_000).contains(&int(&row[1])) && (100..=10_000).contains(&money(&row[3])));
        assert_text(&row[2], 14, 24);
        assert_text(&row[4], 26, 50);
        originals += u32::from(text(&row[4]).contains("ORIGINAL"));
    });
    assert_eq!(originals, 10_000, "exactly a tenth");
    let (mut stock_originals, mut positions) = (0, BTreeSet::new());
    each_row(&population, "stock", 2, |row| {
        assert_eq!(int(&row[0]), 2);
        assert!((10..=100).contains(&int(&row[2])));
        assert!(row[3..13].iter().all(|dist| text(dist).len() == 24));
        assert!(row[13..16].iter().all(|count| int(count) == 0));
        if let Some(position) = text(&row[16]).find("ORIGINAL") {
            stock_originals += 1;
            positions.insert(position);
        }
    });
    assert_eq!(stock_originals, 10_000);
    assert_eq!(positions, (0..=42).collect(), "at any position");
}

#[test]
fn warehouses_and_districts() {
    let population = population();
    each_row(&population, "warehouse", 2, |row| {
        assert_eq!((int(&row[0]), money(&row[8])), (2, 30_000_000));
        assert_text(&row[1], 6, 10);
        row[2..5].iter().for_each(|value| assert_text(value, 10, 20));
        assert_text(&row[5], 2, 2);
        assert_zip(&row[6]);
        assert!((0..=2_000).contains(&money(&row[7])));
    });
    let mut ids = Vec::new();
    each_row(&population, "district", 2, |row| {
        ids.push(int(&row[1]));
        assert_eq!((int(&row[0]), money(&row[9]), int(&row[10])), (2, 3_000_000, 3_001));
        assert_zip(&row[7]);
    });
    assert_eq!(ids, (1..=10).collect::<Vec<_>>());
}

#[test]
fn customers() {
    let population = population();
    let mut bad_credit = BTreeMap::<i32, u32>::new();
    let mut names = HashMap::<String, u32>::new();
    let mut expected = String::new();
    each_row(&population, "customer", 1, |row| {
        let (district, id) = (int(&row[1]), int(&row[2]));
        assert_text(&row[3], 8, 16);
        assert_eq!(text(&row[4]), "OE");
        if id <= 1_000 {
            last_name(id - 1, &mut expected);
            assert_eq!(text(&row[5]), expected);
        } else {
            *names.entry(text(&row[5]).to_owned()).or_default() += 1;
        }
        assert_zip(&row[10]);
        assert!(text(&row[11]).len() == 16 && text(&row[11]).bytes().all(|byte| byte.is_ascii_digit()));
        assert!(["BC", "GC"].contains(&text(&row[13])));
        *bad_credit.entry(district).or_default() += u32::from(text(&row[13]) == "BC");
        assert_eq!([&row[14], &row[16], &row[17]].map(money), [5_000_000, -1_000, 1_000]);
        assert!((0..=5_000).contains(&money(&row[15])));
        assert_eq!([&row[18], &row[19]].map(int), [1, 0]);
        assert_text(&row[20], 300, 500);
    });
    assert!(bad_credit.values().all(|&count| count == 300), "exactly a tenth of each district: {bad_credit:?}");
    // NURand with A = 255: the most frequent name holds 3^8 / 2^16 / 8 of the draws or so, twenty times its fair share.
    let most = names.values().max().unwrap();
    assert!((150..900).contains(most), "{most} of 20000 customers share the most frequent name");
}

#[test]
fn history_is_one_payment_of_each_customer() {
    let mut seen = BTreeSet::new();
    each_row(&population(), "history", 2, |row| {
        assert!(seen.insert((int(&row[1]), int(&row[0]))));
        assert_eq!((int(&row[1]), int(&row[2])), (int(&row[3]), int(&row[4])));
        assert_eq!(money(&row[6]), 1_000);
        assert_text(&row[7], 12, 24);
    });
    assert_eq!(seen.len(), 30_000);
}

#[test]
fn orders_and_their_lines_agree_and_each_district_has_its_own_permutation() {
    let population = population();
    let mut permutations = BTreeMap::<(u32, i32), Vec<i32>>::new();
    let mut promised = HashMap::<(u32, i32, i32), i32>::new();
    let mut carriers = BTreeSet::new();
    for warehouse in 1..=2 {
        each_row(&population, "orders", warehouse, |row| {
            let (district, id) = (int(&row[1]), int(&row[2]));
            permutations.entry((warehouse, district)).or_default().push(int(&row[3]));
            promised.insert((warehouse, district, id), int(&row[6]));
            assert_eq!(row[5] == Value::Null, id >= 2_101);
            if id < 2_101 {
                carriers.insert(int(&row[5]));
            }
            assert_eq!(int(&row[7]), 1);
        });
        check_lines(&population, warehouse, &mut promised);
    }
    assert!(promised.values().all(|&missing| missing == 0), "an order lacks lines");
    assert_eq!(carriers, (1..=10).collect());
    let different: BTreeSet<&Vec<i32>> = permutations.values().collect();
    assert_eq!(different.len(), 20, "every district of every warehouse has its own");
    for permutation in different {
        assert_eq!(permutation.iter().copied().collect::<BTreeSet<_>>(), (1..=3_000).collect());
    }
}

fn check_lines(population: &Population, warehouse: u32, promised: &mut HashMap<(u32, i32, i32), i32>) {
    let mut lengths = BTreeMap::<i32, u32>::new();
    for (_, count) in promised.iter().filter(|((w, _, _), _)| *w == warehouse) {
        *lengths.entry(*count).or_default() += 1;
    }
    assert_eq!(lengths.keys().copied().collect::<Vec<_>>(), (5..=15).collect::<Vec<_>>());
    assert!(lengths.values().all(|n| (2_450..3_000).contains(n)), "each length is as likely: {lengths:?}");
    let (mut number, mut amounts) = (0, (i64::MAX, 0));
    each_row(population, "order_line", warehouse, |row| {
        let [w_id, district, id, ol_number, item, supply] = std::array::from_fn(|column| int(&row[column]));
        number = if ol_number == 1 { 1 } else { number + 1 };
        assert_eq!(ol_number, number, "numbered from 1 without gaps");
        assert!(supply == w_id && (1..=100_000).contains(&item) && int(&row[7]) == 5);
        assert_eq!(row[6] == Value::Null, id >= 2_101);
        if id < 2_101 {
            assert_eq!(money(&row[8]), 0);
        } else {
            amounts = (amounts.0.min(money(&row[8])), amounts.1.max(money(&row[8])));
        }
        assert_eq!(text(&row[9]).len(), 24);
        *promised.get_mut(&(warehouse, district, id)).expect("an order") -= 1;
    });
    assert!((1..200).contains(&amounts.0) && (999_800..=999_999).contains(&amounts.1), "{amounts:?}");
}
