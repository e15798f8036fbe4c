//! Numbers, durations and switches.

use serde_json::{Value, json};

use super::{
    duration::parse_duration,
    grammar::{Grammar, accept, accept_or, json_if},
    mistake::Mistake,
    node::Node,
};
use crate::grammars;

grammars! {
    /// True or false.
    pub Switch: bool, "true or false", json!({ "type": "boolean" }), by Value::is_boolean, |node| node.flag();
    /// A whole number of at least 1, without upper bound.
    pub BigCount: u64, "a whole number from 1, such as 50", json!({ "type": "integer", "minimum": 1 }),
        by Value::is_number, |node| node.whole().filter(|number| *number > 0);
    /// A whole number from 0 to 100.
    pub Percent: u8, WholeNumber::<0, 100>::expected(), WholeNumber::<0, 100>::schema(),
        by Value::is_number, |node| node.whole().and_then(|number| u8::try_from(number).ok()).filter(|percent| *percent <= 100);
    /// A number above 0.
    pub Amount: f64, "a number above 0, such as 2.5", json!({ "type": "number", "exclusiveMinimum": 0 }),
        by Value::is_number, |node| node.number().filter(|amount| *amount > 0.0);
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
        json_if(word, Value::is_number)
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
