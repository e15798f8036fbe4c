//! Proposed issues and comments in words.

use ralph_core::{
    event::{ForgePost, PostDecider, PostRefusal},
    run::{PostState, ProposedPost},
};

/// A proposed post in a few words: `issue "Prices lack VAT"`, `comment on #42`.
pub fn post_in_words(post: &ForgePost) -> String {
    match post {
        ForgePost::Issue { title, .. } => format!("issue \"{title}\""),
        ForgePost::Comment { number, .. } => format!("comment on #{number}"),
    }
}

/// A proposal and what became of it.
pub fn proposed_post_in_words(proposed: &ProposedPost) -> String {
    let what = format!("proposal {}, {}", proposed.ask, post_in_words(&proposed.post));
    match &proposed.state {
        PostState::Open => format!("{what}: waits for the user"),
        PostState::Refused { why: None, .. } => format!("{what}: refused by the user"),
        PostState::Refused { why: Some(why), .. } => format!("{what}: refused by the user: {why}"),
        PostState::Due { why: None, .. } => format!("{what}: is being posted"),
        PostState::Due { why: Some(why), .. } => format!("{what}: waits for the forge: {why}"),
        PostState::Failed { why } => format!("{what}: not posted: {why}"),
        PostState::Made { url, .. } => format!("{what}: {url}"),
    }
}

/// Why a proposal is not recorded, for the agent.
pub fn post_refusal_in_words(refusal: &PostRefusal) -> String {
    match refusal {
        PostRefusal::Off => super::tool_refusal_in_words(super::ToolRefusal::PostsOff),
        PostRefusal::UsedUp { max } => {
            format!("this run has made {max} proposals, as many as it may: put the rest into your last message")
        }
        PostRefusal::Label { label, labels } if labels.is_empty() => {
            format!("no label is allowed, so not `{label}` either: leave labels out")
        }
        PostRefusal::Label { label, labels } => {
            format!("the label `{label}` is not allowed; these are: {}", labels.join(", "))
        }
        PostRefusal::OtherNumber {
            number,
            issue: Some(issue),
        } => format!("you can comment on #{issue}, the issue of your plan, and not on #{number}"),
        PostRefusal::OtherNumber { issue: None, .. } => {
            "your plan is of no issue, so there is none to comment on: put it into your last message".to_owned()
        }
    }
}

/// The reply to a decision on a proposal.
pub fn post_decided_in_words(ask: u32, allowed: bool) -> String {
    match allowed {
        true => format!("proposal {ask}: ralph posts it"),
        false => format!("proposal {ask}: refused, and not posted"),
    }
}

/// The log's words for a decision.
pub(super) fn post_decision_in_words(ask: u32, allowed: bool, by: PostDecider, why: Option<&str>) -> String {
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    match (allowed, by) {
        (true, PostDecider::User { .. }) => format!("you let proposal {ask} through"),
        (true, PostDecider::Settings) => format!("your settings let proposal {ask} through"),
        (false, PostDecider::User { .. }) => format!("you refused proposal {ask}{why}"),
        (false, PostDecider::Settings) => format!("your settings refused proposal {ask}{why}"),
    }
}
