//! What the session before hands to the next prompt, as the records have it: a restart changes nothing about it.

use crate::{
    event::{Checkpoint, Outcome},
    git::Repository,
    machine::LoopState,
    prompt::{Handover, SessionEnd},
    run::Iteration,
};

/// The session before, and the trees around it.
#[derive(Debug)]
pub(super) struct LastSession {
    handover: Handover,
    trees: Option<(Checkpoint, Checkpoint)>,
}

impl LastSession {
    /// The session before the one that is prepared; none where it said nothing and failed, or where it is continued and so
    /// knows what it did. A reviewer is told in any case. `has_messages` tells whether an adapter's agent has messages.
    pub(super) fn of(state: &LoopState, has_messages: impl Fn(&str) -> bool) -> Option<Self> {
        if state.rules.session.is_some() && state.view.role.is_work() {
            return None;
        }
        let iterations = &state.view.iterations;
        let by_agent = |iteration: &&Iteration| has_messages(&iteration.adapter);
        let said = state.rules.said.as_ref().and_then(|said| {
            let iteration = iterations.numbered(said.iteration).filter(by_agent)?;
            Some((iteration, said.text.clone()))
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
