//! Suggestions for the user at the end of a run.

use serde::{Deserialize, Serialize};

use super::{HeadPlace, LimitKind, LostRepository, StashEntry, SteeringId, Text};
use crate::json::ReadJson;

/// A possible next step for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Hint {
    /// Continue the run, or start a new one.
    Resume,
    /// Continue the run with the stuck detector reset, or start a new one.
    StartAgain,
    /// No goal was checked: look at the result, or give ralph a goal.
    SetGoal,
    /// Only exit codes were checked: use a goal whose tests ralph can count.
    CountTests,
    /// Tests were changed: look at the changes, and confirm them or send the agent back.
    ConfirmTests,
    /// A task changed files outside of its scope: accept the changes, or send the agent back.
    ConfirmScope,
    /// See what the last iteration with changes did, then split its task or adjust the prompt.
    SeeDiff {
        iteration: u32,
    },
    /// No iteration changed a file that ralph sees: split the task or adjust the prompt.
    SplitTask,
    /// See what became of a file of tests: in the iteration that changed it, or in the whole run.
    SeeTests {
        iteration: Option<u32>,
        file: Text,
    },
    /// The agent wrote only what no checkpoint has: a file outside of the project, by its whole path, or an ignored one.
    WorkUnseen {
        file: Text,
    },
    /// Look at the output of the goal, which fails the same way each time.
    SeeGoal {
        goal: Text,
        /// The iteration that broke it, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        broken_by: Option<u32>,
    },
    /// Answer the question to continue the run.
    Answer,
    LogIn {
        /// How to log in, in the words of the adapter.
        how: Text,
    },
    CheckAdapter {
        adapter: Text,
    },
    /// The run needs the live channel, which requires a newer version of the agent.
    NeedLiveChannel {
        adapter: Text,
    },
    NameModel,
    /// A comment of the user is open: resolve it, or send the agent back.
    CommentOpen {
        comment: u32,
        place: Text,
        /// Whether the agent gave a reason for leaving the lines as they are.
        answered: bool,
    },
    /// So many comments are drafts: send or withdraw them.
    CommentsUnsent {
        drafts: u32,
    },
    /// The user has set the task aside, and it is still open.
    TaskSetAside {
        task: Text,
    },
    FixPlan,
    FixCause,
    /// The repository is no longer there.
    BringRepositoryBack {
        lost: Box<LostRepository>,
    },
    /// HEAD is detached or on another branch than when the run began, or commits are on no branch.
    HeadPlaced {
        place: Box<HeadPlace>,
    },
    /// A stash that was made in the run is still there.
    StashLeft {
        stash: StashEntry,
    },
    /// The files can be restored to their state before or after an iteration.
    Restore {
        iteration: u32,
        moment: RestoreMoment,
    },
    RaiseLimit {
        limit: LimitKind,
    },
    /// The agent never saw the message, which is not carried over to another run.
    MessageUndelivered {
        message: SteeringId,
        text: Text,
    },
    /// The message applied to every prompt of this run only.
    MessageExpires {
        message: SteeringId,
        text: Text,
    },
    /// Number of further hints that were left out of the record.
    More {
        count: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestoreMoment {
    Before,
    After,
}
