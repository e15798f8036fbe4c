//! One configuration file: JSON with comments and trailing commas.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use jsonc_parser::{
    ParseOptions,
    ast::{Object, Value as Node},
    common::Ranged,
    parse_to_ast,
};
use serde_json::{Map, Number, Value};

use super::{
    error::ConfigError,
    goals, keys,
    kind::{Kind, Mismatch, described},
    layers::{Leaf, dotted},
    origin::Origin,
};
use crate::{
    files::{self, CONFIG_CAP_BYTES, ReadError},
    position::{Lines, Position},
};

const JSON_WITH_COMMENTS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads a file that need not be there; none if it is not.
pub(super) fn read_if_there(path: &Path) -> Result<Option<String>, ConfigError> {
    match read(path) {
        Ok(text) => Ok(Some(text)),
        Err(ConfigError::Unreadable { source, .. }) if source.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file's text, without a byte order mark.
pub(super) fn read(path: &Path) -> Result<String, ConfigError> {
    files::read_text(path, CONFIG_CAP_BYTES).map_err(|source| match source {
        ReadError::NotUtf8 { position } => ConfigError::NotUtf8 {
            path: path.to_owned(),
            position,
        },
        source => ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        },
    })
}

/// Lists the settings in a file's text, each checked, and what is to be said of those that are no settings any more; a
/// file without any value has none.
pub(super) fn leaves(path: &Path, text: &str) -> Result<(Vec<Leaf>, Vec<String>), Vec<ConfigError>> {
    let parsed = parse_to_ast(text, &Default::default(), &JSON_WITH_COMMENTS).map_err(|error| {
        vec![ConfigError::NotJson {
            path: path.to_owned(),
            position: Position::of(text, error.range().start),
            expected: error.kind().to_string().to_lowercase(),
        }]
    })?;
    let mut reader = Reader {
        path: path.to_owned(),
        lines: Lines::of(text),
        leaves: Vec::new(),
        notices: Vec::new(),
        errors: Vec::new(),
    };
    match &parsed.value {
        None => {}
        Some(Node::Object(root)) => reader.read_section(&[], root),
        Some(other) => reader.errors.push(ConfigError::IllTyped {
            origin: Origin::File {
                path: path.to_owned(),
                line: 1,
            },
            key: "the configuration".to_owned(),
            found: described(&value_of(other)),
            expected: r#"an object, such as { "adapter": "codex" }"#.to_owned(),
        }),
    }
    if reader.errors.is_empty() {
        Ok((reader.leaves, reader.notices))
    } else {
        Err(reader.errors)
    }
}

struct Reader {
    path: PathBuf,
    lines: Lines,
    leaves: Vec<Leaf>,
    notices: Vec<String>,
    errors: Vec<ConfigError>,
}

impl Reader {
    fn read_section(&mut self, section: &[String], object: &Object<'_>) {
        for Field { path, origin, node } in self.fields(section, object) {
            if path == ["$schema"] {
                continue;
            }
            if let Some(key) = keys::find(&path) {
                let value = value_of(node);
                match (key.kind.check(&value), key.kind, node) {
                    (Ok(()), Kind::Adapters, Node::Object(tables)) => self.read_tables(&path, tables),
                    (Ok(()), _, _) => self.leaves.push(Leaf { path, value, origin }),
                    (Err(_), Kind::Goals, Node::Array(list)) => self.refuse_goals(&list.elements),
                    (Err(mismatch), _, _) => self.errors.push(mismatch.into_error(origin, &path)),
                }
            } else if keys::is_section(&path) {
                match node {
                    Node::Object(object) => self.read_section(&path, object),
                    other => {
                        let mismatch = Mismatch {
                            found: described(&value_of(other)),
                            expected: "an object with settings".to_owned(),
                        };
                        self.errors.push(mismatch.into_error(origin, &path));
                    }
                }
            } else {
                let key = dotted(&path);
                match keys::replacement(&key) {
                    Some(instead) => self
                        .notices
                        .push(format!("{origin}: `{key}` was removed and does nothing: {instead}")),
                    None => self.errors.push(ConfigError::Unknown { origin, key }),
                }
            }
        }
    }

    /// Reports each fault in a list of goals where it is.
    fn refuse_goals(&mut self, elements: &[Node<'_>]) {
        let values: Vec<Value> = elements.iter().map(value_of).collect();
        for fault in goals::faults(&values) {
            let element = &elements[fault.index];
            let named = |name: &str| {
                let fields = element.as_object()?.properties.iter();
                Some(fields.rev().find(|field| field.name.as_str() == name)?.range)
            };
            let range = fault.field.as_deref().and_then(named).unwrap_or(element.range());
            let origin = self.origin(self.lines.line_of(range.start));
            let key = fault.key();
            self.errors.push(fault.mismatch.into_error(origin, &[key]));
        }
    }

    /// Takes what is in a table of adapters apart, so that layers are merged and traced to the last key.
    fn read_tables(&mut self, section: &[String], object: &Object<'_>) {
        for Field { path, origin, node } in self.fields(section, object) {
            match node {
                Node::Object(object) if !object.properties.is_empty() => self.read_tables(&path, object),
                other => {
                    let value = value_of(other);
                    self.leaves.push(Leaf { path, value, origin });
                }
            }
        }
    }

    /// Lists an object's fields, and reports names that are there twice.
    fn fields<'n, 'a>(&mut self, section: &[String], object: &'n Object<'a>) -> Vec<Field<'n, 'a>> {
        let mut seen: HashMap<&str, u32> = HashMap::new();
        let mut fields = Vec::new();
        for property in &object.properties {
            let line = self.lines.line_of(property.range.start);
            let origin = self.origin(line);
            let name = property.name.as_str();
            let path = [section, &[name.to_owned()]].concat();
            match seen.insert(name, line) {
                Some(first) => {
                    let key = dotted(&path);
                    self.errors.push(ConfigError::Repeated { origin, key, first });
                }
                None => fields.push(Field {
                    path,
                    origin,
                    node: &property.value,
                }),
            }
        }
        fields
    }

    fn origin(&self, line: u32) -> Origin {
        Origin::File {
            path: self.path.clone(),
            line,
        }
    }
}

struct Field<'n, 'a> {
    path: Vec<String>,
    origin: Origin,
    node: &'n Node<'a>,
}

/// Takes a parsed value out of its source.
fn value_of(node: &Node<'_>) -> Value {
    match node {
        Node::NullKeyword(_) => Value::Null,
        Node::BooleanLit(literal) => Value::Bool(literal.value),
        Node::StringLit(text) => Value::String(text.value.clone().into_owned()),
        // A number that JSON allows and serde_json cannot hold is refused as the text it is.
        Node::NumberLit(number) => match number.value.parse::<Number>() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::String(number.value.to_owned()),
        },
        Node::Array(list) => Value::Array(list.elements.iter().map(value_of).collect()),
        Node::Object(object) => {
            let fields = object.properties.iter();
            let fields = fields.map(|field| (field.name.as_str().to_owned(), value_of(&field.value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}
