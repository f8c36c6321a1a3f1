//! Loading: how rows get into a target, by SQL or by key, and the notes that let a load resume.

pub mod admin;
pub mod journal;
pub mod keyspace;
pub mod kv;
pub mod loader;
pub(crate) mod parts;
pub mod recordset;
pub(crate) mod rows;
