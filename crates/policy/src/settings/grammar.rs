//! What a kind of value has to say of itself to be a setting.

use serde_json::Value;

use super::{
    declaration::{Form, Kind},
    mistake::Mistake,
    node::Node,
};

/// What may be written for a setting, and what becomes of it.
pub trait Grammar {
    /// What a value is held as once it is read.
    type Held;

    /// How layers of it are merged.
    const FORM: Form = Form::Leaf;
    /// Its flag may be given more than once, and adds to what is configured.
    const ADDS: bool = false;

    /// Reads a value; `key` is what mistakes are to name.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn read(node: &Node, key: &str) -> Result<Self::Held, Vec<Mistake>>;

    /// Says what a value has to be, with an example.
    fn expected() -> String;

    /// Describes the values as JSON Schema.
    fn schema() -> Value;

    /// Makes a value of a variable's; what it cannot be made of stays text.
    fn of_word(word: &str) -> Value {
        Value::from(word)
    }

    /// Makes a value of a flag's.
    fn of_flag(word: &str) -> Value {
        Self::of_word(word)
    }

    /// What is held where nothing is written and no default is declared; none where something has to be written.
    fn absent() -> Option<Self::Held> {
        None
    }
}

/// Passes on what was read, or refuses the value.
///
/// # Errors
/// One mistake if nothing was read.
pub fn accept<G: Grammar>(node: &Node, key: &str, held: Option<G::Held>) -> Result<G::Held, Vec<Mistake>> {
    accept_or::<G>(node, key, held.ok_or(None))
}

/// As [`accept`], with the reason where the value alone does not tell.
///
/// # Errors
/// One mistake if nothing was read.
pub fn accept_or<G: Grammar>(
    node: &Node,
    key: &str,
    held: Result<G::Held, Option<String>>,
) -> Result<G::Held, Vec<Mistake>> {
    held.map_err(|reason| {
        let found = match reason {
            Some(reason) => format!("{} ({reason})", node.described()),
            None => node.described(),
        };
        vec![Mistake::ill_typed(&node.origin, key, found, G::expected())]
    })
}

/// Describes a grammar to those parts of the engine that need not know which one it is.
pub const fn kind_of<G: Grammar>() -> Kind {
    Kind {
        form: G::FORM,
        adds: G::ADDS,
        is_required: || G::absent().is_none(),
        check: check::<G>,
        schema: G::schema,
        of_word: G::of_word,
        of_flag: G::of_flag,
    }
}

fn check<G: Grammar>(node: &Node, key: &str) -> Vec<Mistake> {
    G::read(node, key).err().unwrap_or_default()
}
