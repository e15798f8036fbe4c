//! A setting as the engine knows it: what its row says, without the type that its value is held as.

use serde_json::Value;

use super::{mistake::Mistake, node::Node};

/// One declared setting.
pub struct Field {
    pub key: &'static str,
    /// What it is for, as its doc comment says it, a line each.
    pub about: &'static str,
    /// The default as it is written in a file.
    pub default: Option<&'static str>,
    pub flag: Option<FlagDeclaration>,
    pub kind: Kind,
}

/// A flag that sets a setting.
#[derive(Debug, Clone, Copy)]
pub struct FlagDeclaration {
    /// With its dashes.
    pub name: &'static str,
    /// What its value is called in the help.
    pub value: &'static str,
    pub help: &'static str,
}

/// What the engine has to know of a grammar without knowing which one it is.
pub struct Kind {
    pub form: Form,
    /// A flag may be given more than once, and adds to what is configured.
    pub adds: bool,
    /// There is no value where nothing is written.
    pub is_required: fn() -> bool,
    pub check: fn(&Node, &str) -> Vec<Mistake>,
    pub schema: fn() -> Value,
    pub of_word: fn(&str) -> Value,
    pub of_flag: fn(&str) -> Value,
}

/// How layers are merged.
#[derive(Clone, Copy)]
pub enum Form {
    /// The strongest takes the place of all others.
    Leaf,
    /// Each of these by itself.
    Section {
        about: &'static str,
        fields: &'static [Field],
    },
    /// Whatever is in it by itself, down to the last key.
    Open,
}

impl Field {
    /// The default as a value; null where there is none.
    ///
    /// # Panics
    /// If the declared default is not JSON, which every start would show.
    pub fn default_value(&self) -> Value {
        self.default.map_or(Value::Null, |default| {
            serde_json::from_str(default).expect("a declared default is JSON")
        })
    }
}
