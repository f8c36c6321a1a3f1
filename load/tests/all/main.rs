//! Tests against real parts, as one program: each program of tests would link the whole crate once more. Only what needs
//! a program to itself stands beside this folder.

#[path = "../support/mod.rs"]
mod support;
#[path = "../tpcc_driver/mod.rs"]
mod tpcc_driver;

#[cfg(feature = "testkit")]
mod aerospike_target;
mod cockroach;
mod engine;
mod hostile;
mod impostor;
mod kv_database;
mod mysql_target;
mod mysql_tpcc;
mod oltp_database;
mod pooler;
mod postgres_target;
mod program;
mod query;
mod resp_target;
mod rooms;
mod sql;
mod table_statistics;
mod tls;
mod tpcb_database;
mod tpcc_database;
mod tpcc_loading;
mod tpcc_population;
mod tpcc_profiles;
mod tpcc_program;
#[cfg(feature = "testkit")]
mod tpcc_waits;
mod ycsb_database;
