//! Grammars of texts: lines, prose, paths, names and choices.

use std::{marker::PhantomData, path::PathBuf};

use serde_json::{Value, json};

use super::{
    grammar::{Grammar, accept, accept_or},
    mistake::Mistake,
    nearest::closest,
    node::Node,
};

/// A text on one line.
pub struct SingleLine;

impl Grammar for SingleLine {
    type Value = String;

    fn read(node: &Node, key: &str) -> Result<String, Vec<Mistake>> {
        let text = node
            .text()
            .filter(|text| !text.trim().is_empty() && !text.contains(char::is_control));
        accept::<Self>(node, key, text.map(str::to_owned))
    }

    fn expected() -> String {
        r#"a text on one line, such as "codex""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }
}

/// A text that is not blank.
pub struct Prose;

impl Grammar for Prose {
    type Value = String;

    fn read(node: &Node, key: &str) -> Result<String, Vec<Mistake>> {
        let text = node
            .text()
            .filter(|text| !text.trim().is_empty() && !text.contains('\0'));
        accept::<Self>(node, key, text.map(str::to_owned))
    }

    fn expected() -> String {
        "a text that is not blank".to_owned()
    }

    fn schema() -> Value {
        SingleLine::schema()
    }
}

/// Any text.
pub struct AnyText;

impl Grammar for AnyText {
    type Value = String;

    fn read(node: &Node, key: &str) -> Result<String, Vec<Mistake>> {
        accept::<Self>(node, key, node.text().map(str::to_owned))
    }

    fn expected() -> String {
        "a text".to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

/// A path as it is written: absolute, or relative to a directory that depends on the setting.
pub struct FilePath;

impl Grammar for FilePath {
    type Value = PathBuf;

    fn read(node: &Node, key: &str) -> Result<PathBuf, Vec<Mistake>> {
        let path = node.text().filter(|text| !text.is_empty() && !text.contains('\0'));
        accept::<Self>(node, key, path.map(PathBuf::from))
    }

    fn expected() -> String {
        r#"a path, such as "PLAN.md""#.to_owned()
    }

    fn schema() -> Value {
        SingleLine::schema()
    }
}

/// A type whose values have names.
pub trait NamedChoice: Copy + 'static {
    const CHOICES: &'static [(&'static str, Self)];
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

/// A list of names of a [`NamedChoice`].
pub struct SomeOf<C>(PhantomData<C>);

impl<C: NamedChoice> Grammar for SomeOf<C> {
    type Value = Vec<C>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        let Some(items) = node.items() else {
            return accept::<Self>(node, key, None);
        };
        let (mut chosen, mut mistakes) = (Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            match OneOf::<C>::read(item, &format!("{key}[{index}]")) {
                Ok(choice) => chosen.push(choice),
                Err(found) => mistakes.extend(found),
            }
        }
        match mistakes.is_empty() {
            true => Ok(chosen),
            false => Err(mistakes),
        }
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
        let Some(items) = node.items() else {
            return accept::<Self>(node, key, None);
        };
        let (mut texts, mut mistakes) = (Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            match AnyText::read(item, &format!("{key}[{index}]")) {
                Ok(text) => texts.push(text),
                Err(found) => mistakes.extend(found),
            }
        }
        match mistakes.is_empty() {
            true => Ok(texts),
            false => Err(mistakes),
        }
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
