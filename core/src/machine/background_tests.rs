//! Tests of background tasks: they are started and ended by events, and none outlives its run or is adopted by another.

use crate::{
    event::{
        AgentSignal, BackgroundCommand, BackgroundEnd, BackgroundEvent, BackgroundLimits, BackgroundProgress,
        BackgroundRefusal, BackgroundResult, Event, Exit, RequestedBy, Requester, SteeringKind, StopRequest,
        UserCommand,
    },
    run::BackgroundState,
};

use super::{
    Effect, Input, LoopState, Settlement, Step, background_refusal,
    enumeration::inputs::{plan, started_with},
    step, testing,
};

const USER: Requester = Requester::User;
const AGENT: Requester = Requester::Agent;

/// A loop that checks after every step that the state is the fold of the events.
struct Loop {
    state: LoopState,
    now_ms: u64,
}

impl Loop {
    fn new(background: BackgroundLimits) -> Self {
        let settings = crate::event::Settings {
            adapter: "fake".to_owned(),
            background,
            ..Default::default()
        };
        Self {
            state: started_with(settings),
            now_ms: 1_000,
        }
    }

    #[track_caller]
    fn take(&mut self, input: &Input) -> (Vec<Event>, Vec<Effect>) {
        self.now_ms += 1_000;
        let mut folded = self.state.clone();
        let Step { state, events, effects } = step(self.state.clone(), self.now_ms, input);
        events.iter().for_each(|event| folded.apply_event(self.now_ms, event));
        assert_eq!(folded, state, "the state is the fold of {events:?}");
        self.state = state;
        (events, effects)
    }

    fn ask(&mut self, command: BackgroundCommand, by: Requester) -> (Vec<Event>, Vec<Effect>) {
        self.take(&Input::Background { command, by })
    }

    fn start(&mut self, command: &str, by: Requester) -> (Vec<Event>, Vec<Effect>) {
        let command = command.to_owned();
        self.ask(BackgroundCommand::Start { command }, by)
    }

    fn end(&mut self, number: u32, end: BackgroundEnd) -> Vec<Event> {
        let result = BackgroundResult {
            end,
            duration_ms: 1,
            output_bytes: 2,
            tail: "ok".into(),
        };
        let result = Box::new(result);
        self.take(&Input::BackgroundEnded { number, result }).0
    }

    fn refused(&self, command: &BackgroundCommand, by: Requester) -> Option<BackgroundRefusal> {
        background_refusal(&self.state.view, command, by)
    }

    fn command(&mut self, command: UserCommand) -> (Vec<Event>, Vec<Effect>) {
        let by = RequestedBy::User;
        self.take(&Input::Command { command, by })
    }

    fn stop(&mut self, stop: StopRequest) -> Vec<Effect> {
        self.command(UserCommand::Stop { stop }).1
    }

    fn prepared(&mut self, iteration: u32) {
        let result = Ok(testing::preparation(plan(true)));
        self.take(&Input::Prepared { iteration, result });
    }

    fn agent(&mut self, iteration: u32, signal: AgentSignal) {
        self.take(&Input::Agent { iteration, signal });
    }

    /// The running iteration ends by itself, and the next one is prepared.
    fn iteration_ends(&mut self, iteration: u32) {
        let turn_ended = AgentSignal::TurnEnded {
            ok: true,
            message: None,
        };
        self.agent(iteration, turn_ended);
        let ended = AgentSignal::Ended {
            exit: None,
            output_bytes: 1,
        };
        self.agent(iteration, ended);
        let settlement = Box::new(Settlement::from_plan(Ok(plan(true)), 0.5));
        self.take(&Input::Settled { iteration, settlement });
    }

    /// The background tasks that the next prompt mentions.
    fn told(&self) -> Vec<u32> {
        self.state.background_for_prompt().map(|task| task.number).collect()
    }
}

fn cancel(number: u32) -> BackgroundCommand {
    BackgroundCommand::Cancel { number }
}

fn exited() -> BackgroundEnd {
    BackgroundEnd::Exited {
        exit: Exit::Code { code: 0 },
    }
}

#[test]
fn how_far_a_task_is_is_recorded_while_it_runs_and_where_it_is_news() {
    let mut run = Loop::new(BackgroundLimits::default());
    run.start("make", USER);
    let progress = |bytes| BackgroundProgress {
        output_bytes: bytes,
        output_lines: 1,
        last_line: "compiling".into(),
    };
    let told = |run: &mut Loop, number, bytes| {
        let progress = progress(bytes);
        run.take(&Input::BackgroundProgressed { number, progress }).0
    };
    let news = |bytes| {
        Event::Background(BackgroundEvent::Progressed {
            number: 1,
            progress: progress(bytes),
        })
    };
    assert_eq!(told(&mut run, 1, 10), [news(10)]);
    assert_eq!(told(&mut run, 1, 10), []);
    assert_eq!(told(&mut run, 2, 10), [], "there is no such task");
    assert_eq!(told(&mut run, 1, 20), [news(20)]);
    run.end(1, BackgroundEnd::Cancelled);
    assert_eq!(told(&mut run, 1, 30), [], "its end has been told");
    assert_eq!(run.state.view.background.task(1).unwrap().progress, None);
}

#[test]
fn tasks_are_numbered_and_there_are_no_more_of_them_than_may_be() {
    let mut run = Loop::new(BackgroundLimits::default());
    for number in 1..=3 {
        let (events, effects) = run.start(" npm run dev\n", AGENT);
        assert!(
            matches!(&events[..], [Event::Background(BackgroundEvent::Started { number: n, by: AGENT, command, .. })]
                if *n == number && command == "npm run dev"),
            "{events:?}"
        );
        let command = "npm run dev".to_owned();
        assert_eq!(effects, [Effect::StartBackground { number, command }]);
    }
    let fourth = BackgroundCommand::Start {
        command: "x".to_owned(),
    };
    let too_many = Some(BackgroundRefusal::TooMany { limit: 3 });
    assert_eq!(run.refused(&fourth, USER), too_many);
    assert_eq!(run.start("x", USER), (Vec::new(), Vec::new()));
    run.end(2, exited());
    assert_eq!(run.refused(&fourth, USER), None);
    let (events, _) = run.start("x", USER);
    assert!(
        matches!(
            &events[..],
            [Event::Background(BackgroundEvent::Started { number: 4, .. })]
        ),
        "{events:?}"
    );
}

#[test]
fn a_command_that_is_none_or_too_long_starts_nothing() {
    let run = Loop::new(BackgroundLimits::default());
    let refused = |command: &str| {
        let command = command.to_owned();
        run.refused(&BackgroundCommand::Start { command }, USER)
    };
    assert_eq!(refused(" \n"), Some(BackgroundRefusal::NoCommand));
    let bytes = 5_000;
    assert_eq!(
        refused(&"x".repeat(bytes)),
        Some(BackgroundRefusal::CommandTooLong { bytes })
    );
}

#[test]
fn a_task_is_cancelled_once_and_ends_once() {
    let mut run = Loop::new(BackgroundLimits::default());
    run.start("x", AGENT);
    let (events, effects) = run.ask(cancel(1), USER);
    assert_eq!(
        events,
        [Event::Background(BackgroundEvent::Cancelled { number: 1, by: USER })]
    );
    assert_eq!(effects, [Effect::CancelBackground { number: 1 }]);
    assert_eq!(
        run.refused(&cancel(1), USER),
        Some(BackgroundRefusal::Ending { number: 1 })
    );
    assert_eq!(run.ask(cancel(1), USER), (Vec::new(), Vec::new()));
    assert_eq!(run.end(1, BackgroundEnd::Cancelled).len(), 1);
    assert_eq!(run.end(1, BackgroundEnd::Cancelled), []);
    assert_eq!(
        run.refused(&cancel(1), USER),
        Some(BackgroundRefusal::Ended { number: 1 })
    );
    assert_eq!(
        run.refused(&cancel(7), USER),
        Some(BackgroundRefusal::Unknown { number: 7 })
    );
}

#[test]
fn an_agent_has_no_say_over_tasks_of_the_user_nor_any_where_the_settings_say_so() {
    let mut run = Loop::new(BackgroundLimits::default());
    run.start("x", USER);
    assert_eq!(
        run.refused(&cancel(1), AGENT),
        Some(BackgroundRefusal::StartedByUser { number: 1 })
    );
    assert_eq!(run.ask(cancel(1), AGENT).0, []);
    let mut run = Loop::new(BackgroundLimits {
        agents: false,
        ..BackgroundLimits::default()
    });
    let start = BackgroundCommand::Start {
        command: "x".to_owned(),
    };
    assert_eq!(run.refused(&start, AGENT), Some(BackgroundRefusal::NotForAgents));
    assert_eq!(run.start("x", AGENT).0, []);
    assert_eq!(run.refused(&start, USER), None);
}

#[test]
fn tasks_end_with_the_run_however_it_ends_and_their_end_is_recorded_behind_it() {
    for (stop, at_once) in [(StopRequest::Graceful, false), (StopRequest::Immediate, true)] {
        let mut run = Loop::new(BackgroundLimits::default());
        run.start("x", USER);
        run.start("y", USER);
        run.end(2, exited());
        let effects = run.stop(stop);
        assert!(run.state.view.is_over());
        assert_eq!(effects, [Effect::EndBackground { at_once }, Effect::Finish]);
        let task = run.state.view.background.task(1).unwrap();
        assert_eq!(task.state(), BackgroundState::Ending);
        let start = BackgroundCommand::Start {
            command: "x".to_owned(),
        };
        assert_eq!(run.refused(&start, USER), Some(BackgroundRefusal::RunOver));
        assert_eq!(run.start("x", USER), (Vec::new(), Vec::new()));
        assert_eq!(run.end(1, BackgroundEnd::RunOver).len(), 1);
        assert!(run.state.view.is_over());
        // A reopened run has no background tasks.
        let (kind, text) = (SteeringKind::Next, "go on".to_owned());
        run.command(UserCommand::Steer { kind, text });
        assert!(!run.state.view.is_over());
        assert_eq!(run.state.view.background.alive().count(), 0);
        assert_eq!(run.start("z", USER).0.len(), 1);
    }
}

#[test]
fn a_pause_keeps_them() {
    let mut run = Loop::new(BackgroundLimits::default());
    run.start("x", USER);
    let (_, effects) = run.command(UserCommand::Pause);
    let ends = |effect: &Effect| matches!(effect, Effect::EndBackground { .. } | Effect::CancelBackground { .. });
    assert!(!effects.iter().any(ends), "{effects:?}");
    run.prepared(1);
    assert_eq!(run.state.view.phase, crate::run::Phase::Paused);
    assert_eq!(run.state.view.background.alive().count(), 1);
    assert_eq!(run.start("y", USER).0.len(), 1, "one can be started meanwhile");
}

#[test]
fn tasks_of_a_ralph_that_was_killed_are_lost_and_not_adopted() {
    let mut run = Loop::new(BackgroundLimits::default());
    run.start("x", USER);
    run.start("y", AGENT);
    run.end(2, exited());
    let settings = Box::new((*run.state.view.settings).clone());
    let (events, effects) = run.take(&Input::Recover {
        pid: 2,
        settings,
        pause_file: false,
        day: None,
    });
    let ended = |event: &Event| match event {
        Event::Background(BackgroundEvent::Ended { number, result }) => Some((*number, result.end.clone())),
        _ => None,
    };
    let lost: Vec<_> = events.iter().filter_map(ended).collect();
    assert_eq!(lost, [(1, BackgroundEnd::Lost)]);
    let starts = |effect: &Effect| matches!(effect, Effect::StartBackground { .. });
    assert!(!effects.iter().any(starts), "{effects:?}");
    // The later end of a lost task is ignored.
    assert_eq!(run.end(1, exited()), []);
}

#[test]
fn a_prompt_tells_what_runs_and_once_what_has_ended() {
    let mut run = Loop::new(BackgroundLimits::default());
    run.start("server", USER);
    run.start("tests", AGENT);
    run.start("build", AGENT);
    run.prepared(1);
    assert_eq!(run.told(), [1, 2, 3]);
    run.end(2, exited());
    // An agent that cancelled the task itself knows that it ended.
    run.ask(cancel(3), AGENT);
    run.end(3, BackgroundEnd::Cancelled);
    run.iteration_ends(1);
    assert_eq!(run.told(), [1, 2]);
    // The task ends while the prompt is being written, so this prompt does not mention it.
    run.end(1, exited());
    run.prepared(2);
    assert_eq!(run.told(), [1], "the end of 2 was told, that of 1 is not yet");
    // An iteration that was interrupted together with ralph may not have read its prompt.
    let settings = Box::new((*run.state.view.settings).clone());
    run.take(&Input::Recover {
        pid: 2,
        settings,
        pause_file: false,
        day: None,
    });
    assert_eq!(run.told(), [1, 2]);
    let settlement = Box::new(Settlement::from_plan(Ok(plan(true)), 0.5));
    run.take(&Input::Settled {
        iteration: 2,
        settlement,
    });
    run.prepared(3);
    assert_eq!(run.told(), Vec::<u32>::new());
}

#[test]
fn an_agent_starts_so_many_in_an_iteration_and_the_user_as_many_as_he_wants() {
    let mut run = Loop::new(BackgroundLimits::default());
    for number in 1..=32 {
        assert_eq!(run.start("exit", AGENT).0.len(), 1, "{number}");
        run.end(number, exited());
    }
    let another = BackgroundCommand::Start {
        command: "exit".to_owned(),
    };
    let used_up = Some(BackgroundRefusal::UsedUp { limit: 32 });
    assert_eq!(run.refused(&another, AGENT), used_up);
    assert_eq!(run.start("exit", AGENT), (Vec::new(), Vec::new()));
    assert_eq!(run.refused(&another, USER), None);
}

#[test]
fn a_command_may_be_as_long_as_the_limit_and_no_longer() {
    let run = Loop::new(BackgroundLimits::default());
    let long = |bytes| BackgroundCommand::Start {
        command: "x".repeat(bytes),
    };
    assert_eq!(run.refused(&long(4_096), USER), None);
    let bytes = 4_097;
    let too_long = BackgroundRefusal::CommandTooLong { bytes };
    assert_eq!(run.refused(&long(bytes), USER), Some(too_long));
}

#[test]
fn the_limit_of_a_whole_run_is_for_agents_only() {
    let mut run = Loop::new(BackgroundLimits::default());
    let make = BackgroundCommand::Start {
        command: "make".to_owned(),
    };
    run.state.view.background.by_agents = 1_023;
    assert_eq!(run.refused(&make, AGENT), None);
    run.state.view.background.by_agents = 1_024;
    let limit = 1_024;
    assert_eq!(run.refused(&make, AGENT), Some(BackgroundRefusal::UsedUp { limit }));
    assert_eq!(run.refused(&make, USER), None);
}
