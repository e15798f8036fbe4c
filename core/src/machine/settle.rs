//! Decides what follows an iteration: completion, verification, another iteration, a wait, a pause or the end.

use crate::{
    event::{
        AskEvent, Breakdown, BreakerCause, BreakerState, CancelReason, Claim, ClaimEvent, ConfirmedBy, Denial, Event,
        Finding, GateEvent, GoalsWhen, IterationEvent, LimitKind, LostRepository, Missing, Notice, Outcome, PlanEvent,
        PlanSnapshot, Problem, ProblemKind, Proof, RequestedBy, ReviewEvent, Role, SessionMode, StopReason,
        StopRequest, TaskEvent, Text, TimeEvent, Wait, WaitCause, WorkerEvent,
    },
    limits::{LimitScope, day_limit_reached, run_limit_reached},
    notices,
    run::{Observation, Phase, StopAsked, TaskChanges, scope_question, tests_question},
};

use super::{
    FoundTests, ScopeFinding, Settlement, Verification,
    breaker::{self, LoopControl},
    comments,
    decision::StepDecision,
    gate, permission,
    policy::{self, Reaction, undelivered},
    review,
    state::LoopState,
};

/// A task that is reported blocked this often ends the run.
const BLOCKS: usize = 3;

/// Records the settlement and decides what follows.
pub(super) fn settled(decision: &mut StepDecision, now_ms: u64, iteration: u32, outcome: &Outcome, found: &Settlement) {
    decision.told(&found.leftovers, &found.notices);
    let task = decision
        .state
        .view
        .iterations
        .latest()
        .and_then(|latest| latest.task.clone());
    let is_missing = |state: &LoopState| task.as_ref().is_some_and(|task| state.view.missing.contains(task));
    let was_missing = is_missing(&decision.state);
    match &found.plan {
        Ok(plan) => plan_found(decision, iteration, plan, &found.vanished, &found.added),
        Err(why) => unreadable(decision, why),
    }
    // The session was told to put it back.
    let not_back =
        (was_missing && is_missing(&decision.state)).then(|| notices::not_put_back(&decision.state.view.missing));
    decision.lines_unread(found.unread.as_ref());
    if let Some(task) = &task {
        set_aside_at_limit(decision, iteration, task);
    }
    comments::placed(decision, iteration, &found.comments);
    let progress = progress(&decision.state, found);
    decision.push(Event::Iteration(IterationEvent::Settled {
        iteration,
        checkpoint: found.checkpoint.clone(),
        changes: found.changes,
        totals: found.totals,
        progress,
        undone: false,
        committed: found.committed.clone(),
        elsewhere: found.elsewhere.clone(),
    }));
    scopes_checked(decision, iteration, &found.scopes);
    for claim in &found.claims {
        decision.push(Event::Claim(ClaimEvent::Made {
            iteration,
            claim: *claim,
        }));
    }
    if found.plan.is_ok() && gate::is_worked_off(&decision.state) && *outcome == Outcome::Completed {
        decision.push(Event::Claim(ClaimEvent::Made {
            iteration,
            claim: Claim::PlanComplete,
        }));
    }
    let denies = |why: &String| Denial::NotDone { why: why.into() };
    let denial = found.denies_done.as_ref().map(denies).or_else(|| {
        // A blocked agent is not done, even if every box is ticked.
        let blocked = found
            .blocked
            .as_ref()
            .filter(|_| !decision.state.view.iterations.latest_assessment().claims.is_empty());
        blocked.map(|question| Denial::Blocked {
            question: question.into(),
        })
    });
    if let Some(why) = denial {
        decision.push(Event::Claim(ClaimEvent::Denied { iteration, why }));
    }
    // A question does not block the task if the iteration made progress anyway.
    let asked = decision
        .state
        .internal
        .asked
        .clone()
        .filter(|_| *outcome == Outcome::Completed);
    let asks = found
        .question
        .clone()
        .or(asked)
        .filter(|_| progress != Some(true) && decision.state.view.iterations.latest_assessment().claims.is_empty());
    let reason = CancelReason::Denied;
    let refused = (*outcome == Outcome::Cancelled { reason })
        .then(|| permission::question(&decision.state.view.permissions))
        .flatten();
    if let Some(question) = found.blocked.clone().or(asks).or(refused).or(not_back) {
        decision.push(Event::Task(TaskEvent::Blocked {
            iteration,
            task,
            question: question.into(),
        }));
    }
    if let Some(tests) = &found.tests {
        tests_changed(decision, iteration, tests);
    }
    if let Some(lost) = &found.lost {
        return repository_lost(decision, lost);
    }
    if let Some(reason) = requested(&decision.state) {
        // Completion wins over a stop request, unless a message would be lost with it.
        if let gate::Verdict::Done {
            proof: Proof::Nothing, ..
        } = gate::judge(&decision.state, outcome)
            && found.plan.is_ok()
            && undelivered(&decision.state).is_none()
        {
            return decision.stop(gate::done(&decision.state, Proof::Nothing));
        }
        return decision.stop(reason);
    }
    if found.plan.is_err() {
        let is_claimed = !found.claims.is_empty();
        return go_on_unread(decision, now_ms, iteration, outcome, is_claimed, found.random);
    }
    if !found.unchecked.is_empty() {
        return verify(decision, iteration, found.unchecked.clone(), true);
    }
    if wants_goals(&decision.state, outcome) {
        return start_verification(decision, iteration);
    }
    conclude(decision, now_ms, iteration, outcome, found.random);
}

/// Ends the run regardless of claims and requests: no later iteration could be looked at or undone.
pub(super) fn repository_lost(decision: &mut StepDecision, lost: &LostRepository) {
    let lost = Box::new(lost.clone());
    let why = Breakdown::RepositoryLost { lost };
    decision.stop(StopReason::Broken { why });
}

/// Accepts changed tests if the plan permits it, or asks the user to confirm them.
fn tests_changed(decision: &mut StepDecision, iteration: u32, found: &FoundTests) {
    let latest = decision.state.view.iterations.latest();
    let task = latest.and_then(|latest| latest.task.clone());
    match task.filter(|_| found.allowed) {
        Some(task) => decision.push(Event::Gate(GateEvent::TestsConfirmed {
            iteration,
            changes: found.change.changes.clone(),
            by: ConfirmedBy::Plan { task: task.into() },
        })),
        None => {
            let number = decision.state.view.permissions.asked + 1;
            let ask = Box::new(tests_question(number, iteration, &found.change));
            decision.push(Event::Ask(AskEvent::Asked { ask }));
        }
    }
}

/// Records what was found about scopes, and asks the user about ticks that do not count for it.
fn scopes_checked(decision: &mut StepDecision, iteration: u32, found: &[ScopeFinding]) {
    for finding in found {
        let outside: Vec<Text> = finding.outside.iter().map(Text::from).collect();
        let known = decision
            .state
            .internal
            .scopes
            .iter()
            .find(|known| known.task == finding.task);
        let is_known = match known {
            Some(known) => known.outside == outside && known.more == finding.more,
            None => outside.is_empty() && finding.more == 0,
        };
        if is_known && !(finding.ticked && known.is_some_and(TaskChanges::holds_tick)) {
            continue;
        }
        decision.push(Event::Task(TaskEvent::ScopeChecked {
            iteration,
            task: finding.task.clone(),
            outside: outside.into(),
            more: finding.more,
            ticked: finding.ticked,
            since: None,
        }));
    }
    if let Some(ask) = scope_question(&decision.state.view, iteration, &decision.state.internal.scopes) {
        decision.push(Event::Ask(AskEvent::Asked { ask: Box::new(ask) }));
    }
}

/// Records that the task of the iteration is set aside, if it reached its limit and is still open.
fn set_aside_at_limit(decision: &mut StepDecision, iteration: u32, task: &str) {
    let view = &decision.state.view;
    let Some((_, limit)) = view.tasks_at_limit().find(|(text, _)| *text == task) else {
        return;
    };
    let work = view.iterations.work.get(task);
    let (iterations, usage) = work.map(|work| (work.counted, work.usage)).unwrap_or_default();
    decision.push(Event::Task(TaskEvent::SetAside {
        iteration,
        task: task.to_owned(),
        limit,
        iterations,
        usage,
    }));
}

fn wants_goals(state: &LoopState, outcome: &Outcome) -> bool {
    if gate::goals_due(state).next().is_none() {
        return false;
    }
    match state.view.settings.goals_when {
        GoalsWhen::Claim | GoalsWhen::Background => gate::wants_goals(state, outcome),
        GoalsWhen::Iteration => gate::wants_goals(state, outcome) || *outcome == Outcome::Completed,
    }
}

/// Starts running the goals.
pub(super) fn start_verification(decision: &mut StepDecision, iteration: u32) {
    let goals = gate::goals_due(&decision.state).map(|goal| goal.name.clone()).collect();
    verify(decision, iteration, goals, false);
}

/// Begins the verification anew that goes on now.
pub(super) fn verify_again(decision: &mut StepDecision, iteration: u32) {
    if !matches!(decision.state.view.phase, Phase::Verifying { ticks: true, .. }) {
        return start_verification(decision, iteration);
    }
    let goals = decision.state.view.running_goals();
    let goals = goals.map(|goal| goal.name.clone()).collect();
    verify(decision, iteration, goals, true);
}

fn verify(decision: &mut StepDecision, iteration: u32, goals: Vec<String>, ticks: bool) {
    decision.push(Event::Gate(GateEvent::VerificationStarted {
        iteration,
        goals,
        ticks,
    }));
}

/// Records the results of the checks of ticked tasks, and judges the iteration with the tasks that count as done now.
pub(super) fn ticks_checked(
    decision: &mut StepDecision,
    now_ms: u64,
    iteration: u32,
    outcome: &Outcome,
    found: &Verification,
) {
    if !record(decision, iteration, found) {
        return;
    }
    if found.plan.is_err() {
        return go_on_unread(decision, now_ms, iteration, outcome, true, found.random);
    }
    if gate::is_worked_off(&decision.state) && *outcome == Outcome::Completed {
        let claim = Claim::PlanComplete;
        decision.push(Event::Claim(ClaimEvent::Made { iteration, claim }));
    }
    if requested(&decision.state).is_none() && wants_goals(&decision.state, outcome) {
        return start_verification(decision, iteration);
    }
    conclude(decision, now_ms, iteration, outcome, found.random);
}

/// Records the results of the goals and decides what follows.
pub(super) fn verified(
    decision: &mut StepDecision,
    now_ms: u64,
    iteration: u32,
    outcome: &Outcome,
    found: &Verification,
) {
    if !record(decision, iteration, found) {
        return;
    }
    match found.plan.is_ok() {
        true => conclude(decision, now_ms, iteration, outcome, found.random),
        false => go_on_unread(decision, now_ms, iteration, outcome, true, found.random),
    }
}

/// Records the results of goals and the plan after them. Returns false if the iteration cannot be judged by them, as the
/// goals are run again.
fn record(decision: &mut StepDecision, iteration: u32, found: &Verification) -> bool {
    if decision.state.internal.confirmed_meanwhile {
        verify_again(decision, iteration);
        return false;
    }
    decision.told(&[], &found.notices);
    for result in &found.results {
        decision.push(Event::Gate(GateEvent::GoalChecked {
            iteration,
            result: result.clone(),
        }));
    }
    for result in found.results.iter().filter(|_| iteration > 0) {
        if gate::fails_as_at_start(&decision.state, result) {
            decision.notice(notices::known_failures(&result.name, &result.failed_tests));
        }
    }
    if let Some(trial) = &found.trial {
        let trial = trial.clone();
        decision.push(Event::Gate(GateEvent::TrialMade { iteration, trial }));
    }
    if !found.mutants.is_empty() {
        let mutants = found.mutants.clone();
        decision.push(Event::Gate(GateEvent::MutantsTried {
            iteration,
            mutants: mutants.into(),
        }));
    }
    match &found.plan {
        Ok(plan) => plan_found(decision, iteration, plan, &found.vanished, &found.added),
        Err(why) => unreadable(decision, why),
    }
    // As a reason to refuse the claim, it would send the agent to work for ever.
    if let Some(why) = &found.broken {
        decision.stop(no_originals(why));
        return false;
    }
    true
}

fn unreadable(decision: &mut StepDecision, why: &str) {
    decision.push(Event::Plan(PlanEvent::NotRead { why: why.into() }));
}

/// Goes on although the plan cannot be read. The plan of before is known, so the agent is told and tries again.
fn go_on_unread(
    decision: &mut StepDecision,
    now_ms: u64,
    iteration: u32,
    outcome: &Outcome,
    is_claimed: bool,
    random: f64,
) {
    if is_claimed {
        let reasons = vec![Missing::PlanUnreadable].into();
        decision.push(Event::Claim(ClaimEvent::Refused { iteration, reasons }));
    }
    go_on(decision, now_ms, iteration, outcome, random);
}

/// Returns the end of a run whose tests cannot be compared with the original ones.
pub(super) fn no_originals(why: &str) -> StopReason {
    let why = Breakdown::NoOriginals { why: why.into() };
    StopReason::Broken { why }
}

/// Records the current plan, with removed and added tasks.
fn plan_found(decision: &mut StepDecision, iteration: u32, plan: &PlanSnapshot, vanished: &[String], added: &[String]) {
    decision.plan_read(plan);
    if !vanished.is_empty() || !added.is_empty() {
        decision.push(Event::Plan(PlanEvent::Edited {
            iteration,
            vanished: vanished.to_vec(),
            added: added.to_vec(),
        }));
    }
}

/// Judges the claims of a fully known iteration and decides what follows.
fn conclude(decision: &mut StepDecision, now_ms: u64, iteration: u32, outcome: &Outcome, random: f64) {
    match gate::judge(&decision.state, outcome) {
        gate::Verdict::Done { proof, confidence } => {
            let (confidence, parts) = (confidence.points(), confidence.parts);
            decision.push(Event::Claim(ClaimEvent::Judged {
                iteration,
                confidence,
                parts: parts.into(),
            }));
            let merged: Vec<_> = gate::merged_tests(&decision.state)
                .into_iter()
                .map(notices::tests_merged)
                .collect();
            merged.into_iter().for_each(|notice| decision.notice(notice));
            let Some(message) = undelivered(&decision.state) else {
                return done(decision, now_ms, outcome, proof);
            };
            decision.notice(notices::message_outstanding(message));
            return next(decision, now_ms);
        }
        gate::Verdict::Refused(refused) => {
            let (confidence, parts) = (refused.confidence.points(), refused.confidence.parts);
            decision.push(Event::Claim(ClaimEvent::Judged {
                iteration,
                confidence,
                parts: parts.into(),
            }));
            let question = gate::awaits_resolution(&decision.state, &refused.reasons);
            decision.push(Event::Claim(ClaimEvent::Refused {
                iteration,
                reasons: Missing::listed(refused.reasons),
            }));
            if let (Some(question), None) = (question, undelivered(&decision.state)) {
                let asked_for = requested(&decision.state);
                return decision.stop(asked_for.unwrap_or(StopReason::Blocked { question }));
            }
        }
        gate::Verdict::NoClaim => {
            // A tick whose check failed is refused, although it claims one task only. So is one for files outside of its scope.
            let checks = gate::goal_reasons(gate::failed_checks(&decision.state));
            let reasons: Vec<Missing> = checks.chain(gate::scope_reasons(&decision.state)).collect();
            if !reasons.is_empty() {
                let reasons = Missing::listed(reasons);
                decision.push(Event::Claim(ClaimEvent::Refused { iteration, reasons }));
            }
        }
    }
    go_on(decision, now_ms, iteration, outcome, random);
}

/// Decides what follows an iteration after which the work is not done.
fn go_on(decision: &mut StepDecision, now_ms: u64, iteration: u32, outcome: &Outcome, random: f64) {
    if let Some(reason) = requested(&decision.state) {
        return decision.stop(reason);
    }
    // Iteration 0 is the verification before the first iteration.
    if iteration > 0 {
        let progress = decision
            .state
            .view
            .iterations
            .latest_work()
            .and_then(|latest| latest.progress);
        let observation = Observation::from_outcome(outcome, progress);
        if breaker::judge(decision, now_ms, outcome, &observation) == LoopControl::Halt {
            return;
        }
    }
    if review::is_wanted(&decision.state, outcome, false) && !is_obstructed(decision, now_ms) {
        review::request(decision, false);
    }
    follow(decision, now_ms, outcome, random);
}

/// Completes the run, or requests the final review.
fn done(decision: &mut StepDecision, now_ms: u64, outcome: &Outcome, proof: Proof) {
    let is_reviewed = review::is_wanted(&decision.state, outcome, true)
        // Completion wins over a stop request.
        && requested(&decision.state).is_none()
        && !is_obstructed(decision, now_ms);
    if !is_reviewed {
        return decision.stop(gate::done(&decision.state, proof));
    }
    review::request(decision, true);
    next(decision, now_ms);
}

/// Whether a review cannot be made now. Announces the reason.
fn is_obstructed(decision: &mut StepDecision, now_ms: u64) -> bool {
    let why = review::obstacle(&decision.state, now_ms);
    if let (Some(why), Some(review)) = (why, &decision.state.view.settings.review) {
        decision.notice(notices::review_omitted(&review.by.adapter, why));
    }
    why.is_some()
}

/// Whether the iteration made progress: a tree that is new in this run, more ticked boxes than ever, or a first commit
/// of an unchanged tree. Never the agent's own word; `None` if nothing can be compared.
fn progress(state: &LoopState, found: &Settlement) -> Option<bool> {
    if found
        .plan
        .as_ref()
        .is_ok_and(|plan| plan.done() > state.internal.most_done)
    {
        return Some(true);
    }
    let (Some(now), Some(before)) = (&found.checkpoint, &state.internal.latest) else {
        return found.moved;
    };
    // The agent makes no progress with a commit by ralph.
    let commits_what_was_there = found.committed.is_none()
        && now.head != before.head
        && now.tree == before.tree
        && state.internal.committed_tree.as_deref() != Some(now.tree.as_str());
    Some(commits_what_was_there || !state.internal.trees.contains(&now.tree))
}

fn follow(decision: &mut StepDecision, now_ms: u64, outcome: &Outcome, random: f64) {
    match outcome {
        Outcome::Completed | Outcome::Interrupted => next(decision, now_ms),
        Outcome::Failed { problem } => follow_failure(decision, now_ms, problem, random),
        Outcome::Cancelled { reason } => match reason {
            // The agent continued despite the refusals or the limit; otherwise the outcome would be a failure.
            CancelReason::LoginRefused
            | CancelReason::Limited
            | CancelReason::Flooded
            | CancelReason::Denied
            | CancelReason::Skipped
            | CancelReason::Steered
            | CancelReason::IterationTimeout
            | CancelReason::MaxSteps
            | CancelReason::Stopped => next(decision, now_ms),
            CancelReason::IdleTimeout => {
                let hung = Problem::found(ProblemKind::Hung, Finding::Idle);
                follow_failure(decision, now_ms, &hung, random);
            }
            CancelReason::Limit(limit) => match limit.row().scope {
                LimitScope::Run => decision.stop(StopReason::LimitReached { limit: *limit }),
                // Another task may be next, or the next day.
                LimitScope::Task | LimitScope::Day | LimitScope::Hour | LimitScope::Iteration => {
                    next(decision, now_ms);
                }
            },
        },
    }
}

fn follow_failure(decision: &mut StepDecision, now_ms: u64, problem: &Problem, random: f64) {
    if decision.state.view.settings.session == SessionMode::Resume
        && let Some(notice) = loses_session(problem.kind)
    {
        decision.notice(notice);
    }
    if problem.finding == Some(Finding::NoLiveChannel) {
        return without_live_channel(decision, now_ms, problem);
    }
    match policy::react(&decision.state, problem.kind, now_ms, random) {
        Reaction::Stop => decision.stop(StopReason::AgentFailed {
            adapter: decision.state.view.adapter.clone(),
            problem: problem.clone(),
        }),
        Reaction::GoOn => next(decision, now_ms),
        Reaction::Wait { wait, until_ms } => {
            // Waiting would only delay the stop at the limit.
            if let Some(limit) = run_limit_reached(&decision.state.view, now_ms) {
                return decision.stop(StopReason::LimitReached { limit });
            }
            let mut until_ms = until_ms;
            if wait == Wait::LimitReset && !decision.state.view.settings.fallback.is_empty() {
                let adapter = decision.state.view.adapter.clone();
                decision.push(Event::Worker(WorkerEvent::AdapterLimited { adapter, until_ms }));
                match policy::worker_at(&decision.state, now_ms) {
                    Ok(_) => return next(decision, now_ms),
                    Err(first_free_ms) => until_ms = first_free_ms,
                }
            }
            decision.push(Event::Time(TimeEvent::WaitStarted {
                wait,
                until_ms,
                attempt: decision.state.view.iterations.failures,
                why: WaitCause::Failure {
                    problem: problem.clone(),
                },
            }));
        }
    }
}

/// Switches to the one-way channel, as the installed version of the agent has no live channel.
fn without_live_channel(decision: &mut StepDecision, now_ms: u64, problem: &Problem) {
    let adapter = decision.state.view.adapter.clone();
    // On the one-way channel the agent would ask for nothing.
    let asks = !decision.state.view.permission_mode().is_auto();
    if decision.state.view.settings.live_only || asks {
        let problem = problem.clone();
        return decision.stop(StopReason::AgentFailed { adapter, problem });
    }
    decision.push(Event::Worker(WorkerEvent::LiveChannelGivenUp {
        adapter,
        why: problem.text.clone(),
    }));
    next(decision, now_ms);
}

/// Why the session cannot be continued after such a failure; `None` if it can.
fn loses_session(kind: ProblemKind) -> Option<Notice> {
    match kind {
        ProblemKind::SessionLost => Some(notices::session_lost()),
        ProblemKind::ContextOverflow => Some(notices::session_too_long()),
        _ => None,
    }
}

/// Starts the next iteration, unless something prevents it.
pub(super) fn next(decision: &mut StepDecision, now_ms: u64) {
    if let Some(reason) = requested(&decision.state) {
        return decision.stop(reason);
    }
    if !review::next_role(&decision.state).is_work() && is_obstructed(decision, now_ms) {
        decision.push(Event::Review(ReviewEvent::Withdrawn));
    }
    // Set-aside tasks and the iteration limit do not prevent a review. Other obstacles were checked above.
    if review::next_role(&decision.state).is_work() {
        let sent_back = decision.state.sent_back_to().is_some();
        let out_of_tasks = out_of_tasks(&decision.state).filter(|_| !sent_back);
        // The recorded plan is only current right after an iteration. Otherwise the user may have changed it since.
        if let Some(reason) = out_of_tasks.filter(|_| decision.state.view.phase.outcome().is_some()) {
            return decision.stop(reason);
        }
        if let Some(question) = blocked_for_good(&decision.state) {
            return decision.stop(StopReason::Blocked {
                question: question.into(),
            });
        }
        if let Some(limit) = run_limit_reached(&decision.state.view, now_ms) {
            return decision.stop(StopReason::LimitReached { limit });
        }
    }
    if decision.state.view.is_paused() {
        return decision.push(Event::Time(TimeEvent::Held));
    }
    if let Some(limit) = day_limit_reached(&decision.state.view, now_ms) {
        return end_of_day(decision, limit);
    }
    if let Some(until_ms) = policy::call_budget_until(&decision.state, now_ms) {
        return decision.push(Event::Time(TimeEvent::WaitStarted {
            wait: Wait::CallBudget,
            until_ms,
            attempt: 0,
            why: WaitCause::CallsUsedUp,
        }));
    }
    if decision.state.view.breaker.state == BreakerState::Open {
        decision.push(Event::BreakerMoved {
            to: BreakerState::HalfOpen,
            why: BreakerCause::OneMoreTry,
        });
    }
    prepare(decision, now_ms);
}

/// Waits for the next day if the run's time limit permits it; otherwise stops.
fn end_of_day(decision: &mut StepDecision, limit: LimitKind) {
    let view = &decision.state.view;
    let until_ms = view.spending.day.map_or(0, |day| day.until_ms);
    let outlives = policy::max_time_at(&decision.state).is_none_or(|over_ms| over_ms > until_ms);
    match outlives {
        true => decision.push(Event::Time(TimeEvent::WaitStarted {
            wait: Wait::DayBudget,
            until_ms,
            attempt: 0,
            why: WaitCause::DayUsedUp { limit },
        })),
        false => decision.stop(StopReason::LimitReached { limit }),
    }
}

/// The reason to stop if all open tasks are set aside and at least one reached its limit.
pub(super) fn out_of_tasks(state: &LoopState) -> Option<StopReason> {
    let view = &state.view;
    let (task, limit) = view.tasks_at_limit().last()?;
    let open_elsewhere = view.plan.current_except(&view.set_aside()).is_some();
    let task = task.to_owned();
    (!open_elsewhere).then_some(StopReason::TaskLimitReached {
        limit,
        task: task.into(),
    })
}

/// Starts the preparation of the next iteration with its worker.
pub(super) fn prepare(decision: &mut StepDecision, now_ms: u64) {
    let role = review::next_role(&decision.state);
    let adapter = review::worker(&decision.state, role, now_ms).adapter;
    if role == Role::Work {
        announce_stand_in(decision, &adapter);
    }
    decision.push(Event::Iteration(IterationEvent::PreparationStarted {
        iteration: decision.state.view.iterations.number + 1,
        adapter,
        role,
    }));
}

/// Announces that a limit caused a switch to another adapter.
fn announce_stand_in(decision: &mut StepDecision, adapter: &str) {
    let view = &decision.state.view;
    // The adapter of a review does not count, as it replaces no author.
    let reviewed = view.iterations.latest_work().filter(|_| !view.role.is_work());
    let before = reviewed.map_or(&view.adapter, |latest| &latest.adapter);
    let was_another = !before.is_empty() && before != adapter;
    // A switch requested by a task has its own notice.
    let for_a_limit =
        view.limited.contains_key(adapter) || adapter != policy::requested_worker(&decision.state).adapter;
    if was_another && for_a_limit {
        decision.notice(notices::adapter_switched(adapter));
    }
}

/// The question that blocks all further work, if any.
fn blocked_for_good(state: &LoopState) -> Option<String> {
    let left_out = state.view.left_out();
    let is_left_out = |task: &String| left_out.contains(task);
    let mut blocks = state.view.blocks.iter().rev();
    let last = blocks.find(|block| !block.task.as_ref().is_some_and(is_left_out))?;
    let is_sent_back = state.sent_back_to().is_some();
    let open_elsewhere = is_sent_back || state.view.plan.current_except(&state.view.set_aside()).is_some();
    let repeated = state.view.blocks.iter().filter(|block| block.task == last.task).count() >= BLOCKS;
    (!open_elsewhere || repeated).then(|| last.question.clone())
}

/// The requested reason to stop, if any.
pub(super) fn requested(state: &LoopState) -> Option<StopReason> {
    let StopAsked { request, by } = state.view.stop?;
    Some(match (by, request) {
        (RequestedBy::Interrupt, _) => StopReason::Interrupted,
        (RequestedBy::Terminate, _) => StopReason::Terminated,
        (RequestedBy::Hangup, _) => StopReason::HungUp,
        (RequestedBy::User, StopRequest::AfterIteration | StopRequest::Graceful | StopRequest::Immediate) => {
            StopReason::Requested
        }
    })
}

/// Stops without a settlement after a request for an immediate stop.
pub(super) fn stop_if_at_once(decision: &mut StepDecision) {
    let asked = decision.state.view.stop;
    if asked.is_some_and(|asked| asked.request == StopRequest::Immediate)
        && let Some(reason) = requested(&decision.state)
    {
        decision.stop(reason);
    }
}
