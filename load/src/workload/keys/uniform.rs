//! Uniform draws in 64 bits.

use rand_core::RngCore;

/// A number from 0 to `bound - 1`, without bias (Lemire's multiplication method, in 64 bits).
///
/// # Panics
/// When `bound` is 0.
pub fn below(random: &mut impl RngCore, bound: u64) -> u64 {
    assert!(bound > 0, "there is no number below 0");
    loop {
        let product = u128::from(random.next_u64()) * u128::from(bound);
        // Cheap to refuse: almost no product is below the bound, and only then is the remainder needed.
        let rest = product as u64;
        if rest >= bound || rest >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

/// A number from 0 to below 1, with all 53 bits that fit.
pub(super) fn unit(random: &mut impl RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 * (-53_f64).exp2()
}
