//! Groups of settings that are held as one value, and the macro that declares them.

use super::{
    declaration::Field,
    grammar::Grammar,
    mistake::Mistake,
    nearest::closest,
    node::{Node, NodeShape},
    origin::SettingOrigin,
};

/// A group of settings that are held as one value: a struct with a row for each field.
pub trait SettingsRecord: Sized {
    /// The doc comment of the group.
    const ABOUT: &'static str;
    /// The fields in the order in which they are shown.
    const FIELDS: &'static [Field];

    /// The value that the settings are read into: `Self`, or a type that another crate declares.
    type Value;

    /// Reads every field; `None` if one cannot be read. The reader keeps the mistakes.
    fn read(reader: &mut RecordReader<'_>) -> Option<Self::Value>;

    /// The group with all defaults.
    ///
    /// # Panics
    /// If a default does not match its grammar, or a required setting has no default. A test reads the defaults of
    /// every declaration.
    fn defaults() -> Self::Value {
        let mut reader = RecordReader::new(None, "");
        Self::read(&mut reader).expect("the declared defaults are of their grammars")
    }
}

/// Reads a record from a table.
pub struct RecordReader<'n> {
    /// `None` if the table is not written.
    table: Option<&'n Node>,
    path: &'n str,
    mistakes: Vec<Mistake>,
}

impl<'n> RecordReader<'n> {
    pub fn new(table: Option<&'n Node>, path: &'n str) -> Self {
        RecordReader {
            table,
            path,
            mistakes: Vec::new(),
        }
    }

    /// Reads one field: the written value, else the default, else [`Grammar::absent`].
    pub fn field<G: Grammar>(&mut self, name: &str, default: Option<&str>) -> Option<G::Value> {
        let key = within(self.path, name);
        let written = self.table.and_then(|table| table.get(name));
        let read = match (written, default) {
            (Some(node), _) => G::read(node, &key),
            (None, Some(default)) => {
                let value = serde_json::from_str(default).unwrap_or_default();
                G::read(&Node::from_value(value, &SettingOrigin::Default), &key)
            }
            (None, None) => return G::absent().or_else(|| self.missing::<G>(name)),
        };
        match read {
            Ok(held) => Some(held),
            Err(mistakes) => {
                self.mistakes.extend(mistakes);
                None
            }
        }
    }

    fn missing<G: Grammar>(&mut self, name: &str) -> Option<G::Value> {
        let origin = self.table.map_or(SettingOrigin::Default, |table| table.origin.clone());
        let found = format!("missing `{name}`");
        let mistake = Mistake::ill_typed(&origin, self.path, found, G::expected());
        self.mistakes.push(mistake);
        None
    }

    pub fn mistakes(self) -> Vec<Mistake> {
        self.mistakes
    }
}

/// Joins a dotted path and a name.
pub(super) fn within(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

/// Reads a record that is one value among others, such as an element of a list.
///
/// # Errors
/// All mistakes: fields that do not match their grammar, unknown fields, and missing fields.
pub fn read_item<R: SettingsRecord<Value = R>>(
    node: &Node,
    key: &str,
    name: &str,
    example: &str,
) -> Result<R, Vec<Mistake>> {
    let NodeShape::Table(written) = &node.shape else {
        let found = node.described();
        return Err(vec![Mistake::ill_typed(&node.origin, key, found, example.to_owned())]);
    };
    let is_known = |name: &String| R::FIELDS.iter().any(|field| field.key == name);
    if written.iter().all(|(name, _)| is_known(name))
        && let Some(read) = R::read(&mut RecordReader::new(Some(node), key))
    {
        return Ok(read);
    }
    Err(mistakes_of_item::<R>(node, written, key, name, example))
}

/// The mistakes in an item that could not be read, in the order of the text.
fn mistakes_of_item<R: SettingsRecord>(
    node: &Node,
    written: &[(String, Node)],
    key: &str,
    name: &str,
    example: &str,
) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (field, value) in written {
        let key = within(key, field);
        match R::FIELDS.iter().find(|known| known.key == field) {
            Some(known) => mistakes.extend((known.kind.check)(value, &key)),
            None => {
                let found = format!("not a field of {name}");
                let expected = known_fields::<R>(field);
                mistakes.push(Mistake::ill_typed(&value.origin, &key, found, expected));
            }
        }
    }
    let missing = R::FIELDS
        .iter()
        .filter(|field| field.default.is_none() && (field.kind.is_required)() && node.get(field.key).is_none());
    mistakes.extend(missing.map(|field| {
        let found = format!("an object without `{}`", field.key);
        Mistake::ill_typed(&node.origin, key, found, example.to_owned())
    }));
    mistakes
}

/// The field that was probably meant, or else a list of all fields.
fn known_fields<R: SettingsRecord>(unknown: &str) -> String {
    let names = || R::FIELDS.iter().map(|field| field.key);
    if let Some(near) = closest(unknown, names()) {
        return format!("`{near}`");
    }
    let quoted: Vec<String> = names().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.join(""),
    }
}

/// Declares the settings of a struct, which is created (`struct`) or exists already (`impl`), with a row for each
/// field:
///
/// ```text
/// /// What the setting is for, as the schema and the example file say it.
/// #[flag("--name", "VALUE", "What the help says of the flag")]
/// field_name("keyInFiles"): Grammar = "default",
/// ```
///
/// The flag and the default may be left out. A row without a default has the value of [`Grammar::absent`]; if that is
/// `None`, the setting must be written. Fields of an existing struct that are no settings follow the rows:
/// `with { field_name: value, }`.
#[macro_export]
macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])*
        $visibility:vis struct $name:ident {
            $(
                $(#[doc = $about:literal])*
                $(#[flag($flag:literal, $value:literal, $help:literal)])?
                $field:ident($key:literal): $grammar:ty $(= $default:tt)?,
            )*
        }
    )+) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        $visibility struct $name {
            $(
                $(#[doc = $about])*
                pub $field: <$grammar as $crate::settings::Grammar>::Value,
            )*
        }

        $crate::settings! {
            $(#[doc = $doc])*
            impl $name for $name {
                $(
                    $(#[doc = $about])*
                    $(#[flag($flag, $value, $help)])?
                    $field($key): $grammar $(= $default)?,
                )*
            }
        }
    )+};
    (
        $(#[doc = $doc:literal])*
        $visibility:vis struct $name:ident for $held:ident {
            $($rows:tt)*
        }
        $(with { $($fixed:ident: $value:expr,)* })?
    ) => {
        $(#[doc = $doc])*
        $visibility struct $name;

        $crate::settings! {
            $(#[doc = $doc])*
            impl $name for $held {
                $($rows)*
            }
            $(with { $($fixed: $value,)* })?
        }
    };
    (
        $(#[doc = $doc:literal])*
        impl $name:ident for $held:ident {
            $(
                $(#[doc = $about:literal])*
                $(#[flag($flag:literal, $word:literal, $help:literal)])?
                $field:ident($key:literal): $grammar:ty $(= $default:tt)?,
            )*
        }
        $(with { $($fixed:ident: $value:expr,)* })?
    ) => {
        impl $crate::settings::SettingsRecord for $name {
            const ABOUT: &'static str = concat!($($doc, "\n"),*);
            const FIELDS: &'static [$crate::settings::Field] = &[
                $(
                    $crate::settings::Field {
                        key: $key,
                        about: concat!($($about, "\n"),*),
                        default: $crate::settings!(@default $($default)?),
                        flag: $crate::settings!(@flag $($flag, $word, $help)?),
                        kind: $crate::settings::value_kind::<$grammar>(),
                    },
                )*
            ];

            type Value = $held;

            fn read(reader: &mut $crate::settings::RecordReader<'_>) -> Option<$held> {
                $(
                    let $field =
                        reader.field::<$grammar>($key, $crate::settings!(@default $($default)?));
                )*
                Some($held { $($field: $field?,)* $($($fixed: $value,)*)? })
            }
        }
    };
    (@default) => { None };
    (@default $default:tt) => { Some(stringify!($default)) };
    (@flag) => { None };
    (@flag $name:literal, $value:literal, $help:literal) => {
        Some($crate::settings::FlagDeclaration { name: $name, value: $value, help: $help })
    };
}
