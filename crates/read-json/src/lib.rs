//! `#[derive(ReadJson)]`: `Deserialize` for a type that is only read from JSON, compiled once for all readers.
//!
//! The `Deserialize` that serde derives is generic: each package and each kind of input that reads a type compiles all
//! of it again. For an enum with `#[serde(tag = "type")]` it also copies the whole object before it reads the fields,
//! and compiles the fields for that copy, too. This derive reads the type from the text of its JSON in one function,
//! which is not generic: the tag first, then the fields of its variant from the same text.
//!
//! It takes the attributes of serde and leaves the work to serde: the type is given to serde's derive again, as a
//! mirror of itself without the tag. `ralph_core::json` reads the tag.

use proc_macro::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// Derives `Deserialize` from the text of a JSON value. The input has to be JSON that is in memory, as that of
/// `serde_json::from_slice` is.
///
/// The derive is for structs with fields and for enums with a `tag`, neither of them with parameters nor with
/// `deny_unknown_fields`: the tag is such a field. An `untagged` variant holds an enum with the same tag, of which it
/// stands for all variants.
#[proc_macro_derive(ReadJson, attributes(serde))]
pub fn read_json(item: TokenStream) -> TokenStream {
    let item = Item::parse(item);
    let Item {
        name,
        keyword,
        attributes,
        tag,
        groups,
        body,
    } = &item;
    let (read, by_tag) = match tag {
        Some(tag) => (format!("::ralph_core::json::by_tag(text, {tag})"), by_tag(groups)),
        None => (
            "::ralph_core::json::whole(text, |json| Mirror::deserialize(json))".to_owned(),
            String::new(),
        ),
    };
    format!(
        "const _: () = {{
            type Original = {name};

            #[derive(::serde::Deserialize)]
            #[serde(remote = \"Original\", rename = \"{name}\")]
            {attributes}
            #[allow(dead_code, clippy::all)]
            {keyword} Mirror {body}

            fn from_text(text: &str) -> ::core::result::Result<Original, ::ralph_core::json::Error> {{
                {read}
            }}

            {by_tag}

            impl<'de> ::serde::Deserialize<'de> for Original {{
                fn deserialize<D: ::serde::Deserializer<'de>>(json: D) -> ::core::result::Result<Self, D::Error> {{
                    from_text(::ralph_core::json::text(json)?).map_err(::serde::de::Error::custom)
                }}
            }}
        }};"
    )
    .parse()
    .expect("the parts of an item make an item")
}

/// Derives `Serialize` to the text of a JSON value, which is written to the output as it is.
#[proc_macro_derive(WriteJson, attributes(serde))]
pub fn write_json(item: TokenStream) -> TokenStream {
    let Item {
        name,
        keyword,
        attributes,
        tag,
        groups,
        body,
    } = Item::parse(item);
    let tag = tag.map_or_else(String::new, |tag| format!("#[serde(tag = {tag})]"));
    let groups = groups
        .iter()
        .map(|(name, group)| format!("#[serde(untagged)] {name} {group},"));
    let groups: TokenStream = groups.collect::<String>().parse().expect("variants");
    let fields = body.into_iter().filter_map(|body| match body {
        TokenTree::Group(fields) => Some(fields.stream()),
        _ => None,
    });
    let fields: TokenStream = fields.chain([groups]).collect();
    format!(
        "const _: () = {{
            type Original = {name};

            #[derive(::serde::Serialize)]
            #[serde(remote = \"Original\", rename = \"{name}\")]
            {tag}
            {attributes}
            #[allow(dead_code, clippy::all)]
            {keyword} Mirror {{ {fields} }}

            struct Borrowed<'a>(&'a Original);

            impl ::serde::Serialize for Borrowed<'_> {{
                fn serialize<S: ::serde::Serializer>(&self, json: S) -> ::core::result::Result<S::Ok, S::Error> {{
                    Mirror::serialize(self.0, json)
                }}
            }}

            fn to_text(value: &Original) -> ::ralph_core::json::Text {{
                ::ralph_core::json::Text::of(&Borrowed(value))
            }}

            impl ::serde::Serialize for Original {{
                fn serialize<S: ::serde::Serializer>(&self, json: S) -> ::core::result::Result<S::Ok, S::Error> {{
                    to_text(self).write(json)
                }}
            }}
        }};"
    )
    .parse()
    .expect("the parts of an item make an item")
}

/// Stands for `schemars::JsonSchema`, which is derived for tests alone.
#[proc_macro_derive(NoSchema, attributes(schemars))]
pub fn no_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// How an enum is read once its tag is known: as the first of its groups that has the tag, or as one of its variants.
fn by_tag(groups: &[(Ident, Group)]) -> String {
    let knows = groups.iter().map(|(_, group)| format!("<{group}>::knows(tag) || "));
    let reads = groups.iter().map(|(name, group)| {
        format!("if object.is_one_of::<{group}>() {{ return <{group}>::read(object).map(Original::{name}); }}")
    });
    format!(
        "impl ::ralph_core::json::ByTag for Original {{
            fn knows(tag: &str) -> bool {{
                use ::ralph_core::json::ByTag as _;
                {} ::ralph_core::json::names(Mirror::deserialize).contains(&tag)
            }}

            fn read(object: ::ralph_core::json::Tagged<'_>) -> ::core::result::Result<Self, ::ralph_core::json::Error> {{
                use ::ralph_core::json::ByTag as _;
                {}
                Mirror::deserialize(object)
            }}
        }}",
        knows.collect::<String>(),
        reads.collect::<String>(),
    )
}

/// The parts that are taken over from the item.
struct Item {
    name: Ident,
    /// `struct` or `enum`.
    keyword: Ident,
    /// The attributes of serde, without the tag.
    attributes: TokenStream,
    /// The name of the field with the tag, as a literal.
    tag: Option<TokenTree>,
    /// The variants that are enums with tags of their own, with what they hold in parentheses.
    groups: Vec<(Ident, Group)>,
    body: TokenStream,
}

impl Item {
    fn parse(item: TokenStream) -> Self {
        let mut attributes = TokenStream::new();
        let mut tag = None;
        let mut tokens = item.into_iter();
        let keyword = loop {
            match tokens.next().expect("an item has a keyword") {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    if let Some(attribute) = tokens.next().and_then(of_serde) {
                        let (settings, found) = without_tag(attribute);
                        tag = found.or(tag);
                        let settings: TokenStream = format!("#[serde({settings})]").parse().expect("an attribute");
                        attributes.extend(settings);
                    }
                }
                TokenTree::Ident(word) if ["struct", "enum"].contains(&word.to_string().as_str()) => break word,
                _ => {} // its visibility
            }
        };
        let Some(TokenTree::Ident(name)) = tokens.next() else {
            panic!("an item has a name");
        };
        match tokens.next() {
            Some(TokenTree::Group(fields)) if fields.delimiter() == Delimiter::Brace => {
                let mut groups = Vec::new();
                let fields = with_attributes_of_serde(fields.stream(), &mut groups);
                Self {
                    name,
                    keyword,
                    attributes,
                    tag,
                    groups,
                    body: TokenTree::from(Group::new(Delimiter::Brace, fields)).into(),
                }
            }
            _ => panic!("`ReadJson` is for types with fields in braces, without parameters"),
        }
    }
}

/// The settings in an attribute of serde; `None` for other attributes.
fn of_serde(attribute: TokenTree) -> Option<TokenStream> {
    let TokenTree::Group(attribute) = attribute else {
        return None;
    };
    let mut tokens = attribute.stream().into_iter();
    let name = tokens.next()?;
    match tokens.next()? {
        TokenTree::Group(settings) if name.to_string() == "serde" => Some(settings.stream()),
        _ => None,
    }
}

/// The settings without `tag = "…"`, and the value of that.
fn without_tag(settings: TokenStream) -> (TokenStream, Option<TokenTree>) {
    let settings: Vec<TokenTree> = settings.into_iter().collect();
    let mut tag = None;
    let mut kept = TokenStream::new();
    for setting in settings.split(|token| token.to_string() == ",") {
        match setting {
            [name, _, value] if name.to_string() == "tag" => tag = Some(value.clone()),
            [name, ..] => {
                let name = name.to_string();
                assert!(name != "deny_unknown_fields", "`ReadJson` passes over unknown fields");
                kept.extend(setting.iter().cloned());
                kept.extend(",".parse::<TokenStream>());
            }
            [] => {}
        }
    }
    (kept, tag)
}

/// The fields or variants, without the attributes of other derives. Variants that are `untagged` go to `groups`.
fn with_attributes_of_serde(body: TokenStream, groups: &mut Vec<(Ident, Group)>) -> TokenStream {
    let mut kept = TokenStream::new();
    let mut tokens = body.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                let attribute = tokens.next();
                let settings = attribute.clone().and_then(of_serde);
                if settings
                    .as_ref()
                    .is_some_and(|settings| settings.to_string() == "untagged")
                {
                    let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(group))) = (tokens.next(), tokens.next())
                    else {
                        panic!("an `untagged` variant holds an enum");
                    };
                    groups.push((name, group));
                    tokens.next(); // the comma
                } else if settings.is_some() {
                    kept.extend([Some(TokenTree::Punct(mark)), attribute].into_iter().flatten());
                }
            }
            TokenTree::Group(inner) if inner.delimiter() == Delimiter::Brace => {
                let inner = with_attributes_of_serde(inner.stream(), groups);
                kept.extend([TokenTree::from(Group::new(Delimiter::Brace, inner))]);
            }
            other => kept.extend([other]),
        }
    }
    kept
}
