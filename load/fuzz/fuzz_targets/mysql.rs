//! Answers of MySQL and MariaDB to a batch.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nephoscope_load::target::fuzzing;

fuzz_target!(|bytes: &[u8]| fuzzing::mysql(bytes));
