//! Tests of the reports of a session: which are recorded, which count, and what ends it.

use crate::event::{
    AgentEvent, Claim, Event, Finding, NewWorker, Outcome, Problem, ProblemKind, Record, Settings, StopReason,
    UserCommand,
};

use super::{Input, Statement, scripted_run_tests::ScriptedRun};

fn running() -> ScriptedRun {
    ScriptedRun::running(Settings::default(), &["one"])
}

fn promised() -> Statement {
    Statement {
        claims: vec![Claim::Promise],
        ..Statement::default()
    }
}

fn stated(claims: &[Claim]) -> Event {
    Event::Agent(AgentEvent::Stated {
        iteration: 1,
        claims: claims.to_vec(),
        blocked: None,
        denies_done: None,
        question: None,
        status: None,
        review: None,
        tests_changed: None,
        comments: Vec::new(),
    })
}

#[test]
fn a_statement_of_the_running_session_is_recorded_if_it_is_new() {
    let mut script = running();
    let statement = Statement::default();
    assert_eq!(script.tell(statement), [], "it says nothing");
    assert_eq!(script.tell(promised()), [stated(&[Claim::Promise])]);
    assert_eq!(script.tell(promised()), []);
    let statement = Statement::default();
    let iteration = 2;
    assert_eq!(script.take(&Input::AgentStated { iteration, statement }), []);
    script.complete();
    let statement = Statement::default();
    assert_eq!(script.tell(statement), [], "the session is over");
}

#[test]
fn the_file_that_claims_completion_adds_one_claim_to_the_statement_while_the_iteration_is_settled() {
    let found = |script: &mut ScriptedRun, iteration| script.take(&Input::DoneFileFound { iteration });
    let mut script = running();
    script.tell(promised());
    assert_eq!(found(&mut script, 1), [], "the session is not over");
    script.complete();
    assert_eq!(found(&mut script, 2), [], "that is another iteration");
    let both = [Claim::Promise, Claim::DoneFile];
    assert_eq!(found(&mut script, 1), [stated(&both)]);
    assert_eq!(found(&mut script, 1), [], "it is known");
    assert_eq!(script.state.internal.stated.claims, both);
}

#[test]
fn that_details_are_left_out_is_recorded_once_for_each_iteration() {
    let mut script = running();
    for iteration in [1, 2] {
        let text = "x".repeat(4_000);
        let events: Vec<Event> = (0..60).flat_map(|_| script.say(&text)).collect();
        let omitted = Event::Agent(AgentEvent::DetailsOmitted { iteration });
        assert_eq!(
            events.iter().filter(|event| **event == omitted).count(),
            1,
            "{}",
            events.len()
        );
        assert!(events.len() < 60);
        script.complete();
        script.settle();
        script.prepare();
    }
}

fn without_live_channel() -> Problem {
    Problem {
        finding: Some(Finding::NoLiveChannel),
        ..Problem::said(ProblemKind::Usage, "unexpected argument")
    }
}

#[test]
fn only_a_completed_iteration_of_the_same_adapter_shows_that_it_has_a_live_channel() {
    let found = |script: &ScriptedRun| match script.outcome() {
        Some(Outcome::Failed { problem }) => problem.finding,
        outcome => panic!("{outcome:?}"),
    };
    let no_live_channel = Some(Finding::NoLiveChannel);
    let own = || Settings {
        adapter: "own".to_owned(),
        ..Settings::default()
    };

    let mut script = ScriptedRun::running(own(), &["one"]);
    script.complete();
    script.settle();
    script.prepare();
    script.fail(without_live_channel());
    assert_eq!(found(&script), None, "it has worked");

    let mut script = ScriptedRun::running(own(), &["one"]);
    script.complete();
    let worker = NewWorker {
        adapter: Some("other".to_owned()),
        model: None,
    };
    script.command(UserCommand::SetWorker { worker });
    script.settle();
    script.prepare();
    script.fail(without_live_channel());
    assert_eq!(found(&script), no_live_channel, "another adapter has worked");

    let mut script = ScriptedRun::running(own(), &["one"]);
    script.command(UserCommand::Skip);
    script.end();
    script.settle();
    script.prepare();
    script.fail(without_live_channel());
    assert_eq!(found(&script), no_live_channel, "nothing was completed");
}

#[test]
fn the_state_of_a_run_is_what_its_records_say() {
    let mut script = ScriptedRun::start(Settings::default(), &["one"]);
    let mut state = script.state.clone();
    let mut events = script.prepare();
    events.extend(script.fail(Problem::said(ProblemKind::Auth, "log in")));
    events.extend(script.settle());
    assert!(matches!(script.stop_reason(), Some(StopReason::AgentFailed { .. })));
    let at_ms = script.now_ms;
    for (seq, event) in (1..).zip(events) {
        state.apply(&Record { seq, at_ms, event });
    }
    assert_eq!(state, script.state);
}
