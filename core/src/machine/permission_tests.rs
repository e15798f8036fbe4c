//! Tests of permission requests.

use crate::{
    event::{
        AgentSignal, Answer, AnswerPlace, AskEvent, AskId, CancelReason, Decider, Decision, DenialLimits, Event,
        Limits, Offer, PausedBy, PermissionMode, PermissionRequest, PlanSnapshot, Remember, RememberedRule,
        RequestedBy, RuleScope, Ruling, RunId, Settings, SteeringEvent, StopReason, StopRequest, TimeEvent, Unanswered,
        UserCommand, Waiting,
    },
    run::Phase,
};

use super::{Effect, Input, LoopState, Preparation, Settlement, Timer, TimerKind, step, testing};

const NOW_MS: u64 = 1_000_000;
const PATIENCE_MS: u64 = 300_000;
const TIMEOUT_MS: u64 = 600_000;
const IDLE_MS: u64 = 60_000;

/// A loop whose first iteration is running, with the result of the last input.
pub(super) struct Loop {
    pub(super) state: LoopState,
    pub(super) now_ms: u64,
    pub(super) events: Vec<Event>,
    pub(super) effects: Vec<Effect>,
    /// The rules that are offered with a question.
    offer: Offer,
}

impl Loop {
    pub(super) fn running(unanswered: Unanswered) -> Self {
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
        let start = testing::start(settings);
        let mut running = Self {
            state: LoopState::default(),
            now_ms: NOW_MS,
            events: Vec::new(),
            effects: Vec::new(),
            offer: Offer::default(),
        };
        running.take(&Input::Start(Box::new(start)));
        running.prepare(1);
        running
    }

    fn prepare(&mut self, iteration: u32) {
        let preparation = Preparation {
            live_steering: true,
            ..testing::preparation(PlanSnapshot {
                tasks: vec![testing::task("task", false)],
            })
        };
        self.take(&Input::Prepared {
            iteration,
            result: Ok(preparation),
        });
    }

    pub(super) fn take(&mut self, input: &Input) {
        let step = step(std::mem::take(&mut self.state), self.now_ms, input);
        (self.state, self.events, self.effects) = (step.state, step.events, step.effects);
    }

    /// Makes the agent accept no messages before its next prompt.
    fn without_live_steering(mut self) -> Self {
        if let Phase::Running { live_steering, .. } = &mut self.state.view.phase {
            *live_steering = false;
        }
        self
    }

    pub(super) fn ask(&mut self, id: &str, decision: Decision) {
        self.ask_for("git push", id, decision);
    }

    fn ask_for(&mut self, command: &str, id: &str, decision: Decision) {
        self.request(PermissionRequest::for_shell(AskId(id.to_owned()), command), decision);
    }

    pub(super) fn request(&mut self, request: PermissionRequest, decision: Decision) {
        let by = Decider::Mode {
            mode: PermissionMode::Ask,
        };
        self.take(&Input::PermissionRequested {
            iteration: 1,
            request: Box::new(request),
            ruling: Ruling {
                decision,
                by,
                offer: self.offer.clone(),
            },
        });
    }

    pub(super) fn answer(&mut self, ask: u32, answer: Answer) {
        self.command(UserCommand::Answer {
            ask,
            answer,
            at: AnswerPlace::Screen,
        });
    }

    fn command(&mut self, command: UserCommand) {
        self.take(&Input::Command {
            command,
            by: RequestedBy::User,
        });
    }

    pub(super) fn armed(&self, kind: TimerKind) -> Option<Timer> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Arm { timer } if timer.kind == kind => Some(*timer),
            _ => None,
        })
    }

    pub(super) fn fire(&mut self, timer: Timer) {
        self.now_ms = self.now_ms.max(timer.at_ms);
        self.take(&Input::TimerFired { timer });
    }

    /// The answers to the agent after the last input: request, whether allowed, the user's message, number of denials.
    fn decisions(&self) -> Vec<(&str, bool, Option<&str>, u32)> {
        let decisions = self.effects.iter().filter_map(|effect| match effect {
            Effect::AnswerPermission {
                id,
                allowed,
                message,
                denials,
                ..
            } => Some((id.0.as_str(), *allowed, message.as_deref(), *denials)),
            _ => None,
        });
        decisions.collect()
    }

    pub(super) fn is_ended_for(&self, reason: CancelReason) -> bool {
        matches!(self.state.view.phase, Phase::Cancelling { reason: found, .. } if found == reason)
    }
}

fn allowed() -> Answer {
    Answer::Allow { remember: None }
}

fn remembered(scope: RuleScope, rules: &[&str]) -> Answer {
    let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
    Answer::Allow {
        remember: Some(Remember { scope, rules }),
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
    assert_eq!(running.decisions(), [("a", true, None, 0)]);
    running.ask("b", Decision::Deny);
    assert_eq!(running.decisions(), [("b", false, None, 1)]);
    let permissions = &running.state.view.permissions;
    assert_eq!((permissions.allowed, permissions.denied, permissions.asked), (1, 1, 0));
    assert!(permissions.pending.is_empty());
}

#[test]
fn what_the_rules_ask_waits_for_the_user_whose_answer_reaches_the_agent_once() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    running.ask("b", Decision::Ask);
    assert!(running.decisions().is_empty());
    running.now_ms += 5_000;
    running.answer(2, denied("use a branch"));
    assert_eq!(running.decisions(), [("b", false, Some("use a branch"), 1)]);
    running.answer(2, allowed());
    assert!(
        running.events.is_empty() && running.decisions().is_empty(),
        "an answer is given once"
    );
    running.answer(1, allowed());
    assert_eq!(running.decisions(), [("a", true, None, 1)]);
    let last = running.state.view.permissions.answered.last().unwrap();
    assert_eq!((last.ask, last.waited_ms, last.by.is_user()), (Some(1), 5_000, true));
}

#[test]
fn a_rule_of_an_answer_is_recorded_before_the_answer_and_decides_what_else_waits() {
    let mut running = Loop::running(Unanswered::Deny);
    running.offer = Offer {
        rules: vec!["Bash(git push *)".to_owned()],
        asked_by: vec!["Bash(git *)".to_owned()],
    };
    running.ask("a", Decision::Ask);
    running.ask("b", Decision::Ask);
    running.answer(1, remembered(RuleScope::Project, &[]));
    let Event::Ask(AskEvent::RulesAdded {
        ask,
        scope,
        rules,
        over,
        ..
    }) = &running.events[0]
    else {
        panic!("{:?}", running.events);
    };
    assert_eq!((*ask, *scope), (1, RuleScope::Project));
    assert_eq!(
        (&rules[..], &over[..]),
        (&running.offer.rules[..], &running.offer.asked_by[..])
    );
    assert_eq!(running.decisions(), [("a", true, None, 0)]);
    let kept = |effect: &Effect| matches!(effect, Effect::RememberRules { ask: 1, .. });
    assert!(running.effects.iter().any(kept), "{:?}", running.effects);

    let by = Decider::Rule {
        rule: "Bash(git push *)".to_owned(),
        origin: "your answer to question 1".to_owned(),
    };
    let ruling = |decision| Ruling {
        decision,
        by: by.clone(),
        offer: Offer::default(),
    };
    running.take(&Input::PermissionRuled {
        ask: 2,
        ruling: ruling(Decision::Ask),
    });
    assert!(running.events.is_empty(), "it still waits");
    running.take(&Input::PermissionRuled {
        ask: 2,
        ruling: ruling(Decision::Allow),
    });
    assert_eq!(running.decisions(), [("b", true, None, 0)]);
    let last = running.state.view.permissions.answered.last().unwrap();
    assert_eq!((last.ask, &last.by), (Some(2), &by));
}

#[test]
fn an_edited_rule_is_added_in_place_of_the_offered_one_and_is_taken_back_by_its_text() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    running.answer(1, remembered(RuleScope::Run, &["Bash(git *)"]));
    let rules = |running: &Loop| -> Vec<String> {
        let rules = running.state.view.permissions.rules.iter();
        rules.map(|added| added.rule.clone()).collect()
    };
    assert_eq!(rules(&running), ["Bash(git *)"]);
    assert!(
        !running
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::RememberRules { .. })),
        "it is of this run alone"
    );
    let forget = |rule: &str| UserCommand::Forget { rule: rule.to_owned() };
    running.command(forget("Bash(git push *)"));
    assert!(running.events.is_empty());
    running.command(forget("Bash(git *)"));
    assert!(rules(&running).is_empty());
    let rule = "Bash(git *)".to_owned();
    assert!(running.effects.contains(&Effect::ForgetRule { rule }));
}

#[test]
fn the_user_changes_the_mode_of_a_run_until_it_is_resumed() {
    let set = |mode| UserCommand::SetPermissionMode { mode };
    let mut running = Loop::running(Unanswered::Deny);
    running.command(set(PermissionMode::Readonly));
    assert_eq!(running.state.view.permission_mode(), PermissionMode::Readonly);
    let settings = Settings {
        permission_mode: PermissionMode::Ask,
        ..(*running.state.view.settings).clone()
    };
    let resumed = Input::Recover {
        pid: 2,
        settings: Box::new(settings),
        pause_file: false,
        day: None,
    };
    running.take(&resumed);
    running.command(set(PermissionMode::Ask));
    assert_eq!(running.events, [], "it is that already");
    running.command(set(PermissionMode::Auto));
    let mode = PermissionMode::Auto;
    assert_eq!(running.events, [Event::Ask(AskEvent::PermissionModeChanged { mode })]);
    assert_eq!(running.state.view.permission_mode(), mode);
    running.command(set(PermissionMode::Restricted));
    assert_eq!(running.state.view.permission_mode(), PermissionMode::Restricted);
    running.take(&resumed);
    assert_eq!(running.state.view.permission_mode(), PermissionMode::Ask);
}

#[test]
fn rules_of_the_run_outlive_it_being_resumed_and_those_of_the_project_are_as_they_are_then() {
    let mut running = Loop::running(Unanswered::Deny);
    for (ask, scope) in [(1, RuleScope::Run), (2, RuleScope::Project)] {
        running.ask("a", Decision::Ask);
        running.answer(ask, remembered(scope, &[&format!("Bash({ask})")]));
    }
    let known = RememberedRule {
        rule: "Bash(3)".to_owned(),
        over: Vec::new(),
        run: RunId("earlier".to_owned()),
        ask: 7,
        at_ms: 1,
    };
    let settings = Settings {
        remembered: vec![known],
        ..(*running.state.view.settings).clone()
    };
    running.take(&Input::Recover {
        pid: 2,
        settings: Box::new(settings),
        pause_file: false,
        day: None,
    });
    let rules = running.state.view.permissions.rules.iter();
    let rules: Vec<&str> = rules.map(|added| added.rule.as_str()).collect();
    assert_eq!(rules, ["Bash(1)", "Bash(3)"]);
}

#[test]
fn a_request_that_is_longer_than_a_record_is_said_to_be_cut() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    running.ask(&"a".repeat(100_000), Decision::Ask);
    let cut: Vec<bool> = running
        .state
        .view
        .permissions
        .pending
        .iter()
        .map(|ask| ask.cut)
        .collect();
    assert_eq!(cut, [false, true]);
}

#[test]
fn nobody_there_the_run_waits_no_longer_than_the_deadline_and_goes_on() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    let timer = running.armed(TimerKind::Permission).expect("a deadline");
    assert_eq!(timer.at_ms, NOW_MS + PATIENCE_MS);
    running.fire(timer);
    assert_eq!(running.decisions(), [("a", false, None, 1)]);
    let last = running.state.view.permissions.answered.last().unwrap();
    assert_eq!((&last.by, last.waited_ms), (&Decider::Deadline, PATIENCE_MS));
    assert!(matches!(running.state.view.phase, Phase::Running { .. }));
}

#[test]
fn a_question_waits_without_a_deadline_if_the_user_says_so() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    let timer = running.armed(TimerKind::Permission).expect("a deadline");
    running.command(UserCommand::WaitForAnswer { ask: 1 });
    assert_eq!(running.armed(TimerKind::Permission), None);
    // The timer was armed before, and fires.
    running.fire(timer);
    assert!(running.decisions().is_empty());
    running.ask("b", Decision::Ask);
    let timer = running.armed(TimerKind::Permission).expect("a deadline of its own");
    running.fire(timer);
    assert_eq!(running.decisions(), [("b", false, None, 1)]);
    running.answer(1, allowed());
    assert_eq!(running.decisions(), [("a", true, None, 1)]);
    for ask in [1, 3] {
        running.command(UserCommand::WaitForAnswer { ask });
        assert_eq!(running.events, [], "question {ask} waits no longer");
    }
}

#[test]
fn each_question_has_its_own_deadline() {
    let mut running = Loop::running(Unanswered::Allow);
    running.ask("a", Decision::Ask);
    let first = running.armed(TimerKind::Permission).unwrap();
    running.now_ms += 1_000;
    running.ask("b", Decision::Ask);
    running.fire(first);
    assert_eq!(running.decisions(), [("a", true, None, 0)]);
    let second = running.armed(TimerKind::Permission).unwrap();
    assert_eq!(second.at_ms, NOW_MS + 1_000 + PATIENCE_MS);
    running.fire(second);
    assert_eq!(running.decisions(), [("b", true, None, 0)]);
}

#[test]
fn a_question_that_nobody_answers_can_hold_the_run_or_end_the_iteration() {
    let mut held = Loop::running(Unanswered::Pause);
    held.ask("a", Decision::Ask);
    let timer = held.armed(TimerKind::Permission).unwrap();
    held.fire(timer);
    assert!(held.decisions().is_empty() && held.state.view.is_paused());
    assert!(
        held.events
            .contains(&Event::Time(TimeEvent::Paused { by: PausedBy::User }))
    );
    assert_eq!(held.armed(TimerKind::Permission), None, "it is waited for without end");
    held.answer(1, allowed());
    assert_eq!(held.decisions(), [("a", true, None, 0)]);

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
    running.answer(1, allowed());
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
    for times in 1..5 {
        running.ask(&times.to_string(), Decision::Deny);
        assert_eq!(running.decisions(), [(times.to_string().as_str(), false, None, times)]);
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

impl Loop {
    pub(super) fn signal(&mut self, signal: AgentSignal) {
        let iteration = self.state.view.iterations.number;
        self.take(&Input::Agent { iteration, signal });
    }

    /// Ends the session and settles the iteration.
    pub(super) fn ends(&mut self) {
        self.signal(AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        });
        let settlement = Settlement::from_plan(Ok((*self.state.view.plan).clone()), 0.0);
        self.take(&Input::Settled {
            iteration: self.state.view.iterations.number,
            settlement: Box::new(settlement),
        });
    }

    /// A loop with other limits on denials.
    fn limited(limits: DenialLimits) -> Self {
        let mut running = Self::running(Unanswered::Deny);
        running.state.view.settings.denials = limits;
        running
    }
}

#[test]
fn a_task_whose_question_nobody_answers_is_set_aside_with_it() {
    let mut blocked = Loop::running(Unanswered::Block);
    blocked.ask("a", Decision::Ask);
    let timer = blocked.armed(TimerKind::Permission).unwrap();
    blocked.fire(timer);
    blocked.ends();
    let question = "Bash: git push?".to_owned();
    assert_eq!(blocked.state.view.blocks[0].task.as_deref(), Some("task"));
    assert_eq!(blocked.state.view.blocks[0].question, question);
    assert_eq!(
        blocked.state.view.stop_reason(),
        Some(&StopReason::Blocked {
            question: question.into()
        }),
        "there is no other task"
    );
}

#[test]
fn what_an_agent_is_denied_in_vain_is_the_question_that_its_task_waits_for() {
    let limits = DenialLimits {
        same: 2,
        ..DenialLimits::default()
    };
    let mut running = Loop::limited(limits);
    running.ask("a", Decision::Deny);
    assert!(matches!(running.state.view.phase, Phase::Running { .. }));
    running.ask("b", Decision::Deny);
    assert!(running.is_ended_for(CancelReason::Denied));
    running.ends();
    assert_eq!(running.state.view.blocks[0].question, "Bash: git push?");
}

#[test]
fn denials_of_different_things_count_as_long_as_nothing_is_allowed() {
    let limits = DenialLimits {
        in_a_row: 3,
        ..DenialLimits::default()
    };
    let mut running = Loop::limited(limits);
    for (command, decision) in [
        ("a", Decision::Deny),
        ("b", Decision::Deny),
        ("ls", Decision::Allow),
        ("c", Decision::Deny),
        ("d", Decision::Deny),
    ] {
        running.ask_for(command, command, decision);
        assert!(matches!(running.state.view.phase, Phase::Running { .. }), "{command}");
    }
    running.ask_for("e", "e", Decision::Deny);
    assert!(running.is_ended_for(CancelReason::Denied));
    assert_eq!(running.state.view.permissions.denied_in_a_row, 3);
    running.ends();
    assert_eq!(
        running.state.view.permissions.denied_in_a_row, 0,
        "the next one begins anew"
    );
}

#[test]
fn what_is_asked_on_top_of_what_may_wait_is_denied() {
    let limits = DenialLimits {
        pending: 2,
        ..DenialLimits::default()
    };
    let mut running = Loop::limited(limits);
    for id in ["a", "b"] {
        running.ask(id, Decision::Ask);
    }
    assert!(running.decisions().is_empty());
    running.ask("c", Decision::Ask);
    assert_eq!(running.decisions(), [("c", false, None, 1)]);
    let last = running.state.view.permissions.answered.last().unwrap();
    assert_eq!(last.by, Decider::TooManyPending);
}

#[test]
fn nothing_waits_and_no_wait_lasts_once_the_iteration_is_over() {
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    running.now_ms += 5_000;
    running.signal(AgentSignal::Ended {
        exit: None,
        output_bytes: 0,
    });
    let permissions = &running.state.view.permissions;
    assert!(permissions.pending.is_empty());
    assert_eq!((permissions.waiting_since_ms, permissions.waited_ms), (None, 5_000));
}

#[test]
fn an_agent_that_asks_without_end_is_ended_and_no_more_of_it_is_kept() {
    let mut running = Loop::running(Unanswered::Deny);
    for number in 0..super::permission::REQUESTS {
        running.ask(&number.to_string(), Decision::Allow);
    }
    assert!(matches!(running.state.view.phase, Phase::Running { .. }));
    running.ask("one more", Decision::Allow);
    assert!(running.is_ended_for(CancelReason::Flooded));
    assert!(running.decisions().is_empty());
}

#[test]
fn an_agent_may_use_as_many_tools_as_the_limit_says_and_none_more() {
    let mut running = Loop::running(Unanswered::Deny);
    running.signal(AgentSignal::TurnEnded {
        ok: true,
        message: None,
    });
    running.ends();
    running.state.view.settings.limits.max_steps = Some(2);
    running.prepare(2);
    for (call, runs) in [("1", true), ("2", true), ("3", false)] {
        running.signal(AgentSignal::ToolStarted {
            call: call.to_owned(),
            tool: "Bash".to_owned(),
            input: "ls".to_owned(),
        });
        let is_running = matches!(running.state.view.phase, Phase::Running { .. });
        assert_eq!(is_running, runs, "{call}");
    }
    assert!(running.is_ended_for(CancelReason::MaxSteps));
}

#[test]
fn the_message_of_a_denial_waits_for_the_next_prompt_where_the_turn_takes_none() {
    let denied = Answer::Deny {
        message: Some("use a branch".to_owned()),
    };
    let queued = |running: &Loop| {
        let texts = running.events.iter().filter_map(|event| match event {
            Event::Steering(SteeringEvent::Queued { text, .. }) => Some(text.clone()),
            _ => None,
        });
        texts.collect::<Vec<_>>()
    };
    let mut running = Loop::running(Unanswered::Deny).without_live_steering();
    running.ask("a", Decision::Ask);
    running.answer(1, denied.clone());
    assert_eq!(queued(&running), ["denied: git push: use a branch"]);
    running.ask("b", Decision::Ask);
    running.answer(2, Answer::Deny { message: None });
    assert!(queued(&running).is_empty(), "there is nothing to tell");
    let mut running = Loop::running(Unanswered::Deny);
    running.ask("a", Decision::Ask);
    running.answer(1, denied);
    assert!(queued(&running).is_empty(), "the denial tells it");
}

#[test]
fn a_yes_that_comes_too_late_adds_its_rule_all_the_same_and_one_without_a_rule_adds_none() {
    let offer = Offer {
        rules: vec!["Bash(git push *)".to_owned()],
        asked_by: vec!["Bash(git *)".to_owned()],
    };
    let remember = |scope| Answer::Allow {
        remember: Some(Remember {
            scope,
            rules: Vec::new(),
        }),
    };
    for scope in [RuleScope::Run, RuleScope::Project] {
        let mut running = Loop::running(Unanswered::Deny);
        running.offer = offer.clone();
        running.ask("a", Decision::Ask);
        let deadline = running.armed(TimerKind::Permission).expect("a deadline");
        running.fire(deadline);
        running.answer(1, remember(scope));
        let [
            Event::Ask(AskEvent::RulesAdded {
                scope: added,
                rules,
                over,
                ..
            }),
            Event::Steering(SteeringEvent::Queued { text, answers, .. }),
        ] = &running.events[..]
        else {
            panic!("{:?}", running.events)
        };
        assert_eq!((*added, rules, over), (scope, &offer.rules, &offer.asked_by));
        assert!(text == "yes" && answers.is_some(), "{text}");
        let kept = running
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::RememberRules { .. }));
        assert_eq!(kept, scope == RuleScope::Project);
    }
    let mut running = Loop::running(Unanswered::Deny);
    running.offer = offer;
    running.ask("a", Decision::Ask);
    let deadline = running.armed(TimerKind::Permission).expect("a deadline");
    running.fire(deadline);
    running.answer(1, allowed());
    assert!(
        matches!(&running.events[..], [Event::Steering(SteeringEvent::Queued { .. })]),
        "{:?}",
        running.events
    );
}

#[test]
fn a_late_yes_adds_the_rules_of_its_own_question_unless_the_request_was_cut() {
    let long = "x".repeat(100_000);
    let mut running = Loop::running(Unanswered::Deny);
    for (command, rule) in [
        ("git push", "Bash(git *)"),
        ("make", "Bash(make *)"),
        (&*long, "Bash(x)"),
    ] {
        running.offer = Offer {
            rules: vec![rule.to_owned()],
            asked_by: Vec::new(),
        };
        running.ask_for(command, rule, Decision::Ask);
    }
    let deadline = running.armed(TimerKind::Permission).expect("a deadline");
    running.fire(deadline);
    for (ask, rules) in [(2, Some("Bash(make *)")), (3, None), (1, Some("Bash(git *)"))] {
        running.answer(ask, remembered(RuleScope::Run, &[]));
        let added = running.events.iter().find_map(|event| match event {
            Event::Ask(AskEvent::RulesAdded { rules, .. }) => Some(rules.join(" ")),
            _ => None,
        });
        assert_eq!(added.as_deref(), rules, "{ask}");
        assert!(matches!(
            running.events.last(),
            Some(Event::Steering(SteeringEvent::Queued { .. }))
        ));
    }
}
