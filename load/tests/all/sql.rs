//! `nephoscope-load sql`: what it prints is what is sent, and servers take it.

use crate::support;

use nephoscope_load::target::Statement;
use nephoscope_load::target::postgres::Isolation;
use serde_json::json;
use std::collections::BTreeSet;
use support::program::{self, exec};

fn printed(arguments: &str) -> Vec<String> {
    let output = program::command().arg("sql").args(arguments.split_ascii_whitespace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.strip_suffix(';').expect("a semicolon ends each line").to_owned()).collect()
}

#[test]
fn each_line_of_postgresql_is_taken_by_its_parser() {
    let Some(server) = support::server() else { return };
    for workload in [
        "tpcc",
        "point-select",
        "oltp-insert --tables 2",
        "oltp-read-write --tables 2",
        "oltp-read-only",
        "tpcb",
        "ycsb",
    ] {
        let mut connection = server.connect();
        for line in printed(&format!("--workload {workload} --part schema")) {
            connection.query(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
        let lines = printed(&format!("--workload {workload}"));
        // Functions must be there before a call of them can be parsed.
        for line in lines.iter().filter(|line| line.starts_with("CREATE OR REPLACE FUNCTION")) {
            connection.query(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
        let statement = |sql: String| Statement { name: String::leak(sql.clone()), sql };
        let statements: Vec<Statement> = lines.into_iter().map(statement).collect();
        assert!(statements.len() > 20, "{workload}: {}", statements.len());
        connection.prepare(&statements, Isolation::ReadCommitted).unwrap();
    }
}

/// What the server logged while a data set was loaded, driven and checked was all printed before.
#[test]
fn nothing_is_sent_that_is_not_printed() {
    let Some(server) = support::server() else { return };
    server.connect().query("ALTER SYSTEM SET log_statement = 'all'").unwrap();
    server.connect().query("SELECT pg_reload_conf()").unwrap();
    let mut printed: BTreeSet<String> =
        printed("--workload tpcc --seed 42").iter().map(|line| without_values(line)).collect();
    for (action, profile) in [("load", "batched"), ("run", "chatty"), ("run", "pipelined"), ("run", "proc")] {
        let workload = json!({"kind": "tpcc", "warehouses": 1, "profile": profile});
        let mut spec = program::spec(action, &server.dsn(), workload);
        spec["fingerprint"] = json!(action == "load");
        spec["duration_s"] = json!(2);
        exec(&spec).expect(0);
    }
    // The test's own.
    printed.insert("SELECT pg_reload_conf()".to_owned());
    let log = server.log();
    let sent: BTreeSet<String> = log.lines().filter_map(statement).map(without_values).collect();
    assert!(sent.len() > 80, "{} statements were logged", sent.len());
    let unknown: Vec<&String> = sent.difference(&printed).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// The statement in a line of the log.
fn statement(line: &str) -> Option<&str> {
    let line = line.split_once("LOG:  ")?.1;
    line.strip_prefix("statement: ").or_else(|| line.strip_prefix("execute ")?.split_once(": ").map(|(_, sql)| sql))
}

/// Notes of a load hold what happened.
fn without_values(sql: &str) -> String {
    sql.strip_prefix("INSERT INTO nephoscope_load").map_or(sql, |_| "a note").to_owned()
}

/// What their documentation does not have, and PostgreSQL does. This is a list of words and no parser: nothing was run
/// against a server of either.
#[test]
fn other_dialects_hold_none_of_what_only_postgresql_has() {
    for (dialect, words) in [
        (
            "cockroachdb",
            "VACUUM,fillfactor,COLLATE,FREEZE,CHECKPOINT,pg_stat,hashtextextended,set_config,advisory,plpgsql,ADD PRIMARY KEY,(FORMAT,::int[],integer,bigserial,UNLOGGED,xact_commit",
        ),
        (
            "yugabytedb",
            "VACUUM,fillfactor,FREEZE,CHECKPOINT,pg_stat,set_config,advisory,plpgsql,ADD PRIMARY KEY,UNLOGGED",
        ),
    ] {
        for workload in ["tpcc", "point-select", "oltp-insert", "oltp-read-write", "tpcb", "ycsb"] {
            for line in printed(&format!("--workload {workload} --dialect {dialect}")) {
                for word in words.split(',') {
                    assert!(!line.contains(word), "{dialect} has no {word}: {line}");
                }
                // With two arguments CockroachDB 22.1 gives the value once more.
                assert!(!line.contains("setval(") || line.contains(", true)"), "{line}");
            }
        }
    }
}

/// A server of version 22.1 rejected these.
#[test]
fn cockroachdb_gets_no_format_no_delete_with_using_and_no_with_clause_without_columns() {
    let lines = printed("--workload tpcc --dialect cockroachdb");
    assert!(lines.iter().any(|line| line.contains("AS (DELETE FROM new_order")));
    for line in lines {
        assert!(!line.contains("format("), "{line}");
        assert!(!line.contains("DELETE FROM new_order USING"), "{line}");
        // A `/` of two integers is a decimal there, and `place = (names + 1) / 2` finds nobody.
        assert!(!line.contains(" / 2"), "{line}");
        for begins in ["AS (INSERT", "AS (UPDATE", "AS (DELETE"] {
            for clause in line.split(begins).skip(1) {
                assert!(within_its_parentheses(clause).contains(" RETURNING "), "{begins} without columns: {line}");
            }
        }
    }
}

/// The text up to the parenthesis that closes it.
fn within_its_parentheses(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth == 0
    });
    &text[..end.expect("a closing parenthesis")]
}

/// `retry = savepoint` may be asked of every dialect.
#[test]
fn the_savepoint_protocol_is_printed_for_each_dialect() {
    for dialect in ["postgres", "cockroachdb", "yugabytedb"] {
        let run = printed(&format!("--workload tpcc --dialect {dialect} --part run"));
        for statement in ["SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT"] {
            let sent = format!("{statement} cockroach_restart");
            assert_eq!(run.iter().filter(|line| **line == sent).count(), 1, "{dialect}: {sent}");
        }
    }
}

#[test]
fn parts_and_names_are_as_asked_and_what_a_dialect_lacks_is_refused() {
    let settings = printed("--workload tpcc --dialect cockroachdb --part settings");
    assert!(settings.iter().all(|line| line.starts_with("SET CLUSTER SETTING ")) && settings.len() == 6);
    assert!(printed("--workload tpcc --part settings").is_empty());
    let parts =
        ["schema", "load", "run", "check", "settings"].map(|part| printed(&format!("--workload tpcc --part {part}")));
    assert_eq!(parts.concat(), printed("--workload tpcc"));
    let one = printed("--workload tpcc --part run --profile batched");
    assert!(one.len() < printed("--workload tpcc --part run").len());
    let mut command = program::command();
    let named = command.args(["sql", "--workload", "point-select", "--part", "run", "--names"]).output().unwrap();
    assert!(
        String::from_utf8(named.stdout).unwrap().contains("SELECT c FROM sbtest1 WHERE id = $1; -- point_select\n")
    );
    let mut command = program::command();
    let arguments = ["sql", "--workload", "tpcc", "--dialect", "cockroachdb", "--profile", "proc"];
    assert_eq!(command.args(arguments).output().unwrap().status.code(), Some(2));
}
