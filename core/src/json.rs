//! Reads types from the text of their JSON: what `#[derive(ReadJson)]` calls.
//!
//! An object with a tag is read in two passes over its text, of which the first only looks for the tag: nothing is
//! copied in between, and the code for the fields is compiled once.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        DeserializeSeed, EnumAccess, Error as _, IgnoredAny, IntoDeserializer, MapAccess, Unexpected, VariantAccess,
        Visitor, value::CowStrDeserializer,
    },
    forward_to_deserialize_any,
    ser::Error as _,
};
use serde_json::{
    Deserializer as Json,
    de::StrRead,
    value::{RawValue, to_raw_value},
};

pub use ralph_read_json::{NoSchema, ReadJson, WriteJson};
pub use serde_json::Error;

/// Returns the text of the next JSON value of the input, which has to be in memory.
#[doc(hidden)]
pub fn text<'de, D: Deserializer<'de>>(json: D) -> Result<&'de str, D::Error> {
    <&RawValue>::deserialize(json).map(RawValue::get)
}

/// The text of a value.
#[doc(hidden)]
#[derive(Debug)]
pub struct Text(Result<Box<RawValue>, Error>);

impl Text {
    pub fn of<T: Serialize>(value: &T) -> Self {
        Self(to_raw_value(value))
    }

    /// # Errors
    /// If the value has no text in JSON, or as the output.
    pub fn write<S: Serializer>(self, json: S) -> Result<S::Ok, S::Error> {
        self.0.map_err(S::Error::custom)?.serialize(json)
    }
}

/// Reads a value with `read`.
///
/// # Errors
/// As `read`.
#[doc(hidden)]
pub fn whole<'a, T>(text: &'a str, read: fn(&mut Json<StrRead<'a>>) -> Result<T, Error>) -> Result<T, Error> {
    read(&mut Json::from_str(text))
}

/// Reads an enum whose variant is named by the field `tag` of the object in `text`.
///
/// # Errors
/// If `text` is not an object, has no such field, or no variant of the enum.
#[doc(hidden)]
pub fn by_tag<T: ByTag>(text: &str, tag: &'static str) -> Result<T, Error> {
    let variant = tag_of(text, tag)?;
    T::read(Tagged { variant, text })
}

/// The value of the field `tag` of the object in `text`.
///
/// # Errors
/// If `text` is not an object, or has no such field.
pub fn tag_of<'a>(text: &'a str, tag: &'static str) -> Result<Cow<'a, str>, Error> {
    match leading(text, tag) {
        Some(value) => Ok(Cow::Borrowed(value)),
        None => Json::from_str(text).deserialize_map(TagVisitor(tag)),
    }
}

/// An enum whose variants are told apart by a tag.
#[doc(hidden)]
pub trait ByTag: Sized {
    /// Whether one of the variants has this tag.
    fn knows(tag: &str) -> bool;

    /// Reads the variant.
    ///
    /// # Errors
    /// If the tag is unknown, or the fields are not those of its variant.
    fn read(object: Tagged<'_>) -> Result<Self, Error>;
}

/// The tag of an object that begins with it, as all do that ralph writes.
fn leading<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let rest = text.strip_prefix("{\"")?.strip_prefix(tag)?.strip_prefix("\":\"")?;
    let (variant, _) = rest.split_once('"')?;
    (!variant.contains('\\')).then_some(variant)
}

/// Finds the tag of an object, wherever it is.
struct TagVisitor(&'static str);

impl<'de> Visitor<'de> for TagVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with a `{}`", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = fields.next_key::<Cow<'de, str>>()? {
            match name == self.0 {
                true => found = Some(Cow::Owned(fields.next_value()?)),
                false => _ = fields.next_value::<IgnoredAny>()?,
            }
        }
        found.ok_or_else(|| A::Error::missing_field(self.0))
    }
}

/// An object in JSON whose tag is known. It is read as a variant.
#[doc(hidden)]
#[derive(Debug)]
pub struct Tagged<'a> {
    variant: Cow<'a, str>,
    text: &'a str,
}

impl Tagged<'_> {
    pub fn is_one_of<T: ByTag>(&self) -> bool {
        T::knows(&self.variant)
    }
}

impl<'de> Deserializer<'de> for Tagged<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Tagged<'de> {
    type Error = Error;
    type Variant = Fields<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, variant: S) -> Result<(S::Value, Fields<'de>), Error> {
        let name: CowStrDeserializer<'_, Error> = self.variant.into_deserializer();
        Ok((variant.deserialize(name)?, Fields(self.text)))
    }
}

/// The fields of a variant.
#[doc(hidden)]
#[derive(Debug)]
pub struct Fields<'a>(&'a str);

impl<'de> VariantAccess<'de> for Fields<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, value: S) -> Result<S::Value, Error> {
        value.deserialize(&mut Json::from_str(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        Err(Error::invalid_type(Unexpected::Map, &visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        Json::from_str(self.0).deserialize_map(visitor)
    }
}

/// Returns the names of the variants that `read` asks for.
#[doc(hidden)]
pub fn names<T>(read: fn(Names) -> Result<T, Names>) -> &'static [&'static str] {
    read(Names(&[])).map_or_else(|Names(names)| names, |_| &[])
}

/// Input without a value: it ends with the names of the variants that it is asked for.
#[doc(hidden)]
#[derive(Debug)]
pub struct Names(&'static [&'static str]);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl std::error::Error for Names {}

impl serde::de::Error for Names {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Names {
    type Error = Names;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Names> {
        Err(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Names> {
        Err(Names(names))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, ReadJson)]
    #[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
    enum Shape {
        Nothing,
        Square {
            side_mm: u32,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            name: Option<String>,
        },
        Group(Group),
        #[serde(untagged)]
        Round(Round),
    }

    #[derive(Debug, Clone, PartialEq, Serialize, ReadJson)]
    #[serde(tag = "type", rename_all = "kebab-case")]
    enum Round {
        Circle { radius: u32 },
        Point,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, ReadJson)]
    struct Group {
        members: Vec<Shape>,
    }

    fn read(text: &str) -> Result<Shape, Error> {
        serde_json::from_slice(text.as_bytes())
    }

    fn square() -> Shape {
        Shape::Square { side_mm: 3, name: None }
    }

    #[test]
    fn what_is_written_is_read() {
        let inner = Shape::Group(Group {
            members: vec![square(), Shape::Nothing],
        });
        let shape = Shape::Group(Group {
            members: vec![inner, Shape::Nothing],
        });
        let round = [Round::Circle { radius: 2 }, Round::Point].map(Shape::Round);
        for shape in [Shape::Nothing, square(), shape].into_iter().chain(round) {
            let text = serde_json::to_string(&shape).unwrap();
            assert_eq!(read(&text).unwrap(), shape, "{text}");
        }
    }

    #[test]
    fn the_tag_may_be_anywhere_and_in_any_spelling() {
        for text in [
            r#"{"type":"square","sideMm":3}"#,
            r#" { "type" : "square", "sideMm": 3 } "#,
            r#"{"sideMm":3,"type":"square"}"#,
            r#"{"other":{"type":"nothing"},"sideMm":3,"type":"square","name":null}"#,
            r#"{"type":"squ\u0061re","sideMm":3}"#,
            r#"{"typ\u0065":"square","sideMm":3}"#,
        ] {
            assert_eq!(read(text).unwrap(), square(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("3", "expected an object with a `type`"),
            ("{}", "missing field `type`"),
            (r#"{"type":3}"#, "expected a string"),
            (
                r#"{"type":"cube"}"#,
                "unknown variant `cube`, expected one of `nothing`, `square`, `group`",
            ),
            (r#"{"type":"square"}"#, "missing field `sideMm`"),
            (r#"{"type":"circle"}"#, "missing field `radius`"),
            (
                r#"{"type":"square","sideMm":"3"}"#,
                "invalid type: string \"3\", expected u32",
            ),
            (r#"{"type":"square","sideMm":3"#, "EOF while parsing"),
            (r#"{"type":"square","sideMm":3} {}"#, "trailing characters"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
