//! What differs between servers of the PostgreSQL wire. One text serves all of them wherever it can.
//!
//! The statements for CockroachDB were run on a server of version 22.1, and the public parsers of 22.2, 23.1, 23.2 and
//! 25.2 accept them. Nothing was run against YugabyteDB.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which SQL a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// PostgreSQL 14 and later.
    #[default]
    Postgres,
    /// CockroachDB 22.1 and later.
    Cockroachdb,
    /// YugabyteDB's YSQL, 2.20 and later.
    Yugabytedb,
}

/// For large sorts of an index build: one batch in memory for 10 million short keys.
const INDEX_MEMORY: &str = "512MB";

impl Dialect {
    /// Whether a rollback undoes DDL, and a transaction may mix DDL with other statements.
    #[must_use]
    pub fn has_transactional_ddl(self) -> bool {
        self == Self::Postgres
    }

    /// Whether keys belong into CREATE TABLE: where the table is stored in its key's order, adding one later writes
    /// every row again. Elsewhere one sort at the end is cheaper than a tree that grows row by row.
    #[must_use]
    pub fn keys_at_creation(self) -> bool {
        self != Self::Postgres
    }

    /// Whether pages have a fill factor.
    #[must_use]
    pub fn has_fill_factor(self) -> bool {
        self == Self::Postgres
    }

    /// Whether a column may be compared byte by byte whatever the database's locale; CockroachDB always does, and
    /// would make another type of such a column.
    #[must_use]
    pub fn has_c_collation(self) -> bool {
        self != Self::Cockroachdb
    }

    /// After so many bytes a transaction of a load is committed, and the next begins; `None`: it has a whole piece.
    /// Where each row becomes a write of its own that the transaction keeps account of, large ones take more memory and
    /// time: CockroachDB 22.1 loaded two warehouses with 126 s of CPU and 2.4 GB when each table of a warehouse was a
    /// transaction, and with 55 to 78 s and 0.8 GB in transactions of 1,000 to 20,000 rows.
    #[must_use]
    pub fn max_transaction_bytes(self) -> Option<u64> {
        match self {
            Self::Postgres => None,
            Self::Cockroachdb | Self::Yugabytedb => Some(2 << 20),
        }
    }

    /// What a session that loads says first. Rows that a crash loses are loaded again, and a load ends with a commit
    /// that waits for the disk; a memory that is larger already stays.
    #[must_use]
    pub fn loading_settings(self) -> Vec<String> {
        match self {
            Self::Postgres => vec![
                "SET synchronous_commit = off".to_owned(),
                format!(
                    "SELECT set_config('maintenance_work_mem', '{INDEX_MEMORY}', false) \
                     WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('{INDEX_MEMORY}')"
                ),
            ],
            Self::Cockroachdb | Self::Yugabytedb => Vec::new(),
        }
    }

    /// Makes the planner know `table` and, where there is one, spares the first run the debt of new rows (hint bits,
    /// visibility map, freezing).
    #[must_use]
    pub fn settle(self, table: &str) -> String {
        match self {
            Self::Postgres => format!("VACUUM (FREEZE, ANALYZE) {table}"),
            Self::Cockroachdb | Self::Yugabytedb => format!("ANALYZE {table}"),
        }
    }

    /// A query that answers `t` when [`Dialect::CHECKPOINT`] is allowed; `None` where there is none.
    #[must_use]
    pub fn may_checkpoint(self) -> Option<&'static str> {
        (self == Self::Postgres).then_some(
            "SELECT current_setting('is_superuser') = 'on' \
             OR coalesce(pg_has_role(to_regrole('pg_checkpoint'), 'MEMBER'), false)",
        )
    }

    /// CockroachDB's protocol for transactions that are retried: after BEGIN, before COMMIT, and instead of ROLLBACK.
    pub const RESTART_PROTOCOL: [&'static str; 3] = [
        "SAVEPOINT cockroach_restart",
        "RELEASE SAVEPOINT cockroach_restart",
        "ROLLBACK TO SAVEPOINT cockroach_restart",
    ];

    /// Writes what is only in memory to the disks, so that no run pays for the load.
    pub const CHECKPOINT: &'static str = "CHECKPOINT";

    /// The server's function from a text to 64 bits that [`crate::verify::fingerprint`] computes too.
    #[must_use]
    pub fn text_hash(self, text: &str) -> String {
        match self {
            Self::Postgres | Self::Yugabytedb => format!("hashtextextended({text}, 0)"),
            Self::Cockroachdb => format!("fnv64a({text})"),
        }
    }

    /// Whether the server counts what is done to each table, where [`crate::verify::statistics`] looks for it.
    #[must_use]
    pub fn has_table_statistics(self) -> bool {
        self == Self::Postgres
    }

    /// Settings of the cluster under which the 2022 edition of the Cloud Report ran TPC-C: for the user to apply.
    #[must_use]
    pub fn edition_2022_settings(self) -> &'static [&'static str] {
        match self {
            Self::Cockroachdb => &[
                "SET CLUSTER SETTING admission.kv.enabled = false",
                "SET CLUSTER SETTING admission.sql_kv_response.enabled = false",
                "SET CLUSTER SETTING admission.sql_sql_response.enabled = false",
                "SET CLUSTER SETTING server.consistency_check.interval = '0s'",
                "SET CLUSTER SETTING kv.range_merge.queue_enabled = false",
                "SET CLUSTER SETTING sql.stats.automatic_collection.enabled = false",
            ],
            Self::Postgres | Self::Yugabytedb => &[],
        }
    }
}
