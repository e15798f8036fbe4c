//! Iterations, running and past.

use serde::{Deserialize, Serialize};

use crate::event::{
    AgentStatus, Changes, Checkpoint, Claim, ConfidencePart, Denial, GoalResult, Missing, Outcome, ReviewResult, Role,
    Trial, TriedMutant, Usage,
};

/// One session and what became of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Iteration {
    pub number: u32,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Role::is_work")]
    pub role: Role,
    pub adapter: String,
    /// The model that was asked for; none left it to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model as the agent named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_named: Option<String>,
    pub task: Option<String>,
    /// It continued the session of the one before.
    pub resumed: bool,
    /// Moved by the times in which nobody worked.
    pub started_ms: u64,
    /// None while it runs, and when nobody saw its end.
    pub outcome: Option<Outcome>,
    pub duration_ms: u64,
    pub output_bytes: u64,
    /// Unknown where the agent did not tell.
    pub usage: Usage,
    pub changes: Option<Changes>,
    /// It got somewhere; none where that cannot be told.
    pub progress: Option<bool>,
    /// What it changed was undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// How many tasks were ticked in it.
    #[serde(default)]
    pub closed: u32,
    pub before: Option<Checkpoint>,
    pub after: Option<Checkpoint>,
    /// Tasks that it took out of the plan.
    pub vanished: Vec<String>,
    /// Tasks that it put into the plan.
    pub added: Vec<String>,
    /// What the agent wants to know before it goes on.
    pub question: Option<String>,
    pub look: Look,
    /// What came of it, if it was a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewResult>,
}

impl Iteration {
    /// The model as the agent named it, or as it was asked for before.
    pub fn shown_model(&self) -> Option<&str> {
        self.model_named.as_deref().or(self.model.as_deref())
    }

    /// The task that it counts for; none for a review, which is no work on it.
    pub(super) fn worked_on(&self) -> Option<String> {
        self.task.clone().filter(|_| self.role.is_work())
    }

    /// A limit of the agent's ended it: it is repeated and does not count.
    pub fn was_limited(&self) -> bool {
        self.outcome.as_ref().is_some_and(Outcome::was_limited)
    }

    /// Whether its claim to be done was refused.
    pub fn was_refused(&self) -> bool {
        !self.look.refused.is_empty()
    }

    /// Leaves out what takes much room: lists and what goals printed.
    pub(super) fn shorten(&mut self) {
        self.vanished = Vec::new();
        self.added = Vec::new();
        self.look.confidence_parts = Vec::new();
        self.look.refused = Vec::new();
        if let Some(review) = &mut self.review {
            review.shorten();
        }
        self.look.mutants = Vec::new();
        if let Some(trial) = &mut self.look.trial {
            trial.changes = Vec::new();
        }
        let trial = self.look.trial.iter_mut().flat_map(|trial| &mut trial.results);
        for result in self.look.goals.iter_mut().chain(trial) {
            result.tail = String::new();
        }
    }
}

/// What was claimed, and what ralph found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Look {
    pub claims: Vec<Claim>,
    /// Results of the goals, as far as they were run.
    pub goals: Vec<GoalResult>,
    /// How the goals ended with the tests as they were; none where these had not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// The changes that the tests should have noticed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<TriedMutant>,
    /// 0 to 100; none where nothing was claimed.
    pub confidence: Option<u8>,
    pub confidence_parts: Vec<ConfidencePart>,
    /// Why the claim was refused; empty if it was not.
    pub refused: Vec<Missing>,
    /// What the agent said against being done.
    pub denied: Option<Denial>,
    /// What its `RALPH_STATUS` block says: the agent's word, of which nothing is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<AgentStatus>,
}
