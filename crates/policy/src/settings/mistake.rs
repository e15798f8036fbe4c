//! Mistakes in written settings.

use std::{error::Error, fmt, path::PathBuf};

use ralph_system::files::ReadError;
use ralph_text::Position;
use thiserror::Error;

use super::origin::SettingOrigin;

/// One mistake.
#[derive(Debug, Error)]
pub enum Mistake {
    #[error("{}: cannot be read", path.display())]
    Unreadable { path: PathBuf, source: ReadError },
    #[error("{}: {position}: not UTF-8", path.display())]
    NotUtf8 { path: PathBuf, position: Position },
    /// `why` is the short message of the parser.
    #[error("{}: {position}: not valid {language} ({why})", path.display())]
    Syntax {
        path: PathBuf,
        position: Position,
        language: &'static str,
        why: String,
    },
    #[error("{origin}: unknown setting `{key}`")]
    Unknown {
        origin: SettingOrigin,
        key: String,
        /// The setting that was probably meant.
        near: Option<String>,
    },
    #[error("{origin}: `{key}` was removed")]
    Removed {
        origin: SettingOrigin,
        key: String,
        /// The replacement, in a sentence.
        instead: &'static str,
    },
    #[error("{}; expected {}", ill_typed_in_words(.origin, .key, .found), expected_of(.origin, .expected))]
    IllTyped {
        origin: SettingOrigin,
        /// The setting in backquotes, or another name of what is wrong.
        key: String,
        found: String,
        expected: String,
    },
    #[error("{origin}: `{key}` is set a second time, after line {first}")]
    Repeated {
        origin: SettingOrigin,
        key: String,
        first: u32,
    },
    /// Two settings that are valid, but not together.
    #[error("{origin}: {why}")]
    Conflict { origin: SettingOrigin, why: String },
}

impl Mistake {
    /// A value that a setting cannot have.
    pub fn ill_typed(origin: &SettingOrigin, key: &str, found: String, expected: String) -> Self {
        Mistake::IllTyped {
            origin: origin.clone(),
            key: format!("`{key}`"),
            found,
            expected,
        }
    }

    /// The line of the mistake in its file; 0 if it has no line.
    pub(super) fn line(&self) -> u32 {
        match self {
            Mistake::Unreadable { .. } => 0,
            Mistake::NotUtf8 { position, .. } | Mistake::Syntax { position, .. } => position.line,
            Mistake::Unknown { origin, .. }
            | Mistake::Removed { origin, .. }
            | Mistake::IllTyped { origin, .. }
            | Mistake::Repeated { origin, .. }
            | Mistake::Conflict { origin, .. } => origin.line(),
        }
    }

    /// Whether the mistake is on the command line.
    pub fn is_on_command_line(&self) -> bool {
        match self {
            Mistake::Unknown { origin, .. }
            | Mistake::Removed { origin, .. }
            | Mistake::IllTyped { origin, .. }
            | Mistake::Repeated { origin, .. }
            | Mistake::Conflict { origin, .. } => matches!(origin, SettingOrigin::Flag(_)),
            Mistake::Unreadable { .. } | Mistake::NotUtf8 { .. } | Mistake::Syntax { .. } => false,
        }
    }

    /// The hint for this mistake.
    pub fn hint(&self) -> Option<String> {
        match self {
            Mistake::NotUtf8 { .. } => Some("save the file as UTF-8".to_owned()),
            Mistake::Syntax { language: "JSON", .. } => {
                Some("comments and trailing commas are fine, all else is as in JSON".to_owned())
            }
            Mistake::Unknown { key, near, .. } => {
                let near = near.as_ref()?;
                Some(match near == key {
                    true => format!("write `{key}` as objects: {}", nested(key)),
                    false => format!("did you mean `{near}`?"),
                })
            }
            Mistake::Removed { instead, .. } => Some((*instead).to_owned()),
            Mistake::Unreadable { .. }
            | Mistake::Syntax { .. }
            | Mistake::IllTyped { .. }
            | Mistake::Repeated { .. }
            | Mistake::Conflict { .. } => None,
        }
    }
}

/// Names the setting as the user wrote it: the author of a flag or a variable does not know its key, nor that its value
/// is a text.
fn ill_typed_in_words(origin: &SettingOrigin, key: &str, found: &str) -> String {
    // The text typed for a list is one of its elements.
    let element = found
        .split_once(" is the text ")
        .map(|(_, element)| element.trim_end_matches(')'));
    let text = element.or_else(|| found.strip_prefix("the text "));
    match origin {
        SettingOrigin::Flag(name) if element == Some("\"\"") => format!("{name} is incomplete"),
        SettingOrigin::Flag(name) => format!("{name} is {}", text.unwrap_or(found)),
        SettingOrigin::Env(name) if !key.contains('[') && element.is_none() => {
            format!("{name} is {}", text.unwrap_or(found))
        }
        SettingOrigin::Env(_) | SettingOrigin::Default | SettingOrigin::BuiltIn | SettingOrigin::File { .. } => {
            format!("{origin}: {key} is {found}")
        }
    }
}

/// The expected value, without null for flags and variables, which cannot express it.
fn expected_of<'a>(origin: &SettingOrigin, expected: &'a str) -> &'a str {
    match origin {
        SettingOrigin::Flag(_) | SettingOrigin::Env(_) => expected.strip_suffix(", or null").unwrap_or(expected),
        SettingOrigin::Default | SettingOrigin::BuiltIn | SettingOrigin::File { .. } => expected,
    }
}

/// Formats a dotted key as in a file: `{ "limits": { "maxTime": … } }`.
fn nested(key: &str) -> String {
    let inside = |value: String, name: &str| format!("{{ \"{name}\": {value} }}");
    key.rsplit('.').fold("…".to_owned(), inside)
}

/// All mistakes, in the order in which they are reported. Never empty.
#[derive(Debug)]
pub struct Mistakes {
    first: Box<Mistake>,
    others: Vec<Mistake>,
}

impl Mistakes {
    /// Returns `None` if there are no mistakes.
    pub fn new(mistakes: Vec<Mistake>) -> Option<Self> {
        let mut mistakes = mistakes.into_iter();
        let first = mistakes.next()?;
        Some(Mistakes {
            first: Box::new(first),
            others: mistakes.collect(),
        })
    }

    pub fn first(&self) -> &Mistake {
        &self.first
    }

    /// All mistakes but the first.
    pub fn others(&self) -> impl Iterator<Item = &Mistake> {
        self.others.iter()
    }

    /// The hint for the first mistake, and the other mistakes. `no_hint` is for unknown settings that resemble no
    /// other.
    pub fn hints(&self, no_hint: &str) -> Vec<String> {
        let hint = |mistake: &Mistake| match mistake {
            Mistake::Unknown { near: None, .. } => Some(no_hint.to_owned()),
            _ => mistake.hint(),
        };
        let also = self
            .others
            .iter()
            .flat_map(|other| [Some(format!("also {other}")), hint(other)]);
        [hint(&self.first)].into_iter().chain(also).flatten().collect()
    }
}

impl From<Mistake> for Mistakes {
    fn from(first: Mistake) -> Self {
        Mistakes {
            first: Box::new(first),
            others: Vec::new(),
        }
    }
}

/// Formats the first mistake, and the number of further ones.
impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        match self.others.len() {
            0 => Ok(()),
            others => write!(f, " (and {others} more)"),
        }
    }
}

impl Error for Mistakes {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.first.source()
    }
}
