//! Arguments and environments in JSON: each as a string, or as its bytes if it is no UTF-8. serde alone writes each byte as a
//! number, which is slow to write and to read.

use std::{ffi::OsString, os::unix::ffi::OsStringExt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Utf8(String),
    Bytes(Vec<u8>),
}

impl From<&OsString> for Text {
    fn from(text: &OsString) -> Self {
        match text.clone().into_string() {
            Ok(text) => Text::Utf8(text),
            Err(text) => Text::Bytes(text.into_vec()),
        }
    }
}

impl From<Text> for OsString {
    fn from(text: Text) -> Self {
        match text {
            Text::Utf8(text) => text.into(),
            Text::Bytes(bytes) => OsString::from_vec(bytes),
        }
    }
}

pub(super) fn serialize<S: Serializer>(texts: &[OsString], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(texts.iter().map(Text::from))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OsString>, D::Error> {
    let texts = Vec::<Text>::deserialize(deserializer)?;
    Ok(texts.into_iter().map(OsString::from).collect())
}

/// Names with their values.
pub(super) mod pairs {
    use super::{Deserialize, Deserializer, OsString, Serializer, Text};

    pub(in crate::proc) fn serialize<S: Serializer>(
        pairs: &[(OsString, OsString)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(pairs.iter().map(|(name, value)| (Text::from(name), Text::from(value))))
    }

    pub(in crate::proc) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(OsString, OsString)>, D::Error> {
        let pairs = Vec::<(Text, Text)>::deserialize(deserializer)?;
        Ok(pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect())
    }
}
