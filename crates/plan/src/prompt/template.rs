//! The user's own prompt, with placeholders.

use ralph_core::event::Mode;
use ralph_policy::settings::{PlaceholderSet, TextTemplate, UnknownPlaceholder, closest};
use ralph_text::Position;
use thiserror::Error;

/// The instructions of a prompt: the built-in ones, or the user's text with the placeholders `{plan}`, `{task}`,
/// `{iteration}`, `{progress}` and `{last_message}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTemplate(pub(super) Instructions);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Instructions {
    BuiltIn(Brief),
    Custom(TextTemplate<PromptPlaceholder>),
}

/// The variable parts of the built-in instructions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Brief {
    pub(super) mode: Option<Mode>,
    /// Files and directories of the project that the agent reads first.
    pub(super) reads: Vec<String>,
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
}

impl PlaceholderSet for PromptPlaceholder {
    fn name(self) -> &'static str {
        match self {
            PromptPlaceholder::Plan => "plan",
            PromptPlaceholder::Task => "task",
            PromptPlaceholder::Iteration => "iteration",
            PromptPlaceholder::Progress => "progress",
            PromptPlaceholder::LastMessage => "last_message",
        }
    }

    /// Upper-case letters, digits and hyphens as well: a prompt has no `{HOME}` that means itself.
    fn is_name(word: &str) -> bool {
        word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
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
                if let Some(near) = closest(name, PromptPlaceholder::ALL.map(PromptPlaceholder::name)) {
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
            Instructions::Custom(text) => text.placeholders().any(|found| found == PromptPlaceholder::LastMessage),
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
        let parsed = TextTemplate::parse(text, &PromptPlaceholder::ALL);
        let template = parsed.map_err(|UnknownPlaceholder { name, offset }| PromptError::UnknownPlaceholder {
            position: Position::at_offset(text, offset),
            name,
        })?;
        Ok(PromptTemplate(Instructions::Custom(template)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_policy::settings::TemplatePart;

    fn parts(text: &str) -> Vec<TemplatePart<PromptPlaceholder>> {
        match PromptTemplate::parse(text).unwrap().0 {
            Instructions::Custom(text) => text.parts,
            Instructions::BuiltIn(_) => panic!("a text is not the built-in prompt"),
        }
    }

    fn text(text: &str) -> TemplatePart<PromptPlaceholder> {
        TemplatePart::Literal(text.to_owned())
    }

    #[test]
    fn placeholders_are_found_between_texts() {
        assert_eq!(
            parts("Do {task} of {plan}."),
            [
                text("Do "),
                TemplatePart::Slot(PromptPlaceholder::Task),
                text(" of "),
                TemplatePart::Slot(PromptPlaceholder::Plan),
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
