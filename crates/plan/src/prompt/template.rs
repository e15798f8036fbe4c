//! The user's own prompt, with placeholders.

use ralph_core::event::Mode;
use ralph_text::Position;
use thiserror::Error;

/// The instructions of a prompt: the built-in ones, or the user's text with the placeholders `{plan}`, `{task}`,
/// `{iteration}`, `{progress}` and `{last_message}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTemplate(pub(super) Instructions);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Instructions {
    BuiltIn(Brief),
    Custom(Vec<PromptPart>),
}

/// The variable parts of the built-in instructions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Brief {
    pub(super) mode: Option<Mode>,
    /// Files and directories of the project that the agent reads first.
    pub(super) reads: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptPart {
    Text(String),
    Value(PromptPlaceholder),
}

/// A placeholder of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptPlaceholder {
    Plan,
    Task,
    Iteration,
    Progress,
    /// The report of the previous session.
    LastMessage,
}

impl PromptPlaceholder {
    const ALL: [PromptPlaceholder; 5] = [
        PromptPlaceholder::Plan,
        PromptPlaceholder::Task,
        PromptPlaceholder::Iteration,
        PromptPlaceholder::Progress,
        PromptPlaceholder::LastMessage,
    ];

    fn name(self) -> &'static str {
        match self {
            PromptPlaceholder::Plan => "plan",
            PromptPlaceholder::Task => "task",
            PromptPlaceholder::Iteration => "iteration",
            PromptPlaceholder::Progress => "progress",
            PromptPlaceholder::LastMessage => "last_message",
        }
    }
}

/// Why a text is not a valid template. The caller adds the path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PromptError {
    #[error("the prompt is empty")]
    Empty,
    #[error("{position}: unknown placeholder `{{{name}}}`")]
    UnknownPlaceholder { position: Position, name: String },
}

impl PromptError {
    /// Suggested corrections, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            PromptError::Empty => vec!["leave it out to use the built-in prompt".to_owned()],
            PromptError::UnknownPlaceholder { name, .. } => {
                let mut hints = Vec::new();
                if let Some(near) = nearest(name) {
                    hints.push(format!("did you mean `{{{near}}}`?"));
                }
                let known = PromptPlaceholder::ALL.map(|placeholder| format!("`{{{}}}`", placeholder.name()));
                hints.push(format!(
                    "ralph knows {}; write `{{{{{name}}}}}` for the text `{{{name}}}` itself",
                    known.join(", ")
                ));
                hints
            }
        }
    }
}

impl PromptTemplate {
    /// Whether the instructions include the report of the previous session.
    pub(super) fn has_last_message(&self) -> bool {
        match &self.0 {
            Instructions::BuiltIn(_) => false,
            Instructions::Custom(parts) => parts.contains(&PromptPart::Value(PromptPlaceholder::LastMessage)),
        }
    }

    /// The built-in instructions.
    pub fn built_in() -> Self {
        PromptTemplate(Instructions::BuiltIn(Brief::default()))
    }

    /// The built-in instructions for a mode, with files to read first.
    pub fn for_mode(mode: Option<Mode>, reads: Vec<String>) -> Self {
        PromptTemplate(Instructions::BuiltIn(Brief { mode, reads }))
    }

    /// Whether the instructions are the built-in ones.
    pub fn is_built_in(&self) -> bool {
        matches!(self.0, Instructions::BuiltIn(_))
    }

    /// Parses a template.
    ///
    /// `{name}` is a placeholder and `{{name}}` the text `{name}`. All other braces are literal, so that code and JSON
    /// can be used in a prompt unchanged.
    ///
    /// # Errors
    /// [`PromptError`] if the text is blank or has an unknown placeholder.
    pub fn parse(text: &str) -> Result<Self, PromptError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Err(PromptError::Empty);
        }
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(brace) = rest.find('{') {
            let (before, braced) = rest.split_at(brace);
            literal.push_str(before);
            let (name, after) = match Braced::read(braced) {
                Braced::Name { name, after } => (name, after),
                Braced::Literal { text, after } => {
                    literal.push_str(&text);
                    rest = after;
                    continue;
                }
            };
            let known = PromptPlaceholder::ALL
                .into_iter()
                .find(|placeholder| placeholder.name() == name);
            let placeholder = known.ok_or_else(|| PromptError::UnknownPlaceholder {
                position: Position::at_offset(text, text.len() - braced.len()),
                name: name.to_owned(),
            })?;
            if !literal.is_empty() {
                parts.push(PromptPart::Text(std::mem::take(&mut literal)));
            }
            parts.push(PromptPart::Value(placeholder));
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(PromptPart::Text(literal));
        }
        Ok(PromptTemplate(Instructions::Custom(parts)))
    }
}

/// A text that begins with a brace, split after the placeholder or literal.
enum Braced<'a> {
    Name { name: &'a str, after: &'a str },
    Literal { text: String, after: &'a str },
}

impl<'a> Braced<'a> {
    fn read(text: &'a str) -> Self {
        if let Some((name, after)) = enclosed(text, "{{", "}}") {
            let text = format!("{{{name}}}");
            return Braced::Literal { text, after };
        }
        match enclosed(text, "{", "}") {
            Some((name, after)) => Braced::Name { name, after },
            None => Braced::Literal {
                text: "{".to_owned(),
                after: &text[1..],
            },
        }
    }
}

/// Splits `{name}rest` into name and rest if the braces enclose nothing but a name.
fn enclosed<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
    let inside = text.strip_prefix(open)?;
    let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))?;
    let (name, rest) = inside.split_at(end);
    let begins_as_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins_as_name.then_some((name, rest.strip_prefix(close)?))
}

fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    PromptPlaceholder::ALL
        .map(|placeholder| (strsim::jaro_winkler(&name, placeholder.name()), placeholder.name()))
        .into_iter()
        .filter(|(similarity, _)| *similarity >= 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<PromptPart> {
        match PromptTemplate::parse(text).unwrap().0 {
            Instructions::Custom(parts) => parts,
            Instructions::BuiltIn(_) => panic!("a text is not the built-in prompt"),
        }
    }

    fn text(text: &str) -> PromptPart {
        PromptPart::Text(text.to_owned())
    }

    #[test]
    fn placeholders_are_found_between_texts() {
        assert_eq!(
            parts("Do {task} of {plan}."),
            [
                text("Do "),
                PromptPart::Value(PromptPlaceholder::Task),
                text(" of "),
                PromptPart::Value(PromptPlaceholder::Plan),
                text(".")
            ]
        );
        assert_eq!(parts("{progress}{iteration}").len(), 2);
    }

    #[test]
    fn a_doubled_brace_around_a_name_is_that_name_in_braces() {
        assert_eq!(parts("{{task}} and {{anything}}"), [text("{task} and {anything}")]);
    }

    #[test]
    fn other_braces_are_themselves() {
        for literal in [
            r#"{"a": {"b": {}}}"#,
            "${{ secrets.KEY }}",
            "{ task }",
            "a { b",
            "}",
            "{",
            "{task",
            "{1}",
            "{é}",
            "{{",
            "fn main() {\n}",
        ] {
            assert_eq!(parts(literal), [text(literal)], "{literal}");
        }
    }

    #[test]
    fn an_unknown_placeholder_is_named_placed_and_corrected() {
        let error = PromptTemplate::parse("Work.\nDö {tasks} now").unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 4: unknown placeholder `{tasks}`");
        assert_eq!(
            error.hints(),
            [
                "did you mean `{task}`?",
                "ralph knows `{plan}`, `{task}`, `{iteration}`, `{progress}`, `{last_message}`; write `{{tasks}}` for the text `{tasks}` itself"
            ]
        );
    }

    #[test]
    fn an_unknown_placeholder_like_nothing_known_gets_no_suggestion() {
        let error = PromptTemplate::parse("{HOME}").unwrap_err();
        assert_eq!(error.hints().len(), 1);
    }

    #[test]
    fn a_blank_prompt_is_refused() {
        assert_eq!(
            PromptTemplate::parse(" \n\u{feff}".trim_start()).unwrap_err(),
            PromptError::Empty
        );
        assert_eq!(PromptTemplate::parse("").unwrap_err(), PromptError::Empty);
    }
}
