//! The permissions of an agent: turns rules and a request into a verdict.
//!
//! Rules see only what an agent *says* it runs. They guide an honest agent, and do not confine it: rules cannot see
//! what a program does once it runs.
//!
//! A shell command is decided part by part: every part has to be allowed, and a single part suffices to deny the
//! command or to ask. If the text does not determine what would run, a rule that could match counts as one that asks.

#[cfg(test)]
mod composed_tests;
mod paths;
mod pattern;
mod policy;
mod remember;
mod rule;
mod shell;
#[cfg(test)]
mod table_tests;
mod tools;
mod verdict;

pub use paths::PathResolver;
pub use policy::RulePolicy;
pub use remember::{offered, with_granted};
pub use rule::{GrantedRule, Rule, RuleError, RuleList};
pub use shell::Unclear;
pub use tools::{ToolClass, tool_class};
pub use verdict::{PartVerdict, PermissionVerdict, PolicyRequest, VerdictReason};
