//! Comments on lines: what a command of the user does to them, where their lines are, and findings that name a place.

use crate::{
    event::{
        COMMENTS, CommentAuthor, CommentEvent, CommentPlace, Event, MESSAGE_CAP_BYTES, PlacedComment, SteeringEvent,
        SteeringKind, Text, UserCommand,
    },
    run::Comment,
};

use super::{decision::StepDecision, state::LoopState};

/// The events of a command about comments; none if it changes nothing.
pub fn comment_events(state: &LoopState, command: &UserCommand) -> Vec<Event> {
    let comments = &state.view.comments;
    let is_draft = |number: u32| comments.numbered(number).is_some_and(|comment| comment.is_draft());
    match command.clone() {
        UserCommand::WriteComment { place, text } if comments.list.len() < COMMENTS => {
            let by = CommentAuthor::User;
            let checkpoint = place.checkpoint.clone().or_else(|| latest_checkpoint(state));
            let place = CommentPlace { checkpoint, ..*place };
            vec![written(state, by, place, text)]
        }
        UserCommand::EditComment { comment, text } if is_draft(comment) => {
            vec![Event::Comment(CommentEvent::Edited { comment, text })]
        }
        UserCommand::WithdrawComment { comment } if is_draft(comment) => {
            vec![Event::Comment(CommentEvent::Withdrawn { comment })]
        }
        UserCommand::ResolveComment { comment } => {
            let known = comments.numbered(comment);
            let is_open = known.is_some_and(|known| !known.is_draft() && !known.resolved);
            is_open
                .then_some(Event::Comment(CommentEvent::Resolved { comment }))
                .into_iter()
                .collect()
        }
        UserCommand::SendComments { kind } => send(state, kind),
        _ => Vec::new(),
    }
}

fn send(state: &LoopState, kind: SteeringKind) -> Vec<Event> {
    let (numbers, text) = state.view.comments.message(MESSAGE_CAP_BYTES);
    if numbers.is_empty() {
        return Vec::new();
    }
    let id = state.next_message();
    let queued = Event::Steering(SteeringEvent::Queued {
        id,
        kind,
        text,
        answers: None,
    });
    let comments = numbers.into();
    vec![queued, Event::Comment(CommentEvent::Sent { message: id, comments })]
}

fn written(state: &LoopState, by: CommentAuthor, place: CommentPlace, text: String) -> Event {
    Event::Comment(CommentEvent::Written {
        comment: state.view.comments.written + 1,
        by,
        place: Box::new(place),
        text,
    })
}

/// The checkpoint of the latest settled iteration, or that before the first one.
fn latest_checkpoint(state: &LoopState) -> Option<Text<64>> {
    let internal = &state.internal;
    let checkpoint = internal.latest.as_ref().or(internal.baseline.as_ref())?;
    Some(checkpoint.commit.as_str().into())
}

/// Carries out a command that needs no iteration.
pub(super) fn change(decision: &mut StepDecision, command: &UserCommand) {
    for event in comment_events(&decision.state, command) {
        decision.push(event);
    }
}

/// Records where the lines of comments are after an iteration, if that is new.
pub(super) fn placed(decision: &mut StepDecision, iteration: u32, places: &[PlacedComment]) {
    let comments = &decision.state.view.comments;
    let is_new = |placed: &&PlacedComment| {
        let known = comments.numbered(placed.comment);
        known.is_some_and(|known| {
            known.file != placed.file.as_str() || known.line != placed.line || known.lines != placed.lines
        })
    };
    let places: Vec<PlacedComment> = places.iter().filter(is_new).cloned().collect();
    if !places.is_empty() {
        let places = places.into();
        decision.push(Event::Comment(CommentEvent::Placed { iteration, places }));
    }
}

/// Records the findings of a review that name a place as comments.
pub(super) fn found(decision: &mut StepDecision, iteration: u32, findings: &[(CommentPlace, String)]) {
    for (place, text) in findings {
        let list = &decision.state.view.comments.list;
        // A later review may find the same again.
        let is_known = |known: &Comment| {
            !known.resolved
                && known.by != CommentAuthor::User
                && known.file == place.file.as_str()
                && known.text == *text
        };
        if list.len() < COMMENTS && !list.iter().any(is_known) {
            let by = CommentAuthor::Reviewer { iteration };
            let event = written(&decision.state, by, place.clone(), text.clone());
            decision.push(event);
        }
    }
}
