//! How long a point is measured: in short samples, and longer where they differ.

/// Coefficient of variation up to which the samples of a point agree.
const AGREE: f64 = 0.02;
/// Samples between two looks at how much they differ.
const BATCH: usize = 5;
/// A point that still differs after so many batches is reported as it is.
const MOST_BATCHES: usize = 4;

/// Takes samples until they agree. The first one warms caches and frequency up, and does not count.
pub fn until_they_agree(mut sample: impl FnMut() -> f64) -> Vec<f64> {
    sample();
    let mut samples = Vec::with_capacity(BATCH * MOST_BATCHES);
    while samples.len() < BATCH * MOST_BATCHES {
        samples.extend((0..BATCH).map(|_| sample()));
        if variation(&samples) <= AGREE {
            break;
        }
    }
    samples
}

/// Standard deviation over mean, of two values or more.
fn variation(samples: &[f64]) -> f64 {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|one| (one - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_agree_are_few_and_the_first_does_not_count() {
        let mut values = [900.0, 100.0, 101.0, 99.0, 100.0, 100.0].into_iter();
        assert_eq!(until_they_agree(|| values.next().expect("no further sample")), [100.0, 101.0, 99.0, 100.0, 100.0]);
    }

    #[test]
    fn samples_that_never_agree_end() {
        let mut taken = 0;
        let samples = until_they_agree(|| {
            taken += 1;
            f64::from(taken)
        });
        assert_eq!((taken, samples.len()), (21, 20));
    }
}
