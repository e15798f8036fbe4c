//! Walks through all states around an agent's requests and checks every step. Separate from the other enumeration,
//! which would multiply in size.

use std::collections::{HashSet, VecDeque};

use crate::{
    event::{
        AgentSignal, Answer, AnswerPlace, AskEvent, AskId, AskVerdict, Decider, Decision, DenialLimits, Event,
        IterationEvent, Limits, Offer, PermissionMode, PermissionRequest, PlanSnapshot, RequestedBy, Ruling, RunEvent,
        Settings, StopRequest, Unanswered, UserCommand, Waiting,
    },
    run::Phase,
};

use super::{
    Effect, Input, LoopState, Preparation, Settlement, Step, Timer, TimerKind,
    enumeration::inputs::{plan, started_with},
    step, testing,
};

const STEP_MS: u64 = 1_000;
const PATIENCE_MS: u64 = 2 * STEP_MS;
/// Maximum number of questions per run in the walk.
const ASKS: u32 = 2;

fn started(unanswered: Unanswered) -> LoopState {
    let settings = Settings {
        adapter: "fake".to_owned(),
        limits: Limits {
            max_iterations: Some(1),
            idle_timeout_ms: Some(10_000),
            iteration_timeout_ms: Some(60_000),
            ..Limits::default()
        },
        waiting: Waiting {
            timeout_ms: PATIENCE_MS,
            unanswered,
        },
        denials: DenialLimits {
            same: 2,
            in_a_row: 3,
            pending: 2,
        },
        ..Settings::default()
    };
    started_with(settings)
}

fn ruling(decision: Decision) -> Ruling {
    Ruling {
        decision,
        by: Decider::Mode {
            mode: PermissionMode::Ask,
        },
        offer: Offer::default(),
    }
}

fn request(id: &str, decision: Decision, iteration: u32) -> Input {
    let request = PermissionRequest::for_shell(AskId(id.to_owned()), id);
    Input::PermissionRequested {
        iteration,
        request: Box::new(request),
        ruling: ruling(decision),
    }
}

fn command(command: UserCommand) -> Input {
    Input::Command {
        command,
        by: RequestedBy::User,
    }
}

/// All inputs that may arrive around requests.
fn alphabet(state: &LoopState, now_ms: u64) -> Vec<Input> {
    let iteration = state.view.iterations.number;
    let signal = |signal| Input::Agent { iteration, signal };
    let ended = AgentSignal::Ended {
        exit: None,
        output_bytes: 1,
    };
    let timer = |kind| {
        let (epoch, at_ms) = (Some(state.view.epoch), now_ms);
        Input::TimerFired {
            timer: Timer { kind, epoch, at_ms },
        }
    };
    let mut inputs = vec![
        signal(ended),
        signal(AgentSignal::TurnEnded {
            ok: true,
            message: None,
        }),
        timer(TimerKind::Permission),
        timer(TimerKind::IterationTimeout),
        timer(TimerKind::Deadline),
        Input::ActivityProbed {
            iteration,
            quiet_ms: 20_000,
        },
        Input::ClockMoved { gap_ms: 500 },
        command(UserCommand::Skip),
        command(UserCommand::Resume),
        command(UserCommand::Stop {
            stop: StopRequest::Graceful,
        }),
        command(UserCommand::Stop {
            stop: StopRequest::Immediate,
        }),
        Input::Recover {
            pid: 2,
            settings: Box::new((*state.view.settings).clone()),
            pause_file: false,
            day: None,
        },
        prepared(iteration + 1),
        settled(iteration),
    ];
    for id in ["a", "b"] {
        for decision in [Decision::Allow, Decision::Deny, Decision::Ask] {
            inputs.push(request(id, decision, iteration));
        }
        // A request of the previous iteration, whose session is gone.
        inputs.push(request(id, Decision::Ask, iteration.saturating_sub(1)));
        inputs.push(signal(AgentSignal::PermissionWithdrawn {
            id: AskId(id.to_owned()),
        }));
    }
    for ask in 1..=ASKS {
        for answer in [Answer::Allow { remember: None }, Answer::Deny { message: None }] {
            inputs.push(command(UserCommand::Answer {
                ask,
                answer,
                at: AnswerPlace::Screen,
            }));
        }
        inputs.push(command(UserCommand::WaitForAnswer { ask }));
        // An answer to another question added a rule that decides this one.
        let ruling = ruling(Decision::Allow);
        inputs.push(Input::PermissionRuled { ask, ruling });
    }
    inputs
}

fn prepared(iteration: u32) -> Input {
    let preparation = Preparation {
        live_steering: true,
        ..testing::preparation(plan(true))
    };
    Input::Prepared {
        iteration,
        result: Ok(preparation),
    }
}

fn settled(iteration: u32) -> Input {
    let plan: PlanSnapshot = plan(true);
    let settlement = Settlement::from_plan(Ok(plan), 0.5);
    Input::Settled {
        iteration,
        settlement: Box::new(settlement),
    }
}

fn has_session(state: &LoopState) -> bool {
    matches!(state.view.phase, Phase::Running { .. } | Phase::Cancelling { .. })
}

fn ends_session(event: &Event) -> bool {
    matches!(
        event,
        Event::Iteration(IterationEvent::Ended { .. }) | Event::Run(RunEvent::Stopped { .. })
    )
}

/// Checks the invariants of a step around requests.
fn check(before: &LoopState, input: &Input, step: &Step) {
    let context = || {
        format!(
            "in {:?} after {input:?}: {:?} {:?}",
            before.view.phase, step.events, step.effects
        )
    };
    let permissions = &step.state.view.permissions;
    assert!(
        permissions.pending.is_empty() || has_session(&step.state),
        "a question outlives its session {}",
        context()
    );
    assert!(permissions.pending.len() <= 2, "more wait than may {}", context());
    assert_eq!(
        permissions.waiting_since_ms.is_some(),
        !permissions.pending.is_empty(),
        "a wait without a question {}",
        context()
    );
    let is_over = step.events.iter().any(ends_session);
    for ask in &before.view.permissions.pending {
        let ends = step.events.iter().filter(|event| match event {
            Event::Ask(AskEvent::Answered { answered }) => answered.ask == Some(ask.number),
            _ => false,
        });
        let waits = permissions.pending.iter().any(|still| still.number == ask.number);
        let ways = ends.count() + usize::from(waits);
        assert!(
            ways == 1 || ways == 0 && is_over,
            "question {} ends in {ways} ways {}",
            ask.number,
            context()
        );
    }
    let decided = step.events.iter().filter_map(|event| match event {
        Event::Ask(AskEvent::Answered { answered }) if answered.verdict != AskVerdict::Withdrawn => {
            Some((&answered.id, &answered.ask))
        }
        _ => None,
    });
    let decided: Vec<_> = decided.collect();
    let answered = step.effects.iter().filter_map(|effect| match effect {
        Effect::AnswerPermission { id, .. } => Some(id),
        _ => None,
    });
    let answered: Vec<_> = answered.collect();
    let ids: Vec<_> = decided.iter().map(|(id, _)| *id).collect();
    assert_eq!(answered, ids, "a decision and its answer differ {}", context());
    assert!(
        answered.is_empty() || has_session(before),
        "an answer to nobody {}",
        context()
    );
    for (_, ask) in decided {
        let was_asked = |number: &u32| before.view.permissions.pending.iter().any(|ask| ask.number == *number);
        assert!(
            ask.as_ref().is_none_or(was_asked),
            "an answer to no question {}",
            context()
        );
    }
    check_deadline(before, step, &context);
}

/// Checks that a timer is armed for the next deadline of a pending question.
fn check_deadline(before: &LoopState, step: &Step, context: &dyn Fn() -> String) {
    let next = |state: &LoopState| {
        let pending = state.view.permissions.pending.iter();
        pending.filter_map(|ask| ask.until_ms).min()
    };
    let Some(at_ms) = next(&step.state) else { return };
    let is_running = matches!(step.state.view.phase, Phase::Running { .. });
    let is_armed = step.effects.iter().any(
        |effect| matches!(effect, Effect::Arm { timer } if timer.kind == TimerKind::Permission && timer.at_ms == at_ms),
    );
    assert!(
        !is_running || next(before) == Some(at_ms) || is_armed,
        "nobody looks at the deadline {}",
        context()
    );
}

/// The parts of a state that determine what happens to questions.
fn essence(state: &LoopState, now_ms: u64) -> String {
    let permissions = &state.view.permissions;
    let waits = |until_ms: Option<u64>| until_ms.map(|until_ms| until_ms <= now_ms);
    let pending: Vec<_> = permissions
        .pending
        .iter()
        .map(|ask| (&ask.request.id.0, ask.number, waits(ask.until_ms)))
        .collect();
    let denied: Vec<_> = permissions
        .denied_now
        .iter()
        .map(|thing| (&thing.title, thing.times))
        .collect();
    format!(
        "{:?} {pending:?} {denied:?} {} {} {} {:?} {:?} {} {}",
        std::mem::discriminant(&state.view.phase),
        permissions.asked,
        permissions.denied_in_a_row,
        state.view.iterations.number,
        state.view.stop.map(|stop| stop.request),
        state.internal.verdict,
        state.view.is_paused(),
        state.view.blocks.len(),
    )
}

#[test]
fn whatever_an_agent_asks_is_answered_once_withdrawn_or_over_with_its_session() {
    for unanswered in [
        Unanswered::Deny,
        Unanswered::Allow,
        Unanswered::Pause,
        Unanswered::Block,
    ] {
        let mut seen = HashSet::new();
        let mut steps = 0;
        let mut queue = VecDeque::from([(started(unanswered), STEP_MS)]);
        let mut ways = HashSet::new();
        while let Some((state, at_ms)) = queue.pop_front() {
            let now_ms = at_ms + STEP_MS;
            // Inputs without effect return the state unchanged, so it is reused instead of cloned.
            let mut copy = None;
            for input in alphabet(&state, now_ms) {
                let step = step(copy.take().unwrap_or_else(|| state.clone()), now_ms, &input);
                check(&state, &input, &step);
                steps += 1;
                if step.events.is_empty() {
                    assert!(step.state == state, "a change without an event after {input:?}");
                    copy = Some(step.state);
                    continue;
                }
                ways.extend(step.events.iter().filter_map(way));
                let is_new = step.state.view.permissions.asked <= ASKS && seen.insert(essence(&step.state, now_ms));
                if is_new {
                    queue.push_back((step.state, now_ms));
                }
            }
        }
        assert!(
            seen.len() > 500 && steps > 20_000,
            "{unanswered:?}: {} states, {steps} steps",
            seen.len()
        );
        let expected = ["allowed by user", "asked", "denied by user", "withdrawn"];
        assert!(expected.iter().all(|way| ways.contains(*way)), "{ways:?}");
        assert_eq!(ways.contains("allowed by deadline"), unanswered == Unanswered::Allow);
        let denies = matches!(unanswered, Unanswered::Deny | Unanswered::Block);
        assert_eq!(ways.contains("denied by deadline"), denies);
    }
}

/// The fate of a question, in a word or two.
fn way(event: &Event) -> Option<String> {
    match event {
        Event::Ask(AskEvent::Asked { .. }) => Some("asked".to_owned()),
        Event::Ask(AskEvent::Answered { answered }) if answered.verdict == AskVerdict::Withdrawn => {
            Some("withdrawn".to_owned())
        }
        Event::Ask(AskEvent::Answered { answered }) => {
            let by = match answered.by {
                Decider::User { .. } => "user",
                Decider::Deadline => "deadline",
                _ => "rule",
            };
            Some(format!(
                "{} by {by}",
                if answered.is_refused() { "denied" } else { "allowed" }
            ))
        }
        _ => None,
    }
}
