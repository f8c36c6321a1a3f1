use super::*;
use crate::target::postgres::Connection;
use crate::target::{Dialect, RowWriter, Value};
use crate::workload::Dataset;
use std::collections::BTreeMap;
use std::io;

const OPTIONS: TpcbOptions = TpcbOptions { scale: 3, profile: Trips::Chatty };

fn drawn(workload: &Tpcb) -> Draws {
    let mut draws = Draws::default();
    for client in 0..4 {
        let mut worker = Workload::<Connection>::worker(workload, 4);
        (0..5_000).for_each(|turn| {
            worker.draw(client, turn);
        });
        draws.merge(&worker.draws());
    }
    draws
}

fn audit(draws: &Draws) -> Vec<AuditLine> {
    Workload::<Connection>::audit(&Tpcb::new(OPTIONS, 7, Dialect::Postgres), 4, draws)
}

/// What fails of the audit of a generator that is damaged, and of draws that are.
fn failed(generator: impl FnOnce(&mut Plan), counts: impl FnOnce(&mut Draws)) -> Vec<String> {
    let mut damaged = Tpcb::new(OPTIONS, 7, Dialect::Postgres);
    generator(Arc::get_mut(&mut damaged.plan).unwrap());
    let mut draws = drawn(&damaged);
    counts(&mut draws);
    let lines = audit(&draws);
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(lines.iter().all(|line| line.draws == 20_000 && line.passed.is_some()), "{lines:#?}");
    lines.into_iter().filter(|line| line.passed == Some(false)).map(|line| line.name).collect()
}

#[test]
fn the_audit_passes_a_fair_generator_and_fails_another() {
    let sound = |_: &mut Plan| {};
    assert_eq!(failed(sound, |_| {}), [""; 0]);
    let shifted = |draws: &mut Draws| draws.tallies.get_mut(MEAN_DELTA).unwrap().sum += 20_000.0 * 150.0;
    assert_eq!(failed(sound, shifted), [MEAN_DELTA]);
    for (which, name) in DRAWN.into_iter().enumerate() {
        let skewed = |plan: &mut Plan| plan.ranks[which] = Ranks::new(Shape::Pareto, plan.ranks[which].items());
        assert_eq!(failed(skewed, |_| {}), [name]);
    }
    assert!(audit(&Draws::default()).is_empty());
}

#[derive(Default)]
struct Rows(BTreeMap<&'static str, Vec<(i32, i32)>>, &'static str);

impl RowWriter for Rows {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        let pair = match *values {
            [Value::I32(id), Value::I32(0), Value::Null] => (id, id),
            [Value::I32(id), Value::I32(bid), Value::I32(0), Value::Null | Value::Text("")] => (id, bid),
            _ => panic!("{values:?}"),
        };
        self.0.entry(self.1).or_default().push(pair);
        Ok(())
    }
}

#[test]
fn each_branch_has_its_tellers_and_accounts() {
    let (data, mut rows) = (TpcbData::new(2), Rows::default());
    for piece in data.pieces() {
        rows.1 = piece.table.name;
        data.write(&piece, &mut rows).unwrap();
    }
    for (table, of_a_branch) in [("pgbench_branches", 1), ("pgbench_tellers", 10), ("pgbench_accounts", 100_000)] {
        let expected: Vec<(i32, i32)> =
            (0..2 * of_a_branch).map(|index| (index + 1, index / of_a_branch + 1)).collect();
        assert_eq!(rows.0[table], expected);
    }
}
