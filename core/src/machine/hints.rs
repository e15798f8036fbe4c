//! Suggestions for the user at the end of a run.

use crate::{
    event::{
        Breakdown, BreakerCause, Changes, Finding, GoalSince, Hint, Missing, ProblemClass, ProblemKind, Proof,
        RestoreMoment, StopReason, Text, clip,
    },
    run::{MessageState, StandingRefusal, goal_since, standing_refusal},
};

use super::state::LoopState;

/// Maximum size of a quoted message, in bytes: enough to recognise it.
const MESSAGE_CAP_BYTES: usize = 200;

/// How to restore a readable plan; `None` without a checkpoint. What is half done, such as a rebase, has to be ended
/// first, and may bring it back.
fn way_back(state: &LoopState) -> Option<Hint> {
    state.internal.latest.as_ref()?;
    if state.view.head.as_ref().is_some_and(|place| place.operation.is_some()) {
        return None;
    }
    let number = state.view.iterations.number;
    let (iteration, moment) = match (state.unreadable_since(), state.view.phase.outcome()) {
        (Some(first), _) => (first, RestoreMoment::Before),
        (None, Some(_)) => (number, RestoreMoment::Before),
        // The plan was readable after the iteration and was broken later.
        (None, None) => (number, RestoreMoment::After),
    };
    (iteration > 0 || moment == RestoreMoment::Before).then_some(Hint::Restore { iteration, moment })
}

/// How to get a plan that can be read.
fn to_read(state: &LoopState) -> Vec<Hint> {
    way_back(state).into_iter().chain([Hint::FixPlan]).collect()
}

/// Suggestions about the end itself, about tasks that the user has set aside, and about messages that expire with the run.
pub(super) fn hints(state: &LoopState, reason: &StopReason) -> Vec<Hint> {
    let mut hints = for_reason(state, reason);
    if state.unreadable_since().is_some() && !hints.contains(&Hint::FixPlan) {
        hints.extend(to_read(state));
    }
    let removed_in = state
        .internal
        .tasks_removed_in
        .filter(|_| !state.view.missing.is_empty());
    hints.extend(removed_in.map(|iteration| Hint::Restore {
        iteration,
        moment: RestoreMoment::Before,
    }));
    let is_done = matches!(reason, StopReason::Done { .. });
    hints.extend(state.view.permissions.about_scope().map(|_| Hint::ConfirmScope));
    let place = state.view.head.clone();
    hints.extend(place.map(|place| Hint::HeadPlaced { place }));
    // `git stash list` shows the others.
    if let Some((stash, others)) = state.view.stashes.split_last() {
        let stash = stash.clone();
        hints.push(Hint::StashLeft { stash });
        let count = u64::try_from(others.len()).unwrap_or(u64::MAX);
        hints.extend((count > 0).then_some(Hint::More { count }));
    }
    let left_out = state.view.left_out().into_iter();
    hints.extend(left_out.map(|task| Hint::TaskSetAside {
        task: clip(&task, MESSAGE_CAP_BYTES).into(),
    }));
    let open = state.view.comments.missing_work();
    hints.extend(open.map(|comment| Hint::CommentOpen {
        comment: comment.number,
        place: comment.place_now().into(),
        answered: comment.answer.is_some(),
    }));
    let drafts = state.view.comments.drafts().count();
    if drafts > 0 {
        let drafts = u32::try_from(drafts).unwrap_or(u32::MAX);
        hints.push(Hint::CommentsUnsent { drafts });
    }
    hints.extend(state.view.messages.iter().filter_map(|steering| {
        let (message, text) = (steering.id, clip(&steering.text, MESSAGE_CAP_BYTES).into());
        match steering.state() {
            MessageState::Queued => Some(Hint::MessageUndelivered { message, text }),
            MessageState::Delivered(_) if !is_done && steering.is_due() => Some(Hint::MessageExpires { message, text }),
            MessageState::Delivered(_) | MessageState::Withdrawn => None,
        }
    }));
    hints
}

fn for_reason(state: &LoopState, reason: &StopReason) -> Vec<Hint> {
    match reason {
        StopReason::Done { proof, .. } => match proof {
            Proof::Tests => Vec::new(),
            Proof::ExitCodes => vec![Hint::CountTests],
            Proof::Nothing => vec![Hint::SetGoal],
            Proof::Unconfirmed => vec![Hint::ConfirmTests],
        },
        StopReason::Superseded => Vec::new(),
        StopReason::BreakerOpen {
            why: BreakerCause::SameGoalFailure { goal, since, .. },
        } => vec![see_goal(goal, *since), Hint::StartAgain],
        StopReason::BreakerOpen {
            why:
                BreakerCause::ClaimRefused {
                    reason,
                    files,
                    iteration,
                    ..
                },
        } if reason.may_be_confirmed() => {
            let about_tests = about_tests(state, files.first(), *iteration);
            about_tests.chain([Hint::StartAgain]).collect()
        }
        StopReason::BreakerOpen { .. } if state.unreadable_since().is_some() => to_read(state),
        StopReason::BreakerOpen { .. } => {
            let latest = state.view.iterations.latest_work();
            let unseen = latest.filter(|latest| latest.changes.unwrap_or_default() == Changes::default());
            let first = match unseen.and_then(|latest| latest.elsewhere.unseen.first()) {
                Some(file) => Hint::WorkUnseen { file: file.clone() },
                None => see_changes(state),
            };
            vec![first, Hint::StartAgain]
        }
        StopReason::Blocked { .. } => vec![Hint::Answer],
        StopReason::AgentFailed { problem, .. } if problem.finding == Some(Finding::NoLiveChannel) => {
            let adapter = Text::from(&state.view.adapter);
            vec![Hint::NeedLiveChannel { adapter }]
        }
        StopReason::AgentFailed { problem, .. } => for_problem(state, problem.kind),
        StopReason::PlanInvalid { .. } => to_read(state),
        StopReason::LimitReached { limit } => {
            let raise = Hint::RaiseLimit { limit: *limit };
            about_refusal(state).into_iter().chain([raise]).collect()
        }
        StopReason::TaskLimitReached { limit, .. } => vec![Hint::RaiseLimit { limit: *limit }],
        StopReason::Broken {
            why: Breakdown::RepositoryLost { lost },
        } => {
            let lost = lost.clone();
            vec![Hint::BringRepositoryBack { lost }]
        }
        StopReason::Broken { .. } => vec![Hint::FixCause],
        StopReason::Requested | StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp => {
            vec![Hint::Resume]
        }
    }
}

/// The way out of the last refusal of a run that a limit has ended: more of the same would be refused, too.
fn about_refusal(state: &LoopState) -> Vec<Hint> {
    match standing_refusal(&state.view) {
        Some(StandingRefusal {
            reason: Missing::GoalFailed { goal, .. },
            ..
        }) => vec![see_goal(goal, goal_since(&state.view, goal))],
        Some(refusal) if refusal.reason.may_be_confirmed() => {
            about_tests(state, refusal.files.first().copied(), refusal.iteration).collect()
        }
        Some(_) | None => Vec::new(),
    }
}

fn see_goal(goal: &Text, since: GoalSince) -> Hint {
    let broken_by = match since {
        GoalSince::Broken { by } => by.alone(),
        GoalSince::Unknown | GoalSince::Always => None,
    };
    let goal = goal.clone();
    Hint::SeeGoal { goal, broken_by }
}

/// How to see the changes to tests for which claims are refused, and how to confirm them.
fn about_tests(state: &LoopState, file: Option<&Text>, iteration: Option<u32>) -> impl Iterator<Item = Hint> {
    let see = file.cloned().map(|file| Hint::SeeTests { iteration, file });
    let is_asked = state.view.permissions.about_tests().is_some();
    see.into_iter().chain(is_asked.then_some(Hint::ConfirmTests))
}

/// The latest iteration whose changes can be shown.
fn see_changes(state: &LoopState) -> Hint {
    let mut rows = state.view.iterations.rows.iter().rev();
    let shown = rows.find(|row| {
        let has_changes = row.changes.unwrap_or_default() != Changes::default();
        has_changes && row.before.is_some() && row.after.is_some()
    });
    shown.map_or(Hint::SplitTask, |row| Hint::SeeDiff { iteration: row.number })
}

fn for_problem(state: &LoopState, kind: ProblemKind) -> Vec<Hint> {
    let adapter = &state.view.adapter;
    match kind {
        ProblemKind::Auth if state.view.settings.logins.contains_key(adapter) => {
            let how = Text::from(&state.view.settings.logins[adapter]);
            vec![Hint::LogIn { how }, Hint::Resume]
        }
        ProblemKind::ModelUnknown => vec![Hint::NameModel],
        kind if kind.class() == ProblemClass::Setup => {
            let adapter = Text::from(adapter);
            vec![Hint::CheckAdapter { adapter }]
        }
        _ => vec![Hint::Resume],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Checkpoint, CommentPlace, Problem, Settings, SteeringKind, UserCommand},
        machine::{
            Input, Preparation, Refusal, Settlement,
            testing::{self, Run},
        },
    };

    /// A run that prepares its first iteration, with the login command of its adapter.
    fn begun() -> Run {
        Run::begun(Settings {
            adapter: "own".to_owned(),
            logins: [("own".to_owned(), "own login".to_owned())].into(),
            ..Settings::default()
        })
    }

    fn running() -> Run {
        let mut run = begun();
        begin(&mut run);
        run
    }

    fn begin(run: &mut Run) {
        let checkpoint = Checkpoint {
            commit: "c".to_owned(),
            tree: "t".to_owned(),
            head: None,
        };
        let due = run.state.view.messages.iter().filter(|message| message.is_due());
        let delivered = due.map(|message| message.id).collect();
        run.prepared(Preparation {
            checkpoint: Some(checkpoint),
            delivered,
            ..testing::preparation(testing::plan(&[("task", false)]))
        });
    }

    fn end(run: &mut Run, done: bool) {
        run.end_session();
        run.settled(Settlement::from_plan(Ok(testing::plan(&[("task", done)])), 0.0));
    }

    fn hints_at_end(run: &Run) -> Vec<Hint> {
        run.state.view.end().expect("an end").hints.clone()
    }

    #[test]
    fn a_plan_that_became_unreadable_can_be_restored_from_the_last_readable_state() {
        let unreadable = || "no such file".to_owned();
        // The iteration broke it, and the run ends for another reason.
        let mut broken = running();
        broken.end_session();
        broken.settled(Settlement::from_plan(Err(unreadable()), 0.0));
        let restore = |iteration, moment| Hint::Restore { iteration, moment };
        let told = hints(&broken.state, &StopReason::Requested);
        assert!(told.contains(&Hint::FixPlan), "{told:?}");
        assert!(told.contains(&restore(1, RestoreMoment::Before)), "{told:?}");
        let refuse = |run: &mut Run, iteration| {
            let result = Err(Refusal::Plan { why: unreadable() });
            run.take(&Input::Prepared { iteration, result });
        };
        // It was broken after the iteration.
        let mut broken = running();
        end(&mut broken, false);
        refuse(&mut broken, 2);
        assert_eq!(hints_at_end(&broken), [restore(1, RestoreMoment::After), Hint::FixPlan]);
        let mut broken = begun();
        refuse(&mut broken, 1);
        assert_eq!(hints_at_end(&broken), [Hint::FixPlan], "there is nothing to restore");
    }

    #[test]
    fn a_checkpoint_without_an_iteration_is_not_offered() {
        let mut state = running().state;
        state.view.iterations.number = 0;
        let why = "no such file".into();
        assert_eq!(hints(&state, &StopReason::PlanInvalid { why }), [Hint::FixPlan]);
    }

    #[test]
    fn drafts_of_comments_are_named_with_their_number() {
        let mut run = running();
        end(&mut run, true);
        assert_eq!(hints_at_end(&run), [Hint::SetGoal]);
        let mut run = running();
        for text in ["one", "two"] {
            let (place, text) = (Box::new(CommentPlace::default()), text.to_owned());
            run.command(UserCommand::WriteComment { place, text });
        }
        end(&mut run, true);
        assert_eq!(hints_at_end(&run)[1..], [Hint::CommentsUnsent { drafts: 2 }]);
    }

    #[test]
    fn a_standing_message_expires_with_a_run_that_is_not_done_and_a_delivered_one_does_not() {
        for (kind, done, expires) in [
            (SteeringKind::Standing, false, true),
            (SteeringKind::Standing, true, false),
            (SteeringKind::Next, false, false),
        ] {
            let mut run = begun();
            let text = "use tabs".to_owned();
            run.command(UserCommand::Steer { kind, text });
            begin(&mut run);
            end(&mut run, done);
            let reason = match done {
                true => StopReason::done(Proof::Nothing),
                false => StopReason::Requested,
            };
            let message = |hint: &Hint| matches!(hint, Hint::MessageExpires { .. });
            assert_eq!(
                hints(&run.state, &reason).iter().any(message),
                expires,
                "{kind:?} {done}"
            );
        }
    }

    #[test]
    fn a_failed_agent_is_mended_where_its_problem_is() {
        let adapter = || "own".into();
        let how = "own login".into();
        for (problem, wanted) in [
            (
                Problem::found(ProblemKind::Usage, Finding::NoLiveChannel),
                vec![Hint::NeedLiveChannel { adapter: adapter() }],
            ),
            (
                Problem::said(ProblemKind::Auth, "401"),
                vec![Hint::LogIn { how }, Hint::Resume],
            ),
            (Problem::said(ProblemKind::ModelUnknown, "404"), vec![Hint::NameModel]),
            (
                Problem::said(ProblemKind::NotInstalled, ""),
                vec![Hint::CheckAdapter { adapter: adapter() }],
            ),
            (Problem::found(ProblemKind::Hung, Finding::Idle), vec![Hint::Resume]),
        ] {
            let reason = StopReason::AgentFailed {
                adapter: "own".to_owned(),
                problem,
            };
            assert_eq!(hints(&running().state, &reason), wanted, "{reason:?}");
        }
        let mut state = running().state;
        state.view.settings.logins.clear();
        let reason = StopReason::AgentFailed {
            adapter: "own".to_owned(),
            problem: Problem::said(ProblemKind::Auth, "401"),
        };
        let check = vec![Hint::CheckAdapter { adapter: adapter() }];
        assert_eq!(hints(&state, &reason), check, "no login command is known");
    }
}
