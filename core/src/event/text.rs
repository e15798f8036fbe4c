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
    pub const fn new() -> Self {
        Self(Vec::new())
    }

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

#[cfg(test)]
mod tests {
    use schemars::schema_for;

    use super::*;

    #[test]
    fn a_text_keeps_its_beginning_and_a_tail_its_end() {
        let long = || "first, second, third, last".to_owned();
        assert_eq!(Text::<20>::from(long()), "first, second, […]");
        assert_eq!(Tail::<20>::from(long()), "[…] d, third, last");
        assert_eq!(Text::<26>::from(long()), long());
    }

    #[test]
    fn texts_are_equal_if_they_have_the_same_characters() {
        let text = Text::<20>::from("a text");
        assert!(text == "a text" && text != "another text");
    }

    #[test]
    fn a_text_is_joined_and_printed_like_any_other() {
        let texts = [Text::<20>::from("one"), Text::from("two")];
        assert_eq!(texts.join(", "), "one, two");
        assert_eq!(texts[0].to_string(), "one");
        assert_eq!(format!("{texts:?}"), r#"["one", "two"]"#);
    }

    #[test]
    fn a_list_keeps_its_first_entries() {
        let numbers = || vec![1, 2, 3, 4, 5];
        assert_eq!(*List::<_, 3>::from(numbers()), [1, 2, 3]);
        assert_eq!(*numbers().into_iter().collect::<List<_, 3>>(), [1, 2, 3]);
        assert_eq!(List::<_, 3>::from(numbers()).into_iter().collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn a_list_with_its_rest_tells_how_many_entries_were_dropped() {
        for (entries, kept, left_out) in [(5, 3, 2), (3, 3, 0), (0, 0, 0)] {
            let (list, rest) = List::<_, 3>::with_rest(vec!['x'; entries]);
            assert_eq!((list.len(), rest), (kept, left_out), "{entries} entries");
        }
    }

    #[test]
    fn bounded_texts_and_lists_have_the_schemas_of_unbounded_ones() {
        assert_eq!(schema_for!(Text), schema_for!(String));
        assert_eq!(schema_for!(Tail<20>), schema_for!(String));
        assert_eq!(schema_for!(List<u32, 3>), schema_for!(Vec<u32>));
    }
}
