//! The arguments of tools, as a model is told of them.

use serde_json::{Map, Value, json};

/// An argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) is_required: bool,
    kind: ArgumentKind,
    /// The description for the model; empty if the name says all.
    about: &'static str,
}

/// The values of an argument.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ArgumentKind {
    Text,
    Texts,
    /// A whole number from 1.
    Number,
    /// A whole number from 0.
    Offset,
    Switch,
    /// A to-do list.
    #[cfg(feature = "native")]
    Todos,
}

/// An argument that a call must have.
pub(crate) const fn must(name: &'static str, kind: ArgumentKind, about: &'static str) -> Argument {
    Argument {
        name,
        is_required: true,
        kind,
        about,
    }
}

/// An argument that a call may have.
pub(crate) const fn may(name: &'static str, kind: ArgumentKind, about: &'static str) -> Argument {
    Argument {
        is_required: false,
        ..must(name, kind, about)
    }
}

/// The arguments of a tool in its row: `must` or `may`, a name, a kind, and a description.
macro_rules! arguments {
    ($($need:ident $name:ident $kind:ident $about:literal)*) => {
        &[$($crate::arguments::$need(stringify!($name), $crate::arguments::ArgumentKind::$kind, $about)),*]
    };
}
pub(crate) use arguments;

impl Argument {
    /// The JSON Schema of its values.
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ArgumentKind::Text => json!({"type": "string"}),
            ArgumentKind::Texts => json!({"type": "array", "items": {"type": "string"}, "maxItems": 16}),
            ArgumentKind::Number => json!({"type": "integer", "minimum": 1}),
            ArgumentKind::Offset => json!({"type": "integer", "minimum": 0}),
            ArgumentKind::Switch => json!({"type": "boolean"}),
            #[cfg(feature = "native")]
            ArgumentKind::Todos => {
                let status = json!({"type": "string", "enum": ["pending", "in_progress", "completed"]});
                let entry = json!({
                    "type": "object",
                    "properties": {"content": {"type": "string"}, "status": status},
                    "required": ["content", "status"],
                });
                json!({"type": "array", "items": entry})
            }
        };
        if !self.about.is_empty() {
            schema["description"] = self.about.into();
        }
        schema
    }
}

/// The JSON Schema of a call with these arguments.
pub(crate) fn schema<'a>(arguments: impl Iterator<Item = &'a Argument> + Clone) -> Value {
    let properties: Map<String, Value> = arguments
        .clone()
        .map(|argument| (argument.name.to_owned(), argument.schema()))
        .collect();
    let required: Vec<&str> = arguments
        .filter(|argument| argument.is_required)
        .map(|argument| argument.name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}
