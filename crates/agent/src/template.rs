//! Placeholders in the arguments and environment variables of manifests.

use ralph_policy::settings::{self, PlaceholderSet};

/// A placeholder in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdapterPlaceholder {
    Agent,
    /// The file whose settings make an agent ask.
    AskingFile,
    /// The limit that an argument sets.
    Limit,
    /// The MCP servers of the session, in the format of `mcp.form`.
    McpServers,
    Model,
    PromptFile,
    /// The port on which a server is to listen.
    Port,
    /// The executable of the running ralph.
    Ralph,
    Resume,
    Session,
}

impl PlaceholderSet for AdapterPlaceholder {
    fn name(self) -> &'static str {
        match self {
            AdapterPlaceholder::Agent => "agent",
            AdapterPlaceholder::AskingFile => "asking_file",
            AdapterPlaceholder::Limit => "limit",
            AdapterPlaceholder::McpServers => "mcp_servers",
            AdapterPlaceholder::Model => "model",
            AdapterPlaceholder::PromptFile => "prompt_file",
            AdapterPlaceholder::Port => "port",
            AdapterPlaceholder::Ralph => "ralph",
            AdapterPlaceholder::Resume => "resume",
            AdapterPlaceholder::Session => "session",
        }
    }
}

/// A template in a manifest.
pub(super) type AdapterTemplate = settings::TextTemplate<AdapterPlaceholder>;

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_policy::settings::UnknownPlaceholder;

    const KNOWN: &[AdapterPlaceholder] = &[
        AdapterPlaceholder::Agent,
        AdapterPlaceholder::Model,
        AdapterPlaceholder::PromptFile,
    ];

    fn parsed(text: &str) -> Result<AdapterTemplate, UnknownPlaceholder> {
        AdapterTemplate::parse(text, KNOWN)
    }

    fn filled(text: &str) -> Option<String> {
        parsed(text).expect("a template").fill(|placeholder| match placeholder {
            AdapterPlaceholder::Model => Some("gpt".to_owned()),
            AdapterPlaceholder::PromptFile => Some("/p.md".to_owned()),
            AdapterPlaceholder::Agent
            | AdapterPlaceholder::AskingFile
            | AdapterPlaceholder::Limit
            | AdapterPlaceholder::McpServers
            | AdapterPlaceholder::Port
            | AdapterPlaceholder::Ralph
            | AdapterPlaceholder::Resume
            | AdapterPlaceholder::Session => None,
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
            parsed("a {modle}"),
            Err(UnknownPlaceholder {
                name: "modle".to_owned(),
                offset: 2
            })
        );
    }

    #[test]
    fn a_lone_placeholder_is_told_from_one_with_text_around_it() {
        assert_eq!(parsed("{model}").unwrap().whole(), Some(AdapterPlaceholder::Model));
        assert_eq!(parsed("={model}").unwrap().whole(), None);
    }
}
