//! Optional values: limits that can be removed, null, and values that can be left out.

use std::marker::PhantomData;

use serde_json::{Value, json};

use super::{
    grammar::{Grammar, accept_or},
    mistake::Mistake,
    node::Node,
};

/// The word that removes a limit.
const UNLIMITED: &str = "unlimited";

/// A limit with a default. Only the word removes it, so that a forgotten value does not.
pub struct Limit<G>(PhantomData<G>);

impl<G: Grammar> Grammar for Limit<G> {
    type Value = Option<G::Value>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        if node.text() == Some(UNLIMITED) {
            return Ok(None);
        }
        if node.is_null() {
            let reason = format!("write \"{UNLIMITED}\" to go without this limit");
            return accept_or::<Self>(node, key, Err(Some(reason)));
        }
        let read = G::read(node, key).map_err(|mistakes| expecting(mistakes, &Self::expected()))?;
        Ok(Some(read))
    }

    fn expected() -> String {
        format!("{}, or \"{UNLIMITED}\"", G::expected())
    }

    fn schema() -> Value {
        json!({ "anyOf": [G::schema(), { "const": UNLIMITED }] })
    }

    fn from_variable(word: &str) -> Value {
        G::from_variable(word)
    }
}

/// A limit that is off by default.
pub struct OptionalLimit<G>(PhantomData<G>);

impl<G: Grammar> Grammar for OptionalLimit<G> {
    type Value = Option<G::Value>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        match node.is_null() {
            true => Ok(None),
            false => Limit::<G>::read(node, key),
        }
    }

    fn expected() -> String {
        Limit::<G>::expected()
    }

    fn schema() -> Value {
        json!({ "anyOf": [G::schema(), { "enum": [UNLIMITED, null] }] })
    }

    fn from_variable(word: &str) -> Value {
        G::from_variable(word)
    }
}

/// A value or null.
impl<G: Grammar> Grammar for Option<G> {
    type Value = Option<G::Value>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        if node.is_null() {
            return Ok(None);
        }
        let read = G::read(node, key).map_err(|mistakes| expecting(mistakes, &Self::expected()))?;
        Ok(Some(read))
    }

    fn expected() -> String {
        format!("{}, or null", G::expected())
    }

    fn schema() -> Value {
        let mut schema = G::schema();
        if let Some(choices) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            choices.push(Value::Null);
            return json!({ "enum": choices });
        }
        let kind = schema["type"].take();
        schema["type"] = json!([kind, "null"]);
        schema
    }

    fn from_variable(word: &str) -> Value {
        G::from_variable(word)
    }

    fn absent() -> Option<Self::Value> {
        Some(None)
    }
}

/// Replaces the expected value in mistakes, since the outer grammar accepts more than the one that found them.
fn expecting(mut mistakes: Vec<Mistake>, more: &str) -> Vec<Mistake> {
    for mistake in &mut mistakes {
        if let Mistake::IllTyped { expected, .. } = mistake {
            more.clone_into(expected);
        }
    }
    mistakes
}

/// A value that may be left out, but not be null.
pub struct Maybe<G>(PhantomData<G>);

impl<G: Grammar> Grammar for Maybe<G> {
    type Value = Option<G::Value>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        G::read(node, key).map(Some)
    }

    fn expected() -> String {
        G::expected()
    }

    fn schema() -> Value {
        G::schema()
    }

    fn from_variable(word: &str) -> Value {
        G::from_variable(word)
    }

    fn absent() -> Option<Self::Value> {
        Some(None)
    }
}
