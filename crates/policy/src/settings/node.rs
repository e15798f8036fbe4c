//! A written value with its origin.

use ralph_core::event::clip;
use serde_json::{Map, Value};

use super::origin::SettingOrigin;

/// Maximum number of bytes of a text that a message repeats.
const REPEATED_BYTES: usize = 60;

/// A value with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The position of the name for a field, and of the beginning for an element.
    pub origin: SettingOrigin,
    pub shape: NodeShape,
}

#[derive(Debug, Clone, PartialEq)]
pub enum NodeShape {
    /// Null, a boolean, a number or a text.
    Scalar(Value),
    List(Vec<Node>),
    /// Fields with unique names, in the order of the text.
    Table(Vec<(String, Node)>),
    /// A value of TOML that JSON does not have, in words: "a date".
    Foreign(&'static str),
}

impl Node {
    /// Gives all parts of a value the same origin.
    pub fn from_value(value: Value, origin: &SettingOrigin) -> Self {
        let shape = match value {
            Value::Array(items) => {
                NodeShape::List(items.into_iter().map(|item| Node::from_value(item, origin)).collect())
            }
            Value::Object(fields) => {
                let fields = fields.into_iter();
                NodeShape::Table(
                    fields
                        .map(|(name, value)| (name, Node::from_value(value, origin)))
                        .collect(),
                )
            }
            scalar => NodeShape::Scalar(scalar),
        };
        Node {
            origin: origin.clone(),
            shape,
        }
    }

    /// Creates an empty table.
    pub fn empty(origin: SettingOrigin) -> Self {
        Node {
            origin,
            shape: NodeShape::Table(Vec::new()),
        }
    }

    /// The value without origins.
    pub fn value(&self) -> Value {
        match &self.shape {
            NodeShape::Scalar(value) => value.clone(),
            NodeShape::List(items) => Value::Array(items.iter().map(Node::value).collect()),
            NodeShape::Table(fields) => {
                let fields = fields.iter().map(|(name, node)| (name.clone(), node.value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
            NodeShape::Foreign(what) => Value::from(*what),
        }
    }

    fn scalar(&self) -> Option<&Value> {
        match &self.shape {
            NodeShape::Scalar(value) => Some(value),
            NodeShape::List(_) | NodeShape::Table(_) | NodeShape::Foreign(_) => None,
        }
    }

    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(Value::is_null)
    }

    pub fn text(&self) -> Option<&str> {
        self.scalar()?.as_str()
    }

    pub fn flag(&self) -> Option<bool> {
        self.scalar()?.as_bool()
    }

    pub fn whole(&self) -> Option<u64> {
        self.scalar()?.as_u64()
    }

    pub fn number(&self) -> Option<f64> {
        self.scalar()?.as_f64()
    }

    pub fn items(&self) -> Option<&[Node]> {
        match &self.shape {
            NodeShape::List(items) => Some(items),
            NodeShape::Scalar(_) | NodeShape::Table(_) | NodeShape::Foreign(_) => None,
        }
    }

    pub fn fields(&self) -> Option<&[(String, Node)]> {
        match &self.shape {
            NodeShape::Table(fields) => Some(fields),
            NodeShape::Scalar(_) | NodeShape::List(_) | NodeShape::Foreign(_) => None,
        }
    }

    /// Finds a field of a table.
    pub fn get(&self, name: &str) -> Option<&Node> {
        let found = self.fields()?.iter().find(|(known, _)| known == name);
        found.map(|(_, node)| node)
    }

    /// Describes the value in words.
    pub fn described(&self) -> String {
        match &self.shape {
            NodeShape::Scalar(Value::Number(number)) => format!("the number {number}"),
            NodeShape::Scalar(Value::String(text)) => format!("the text {:?}", clip(text, REPEATED_BYTES)),
            NodeShape::Scalar(other) => other.to_string(),
            NodeShape::List(_) => "a list".to_owned(),
            NodeShape::Table(_) => "an object".to_owned(),
            NodeShape::Foreign(what) => (*what).to_owned(),
        }
    }
}
