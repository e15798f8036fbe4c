//! Groups of settings.

use std::marker::PhantomData;

use serde_json::{Value, json};

use super::{
    declaration::SettingForm,
    describe::group_schema,
    grammar::{Grammar, accept, all},
    mistake::Mistake,
    node::Node,
    record::{RecordReader, SettingsRecord, within},
};

/// A table with arbitrary keys.
pub struct OpenGroup<G>(PhantomData<G>);

impl<G: Grammar> Grammar for OpenGroup<G> {
    type Value = Vec<(String, G::Value)>;

    const FORM: SettingForm = SettingForm::Open;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        let Some(fields) = node.fields() else {
            return accept::<Self>(node, key, None);
        };
        let read = |(name, value): &(String, Node)| Ok((name.clone(), G::read(value, &within(key, name))?));
        all(fields.iter().map(read))
    }

    fn expected() -> String {
        format!("a table, each value of which is {}", G::expected())
    }

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": G::schema() })
    }

    fn absent() -> Option<Self::Value> {
        Some(Vec::new())
    }
}

/// A group of settings.
pub struct SettingsSection<R>(PhantomData<R>);

impl<R: SettingsRecord> Grammar for SettingsSection<R> {
    type Value = R::Value;

    const FORM: SettingForm = SettingForm::Section {
        about: R::ABOUT,
        fields: R::FIELDS,
    };

    fn read(node: &Node, key: &str) -> Result<R::Value, Vec<Mistake>> {
        let mut reader = RecordReader::new(Some(node), key);
        R::read(&mut reader).ok_or_else(|| reader.mistakes())
    }

    fn expected() -> String {
        "a table with settings".to_owned()
    }

    fn schema() -> Value {
        group_schema::<R>()
    }

    fn absent() -> Option<R::Value> {
        R::read(&mut RecordReader::new(None, ""))
    }
}
