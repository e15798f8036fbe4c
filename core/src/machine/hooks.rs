//! Decides when hooks are run. They are recorded before they are started, so that no hook is repeated after a crash.

use std::collections::BTreeSet;

use crate::{
    event::{
        BackgroundEnd, BackgroundResult, Breakdown, Event, Hook, HookEvent, StopReason, StopRequest, TaskEvent, Text,
    },
    notices,
    run::{Phase, RunningHook},
};

use super::{Input, decision::StepDecision, state::LoopState};

/// The parts of the state before a step that decide which hooks follow it.
#[derive(Debug, Clone)]
pub(super) struct HookContext {
    /// The iteration whose result was being examined.
    examined: Option<u32>,
    /// The iteration that was being prepared.
    prepared: Option<u32>,
    is_over: bool,
}

impl HookContext {
    pub(super) fn from_state(state: &LoopState) -> Self {
        Self {
            examined: examined(&state.view.phase),
            prepared: prepared(&state.view.phase),
            is_over: state.view.is_over(),
        }
    }
}

/// The iteration whose result is being examined. The check before the first iteration belongs to none.
fn examined(phase: &Phase) -> Option<u32> {
    match phase {
        Phase::Settling { iteration, .. } | Phase::Verifying { iteration, .. } => Some(*iteration).filter(|it| *it > 0),
        _ => None,
    }
}

/// The iteration that is being prepared. The check before the first iteration is a part of its preparation.
fn prepared(phase: &Phase) -> Option<u32> {
    match phase {
        Phase::Preparing { iteration } => Some(*iteration),
        Phase::Verifying { iteration: 0, .. } => Some(1),
        _ => None,
    }
}

/// Starts the hooks that follow a step, in the order of a run.
pub(super) fn start_due(decision: &mut StepDecision, before: &HookContext, input: &Input) {
    if decision.state.view.settings.hooks.is_none() {
        return;
    }
    let blocked: Vec<(Option<String>, Text)> = decision
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::Task(TaskEvent::Blocked { task, question, .. }) => Some((task.clone(), question.clone())),
            _ => None,
        })
        .collect();
    for (task, question) in blocked {
        start(decision, Hook::OnBlocked, task.map(Text::from), Some(question));
    }
    let phase = decision.state.view.phase.clone();
    if before.examined.is_some() && examined(&phase).is_none() {
        start(decision, Hook::AfterIteration, None, None);
        for task in newly_done(&decision.state) {
            start(decision, Hook::OnTaskDone, Some(task.into()), None);
        }
    }
    // An iteration may be prepared anew; what a killed ralph began does not count.
    let is_new = |iteration: u32| before.prepared != Some(iteration) || matches!(input, Input::Recover { .. });
    if prepared(&phase).is_some_and(is_new) {
        start(decision, Hook::BeforeIteration, None, None);
    }
    let at_once = decision
        .state
        .view
        .stop
        .is_some_and(|stop| stop.request == StopRequest::Immediate);
    if decision.state.view.is_over() && !before.is_over && !at_once {
        start(decision, Hook::OnEnd, None, None);
    }
}

fn start(decision: &mut StepDecision, hook: Hook, task: Option<Text>, question: Option<Text>) {
    let view = &decision.state.view;
    if view.settings.hooks.command(hook).is_none() {
        return;
    }
    let number = view.hooks.started + 1;
    let iteration = match prepared(&view.phase) {
        Some(iteration) if hook == Hook::BeforeIteration => iteration,
        _ => view.iterations.number,
    };
    let latest = view.iterations.latest().and_then(|latest| latest.task.as_ref());
    let task = match hook {
        Hook::BeforeIteration => decision.state.text_next().map(|task| task.as_str().into()),
        Hook::AfterIteration => latest.map(Text::from),
        Hook::OnTaskDone | Hook::OnBlocked => task,
        Hook::OnEnd => None,
    };
    decision.push(Event::Hook(HookEvent::Started {
        number,
        hook,
        iteration,
        task,
        question,
    }));
}

/// Texts of the done tasks for which `onTaskDone` was not run yet.
fn newly_done(state: &LoopState) -> Vec<String> {
    let Some(known) = &state.internal.known_done else {
        return Vec::new();
    };
    let mut seen = BTreeSet::new();
    let done = state.view.plan.tasks.iter().filter(|task| task.done);
    done.filter(|task| !known.contains(&task.text) && seen.insert(&task.text))
        .map(|task| task.text.clone())
        .collect()
}

/// Records the end of a hook. A failed `beforeIteration` stops the run.
pub(super) fn ended(decision: &mut StepDecision, number: u32, result: &BackgroundResult) {
    let mut running = decision.state.view.hooks.running.iter();
    let Some(running) = running.find(|running| running.number == number).cloned() else {
        return;
    };
    push_end(decision, &running, result);
    if matches!(&result.end, BackgroundEnd::Exited { exit } if exit.success()) {
        return;
    }
    let prepares = Phase::Preparing {
        iteration: running.iteration,
    };
    if running.hook == Hook::BeforeIteration && decision.state.view.phase == prepares {
        let why = Breakdown::HookFailed {
            hook: running.hook,
            result: result.clone(),
        };
        return decision.stop(StopReason::Broken { why });
    }
    tell_failure(decision, &running, result);
}

fn push_end(decision: &mut StepDecision, running: &RunningHook, result: &BackgroundResult) {
    decision.push(Event::Hook(HookEvent::Ended {
        number: running.number,
        hook: running.hook,
        iteration: running.iteration,
        task: running.task.clone(),
        result: result.clone(),
    }));
}

fn tell_failure(decision: &mut StepDecision, running: &RunningHook, result: &BackgroundResult) {
    decision.notice(notices::hook_failed(running.hook, running.task.as_deref(), result));
}

/// Records the loss of the hooks of a killed ralph.
pub(super) fn lost(decision: &mut StepDecision) {
    let running = decision.state.view.hooks.running.clone();
    for running in running {
        let result = BackgroundResult {
            end: BackgroundEnd::Lost,
            duration_ms: 0,
            output_bytes: 0,
            tail: "".into(),
        };
        push_end(decision, &running, &result);
        tell_failure(decision, &running, &result);
    }
}
