//! The JSON Schema of a spec, written from the structs that read it.

use super::Spec;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The schema, as text with a newline at its end. Keys are sorted, so that equal specs have equal texts.
///
/// Beside the standard keywords, `x-fixture-bytes` says how many bytes one unit of a field adds to a data set in
/// PostgreSQL.
///
/// # Panics
/// Never: a schema is JSON.
#[must_use]
pub fn json_schema() -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Spec>();
    schema.insert("$id".to_owned(), json!("urn:nephoscope:load-spec-1"));
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

/// Makes the schema of a target a choice of one schema per kind: `x-kinds` of a property names the kinds that have it,
/// `x-required` says that they need it.
pub(super) fn one_schema_per_kind(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.remove("properties") else { return };
    let kinds = super::TargetKind::json_schema(&mut schemars::SchemaGenerator::default());
    let kinds = kinds.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    schema.remove("type");
    schema.remove("additionalProperties");
    schema.insert("oneOf".to_owned(), kinds.iter().map(|kind| of_kind(kind, &properties)).collect());
}

fn of_kind(kind: &Value, properties: &Map<String, Value>) -> Value {
    let is_default = properties["kind"]["default"] == kind["const"];
    let mut own = json!({"kind": {"type": "string", "const": kind["const"]}});
    let mut required = if is_default { vec![] } else { vec!["kind"] };
    if is_default {
        own["kind"]["default"] = kind["const"].clone();
    }
    for (name, property) in properties {
        let Some(Value::Array(kinds)) = property.get("x-kinds") else { continue };
        if !kinds.contains(&kind["const"]) {
            continue;
        }
        let mut property = property.clone();
        let keywords = property.as_object_mut().expect("a property's schema is an object");
        keywords.remove("x-kinds");
        if keywords.remove("x-required").is_some() {
            required.push(name);
        }
        own[name] = property;
    }
    let description = &kind["description"];
    json!({"type": "object", "description": description, "properties": own, "required": required,
           "additionalProperties": false})
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
        assert_eq!(found.len(), 8, "{found:?}");
        for (bytes, description) in found {
            assert!(description.contains(&words(bytes)), "{description:?} does not say {}", words(bytes));
        }
    }
}
