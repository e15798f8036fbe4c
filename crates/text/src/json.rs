//! What is JSON to its parser, and JSON for people.

use jsonc_parser::ParseOptions;
use serde::Serialize;
use serde_json::Value;

/// What every program reads: nothing beyond the standard.
pub const STRICT_JSON: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// With comments and trailing commas, as people like their configuration.
pub const JSON_WITH_COMMENTS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    ..STRICT_JSON
};

/// Writes `value` over many lines, with a line end.
///
/// By way of its compact form: all that writes JSON has the serialisers of a type once in the program.
///
/// # Panics
/// If a serialiser of `value` fails.
pub fn pretty_json(value: &impl Serialize) -> String {
    let compact = serde_json::to_vec(value).expect("a serialiser that does not fail");
    let value: Value = serde_json::from_slice(&compact).expect("what was written as JSON");
    format!("{value:#}\n")
}
