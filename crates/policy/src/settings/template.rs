//! Text with `{placeholders}`, as used by manifests for command lines.
//!
//! Only lower-case words in braces are placeholders. Other braces are literal, so that JSON, TOML and shell fragments
//! need no quoting. `{{word}}` is the only way to write a literal `{word}`.

use std::str::FromStr;

/// The placeholders that a text can contain.
pub trait PlaceholderSet: Copy + 'static {
    const ALL: &'static [Self];

    fn name(self) -> &'static str;
}

/// A parsed text. [`FromStr`] fails with the name of the first unknown placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTemplate<P> {
    parts: Vec<TemplatePart<P>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart<P> {
    Literal(String),
    Slot(P),
}

/// An unknown placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPlaceholder(pub String);

impl<P: PlaceholderSet> FromStr for TextTemplate<P> {
    type Err = UnknownPlaceholder;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(word) = word_in(rest, "{{", "}}") {
                literal.push_str(&rest[1..word.len() + 3]);
                rest = &rest[word.len() + 4..];
            } else if let Some(word) = word_in(rest, "{", "}") {
                let known = P::ALL.iter().find(|placeholder| placeholder.name() == word);
                let Some(placeholder) = known else {
                    return Err(UnknownPlaceholder(word.to_owned()));
                };
                if !literal.is_empty() {
                    parts.push(TemplatePart::Literal(std::mem::take(&mut literal)));
                }
                parts.push(TemplatePart::Slot(*placeholder));
                rest = &rest[word.len() + 2..];
            } else {
                literal.push('{');
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() || parts.is_empty() {
            parts.push(TemplatePart::Literal(literal));
        }
        Ok(Self { parts })
    }
}

/// The lower-case word at the beginning of `text`, between `open` and `close`.
fn word_in<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let inner = text.strip_prefix(open)?;
    let end = inner.find(|character: char| !character.is_ascii_lowercase() && character != '_')?;
    (end > 0 && inner[end..].starts_with(close)).then(|| &inner[..end])
}

impl<P: PlaceholderSet> TextTemplate<P> {
    /// The placeholders of the text, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = P> + '_ {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Slot(placeholder) => Some(*placeholder),
            TemplatePart::Literal(_) => None,
        })
    }

    /// The placeholder, if the text consists of a single one.
    pub fn whole(&self) -> Option<P> {
        match self.parts[..] {
            [TemplatePart::Slot(placeholder)] => Some(placeholder),
            _ => None,
        }
    }

    /// Fills in the placeholders; `None` if one of them has no value.
    pub fn fill(&self, value: impl Fn(P) -> Option<String>) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                TemplatePart::Literal(text) => Some(text.clone()),
                TemplatePart::Slot(placeholder) => value(*placeholder),
            })
            .collect()
    }
}
