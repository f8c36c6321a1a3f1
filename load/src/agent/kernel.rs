//! A CPU kernel for machines that cannot have EEMBC's own CoreMark: a Rust port of the same algorithms, which checks
//! its checksums. Other code by another compiler gives other numbers, so none of them is a CoreMark score.

use crate::exit::{ExitCode, Failure};
use coremark::types::{LIST_KNOWN_CRC, MATRIX_KNOWN_CRC, STATE_KNOWN_CRC};
use coremark::{COMPILER_FLAGS, COMPILER_VERSION, Config, Results};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::io::Write;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// What the numbers must be called.
pub const LABEL: &str = "CoreMark-like kernel (Rust port), not an EEMBC score";
/// A round is at least this long; between rounds a thread looks at the clock.
const ROUND_S: f64 = 0.02;
const FIRST_ITERATIONS: u32 = 16;
const PERFORMANCE: usize = 3;
const PERFORMANCE_SEED_CRC: u16 = 0xe9f5;

/// One measurement.
#[derive(Debug, Serialize)]
pub struct Measured {
    kernel: &'static str,
    threads: u16,
    iterations: u64,
    elapsed_s: f64,
    /// Of all threads, so that a stop of some of them shows.
    cpu_s: f64,
    iterations_per_s: f64,
    crc_final: String,
    compiler: &'static str,
    flags: &'static str,
}

/// Runs the kernel on every thread at once for `seconds` and the rest of a round, and writes one JSON line.
pub fn run(threads: u16, seconds: f64, mut sink: impl Write) -> Result<ExitCode, Failure> {
    let measured = measure(threads, seconds)?;
    let line = serde_json::to_string(&measured).unwrap_or_default();
    writeln!(sink, "{line}")
        .map_err(|error| Failure::new(ExitCode::Interrupted, format!("cannot write the output: {error}")))?;
    Ok(ExitCode::Finished)
}

/// What one thread did, and when.
struct Worked {
    iterations: u64,
    crc_final: u16,
    began: Instant,
    ended: Instant,
    cpu_s: f64,
}

fn measure(threads: u16, seconds: f64) -> Result<Measured, Failure> {
    let iterations = iterations_of_a_round();
    let start = Arc::new(Barrier::new(usize::from(threads)));
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let start = Arc::clone(&start);
            thread::spawn(move || {
                start.wait();
                work(iterations, seconds)
            })
        })
        .collect();
    let worked: Option<Vec<Worked>> = workers.into_iter().map(|one| one.join().ok().flatten()).collect();
    let Some(worked) = worked.filter(|all| all.iter().all(|one| one.crc_final == all[0].crc_final)) else {
        return Err(Failure::new(ExitCode::ConsistencyBroken, "a thread computed a wrong checksum".to_owned()));
    };
    let began = worked.iter().fold(worked[0].began, |first, one| first.min(one.began));
    let ended = worked.iter().fold(worked[0].ended, |last, one| last.max(one.ended));
    let all = worked.iter().map(|one| one.iterations).sum();
    let elapsed_s = (ended - began).as_secs_f64();
    Ok(Measured {
        kernel: LABEL,
        threads,
        iterations: all,
        elapsed_s,
        cpu_s: worked.iter().map(|one| one.cpu_s).sum(),
        iterations_per_s: all as f64 / elapsed_s,
        crc_final: format!("0x{:04x}", worked[0].crc_final),
        compiler: COMPILER_VERSION,
        flags: COMPILER_FLAGS,
    })
}

/// Rounds until the time is up, so that a machine that slows down or speeds up after the trial is measured as long as
/// any other. `None`: a checksum was wrong.
fn work(iterations: u32, seconds: f64) -> Option<Worked> {
    let (began, cpu_began_s) = (Instant::now(), cpu_of_this_thread_s());
    let mut done = 0;
    loop {
        let result = kernel(iterations);
        done += u64::from(iterations);
        let ended = Instant::now();
        if !is_right(&result) {
            return None;
        }
        if (ended - began).as_secs_f64() >= seconds {
            let cpu_s = cpu_of_this_thread_s() - cpu_began_s;
            return Some(Worked { iterations: done, crc_final: result.crcfinal, began, ended, cpu_s });
        }
    }
}

fn cpu_of_this_thread_s() -> f64 {
    let read = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(read.tv_sec.unsigned_abs(), u32::try_from(read.tv_nsec).unwrap_or_default()).as_secs_f64()
}

/// Chosen so that a round takes `ROUND_S` to twice that: long against the set-up of its data, short against the whole.
fn iterations_of_a_round() -> u32 {
    let mut iterations = FIRST_ITERATIONS;
    loop {
        let began = Instant::now();
        kernel(iterations);
        if began.elapsed().as_secs_f64() >= ROUND_S {
            return iterations;
        }
        iterations = iterations.saturating_mul(2);
    }
}

/// EEMBC's performance run: seeds 0, 0, 0x66 and 2000 bytes.
fn kernel(iterations: u32) -> Results {
    coremark::run(&Config { seed3: 0x66, iterations, ..Config::default() })
}

/// The checksums of EEMBC's performance run. Its rule of ten seconds is for scores, and this is none.
fn is_right(result: &Results) -> bool {
    result.seedcrc == PERFORMANCE_SEED_CRC
        && result.crclist == LIST_KNOWN_CRC[PERFORMANCE]
        && result.crcmatrix == MATRIX_KNOWN_CRC[PERFORMANCE]
        && result.crcstate == STATE_KNOWN_CRC[PERFORMANCE]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_computes_the_known_checksums() {
        let measured = measure(2, 0.3).expect("checksums");
        assert_eq!(measured.threads, 2);
        assert!((measured.iterations_per_s * measured.elapsed_s - measured.iterations as f64).abs() < 1.0);
        assert!(measured.elapsed_s >= 0.3, "{}", measured.elapsed_s);
        assert!(measured.cpu_s > 0.0 && measured.cpu_s <= 2.0 * measured.elapsed_s, "{}", measured.cpu_s);
    }

    #[test]
    fn wrong_checksums_are_found() {
        let mut config = Config { seed3: 0x66, iterations: 1, ..Config::default() };
        assert!(is_right(&coremark::run(&config)));
        config.seed1 = 3;
        assert!(!is_right(&coremark::run(&config)), "other seeds have other checksums");
    }

    #[test]
    fn the_line_says_what_it_is_not() {
        let mut line = Vec::new();
        run(1, 0.05, &mut line).expect("a line");
        assert!(String::from_utf8(line).expect("text").contains("not an EEMBC score"));
    }
}
