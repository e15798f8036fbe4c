//! Tests of comments on lines: drafts, messages, and ends that they prevent.

use crate::{
    event::{
        AgentCall, Checkpoint, Claim, ClaimEvent, CommentAnswer, CommentAuthor, CommentEvent, CommentPlace, Event,
        Goal, LinesState, Missing, PlacedComment, PlanSnapshot, Record, RequestedBy, RunEvent, Settings, SteeringEvent,
        SteeringId, SteeringKind, StopReason, UserCommand,
    },
    run::{CommentState, RunView},
};

use super::{Feedback, Input, LoopState, Settlement, Statement, comments, decision::StepDecision, step, testing};

struct Run {
    state: LoopState,
    records: Vec<Record>,
}

fn plan(done: bool) -> PlanSnapshot {
    PlanSnapshot {
        tasks: vec![testing::task("write", done)],
    }
}

fn place(line: u32) -> Box<CommentPlace> {
    Box::new(CommentPlace {
        file: "src/a.rs".into(),
        line,
        quote: vec!["let x = 1;".into()].into(),
        ..CommentPlace::default()
    })
}

fn put(comment: u32, lines: LinesState) -> PlacedComment {
    PlacedComment {
        comment,
        file: "src/a.rs".into(),
        line: 9,
        lines,
    }
}

impl Run {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let mut run = Self {
            state: LoopState::default(),
            records: Vec::new(),
        };
        run.take(&Input::Start(Box::new(testing::start(settings))));
        run
    }

    fn take(&mut self, input: &Input) -> Vec<Event> {
        let stepped = step(std::mem::take(&mut self.state), 1_000, input);
        self.state = stepped.state;
        self.record(&stepped.events);
        // The view is the fold of the records, so comments survive the death of ralph.
        assert_eq!(self.state.view.comments, RunView::of(&self.records).comments);
        stepped.events
    }

    fn record(&mut self, events: &[Event]) {
        for event in events {
            let (seq, at_ms) = (self.records.len() as u64, 1_000);
            let event = event.clone();
            self.records.push(Record { seq, at_ms, event });
        }
    }

    fn command(&mut self, command: UserCommand) -> Vec<Event> {
        let by = RequestedBy::User;
        self.take(&Input::Command { command, by })
    }

    fn write(&mut self, line: u32, text: &str) {
        let (place, text) = (place(line), text.to_owned());
        self.command(UserCommand::WriteComment { place, text });
    }

    fn send(&mut self) -> Vec<Event> {
        let kind = SteeringKind::Next;
        self.command(UserCommand::SendComments { kind })
    }

    /// Begins an iteration with the messages that are due in its prompt.
    fn begin(&mut self) -> u32 {
        let iteration = self.state.view.iterations.number + 1;
        let due = self.state.view.messages.iter().filter(|message| message.is_due());
        let delivered = due.map(|message| message.id).collect();
        let preparation = super::Preparation {
            delivered,
            ..testing::preparation(plan(false))
        };
        let result = Ok(preparation);
        self.take(&Input::Prepared { iteration, result });
        iteration
    }

    /// Ends the iteration, whose agent claims that it is done.
    fn end(&mut self, comments: Vec<PlacedComment>, answers: &[(u32, &str)]) {
        let iteration = self.state.view.iterations.number;
        let answers = answers.iter().map(|(comment, reason)| CommentAnswer {
            comment: *comment,
            reason: (*reason).into(),
        });
        let statement = Statement {
            claims: vec![Claim::Promise],
            comments: answers.collect(),
            ..Statement::default()
        };
        self.take(&Input::AgentStated { iteration, statement });
        for signal in testing::agent_end() {
            self.take(&Input::Agent { iteration, signal });
        }
        let settlement = Box::new(Settlement {
            claims: vec![Claim::Promise],
            comments,
            ..Settlement::from_plan(Ok(plan(true)), 0.5)
        });
        self.take(&Input::Settled { iteration, settlement });
    }

    fn state_of(&self, comment: u32) -> CommentState {
        self.state.view.comments.numbered(comment).expect("it is known").state()
    }

    fn is_done(&self) -> bool {
        matches!(self.state.view.stop_reason(), Some(StopReason::Done { .. }))
    }
}

#[test]
fn drafts_are_edited_withdrawn_and_sent_in_one_message() {
    let mut run = Run::new();
    run.begin();
    run.write(3, "one");
    run.write(4, "two");
    run.write(5, "three");
    run.command(UserCommand::WithdrawComment { comment: 2 });
    let text = "better".to_owned();
    run.command(UserCommand::EditComment { comment: 1, text });
    let sent = run.send();
    let [
        Event::Steering(SteeringEvent::Queued { text, .. }),
        Event::Comment(CommentEvent::Sent { message, comments }),
    ] = &sent[..]
    else {
        panic!("{sent:?}");
    };
    assert_eq!(
        text,
        "Comment 1 on src/a.rs:3:\n> let x = 1;\nbetter\n\nComment 3 on src/a.rs:5:\n> let x = 1;\nthree"
    );
    assert_eq!((*message, &comments[..]), (SteeringId(1), &[1, 3][..]));
    assert_eq!(run.send(), [], "nothing is left");
    let text = "too late".to_owned();
    assert_eq!(run.command(UserCommand::EditComment { comment: 1, text }), []);
    assert_eq!(run.command(UserCommand::WithdrawComment { comment: 1 }), []);
    // A message that was taken back gives its comments back.
    run.command(UserCommand::Withdraw { id: SteeringId(1) });
    assert_eq!(run.state_of(1), CommentState::Draft);
}

#[test]
fn a_draft_ends_no_run_and_prevents_no_end() {
    let mut run = Run::new();
    run.begin();
    run.write(3, "later");
    run.end(vec![put(1, LinesState::Gone)], &[]);
    assert!(run.is_done());
    assert_eq!(run.state_of(1), CommentState::Draft);
    assert!(run.state.view.comments.list[0].is_outdated());
}

#[test]
fn an_open_comment_keeps_the_run_from_ending_until_its_lines_change() {
    let mut run = Run::new();
    run.write(3, "name it");
    run.send();
    run.begin();
    run.end(vec![put(1, LinesState::Same)], &[]);
    assert!(!run.is_done(), "{:?}", run.state.view.phase);
    let refused = run.records.iter().rev().find_map(|record| match &record.event {
        Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(reasons.to_vec()),
        _ => None,
    });
    let open = Missing::CommentOpen {
        comment: 1,
        place: "src/a.rs:9".into(),
        text: "name it".into(),
        answered: false,
    };
    assert_eq!(refused, Some(vec![open.clone()]));
    let told = Feedback::ClaimRefused { reasons: vec![open] };
    assert!(run.state.prompt_feedback().contains(&told));
    run.begin();
    run.end(vec![put(1, LinesState::Gone)], &[]);
    assert!(run.is_done());
    assert_eq!(run.state_of(1), CommentState::Changed { iteration: 2 });
}

#[test]
fn a_change_that_is_taken_back_opens_the_comment_again() {
    let mut run = Run::new();
    run.write(3, "name it");
    run.send();
    run.begin();
    run.command(UserCommand::Steer {
        kind: SteeringKind::Next,
        text: "and more".to_owned(),
    });
    run.end(vec![put(1, LinesState::NeighbourChanged)], &[]);
    assert_eq!(run.state_of(1), CommentState::Changed { iteration: 1 });
    run.begin();
    run.end(vec![put(1, LinesState::Same)], &[]);
    assert_eq!(run.state_of(1), CommentState::Open);
    assert!(!run.is_done());
}

#[test]
fn an_answered_comment_ends_the_run_blocked_until_the_user_resolves_it() {
    let mut run = Run::new();
    run.write(3, "drop it");
    run.send();
    run.begin();
    run.end(Vec::new(), &[(1, "the API needs it"), (7, "no such comment")]);
    let question = "src/a.rs:3: the API needs it".into();
    assert_eq!(run.state.view.stop_reason(), Some(&StopReason::Blocked { question }));
    assert_eq!(run.state_of(1), CommentState::Answered);
    assert_ne!(run.command(UserCommand::ResolveComment { comment: 1 }), []);
    assert_eq!(run.command(UserCommand::ResolveComment { comment: 1 }), [], "once");
    assert_eq!(run.state_of(1), CommentState::Resolved);
    // Comments are written to an ended run, and sending them resumes it.
    run.write(4, "and this");
    assert!(run.state.view.is_over());
    let sent = run.send();
    assert!(matches!(sent[0], Event::Run(RunEvent::Reopened { .. })), "{sent:?}");
    run.begin();
    run.end(vec![put(2, LinesState::Gone)], &[]);
    assert!(run.is_done());
}

#[test]
fn an_answered_comment_goes_to_the_user_although_no_goal_was_run() {
    let goal = Goal {
        name: "tests".to_owned(),
        ..Goal::default()
    };
    let mut run = Run::with(Settings {
        goals: vec![goal],
        ..Settings::default()
    });
    run.write(3, "drop it");
    run.send();
    run.begin();
    run.end(Vec::new(), &[(1, "the API needs it")]);
    let question = "src/a.rs:3: the API needs it".into();
    assert_eq!(run.state.view.stop_reason(), Some(&StopReason::Blocked { question }));
}

#[test]
fn the_tool_answers_and_an_unsent_comment_takes_no_answer() {
    let mut run = Run::new();
    run.write(3, "why?");
    run.send();
    run.write(4, "a draft");
    let iteration = run.begin();
    for comment in [1, 2] {
        let reason = "because".into();
        let answer = CommentAnswer { comment, reason };
        let call = AgentCall::CommentAnswered { answer };
        run.take(&Input::AgentCalled { iteration, call });
    }
    assert_eq!(run.state_of(1), CommentState::Answered);
    assert_eq!(run.state_of(2), CommentState::Draft);
}

#[test]
fn lines_that_were_gone_when_a_comment_was_sent_show_no_change() {
    let mut run = Run::new();
    run.begin();
    run.write(3, "late");
    run.command(UserCommand::Steer {
        kind: SteeringKind::Next,
        text: "and more".to_owned(),
    });
    run.end(vec![put(1, LinesState::Gone)], &[]);
    run.send();
    run.begin();
    run.end(vec![put(1, LinesState::Gone)], &[]);
    assert_eq!(run.state_of(1), CommentState::Open);
    assert!(!run.is_done());
    run.command(UserCommand::ResolveComment { comment: 1 });
    run.begin();
    run.end(Vec::new(), &[]);
    assert!(run.is_done());
}

#[test]
fn a_comment_is_bound_to_the_latest_checkpoint_unless_it_names_one() {
    let bound = |run: &mut Run, checkpoint: Option<&str>| {
        let place = Box::new(CommentPlace {
            checkpoint: checkpoint.map(Into::into),
            ..*place(3)
        });
        let text = "name it".to_owned();
        run.command(UserCommand::WriteComment { place, text });
        let last = run.state.view.comments.list.last().expect("a comment");
        last.place.checkpoint.as_ref().map(ToString::to_string)
    };
    let checkpoint = |commit: &str| Checkpoint {
        commit: commit.to_owned(),
        tree: String::new(),
        head: None,
    };
    let mut run = Run::new();
    assert_eq!(bound(&mut run, None), None);
    run.state.internal.baseline = Some(checkpoint("before"));
    assert_eq!(bound(&mut run, None).as_deref(), Some("before"));
    run.state.internal.latest = Some(checkpoint("after"));
    assert_eq!(bound(&mut run, None).as_deref(), Some("after"));
    assert_eq!(bound(&mut run, Some("own")).as_deref(), Some("own"));
}

#[test]
fn a_run_has_room_for_a_hundred_comments() {
    let mut run = Run::new();
    for line in 0..=100 {
        run.write(line, "again");
    }
    assert_eq!(run.state.view.comments.list.len(), 100);
    assert_eq!(finding_events(&mut run, "src/a.rs", 1, "one too many"), []);
}

#[test]
fn the_place_of_a_comment_is_recorded_if_it_is_another_one() {
    let mut run = Run::new();
    run.write(9, "name it");
    let known = put(1, LinesState::Same);
    let another = PlacedComment {
        comment: 2,
        ..known.clone()
    };
    let moved = [
        PlacedComment {
            file: "src/b.rs".into(),
            ..known.clone()
        },
        PlacedComment {
            line: 8,
            ..known.clone()
        },
        put(1, LinesState::Gone),
    ];
    let placed = |run: &Run, place: &PlacedComment| {
        let mut decision = StepDecision::at(run.state.clone(), 1_000);
        comments::placed(&mut decision, 1, std::slice::from_ref(place));
        !decision.events().is_empty()
    };
    assert!(!placed(&run, &known));
    assert!(!placed(&run, &another), "there is no such comment");
    for place in moved {
        assert!(placed(&run, &place), "{place:?}");
    }
}

/// The events of a finding of the review in iteration 2.
fn finding_events(run: &mut Run, file: &str, line: u32, text: &str) -> Vec<Event> {
    let place = CommentPlace {
        file: file.into(),
        ..*place(line)
    };
    let mut decision = StepDecision::at(std::mem::take(&mut run.state), 1_000);
    comments::found(&mut decision, 2, &[(place, text.to_owned())]);
    let (state, events) = decision.finish();
    run.state = state;
    run.record(&events);
    events
}

#[test]
fn a_finding_is_a_comment_of_the_reviewer_unless_a_review_has_found_it_before() {
    let mut run = Run::new();
    run.write(3, "no test");
    let mut is_new = |file, line, text| match &finding_events(&mut run, file, line, text)[..] {
        [] => false,
        [Event::Comment(CommentEvent::Written { by, .. })] => *by == CommentAuthor::Reviewer { iteration: 2 },
        events => panic!("{events:?}"),
    };
    assert!(is_new("src/a.rs", 3, "no test"), "the user's comment is another one");
    assert!(!is_new("src/a.rs", 3, "no test"));
    assert!(!is_new("src/a.rs", 7, "no test"), "the lines have moved");
    assert!(is_new("src/a.rs", 3, "no name"));
    assert!(is_new("src/b.rs", 3, "no test"));
    for comment in [2, 3, 4] {
        run.command(UserCommand::ResolveComment { comment });
    }
    assert_ne!(
        finding_events(&mut run, "src/a.rs", 3, "no test"),
        [],
        "it is not mended"
    );
}
