//! What a policy says, and why.

use crate::{
    event::{Decision, PermissionMode},
    permissions::Because,
};

pub fn decision_in_words(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allowed",
        Decision::Ask => "asked",
        Decision::Deny => "denied",
    }
}

pub fn because_in_words(because: &Because) -> String {
    match because {
        Because::Rule { rule, list, origin } => format!("`{rule}` of `{}` ({origin})", list.name()),
        Because::PossibleRule { rule, list, origin } => {
            format!("could be `{rule}` of `{}` ({origin})", list.name())
        }
        Because::Mode { mode } => format!("no rule; mode `{}`", mode_in_words(*mode)),
        Because::Unclear { why } => why.to_string(),
        Because::Harmless => "needs no rule".to_owned(),
    }
}

fn mode_in_words(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Auto => "auto",
        PermissionMode::Ask => "ask",
        PermissionMode::Restricted => "restricted",
        PermissionMode::Readonly => "readonly",
    }
}
