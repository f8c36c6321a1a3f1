//! The JSON Schema of a spec, written from the structs that read it.

use super::Spec;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

/// The schema, as text with a newline at its end. Keys are sorted, so that equal specs have equal texts.
///
/// Beside the standard keywords, `x-fixture-bytes` says how many bytes one unit of a field adds to a data set in
/// PostgreSQL.
///
/// # Panics
/// Never: a schema is JSON.
#[must_use]
pub fn json_schema() -> String {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(RecursiveTransform(describe_in_one_line));
    let mut schema = settings.into_generator().into_root_schema_for::<Spec>();
    schema.insert("$id".to_owned(), json!("urn:nephoscope:load-spec-1"));
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

/// Where a comment breaks its lines is no part of the schema.
fn describe_in_one_line(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> &'static str {
        include_str!("../../../schema/load-spec-1.json")
    }

    #[test]
    fn the_stored_schema_is_this_programs() {
        assert!(
            json_schema() == stored(),
            "schema/load-spec-1.json is not what this program reads: cd load && cargo run -- schema > \
             ../schema/load-spec-1.json"
        );
    }

    /// A number of bytes as people write it.
    fn words(bytes: u64) -> String {
        const MIB: u64 = 1 << 20;
        match bytes {
            _ if bytes % MIB == 0 => format!("{} MiB", bytes / MIB),
            _ if bytes % 1_000_000 == 0 => format!("{} MB", bytes / 1_000_000),
            _ => format!("{bytes} bytes"),
        }
    }

    fn fixture_bytes(schema: &Value, found: &mut Vec<(u64, String)>) {
        match schema {
            Value::Object(keywords) => {
                if let Some(bytes) = keywords.get("x-fixture-bytes").and_then(Value::as_u64) {
                    found.push((bytes, keywords["description"].as_str().unwrap_or_default().to_owned()));
                }
                keywords.values().for_each(|value| fixture_bytes(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| fixture_bytes(value, found)),
            _ => {}
        }
    }

    #[test]
    fn help_texts_name_the_size_that_planning_uses() {
        let mut found = Vec::new();
        fixture_bytes(&serde_json::from_str(&json_schema()).expect("JSON"), &mut found);
        assert_eq!(found.len(), 9, "{found:?}");
        for (bytes, description) in found {
            assert!(description.contains(&words(bytes)), "{description:?} does not say {}", words(bytes));
        }
    }
}
