//! Numbers, durations and switches.

use serde_json::{Value, json};

use super::{
    duration::parse_duration,
    grammar::{Grammar, accept, accept_or},
    mistake::Mistake,
    node::Node,
};

/// True or false.
pub struct Switch;

impl Grammar for Switch {
    type Value = bool;

    fn read(node: &Node, key: &str) -> Result<bool, Vec<Mistake>> {
        accept::<Self>(node, key, node.flag())
    }

    fn expected() -> String {
        "true or false".to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }

    fn from_variable(word: &str) -> Value {
        let flag = serde_json::from_str(word).ok().filter(Value::is_boolean);
        flag.unwrap_or_else(|| Value::from(word))
    }
}

/// A whole number within bounds.
pub struct WholeNumber<const LEAST: u32, const MOST: u32>;

/// A count of at least 1.
pub type PositiveCount = WholeNumber<1, { u32::MAX }>;

impl<const LEAST: u32, const MOST: u32> Grammar for WholeNumber<LEAST, MOST> {
    type Value = u32;

    fn read(node: &Node, key: &str) -> Result<u32, Vec<Mistake>> {
        let number = node.whole().and_then(|number| u32::try_from(number).ok());
        accept::<Self>(node, key, number.filter(|number| (LEAST..=MOST).contains(number)))
    }

    fn expected() -> String {
        format!(
            "a whole number from {LEAST} to {MOST}, such as {}",
            50.clamp(LEAST, MOST)
        )
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }

    fn from_variable(word: &str) -> Value {
        parse_number(word)
    }
}

/// A whole number of at least 1, without upper bound.
pub struct BigCount;

impl Grammar for BigCount {
    type Value = u64;

    fn read(node: &Node, key: &str) -> Result<u64, Vec<Mistake>> {
        accept::<Self>(node, key, node.whole().filter(|number| *number > 0))
    }

    fn expected() -> String {
        "a whole number from 1, such as 50".to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 1 })
    }

    fn from_variable(word: &str) -> Value {
        parse_number(word)
    }
}

/// A whole number from 0 to 100.
pub struct Percent;

impl Grammar for Percent {
    type Value = u8;

    fn read(node: &Node, key: &str) -> Result<u8, Vec<Mistake>> {
        let percent = node.whole().and_then(|number| u8::try_from(number).ok());
        accept::<Self>(node, key, percent.filter(|percent| *percent <= 100))
    }

    fn expected() -> String {
        WholeNumber::<0, 100>::expected()
    }

    fn schema() -> Value {
        WholeNumber::<0, 100>::schema()
    }

    fn from_variable(word: &str) -> Value {
        parse_number(word)
    }
}

/// A number above 0.
pub struct Amount;

impl Grammar for Amount {
    type Value = f64;

    fn read(node: &Node, key: &str) -> Result<f64, Vec<Mistake>> {
        accept::<Self>(node, key, node.number().filter(|amount| *amount > 0.0))
    }

    fn expected() -> String {
        "a number above 0, such as 2.5".to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "number", "exclusiveMinimum": 0 })
    }

    fn from_variable(word: &str) -> Value {
        parse_number(word)
    }
}

/// A duration, held in milliseconds.
pub struct Duration;

impl Grammar for Duration {
    type Value = u64;

    fn read(node: &Node, key: &str) -> Result<u64, Vec<Mistake>> {
        let held = match node.text() {
            Some(text) => parse_duration(text).map_err(|error| Some(error.to_string())),
            None => Err(None),
        };
        accept_or::<Self>(node, key, held)
    }

    fn expected() -> String {
        r#"a duration, such as "90s", "10m" or "1h30m""#.to_owned()
    }

    fn schema() -> Value {
        let pattern = "^(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$";
        json!({ "type": "string", "pattern": pattern })
    }
}

/// Parses a number, but no other JSON.
fn parse_number(word: &str) -> Value {
    let number = serde_json::from_str(word).ok().filter(Value::is_number);
    number.unwrap_or_else(|| Value::from(word))
}
