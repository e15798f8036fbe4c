//! Text with `{placeholders}`, as used by manifests for command lines and by prompts.
//!
//! Only names in braces are placeholders. Other braces are literal, so that code, JSON, TOML and shell fragments need no
//! quoting. `{{name}}` is the only way to write a literal `{name}`.

/// The placeholders that a text can contain.
pub trait PlaceholderSet: Copy + 'static {
    fn name(self) -> &'static str;

    /// Whether a word in braces can be a name: lower-case letters and underscores.
    fn is_name(word: &str) -> bool {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }
}

/// A parsed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTemplate<P> {
    pub parts: Vec<TemplatePart<P>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePart<P> {
    Literal(String),
    Slot(P),
}

/// A name that is not an allowed placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPlaceholder {
    pub name: String,
    /// The byte offset of its brace.
    pub offset: usize,
}

/// The name at the beginning of `text`, between `open` and `close`.
fn name_in<'a, P: PlaceholderSet>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let inner = text.strip_prefix(open)?;
    let word = &inner[..inner.find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_' || sign == '-'))?];
    (P::is_name(word) && inner[word.len()..].starts_with(close)).then_some(word)
}

impl<P: PlaceholderSet> TextTemplate<P> {
    /// Parses a text that can contain the placeholders `allowed`.
    ///
    /// # Errors
    /// [`UnknownPlaceholder`] names the first one that is not allowed.
    pub fn parse(text: &str, allowed: &[P]) -> Result<Self, UnknownPlaceholder> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(name) = name_in::<P>(rest, "{{", "}}") {
                literal.push_str(&rest[1..name.len() + 3]);
                rest = &rest[name.len() + 4..];
            } else if let Some(name) = name_in::<P>(rest, "{", "}") {
                let known = allowed.iter().find(|placeholder| placeholder.name() == name);
                let placeholder = known.ok_or_else(|| UnknownPlaceholder {
                    name: name.to_owned(),
                    offset: text.len() - rest.len(),
                })?;
                if !literal.is_empty() {
                    parts.push(TemplatePart::Literal(std::mem::take(&mut literal)));
                }
                parts.push(TemplatePart::Slot(*placeholder));
                rest = &rest[name.len() + 2..];
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
