//! Calls of ralph's own tools by an agent that are not answered yet.

use ralph_core::event::{GoalResult, PlanSnapshot, RequestedBy, UserCommand};
use ralph_state::control::{ControlReply, ToolAnswer};
use ralph_tools::language::ServerNotice;
use ralph_words::{ToolRefusal, tool_refusal_in_words};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{edits::EditLookResult, goals::GoalRun, plan_look::ToggledBoxes};

/// Most results that the loop has not taken yet.
const FOUND: usize = 64;

/// The channel for an answer.
pub(super) type ReplySender = oneshot::Sender<ControlReply>;

/// A result that was found off the loop, for the agent of `iteration`.
pub(super) enum OffLoopResult {
    /// The plan as it is on disk, and the tasks that have vanished from it.
    Plan {
        iteration: u32,
        plan: Result<PlanSnapshot, String>,
        vanished: Vec<String>,
        asked: PlanReadPurpose,
        reply: ReplySender,
    },
    Goals {
        ticket: u32,
        results: Vec<GoalResult>,
    },
    /// The changes of the tree since the last look.
    Edits(EditLookResult),
    /// The results of the goals with the files that `iteration` left.
    Iteration {
        iteration: u32,
        results: Vec<GoalResult>,
    },
    /// A comment with the lines that it is about.
    Lines(CommentWithLines),
    /// Boxes of the plan that were ticked or cleared while the agent works.
    Boxes(ToggledBoxes),
    /// A change in the state of a language server.
    Language(ServerNotice),
}

/// A command that writes a comment, once its lines were looked up.
pub(super) struct CommentWithLines {
    pub(super) command: UserCommand,
    pub(super) by: RequestedBy,
    /// `None` for a command of this process's own screen.
    pub(super) reply: Option<ReplySender>,
}

/// The purpose of reading the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanReadPurpose {
    Tasks,
    /// A claim, for which the goals are run unless a check with this ticket is running.
    Claim {
        ticket: Option<u32>,
        waits: bool,
    },
}

/// The agent's calls that are not answered yet.
#[derive(Debug)]
pub(super) struct PendingCalls {
    pub(super) found_in: mpsc::Sender<OffLoopResult>,
    found: mpsc::Receiver<OffLoopResult>,
    pub(super) news_in: mpsc::Sender<ServerNotice>,
    news: mpsc::Receiver<ServerNotice>,
    /// The ticket of the latest check of the goals.
    pub(super) ticket: u32,
    pub(super) check: Option<AgentGoalCheck>,
    /// The results of the latest check.
    pub(super) checked: Vec<GoalResult>,
}

/// Goals that are run for the agent.
#[derive(Debug)]
pub(super) struct AgentGoalCheck {
    pub(super) _run: GoalRun,
    pub(super) since: Instant,
    pub(super) waiting: Vec<(GoalCheckPurpose, ReplySender)>,
}

/// The agent's purpose of running the goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoalCheckPurpose {
    Check,
    Claim,
}

impl GoalCheckPurpose {
    pub(super) fn tool(self) -> &'static str {
        match self {
            GoalCheckPurpose::Check => "goals_check",
            GoalCheckPurpose::Claim => "claim_done",
        }
    }
}

impl Default for PendingCalls {
    fn default() -> Self {
        let (found_in, found) = mpsc::channel(FOUND);
        let (news_in, news) = mpsc::channel(FOUND);
        Self {
            found_in,
            found,
            news_in,
            news,
            ticket: 0,
            check: None,
            checked: Vec::new(),
        }
    }
}

impl PendingCalls {
    /// Waits for the next result. Cancel safe.
    pub(super) async fn next(&mut self) -> OffLoopResult {
        // This value holds the senders, so the channels never close.
        tokio::select! {
            Some(found) = self.found.recv() => found,
            Some(news) = self.news.recv() => OffLoopResult::Language(news),
            else => std::future::pending().await,
        }
    }

    /// Refuses the calls that still wait, because their iteration has ended.
    pub(super) fn end_iteration(&mut self) {
        for (_, reply) in self.check.take().into_iter().flat_map(|check| check.waiting) {
            refuse(reply, ToolRefusal::Ended);
        }
        self.checked.clear();
    }
}

pub(super) fn answer(reply: ReplySender, answer: ToolAnswer) {
    _ = reply.send(ControlReply::Tool { answer }); // the client may have gone
}

pub(super) fn refuse(reply: ReplySender, why: ToolRefusal) {
    answer(reply, ToolAnswer::refused(tool_refusal_in_words(why)));
}
