use super::data::YcsbData;
use super::plan::{Drawer, Plan};
use super::*;
use crate::spec::ShardSpec;
use crate::workload::{AuditLine, Draws, Name, Records};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const MIXES: [Mix; 6] = [Mix::A, Mix::B, Mix::C, Mix::D, Mix::E, Mix::F];

fn plan(options: YcsbOptions) -> Arc<Plan> {
    Arc::new(Plan::new(options, 7, ShardSpec::default()))
}

/// Draws of 4 clients, each served by an executor of its own; every insert succeeds.
fn drawn(plan: &Arc<Plan>, turns: u64) -> Draws {
    let mut draws = Draws::default();
    for client in 0..4 {
        let mut drawer = Drawer::new(Arc::clone(plan));
        for turn in 0..turns {
            drawer.draw(client, turn);
            drawer.settle(true);
        }
        draws.merge(&drawer.draws());
    }
    draws
}

fn named(lines: Vec<AuditLine>) -> BTreeMap<String, AuditLine> {
    lines.into_iter().map(|line| (line.name.clone(), line)).collect()
}

#[test]
fn the_audit_passes_every_core_workload_and_distribution() {
    let others =
        [Distribution::Uniform, Distribution::Zipfian, Distribution::Latest].map(|other| (Mix::A, Some(other)));
    for (mix, distribution) in MIXES.map(|mix| (mix, None)).into_iter().chain(others) {
        let options = YcsbOptions { distribution, ..YcsbOptions::new(1_000, mix) };
        let plan = plan(options);
        let lines = named(plan.audit(&drawn(&plan, 1_500)));
        let scrambled = usize::from(options.distribution() == Distribution::Zipfian);
        let expected = match mix {
            Mix::C | Mix::D => 2,
            Mix::A | Mix::B | Mix::E | Mix::F => 3,
        };
        assert_eq!(lines.len(), expected + scrambled, "{mix:?}: {lines:#?}");
        // Writes of B are too few here to judge their fields by.
        let judged = lines.values().filter(|line| line.draws >= 1_000);
        assert!(judged.clone().all(|line| line.passed == Some(true)), "{mix:?} {distribution:?}: {lines:#?}");
        assert!(judged.count() >= 2);
    }
}

#[test]
fn the_audit_fails_a_generator_that_is_damaged_on_purpose() {
    let fails = |says: YcsbOptions, does: YcsbOptions, name: &str| {
        let lines = named(plan(says).audit(&drawn(&plan(does), 1_500)));
        let failed: Vec<&String> =
            lines.values().filter(|line| line.passed == Some(false)).map(|line| &line.name).collect();
        assert_eq!(failed, [name], "{lines:#?}");
    };
    let a = YcsbOptions::new(1_000, Mix::A);
    fails(a, YcsbOptions::new(1_000, Mix::B), "mix");
    fails(YcsbOptions { fields: 9, ..a }, YcsbOptions { fields: 8, ..a }, "fields");
}

#[test]
fn an_operation_without_inserts_is_a_function_of_seed_client_and_turn() {
    let plan = plan(YcsbOptions::new(1_000, Mix::F));
    let (mut first, mut second) = (Drawer::new(Arc::clone(&plan)), Drawer::new(Arc::clone(&plan)));
    (0..100).for_each(|turn| {
        second.draw(1, turn);
    });
    let mut names = BTreeSet::new();
    for turn in [5, 0, 3] {
        let drawn = |drawer: &mut Drawer| {
            let operation = drawer.draw(2, turn);
            let written = (operation != READ).then(|| (drawer.field, drawer.update().1.to_owned()));
            (operation, drawer.name, written)
        };
        assert_eq!(drawn(&mut first), drawn(&mut second));
        assert_eq!(plan.first_name(2, turn), first.name, "a cluster learns which record will be drawn");
        names.insert(first.name.text().to_owned());
    }
    assert_eq!(names.len(), 3);
}

/// The names of all that were loaded.
fn loaded(options: YcsbOptions) -> BTreeSet<String> {
    let data = YcsbData::new(options, 9);
    (0..data.rows()).map(|number| data.name(number).text().to_owned()).collect()
}

#[test]
fn what_is_read_is_there_and_what_is_inserted_is_new() {
    for mix in MIXES {
        let options = YcsbOptions::new(500, mix);
        let (plan, mut there) = (plan(options), loaded(options));
        assert_eq!(there.len(), 500);
        let mut drawer = Drawer::new(plan);
        for turn in 0..2_000 {
            let operation = drawer.draw(0, turn);
            let name = drawer.name.text().to_owned();
            if operation != INSERT {
                assert!(there.contains(&name), "{mix:?}: {name}");
            } else if turn % 3 > 0 {
                assert!(there.insert(name), "{mix:?}");
                drawer.settle(true);
            }
        }
        assert_eq!(there.len() > 500, mix.inserts());
    }
}

#[test]
fn shards_and_seeds_insert_records_of_their_own() {
    let options = YcsbOptions::new(500, Mix::D);
    let mut names = loaded(options);
    let mut expected = names.len();
    for (seed, index) in [(7, 0), (7, 1), (8, 0)] {
        let mut drawer = Drawer::new(Arc::new(Plan::new(options, seed, ShardSpec { index, count: 2 })));
        for turn in 0..1_000 {
            if drawer.draw(3, turn) == INSERT {
                names.insert(drawer.name.text().to_owned());
                expected += 1;
                drawer.settle(true);
            }
        }
    }
    assert!(expected > 600);
    assert_eq!(names.len(), expected);
}

/// As on a cluster: the names of many turns are known before the first of them is drawn.
#[test]
fn a_turn_is_drawn_as_it_was_told_and_reads_only_what_was_there() {
    let options = YcsbOptions::new(500, Mix::D);
    let (plan, mut there) = (plan(options), loaded(options));
    let mut drawer = Drawer::new(Arc::clone(&plan));
    for burst in 0..100 {
        let turns = burst * 20..(burst + 1) * 20;
        let told: Vec<(u64, Name)> = turns.map(|turn| (turn, plan.first_name(3, turn))).collect();
        // In another order: connections to different servers become free.
        for (turn, name) in told.into_iter().rev() {
            let operation = drawer.draw(3, turn);
            assert_eq!(drawer.name, name);
            assert_eq!(there.contains(name.text()), operation != INSERT, "{name:?}");
            if operation == INSERT && turn % 3 > 0 {
                there.insert(name.text().to_owned());
                drawer.settle(true);
            }
        }
    }
    assert!(there.len() > 540, "{}", there.len());
    let names = (2_000..2_400).map(|turn| plan.first_name(3, turn));
    let old = loaded(options);
    assert!(names.filter(|name| !old.contains(name.text())).count() > 100, "new records are read");
}

#[test]
fn the_latest_records_are_read_most() {
    let options = YcsbOptions::new(1_000, Mix::D);
    let mut drawer = Drawer::new(plan(options));
    let mut inserted = Vec::new();
    let mut newest = 0;
    for turn in 0..20_000 {
        if drawer.draw(0, turn) == INSERT {
            inserted.push(drawer.name);
            drawer.settle(true);
        } else {
            newest += u32::from(inserted.last() == Some(&drawer.name));
        }
    }
    // One of zeta(1000, 0.99) = 7.73 reads, but for the time before the first insert.
    let share = f64::from(newest) / 19_000.0;
    assert!((0.12..0.14).contains(&share), "{share}");
}

#[test]
fn records_are_ycsbs_and_repeat() {
    assert_eq!(name_of(0).text(), "user6284781860667377211");
    let options = YcsbOptions { fields: 3, field_bytes: 7, ..YcsbOptions::new(10, Mix::A) };
    let rows = |seed| {
        let mut commands = crate::target::resp::Commands::default();
        assert_eq!(YcsbData::new(options, seed).store(4, &mut commands), 21);
        format!("{commands:?}")
    };
    assert_eq!(rows(1), rows(1));
    assert_ne!(rows(1), rows(2));
    let holds = |text: &str| rows(1).contains(format!("{:?}", text.as_bytes()).trim_matches(['[', ']']));
    assert!(holds("HSET") && holds("field2") && !holds("field3"));
}
