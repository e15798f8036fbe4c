//! Tests of the consequences of failed iterations.

use crate::{
    event::{
        AgentEvent, AgentSignal, CancelReason, ChannelKind, Event, Exit, Finding, Hint, IterationEvent, Limits,
        Outcome, PlanSnapshot, Problem, ProblemKind, RequestedBy, SessionId, SessionMode, Settings, SteeringEvent,
        SteeringId, SteeringKind, StopReason, Wait, WorkerEvent,
    },
    run::{Iteration, Phase},
};

use crate::event::UserCommand;

use super::{Feedback, Input, LoopState, Preparation, Settlement, step, testing};

const NOW_MS: u64 = 1_000_000;
const IDLE_MS: u64 = 60_000;

fn plan() -> PlanSnapshot {
    PlanSnapshot {
        tasks: vec![testing::task("task", false)],
    }
}

/// A loop whose first iteration is running, with all events so far.
struct Loop {
    state: LoopState,
    events: Vec<Event>,
}

impl Loop {
    fn running() -> Self {
        Self::standing_in(&[])
    }

    /// As `running`, with these adapters as fallback.
    fn standing_in(fallback: &[&str]) -> Self {
        let settings = Settings {
            adapter: "own".to_owned(),
            fallback: fallback.iter().map(|&adapter| adapter.to_owned()).collect(),
            session: SessionMode::Resume,
            limits: Limits {
                idle_timeout_ms: Some(IDLE_MS),
                ..Limits::default()
            },
            ..Settings::default()
        };
        let start = testing::start(settings);
        let mut running = Self {
            state: LoopState::default(),
            events: Vec::new(),
        };
        running.take(&Input::Start(Box::new(start)));
        running.prepared(1);
        running.signal(AgentSignal::Opened {
            session: Some(SessionId("s".to_owned())),
            model: None,
        });
        running
    }

    /// As `running`, with a message on its way to the running turn.
    fn steered_live() -> Self {
        let mut lone = Self::running();
        if let Phase::Running { live_steering, .. } = &mut lone.state.view.phase {
            *live_steering = true;
        }
        lone.take(&Input::Command {
            command: UserCommand::Steer {
                kind: SteeringKind::Now,
                text: "hurry".to_owned(),
            },
            by: RequestedBy::User,
        });
        lone
    }

    fn take(&mut self, input: &Input) {
        let step = step(std::mem::take(&mut self.state), NOW_MS, input);
        self.state = step.state;
        self.events.extend(step.events);
    }

    /// As `running`, with a message in the prompt.
    fn with_a_message() -> Self {
        let mut running = Self::running();
        running.take(&Input::Command {
            command: UserCommand::Steer {
                kind: SteeringKind::Next,
                text: "use tabs".to_owned(),
            },
            by: RequestedBy::User,
        });
        running.signal(AgentSignal::TurnEnded {
            ok: true,
            message: None,
        });
        running.ends();
        running.settles();
        running.prepared(2);
        running
    }

    fn prepared(&mut self, iteration: u32) {
        let due = self.state.view.messages.iter().filter(|steering| steering.is_due());
        let preparation = Preparation {
            delivered: due.map(|steering| steering.id).collect(),
            ..testing::preparation(plan())
        };
        let result = Ok(preparation);
        self.take(&Input::Prepared { iteration, result });
    }

    fn signal(&mut self, signal: AgentSignal) {
        let iteration = self.state.view.iterations.number;
        self.take(&Input::Agent { iteration, signal });
    }

    fn retrying(&mut self, kind: Option<ProblemKind>) {
        self.signal(AgentSignal::Retrying {
            attempt: Some(1),
            of: Some(5),
            why: "status 429".to_owned(),
            kind,
        });
    }

    /// The probe finds that the agent was quiet for the permitted time.
    fn idle(&mut self) {
        self.take(&Input::ActivityProbed {
            iteration: self.state.view.iterations.number,
            quiet_ms: IDLE_MS,
        });
        self.ends();
    }

    fn ends(&mut self) {
        self.signal(AgentSignal::Ended {
            exit: Some(Exit::Signal { signal: 15 }),
            output_bytes: 1,
        });
    }

    fn settles(&mut self) {
        let settlement = Settlement::from_plan(Ok(plan()), 0.0);
        self.take(&Input::Settled {
            iteration: self.state.view.iterations.number,
            settlement: Box::new(settlement),
        });
    }

    fn outcome(&self) -> &Outcome {
        let ended = self.events.iter().rev().find_map(|event| match event {
            Event::Iteration(IterationEvent::Ended { outcome, .. }) => Some(outcome),
            _ => None,
        });
        ended.expect("an iteration that ended")
    }

    /// Whether the user was given a notice with this code.
    fn noticed(&self, code: &str) -> bool {
        let mut notices = self.events.iter().filter_map(Event::notice);
        notices.any(|notice| notice.code == code)
    }
}

#[test]
fn an_agent_that_waits_in_silence_for_a_limit_to_end_is_told_as_limited_and_not_as_hung() {
    let mut lone = Loop::running();
    lone.retrying(Some(ProblemKind::RateLimited { until_ms: None }));
    lone.idle();
    let Outcome::Failed { problem } = lone.outcome() else {
        panic!("{:?}", lone.outcome())
    };
    assert_eq!(problem.kind, ProblemKind::RateLimited { until_ms: None });
    assert_eq!(
        (problem.text.as_str(), problem.finding),
        ("status 429", Some(Finding::Idle))
    );
    assert_eq!(
        lone.state.view.iterations.counted, 0,
        "it is not counted as an iteration"
    );
    lone.settles();
    assert!(
        matches!(
            lone.state.view.phase,
            Phase::Waiting {
                wait: Wait::LimitReset,
                ..
            }
        ),
        "{:?}",
        lone.state.view.phase
    );
}

#[test]
fn a_long_wait_of_the_agents_for_a_limit_ends_at_once_where_another_is_free_or_the_idle_limit_is_shorter() {
    const SECOND_MS: u64 = 1_000;
    let waits = |lone: &mut Loop, wait_ms| {
        let until_ms = Some(NOW_MS + wait_ms);
        lone.retrying(Some(ProblemKind::RateLimited { until_ms }));
        let reason = CancelReason::Limited;
        matches!(lone.state.view.phase, Phase::Cancelling { reason: found, .. } if found == reason)
    };
    for (fallback, wait_ms, ends) in [
        (&[][..], IDLE_MS, false),
        (&[], IDLE_MS + SECOND_MS, true),
        (&["other"], 3 * SECOND_MS, false),
        (&["other"], 61 * SECOND_MS, true),
    ] {
        let mut lone = Loop::standing_in(fallback);
        assert_eq!(waits(&mut lone, wait_ms), ends, "{fallback:?} {wait_ms}");
        if ends {
            lone.ends();
            let until_ms = Some(NOW_MS + wait_ms);
            let problem = Problem::said(ProblemKind::RateLimited { until_ms }, "status 429");
            assert_eq!(lone.outcome(), &Outcome::Failed { problem });
            lone.settles();
            assert_eq!(lone.noticed("adapter-switched"), !fallback.is_empty());
        }
    }
    let mut lone = Loop::standing_in(&["other"]);
    let until_ms = NOW_MS + 100 * IDLE_MS;
    lone.state.view.limited.insert("other".to_owned(), until_ms);
    assert!(!waits(&mut lone, IDLE_MS), "nobody is free");
}

#[test]
fn an_agent_that_waits_in_silence_for_a_limit_is_ended_soon_where_another_is_free() {
    let probed = |fallback: &[&str], idle_ms, quiet_ms| {
        let mut lone = Loop::standing_in(fallback);
        lone.state.view.settings.limits.idle_timeout_ms = idle_ms;
        lone.retrying(Some(ProblemKind::RateLimited { until_ms: None }));
        lone.take(&Input::ActivityProbed { iteration: 1, quiet_ms });
        match lone.state.view.phase {
            Phase::Cancelling { reason, .. } => Some(reason),
            _ => None,
        }
    };
    let idle_ms = Some(IDLE_MS);
    let limited = Some(CancelReason::Limited);
    assert_eq!(probed(&["other"], idle_ms, 14_999), None);
    assert_eq!(probed(&["other"], idle_ms, 15_000), limited);
    assert_eq!(probed(&["other"], None, 15_000), limited);
    assert_eq!(probed(&["other"], Some(5_000), 5_000), Some(CancelReason::IdleTimeout));
    assert_eq!(probed(&[], idle_ms, 15_000), None);
    assert_eq!(probed(&[], None, 15_000), None);
}

#[test]
fn an_agent_that_went_on_after_a_retry_and_then_hangs_is_hung() {
    let cancelled = Outcome::Cancelled {
        reason: CancelReason::IdleTimeout,
    };
    let mut lone = Loop::running();
    lone.retrying(Some(ProblemKind::Overloaded));
    lone.signal(AgentSignal::Said {
        text: "there".to_owned(),
    });
    lone.idle();
    assert_eq!(lone.outcome(), &cancelled);

    let mut lone = Loop::running();
    lone.retrying(None);
    lone.idle();
    assert_eq!(lone.outcome(), &cancelled, "nobody knows what it waited for");
}

#[test]
fn a_login_that_is_refused_twice_running_ends_the_iteration_and_the_run() {
    let mut lone = Loop::running();
    lone.retrying(Some(ProblemKind::Auth));
    assert!(
        matches!(lone.state.view.phase, Phase::Running { .. }),
        "once may be a token"
    );
    lone.retrying(Some(ProblemKind::Auth));
    let reason = CancelReason::LoginRefused;
    let asked = Event::Iteration(IterationEvent::CancelRequested { iteration: 1, reason });
    assert_eq!(lone.events.iter().filter(|event| **event == asked).count(), 1);
    lone.retrying(Some(ProblemKind::Auth));
    lone.signal(AgentSignal::Problem {
        problem: Problem::said(ProblemKind::Other, "the turn was interrupted"),
    });
    lone.ends();
    lone.settles();
    let Some(StopReason::AgentFailed { problem, .. }) = lone.state.view.stop_reason() else {
        panic!("{:?}", lone.state.view.phase)
    };
    assert_eq!((problem.kind, problem.text.as_str()), (ProblemKind::Auth, "status 429"));
}

#[test]
fn a_login_that_is_refused_once_in_a_while_ends_nothing() {
    let mut lone = Loop::running();
    for _ in 0..3 {
        lone.retrying(Some(ProblemKind::Auth));
        lone.retrying(Some(ProblemKind::Overloaded));
        lone.retrying(Some(ProblemKind::Auth));
        lone.signal(AgentSignal::Said {
            text: "there".to_owned(),
        });
    }
    assert!(
        matches!(lone.state.view.phase, Phase::Running { .. }),
        "{:?}",
        lone.state.view.phase
    );
}

#[test]
fn a_turn_that_ends_well_although_its_login_was_refused_is_completed() {
    let mut lone = Loop::running();
    lone.retrying(Some(ProblemKind::Auth));
    lone.retrying(Some(ProblemKind::Auth));
    lone.signal(AgentSignal::TurnEnded {
        ok: true,
        message: None,
    });
    lone.ends();
    assert_eq!(lone.outcome(), &Outcome::Completed);
}

#[test]
fn a_message_is_delivered_when_the_agent_has_taken_it_and_ends_the_iteration_when_it_has_not() {
    let id = SteeringId(1);
    let delivered = |lone: &Loop| {
        lone.events
            .iter()
            .any(|event| matches!(event, Event::Steering(SteeringEvent::Delivered { .. })))
    };
    for taken in [true, false] {
        let mut lone = Loop::steered_live();
        assert!(!delivered(&lone), "it is only under way");
        lone.signal(AgentSignal::MessageAnswered { id, taken, text: None });
        assert_eq!(delivered(&lone), taken);
        assert_eq!(
            matches!(lone.state.view.phase, Phase::Running { .. }),
            taken,
            "{:?}",
            lone.state.view.phase
        );
    }
    let mut lone = Loop::steered_live();
    lone.take(&Input::Command {
        command: UserCommand::Skip,
        by: RequestedBy::User,
    });
    lone.signal(AgentSignal::MessageAnswered {
        id,
        taken: true,
        text: None,
    });
    assert!(!delivered(&lone), "nobody knows whether it was read before the end");
    assert!(lone.state.view.messages[0].is_due());
    let journalled = |event: &Event| {
        let answer = |signal: &AgentSignal| matches!(signal, AgentSignal::MessageAnswered { .. });
        matches!(event, Event::Agent(AgentEvent::Reported { signal, .. }) if answer(signal))
    };
    assert!(!lone.events.iter().any(journalled));
}

#[test]
fn a_retry_of_an_earlier_iteration_explains_nothing() {
    let mut lone = Loop::running();
    lone.retrying(Some(ProblemKind::Overloaded));
    lone.signal(AgentSignal::TurnEnded {
        ok: true,
        message: None,
    });
    lone.ends();
    lone.settles();
    lone.prepared(2);
    assert_eq!(
        (lone.state.view.iterations.number, &lone.state.internal.pending_error),
        (2, &None)
    );
}

#[test]
fn what_a_turn_was_denied_is_said_in_the_next_prompt_although_it_completed() {
    let mut lone = Loop::running();
    lone.signal(AgentSignal::Problem {
        problem: Problem::said(ProblemKind::PermissionDenied, "Bash (git push)"),
    });
    lone.signal(AgentSignal::TurnEnded {
        ok: true,
        message: None,
    });
    lone.ends();
    assert_eq!(lone.outcome(), &Outcome::Completed);
    assert!(
        matches!(&lone.state.internal.feedback[0], Feedback::PermissionDenied { what } if what.contains("Bash (git push)")),
        "{:?}",
        lone.state.internal.feedback
    );
}

#[test]
fn a_session_that_is_gone_or_too_long_is_said_and_not_continued() {
    for (kind, notice) in [
        (ProblemKind::SessionLost, "session-lost"),
        (ProblemKind::ContextOverflow, "session-too-long"),
    ] {
        let mut lone = Loop::running();
        assert!(lone.state.internal.session.is_some());
        lone.signal(AgentSignal::Problem {
            problem: Problem::said(kind, "no"),
        });
        lone.ends();
        lone.settles();
        assert_eq!(lone.state.internal.session, None, "{kind:?}");
        assert!(lone.noticed(notice), "{kind:?}");
    }
}

type Way = fn(&mut Loop);

#[test]
fn a_message_is_due_again_when_its_session_showed_nothing_of_it() {
    let not_started: Way = |running| {
        running.signal(AgentSignal::Problem {
            problem: Problem::said(ProblemKind::NotInstalled, "no such program"),
        });
        running.signal(AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        });
    };
    let opened_only: Way = |running| {
        running.signal(AgentSignal::Opened {
            session: None,
            model: None,
        });
        running.take(&Input::Recover {
            pid: 2,
            settings: Box::new((*running.state.view.settings).clone()),
            pause_file: false,
            day: None,
        });
    };
    let said: Way = |running| running.signal(AgentSignal::Said { text: "aha".to_owned() });
    let ended: Way = |running| running.ends();
    let ways: [(&str, Way, bool); 4] = [
        ("not started", not_started, false),
        ("cut off", opened_only, false),
        ("said something", said, true),
        ("ended", ended, true),
    ];
    for (name, way, delivered) in ways {
        let mut running = Loop::with_a_message();
        assert!(
            running.state.view.messages[0].is_due(),
            "nobody has shown that it has it"
        );
        way(&mut running);
        assert_eq!(!running.state.view.messages[0].is_due(), delivered, "{name}");
        let said = running
            .events
            .iter()
            .any(|event| matches!(event, Event::Steering(SteeringEvent::Delivered { .. })));
        assert_eq!(said, delivered, "{name}");
    }
}

/// A loop whose first iteration runs on the live channel of an old version, which refuses its command line.
fn without_live_channel(live_only: bool) -> Loop {
    let mut lone = Loop::running();
    let settings = &mut lone.state.view.settings;
    settings.adapter = "codex".to_owned();
    settings.channels.insert("codex".to_owned(), ChannelKind::Live);
    settings.live_only = live_only;
    lone.state.view.adapter = "codex".to_owned();
    lone.refused();
    lone
}

impl Loop {
    fn refused(&mut self) {
        let mut problem = Problem::said(ProblemKind::Usage, "error: unexpected argument 'app-server' found");
        problem.finding = Some(Finding::NoLiveChannel);
        self.signal(AgentSignal::Problem { problem });
        self.signal(AgentSignal::TurnEnded {
            ok: false,
            message: None,
        });
        self.ends();
        self.settles();
    }
}

#[test]
fn an_old_version_without_a_live_channel_is_run_on_the_other_one_and_nothing_is_counted() {
    let lone = without_live_channel(false);
    let given_up = lone.events.iter().find_map(|event| match event {
        Event::Worker(WorkerEvent::LiveChannelGivenUp { adapter, why }) => Some((adapter.as_str(), why.as_str())),
        _ => None,
    });
    assert_eq!(
        given_up,
        Some(("codex", "error: unexpected argument 'app-server' found"))
    );
    let view = &lone.state.view;
    assert_eq!(view.channel(), Some(ChannelKind::OneWay));
    assert!(matches!(view.phase, Phase::Preparing { .. }), "{:?}", view.phase);
    assert_eq!((view.iterations.counted, view.iterations.failures), (0, 0));
}

#[test]
fn a_run_that_needs_the_live_channel_stops_where_the_agent_has_none() {
    let lone = without_live_channel(true);
    let Some(StopReason::AgentFailed { problem, .. }) = lone.state.view.stop_reason() else {
        panic!("{:?}", lone.state.view.phase);
    };
    assert_eq!(problem.finding, Some(Finding::NoLiveChannel));
    let hints = &lone.state.view.end().expect("an end").hints;
    let adapter = "codex".to_owned();
    assert_eq!(
        hints[0],
        Hint::NeedLiveChannel {
            adapter: adapter.into()
        }
    );
}

#[test]
fn an_agent_that_has_worked_on_its_live_channel_is_not_believed_to_have_none() {
    let mut lone = Loop::running();
    lone.state.view.adapter = "codex".to_owned();
    let channels = &mut lone.state.view.settings.channels;
    channels.insert("codex".to_owned(), ChannelKind::Live);
    let first = Iteration {
        number: 1,
        adapter: "codex".to_owned(),
        outcome: Some(Outcome::Completed),
        ..Iteration::default()
    };
    lone.state.view.iterations.rows.push(first);
    lone.refused();
    let Some(StopReason::AgentFailed { problem, .. }) = lone.state.view.stop_reason() else {
        panic!("{:?}", lone.state.view.phase);
    };
    assert_eq!(problem.finding, None);
}
