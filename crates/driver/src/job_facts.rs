//! The facts about the state of the loop that the work around an iteration needs.

use std::{collections::BTreeSet, path::PathBuf};

use ralph_core::{
    event::{BreakerState, Checkpoint, Claim, Outcome, PlanSnapshot, SteeringId, SteeringKind},
    machine::{LoopState, Statement},
    run::{Phase, TaskChanges, standing_refusal},
};
use ralph_state::store::accounts::AccountFile;

use super::{
    comments::{CommentsBefore, message_text},
    handover::LastSession,
    review::ReviewScope,
    test_gate::RunSoFar,
};

/// The facts about the state that a preparation needs.
#[derive(Debug)]
pub(super) struct PrepareJob {
    pub(super) iteration: u32,
    /// The tree as the iteration before left it, if it cannot have changed since.
    pub(super) untouched: Option<Checkpoint>,
    /// The latest checkpoint and the first one.
    pub(super) known: Vec<Checkpoint>,
    pub(super) promise: String,
    pub(super) steering: Vec<(SteeringId, SteeringKind, String)>,
    pub(super) feedback: Vec<String>,
    /// Sentences about background tasks.
    pub(super) background: Vec<String>,
    pub(super) before: Option<LastSession>,
    pub(super) live_steering: bool,
    /// Whether the agent is given ralph's own tools.
    pub(super) has_tools: bool,
    /// Whether goals are run after its edits.
    pub(super) watches_edits: bool,
    pub(super) has_goals: bool,
    /// Tasks that are not worked on for now.
    pub(super) set_aside: Vec<String>,
    /// The plan as it was last read.
    pub(super) plan: PlanSnapshot,
    /// Number of open tasks that were removed from it.
    pub(super) missing: usize,
    /// The task to which a review has sent the author back.
    pub(super) sent_back_to: Option<String>,
    /// The reports of the account's windows, if they matter.
    pub(super) account: Option<AccountFile>,
    /// The subject of the review, if a review is prepared.
    pub(super) review: Option<ReviewScope>,
    pub(super) so_far: RunSoFar,
    /// Whether the plan allows changing tests at some task.
    pub(super) tests_may_change: bool,
    /// The tasks whose ticks do not count because of files outside of their scopes.
    pub(super) held: BTreeSet<String>,
}

/// The facts about the state that a settlement needs.
#[derive(Debug)]
pub(super) struct SettleJob {
    pub(super) iteration: u32,
    pub(super) before: Option<Checkpoint>,
    /// The recorded statement of the agent, if it counts.
    pub(super) stated: Statement,
    /// Whether the file that claims the end was recorded as present; it may be gone by now.
    pub(super) done_file: bool,
    /// The plan as it was when the iteration began.
    pub(super) plan: PlanSnapshot,
    /// Whether it is a review, whose changes do not count and are undone.
    pub(super) is_review: bool,
    pub(super) so_far: RunSoFar,
    /// Whether tests may be changed for its task.
    pub(super) tests_may_change: bool,
    /// The patch of tests that the user is asked about.
    pub(super) tests_asked: Option<String>,
    /// Whether claims are refused for changed tests, and the agent does not mend them: the user may accept them.
    pub(super) tests_refused: bool,
    /// The agent's reason for changing them.
    pub(super) tests_why: Option<String>,
    /// Files that the agent says it has changed.
    pub(super) reported_files: Vec<PathBuf>,
    /// The task that the iteration worked on.
    pub(super) task: Option<String>,
    /// The changes of tasks outside of their scopes so far.
    pub(super) scopes: Vec<TaskChanges>,
    /// The tasks that were open when it began.
    pub(super) open: Vec<String>,
    pub(super) comments: CommentsBefore,
    /// Whether ralph ended the session before its turn was over.
    pub(super) is_cancelled: bool,
}

impl PrepareJob {
    pub(super) fn for_iteration(
        state: &LoopState,
        iteration: u32,
        untouched: Option<Checkpoint>,
        live_steering: bool,
    ) -> Self {
        let due = state.view.messages.iter().filter(|steering| steering.is_due());
        let feedback = state.prompt_feedback();
        let known_failures = state.view.known_failures();
        Self {
            iteration,
            untouched,
            known: state
                .internal
                .latest
                .iter()
                .chain(&state.internal.baseline)
                .cloned()
                .collect(),
            promise: state.internal.promise.clone(),
            steering: due
                .map(|steering| (steering.id, steering.kind, message_text(&state.view, steering)))
                .collect(),
            feedback: feedback
                .iter()
                .map(|feedback| ralph_words::prompt::feedback(feedback, &state.view.settings.goals))
                .chain(
                    known_failures
                        .iter()
                        .map(|(goal, tests)| ralph_words::prompt::known_failures(goal, tests)),
                )
                .collect(),
            background: state
                .background_for_prompt()
                .map(|task| ralph_words::background_in_prompt(task, state.view.clock.now_ms))
                .collect(),
            before: None,
            live_steering,
            has_tools: false,
            watches_edits: state.view.settings.goals.iter().any(|goal| goal.on_edit),
            has_goals: !state.view.settings.goals.is_empty(),
            set_aside: state.view.set_aside(),
            plan: (*state.view.plan).clone(),
            missing: state.view.missing.len(),
            sent_back_to: state.sent_back_to().cloned(),
            account: None,
            review: ReviewScope::for_next(state),
            so_far: RunSoFar::new(state),
            tests_may_change: may_change_tests(state, |_| true),
            held: state.internal.scopes.held(),
        }
    }
}

impl SettleJob {
    pub(super) fn for_iteration(state: &LoopState, iteration: u32) -> Self {
        // Only a turn that ended by itself has a final message.
        let completed = matches!(&state.view.phase, Phase::Settling { outcome, .. } if *outcome == Outcome::Completed);
        let mut stated = state.internal.stated.clone();
        let done_file = stated.claims.contains(&Claim::DoneFile);
        stated.claims.retain(|claim| *claim != Claim::DoneFile);
        let called = &state.internal.tool_calls;
        stated.claims.extend(called.claimed.then_some(Claim::Tool));
        stated.blocked = stated.blocked.or_else(|| called.blocked.clone());
        stated.tests_changed = stated.tests_changed.or_else(|| called.tests_changed.clone());
        let task = state.view.iterations.latest().and_then(|latest| latest.task.as_ref());
        let asked = state.view.permissions.about_tests();
        Self {
            iteration,
            before: state.internal.latest.clone(),
            stated: if completed { stated } else { Statement::default() },
            done_file,
            plan: (*state.view.plan).clone(),
            is_review: !state.view.role.is_work(),
            reported_files: state.internal.reported_files.iter().map(PathBuf::from).collect(),
            so_far: RunSoFar::new(state),
            tests_may_change: may_change_tests(state, |allowed| Some(allowed) == task),
            tests_asked: asked.and_then(|asked| asked.request.diff.clone()),
            tests_refused: state.view.breaker.state != BreakerState::Closed
                && standing_refusal(&state.view).is_some_and(|refusal| refusal.reason.may_be_confirmed()),
            tests_why: state.view.changed_tests.why.clone(),
            task: task.cloned(),
            scopes: state.internal.scopes.iter().cloned().collect(),
            open: state.internal.scopes.open.clone(),
            comments: CommentsBefore::of(&state.view),
            is_cancelled: matches!(state.view.phase.outcome(), Some(Outcome::Cancelled { .. })),
        }
    }
}

/// Whether the plan, as it was before the first iteration, allows changing tests at a task for which `such` holds.
fn may_change_tests(state: &LoopState, such: impl FnMut(&String) -> bool) -> bool {
    state.internal.tests_may_change.iter().flatten().any(such)
}
