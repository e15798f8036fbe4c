//! The syntax of comments and strings of a language, chosen by a file's extension.

/// A programming language, as far as mutants need to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Rust,
    JavaScript,
    Go,
    Java,
    Kotlin,
    C,
    Cpp,
    CSharp,
    Swift,
    Ruby,
    Php,
    Elixir,
    Shell,
    /// An extension that is not known: rules that hold in most languages.
    Generic,
}

/// The kind of literal that a single quote opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SingleQuote {
    Text,
    /// A character, and in Rust a lifetime as well.
    Character,
}

impl Language {
    pub(super) fn of_path(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Self::JavaScript,
            "go" => Self::Go,
            "java" => Self::Java,
            "kt" | "kts" => Self::Kotlin,
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => Self::Cpp,
            "cs" => Self::CSharp,
            "swift" => Self::Swift,
            "rb" => Self::Ruby,
            "php" => Self::Php,
            "ex" | "exs" => Self::Elixir,
            "sh" | "bash" | "bats" => Self::Shell,
            _ => Self::Generic,
        }
    }

    pub(super) fn line_comments(self) -> &'static [&'static str] {
        match self {
            Self::Python | Self::Ruby | Self::Elixir | Self::Shell => &["#"],
            Self::Php | Self::Generic => &["//", "#"],
            Self::Rust
            | Self::JavaScript
            | Self::Go
            | Self::Java
            | Self::Kotlin
            | Self::C
            | Self::Cpp
            | Self::CSharp
            | Self::Swift => &["//"],
        }
    }

    /// Whether `/* … */` is a comment.
    pub(super) fn has_block_comments(self) -> bool {
        !matches!(self, Self::Python | Self::Ruby | Self::Elixir | Self::Shell)
    }

    pub(super) fn nests_block_comments(self) -> bool {
        matches!(self, Self::Rust | Self::Swift | Self::Kotlin)
    }

    pub(super) fn single_quote(self) -> SingleQuote {
        match self {
            Self::Python | Self::JavaScript | Self::Ruby | Self::Php | Self::Elixir | Self::Shell | Self::Generic => {
                SingleQuote::Text
            }
            Self::Rust | Self::Go | Self::Java | Self::Kotlin | Self::C | Self::Cpp | Self::CSharp | Self::Swift => {
                SingleQuote::Character
            }
        }
    }

    /// Whether a text in double quotes may go on in the next line.
    pub(super) fn has_texts_of_many_lines(self) -> bool {
        matches!(self, Self::Rust | Self::Ruby | Self::Php | Self::Elixir | Self::Shell)
    }

    pub(super) fn has_triple_quotes(self) -> bool {
        matches!(
            self,
            Self::Python | Self::Java | Self::Kotlin | Self::Swift | Self::Elixir | Self::CSharp
        )
    }

    pub(super) fn has_regex_literals(self) -> bool {
        matches!(self, Self::JavaScript | Self::Ruby)
    }

    pub(super) fn has_heredocs(self) -> bool {
        matches!(self, Self::Ruby | Self::Php | Self::Shell)
    }

    /// Whether `text`, with the quotes and what stands before them, holds code as well.
    pub(super) fn interpolates(self, text: &str) -> bool {
        match self {
            Self::Python => {
                let prefix = text.split(['"', '\'']).next().unwrap_or_default();
                prefix.contains(['f', 'F', 't', 'T']) && text.contains('{')
            }
            Self::JavaScript => text.starts_with('`') && text.contains("${"),
            Self::Ruby | Self::Elixir => text.contains("#{"),
            Self::Kotlin | Self::Php | Self::Shell => !text.starts_with('\'') && text.contains('$'),
            Self::Swift => text.contains("\\("),
            Self::CSharp => text.starts_with('$') || text.starts_with("@$"),
            Self::Generic => text.contains("${") || text.contains("#{"),
            Self::Rust | Self::Go | Self::Java | Self::C | Self::Cpp => false,
        }
    }

    /// Whether a statement ends with `;`.
    pub(super) fn has_semicolons(self) -> bool {
        matches!(
            self,
            Self::Rust | Self::JavaScript | Self::Java | Self::C | Self::Cpp | Self::CSharp | Self::Php
        )
    }

    /// Whether a condition stands in round brackets.
    pub(super) fn has_bracketed_conditions(self) -> bool {
        matches!(
            self,
            Self::JavaScript | Self::Java | Self::Kotlin | Self::C | Self::Cpp | Self::CSharp | Self::Php
        )
    }

    /// Whether `<` and `>` also stand around types.
    pub(super) fn has_angle_brackets(self) -> bool {
        !matches!(
            self,
            Self::Python | Self::Go | Self::Ruby | Self::Php | Self::Elixir | Self::Shell
        )
    }
}
