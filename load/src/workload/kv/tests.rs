use super::plan::{Drawer, Plan};
use super::*;
use crate::workload::keys::Order;
use crate::workload::{AuditLine, Dataset, Draws, Records};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

fn options() -> KvOptions {
    KvOptions { min_block_bytes: 1, ..KvOptions::new(1_000) }
}

fn drawer(options: KvOptions, seed: u64, clients: u32) -> Drawer {
    Drawer::new(Arc::new(Plan::new(options, seed)), clients)
}

fn row(data: &KvData, number: u64) -> (i64, Vec<u8>) {
    let mut value = vec![0; 3];
    let key = data.row(number, &mut value);
    (key, value)
}

fn loaded(options: KvOptions) -> BTreeSet<i64> {
    let data = KvData::new(options, 9);
    (0..data.rows()).map(|number| row(&data, number).0).collect()
}

/// The audit of a run of 4 clients, each served by an executor of its own.
fn audit(options: KvOptions) -> BTreeMap<String, AuditLine> {
    let mut draws = Draws::default();
    let mut last = None;
    for client in 0..4 {
        let mut drawer = drawer(options, 7, 4);
        (0..5_000).for_each(|turn| {
            drawer.draw(client, turn);
        });
        draws.merge(&drawer.draws());
        last = Some(drawer);
    }
    let plan = last.unwrap().plan;
    plan.audit(&draws).into_iter().map(|line| (line.name.clone(), line)).collect()
}

#[test]
fn the_audit_passes_every_mix_and_distribution() {
    for distribution in [Distribution::Uniform, Distribution::Zipf] {
        for (read_percent, batch, lines) in [(0, 1, 3), (50, 3, 3), (95, 1, 3), (100, 1, 2)] {
            let of = KvOptions { distribution, read_percent, batch, max_block_bytes: Some(100), ..options() };
            let lines_found = audit(of);
            assert_eq!(lines_found.len(), lines);
            // Writes of kv95 are too few here to judge their length by.
            let judged = |line: &&AuditLine| line.draws >= 1_000;
            assert!(
                lines_found.values().filter(judged).all(|line| line.passed == Some(true)),
                "{of:?}: {lines_found:#?}"
            );
        }
    }
}

#[test]
fn an_operation_is_a_function_of_seed_client_and_turn() {
    let of = KvOptions { batch: 3, read_percent: 50, ..options() };
    let drawn = |drawer: &mut Drawer, client, turn| (drawer.draw(client, turn), drawer.keys().to_vec());
    let (mut first, mut second) = (drawer(of, 7, 4), drawer(of, 7, 4));
    (0..100).for_each(|turn| {
        second.draw(1, turn);
    });
    for turn in [5, 0, 3] {
        assert_eq!(drawn(&mut first, 2, turn), drawn(&mut second, 2, turn));
    }
    assert_ne!(drawn(&mut first, 2, 5).1, drawn(&mut first, 3, 5).1, "every client has its own stream");
    assert_ne!(drawn(&mut first, 2, 5).1, drawn(&mut drawer(of, 8, 4), 2, 5).1);
}

#[test]
fn what_is_read_was_loaded_and_a_batch_has_no_row_twice() {
    for (distribution, order, batch) in [
        (Distribution::Uniform, Order::Hashed, 1),
        (Distribution::Zipf, Order::Sequential, 20),
        (Distribution::Zipf, Order::Hashed, 1_000),
    ] {
        let of = KvOptions { distribution, order, batch, read_percent: 100, ..options() };
        let (rows, mut drawer) = (loaded(of), drawer(of, 3, 2));
        for turn in 0..if batch > 100 { 3 } else { 500 } {
            drawer.draw(1, turn);
            let distinct: BTreeSet<i64> = drawer.keys().iter().copied().collect();
            assert_eq!((distinct.len(), drawer.keys().len()), (batch as usize, batch as usize));
            assert!(distinct.is_subset(&rows) && drawer.keys().is_sorted());
        }
    }
}

#[test]
fn new_rows_are_new_whoever_writes_them_and_under_each_seed() {
    for order in [Order::Hashed, Order::Sequential] {
        let of = KvOptions { order, batch: 2, read_percent: 0, writes: Writes::New, ..options() };
        let mut keys = loaded(of);
        let mut expected = keys.len();
        for seed in [7, 8] {
            for client in 0..3 {
                let mut drawer = drawer(of, seed, 3);
                for turn in 0..200 {
                    assert_eq!(drawer.draw(client, turn), WRITE);
                    keys.extend(drawer.keys());
                    expected += 2;
                }
            }
        }
        assert_eq!(keys.len(), expected);
        assert!(order == Order::Hashed || keys.iter().all(|key| *key >= 0));
    }
}

#[test]
fn a_cluster_is_told_the_key_that_will_be_drawn() {
    for writes in [Writes::Existing, Writes::New] {
        let of = KvOptions { read_percent: 50, writes, ..options() };
        let mut drawer = drawer(of, 5, 4);
        for turn in 0..200 {
            drawer.draw(3, turn);
            assert_eq!(drawer.plan.first_key(4, 3, turn), drawer.keys()[0]);
        }
    }
}

#[test]
fn blocks_have_their_lengths_and_rows_repeat() {
    let of = KvOptions { min_block_bytes: 10, max_block_bytes: Some(12), ..options() };
    let data = KvData::new(of, 9);
    let lengths: BTreeSet<usize> = (0..200).map(|number| row(&data, number).1.len()).collect();
    assert_eq!(lengths, BTreeSet::from([10, 11, 12]));
    assert_eq!(row(&data, 5), row(&KvData::new(of, 9), 5));
    assert_ne!(row(&data, 5).1, row(&KvData::new(of, 10), 5).1);
    assert_ne!(data.identity(), KvData::new(of, 10).identity());
}

#[test]
fn blocks_cannot_be_compressed() {
    for (rows, bytes) in [(200, 1_000), (1, 200_000)] {
        let data = KvData::new(KvOptions { min_block_bytes: bytes, ..options() }, 9);
        let together: Vec<u8> = (0..rows).flat_map(|number| row(&data, number).1).collect();
        // What looks for what came before finds nothing, and what counts bytes finds each as often.
        let distinct: HashSet<&[u8]> = together.windows(6).collect();
        assert_eq!(distinct.len(), together.len() - 5);
        let counts = together.iter().fold([0_u32; 256], |mut counts, &byte| {
            counts[usize::from(byte)] += 1;
            counts
        });
        // Of 781, and 28 is the deviation of each count.
        assert!(counts.iter().all(|count| (600..=1_000).contains(count)), "{counts:?}");
    }
}

#[test]
fn what_a_batch_writes_is_one_block_a_key() {
    let of = KvOptions { batch: 3, read_percent: 0, min_block_bytes: 1, max_block_bytes: Some(30), ..options() };
    let mut drawer = drawer(of, 7, 4);
    let mut lengths = BTreeSet::new();
    for turn in 0..300 {
        drawer.draw(1, turn);
        let rows: Vec<(i64, &[u8])> = drawer.rows().collect();
        assert_eq!(rows.iter().map(|(key, _)| *key).collect::<Vec<_>>(), drawer.keys());
        lengths.extend(rows.iter().map(|(_, block)| block.len()));
    }
    assert_eq!(lengths, (1..=30).collect());
}

#[test]
fn keys_are_named_by_their_digits() {
    assert_eq!(&write_key(-1), b"kv:ffffffffffffffff");
    assert_eq!(&write_key(0x1_2F), b"kv:000000000000012f");
}
