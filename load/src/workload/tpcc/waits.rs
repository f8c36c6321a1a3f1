//! Keying and think times (clauses 5.2.5.4 and 5.2.5.7), as functions of (seed, client, turn).

use super::operations::OPERATIONS;
use super::random::{Purpose, Stream};
use super::terminals::{Layout, card};
use crate::workload::{AuditLine, Draws, OperationId, Tally, Waits, exponential};

/// Typing the inputs takes always as long, by operation.
pub const KEYING_S: [f64; 5] = [18.0, 3.0, 2.0, 2.0, 2.0];
/// Mean of the exponential think time after an operation.
pub const THINK_MEAN_S: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
/// Of 23 cards, 476 s.
const MEAN_CYCLE_S: f64 = 476.0 / 23.0;
/// A longer think time than this many means is cut to it, which takes 0.005 % off the mean.
const THINK_CUT: f64 = 10.0;

const KEYING: [&str; 5] = [
    "keying_mean.new_order",
    "keying_mean.payment",
    "keying_mean.order_status",
    "keying_mean.delivery",
    "keying_mean.stock_level",
];
const THINK: [&str; 5] = [
    "think_mean.new_order",
    "think_mean.payment",
    "think_mean.order_status",
    "think_mean.delivery",
    "think_mean.stock_level",
];
const STANDARD_ERRORS: f64 = 4.0;
/// Below this many draws the mean of an exponential is not normal enough to be judged.
const MINIMUM_DRAWS: u64 = 100;

/// The waits of a run's clients.
#[derive(Debug)]
pub struct TpccWaits {
    seed: u64,
    layout: Layout,
    factor: f64,
    keying: [Tally; 5],
    think: [Tally; 5],
}

impl TpccWaits {
    /// All times are multiplied by `factor`.
    #[must_use]
    pub fn new(seed: u64, layout: Layout, factor: f64) -> Self {
        Self { seed, layout, factor, keying: [Tally::default(); 5], think: [Tally::default(); 5] }
    }

    fn operation(&self, client: u32, turn: u64) -> usize {
        let OperationId(operation) = card(self.seed, self.layout, client, turn);
        usize::from(operation)
    }

    fn keying_s(&self, operation: usize) -> f64 {
        KEYING_S[operation] * self.factor
    }

    fn think_s(&self, client: u32, turn: u64, operation: usize) -> f64 {
        let mut stream = Stream::new(self.seed, Purpose::Think, client, turn as u32);
        exponential(stream.rng()).min(THINK_CUT) * THINK_MEAN_S[operation] * self.factor
    }
}

impl Waits for TpccWaits {
    fn phase_ns(&mut self, client: u32) -> u64 {
        // A cycle of mean length: were it the client's own, those with short waits would begin first, and the means of
        // a short run would be theirs.
        let share = Stream::new(self.seed, Purpose::Phase, client, 0).below(1 << 24) as f64 / f64::from(1 << 24);
        nanoseconds(share * MEAN_CYCLE_S * self.factor)
    }

    fn pause_ns(&mut self, client: u32, turn: u64) -> u64 {
        let (ended, next) = (self.operation(client, turn), self.operation(client, turn + 1));
        let (think_s, keying_s) = (self.think_s(client, turn, ended), self.keying_s(next));
        for (tally, seconds) in [(&mut self.think[ended], think_s), (&mut self.keying[next], keying_s)] {
            tally.sum += seconds;
            tally.draws += 1;
        }
        nanoseconds(think_s + keying_s)
    }

    fn draws(&self) -> Draws {
        let mut draws = Draws::default();
        draws.tallies.extend(KEYING.into_iter().zip(self.keying));
        draws.tallies.extend(THINK.into_iter().zip(self.think));
        draws
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Judges the means of what was waited, each within four standard errors.
#[must_use]
pub fn audit(draws: &Draws, factor: f64) -> Vec<AuditLine> {
    let line = |name: &str, expected: f64, deviation: f64| {
        let tally = draws.tallies.get(name).copied().unwrap_or_default();
        let observed = if tally.draws == 0 { 0.0 } else { tally.sum / tally.draws as f64 };
        // A constant has no standard error, but a sum has rounding errors.
        let reach = STANDARD_ERRORS * deviation / (tally.draws.max(1) as f64).sqrt() + 1e-9 * expected;
        let (low, high) = (expected - reach, expected + reach);
        let passed = (tally.draws >= MINIMUM_DRAWS).then_some((low..=high).contains(&observed));
        AuditLine { name: name.to_owned(), observed, low, high, draws: tally.draws, passed }
    };
    let keying = (0..OPERATIONS.len()).map(|kind| line(KEYING[kind], KEYING_S[kind] * factor, 0.0));
    let think = (0..OPERATIONS.len()).map(|kind| {
        let mean_s = THINK_MEAN_S[kind] * factor;
        line(THINK[kind], mean_s * (1.0 - (-THINK_CUT).exp()), mean_s)
    });
    keying.chain(think).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(clients: u32, factor: f64) -> TpccWaits {
        TpccWaits::new(5, Layout::new(clients, clients.div_ceil(10), clients.div_ceil(10)), factor)
    }

    fn failed(waits: &TpccWaits, factor: f64) -> Vec<String> {
        let lines = audit(&waits.draws(), factor);
        assert_eq!(lines.len(), 10);
        lines.into_iter().filter(|line| line.passed != Some(true)).map(|line| line.name).collect()
    }

    /// This many decks of each of 100 clients.
    fn means_are_those_of_the_specification(decks: u64, factor: f64) {
        let mut waits = waits(100, factor);
        let turns = || (0..100).flat_map(|client| (0..23 * decks).map(move |turn| (client, turn)));
        let all_ns: u64 = turns().map(|(client, turn)| waits.pause_ns(client, turn)).sum();
        assert_eq!(failed(&waits, factor), [""; 0]);
        for (tally, mean_s) in waits.think.iter().zip(THINK_MEAN_S) {
            let error = tally.sum / tally.draws as f64 / factor / mean_s - 1.0;
            assert!(error.abs() < 0.005 * (1e6 / tally.draws as f64).sqrt(), "{tally:?}");
        }
        let deck_s = all_ns as f64 * 1e-9 / (100.0 * decks as f64) / factor;
        assert!((deck_s - 476.0).abs() < 476.0 * 0.005 * (1_000.0 / decks as f64).sqrt(), "{deck_s}");
    }

    #[test]
    fn waits_have_the_means_of_the_specification() {
        means_are_those_of_the_specification(20, 1.0);
        means_are_those_of_the_specification(20, 0.01);
    }

    #[test]
    #[ignore = "slow without optimisation"]
    fn a_million_think_times_of_the_rarest_kind_are_within_half_a_percent() {
        means_are_those_of_the_specification(10_000, 1.0);
    }

    #[test]
    fn think_times_are_cut_and_exponential() {
        let mut waits = waits(10, 1.0);
        let mut longest_ns = 0;
        let mut below_mean = 0;
        for turn in 0..20_000 {
            let ended = waits.operation(3, turn);
            let think_s = waits.think_s(3, turn, ended);
            below_mean += u32::from(think_s < THINK_MEAN_S[ended]);
            longest_ns = longest_ns.max(waits.pause_ns(3, turn));
        }
        assert!(longest_ns <= 138_000_000_000, "{longest_ns}");
        let share = f64::from(below_mean) / 20_000.0;
        assert!((share - (1.0 - (-1.0_f64).exp())).abs() < 0.014, "{share}");
    }

    #[test]
    fn a_client_starts_at_random_inside_its_first_cycle() {
        let mut waits = waits(2_000, 1.0);
        let phases: Vec<f64> = (0..2_000).map(|client| waits.phase_ns(client) as f64 * 1e-9).collect();
        assert!(phases.iter().all(|&phase_s| (0.0..20.7).contains(&phase_s)));
        let mean_s = phases.iter().sum::<f64>() / 2_000.0;
        // Half of the mean cycle of 476 / 23 s.
        assert!((mean_s - 10.35).abs() < 1.0, "{mean_s}");
        assert!(waits.draws().tallies.values().all(|tally| tally.draws == 0), "nothing was waited yet");
    }

    #[test]
    fn each_line_of_the_audit_fails_for_wrong_waits() {
        let mut waits = waits(10, 1.5);
        let waited_ns: u64 = (0..23_000).map(|turn| waits.pause_ns(0, turn)).sum();
        assert!(waited_ns > 0);
        let lines = audit(&waits.draws(), 1.0);
        assert!(lines.len() == 10 && lines.iter().all(|line| line.passed == Some(false)), "{lines:?}");
    }
}
