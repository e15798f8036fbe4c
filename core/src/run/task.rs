//! The plan's tasks and goals, with what was done about them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{GoalResult, LimitKind, PlanSnapshot, TestCounts, Usage};

/// A task of the plan as it was last read, or one that has vanished from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub text: String,
    pub state: TaskState,
    pub depth: u8,
    pub work: Work,
    /// What the agent wants to know before it goes on.
    pub question: Option<String>,
    /// The limit that it has used up, if it is set aside for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    Done,
    Open,
    /// Set aside until somebody answers, or allows more for it.
    Blocked,
    /// No longer in the plan, and never ticked.
    Vanished,
}

/// What was spent on a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// Numbers of the iterations that were to work on it.
    pub iterations: Vec<u32>,
    /// How long those of them took that have ended.
    pub duration_ms: u64,
    /// How many of them count against `limits.perTask.maxIterations`: one that was ended by a rate limit does not.
    #[serde(default)]
    pub counted: u32,
    /// Unknown where the agent did not tell.
    #[serde(default)]
    pub usage: Usage,
}

/// What keeps an agent from going on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// By which it is answered; counted with what agents ask.
    #[serde(default)]
    pub number: u32,
    pub task: Option<String>,
    pub question: String,
}

/// A goal of the settings and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GoalStatus {
    pub name: String,
    pub state: GoalState,
    /// The tests that it ran when it first showed any, which is before the first iteration if it can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<TestCounts>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum GoalState {
    Unknown,
    Running,
    Checked { result: Box<GoalResult> },
}

/// Joins the plan with what is known of its tasks; those that vanished come last.
pub(super) fn tasks(
    plan: &PlanSnapshot,
    missing: &[String],
    blocks: &[Block],
    work: &BTreeMap<String, Work>,
    at_limit: impl Fn(&str) -> Option<LimitKind>,
) -> Vec<Task> {
    let question = |text: &str| {
        let mut blocks = blocks.iter().rev();
        blocks.find_map(|block| (block.task.as_deref() == Some(text)).then(|| block.question.clone()))
    };
    let there = plan.tasks.iter().map(|task| {
        let question = question(&task.text).filter(|_| !task.done);
        let limit = at_limit(&task.text).filter(|_| !task.done);
        Task {
            state: match (task.done, question.is_some() || limit.is_some()) {
                (true, _) => TaskState::Done,
                (false, true) => TaskState::Blocked,
                (false, false) => TaskState::Open,
            },
            limit,
            text: task.text.clone(),
            depth: task.depth,
            work: work.get(&task.text).cloned().unwrap_or_default(),
            question,
        }
    });
    let gone = missing.iter().map(|text| Task {
        text: text.clone(),
        state: TaskState::Vanished,
        depth: 0,
        work: work.get(text).cloned().unwrap_or_default(),
        question: question(text),
        limit: None,
    });
    there.chain(gone).collect()
}
