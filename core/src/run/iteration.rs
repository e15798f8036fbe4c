//! A single iteration.

use serde::{Deserialize, Serialize};

use crate::{
    event::{
        AgentStatus, Changes, Checkpoint, Claim, ConfidencePart, Denial, Elsewhere, GoalResult, IterationCommit,
        Missing, Outcome, ReviewResult, Role, Trial, TriedMutant, Usage,
    },
    subagents::Subagents,
};

/// A session and its result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Iteration {
    pub number: u32,
    /// The purpose of the iteration.
    #[serde(default, skip_serializing_if = "Role::is_work")]
    pub role: Role,
    pub adapter: String,
    /// The requested model; `None` if the choice was left to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model as reported by the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_named: Option<String>,
    pub task: Option<String>,
    /// Whether it continued the previous session.
    pub resumed: bool,
    /// Moved by idle times.
    pub started_ms: u64,
    /// `None` while it runs, and if its end was not recorded.
    pub outcome: Option<Outcome>,
    pub duration_ms: u64,
    pub output_bytes: u64,
    /// Unknown if the agent did not report it.
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Subagents::is_empty")]
    pub subagents: Subagents,
    pub changes: Option<Changes>,
    /// Its work elsewhere than in the files of the project's own repository.
    #[serde(default, skip_serializing_if = "Elsewhere::is_empty")]
    pub elsewhere: Elsewhere,
    /// Whether it made progress; `None` if unknown.
    pub progress: Option<bool>,
    /// Whether its changes were undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// ralph's commit of what the agent left uncommitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed: Option<IterationCommit>,
    /// Number of tasks that it ticked.
    pub closed: u32,
    pub before: Option<Checkpoint>,
    pub after: Option<Checkpoint>,
    /// Tasks that it removed from the plan.
    pub vanished: Vec<String>,
    /// Tasks that it added to the plan.
    pub added: Vec<String>,
    /// A question of the agent that blocks the work.
    pub question: Option<String>,
    pub look: Assessment,
    /// The result, if it was a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewResult>,
}

impl Iteration {
    /// The model as reported by the agent, or else as requested.
    pub fn shown_model(&self) -> Option<&str> {
        self.model_named.as_deref().or(self.model.as_deref())
    }

    /// The task that the iteration counts for; `None` for a review.
    pub(super) fn worked_on(&self) -> Option<String> {
        self.task.clone().filter(|_| self.role.is_work())
    }

    /// Whether its claim of completion was refused.
    pub fn was_refused(&self) -> bool {
        !self.look.refused.is_empty()
    }

    /// Drops large fields: lists and the output of goals.
    pub(super) fn shorten(&mut self) {
        self.vanished = Vec::new();
        self.added = Vec::new();
        self.elsewhere = Elsewhere::default();
        self.subagents.list = Vec::new().into();
        self.look.confidence_parts = Vec::new();
        self.look.refused = Vec::new();
        if let Some(review) = &mut self.review {
            review.shorten();
        }
        self.look.mutants = Vec::new();
        if let Some(trial) = &mut self.look.trial {
            trial.changes = Vec::new().into();
        }
        let trial = self.look.trial.iter_mut().flat_map(|trial| &mut trial.results);
        for result in self.look.goals.iter_mut().chain(trial) {
            result.tail = "".into();
        }
    }
}

/// The claims of an iteration, and ralph's findings about them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[schemars(rename = "Look")]
#[serde(rename_all = "camelCase")]
pub struct Assessment {
    pub claims: Vec<Claim>,
    /// Results of the goals that were run.
    pub goals: Vec<GoalResult>,
    /// The results with the original tests; `None` if the tests were not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// The mutants that the tests should have detected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<TriedMutant>,
    /// From 0 to 100; `None` without a claim.
    pub confidence: Option<u8>,
    pub confidence_parts: Vec<ConfidencePart>,
    /// Why the claim was refused; empty if it was not.
    pub refused: Vec<Missing>,
    /// The agent's statement that it is not done.
    pub denied: Option<Denial>,
    /// The agent's `RALPH_STATUS` block. It is the agent's word and unchecked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<AgentStatus>,
}

impl Assessment {
    /// Returns the result of a goal.
    pub fn goal(&self, name: &str) -> Option<&GoalResult> {
        self.goals.iter().find(|result| result.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Event, Findings, GateEvent, GuardedChange, GuardedChangeKind, Mutant, MutantOutcome, MutantTarget},
        testing::goal_checked,
    };

    fn goal(output: &str) -> GoalResult {
        let Event::Gate(GateEvent::GoalChecked { result, .. }) = goal_checked(1, "tests", 1, output) else {
            unreachable!("a goal was checked")
        };
        result
    }

    #[test]
    fn a_shortened_iteration_keeps_its_numbers_and_drops_its_texts() {
        let change = GuardedChange {
            path: "tests/a.rs".into(),
            kind: GuardedChangeKind::Changed,
            part: None,
        };
        let mutant = Mutant {
            path: "src/a.rs".into(),
            line: 1,
            before: "a + b".into(),
            after: "a - b".into(),
            target: MutantTarget::Work,
        };
        let findings = ReviewResult::Findings {
            findings: Findings::new(vec!["one".to_owned(), "two".to_owned()]),
            sent_back: true,
        };
        let mut iteration = Iteration {
            number: 3,
            vanished: vec!["a".to_owned()],
            added: vec!["b".to_owned()],
            review: Some(findings),
            look: Assessment {
                goals: vec![goal("3 failed")],
                trial: Some(Trial {
                    changes: vec![change].into(),
                    results: vec![goal("2 failed")],
                    problem: None,
                }),
                mutants: vec![TriedMutant {
                    mutant,
                    outcome: MutantOutcome::Missed,
                }],
                confidence: Some(40),
                refused: vec![Missing::GoalsNotRun],
                ..Assessment::default()
            },
            ..Iteration::default()
        };
        iteration.shorten();
        let shortened = Iteration {
            number: 3,
            review: Some(ReviewResult::Findings {
                findings: Findings {
                    more: 2,
                    ..Findings::default()
                },
                sent_back: true,
            }),
            look: Assessment {
                goals: vec![goal("")],
                trial: Some(Trial {
                    results: vec![goal("")],
                    ..Trial::default()
                }),
                confidence: Some(40),
                ..Assessment::default()
            },
            ..Iteration::default()
        };
        assert_eq!(iteration, shortened);
    }
}
