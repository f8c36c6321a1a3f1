//! The number that a run of TPC-C is quoted by, and what must be quoted with it. Pure.

use super::Headline;
use crate::spec::{Spec, TpccWait, WorkloadSpec};
use crate::workload::tpcc::{DELIVERY_DEFERRED, NEW_ORDER, OPERATIONS, OPERATIONS_DEFERRED};

/// The most that the mix 45/43/4/4/4 can reach for a warehouse, in New-Orders per minute.
const MAX_OF_MIX: f64 = 12.86;
/// The most that the deck of 23 cards can reach: 10 New-Orders of 10 terminals in 476 s.
const MAX_OF_DECK: f64 = 12.605;

/// What a headline is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// New-Orders of the measurement interval that did not fail.
    new_orders: u64,
    /// Transactions of the whole action.
    transactions: u64,
    /// Of all of these.
    round_trips: u64,
}

impl Counts {
    /// From the totals of each operation and outcome: its name, whether it did not fail, how many in the measurement
    /// interval and in all.
    pub fn of<'a>(totals: impl Iterator<Item = (&'a str, bool, u64, u64)>, round_trips: u64) -> Self {
        let mut counts = Self { round_trips, ..Self::default() };
        for (operation, counts_as_done, measured, all) in totals {
            // Its transaction was counted when it was queued; its round trips are that one's.
            if operation != OPERATIONS_DEFERRED[usize::from(DELIVERY_DEFERRED.0)] {
                counts.transactions += all;
            }
            if counts_as_done && operation == OPERATIONS[usize::from(NEW_ORDER.0)] {
                counts.new_orders += measured;
            }
        }
        counts
    }
}

/// The headline of what was measured so far; `None` for other workloads, and while nothing was.
#[must_use]
pub fn headline(spec: &Spec, counts: &Counts, measured_s: f64) -> Option<Headline> {
    let WorkloadSpec::Tpcc(tpcc) = &spec.workload else { return None };
    if measured_s <= 0.0 {
        return None;
    }
    let Counts { new_orders, transactions, round_trips } = *counts;
    let new_orders_per_minute = new_orders as f64 * 60.0 / measured_s;
    let tpmc = (tpcc.wait == TpccWait::Spec && tpcc.wait_factor == 1.0).then(|| new_orders_per_minute.floor());
    // This generator's part of the warehouses' terminals.
    let active = f64::from(tpcc.active()) * f64::from(spec.share().len()) / f64::from(spec.share().clients);
    // Of the exact rate: of two warehouses, what the truncation takes is 2 % of the efficiency.
    let efficiency = |most: f64| tpmc.map(|_| 100.0 * new_orders_per_minute / (most * active));
    Some(Headline {
        new_orders_per_minute,
        round_trips_per_transaction: (transactions > 0).then(|| round_trips as f64 / transactions as f64),
        tpmc,
        efficiency_of_12_86_percent: efficiency(MAX_OF_MIX),
        efficiency_of_12_605_percent: efficiency(MAX_OF_DECK),
    })
}

/// The headline for people.
#[must_use]
pub fn sentence(profile: &str, headline: &Headline) -> String {
    let mut text = format!("{:.0} New-Orders per minute (profile {profile}", headline.new_orders_per_minute);
    if let Some(round_trips) = headline.round_trips_per_transaction {
        text.push_str(&format!(", {round_trips:.2} round trips per transaction"));
    }
    text.push(')');
    if let (Some(tpmc), Some(mix), Some(deck)) =
        (headline.tpmc, headline.efficiency_of_12_86_percent, headline.efficiency_of_12_605_percent)
    {
        text.push_str(&format!(
            "; tpmC {tpmc:.0}, efficiency {mix:.1} % of {MAX_OF_MIX} and {deck:.1} % of {MAX_OF_DECK} per warehouse"
        ));
    } else {
        text.push_str("; not tpmC, because terminals did not wait as the specification says");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Phase;
    use crate::output::outcome::Outcome;
    use crate::record::Ledger;
    use crate::record::{Lanes, Sample};

    fn spec(workload: &str) -> Spec {
        let json =
            format!(r#"{{"action":"run","target":{{"dsn":"postgresql://u@h/d"}},"seed":1,"workload":{workload}}}"#);
        Spec::parse(&json).unwrap()
    }

    fn ledger() -> Ledger {
        let mut lanes = Lanes::new(1);
        for (operation, outcome) in [
            (0, Outcome::Committed),
            (0, Outcome::Committed),
            (0, Outcome::RolledBackByDesign),
            (0, Outcome::Failed),
            (1, Outcome::Committed),
        ] {
            let sample = |ended_ns| Sample { round_trips: 4, ..Sample::short(operation, outcome, ended_ns) };
            lanes.lane(0).record(&mut None, || 1, sample);
        }
        let mut ledger = Ledger::new(&OPERATIONS, false, crate::record::OutageWatch::idle());
        ledger.collect(&mut lanes, Phase::Measure, 0);
        ledger.close(Phase::Measure, 10);
        ledger
    }

    #[test]
    fn rolled_back_orders_count_and_failed_ones_do_not() {
        let headline = headline(&spec(r#"{"kind":"tpcc","warehouses":2}"#), &Counts::from(&ledger()), 60.0).unwrap();
        assert_eq!((headline.new_orders_per_minute, headline.round_trips_per_transaction), (3.0, Some(4.0)));
        assert_eq!((headline.tpmc, headline.efficiency_of_12_86_percent), (None, None));
        let text = sentence("batched", &headline);
        assert!(
            text.contains("3 New-Orders per minute (profile batched, 4.00 round trips") && text.contains("not tpmC")
        );
    }

    #[test]
    fn efficiency_names_both_divisors_and_needs_unscaled_waits() {
        let waits = spec(r#"{"kind":"tpcc","warehouses":9,"active_warehouses":2,"wait":"spec"}"#);
        let headline_of = |spec: &Spec| headline(spec, &Counts::from(&ledger()), 7.3);
        let headline = headline_of(&waits).unwrap();
        let tpmc = headline.tpmc.unwrap();
        assert_eq!(tpmc, 24.0, "truncated");
        let exact = headline.new_orders_per_minute;
        assert!(exact > 24.5, "{exact}");
        assert_eq!(headline.efficiency_of_12_86_percent, Some(100.0 * exact / (12.86 * 2.0)));
        assert_eq!(headline.efficiency_of_12_605_percent, Some(100.0 * exact / (12.605 * 2.0)));
        assert!(sentence("batched", &headline).contains("% of 12.86 and"));
        let scaled = spec(r#"{"kind":"tpcc","warehouses":2,"wait":"spec","wait_factor":0.5}"#);
        assert_eq!(headline_of(&scaled).unwrap().tpmc, None);
        assert!(super::headline(&spec(r#"{"kind":"null"}"#), &Counts::from(&ledger()), 60.0).is_none());
        assert!(super::headline(&waits, &Counts::from(&ledger()), 0.0).is_none());
    }
}
