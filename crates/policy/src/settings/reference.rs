//! Generates the reference page of a declaration: every key with its syntax, default and description.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    declaration::{Field, SettingForm},
    mistake::Mistake,
    node::Node,
    origin::SettingOrigin,
    record::{SettingsRecord, within},
};

/// Further facts about a key.
pub(crate) type More<'a> = &'a dyn Fn(&str, &Field) -> Vec<(&'static str, String)>;

/// Lists the settings of `R`. The settings of a group follow the description of the group.
pub fn page<R: SettingsRecord>(more: More<'_>) -> String {
    let mut text = String::new();
    write_fields(R::FIELDS, "", more, &mut text);
    text
}

fn write_fields(fields: &[Field], path: &str, more: More<'_>, text: &mut String) {
    for field in fields {
        let key = within(path, field.key);
        match field.kind.form {
            SettingForm::Section { about, fields } => {
                write_head(&key, about, text);
                write_fields(fields, &key, more, text);
            }
            SettingForm::Leaf | SettingForm::Open => {
                write_head(&key, field.about, text);
                write_facts(&key, field, more, text);
            }
        }
    }
}

fn write_head(key: &str, about: &str, text: &mut String) {
    let level = "#".repeat(2 + key.matches('.').count());
    let about: Vec<&str> = about.lines().map(str::trim).collect();
    let about = about.join("\n");
    writeln!(text, "\n{level} `{key}`\n\n{}", in_markdown(about.trim())).expect("a string takes every write");
}

fn write_facts(key: &str, field: &Field, more: More<'_>, text: &mut String) {
    let mut facts = vec![in_markdown(&expected(field, key))];
    if let Some(default) = field.default {
        facts.push(format!("default `{default}`"));
    }
    facts.extend(
        more(key, field)
            .into_iter()
            .map(|(name, value)| format!("{name} {value}")),
    );
    writeln!(text, "\n*{}*", facts.join("; ")).expect("a string takes every write");
}

/// The text that describes the expected value of a setting, taken from the mistake about a wrong one.
fn expected(field: &Field, key: &str) -> String {
    let wrong: [Value; 5] = [json!(false), json!([[]]), json!(-1), json!({ "": [] }), json!("")];
    let expected = wrong.into_iter().find_map(|value| {
        let mistakes = (field.kind.check)(&Node::from_value(value, &SettingOrigin::Default), key);
        mistakes.into_iter().find_map(|mistake| match mistake {
            Mistake::IllTyped { expected, .. } => Some(expected),
            _ => None,
        })
    });
    expected.unwrap_or_else(|| panic!("`{key}` takes whatever it is given"))
}

/// Escapes the characters of a text that are special in Markdown, except in code.
fn in_markdown(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => part.replace('*', "\\*").replace('<', "&lt;").replace('[', "\\["),
        _ => format!("`{part}`"),
    });
    parts.collect()
}

#[test]
fn signs_of_markdown_are_escaped_outside_of_code() {
    assert_eq!(in_markdown("a `b*c` *d* <e> [f]"), "a `b*c` \\*d\\* &lt;e> \\[f]");
}
