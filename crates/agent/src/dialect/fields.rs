//! Access to fields of JSON with an unknown structure.

use ralph_core::event::Choice;
use serde_json::Value;

/// The text at `pointer`; empty if absent.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// The elements at `pointer`; empty if it is not an array.
pub(crate) fn array<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// The answers that a question offers, in the form most agents use.
pub(crate) fn choices(question: &Value) -> Vec<Choice> {
    let choice = |option: &Value| Choice {
        label: text(option, "/label").to_owned(),
        description: text(option, "/description").to_owned(),
    };
    array(question, "/options").map(choice).collect()
}

/// A share in percent as a whole number, 100 at most.
pub(crate) fn percent(share: f64) -> u8 {
    // The cast saturates, also for what is no number.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = share.round() as u8;
    whole.min(100)
}
