//! Parses TOML.

use std::path::Path;

use ralph_text::Position;
use serde_json::{Number, Value};
use toml::de::{DeTable, DeValue};

use super::{
    mistake::Mistake,
    node::{Node, NodeShape},
    origin::OriginFinder,
};

/// Parses a text. `path` is the name of the file in mistakes.
///
/// # Errors
/// [`Mistake::Syntax`].
pub fn from_toml(path: &Path, text: &str, mut place: OriginFinder<'_>) -> Result<Node, Mistake> {
    let table = DeTable::parse(text).map_err(|error| Mistake::Syntax {
        path: path.to_owned(),
        position: Position::at_offset(text, error.span().map_or(0, |span| span.start)),
        language: "TOML",
        why: error.message().to_owned(),
    })?;
    Ok(Node {
        origin: place.at(0),
        shape: fields(table.get_ref(), &mut place),
    })
}

fn fields(table: &DeTable<'_>, place: &mut OriginFinder<'_>) -> NodeShape {
    // In the order of the text, so that mistakes are reported in that order.
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(name, _)| name.span().start);
    let fields = pairs.into_iter().map(|(name, value)| {
        let node = node(value.get_ref(), name.span().start, place);
        (name.get_ref().to_string(), node)
    });
    NodeShape::Table(fields.collect())
}

fn node(value: &DeValue<'_>, start: usize, place: &mut OriginFinder<'_>) -> Node {
    let origin = place.at(start);
    let shape = match value {
        DeValue::Table(table) => fields(table, place),
        DeValue::Array(items) => {
            let items = items.iter();
            NodeShape::List(
                items
                    .map(|item| node(item.get_ref(), item.span().start, place))
                    .collect(),
            )
        }
        DeValue::String(text) => NodeShape::Scalar(Value::from(text.as_ref())),
        DeValue::Boolean(flag) => NodeShape::Scalar(Value::from(*flag)),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => NodeShape::Scalar(Value::from(number)),
            Err(_) => NodeShape::Foreign("a number out of range"),
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>().ok().and_then(Number::from_f64) {
            Some(number) => NodeShape::Scalar(Value::Number(number)),
            None => NodeShape::Foreign("a number out of range"),
        },
        DeValue::Datetime(_) => NodeShape::Foreign("a date"),
    };
    Node { origin, shape }
}
