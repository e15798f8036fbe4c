//! Texts and lists of a bounded size: they are cut when they are made, and again when they are read from a journal.
//!
//! Every part of an event that outside sources influence is one of these, or is bounded where it is read: plans and
//! references to their tasks, the user's messages, and settings (a run whose record would be too long does not start).

use std::{borrow::Borrow, fmt, ops::Deref};

use serde::{Deserialize, Serialize};

use super::clip::{LIST_CAP, TEXT_CAP_BYTES, clip, clip_start};

/// A text of at most `MAX` bytes. The end of a longer one is cut off, or its beginning if `KEEPS_END`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct BoundedText<const MAX: usize, const KEEPS_END: bool>(String);

/// A text of which the beginning is kept.
pub type Text<const MAX: usize = TEXT_CAP_BYTES> = BoundedText<MAX, false>;

/// A text of which the end is kept.
pub type Tail<const MAX: usize = TEXT_CAP_BYTES> = BoundedText<MAX, true>;

impl<const MAX: usize, const KEEPS_END: bool> BoundedText<MAX, KEEPS_END> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize, const KEEPS_END: bool> From<&str> for BoundedText<MAX, KEEPS_END> {
    fn from(text: &str) -> Self {
        Self(match KEEPS_END {
            true => clip_start(text, MAX),
            false => clip(text, MAX),
        })
    }
}

impl<const MAX: usize, const KEEPS_END: bool> From<String> for BoundedText<MAX, KEEPS_END> {
    fn from(text: String) -> Self {
        if text.len() > MAX {
            Self::from(&*text)
        } else {
            Self(text)
        }
    }
}

impl<const MAX: usize, const KEEPS_END: bool> From<&String> for BoundedText<MAX, KEEPS_END> {
    fn from(text: &String) -> Self {
        Self::from(&**text)
    }
}

impl<const MAX: usize, const KEEPS_END: bool> From<BoundedText<MAX, KEEPS_END>> for String {
    fn from(text: BoundedText<MAX, KEEPS_END>) -> Self {
        text.0
    }
}

impl<const MAX: usize, const KEEPS_END: bool> Deref for BoundedText<MAX, KEEPS_END> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// For `join`.
impl<const MAX: usize, const KEEPS_END: bool> Borrow<str> for BoundedText<MAX, KEEPS_END> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize, const KEEPS_END: bool> fmt::Display for BoundedText<MAX, KEEPS_END> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const MAX: usize, const KEEPS_END: bool> fmt::Debug for BoundedText<MAX, KEEPS_END> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const MAX: usize, const KEEPS_END: bool, T: AsRef<str> + ?Sized> PartialEq<T> for BoundedText<MAX, KEEPS_END> {
    fn eq(&self, other: &T) -> bool {
        self.0 == other.as_ref()
    }
}

/// A list of at most `MAX` entries. Further ones are dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<T>")]
pub struct List<T, const MAX: usize = LIST_CAP>(Vec<T>);

impl<T, const MAX: usize> List<T, MAX> {
    /// Returns the list with the number of entries that it has no room for.
    pub fn with_rest(list: Vec<T>) -> (Self, u64) {
        let left_out = list.len().saturating_sub(MAX);
        (list.into(), left_out as u64)
    }
}

impl<T, const MAX: usize> From<Vec<T>> for List<T, MAX> {
    fn from(mut list: Vec<T>) -> Self {
        list.truncate(MAX);
        Self(list)
    }
}

impl<T, const MAX: usize> FromIterator<T> for List<T, MAX> {
    fn from_iter<I: IntoIterator<Item = T>>(list: I) -> Self {
        Self(list.into_iter().take(MAX).collect())
    }
}

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MAX: usize> Deref for List<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const MAX: usize> IntoIterator for List<T, MAX> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'l, T, const MAX: usize> IntoIterator for &'l List<T, MAX> {
    type Item = &'l T;
    type IntoIter = std::slice::Iter<'l, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(feature = "testing")]
mod schemas {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator};

    use super::{BoundedText, List};

    impl<const MAX: usize, const KEEPS_END: bool> JsonSchema for BoundedText<MAX, KEEPS_END> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            String::schema_name()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            String::json_schema(generator)
        }
    }

    impl<T: JsonSchema, const MAX: usize> JsonSchema for List<T, MAX> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            Vec::<T>::schema_name()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            Vec::<T>::json_schema(generator)
        }
    }
}
