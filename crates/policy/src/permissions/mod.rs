//! What an agent may do: rules in, a verdict out.
//!
//! Rules see what an agent *says* it runs. They keep an honest agent within what its user wants, and they are no cage: what
//! a program does once it runs, no rule sees.
//!
//! A command of the shell is decided part by part: every part has to be allowed, and any part may be denied or asked.
//! Where the text does not tell what would run, a rule that could match counts as one that asks.

mod paths;
mod pattern;
mod policy;
mod remember;
mod rule;
mod shell;
#[cfg(test)]
mod table;
mod tools;
mod verdict;

pub use paths::Paths;
pub use policy::Policy;
pub use remember::{offered, with_granted};
pub use rule::{Granted, List, Rule, RuleError};
pub use shell::Unclear;
pub use tools::{ToolKind, kind_of};
pub use verdict::{Because, PartVerdict, Request, Verdict};
