//! Which share of the work one of several generators does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Machines that generate one load.
pub const MAX_SHARDS: u32 = 10_000;

/// The share of the work that this process does: share `index` of `count` equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShardSpec {
    /// Number of this share, from 0.
    #[serde(default)]
    pub index: u32,
    /// Number of shares.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MAX_SHARDS))]
    pub count: u32,
}

impl ShardSpec {
    /// Whether one generator drives the load alone.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.count == 1
    }
}

impl Default for ShardSpec {
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

fn one() -> u32 {
    1
}
