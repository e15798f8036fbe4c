//! The trait that a kind of value implements to be used as a setting.

use serde_json::Value;

use super::{
    declaration::{SettingForm, ValueKind},
    mistake::Mistake,
    node::Node,
};

/// The syntax of a setting's value, and its conversion.
pub trait Grammar {
    /// The type of the parsed value.
    type Value;

    /// How layers of this value are merged.
    const FORM: SettingForm = SettingForm::Leaf;
    /// Whether the flag may be repeated, and adds to the configured values.
    const ADDS: bool = false;

    /// Parses a value. `key` is the name of the setting in mistakes.
    ///
    /// # Errors
    /// All mistakes in the value.
    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>>;

    /// Describes the expected value, with an example.
    fn expected() -> String;

    /// Generates the JSON Schema of the values.
    fn schema() -> Value;

    /// Converts the text of a variable to a value. A text that cannot be converted stays text.
    fn from_variable(word: &str) -> Value {
        Value::from(word)
    }

    /// Converts the text of a flag to a value.
    fn from_flag(word: &str) -> Value {
        Self::from_variable(word)
    }

    /// The value of a setting that is not written and has no default; `None` if it must be written.
    fn absent() -> Option<Self::Value> {
        None
    }
}

/// Returns the parsed value, or a mistake if there is no value.
///
/// # Errors
/// One mistake if `held` is `None`.
pub fn accept<G: Grammar>(node: &Node, key: &str, held: Option<G::Value>) -> Result<G::Value, Vec<Mistake>> {
    accept_or::<G>(node, key, held.ok_or(None))
}

/// As [`accept`], with a reason if the value alone does not explain the mistake.
///
/// # Errors
/// One mistake if `held` is an error.
pub fn accept_or<G: Grammar>(
    node: &Node,
    key: &str,
    held: Result<G::Value, Option<String>>,
) -> Result<G::Value, Vec<Mistake>> {
    held.map_err(|reason| {
        let found = match reason {
            Some(reason) => format!("{} ({reason})", node.described()),
            None => node.described(),
        };
        vec![Mistake::ill_typed(&node.origin, key, found, G::expected())]
    })
}

/// Returns all values, or all mistakes.
///
/// # Errors
/// The mistakes, if there are any.
pub fn all<T>(read: impl IntoIterator<Item = Result<T, Vec<Mistake>>>) -> Result<Vec<T>, Vec<Mistake>> {
    let (mut held, mut mistakes) = (Vec::new(), Vec::new());
    for one in read {
        match one {
            Ok(value) => held.push(value),
            Err(found) => mistakes.extend(found),
        }
    }
    if mistakes.is_empty() { Ok(held) } else { Err(mistakes) }
}

/// Reads the text of a variable as JSON. The text stays text unless it is JSON of the expected kind, which `is` checks.
pub fn json_if(word: &str, is: fn(&Value) -> bool) -> Value {
    let value = serde_json::from_str(word).ok().filter(is);
    value.unwrap_or_else(|| Value::from(word))
}

/// Declares grammars of single values, a row each: the type of the parsed value, the expected value, the JSON Schema,
/// the kind of JSON in a variable if it is not a text, and the parsed value, if the written one has it.
#[macro_export]
macro_rules! grammars {
    ($($(#[$attribute:meta])* $visible:vis $name:ident: $value:ty, $expected:expr, $schema:expr, $(by $kind:path,)?
       |$node:ident| $parsed:expr;)+) => {$(
        $(#[$attribute])*
        $visible struct $name;

        impl $crate::settings::Grammar for $name {
            type Value = $value;

            fn read($node: &$crate::settings::Node, key: &str) -> Result<$value, Vec<$crate::settings::Mistake>> {
                $crate::settings::accept::<Self>($node, key, $parsed)
            }

            fn expected() -> String {
                $expected.into()
            }

            fn schema() -> ::serde_json::Value {
                $schema
            }

            $(fn from_variable(word: &str) -> ::serde_json::Value {
                $crate::settings::json_if(word, $kind)
            })?
        }
    )+};
}

/// Describes a grammar to the parts of the engine that do not know its type.
pub const fn value_kind<G: Grammar>() -> ValueKind {
    ValueKind {
        form: G::FORM,
        adds: G::ADDS,
        is_required: || G::absent().is_none(),
        check: check::<G>,
        schema: G::schema,
        from_variable: G::from_variable,
        from_flag: G::from_flag,
    }
}

fn check<G: Grammar>(node: &Node, key: &str) -> Vec<Mistake> {
    G::read(node, key).err().unwrap_or_default()
}
