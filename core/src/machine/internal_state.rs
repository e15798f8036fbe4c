//! The part of the state that decisions need and that the view of a run does not show.

use std::collections::BTreeSet;

use crate::{
    event::{
        AgentCall, AgentEvent, AgentSignal, CancelReason, Checkpoint, Claim, ClaimEvent, Event, GateEvent, Hook,
        HookEvent, IterationEvent, Missing, Outcome, PlanEvent, Problem, ProblemKind, Role, RunEvent, SessionId,
        SessionMode, SteeringEvent, SteeringId, TaskEvent, WorkerEvent,
    },
    run::{Phase, RunView, Scopes},
};

use super::{
    Statement,
    after_edits::AfterEdits,
    budget::{Admission, Budget, Importance, shows_progress},
    feedback::{self, Feedback},
    reviews::Reviews,
    unreported_tasks::UnreportedTasks,
    warnings::Warnings,
    windows::Windows,
};

/// Most files that an agent reports and that are looked at.
const REPORTED_FILES: usize = 100;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct InternalState {
    /// The token that claims completion.
    pub promise: String,
    /// Consecutive iterations that ended with no open task in the plan.
    pub complete_streak: u32,
    /// The highest number of done tasks so far in this run.
    pub most_done: usize,
    /// A question that the agent of the latest iteration asked through its own channel, where it gets no answer.
    pub asked: Option<String>,
    /// The statement of the latest iteration's agent about its work.
    pub stated: Statement,
    /// The agent's calls of ralph's own tools.
    pub tool_calls: ToolCalls,
    /// Whether the previous iteration made an explicit claim. Interrupted iterations are skipped.
    pub claimed_before: bool,
    /// Whether the latest iteration was interrupted by the death of ralph.
    pub cut_off: bool,
    /// Whether the goals were run before the first iteration.
    pub looked: bool,
    /// Whether changed tests were confirmed while the goals were running with the original ones.
    pub confirmed_meanwhile: bool,
    /// The tasks that permit changes to tests, as of the first iteration: an agent could add such a permission later.
    pub tests_may_change: Option<Vec<String>>,
    /// Texts of the done tasks that need no `onTaskDone`; `None` before the plan was read.
    pub known_done: Option<BTreeSet<String>>,
    /// The tree that was committed without other changes. Committing it again is not progress.
    pub committed_tree: Option<String>,
    /// The failure that the running iteration reported.
    pub problem: Option<Problem>,
    /// The error behind the agent's current retry of a request; `None` once the agent made progress.
    pub pending_error: Option<Problem>,
    /// Consecutive retries because of a refused login.
    pub refusals: u32,
    /// The journal space taken by the agents' reports.
    pub budget: Budget,
    /// Tool uses in the running iteration; `None` without a limit, as the journal then need not record them.
    pub steps: Option<u32>,
    /// The dialect's verdict on the running turn.
    pub verdict: Option<bool>,
    /// The session that the next iteration continues.
    pub session: Option<SessionId>,
    /// Messages in the prompt of the running session, until the session shows that it has read the prompt.
    pub prompted: Vec<SteeringId>,
    /// Whether the user has set a task aside, or taken one back, while the prompt was being written.
    pub prompt_outdated: bool,
    /// Files that the agent says it has changed in the latest session, at most so many as are looked at.
    pub reported_files: BTreeSet<String>,
    /// The last message of the latest session that wrote one.
    pub last_message: Option<LastMessage>,
    /// Feedback about the last iteration, for the next prompt.
    pub feedback: Vec<Feedback>,
    /// The first and the last of the iterations in a row after which the plan could not be read.
    pub unreadable: Option<(u32, u32)>,
    /// The first of the iterations that removed the tasks which are missing from the plan.
    pub tasks_removed_in: Option<u32>,
    /// Results of the goals that were run after edits.
    pub after_edits: AfterEdits,
    /// Ended background tasks that the next prompt has to mention.
    pub unreported_tasks: UnreportedTasks,
    /// The tree before the first iteration, the base of all totals.
    pub baseline: Option<Checkpoint>,
    /// The tree after the latest settled iteration.
    pub latest: Option<Checkpoint>,
    /// Trees seen in this run. Returning to one is not progress.
    pub trees: Vec<String>,
    pub reviews: Reviews,
    /// The changes of tasks outside of their scopes.
    pub scopes: Scopes,
    /// The limits that the user was told of.
    pub warnings: Warnings,
    pub windows: Windows,
    /// The number of the latest iteration when the user chose the worker, which is judged by later ones alone.
    pub worker_chosen_after: Option<u32>,
}

/// The agent's calls of ralph's tools that count when the iteration is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCalls {
    /// Whether the latest claim was not refused at once.
    pub claimed: bool,
    /// Why the agent cannot continue.
    pub blocked: Option<String>,
    /// Why the agent changed tests.
    pub tests_changed: Option<String>,
}

/// The last message of a session, cut to the size of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastMessage {
    pub iteration: u32,
    pub text: String,
}

impl InternalState {
    /// Applies an event; `view` is the state before it.
    pub(super) fn apply(&mut self, view: &RunView, event: &Event) {
        if matches!(event, Event::Iteration(IterationEvent::PreparationStarted { .. })) {
            self.prompt_outdated = false;
        }
        self.reviews.apply(view, event);
        self.scopes.apply(view, event);
        self.unreported_tasks.apply(view, event);
        self.after_edits.apply(event);
        self.know_done(view, event);
        self.warnings.apply(view, event);
        self.windows.apply(view, event);
        match event {
            Event::Run(RunEvent::Started { promise, .. }) => self.promise.clone_from(promise),
            Event::Run(RunEvent::Resumed { settings, .. }) => {
                if settings.session == SessionMode::Fresh || settings.adapter != view.settings.adapter {
                    self.session = None;
                }
            }
            Event::Iteration(IterationEvent::LeftoverFound { notice, .. }) => {
                let text = notice.text.to_string();
                self.feedback.push(Feedback::Found { text });
            }
            Event::Worker(WorkerEvent::Changed { .. }) => self.worker_chosen_after = Some(view.iterations.number),
            Event::Task(TaskEvent::Blocked { task, question, .. }) => {
                self.feedback.extend(task.iter().map(|task| Feedback::TaskSetAside {
                    task: task.clone(),
                    question: question.to_string(),
                }));
            }
            Event::Iteration(IterationEvent::PreparationStarted {
                adapter,
                role: Role::Work,
                ..
            }) => {
                // A session id means nothing to another program.
                if view
                    .iterations
                    .latest_work()
                    .is_some_and(|latest| latest.adapter != *adapter)
                {
                    self.session = None;
                }
            }
            Event::Gate(GateEvent::VerificationStarted { iteration, .. }) => {
                self.looked |= *iteration == 0;
                self.confirmed_meanwhile = false;
            }
            Event::Gate(GateEvent::TestsConfirmed { .. }) => {
                self.confirmed_meanwhile = matches!(view.phase, Phase::Verifying { .. })
            }
            Event::Iteration(IterationEvent::Started {
                checkpoint,
                messages,
                role,
                ..
            }) => {
                self.prompted.clone_from(messages);
                self.start_session(view);
                if role.is_work() {
                    self.start_iteration(view);
                }
                self.start_from(checkpoint.as_ref());
            }
            Event::Agent(AgentEvent::Reported { iteration, signal }) => {
                if view.role.is_work() {
                    self.keep_message(*iteration, signal);
                }
                self.take_signal(view, signal);
            }
            Event::Agent(AgentEvent::DetailsOmitted { .. }) => self.budget.omit(),
            // The author's next prompt does not mention how a review ended.
            Event::Iteration(IterationEvent::Ended { .. }) if !view.role.is_work() => self.prompted.clear(),
            Event::Iteration(IterationEvent::Ended { iteration, outcome, .. }) => {
                self.forget_last_message(*iteration, outcome);
                self.end_iteration(outcome);
                let reason = CancelReason::Denied;
                if *outcome == (Outcome::Cancelled { reason }) {
                    let most = view.permissions.denied_now.iter().max_by_key(|thing| thing.times);
                    self.feedback.extend(most.map(|thing| Feedback::PermissionDenied {
                        what: format!("{}: {}", thing.tool, thing.title),
                    }));
                }
            }
            Event::Iteration(IterationEvent::Settled { checkpoint, .. }) if view.role.is_work() => {
                self.settle(view, checkpoint.as_ref());
            }
            // The files are as they were before the review.
            Event::Iteration(IterationEvent::Settled { undone: true, .. }) => {}
            Event::Iteration(IterationEvent::Settled { checkpoint, .. }) => self.start_from(checkpoint.as_ref()),
            Event::Agent(AgentEvent::Stated {
                claims,
                blocked,
                denies_done,
                question,
                status,
                review,
                tests_changed,
                comments,
                ..
            }) => {
                self.stated = Statement {
                    claims: claims.clone(),
                    blocked: blocked.clone(),
                    denies_done: denies_done.clone(),
                    question: question.clone(),
                    status: status.clone(),
                    review: review.clone(),
                    tests_changed: tests_changed.clone(),
                    comments: comments.clone(),
                };
            }
            Event::Agent(AgentEvent::Called { call, .. }) => self.take_call(call),
            Event::Plan(PlanEvent::Edited {
                iteration, vanished, ..
            }) => {
                if view.missing.is_empty() && !vanished.is_empty() {
                    self.tasks_removed_in = Some(*iteration);
                }
            }
            Event::Plan(PlanEvent::NotRead { why }) => {
                self.feedback.push(Feedback::PlanUnreadable { why: why.to_string() });
                let now = view.iterations.number;
                let since = self.unreadable.filter(|(_, latest)| latest + 1 >= now);
                self.unreadable = Some((since.map_or(now, |(first, _)| first), now));
            }
            Event::Claim(ClaimEvent::Refused { reasons, .. }) => self.feedback.push(Feedback::ClaimRefused {
                reasons: reasons.to_vec(),
            }),
            // A tick that does not count is refused besides.
            Event::Task(TaskEvent::ScopeChecked {
                task,
                outside,
                more,
                ticked: false,
                ..
            }) if *more > 0 || !outside.is_empty() => self.feedback.push(Feedback::OutOfScope {
                found: Missing::OutOfScope {
                    task: task.into(),
                    files: outside.clone(),
                    more: *more,
                },
            }),
            Event::Task(TaskEvent::ScopeChecked { .. }) => {}
            Event::Steering(SteeringEvent::Delivered { id, .. }) | Event::Steering(SteeringEvent::Withdrawn { id }) => {
                self.prompted.retain(|prompted| prompted != id);
            }
            Event::Task(TaskEvent::SetAsideByUser { .. }) | Event::Task(TaskEvent::TakenBack { .. }) => {
                self.prompt_outdated |= matches!(view.phase, Phase::Preparing { .. });
            }
            Event::Run(
                RunEvent::JournalOpened { .. }
                | RunEvent::Reopened { .. }
                | RunEvent::TreePrepared { .. }
                | RunEvent::LimitNeared { .. }
                | RunEvent::LimitsChanged { .. }
                | RunEvent::CommandRefused { .. }
                | RunEvent::StopRequested { .. }
                | RunEvent::StopWithdrawn
                | RunEvent::Stopped { .. },
            )
            | Event::Plan(PlanEvent::Read { .. } | PlanEvent::LinesUnread { .. } | PlanEvent::Changed { .. })
            | Event::Task(TaskEvent::SetAside { .. } | TaskEvent::ScopeConfirmed { .. })
            | Event::Iteration(IterationEvent::PreparationStarted { .. } | IterationEvent::CancelRequested { .. })
            | Event::Agent(AgentEvent::FoundIdle { .. } | AgentEvent::FoundActive)
            | Event::Worker(WorkerEvent::AdapterLimited { .. } | WorkerEvent::LiveChannelGivenUp { .. })
            | Event::Claim(ClaimEvent::Made { .. } | ClaimEvent::Denied { .. } | ClaimEvent::Judged { .. })
            | Event::Gate(
                GateEvent::GoalChecked { .. }
                | GateEvent::TrialMade { .. }
                | GateEvent::MutantsTried { .. }
                | GateEvent::EditsChecked { .. }
                | GateEvent::IterationChecked { .. }
                | GateEvent::BreakSought { .. },
            )
            | Event::Steering(SteeringEvent::Queued { .. })
            | Event::Time(_)
            | Event::Review(_)
            | Event::Ask(_)
            | Event::Comment(_)
            | Event::Background(_)
            | Event::Hook(_)
            | Event::Noticed { .. }
            | Event::BreakerMoved { .. }
            | Event::Unknown { .. } => {}
        }
    }

    /// Records the tasks that need no `onTaskDone` any longer: those that were done when the run began, and those that had
    /// it.
    fn know_done(&mut self, view: &RunView, event: &Event) {
        match event {
            Event::Iteration(IterationEvent::Started { .. }) | Event::Gate(GateEvent::VerificationStarted { .. }) => {
                let done = view.plan.tasks.iter().filter(|task| task.done);
                self.known_done
                    .get_or_insert_with(|| done.map(|task| task.text.clone()).collect());
            }
            Event::Hook(HookEvent::Started {
                hook: Hook::OnTaskDone,
                task: Some(task),
                ..
            }) => {
                self.known_done.get_or_insert_default().insert(task.to_string());
            }
            _ => {}
        }
    }

    /// Clears the previous session's state.
    fn start_session(&mut self, view: &RunView) {
        self.problem = None;
        self.pending_error = None;
        self.budget.begin_iteration();
        self.steps = view.settings.limits.max_steps.map(|_| 0);
        self.refusals = 0;
        self.verdict = None;
        self.asked = None;
        self.reported_files.clear();
        self.stated = Statement::default();
    }

    fn start_iteration(&mut self, view: &RunView) {
        self.tests_may_change.get_or_insert_with(|| {
            let tasks = view.plan.tasks.iter().filter(|task| task.settings.tests_may_change);
            tasks.map(|task| task.text.clone()).collect()
        });
        self.feedback.clear();
        if !self.cut_off {
            let mut claims = view.iterations.latest_assessment().claims.iter();
            self.claimed_before = claims.any(|claim| *claim != Claim::PlanComplete);
        }
        self.cut_off = false;
        self.stated = Statement::default();
        self.tool_calls = ToolCalls::default();
        self.most_done = self.most_done.max(view.plan.done());
    }

    fn start_from(&mut self, checkpoint: Option<&Checkpoint>) {
        if let Some(checkpoint) = checkpoint {
            self.baseline.get_or_insert_with(|| checkpoint.clone());
            self.remember_tree(&checkpoint.tree);
            self.latest = Some(checkpoint.clone());
        }
    }

    fn take_call(&mut self, call: &AgentCall) {
        match call {
            AgentCall::Claimed { reasons } => self.tool_calls.claimed = reasons.is_empty(),
            AgentCall::Blocked { reason } => self.tool_calls.blocked = Some(reason.to_string()),
            AgentCall::Noted { note } => feedback::note(&mut self.feedback, note),
            AgentCall::TestsChanged { why } => self.tool_calls.tests_changed = Some(why.to_string()),
            AgentCall::GoalsChecked { .. } | AgentCall::Proposed { .. } | AgentCall::CommentAnswered { .. } => {}
        }
    }

    /// Keeps the latest message of a session.
    fn keep_message(&mut self, iteration: u32, signal: &AgentSignal) {
        let Some(text) = signal.message() else { return };
        if !text.trim().is_empty() {
            let text = text.to_owned();
            self.last_message = Some(LastMessage { iteration, text });
        }
    }

    /// Clears the previous session's last message if this session ended without one, unless the iteration is repeated
    /// or was interrupted by the death of ralph.
    fn forget_last_message(&mut self, iteration: u32, outcome: &Outcome) {
        let is_repeated = outcome.was_limited() || outcome.found_no_live_channel() || *outcome == Outcome::Interrupted;
        if !is_repeated {
            self.last_message = self.last_message.take().filter(|said| said.iteration == iteration);
        }
    }

    fn end_iteration(&mut self, outcome: &Outcome) {
        self.prompted.clear();
        match outcome {
            Outcome::Completed => {
                // The session continued despite the denial; the next one should know about it in advance.
                let denied = |problem: &&Problem| problem.kind == ProblemKind::PermissionDenied;
                self.feedback
                    .extend(self.problem.as_ref().filter(denied).and_then(feedback::for_failure));
            }
            Outcome::Failed { problem } => {
                self.feedback.extend(feedback::for_failure(problem));
                if matches!(problem.kind, ProblemKind::ContextOverflow | ProblemKind::SessionLost) {
                    self.session = None;
                }
            }
            Outcome::Cancelled { reason } => self.feedback.extend(feedback::for_cancel(*reason)),
            Outcome::Interrupted => {
                self.cut_off = true;
                self.feedback.push(Feedback::CutOff);
            }
        }
    }

    fn settle(&mut self, view: &RunView, checkpoint: Option<&Checkpoint>) {
        if let Some(checkpoint) = checkpoint {
            if self
                .latest
                .as_ref()
                .is_some_and(|latest| latest.tree == checkpoint.tree && latest.head != checkpoint.head)
            {
                self.committed_tree = Some(checkpoint.tree.clone());
            }
            self.remember_tree(&checkpoint.tree);
            self.latest = Some(checkpoint.clone());
        }
        self.most_done = self.most_done.max(view.plan.done());
        self.complete_streak = match view.is_plan_complete() {
            true => self.complete_streak + 1,
            false => 0,
        };
    }

    fn remember_tree(&mut self, tree: &str) {
        if !self.trees.iter().any(|seen| seen == tree) {
            self.trees.push(tree.to_owned());
        }
    }

    /// Whether `signal`, which is already bounded, may become a record.
    pub(super) fn admission(&self, view: &RunView, signal: &AgentSignal) -> Admission {
        self.budget.admission(signal, self.importance(view, signal))
    }

    /// Whether `signal` affects the state. Called before the signal is applied.
    fn importance(&self, view: &RunView, signal: &AgentSignal) -> Importance {
        // A refused login is a pending error as well.
        let waits = self.pending_error.is_some();
        let is_needed = match signal {
            AgentSignal::Retrying { why, kind, .. } => {
                let same = match (&self.pending_error, kind) {
                    (Some(pending_error), Some(kind)) => pending_error.kind == *kind && pending_error.text == *why,
                    (None, None) => true,
                    (Some(_), None) | (None, Some(_)) => false,
                };
                !same || *kind == Some(ProblemKind::Auth)
            }
            AgentSignal::Noted { .. } | AgentSignal::Unknown { .. } => false,
            AgentSignal::Subagent { subagent } => {
                let known = view
                    .iterations
                    .latest()
                    .and_then(|latest| latest.subagents.find(&subagent.id));
                known.is_none_or(|known| known.running != subagent.running || known.parent != subagent.parent)
            }
            AgentSignal::ToolStarted { .. } if self.steps.is_some() => true,
            signal if shows_progress(signal) => waits,
            _ => true,
        };
        if is_needed {
            Importance::Needed
        } else {
            Importance::Detail
        }
    }

    fn take_signal(&mut self, view: &RunView, signal: &AgentSignal) {
        self.budget.take(signal, self.importance(view, signal));
        if let AgentSignal::FileChanged { path, .. } = signal
            && self.reported_files.len() < REPORTED_FILES
        {
            self.reported_files.insert(path.clone());
        }
        if let (AgentSignal::ToolStarted { .. }, Some(steps)) = (signal, &mut self.steps) {
            *steps += 1;
        }
        match signal {
            AgentSignal::Opened { session, .. }
                if view.settings.session == SessionMode::Resume && view.role.is_work() =>
            {
                self.session.clone_from(session);
            }
            AgentSignal::Problem { problem } => self.problem = Some(problem.clone()),
            AgentSignal::TurnEnded { ok, .. } => self.verdict = Some(*ok),
            AgentSignal::Retrying { why, kind, .. } => {
                self.refusals = match kind {
                    Some(ProblemKind::Auth) => self.refusals + 1,
                    Some(_) | None => 0,
                };
                self.pending_error = kind.map(|kind| Problem::said(kind, why.clone()));
            }
            AgentSignal::Said { .. }
            | AgentSignal::Thought { .. }
            | AgentSignal::ToolStarted { .. }
            | AgentSignal::ToolEnded { .. }
            | AgentSignal::FileChanged { .. } => {
                self.pending_error = None;
                self.refusals = 0;
            }
            AgentSignal::QuestionAsked { text, .. } => self.asked = Some(text.clone()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_needed(state: &InternalState, signal: &AgentSignal) -> bool {
        state.importance(&RunView::default(), signal) == Importance::Needed
    }

    fn said() -> AgentSignal {
        let text = "I look at it".to_owned();
        AgentSignal::Said { text }
    }

    fn tool() -> AgentSignal {
        AgentSignal::ToolStarted {
            call: "1".to_owned(),
            tool: "Bash".to_owned(),
            input: "make".to_owned(),
        }
    }

    fn retrying(kind: Option<ProblemKind>, why: &str) -> AgentSignal {
        AgentSignal::Retrying {
            attempt: None,
            of: None,
            why: why.to_owned(),
            kind,
        }
    }

    fn after_retry(kind: ProblemKind, why: &str) -> InternalState {
        let mut state = InternalState::default();
        state.take_signal(&RunView::default(), &retrying(Some(kind), why));
        state
    }

    #[test]
    fn what_an_agent_says_and_does_is_a_detail_unless_something_depends_on_it() {
        let unknown = AgentSignal::Noted { text: "?".to_owned() };
        let problem = Problem::said(ProblemKind::Other, "no");
        let (problem, message) = (AgentSignal::Problem { problem }, None);
        let plain = InternalState::default();
        for (signal, expected) in [
            (said(), false),
            (tool(), false),
            (unknown.clone(), false),
            (problem, true),
            (AgentSignal::TurnEnded { ok: true, message }, true),
        ] {
            assert_eq!(is_needed(&plain, &signal), expected, "{signal:?}");
        }
        let counting = InternalState {
            steps: Some(0),
            ..InternalState::default()
        };
        assert!(is_needed(&counting, &tool()), "tool uses are counted");
        assert!(!is_needed(&counting, &said()));
        let waiting = after_retry(ProblemKind::Overloaded, "status 529");
        assert!(is_needed(&waiting, &said()), "the agent waits no longer");
        assert!(!is_needed(&waiting, &unknown));
    }

    #[test]
    fn a_retry_is_a_detail_if_it_is_like_the_one_before() {
        let overloaded = ProblemKind::Overloaded;
        let waiting = after_retry(overloaded, "status 529");
        for (kind, why, expected) in [
            (Some(overloaded), "status 529", false),
            (Some(overloaded), "status 503", true),
            (Some(ProblemKind::Network), "status 529", true),
            (None, "status 529", true),
        ] {
            assert_eq!(is_needed(&waiting, &retrying(kind, why)), expected, "{kind:?} {why}");
        }
        let plain = InternalState::default();
        assert!(!is_needed(&plain, &retrying(None, "status 529")));
        assert!(is_needed(&plain, &retrying(Some(overloaded), "status 529")));
        let refused = after_retry(ProblemKind::Auth, "status 401");
        let again = retrying(Some(ProblemKind::Auth), "status 401");
        assert!(is_needed(&refused, &again), "refused logins are counted");
    }
}
