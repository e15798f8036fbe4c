//! The handover from the session before to the next prompt, taken from the records: a restart does not change it.

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

/// Most lines handed over of a terminal, where nothing marks the beginning of the last message.
const SHOWN_LINES: usize = 12;

/// The session before, and the trees around it.
#[derive(Debug)]
pub(super) struct LastSession {
    handover: Handover,
    trees: Option<(Checkpoint, Checkpoint)>,
}

impl LastSession {
    /// Finds the session before the one that is prepared. `None` if it failed without a message, or if it is continued
    /// and so knows its own work; a reviewer gets it in any case. `has_messages` tells whether an adapter's agent has
    /// messages; for others, the last lines of the terminal are used.
    pub(super) fn find(state: &LoopState, has_messages: impl Fn(&str) -> bool) -> Option<Self> {
        if state.internal.session.is_some() && state.view.role.is_work() {
            return None;
        }
        let iterations = &state.view.iterations;
        let said = state.internal.last_message.as_ref().and_then(|said| {
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

    /// Returns the handover, with the names of the files that the session changed.
    pub(super) fn handover(&self, repository: Option<&Repository>) -> Handover {
        let looked_up = self.trees.as_ref().zip(repository);
        let changed = looked_up.and_then(|((before, after), repository)| repository.names_between(before, after).ok());
        Handover {
            changed,
            ..self.handover.clone()
        }
    }
}

/// Returns the last lines that a terminal showed, without those meant for ralph.
fn last_lines(shown: &str) -> String {
    let text = reported(&sanitized(shown));
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}
