//! `fake-target`: a server that only looks like one.

use crate::exit::{ExitCode, Failure};
use crate::fake_target::{FakeTarget, Listen, Plan};
use crate::stop::Stop;
use clap::Args;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct FakeTargetArgs {
    /// ADDRESS:PORT (port 0 takes a free one), or the path of a unix socket, which clients find only as
    /// FOLDER/.s.PGSQL.PORT.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// Answer each round trip so many microseconds after it was asked for.
    #[arg(long, default_value_t = 0)]
    service_us: u64,
    /// Stop doing anything so long after the first statement …
    #[arg(long, requires = "freeze_for_s", value_parser = seconds)]
    freeze_at_s: Option<Duration>,
    /// … for so long.
    #[arg(long, requires = "freeze_at_s", value_parser = seconds)]
    freeze_for_s: Option<Duration>,
    /// Size of the TPC-C data set that it says it holds.
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

impl FakeTargetArgs {
    pub(super) fn serve(self, stop: &Stop) -> Result<ExitCode, Failure> {
        let listen = if self.listen.starts_with('/') {
            Listen::Unix(PathBuf::from(&self.listen))
        } else {
            Listen::Tcp(self.listen.clone())
        };
        let plan =
            Plan { service: Duration::from_micros(self.service_us), freeze: self.freeze_at_s.zip(self.freeze_for_s) };
        let failed = |error: io::Error| Failure::new(ExitCode::BadSpec, format!("{}: {error}", self.listen));
        let target = FakeTarget::bind(&listen, plan, self.warehouses).map_err(failed)?;
        target.serve(&mut io::stdout().lock(), || stop.requested()).map_err(failed)?;
        Ok(ExitCode::Finished)
    }
}
