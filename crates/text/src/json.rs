//! Options of JSON parsers, and formatted JSON.

use jsonc_parser::ParseOptions;
use serde::Serialize;
use serde_json::Value;

/// Standard JSON without extensions.
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

/// JSON with comments and trailing commas, for configuration files.
pub const JSON_WITH_COMMENTS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    ..STRICT_JSON
};

/// Formats `value` over several lines, with a line end.
///
/// Serialises to compact JSON first, so that each type's serialiser is compiled only once.
///
/// # Panics
/// If a serialiser of `value` fails.
pub fn pretty_json(value: &impl Serialize) -> String {
    let compact = serde_json::to_vec(value).expect("a serialiser that does not fail");
    let value: Value = serde_json::from_slice(&compact).expect("what was written as JSON");
    format!("{value:#}\n")
}
