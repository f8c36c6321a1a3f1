//! The blocks of bytes in the rows.

use crate::workload::Streams;
use crate::workload::keys::below;
use rand_core::RngCore;

/// The purpose of the stream that the pool is drawn from.
const POOL_STREAM: u64 = 0x6B_76_01;
/// Of a block, this much is made at a time: the pool stays in a processor's nearest cache.
const MAX_POOL_BYTES: u32 = 16 << 10;

/// Blocks of random bytes that cannot be compressed: of all of them, no eight bytes come twice but by chance.
#[derive(Debug)]
pub struct Blocks {
    /// Random bytes, under another mask in each block: to draw them all would cost more than to send them.
    pool: Vec<u8>,
    pub(super) min: u32,
    pub(super) max: u32,
}

impl Blocks {
    /// Of a seed, with lengths from `min` to `max`, each as likely as another.
    #[must_use]
    pub fn new(seed: u64, min: u32, max: u32) -> Self {
        let mut pool = vec![0; max.clamp(1, MAX_POOL_BYTES) as usize];
        Streams::new(seed).stream(POOL_STREAM, 0).fill_bytes(&mut pool);
        Self { pool, min, max }
    }

    /// Draws one, and appends it.
    pub fn draw(&self, random: &mut impl RngCore, to: &mut Vec<u8>) {
        let bytes = self.min + below(random, u64::from(self.max - self.min) + 1) as u32;
        let end = to.len() + bytes as usize;
        while to.len() < end {
            let from = to.len();
            to.extend_from_slice(&self.pool[..self.pool.len().min(end - from)]);
            mask(&mut to[from..], random.next_u64());
        }
    }

    /// Mean and standard deviation of a length.
    pub(super) fn moments(&self) -> (f64, f64) {
        let lengths = f64::from(self.max - self.min) + 1.0;
        (f64::midpoint(self.min.into(), self.max.into()), ((lengths * lengths - 1.0) / 12.0).sqrt())
    }
}

/// Changes all bytes by this one, so that nothing in them is what it was.
fn mask(bytes: &mut [u8], by: u64) {
    let by = by.to_le_bytes();
    let change = |word: &mut [u8]| word.iter_mut().zip(by).for_each(|(byte, by)| *byte ^= by);
    // The compiler makes wide instructions of words whose length it knows.
    let mut words = bytes.chunks_exact_mut(by.len());
    words.by_ref().for_each(change);
    change(words.into_remainder());
}
