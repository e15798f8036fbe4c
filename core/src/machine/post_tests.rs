//! Tests of proposed issues and comments: who lets them through, and what is posted when.

use crate::{
    event::{
        AgentCall, Answer, AnswerPlace, CommentTargets, Event, ForgePost, POST_CAP_BYTES, PlanSnapshot, PostDecider,
        PostRefusal, PostResult, PostRule, PostRules, Record, RequestedBy, Settings, SteeringKind, StopRequest, Text,
        UserCommand,
    },
    run::{PostState, RunView},
};

use super::{Effect, Input, LoopState, NoAnswer, Settlement, late_answer, post_decided, step, testing};

struct Run {
    state: LoopState,
    records: Vec<Record>,
    effects: Vec<Effect>,
}

fn rules(rule: PostRule) -> PostRules {
    PostRules {
        issues: rule,
        comments: rule,
        max: 2,
        labels: vec!["bug".to_owned()],
        repository: Some("https://github.com/team/shop".to_owned()),
        issue: Some(42),
        ..PostRules::default()
    }
}

fn settings(posts: PostRules) -> Settings {
    Settings {
        posts,
        ..Settings::default()
    }
}

fn issue(title: &str) -> ForgePost {
    ForgePost::Issue {
        title: title.into(),
        body: "text".into(),
        labels: Vec::new().into(),
    }
}

fn comment(number: u64) -> ForgePost {
    let body = "text".into();
    ForgePost::Comment { number, body }
}

const YES: Answer = Answer::Allow { remember: None };

fn no(why: &str) -> Answer {
    Answer::Deny {
        message: Some(why.to_owned()),
    }
}

impl Run {
    /// Starts a run whose agent works.
    fn new(posts: PostRules) -> Self {
        let mut run = Self {
            state: LoopState::default(),
            records: Vec::new(),
            effects: Vec::new(),
        };
        run.take(&Input::Start(Box::new(testing::start(settings(posts)))));
        let plan = PlanSnapshot {
            tasks: vec![testing::task("write", false)],
        };
        let result = Ok(testing::preparation(plan));
        run.take(&Input::Prepared { iteration: 1, result });
        run
    }

    fn take(&mut self, input: &Input) -> Vec<Event> {
        let stepped = step(std::mem::take(&mut self.state), 1_000, input);
        self.state = stepped.state;
        self.effects = stepped.effects;
        for event in &stepped.events {
            let (seq, at_ms) = (self.records.len() as u64, 1_000);
            let event = event.clone();
            self.records.push(Record { seq, at_ms, event });
        }
        // The view is the fold of the records, so proposals survive the death of ralph.
        assert_eq!(self.state.view, RunView::of(&self.records));
        stepped.events
    }

    fn propose(&mut self, post: ForgePost) -> Vec<Event> {
        let post = Box::new(post);
        let call = AgentCall::PostProposed { ask: 0, post };
        self.take(&Input::AgentCalled { iteration: 1, call })
    }

    fn command(&mut self, command: UserCommand) -> Vec<Event> {
        let by = RequestedBy::User;
        self.take(&Input::Command { command, by })
    }

    fn answer(&mut self, ask: u32, answer: Answer) -> Vec<Event> {
        let at = AnswerPlace::Page;
        self.command(UserCommand::Answer { ask, answer, at })
    }

    fn ended(&mut self, ask: u32, result: PostResult) -> Vec<Event> {
        self.take(&Input::PostEnded { ask, result })
    }

    fn stop(&mut self) {
        let stop = StopRequest::Immediate;
        self.command(UserCommand::Stop { stop });
        for signal in testing::agent_end() {
            self.take(&Input::Agent { iteration: 1, signal });
        }
        let settlement = Box::new(Settlement::from_plan(Err("gone".to_owned()), 0.5));
        self.take(&Input::Settled {
            iteration: 1,
            settlement,
        });
        assert!(self.state.view.is_over());
    }

    /// Numbers of the proposals that the driver was told to post in the last step.
    fn posted(&self) -> Vec<u32> {
        let posts = self.effects.iter().filter_map(|effect| match effect {
            Effect::Post { ask } => Some(*ask),
            _ => None,
        });
        posts.collect()
    }

    /// Numbers of the open questions.
    fn open(&self) -> Vec<u32> {
        let open = self.state.view.open_asks();
        open.iter().map(|ask| ask.number()).collect()
    }

    fn state_of(&self, ask: u32) -> &PostState {
        &self.state.view.posts.numbered(ask).expect("a proposal").state
    }
}

fn made() -> PostResult {
    PostResult::Made {
        number: 7,
        url: "https://github.com/team/shop/issues/7".into(),
    }
}

fn failed(why: &str) -> PostResult {
    PostResult::Failed { why: why.into() }
}

fn waits(why: &str) -> PostResult {
    PostResult::Waits { why: why.into() }
}

#[test]
fn a_proposal_is_posted_once_the_user_says_yes_and_never_twice() {
    let mut run = Run::new(rules(PostRule::Ask));
    assert_eq!(run.propose(issue("A")).len(), 1);
    assert_eq!((run.open(), run.posted()), (vec![1], vec![]));
    run.answer(1, YES);
    assert_eq!((run.open(), run.posted()), (vec![], vec![1]));
    assert_eq!(run.answer(1, YES), []);
    assert!(run.posted().is_empty());
    assert_eq!(run.ended(1, made()).len(), 1);
    assert_eq!(run.ended(1, made()), [], "a result that comes twice says nothing new");
    assert_eq!(run.answer(1, YES), []);
    assert!(matches!(run.state_of(1), PostState::Made { number: 7, .. }));
}

#[test]
fn a_refused_proposal_is_not_posted_and_no_prompt_has_the_refusal() {
    let mut run = Run::new(rules(PostRule::Ask));
    run.propose(comment(42));
    run.answer(1, no("a duplicate"));
    assert_eq!((run.open(), run.posted()), (vec![], vec![]));
    assert!(run.state.view.messages.is_empty());
    let why = Some("a duplicate".to_owned());
    let by = PostDecider::User { at: AnswerPlace::Page };
    assert_eq!(run.state_of(1), &PostState::Refused { by, why });
}

#[test]
fn an_answer_that_is_neither_yes_nor_no_decides_nothing() {
    let mut run = Run::new(rules(PostRule::Ask));
    run.propose(issue("A"));
    let words = |word: &str| Answer::Words {
        words: vec![word.to_owned()],
    };
    assert_eq!(run.answer(1, words("perhaps")), []);
    let read = late_answer(&run.state.view, 1, &words("perhaps"), AnswerPlace::Page);
    assert!(matches!(read, Err(Some(NoAnswer::YesOrNo { .. }))), "{read:?}");
    run.command(UserCommand::Steer {
        kind: SteeringKind::Next,
        text: "go on".to_owned(),
    });
    assert_eq!(run.open(), [1], "a message decides nothing either");
    run.answer(1, words("Yes"));
    assert_eq!(run.posted(), [1]);
}

#[test]
fn a_setting_lets_a_proposal_through_if_the_repository_was_known_when_the_run_began() {
    let mut run = Run::new(rules(PostRule::Allow));
    assert_eq!(run.propose(issue("A")).len(), 2);
    assert_eq!((run.open(), run.posted()), (vec![], vec![1]));
    let mut unknown = Run::new(PostRules {
        repository: None,
        ..rules(PostRule::Allow)
    });
    unknown.propose(issue("A"));
    assert_eq!((unknown.open(), unknown.posted()), (vec![1], vec![]));
}

#[test]
fn what_the_rules_do_not_take_is_not_recorded() {
    let ask = rules(PostRule::Ask);
    let labelled = |label: &str| ForgePost::Issue {
        title: "A".into(),
        body: "b".into(),
        labels: vec![Text::from(label)].into(),
    };
    assert_eq!(ask.refusal(&labelled("bug"), 0), None);
    assert!(matches!(
        ask.refusal(&labelled("ralph"), 0),
        Some(PostRefusal::Label { .. })
    ));
    assert_eq!(ask.refusal(&comment(42), 0), None);
    assert!(matches!(
        ask.refusal(&comment(43), 0),
        Some(PostRefusal::OtherNumber { number: 43, .. })
    ));
    let any = PostRules {
        comments_on: CommentTargets::Any,
        ..ask.clone()
    };
    assert_eq!(any.refusal(&comment(43), 0), None);
    assert_eq!(ask.refusal(&issue("A"), 2), Some(PostRefusal::UsedUp { max: 2 }));
    assert_eq!(PostRules::default().refusal(&issue("A"), 0), Some(PostRefusal::Off));
    let mut run = Run::new(ask);
    for n in 0..5 {
        assert_eq!(run.propose(issue("A")).len(), usize::from(n < 2), "{n}");
    }
    assert_eq!(run.propose(comment(43)), []);
}

#[test]
fn a_long_text_is_cut_when_it_is_read() {
    let long = ForgePost::Comment {
        number: 1,
        body: "x".repeat(3 * POST_CAP_BYTES).into(),
    };
    assert!(long.body().len() <= POST_CAP_BYTES);
}

#[test]
fn a_post_that_waits_is_the_drivers_and_one_that_failed_is_the_users_again() {
    let mut run = Run::new(rules(PostRule::Allow));
    run.propose(issue("A"));
    assert_eq!(run.ended(1, waits("silence")).len(), 1);
    assert_eq!(run.ended(1, waits("silence")), [], "told once");
    assert!(run.open().is_empty());
    assert_eq!(run.ended(1, failed("the token")).len(), 1);
    assert_eq!(run.open(), [1]);
    let asked = run.state.view.permissions.unanswered[0].request.reason.clone();
    assert_eq!(asked.as_deref(), Some("not posted yet: the token"));
    run.answer(1, YES);
    assert_eq!((run.open(), run.posted()), (vec![], vec![1]));
    run.answer(1, no("too late"));
    run.ended(1, made());
    assert!(matches!(run.state_of(1), PostState::Made { .. }));
}

#[test]
fn a_resumed_run_posts_what_is_due_and_a_run_that_ends_gives_it_back() {
    let mut run = Run::new(rules(PostRule::Allow));
    run.propose(issue("A"));
    let posts = PostRules {
        repository: Some("https://github.com/evil/shop".to_owned()),
        issue: Some(1),
        max: 9,
        ..rules(PostRule::Ask)
    };
    run.take(&Input::Recover {
        pid: 2,
        settings: Box::new(settings(posts)),
        pause_file: false,
        day: None,
    });
    assert_eq!(run.posted(), [1]);
    let now = &run.state.view.settings.posts;
    assert_eq!((now.max, now.issue), (9, Some(42)));
    assert_eq!(
        now.repository.as_deref(),
        Some("https://github.com/team/shop"),
        "the place stays"
    );
    let at = AnswerPlace::CommandLine;
    assert_eq!(
        post_decided(&run.state.view, 1, &YES, at, false),
        None,
        "the loop works on it"
    );
    assert!(post_decided(&run.state.view, 1, &YES, at, true).is_some());
    run.stop();
    assert_eq!(run.open(), [1]);
    let answered = run.answer(1, YES);
    assert!(matches!(answered[..], [Event::PostDecided { .. }]), "{answered:?}");
    assert!(run.state.view.is_over(), "no iteration is needed");
    assert_eq!(run.posted(), [1]);
    run.ended(1, made());
    assert!(matches!(run.state_of(1), PostState::Made { .. }));
}

#[test]
fn a_proposal_is_refused_in_words_and_a_failure_that_comes_later_changes_nothing() {
    for word in ["No", "n"] {
        let mut run = Run::new(rules(PostRule::Ask));
        run.propose(issue("A"));
        let words = vec![word.to_owned()];
        let events = run.answer(1, Answer::Words { words });
        assert!(
            matches!(events[..], [Event::PostDecided { allowed: false, .. }]),
            "{events:?}"
        );
        assert!(run.open().is_empty());
    }
    let mut run = Run::new(rules(PostRule::Ask));
    run.propose(issue("A"));
    run.answer(1, YES);
    run.ended(1, failed("the forge"));
    run.answer(1, no("leave it"));
    let refused = run.state_of(1).clone();
    run.ended(1, failed("too late"));
    assert_eq!(run.state_of(1), &refused);
}
