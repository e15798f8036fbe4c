//! Text with `{placeholders}`, as manifests use it for arguments and environment variables.
//!
//! Only lower-case words in braces are placeholders. Any other brace stands for itself, so that JSON, TOML and shell
//! fragments need no quoting; `{{word}}` is the one way to write a literal `{word}`.

use std::{fmt, str::FromStr};

/// Everything a manifest can refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placeholder {
    Agent,
    /// The file with what makes an agent ask.
    AskingFile,
    /// The MCP servers of the session, as `mcp.form` has them.
    McpServers,
    Model,
    PromptFile,
    /// The port a server is to listen on.
    Port,
    /// The executable of the running ralph.
    Ralph,
    Resume,
    Session,
}

impl Placeholder {
    const ALL: [Placeholder; 9] = [
        Placeholder::Agent,
        Placeholder::AskingFile,
        Placeholder::McpServers,
        Placeholder::Model,
        Placeholder::PromptFile,
        Placeholder::Port,
        Placeholder::Ralph,
        Placeholder::Resume,
        Placeholder::Session,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Placeholder::Agent => "agent",
            Placeholder::AskingFile => "asking_file",
            Placeholder::McpServers => "mcp_servers",
            Placeholder::Model => "model",
            Placeholder::PromptFile => "prompt_file",
            Placeholder::Port => "port",
            Placeholder::Ralph => "ralph",
            Placeholder::Resume => "resume",
            Placeholder::Session => "session",
        }
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.name())
    }
}

/// A parsed text. [`FromStr`] fails with the name of the first placeholder that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Slot(Placeholder),
}

/// A word in braces that stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPlaceholder(pub String);

impl FromStr for Template {
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
                let known = Placeholder::ALL
                    .into_iter()
                    .find(|placeholder| placeholder.name() == word);
                let Some(placeholder) = known else {
                    return Err(UnknownPlaceholder(word.to_owned()));
                };
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Slot(placeholder));
                rest = &rest[word.len() + 2..];
            } else {
                literal.push('{');
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() || parts.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self { parts })
    }
}

/// The lower-case word that `text` begins with, between `open` and `close`.
fn word_in<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let inner = text.strip_prefix(open)?;
    let end = inner.find(|character: char| !character.is_ascii_lowercase() && character != '_')?;
    (end > 0 && inner[end..].starts_with(close)).then(|| &inner[..end])
}

impl Template {
    /// The placeholders in it, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = Placeholder> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Slot(placeholder) => Some(*placeholder),
            Part::Literal(_) => None,
        })
    }

    /// The placeholder that is the whole of it.
    pub fn whole(&self) -> Option<Placeholder> {
        match self.parts[..] {
            [Part::Slot(placeholder)] => Some(placeholder),
            _ => None,
        }
    }

    /// Fills it in; nothing if one of its placeholders has no value.
    pub fn fill(&self, value: impl Fn(Placeholder) -> Option<String>) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => Some(text.clone()),
                Part::Slot(placeholder) => value(*placeholder),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Option<String> {
        let template: Template = text.parse().expect("a template");
        template.fill(|placeholder| match placeholder {
            Placeholder::Model => Some("gpt".to_owned()),
            Placeholder::PromptFile => Some("/p.md".to_owned()),
            Placeholder::Agent
            | Placeholder::AskingFile
            | Placeholder::McpServers
            | Placeholder::Port
            | Placeholder::Ralph
            | Placeholder::Resume
            | Placeholder::Session => None,
        })
    }

    #[test]
    fn placeholders_are_filled_wherever_they_stand() {
        assert_eq!(
            filled("--model={model}@{prompt_file}!").as_deref(),
            Some("--model=gpt@/p.md!")
        );
        assert_eq!(filled("").as_deref(), Some(""));
        assert_eq!(filled("{model}").as_deref(), Some("gpt"));
    }

    #[test]
    fn a_text_whose_placeholder_has_no_value_is_nothing() {
        assert_eq!(filled("x{agent}"), None);
    }

    #[test]
    fn other_braces_stand_for_themselves() {
        for text in [
            r#"{"a":{"b":1}}"#,
            "{ model }",
            "${X}",
            "{}",
            "{",
            "a}}",
            "{MODEL}",
            "{mo",
        ] {
            assert_eq!(filled(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn a_doubled_pair_is_a_literal_word_in_braces() {
        assert_eq!(filled("${{model}}{{x_y}}{model}").as_deref(), Some("${model}{x_y}gpt"));
    }

    #[test]
    fn a_word_that_is_no_placeholder_is_refused_by_name() {
        assert_eq!(
            "a {modle}".parse::<Template>(),
            Err(UnknownPlaceholder("modle".to_owned()))
        );
    }

    #[test]
    fn a_lone_placeholder_is_told_from_one_with_text_around_it() {
        assert_eq!("{model}".parse::<Template>().unwrap().whole(), Some(Placeholder::Model));
        assert_eq!("={model}".parse::<Template>().unwrap().whole(), None);
    }
}
