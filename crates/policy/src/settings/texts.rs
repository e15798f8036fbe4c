//! Grammars of texts: lines, prose, paths, names and choices.

use std::{marker::PhantomData, path::PathBuf};

use serde_json::{Value, json};

use super::{
    grammar::{Grammar, accept, accept_or, all},
    mistake::Mistake,
    nearest::closest,
    node::Node,
};
use crate::grammars;

grammars! {
    /// A text on one line.
    pub SingleLine: String, r#"a text on one line, such as "codex""#, json!({ "type": "string", "minLength": 1 }),
        |node| on_one_line(node);
    /// A text that is not blank.
    pub Prose: String, "a text that is not blank", SingleLine::schema(),
        |node| node.text().filter(|text| !text.trim().is_empty() && !text.contains('\0')).map(str::to_owned);
    /// Any text.
    pub AnyText: String, "a text", json!({ "type": "string" }), |node| node.text().map(str::to_owned);
    /// A path as it is written: absolute, or relative to a directory that depends on the setting.
    pub FilePath: PathBuf, r#"a path, such as "PLAN.md""#, SingleLine::schema(),
        |node| node.text().filter(|text| !text.is_empty() && !text.contains('\0')).map(PathBuf::from);
}

/// Returns the text of a node if it is one line that is not blank.
pub fn on_one_line(node: &Node) -> Option<String> {
    let text = node.text()?;
    (!text.trim().is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
}

/// A type whose values have names.
pub trait NamedChoice: Copy + 'static {
    const CHOICES: &'static [(&'static str, Self)];
}

/// Names the values of types, a row each.
#[macro_export]
macro_rules! choices {
    ($($choice:ty: $($name:literal = $value:ident),+;)+) => {$(
        impl $crate::settings::NamedChoice for $choice {
            const CHOICES: &'static [(&'static str, Self)] = &[$(($name, Self::$value)),+];
        }
    )+};
}

/// The name of a value of a [`NamedChoice`].
pub struct OneOf<C>(PhantomData<C>);

impl<C: NamedChoice> Grammar for OneOf<C> {
    type Value = C;

    fn read(node: &Node, key: &str) -> Result<C, Vec<Mistake>> {
        let Some(text) = node.text() else {
            return accept::<Self>(node, key, None);
        };
        let chosen = C::CHOICES.iter().find(|(name, _)| *name == text);
        accept_or::<Self>(
            node,
            key,
            chosen.map(|(_, choice)| *choice).ok_or_else(|| {
                let near = closest(text, C::CHOICES.iter().map(|(name, _)| *name))?;
                Some(format!("did you mean \"{near}\"?"))
            }),
        )
    }

    fn expected() -> String {
        let quoted: Vec<String> = C::CHOICES.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        quoted.join(" or ")
    }

    fn schema() -> Value {
        let names: Vec<&str> = C::CHOICES.iter().map(|(name, _)| *name).collect();
        json!({ "enum": names })
    }
}

/// Reads a list with the grammar of its items.
fn read_list<G, I>(node: &Node, key: &str) -> Result<G::Value, Vec<Mistake>>
where
    G: Grammar<Value = Vec<I::Value>>,
    I: Grammar,
{
    let Some(items) = node.items() else {
        return accept::<G>(node, key, None);
    };
    let items = items.iter().enumerate();
    all(items.map(|(index, item)| I::read(item, &format!("{key}[{index}]"))))
}

/// A list of names of a [`NamedChoice`].
pub struct SomeOf<C>(PhantomData<C>);

impl<C: NamedChoice> Grammar for SomeOf<C> {
    type Value = Vec<C>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        read_list::<Self, OneOf<C>>(node, key)
    }

    fn expected() -> String {
        format!("a list of {}", OneOf::<C>::expected())
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": OneOf::<C>::schema() })
    }
}

/// A list of arbitrary texts.
pub struct TextList;

impl Grammar for TextList {
    type Value = Vec<String>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        read_list::<Self, AnyText>(node, key)
    }

    fn expected() -> String {
        "a list of texts".to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": AnyText::schema() })
    }
}

/// The kind of names in a list.
pub trait Sample {
    /// An example of such a list, in the syntax of a file.
    const SAMPLE: &'static str;
}

/// Declares kinds of names, each with its example.
#[macro_export]
macro_rules! samples {
    ($($(#[$attribute:meta])* $name:ident: $sample:literal;)+) => {$(
        $(#[$attribute])*
        pub struct $name;

        impl $crate::settings::Sample for $name {
            const SAMPLE: &'static str = $sample;
        }
    )+};
}

/// Names or patterns without repetitions, each on one line.
pub struct NameList<S>(PhantomData<S>);

impl<S: Sample> Grammar for NameList<S> {
    type Value = Vec<String>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        let names: Option<Vec<String>> = node
            .items()
            .and_then(|items| items.iter().map(|item| SingleLine::read(item, key).ok()).collect());
        let differ = |names: &Vec<String>| {
            let repeats = |(at, name): (usize, &String)| names[..at].contains(name);
            !names.iter().enumerate().any(repeats)
        };
        accept::<Self>(node, key, names.filter(differ))
    }

    fn expected() -> String {
        format!("a list of different names, such as {}", S::SAMPLE)
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": SingleLine::schema(), "uniqueItems": true })
    }

    fn from_variable(word: &str) -> Value {
        word.split(',').map(|name| Value::from(name.trim())).collect()
    }
}
