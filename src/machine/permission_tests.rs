//! What comes of a request for permission.

use crate::{
    event::{
        AgentSignal, Answer, AskId, CancelReason, Decider, Decision, Event, Limits, PausedBy, PermissionMode,
        PermissionRequest, PlanSnapshot, PlanTask, RequestedBy, Ruling, Settings, StopRequest, ToolKind, Unanswered,
        UserCommand, Waiting,
    },
    run::Phase,
};

use super::{Effect, Input, LoopState, Preparation, Start, Timer, TimerKind, step};

const NOW_MS: u64 = 1_000_000;
const PATIENCE_MS: u64 = 300_000;
const TIMEOUT_MS: u64 = 600_000;
const IDLE_MS: u64 = 60_000;

/// A loop whose first iteration runs, and what the last input led to.
struct Loop {
    state: LoopState,
    now_ms: u64,
    events: Vec<Event>,
    effects: Vec<Effect>,
}

impl Loop {
    fn running(unanswered: Unanswered) -> Self {
        let settings = Settings {
            limits: Limits {
                idle_timeout_ms: Some(IDLE_MS),
                iteration_timeout_ms: Some(TIMEOUT_MS),
                ..Limits::default()
            },
            waiting: Waiting {
                timeout_ms: PATIENCE_MS,
                unanswered,
            },
            ..Settings::default()
        };
        let start = Start {
            project: "/project".into(),
            pid: 1,
            settings,
            promise: "nonce".to_owned(),
            pause_file: false,
            earlier_starts_ms: Vec::new(),
        };
        let task = PlanTask {
            text: "task".to_owned(),
            done: false,
            line: 1,
            depth: 0,
        };
        let preparation = Preparation {
            plan: PlanSnapshot { tasks: vec![task] },
            checkpoint: None,
            prompt_bytes: 1,
            overhead_bytes: 1,
            delivered: Vec::new(),
            live_steering: true,
            notices: Vec::new(),
        };
        let mut running = Self {
            state: LoopState::default(),
            now_ms: NOW_MS,
            events: Vec::new(),
            effects: Vec::new(),
        };
        running.take(&Input::Start(Box::new(start)));
        running.take(&Input::Prepared {
            iteration: 1,
            result: Ok(preparation),
        });
        running
    }

    fn take(&mut self, input: &Input) {
        let step = step(std::mem::take(&mut self.state), self.now_ms, input);
        (self.state, self.events, self.effects) = (step.state, step.events, step.effects);
    }

    fn ask(&mut self, id: &str, decision: Decision) {
        let request = PermissionRequest {
            id: AskId(id.to_owned()),
            call: None,
            tool: "Bash".to_owned(),
            kind: ToolKind::Shell,
            title: "git push".to_owned(),
            reason: None,
            command: Some("git push".to_owned()),
            paths: Vec::new(),
            url: None,
            diff: None,
        };
        let by = Decider::Mode {
            mode: PermissionMode::Ask,
        };
        self.take(&Input::PermissionRequested {
            iteration: 1,
            request: Box::new(request),
            ruling: Ruling { decision, by },
        });
    }

    fn answer(&mut self, ask: u32, answer: Answer) {
        self.command(UserCommand::Answer { ask, answer });
    }

    fn command(&mut self, command: UserCommand) {
        self.take(&Input::Command {
            command,
            by: RequestedBy::User,
        });
    }

    fn armed(&self, kind: TimerKind) -> Option<Timer> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Arm { timer } if timer.kind == kind => Some(*timer),
            _ => None,
        })
    }

    fn fire(&mut self, timer: Timer) {
        self.now_ms = self.now_ms.max(timer.at_ms);
        self.take(&Input::TimerFired { timer });
    }

    /// What the agent was told by the last input: the request, whether it may, what the user says, the denials so far.
    fn told(&self) -> Vec<(&str, bool, Option<&str>, u32)> {
        let told = self.effects.iter().filter_map(|effect| match effect {
            Effect::AnswerPermission {
                id,
                allowed,
                message,
                denials,
                ..
            } => Some((id.0.as_str(), *allowed, message.as_deref(), *denials)),
            _ => None,
        });
        told.collect()
    }

    fn is_ended_for(&self, reason: CancelReason) -> bool {
        matches!(self.state.view.phase, Phase::Cancelling { reason: found, .. } if found == reason)
    }
}

fn denied(message: &str) -> Answer {
    Answer::Deny {
        message: Some(message.to_owned()),
    }
}

#[test]
fn what_the_rules_allow_or_deny_is_answered_at_once_and_recorded() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Allow);
    assert_eq!(running.told(), [("a", true, None, 0)]);
    running.ask("b", Decision::Deny);
    assert_eq!(running.told(), [("b", false, None, 1)]);
    let permissions = &running.state.view.permissions;
    assert_eq!((permissions.allowed, permissions.denied, permissions.asked), (1, 1, 0));
    assert!(permissions.pending.is_empty());
}

#[test]
fn what_the_rules_ask_waits_for_the_user_whose_answer_reaches_the_agent_once() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    running.ask("b", Decision::Ask);
    assert!(running.told().is_empty());
    running.now_ms += 5_000;
    running.answer(2, denied("use a branch"));
    assert_eq!(running.told(), [("b", false, Some("use a branch"), 1)]);
    running.answer(2, Answer::Allow);
    assert!(
        running.events.is_empty() && running.told().is_empty(),
        "an answer is given once"
    );
    running.answer(1, Answer::Allow);
    assert_eq!(running.told(), [("a", true, None, 1)]);
    let last = running.state.view.permissions.decisions.last().unwrap();
    assert_eq!((last.ask, last.waited_ms, &last.by), (Some(1), 5_000, &Decider::User));
}

#[test]
fn nobody_there_the_run_waits_no_longer_than_the_deadline_and_goes_on() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    let timer = running.armed(TimerKind::Permission).expect("a deadline");
    assert_eq!(timer.at_ms, NOW_MS + PATIENCE_MS);
    running.fire(timer);
    assert_eq!(running.told(), [("a", false, None, 1)]);
    let last = running.state.view.permissions.decisions.last().unwrap();
    assert_eq!((&last.by, last.waited_ms), (&Decider::Deadline, PATIENCE_MS));
    assert!(matches!(running.state.view.phase, Phase::Running { .. }));
}

#[test]
fn each_question_has_its_own_deadline() {
    let mut running = Loop::running(Unanswered::Allow);
    running.ask("a", Decision::Ask);
    let first = running.armed(TimerKind::Permission).unwrap();
    running.now_ms += 1_000;
    running.ask("b", Decision::Ask);
    running.fire(first);
    assert_eq!(running.told(), [("a", true, None, 0)]);
    let second = running.armed(TimerKind::Permission).unwrap();
    assert_eq!(second.at_ms, NOW_MS + 1_000 + PATIENCE_MS);
    running.fire(second);
    assert_eq!(running.told(), [("b", true, None, 0)]);
}

#[test]
fn a_question_that_nobody_answers_can_hold_the_run_or_end_the_iteration() {
    let mut held = Loop::running(Unanswered::Pause);
    held.ask("a", Decision::Ask);
    let timer = held.armed(TimerKind::Permission).unwrap();
    held.fire(timer);
    assert!(held.told().is_empty() && held.state.view.is_paused());
    assert!(held.events.contains(&Event::Paused { by: PausedBy::User }));
    assert_eq!(held.armed(TimerKind::Permission), None, "it is waited for without end");
    held.answer(1, Answer::Allow);
    assert_eq!(held.told(), [("a", true, None, 0)]);

    let mut blocked = Loop::running(Unanswered::Block);
    blocked.ask("a", Decision::Ask);
    let timer = blocked.armed(TimerKind::Permission).unwrap();
    blocked.fire(timer);
    assert!(blocked.is_ended_for(CancelReason::Denied));
}

#[test]
fn a_wait_for_an_answer_is_neither_idleness_nor_time_of_the_iteration() {
    let mut running = Loop::running(Unanswered::Deny);
    let timeout = running.armed(TimerKind::IterationTimeout).unwrap();
    running.now_ms += TIMEOUT_MS - 10_000;
    running.ask("a", Decision::Ask);
    let quiet_ms = 2 * IDLE_MS;
    running.take(&Input::ActivityProbed { iteration: 1, quiet_ms });
    assert!(
        matches!(running.state.view.phase, Phase::Running { .. }),
        "it waits, and is not idle"
    );
    let probe = running.armed(TimerKind::Idle).expect("it is looked at again");
    assert!(probe.at_ms > running.now_ms + 100, "and not all the time");
    running.now_ms += 60_000;
    running.fire(timeout);
    assert!(
        matches!(running.state.view.phase, Phase::Running { .. }),
        "its time has not passed"
    );
    running.answer(1, Answer::Allow);
    let timer = Timer {
        at_ms: running.now_ms,
        ..timeout
    };
    running.fire(timer);
    let rest = running
        .armed(TimerKind::IterationTimeout)
        .expect("the rest of its time");
    assert_eq!(rest.at_ms, NOW_MS + TIMEOUT_MS + 60_000);
    running.fire(rest);
    assert!(running.is_ended_for(CancelReason::IterationTimeout));
}

#[test]
fn an_agent_that_tries_the_same_again_and_again_is_ended() {
    let mut running = Loop::running(Unanswered::Deny);
    for times in 1..super::permission::DENIALS {
        running.ask(&times.to_string(), Decision::Deny);
        assert_eq!(running.told(), [(times.to_string().as_str(), false, None, times)]);
    }
    running.ask("last", Decision::Deny);
    assert!(running.is_ended_for(CancelReason::Denied));
    running.take(&Input::Agent {
        iteration: 1,
        signal: AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        },
    });
    let feedback = format!("{:?}", running.state.prompt_feedback());
    assert!(
        feedback.contains("Bash: git push"),
        "the next session is told: {feedback}"
    );
}

#[test]
fn what_is_withdrawn_or_ends_with_its_session_waits_no_more() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    running.ask("b", Decision::Ask);
    running.take(&Input::Agent {
        iteration: 1,
        signal: AgentSignal::PermissionWithdrawn {
            id: AskId("a".to_owned()),
        },
    });
    let numbers = |running: &Loop| -> Vec<u32> {
        let pending = running.state.view.permissions.pending.iter();
        pending.map(|ask| ask.number).collect()
    };
    assert_eq!(numbers(&running), [2]);
    running.command(UserCommand::Stop {
        stop: StopRequest::Graceful,
    });
    running.ask("c", Decision::Ask);
    assert!(
        running.events.is_empty(),
        "a session that is being ended is not answered"
    );
    running.take(&Input::Agent {
        iteration: 1,
        signal: AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        },
    });
    assert!(numbers(&running).is_empty());
}
