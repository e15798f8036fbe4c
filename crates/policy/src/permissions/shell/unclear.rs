//! Why it cannot be said what a command would run.

use std::fmt;

use serde::Serialize;

/// Why it cannot be said what a command would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Unclear {
    /// Not the grammar of a shell, or a corner of it that is not read.
    Syntax,
    TooLong,
    TooDeep,
    /// A character that shells and people read differently: a carriage return, a no-break space.
    Character,
    /// The name of the program is computed.
    Name,
    /// The program runs what it is given, in a way that is not followed.
    Runs {
        program: String,
    },
    /// A variable that changes what programs run.
    Variable {
        name: String,
    },
    /// An expression that may be one of arithmetic or a command.
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
            Unclear::Runs { program } => write!(f, "`{program}` runs what cannot be followed"),
            Unclear::Variable { name } => write!(f, "`{name}` changes what programs run"),
            Unclear::Arithmetic => f.write_str("an expression that could run a command"),
        }
    }
}
