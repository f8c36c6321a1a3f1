//! When the next operation is due. A pace is a pure function of what it is told: it never reads a clock, so that it
//! is tested with tables, and so that one engine can replay another's times.

/// Decides the intended start of each operation of one worker.
pub trait Pace: Send {
    /// The intended start of the next operation, in nanoseconds since the start of the load, for a worker that has
    /// been free since `free_ns`. It may lie in the past: the operation is then late, and its lateness is queue time.
    fn intended_ns(&mut self, free_ns: u64) -> u64;
}

/// Each operation is due as soon as the one before it ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Closed;

impl Pace for Closed {
    fn intended_ns(&mut self, free_ns: u64) -> u64 {
        free_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drives a pace with operations of these lengths; answers the intended starts.
    fn starts(pace: &mut dyn Pace, lengths_ns: &[u64]) -> Vec<u64> {
        let mut free_ns = 0;
        let mut starts = Vec::new();
        for length_ns in lengths_ns {
            let intended_ns = pace.intended_ns(free_ns);
            starts.push(intended_ns);
            free_ns = free_ns.max(intended_ns) + length_ns;
        }
        starts
    }

    #[test]
    fn closed_is_due_when_free() {
        assert_eq!(starts(&mut Closed, &[5, 0, 100, 1]), [0, 5, 5, 105]);
    }
}
