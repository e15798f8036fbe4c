//! The list of the agents' requests and questions with their answers.
//!
//! Kept beside the view, not in it: the loop decides nothing by this list, and a request with its command and its diff
//! may be as long as a record. Requests that rules allowed without asking are not listed; those that rules denied are.

use std::collections::{VecDeque, vec_deque};

use super::RunView;
use crate::event::{
    Answered, Ask, AskEvent, AskVerdict, ConfirmedBy, Decider, Event, GateEvent, IterationEvent, Record, RuleScope,
    SteeringEvent, SteeringId, TaskEvent,
};

/// Maximum number of entries. Older ones are in the journal only.
const ENTRIES: usize = 10_000;
/// Maximum size of commands, diffs and questions, in bytes. Those of older entries are in the journal only.
const BYTES: usize = 16 << 20;

/// The requests of agents, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Asks {
    entries: VecDeque<AskEntry>,
    dropped: u64,
    /// Total bytes of the stored requests.
    bytes: usize,
    /// Number of oldest entries whose request was dropped.
    given_up: usize,
}

/// A request or question of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AskEntry {
    /// Index among all requests of the run. It does not change when older ones are dropped.
    pub place: u64,
    /// The number that an answer refers to; `None` if no question was asked.
    pub number: Option<u32>,
    pub iteration: Option<u32>,
    pub at_ms: u64,
    pub what: AskSubject,
    /// `None` while the agent waits.
    pub end: Option<AskEnd>,
    /// The rules that the answer added.
    pub rules: Option<(RuleScope, Vec<String>)>,
    /// The message that answered it after the agent had stopped waiting.
    pub late: Option<(SteeringId, String)>,
}

/// The content of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum AskSubject {
    Request(Box<Ask>),
    /// A request whose details were dropped.
    Title {
        tool: String,
        title: String,
    },
    /// A question that blocks a task.
    Block {
        task: Option<String>,
        question: String,
    },
}

/// How the wait for an answer ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AskEnd {
    Decided {
        allowed: bool,
        by: Decider,
        message: Option<String>,
        waited_ms: u64,
    },
    /// The questions were answered; `answers` is empty if they will not be.
    Answered {
        answers: Vec<Vec<String>>,
        by: Decider,
        message: Option<String>,
        waited_ms: u64,
    },
    Withdrawn,
    /// The iteration ended before an answer came.
    Unanswered,
}

impl Asks {
    /// Applies the next record. `view` must already include it.
    pub fn apply(&mut self, record: &Record, view: &RunView) {
        match &record.event {
            // A question that waits is asked again when its timeout changes.
            Event::Ask(AskEvent::Asked { ask }) if self.waiting(ask.number).is_none() => {
                let end = (!ask.kind.waits()).then_some(AskEnd::Unanswered);
                let what = AskSubject::Request(ask.clone());
                self.push(record.at_ms, Some(ask.number), Some(ask.iteration), what, end);
            }
            Event::Ask(AskEvent::Answered { answered }) => {
                let end = AskEnd::from_answer(answered);
                match answered.ask {
                    Some(ask) => self.end(ask, end),
                    None if !answered.is_refused() => {}
                    None => {
                        let (tool, title) = (answered.tool.clone(), answered.title.clone());
                        let what = AskSubject::Title { tool, title };
                        self.push(record.at_ms, None, Some(answered.iteration), what, Some(end));
                    }
                }
            }
            // No agent is left to get an answer.
            Event::Iteration(IterationEvent::Ended { .. }) => self.leave_open(),
            Event::Task(TaskEvent::Blocked { task, question, .. }) => {
                let number = view.blocks.last().map(|block| block.number);
                let (task, question) = (task.clone(), question.clone());
                let what = AskSubject::Block {
                    task,
                    question: question.to_string(),
                };
                self.push(record.at_ms, number, None, what, Some(AskEnd::Unanswered));
            }
            Event::Gate(GateEvent::TestsConfirmed {
                by: ConfirmedBy::User { at, ask },
                ..
            })
            | Event::Task(TaskEvent::ScopeConfirmed { at, ask, .. }) => {
                if let Some(entry) = self.numbered(*ask) {
                    entry.end = Some(AskEnd::Decided {
                        allowed: true,
                        by: Decider::User { at: *at },
                        message: None,
                        waited_ms: 0,
                    });
                }
            }
            Event::Ask(AskEvent::RulesAdded { ask, scope, rules, .. }) => {
                if let Some(entry) = self.numbered(*ask) {
                    entry.rules = Some((*scope, rules.clone()));
                }
            }
            Event::Steering(SteeringEvent::Queued {
                id,
                text,
                answers: Some(answered),
                ..
            }) => {
                if let Some(entry) = self.numbered(answered.ask) {
                    entry.late = Some((*id, text.clone()));
                }
            }
            _ => {}
        }
    }

    /// Iterates over the stored entries, oldest first.
    pub fn iter(&self) -> vec_deque::Iter<'_, AskEntry> {
        self.entries.iter()
    }

    /// Number of stored entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of older entries that are in the journal only.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The entry with this index among all requests.
    pub fn at(&self, place: u64) -> Option<&AskEntry> {
        let index = usize::try_from(place.checked_sub(self.dropped)?).ok()?;
        self.entries.get(index)
    }

    fn push(&mut self, at_ms: u64, number: Option<u32>, iteration: Option<u32>, what: AskSubject, end: Option<AskEnd>) {
        if self.entries.len() == ENTRIES {
            let oldest = self.entries.pop_front();
            self.bytes -= oldest.map_or(0, |oldest| oldest.what.bytes());
            self.given_up = self.given_up.saturating_sub(1);
            self.dropped += 1;
        }
        self.bytes += what.bytes();
        self.entries.push_back(AskEntry {
            place: self.dropped + self.entries.len() as u64,
            number,
            iteration,
            at_ms,
            what,
            end,
            rules: None,
            late: None,
        });
        while self.bytes > BYTES && self.given_up + 1 < self.entries.len() {
            let what = &mut self.entries[self.given_up].what;
            self.bytes -= what.bytes();
            what.shorten();
            self.bytes += what.bytes();
            self.given_up += 1;
        }
    }

    /// The latest entry with this number.
    fn numbered(&mut self, number: u32) -> Option<&mut AskEntry> {
        self.entries.iter_mut().rev().find(|entry| entry.number == Some(number))
    }

    fn waiting(&mut self, number: u32) -> Option<&mut AskEntry> {
        // Waiting entries are among the latest ones of their iteration.
        let mut entries = self.entries.iter_mut().rev();
        entries.find(|entry| entry.number == Some(number) && entry.end.is_none())
    }

    fn end(&mut self, number: u32, end: AskEnd) {
        if let Some(entry) = self.waiting(number) {
            entry.end = Some(end);
        }
    }

    fn leave_open(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.end.is_none()) {
            entry.end = Some(AskEnd::Unanswered);
        }
    }
}

impl AskEnd {
    fn from_answer(answered: &Answered) -> Self {
        let (by, message, waited_ms) = (answered.by.clone(), answered.message.clone(), answered.waited_ms);
        match &answered.verdict {
            AskVerdict::Allowed | AskVerdict::Denied => AskEnd::Decided {
                allowed: answered.verdict == AskVerdict::Allowed,
                by,
                message,
                waited_ms,
            },
            AskVerdict::Words { answers, .. } => AskEnd::Answered {
                answers: answers.clone(),
                by,
                message,
                waited_ms,
            },
            AskVerdict::Withdrawn => AskEnd::Withdrawn,
        }
    }
}

impl AskSubject {
    /// Approximate size in bytes.
    fn bytes(&self) -> usize {
        match self {
            AskSubject::Request(ask) => {
                let request = &ask.request;
                let may_be = [&request.command, &request.diff, &request.reason, &request.url];
                let texts: usize = may_be.into_iter().flatten().map(String::len).sum();
                let paths: usize = request.paths.iter().map(String::len).sum();
                let questions = request.questions.iter().map(|question| {
                    let choices = question.choices.iter();
                    let choices: usize = choices
                        .map(|choice| choice.label.len() + choice.description.len())
                        .sum();
                    question.text.len() + choices
                });
                request.title.len() + texts + paths + questions.sum::<usize>()
            }
            AskSubject::Title { tool, title } => tool.len() + title.len(),
            AskSubject::Block { task, question } => task.as_ref().map_or(0, String::len) + question.len(),
        }
    }

    /// Drops everything but the tool and the title.
    fn shorten(&mut self) {
        if let AskSubject::Request(ask) = self {
            let (tool, title) = (ask.request.tool.clone(), ask.request.title.clone());
            *self = AskSubject::Title { tool, title };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{AnswerPlace, AnsweredAsk, AskId, Choice, PermissionRequest, Question, SteeringKind, TestsChange},
        testing::{
            iteration_ended, iteration_started, permission_asked, permission_decided, question_answered,
            question_asked, question_withdrawn,
        },
    };

    const AT: AnswerPlace = AnswerPlace::Page;

    /// The list after these events.
    fn listed(events: impl IntoIterator<Item = Event>) -> Asks {
        let (mut asks, mut view) = (Asks::default(), RunView::default());
        let started = iteration_started(3, None, None);
        for (seq, event) in [started].into_iter().chain(events).enumerate() {
            let seq = seq as u64;
            let record = Record { seq, at_ms: seq, event };
            view.apply(&record);
            asks.apply(&record, &view);
        }
        asks
    }

    fn decided(ask: Option<u32>, allowed: bool) -> Event {
        let at = AnswerPlace::Screen;
        permission_decided(ask, allowed, Decider::User { at }, None)
    }

    #[test]
    fn what_was_asked_is_listed_with_what_became_of_it_and_what_rules_allowed_is_not() {
        let withdrawn = question_withdrawn(2);
        let asks = listed([
            permission_asked(1),
            permission_asked(2),
            decided(None, true),
            decided(None, false),
            decided(Some(1), true),
            withdrawn,
            permission_asked(3),
            iteration_ended(3),
            Event::Task(TaskEvent::Blocked {
                iteration: 3,
                task: None,
                question: "Which key?".into(),
            }),
        ]);
        let ends: Vec<_> = asks.iter().map(|entry| (entry.number, entry.end.clone())).collect();
        assert!(
            matches!(
                &ends[..],
                [
                    (Some(1), Some(AskEnd::Decided { allowed: true, .. })),
                    (Some(2), Some(AskEnd::Withdrawn)),
                    (None, Some(AskEnd::Decided { allowed: false, .. })),
                    (Some(3), Some(AskEnd::Unanswered)),
                    (Some(4), Some(AskEnd::Unanswered)),
                ]
            ),
            "{ends:?}"
        );
    }

    #[test]
    fn a_list_of_ten_thousand_drops_the_oldest_and_gives_up_the_commands_of_others_before_it_is_large() {
        let long = |number: u32| {
            let Event::Ask(AskEvent::Asked { mut ask }) = permission_asked(number) else {
                unreachable!("it asks")
            };
            ask.request.command = Some("x".repeat(30_000));
            ask.until_ms = None;
            Event::Ask(AskEvent::Asked { ask })
        };
        let count = u32::try_from(ENTRIES).unwrap() + 5;
        let asks = listed((1..=count).flat_map(|number| [long(number), decided(Some(number), true)]));
        assert_eq!((asks.len(), asks.dropped()), (ENTRIES, 5));
        assert_eq!(asks.at(5).and_then(|entry| entry.number), Some(6));
        assert_eq!(asks.at(4), None);
        assert!(asks.bytes <= BYTES, "{} bytes", asks.bytes);
        let kept = asks.iter().map(|entry| entry.what.bytes()).sum::<usize>();
        assert_eq!(kept, asks.bytes);
        let whole = |entry: &AskEntry| matches!(entry.what, AskSubject::Request(_));
        assert!(!whole(asks.at(5).unwrap()) && whole(asks.iter().last().unwrap()));
    }

    /// The entry with this number.
    fn entry(asks: &Asks, number: u32) -> &AskEntry {
        let found = asks.iter().find(|entry| entry.number == Some(number));
        found.expect("a listed question")
    }

    fn asked(ask: Ask) -> Event {
        Event::Ask(AskEvent::Asked { ask: Box::new(ask) })
    }

    fn asked_by_tool(number: u32, text: &str) -> Event {
        let question = Question {
            text: text.to_owned(),
            ..Question::default()
        };
        asked(Ask::by_tool(number, 3, &question))
    }

    fn tests_questioned(number: u32) -> Event {
        let change = TestsChange {
            why: "the old ones were wrong".into(),
            cut: true,
            ..TestsChange::default()
        };
        asked(crate::run::tests_question(number, 3, &change))
    }

    #[test]
    fn a_question_that_waits_longer_is_not_listed_twice() {
        let asks = listed([permission_asked(1), permission_asked(1), permission_asked(2)]);
        let numbers: Vec<_> = asks.iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, [Some(1), Some(2)]);
        let asks = listed([permission_asked(1), decided(Some(1), true), permission_asked(1)]);
        assert_eq!(
            asks.len(),
            2,
            "a number that is asked again after its answer is another question"
        );
    }

    #[test]
    fn an_answer_in_words_is_listed_with_its_question() {
        let answered = question_answered(2, &["red"], Decider::User { at: AT }, 70);
        let asks = listed([question_asked(1, false), question_asked(2, false), answered]);
        assert_eq!(entry(&asks, 1).end, None, "it still waits");
        let end = AskEnd::Answered {
            answers: vec![vec!["red".to_owned()]],
            by: Decider::User { at: AT },
            message: None,
            waited_ms: 70,
        };
        assert_eq!(entry(&asks, 2).end, Some(end));
    }

    #[test]
    fn a_question_that_no_agent_waits_for_is_listed_without_an_answer() {
        let asks = listed([
            asked_by_tool(1, "tabs?"),
            asked_by_tool(2, "spaces?"),
            tests_questioned(3),
        ]);
        let listed: Vec<_> = asks
            .iter()
            .map(|entry| match &entry.what {
                AskSubject::Request(ask) => (entry.number, ask.request.title.as_str(), ask.cut),
                AskSubject::Title { .. } | AskSubject::Block { .. } => panic!("{entry:?}"),
            })
            .collect();
        assert_eq!(
            listed,
            [
                (Some(1), "tabs?", false),
                (Some(2), "spaces?", false),
                (Some(3), "accept the changed tests? ", true),
            ]
        );
        assert!(asks.iter().all(|entry| entry.end == Some(AskEnd::Unanswered)));
        assert!(asks.iter().all(|entry| entry.iteration == Some(3)));
    }

    #[test]
    fn changed_tests_that_the_user_accepts_are_an_allowed_request() {
        let confirmed = |by| {
            Event::Gate(GateEvent::TestsConfirmed {
                iteration: 3,
                changes: Vec::new().into(),
                by,
            })
        };
        let by_plan = confirmed(ConfirmedBy::Plan { task: "tests".into() });
        let asks = listed([asked_by_tool(1, "tabs?"), tests_questioned(2), by_plan]);
        assert_eq!(
            entry(&asks, 2).end,
            Some(AskEnd::Unanswered),
            "the plan answers no question"
        );
        let by_user = confirmed(ConfirmedBy::User { at: AT, ask: 2 });
        let asks = listed([asked_by_tool(1, "tabs?"), tests_questioned(2), by_user]);
        assert_eq!(entry(&asks, 1).end, Some(AskEnd::Unanswered));
        let accepted = AskEnd::Decided {
            allowed: true,
            by: Decider::User { at: AT },
            message: None,
            waited_ms: 0,
        };
        assert_eq!(entry(&asks, 2).end, Some(accepted));
    }

    #[test]
    fn rules_and_late_answers_belong_to_the_question_that_they_name() {
        let rules = vec!["Bash(git push *)".to_owned()];
        let added = Event::Ask(AskEvent::RulesAdded {
            iteration: 3,
            ask: 1,
            scope: RuleScope::Project,
            rules: rules.clone(),
            over: Vec::new(),
        });
        let queued = |id, answers: Option<u32>| {
            Event::Steering(SteeringEvent::Queued {
                id: SteeringId(id),
                kind: SteeringKind::Next,
                text: format!("message {id}"),
                answers: answers.map(|ask| {
                    Box::new(AnsweredAsk {
                        ask,
                        question: "push?".to_owned(),
                        at: AT,
                    })
                }),
            })
        };
        let ended = iteration_ended(3);
        let asks = listed([
            permission_asked(1),
            permission_asked(2),
            decided(Some(1), true),
            added,
            ended,
            queued(1, Some(2)),
            queued(2, None),
        ]);
        assert_eq!(entry(&asks, 1).rules, Some((RuleScope::Project, rules)));
        assert_eq!(entry(&asks, 1).late, None);
        assert_eq!(entry(&asks, 2).rules, None);
        assert_eq!(entry(&asks, 2).late, Some((SteeringId(1), "message 1".to_owned())));
    }

    /// A request of which a text is `bytes` long, beside a title of 4 bytes.
    fn request(bytes: usize) -> AskSubject {
        let mut request = PermissionRequest::for_shell(AskId("id".to_owned()), "push");
        request.command = Some("x".repeat(bytes));
        AskSubject::Request(Box::new(Ask::requested(1, 3, request)))
    }

    fn pushed(subjects: impl IntoIterator<Item = AskSubject>) -> Asks {
        let mut asks = Asks::default();
        for what in subjects {
            asks.push(1, None, None, what, None);
        }
        asks
    }

    fn are_whole(asks: &Asks) -> Vec<bool> {
        let whole = |entry: &AskEntry| matches!(entry.what, AskSubject::Request(_));
        asks.iter().map(whole).collect()
    }

    #[test]
    fn the_requests_of_the_oldest_entries_are_dropped_once_all_are_too_large() {
        let half = BYTES / 2 - 4;
        // The title of the first entry remains and takes 8 bytes, so that the others have just room.
        let asks = pushed([request(half), request(half), request(half - 8)]);
        assert_eq!(are_whole(&asks), [false, true, true]);
        let title = AskSubject::Title {
            tool: "Bash".to_owned(),
            title: "push".to_owned(),
        };
        assert_eq!(asks.at(0).map(|entry| &entry.what), Some(&title));
        let asks = pushed([request(half), request(half), request(half - 7)]);
        assert_eq!(are_whole(&asks), [false, false, true]);
        let asks = pushed([request(1), request(BYTES)]);
        assert_eq!(are_whole(&asks), [false, true], "the newest one is kept whole");
    }

    #[test]
    fn the_oldest_entries_beyond_the_maximum_are_counted_and_keep_their_places() {
        let mut asks = Asks::default();
        assert!(asks.is_empty());
        let what = || AskSubject::Title {
            tool: "Bash".to_owned(),
            title: String::new(),
        };
        for number in 0..10_002 {
            asks.push(1, Some(number), None, what(), None);
        }
        assert_eq!((asks.len(), asks.dropped(), asks.is_empty()), (10_000, 2, false));
        let number_at = |place| {
            let entry = asks.at(place)?;
            assert_eq!(entry.place, place);
            entry.number
        };
        assert_eq!((number_at(1), number_at(2)), (None, Some(2)));
        assert_eq!((number_at(10_001), number_at(10_002)), (Some(10_001), None));
        assert_eq!(asks.bytes, 40_000, "only what is stored");
    }

    #[test]
    fn the_size_of_a_request_is_that_of_all_its_texts() {
        let empty = PermissionRequest {
            command: None,
            ..PermissionRequest::for_shell(AskId("id".to_owned()), "")
        };
        let question = |text: &str, choices: &[(&str, &str)]| Question {
            text: text.to_owned(),
            choices: choices
                .iter()
                .map(|(label, description)| Choice {
                    label: (*label).to_owned(),
                    description: (*description).to_owned(),
                })
                .collect(),
            ..Question::default()
        };
        let whole = PermissionRequest {
            title: "x".repeat(3),
            command: Some("x".repeat(10)),
            diff: Some("x".repeat(20)),
            paths: vec!["x".repeat(100), "x".repeat(200)],
            questions: vec![
                question("ten bytes.", &[("red", "like fire"), ("blue", "")]),
                question("4", &[]),
            ],
            ..empty.clone()
        };
        let bytes = |request: &PermissionRequest| {
            let what = AskSubject::Request(Box::new(Ask::requested(1, 3, request.clone())));
            what.bytes()
        };
        assert_eq!(bytes(&empty), 0);
        assert_eq!(bytes(&whole), 3 + 10 + 20 + 300 + 10 + 12 + 4 + 1);
        let block = AskSubject::Block {
            task: Some("write".to_owned()),
            question: "how?".to_owned(),
        };
        assert_eq!(block.bytes(), 9);
        let title = AskSubject::Title {
            tool: "Bash".to_owned(),
            title: "push!".to_owned(),
        };
        assert_eq!(title.bytes(), 9);
    }
}
