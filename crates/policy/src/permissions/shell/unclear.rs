//! The reasons why it is unclear what a command would run.

use std::fmt;

use serde::Serialize;

/// The reason why it is unclear what a command would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Unclear {
    /// The text is outside of a shell's grammar, or of the part that is supported.
    Syntax,
    TooLong,
    TooDeep,
    /// The text has a character that shells and readers treat differently, such as a carriage return or a no-break
    /// space.
    Character,
    /// The name of the program is computed.
    Name,
    /// The program runs its arguments in a way that is not analysed.
    Runs {
        program: String,
    },
    /// The command sets a variable that changes which programs run.
    Variable {
        name: String,
    },
    /// An expression may be arithmetic or a command.
    Arithmetic,
}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unclear::Syntax => f.write_str("not understood as a command"),
            Unclear::TooLong => f.write_str("too long to be read"),
            Unclear::TooDeep => f.write_str("nested too deeply"),
            Unclear::Character => f.write_str("has a character that shells read differently"),
            Unclear::Name => f.write_str("the program is known only when it runs"),
            Unclear::Runs { program } => write!(f, "cannot analyse what `{program}` runs"),
            Unclear::Variable { name } => write!(f, "`{name}` changes what programs run"),
            Unclear::Arithmetic => f.write_str("an expression that could run a command"),
        }
    }
}
