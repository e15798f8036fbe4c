//! Decides on proposed issues and comments. A decision is recorded before ralph posts, and so is what came of it, so that a
//! killed ralph knows what it may have posted.

use crate::{
    event::{Answer, AnswerPlace, Event, ForgePost, PostDecider, PostResult},
    run::{PostState, RunView},
};

use super::decision::StepDecision;

/// Records a proposal that the rules of the run take, and its way through if the settings let it through.
pub(super) fn proposed(decision: &StepDecision, post: &ForgePost) -> Option<Option<Event>> {
    let view = &decision.state.view;
    let rules = &view.settings.posts;
    if rules.refusal(post, view.posts.len()).is_some() {
        return None;
    }
    Some(rules.lets_through(post).then(|| Event::PostDecided {
        ask: view.permissions.asked + 1,
        allowed: true,
        by: PostDecider::Settings,
        why: None,
    }))
}

/// The event that lets proposal `number` through or refuses it; `None` if no proposal has the number and is open, or if the
/// answer is neither yes nor no.
///
/// With `is_idle`, no loop works on those that were let through, so they are let through anew.
pub fn post_decided(view: &RunView, number: u32, answer: &Answer, at: AnswerPlace, is_idle: bool) -> Option<Event> {
    let proposed = view.posts.numbered(number)?;
    if !(proposed.is_open() || is_idle && proposed.is_due()) {
        return None;
    }
    let (allowed, why) = match answer {
        Answer::Allow { .. } => (true, None),
        Answer::Deny { message } => (false, message.clone()),
        Answer::Words { words } => match words.join(" ").trim().to_lowercase().as_str() {
            "yes" | "y" => (true, None),
            "no" | "n" => (false, None),
            _ => return None,
        },
    };
    Some(Event::PostDecided {
        ask: number,
        allowed,
        by: PostDecider::User { at },
        why: why.map(Into::into),
    })
}

/// The event for the result of an attempt; `None` if it says nothing new.
pub fn post_ended(view: &RunView, ask: u32, result: &PostResult) -> Option<Event> {
    let proposed = view.posts.numbered(ask)?;
    let is_made = matches!(proposed.state, PostState::Made { .. });
    match result {
        PostResult::Made { number, url } => (!is_made).then(|| Event::PostMade {
            ask,
            number: *number,
            url: url.clone(),
        }),
        // A refusal that came meanwhile stays.
        PostResult::Waits { why } if proposed.is_due() && proposed.trouble() != Some(why) => Some(Event::PostFailed {
            ask,
            why: why.clone(),
            waits: true,
        }),
        PostResult::Failed { why } if proposed.is_due() => Some(Event::PostFailed {
            ask,
            why: why.clone(),
            waits: false,
        }),
        PostResult::Waits { .. } | PostResult::Failed { .. } => None,
    }
}

pub(super) fn ended(decision: &mut StepDecision, ask: u32, result: &PostResult) {
    if let Some(event) = post_ended(&decision.state.view, ask, result) {
        decision.push(event);
    }
}
