//! The syntax of comments and strings of a language, chosen by a file's extension.

/// A language whose code is altered: one of those in which a bench measures what that finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Rust,
    /// TypeScript as well.
    JavaScript,
    Go,
}

impl Language {
    /// The language of a file; none if its code is not altered.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, extension) = name.rsplit_once('.')?;
        match extension {
            "py" | "pyi" => Some(Self::Python),
            "rs" => Some(Self::Rust),
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Some(Self::JavaScript),
            "go" => Some(Self::Go),
            _ => None,
        }
    }

    pub(super) fn line_comment(self) -> &'static str {
        match self {
            Self::Python => "#",
            Self::Rust | Self::JavaScript | Self::Go => "//",
        }
    }

    /// Whether `/* … */` is a comment.
    pub(super) fn has_block_comments(self) -> bool {
        match self {
            Self::Python => false,
            Self::Rust | Self::JavaScript | Self::Go => true,
        }
    }

    pub(super) fn nests_block_comments(self) -> bool {
        self == Self::Rust
    }

    /// Whether a single quote opens a character, or a lifetime, and no text.
    pub(super) fn has_characters(self) -> bool {
        match self {
            Self::Python | Self::JavaScript => false,
            Self::Rust | Self::Go => true,
        }
    }

    /// Whether a text in double quotes may go on in the next line.
    pub(super) fn has_texts_of_many_lines(self) -> bool {
        self == Self::Rust
    }

    pub(super) fn has_triple_quotes(self) -> bool {
        self == Self::Python
    }

    pub(super) fn has_regex_literals(self) -> bool {
        self == Self::JavaScript
    }

    /// Whether `text`, with the quotes and what stands before them, holds code as well.
    pub(super) fn interpolates(self, text: &str) -> bool {
        match self {
            Self::Python => {
                let prefix = text.split(['"', '\'']).next().unwrap_or_default();
                prefix.contains(['f', 'F', 't', 'T']) && text.contains('{')
            }
            Self::JavaScript => text.starts_with('`') && text.contains("${"),
            Self::Rust | Self::Go => false,
        }
    }

    /// Whether a statement ends with `;`.
    pub(super) fn has_semicolons(self) -> bool {
        match self {
            Self::Python | Self::Go => false,
            Self::Rust | Self::JavaScript => true,
        }
    }

    /// Whether a condition stands in round brackets.
    pub(super) fn has_bracketed_conditions(self) -> bool {
        self == Self::JavaScript
    }

    /// Whether `<` and `>` also stand around types.
    pub(super) fn has_angle_brackets(self) -> bool {
        match self {
            Self::Python | Self::Go => false,
            Self::Rust | Self::JavaScript => true,
        }
    }
}
