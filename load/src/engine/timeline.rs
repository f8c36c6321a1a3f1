//! The plan of a load in time: ramp and measurement, cut into intervals of one second. Pure.

use crate::output::Phase;
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;

/// One interval, in nanoseconds since the start of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// From 0.
    pub index: u64,
    /// Ramp or measurement.
    pub phase: Phase,
    /// Inclusive.
    pub start_ns: u64,
    /// Exclusive.
    pub end_ns: u64,
}

/// Ramp, then measurement. Each is cut into whole seconds and what is left, so that no interval is of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    /// Driven but not measured.
    pub ramp: Duration,
    /// The measurement interval.
    pub measure: Duration,
}

impl Timeline {
    /// When the measurement begins.
    #[must_use]
    pub fn measure_start_ns(self) -> u64 {
        nanoseconds(self.ramp)
    }

    /// When no further operation starts.
    #[must_use]
    pub fn end_ns(self) -> u64 {
        nanoseconds(self.ramp).saturating_add(nanoseconds(self.measure))
    }

    /// All intervals, in order.
    pub fn spans(self) -> impl Iterator<Item = Span> {
        let ramp = cuts(0, self.measure_start_ns()).map(|cut| (Phase::Ramp, cut));
        let measure = cuts(self.measure_start_ns(), self.end_ns()).map(|cut| (Phase::Measure, cut));
        ramp.chain(measure).zip(0..).map(|((phase, (start_ns, end_ns)), index)| Span { index, phase, start_ns, end_ns })
    }
}

fn cuts(from_ns: u64, to_ns: u64) -> impl Iterator<Item = (u64, u64)> {
    std::iter::successors(Some(from_ns), |start| start.checked_add(SECOND_NS))
        .take_while(move |&start| start < to_ns)
        .map(move |start| (start, to_ns.min(start.saturating_add(SECOND_NS))))
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ramp_ms: u64, measure_ms: u64) -> Vec<(Phase, u64, u64)> {
        let timeline = Timeline { ramp: Duration::from_millis(ramp_ms), measure: Duration::from_millis(measure_ms) };
        let spans: Vec<_> = timeline.spans().collect();
        assert!(spans.iter().zip(0..).all(|(span, index)| span.index == index));
        spans.iter().map(|span| (span.phase, span.start_ns / 1_000_000, span.end_ns / 1_000_000)).collect()
    }

    #[test]
    fn whole_seconds_and_what_is_left() {
        use Phase::{Measure, Ramp};
        assert_eq!(spans(0, 2_000), [(Measure, 0, 1_000), (Measure, 1_000, 2_000)]);
        assert_eq!(spans(0, 250), [(Measure, 0, 250)]);
        let expected = [(Ramp, 0, 1_000), (Ramp, 1_000, 1_500), (Measure, 1_500, 2_500), (Measure, 2_500, 2_600)];
        assert_eq!(spans(1_500, 1_100), expected);
    }
}
