//! The view of a run: the fold over its records, shared by every reader.
//!
//! Stop 12 of the tour in ARCHITECTURE.md.
//!
//! [`RunView`] is the public fold. The loop decides by it, the screen and the report show it, and `ralph status` prints
//! it; no other code folds records. The view is pure, and contains neither the run's promise nor the text of the
//! agent's messages. A serialised view can be read back and continued with the records after it.
//!
//! Lists that could grow without bound are [`Recent`]: the newest entries are kept and the others counted. Large values
//! that rarely change are [`Shared`] by the copies of a view.

mod asks;
mod background;
mod breaker;
mod calls;
mod changed_tests;
mod clock;
mod comments;
mod edit_checks;
mod head;
mod hooks;
mod incident;
mod iteration;
mod iterations;
mod message;
mod permission;
mod phase;
mod recent;
mod refusal;
mod scopes;
mod shared;
mod spending;
mod stashes;
mod stop;
mod task;
mod tool;
mod view;

#[cfg(test)]
mod permission_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod view_tests;

pub use asks::{AskEnd, AskEntry, AskSubject, Asks};
pub use background::{Background, BackgroundState, BackgroundTask};
pub use breaker::{Breaker, Observation};
pub(crate) use breaker::{shows_weakness, without_numbers};
pub use calls::{Calls, ProposedTask};
pub use changed_tests::{ChangedTests, ConfirmedTests, tests_question};
pub use clock::Clock;
pub use comments::{Comment, CommentReason, CommentState, Comments};
pub use edit_checks::EditChecks;
pub use hooks::{HookRuns, RunningHook};
pub use incident::{ChannelQuestion, Incidents, Noticed, Trouble, Waited};
pub use iteration::{Assessment, Iteration};
pub use iterations::Iterations;
pub use message::{Delivered, Message, MessageState, is_message_left};
pub use permission::{AddedRule, DeniedThing, OpenAsk, Permissions};
pub use phase::{ActiveSession, End, Phase};
pub use recent::Recent;
pub use refusal::{StandingRefusal, goal_since, standing_refusal};
pub(crate) use scopes::scope_question;
pub use scopes::{Scopes, TaskChanges};
pub use shared::Shared;
pub use spending::Spending;
pub use stop::StopAsked;
pub use task::{Block, GoalState, GoalStatus, Task, TaskState, Work};
pub use tool::Tool;
pub use view::RunView;
