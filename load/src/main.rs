//! The program; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(nephoscope_load::cli::run())
}
