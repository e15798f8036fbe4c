//! Fields of JSON that may be anything.

use serde_json::Value;

/// The text at `pointer`; empty if there is none.
pub(in crate::agent) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(in crate::agent) fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// The elements at `pointer`; none if it is no array.
pub(in crate::agent) fn array<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
