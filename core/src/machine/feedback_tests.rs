//! Tests of what one session leaves to the next: feedback, messages, claims, and the session itself.

use crate::event::{
    AgentCall, AgentSignal, BackgroundCommand, BackgroundEnd, BackgroundResult, Claim, ClaimEvent, CommentPlace, Event,
    Exit, Finding, Missing, NewWorker, Outcome, Problem, ProblemKind, Proof, Requester, SessionId, SessionMode,
    Settings, SteeringEvent, SteeringId, SteeringKind, StopReason, UserCommand,
};

use super::{Feedback, Input, Settlement, scripted_run_tests::ScriptedRun};

fn no_live_channel() -> Outcome {
    Outcome::Failed {
        problem: Problem {
            finding: Some(Finding::NoLiveChannel),
            ..Problem::said(ProblemKind::Usage, "unexpected argument")
        },
    }
}

fn failed(kind: ProblemKind) -> Outcome {
    Outcome::Failed {
        problem: Problem::said(kind, "it failed"),
    }
}

/// Outcomes of iterations that are repeated, and others.
fn outcomes() -> [(Outcome, bool); 5] {
    [
        (Outcome::Completed, false),
        (failed(ProblemKind::Other), false),
        (failed(ProblemKind::RateLimited { until_ms: None }), true),
        (no_live_channel(), true),
        (Outcome::Interrupted, true),
    ]
}

impl ScriptedRun {
    /// Goes on to the next preparation, without the wait for it.
    fn go_on(&mut self) {
        self.settle();
        self.command(UserCommand::RetryNow);
    }

    fn called(&mut self, call: AgentCall) {
        let iteration = self.iteration();
        self.take(&Input::AgentCalled { iteration, call });
    }

    fn last_message(&self) -> Option<&str> {
        let last = self.state.internal.last_message.as_ref();
        last.map(|message| message.text.as_str())
    }

    /// An iteration that completes with these claims. Returns why they were refused.
    fn claim(&mut self, claims: &[Claim]) -> Vec<Missing> {
        self.prepare();
        self.complete();
        let settlement = self.settlement();
        let events = self.settle_as(Settlement {
            claims: claims.to_vec(),
            ..settlement
        });
        let refused = events.into_iter().find_map(|event| match event {
            Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(reasons.to_vec()),
            _ => None,
        });
        refused.unwrap_or_default()
    }
}

#[test]
fn the_last_message_of_a_session_is_kept_until_a_session_ends_without_one() {
    for (outcome, is_repeated) in outcomes() {
        let mut script = ScriptedRun::running(Settings::default(), &["one"]);
        script.say("first");
        script.say("second");
        script.say(" \n");
        script.command(UserCommand::Skip);
        script.end();
        assert_eq!(script.last_message(), Some("second"));
        script.go_on();
        script.prepare();
        script.end_as(&outcome);
        assert_eq!(script.last_message(), is_repeated.then_some("second"), "{outcome:?}");
    }
}

#[test]
fn notes_of_an_agent_are_told_to_the_next_one_only() {
    let mut script = ScriptedRun::running(Settings::default(), &["one"]);
    let note = "half of it is done".to_owned();
    script.called(AgentCall::Noted {
        note: note.as_str().into(),
    });
    script.complete();
    script.settle();
    let told = [Feedback::Noted { notes: vec![note] }];
    assert_eq!(script.state.prompt_feedback(), told);
    script.prepare();
    assert_eq!(script.state.prompt_feedback(), []);
}

#[test]
fn the_latest_claim_by_tool_counts_until_the_next_iteration() {
    let mut script = ScriptedRun::running(Settings::default(), &["one"]);
    let claimed = |reasons: &[Missing]| AgentCall::Claimed {
        reasons: reasons.to_vec().into(),
    };
    script.called(claimed(&[]));
    assert!(script.state.internal.tool_calls.claimed);
    script.called(claimed(&[Missing::GoalsNotRun]));
    assert!(!script.state.internal.tool_calls.claimed, "it was refused at once");
    script.called(claimed(&[]));
    script.complete();
    script.settle();
    assert!(script.state.internal.tool_calls.claimed);
    script.prepare();
    assert!(!script.state.internal.tool_calls.claimed);
}

#[test]
fn a_claim_without_evidence_counts_when_it_is_made_twice_running() {
    let promise = [Claim::Promise];
    let refused = [Missing::NeedsSecondClaim];
    let done = StopReason::done(Proof::Nothing);

    let mut script = ScriptedRun::start(Settings::default(), &[]);
    assert_eq!(script.claim(&promise), refused);
    assert_eq!(script.claim(&promise), []);
    assert_eq!(script.stop_reason(), Some(&done));

    let mut script = ScriptedRun::start(Settings::default(), &[]);
    script.claim(&promise);
    assert_eq!(script.claim(&[]), [], "there is no claim");
    assert_eq!(script.claim(&promise), refused);

    let mut script = ScriptedRun::start(Settings::default(), &[]);
    script.claim(&promise);
    script.prepare();
    script.recover();
    script.settle();
    assert_eq!(script.claim(&promise), [], "an interrupted iteration is skipped");
    assert_eq!(script.stop_reason(), Some(&done));
}

fn in_session(adapter: &str) -> Settings {
    Settings {
        adapter: adapter.to_owned(),
        session: SessionMode::Resume,
        ..Settings::default()
    }
}

fn open_session(script: &mut ScriptedRun) {
    script.signal(AgentSignal::Opened {
        session: Some(SessionId("s".to_owned())),
        model: None,
    });
}

fn session(script: &ScriptedRun) -> Option<&str> {
    script.state.internal.session.as_ref().map(|session| session.0.as_str())
}

#[test]
fn a_session_is_continued_by_the_same_adapter_if_the_settings_say_so() {
    let mut script = ScriptedRun::running(in_session("own"), &["one"]);
    open_session(&mut script);
    script.complete();
    script.settle();
    assert_eq!(session(&script), Some("s"));
    let mut handed_on = ScriptedRun::running(in_session("own"), &["one"]);
    open_session(&mut handed_on);
    let worker = NewWorker {
        adapter: Some("other".to_owned()),
        model: None,
    };
    handed_on.command(UserCommand::SetWorker { worker });
    handed_on.complete();
    handed_on.settle();
    assert_eq!(session(&handed_on), None, "the other adapter does not know it");

    let fresh = Settings {
        session: SessionMode::Fresh,
        ..in_session("own")
    };
    let mut script = ScriptedRun::running(fresh, &["one"]);
    open_session(&mut script);
    assert_eq!(session(&script), None);
}

#[test]
fn a_resumed_run_continues_its_session_unless_the_settings_now_say_otherwise() {
    let fresh = Settings {
        session: SessionMode::Fresh,
        ..in_session("own")
    };
    for (settings, expected) in [
        (in_session("own"), Some("s")),
        (in_session("other"), None),
        (fresh, None),
    ] {
        let mut script = ScriptedRun::running(in_session("own"), &["one"]);
        open_session(&mut script);
        script.complete();
        script.recover_with(settings.clone());
        assert_eq!(session(&script), expected, "{settings:?}");
    }
}

fn steer(script: &mut ScriptedRun) {
    let (kind, text) = (SteeringKind::Next, "use tabs".to_owned());
    script.command(UserCommand::Steer { kind, text });
}

fn delivered(events: &[Event]) -> Vec<SteeringId> {
    let delivered = events.iter().filter_map(|event| match event {
        Event::Steering(SteeringEvent::Delivered { id, .. }) => Some(*id),
        _ => None,
    });
    delivered.collect()
}

#[test]
fn a_message_that_is_withdrawn_while_it_is_in_a_prompt_is_not_delivered_and_the_others_are() {
    let withdrawn = UserCommand::Withdraw { id: SteeringId(1) };
    let mut script = ScriptedRun::start(Settings::default(), &["one"]);
    steer(&mut script);
    steer(&mut script);
    script.prepare();
    script.command(withdrawn.clone());
    assert_eq!(delivered(&script.say("I use tabs")), [SteeringId(2)]);

    let mut script = ScriptedRun::start(Settings::default(), &["one"]);
    steer(&mut script);
    steer(&mut script);
    let preparation = script.preparation();
    script.command(withdrawn);
    script.prepare_as(preparation);
    assert_eq!(
        delivered(&script.say("I use tabs")),
        [SteeringId(2)],
        "the prompt was written before"
    );
}

#[test]
fn the_end_of_a_background_task_is_told_once_more_if_its_iteration_is_repeated() {
    for (outcome, is_repeated) in outcomes() {
        let mut script = ScriptedRun::start(Settings::default(), &["one"]);
        script.take(&Input::Background {
            command: BackgroundCommand::Start {
                command: "make".to_owned(),
            },
            by: Requester::User,
        });
        let exit = Exit::Code { code: 0 };
        let result = BackgroundResult {
            end: BackgroundEnd::Exited { exit },
            duration_ms: 1,
            output_bytes: 1,
            tail: "ok".into(),
        };
        let (number, result) = (1, Box::new(result));
        script.take(&Input::BackgroundEnded { number, result });
        script.recover();
        script.prepare();
        let told = |script: &ScriptedRun| script.state.background_for_prompt().count();
        assert_eq!(told(&script), 0, "the prompt has it");
        script.end_as(&outcome);
        assert_eq!(told(&script), usize::from(is_repeated), "{outcome:?}");
    }
}

fn place() -> Box<CommentPlace> {
    Box::new(CommentPlace {
        file: "src/a.rs".into(),
        line: 3,
        quote: vec!["let x = 1;".into()].into(),
        ..CommentPlace::default()
    })
}

#[test]
fn an_open_comment_is_told_unless_a_message_or_a_refusal_has_it() {
    let is_told = |script: &ScriptedRun| {
        let feedback = script.state.prompt_feedback();
        feedback
            .iter()
            .any(|feedback| matches!(feedback, Feedback::CommentsOpen { .. }))
    };
    let mut script = ScriptedRun::start(Settings::default(), &["one", "two"]);
    assert!(!is_told(&script), "there is none");
    let text = "shorter".to_owned();
    script.command(UserCommand::WriteComment { place: place(), text });
    let kind = SteeringKind::Next;
    script.command(UserCommand::SendComments { kind });
    assert!(!is_told(&script), "the message has it");
    script.prepare();
    script.complete();
    script.settle();
    assert!(is_told(&script), "the message was read");
    script.prepare();
    assert!(is_told(&script));
    steer(&mut script);
    script.complete();
    script.settle();
    assert!(is_told(&script), "the message that waits is about something else");
    script.prepare();
    script.complete();
    let settlement = script.settlement();
    script.settle_as(Settlement {
        claims: vec![Claim::Promise],
        ..settlement
    });
    let feedback = script.state.prompt_feedback();
    let lists_it = |reasons: &[Missing]| {
        let mut reasons = reasons.iter();
        reasons.any(|reason| matches!(reason, Missing::CommentOpen { .. }))
    };
    let mut refusals = feedback
        .iter()
        .filter(|feedback| matches!(feedback, Feedback::ClaimRefused { reasons } if lists_it(reasons)));
    assert!(refusals.next().is_some(), "{feedback:?}");
    assert!(!is_told(&script), "the refusal has it");
}
