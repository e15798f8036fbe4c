//! A written value with its origin.

use ralph_core::event::clip;
use serde_json::{Map, Value};

use super::origin::Origin;

/// Maximum number of bytes of a text that a message repeats.
const REPEATED_BYTES: usize = 60;

/// A value with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The position of the name for a field, and of the beginning for an element.
    pub origin: Origin,
    pub shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
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
    pub fn of(value: Value, origin: &Origin) -> Self {
        let shape = match value {
            Value::Array(items) => Shape::List(items.into_iter().map(|item| Node::of(item, origin)).collect()),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                Shape::Table(fields.map(|(name, value)| (name, Node::of(value, origin))).collect())
            }
            scalar => Shape::Scalar(scalar),
        };
        Node {
            origin: origin.clone(),
            shape,
        }
    }

    /// Creates an empty table.
    pub fn empty(origin: Origin) -> Self {
        Node {
            origin,
            shape: Shape::Table(Vec::new()),
        }
    }

    /// The value without origins.
    pub fn value(&self) -> Value {
        match &self.shape {
            Shape::Scalar(value) => value.clone(),
            Shape::List(items) => Value::Array(items.iter().map(Node::value).collect()),
            Shape::Table(fields) => {
                let fields = fields.iter().map(|(name, node)| (name.clone(), node.value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
            Shape::Foreign(what) => Value::from(*what),
        }
    }

    fn scalar(&self) -> Option<&Value> {
        match &self.shape {
            Shape::Scalar(value) => Some(value),
            Shape::List(_) | Shape::Table(_) | Shape::Foreign(_) => None,
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
            Shape::List(items) => Some(items),
            Shape::Scalar(_) | Shape::Table(_) | Shape::Foreign(_) => None,
        }
    }

    pub fn fields(&self) -> Option<&[(String, Node)]> {
        match &self.shape {
            Shape::Table(fields) => Some(fields),
            Shape::Scalar(_) | Shape::List(_) | Shape::Foreign(_) => None,
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
            Shape::Scalar(Value::Number(number)) => format!("the number {number}"),
            Shape::Scalar(Value::String(text)) => format!("the text {:?}", clip(text, REPEATED_BYTES)),
            Shape::Scalar(other) => other.to_string(),
            Shape::List(_) => "a list".to_owned(),
            Shape::Table(_) => "an object".to_owned(),
            Shape::Foreign(what) => (*what).to_owned(),
        }
    }
}
