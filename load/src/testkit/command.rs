//! `fake-target` and `fake-aerospike`, the commands that serve them.

use crate::exit::{ExitCode, Failure};
use crate::stop::Stop;
use crate::testkit::{FakeCluster, FakeTarget, Listen, Plan};
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
pub(crate) struct FakeTargetArgs {
    /// ADDRESS:PORT (port 0 selects a free one), or the path of a Unix socket, which clients only find as
    /// FOLDER/.s.PGSQL.PORT.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// Microseconds before each round trip is answered.
    #[arg(long, default_value_t = 0)]
    service_us: u64,
    /// Freeze this many seconds after the first statement.
    #[arg(long, requires = "freeze_for_s", value_parser = seconds)]
    freeze_at_s: Option<Duration>,
    /// Length of the freeze in seconds.
    #[arg(long, requires = "freeze_at_s", value_parser = seconds)]
    freeze_for_s: Option<Duration>,
    /// Warehouses of the TPC-C data set that it claims to hold.
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

impl FakeTargetArgs {
    pub(crate) fn serve(self, stop: &Stop) -> Result<ExitCode, Failure> {
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

#[derive(Debug, Args)]
pub(crate) struct FakeAerospikeArgs {
    /// Nodes of the cluster, each on a free port of this machine.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    nodes: u16,
    /// The namespace of the nodes.
    #[arg(long, default_value = "test")]
    namespace: String,
}

impl FakeAerospikeArgs {
    pub(crate) fn serve(self, stop: &Stop) -> Result<ExitCode, Failure> {
        let failed = |error: io::Error| Failure::new(ExitCode::BadSpec, format!("cannot find a free port: {error}"));
        let cluster = FakeCluster::start(usize::from(self.nodes), &self.namespace).map_err(failed)?;
        let line = serde_json::json!({"event": "listening", "addresses": cluster.addresses()});
        // Who closed the pipe has no need of it.
        let _ = writeln!(io::stdout(), "{line}");
        while !stop.requested() {
            thread::sleep(LOOK_EVERY);
        }
        Ok(ExitCode::Finished)
    }
}
