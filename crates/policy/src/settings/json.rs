//! Parses JSON with comments and trailing commas.

use std::{collections::HashMap, path::Path};

use jsonc_parser::{
    ast::{Object, Value as Ast},
    common::Ranged,
    parse_to_ast,
};
use ralph_text::{JSON_WITH_COMMENTS, Position};
use serde_json::{Number, Value};

use super::{
    mistake::Mistake,
    node::{Node, NodeShape},
    origin::OriginFinder,
    record::within,
};

/// Parses the text of a file; `None` if it has no value.
///
/// The first of repeated fields is kept, and each further one is a mistake.
///
/// # Errors
/// [`Mistake::Syntax`].
pub fn from_json(path: &Path, text: &str) -> Result<(Option<Node>, Vec<Mistake>), Mistake> {
    let parsed = parse_to_ast(text, &Default::default(), &JSON_WITH_COMMENTS).map_err(|error| Mistake::Syntax {
        path: path.to_owned(),
        position: Position::at_offset(text, error.range().start),
        language: "JSON",
        why: error.kind().to_string().to_lowercase(),
    })?;
    let mut reader = JsonReader {
        place: OriginFinder::file(path, text),
        repeated: Vec::new(),
    };
    let node = parsed
        .value
        .as_ref()
        .map(|value| reader.node(value, value.range().start, ""));
    Ok((node, reader.repeated))
}

struct JsonReader<'t> {
    place: OriginFinder<'t>,
    repeated: Vec<Mistake>,
}

impl JsonReader<'_> {
    fn node(&mut self, ast: &Ast<'_>, start: usize, path: &str) -> Node {
        let origin = self.place.at(start);
        let shape = match ast {
            Ast::NullKeyword(_) => NodeShape::Scalar(Value::Null),
            Ast::BooleanLit(literal) => NodeShape::Scalar(Value::Bool(literal.value)),
            Ast::StringLit(text) => NodeShape::Scalar(Value::from(text.value.as_ref())),
            // JSON allows numbers that serde_json cannot hold. They are kept as text, and refused later.
            Ast::NumberLit(number) => NodeShape::Scalar(match number.value.parse::<Number>() {
                Ok(number) => Value::Number(number),
                Err(_) => Value::from(number.value),
            }),
            Ast::Array(list) => {
                let items = list.elements.iter().enumerate();
                NodeShape::List(
                    items
                        .map(|(index, item)| self.node(item, item.range().start, &format!("{path}[{index}]")))
                        .collect(),
                )
            }
            Ast::Object(object) => NodeShape::Table(self.fields(object, path)),
        };
        Node { origin, shape }
    }

    fn fields(&mut self, object: &Object<'_>, path: &str) -> Vec<(String, Node)> {
        let mut fields: Vec<(String, Node)> = Vec::new();
        let mut known = HashMap::new();
        for property in &object.properties {
            let name = property.name.as_str();
            let key = within(path, name);
            let node = self.node(&property.value, property.range.start, &key);
            match known.insert(name, node.origin.line()) {
                None => fields.push((name.to_owned(), node)),
                Some(first) => self.repeated.push(Mistake::Repeated {
                    origin: node.origin,
                    key,
                    first,
                }),
            }
        }
        fields
    }
}
