//! What the session before hands to the next prompt, as the records have it: a restart changes nothing about it.

use ralph_core::{
    event::{Checkpoint, Outcome},
    machine::LoopState,
    run::Iteration,
};
use ralph_git::Repository;
use ralph_plan::{
    claims::reported,
    prompt::{Handover, SessionEnd},
};
use ralph_text::sanitized;

/// Most lines that are handed over of a terminal, in which nothing says where the last words begin.
const SHOWN_LINES: usize = 12;

/// The session before, and the trees around it.
#[derive(Debug)]
pub(super) struct LastSession {
    handover: Handover,
    trees: Option<(Checkpoint, Checkpoint)>,
}

impl LastSession {
    /// The session before the one that is prepared; none where it said nothing and failed, or where it is continued and so
    /// knows what it did. A reviewer is told in any case. `has_messages` tells whether an adapter's agent has messages; of
    /// another, the last lines of its terminal are taken.
    pub(super) fn of(state: &LoopState, has_messages: impl Fn(&str) -> bool) -> Option<Self> {
        if state.rules.session.is_some() && state.view.role.is_work() {
            return None;
        }
        let iterations = &state.view.iterations;
        let said = state.rules.said.as_ref().and_then(|said| {
            let iteration = iterations.numbered(said.iteration)?;
            let text = match has_messages(&iteration.adapter) {
                true => said.text.clone(),
                false => last_lines(&said.text),
            };
            Some((iteration, text))
        });
        let (iteration, said) = match said {
            Some((iteration, said)) => (iteration, Some(said)),
            None => {
                let completed = |latest: &&Iteration| latest.outcome == Some(Outcome::Completed);
                (iterations.latest_work().filter(completed)?, None)
            }
        };
        let status = iteration.look.status.as_ref().filter(|_| said.is_some());
        let recommendation = status.and_then(|status| status.get("RECOMMENDATION"));
        Some(Self {
            handover: Handover {
                iteration: iteration.number,
                end: match &iteration.outcome {
                    Some(Outcome::Completed) => SessionEnd::Completed,
                    Some(Outcome::Failed { .. }) => SessionEnd::Failed,
                    Some(Outcome::Cancelled { .. } | Outcome::Interrupted) | None => SessionEnd::CutOff,
                },
                said,
                recommendation: recommendation.map(str::to_owned),
                changed: None,
            },
            trees: iteration.before.clone().zip(iteration.after.clone()),
        })
    }

    /// Looks up what it changed.
    pub(super) fn handover(&self, repository: Option<&Repository>) -> Handover {
        let looked_up = self.trees.as_ref().zip(repository);
        let changed = looked_up.and_then(|((before, after), repository)| repository.names_between(before, after).ok());
        Handover {
            changed,
            ..self.handover.clone()
        }
    }
}

/// The last lines of what a terminal showed, without what was meant for ralph.
fn last_lines(shown: &str) -> String {
    let text = reported(&sanitized(shown));
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}
