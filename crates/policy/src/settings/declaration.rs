//! A setting as the engine sees it: its declaration without the type of its value.

use serde_json::Value;

use super::{mistake::Mistake, node::Node};

/// One declared setting.
pub struct Field {
    pub key: &'static str,
    /// The doc comment, line by line.
    pub about: &'static str,
    /// The default, in the syntax of a file.
    pub default: Option<&'static str>,
    pub flag: Option<FlagDeclaration>,
    pub kind: ValueKind,
}

/// A command-line flag of a setting.
#[derive(Debug, Clone, Copy)]
pub struct FlagDeclaration {
    /// The name with its dashes.
    pub name: &'static str,
    /// The placeholder of the value in the help.
    pub value: &'static str,
    pub help: &'static str,
}

/// The facts about a grammar that the engine needs, without its type.
pub struct ValueKind {
    pub form: SettingForm,
    /// Whether the flag may be repeated, and adds to the configured values.
    pub adds: bool,
    /// Whether a missing value without a default is an error.
    pub is_required: fn() -> bool,
    pub check: fn(&Node, &str) -> Vec<Mistake>,
    pub schema: fn() -> Value,
    pub from_variable: fn(&str) -> Value,
    pub from_flag: fn(&str) -> Value,
}

/// How layers are merged.
#[derive(Clone, Copy)]
pub enum SettingForm {
    /// The strongest layer replaces all others.
    Leaf,
    /// Each field is merged by itself.
    Section {
        about: &'static str,
        fields: &'static [Field],
    },
    /// Every value inside is merged by itself, down to the last key.
    Open,
}

impl Field {
    /// The default as a value; null if the setting has no default.
    ///
    /// # Panics
    /// If the declared default is not JSON, which every start would detect.
    pub fn default_value(&self) -> Value {
        self.default.map_or(Value::Null, |default| {
            serde_json::from_str(default).expect("a declared default is JSON")
        })
    }
}
