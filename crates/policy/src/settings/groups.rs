//! Groups of settings.

use std::marker::PhantomData;

use serde_json::{Value, json};

use super::{
    declaration::Form,
    describe::schema_of,
    grammar::{Grammar, accept},
    mistake::Mistake,
    node::Node,
    record::{Reader, Record, within},
};

/// A table with arbitrary keys.
pub struct Open<G>(PhantomData<G>);

impl<G: Grammar> Grammar for Open<G> {
    type Held = Vec<(String, G::Held)>;

    const FORM: Form = Form::Open;

    fn read(node: &Node, key: &str) -> Result<Self::Held, Vec<Mistake>> {
        let Some(fields) = node.fields() else {
            return accept::<Self>(node, key, None);
        };
        let (mut held, mut mistakes) = (Vec::new(), Vec::new());
        for (name, value) in fields {
            match G::read(value, &within(key, name)) {
                Ok(value) => held.push((name.clone(), value)),
                Err(found) => mistakes.extend(found),
            }
        }
        match mistakes.is_empty() {
            true => Ok(held),
            false => Err(mistakes),
        }
    }

    fn expected() -> String {
        format!("a table, each value of which is {}", G::expected())
    }

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": G::schema() })
    }

    fn absent() -> Option<Self::Held> {
        Some(Vec::new())
    }
}

/// A group of settings.
pub struct Section<R>(PhantomData<R>);

impl<R: Record> Grammar for Section<R> {
    type Held = R::Held;

    const FORM: Form = Form::Section {
        about: R::ABOUT,
        fields: R::FIELDS,
    };

    fn read(node: &Node, key: &str) -> Result<R::Held, Vec<Mistake>> {
        let mut reader = Reader::new(Some(node), key);
        R::read(&mut reader).ok_or_else(|| reader.mistakes())
    }

    fn expected() -> String {
        "a table with settings".to_owned()
    }

    fn schema() -> Value {
        schema_of::<R>()
    }

    fn absent() -> Option<R::Held> {
        R::read(&mut Reader::new(None, ""))
    }
}
