//! Relays packets between two zones of an emulated network with delay and loss, in order. The kernel does this better
//! where it has netem; this relay only needs TAP devices, which return one packet per read.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::thread::set_current_timer_slack;
use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Largest packet that is passed on; Ethernet's are smaller, a device may join several.
const PACKET_BYTES: usize = 1 << 16;
/// Packets in flight each way; more are dropped, as by a router whose buffer is full.
const MAX_QUEUED: usize = 1 << 14;

/// What happens to packets, in each direction separately.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// How long a packet is in flight.
    pub delay: Duration,
    /// At most this much more or less, every value as likely; a packet never overtakes the one before.
    pub jitter: Duration,
    /// Share of packets to drop.
    pub loss: f64,
}

/// Relays packets between two devices until one of them is gone.
///
/// # Errors
/// When a device cannot be used a second time, for writing beside reading.
pub fn connect(left: File, right: File, wire: Wire, seed: u64) -> io::Result<()> {
    let (left_too, right_too) = (left.try_clone()?, right.try_clone()?);
    let there = thread::spawn(move || wire.pass(left, right, seed));
    wire.pass(right_too, left_too, !seed);
    let _ = there.join();
    Ok(())
}

impl Wire {
    /// One way, on this thread and another one.
    fn pass(self, from: File, to: File, seed: u64) {
        let (queue, due) = sync_channel(MAX_QUEUED);
        let sending = thread::spawn(move || send(&due, to));
        self.take(from, &queue, seed);
        drop(queue);
        let _ = sending.join();
    }

    fn take(self, mut from: File, queue: &SyncSender<(Instant, Vec<u8>)>, seed: u64) {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut packet = vec![0; PACKET_BYTES];
        let mut last = Instant::now();
        loop {
            let length = match from.read(&mut packet) {
                Ok(0) => return,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return, // the device is gone
            };
            if share(&mut draws) < self.loss {
                continue;
            }
            last = last.max(Instant::now() + self.under_way(share(&mut draws)));
            if let Err(TrySendError::Disconnected(_)) = queue.try_send((last, packet[..length].to_vec())) {
                return;
            }
        }
    }

    /// How long, by a draw from 0 to 1.
    fn under_way(self, draw: f64) -> Duration {
        (self.delay + self.jitter.mul_f64(2.0 * draw)).saturating_sub(self.jitter)
    }
}

/// From 0 to below 1.
fn share(draws: &mut impl RngCore) -> f64 {
    (draws.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A packet that the device does not take is lost, as on any wire. The kernel wakes sleepers up to 50 µs late to save
/// power, which it is asked not to do here.
fn send(due: &Receiver<(Instant, Vec<u8>)>, mut to: File) {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    while let Ok((at, packet)) = due.recv() {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        let _ = to.write(&packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    /// Two ends of a wire that goes on until the test ends.
    fn ends(wire: Wire) -> (UnixDatagram, UnixDatagram) {
        let (left, left_device) = UnixDatagram::pair().unwrap();
        let (right, right_device) = UnixDatagram::pair().unwrap();
        let devices = [left_device, right_device].map(|device| File::from(OwnedFd::from(device)));
        let [left_device, right_device] = devices;
        thread::spawn(move || connect(left_device, right_device, wire, 7));
        for end in [&left, &right] {
            end.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        }
        (left, right)
    }

    fn wire(delay_ms: u64, jitter_ms: u64, loss: f64) -> Wire {
        Wire { delay: Duration::from_millis(delay_ms), jitter: Duration::from_millis(jitter_ms), loss }
    }

    #[test]
    fn packets_arrive_whole_in_their_order_and_not_before_their_time() {
        let (left, right) = ends(wire(30, 10, 0.0));
        let begun = Instant::now();
        for number in 0..50_u8 {
            left.send(&[number; 3]).unwrap();
        }
        let mut packet = [0; 9];
        for number in 0..50_u8 {
            assert_eq!(right.recv(&mut packet).unwrap(), 3);
            assert_eq!(packet[..3], [number; 3]);
        }
        assert!(begun.elapsed() >= Duration::from_millis(20));
        right.send(b"back").unwrap();
        assert_eq!(left.recv(&mut packet).unwrap(), 4);
    }

    #[test]
    fn a_share_of_packets_is_lost() {
        let (left, right) = ends(wire(0, 0, 0.25));
        right.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let mut arrived = 0;
        for _ in 0..40 {
            for _ in 0..10 {
                left.send(b"x").unwrap();
            }
            thread::sleep(Duration::from_millis(1));
        }
        left.send(b"end").unwrap();
        let mut packet = [0; 9];
        while let Ok(1) = right.recv(&mut packet) {
            arrived += 1;
        }
        assert!((260..=340).contains(&arrived), "{arrived} of 400 arrived: five deviations are 43");
    }

    #[test]
    fn jitter_is_even_around_the_delay() {
        let wire = wire(10, 4, 0.0);
        let ms = |draw| wire.under_way(draw).as_secs_f64() * 1000.0;
        assert!(
            [(0.0, 6.0), (0.5, 10.0), (1.0, 14.0)].iter().all(|(draw, expected)| (ms(*draw) - expected).abs() < 1e-6)
        );
    }
}
