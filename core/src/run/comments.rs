//! Comments on lines of files: drafts, sent ones, and what became of them.

use serde::{Deserialize, Serialize};

use crate::event::{
    AgentCall, AgentEvent, CommentAnswer, CommentAuthor, CommentEvent, CommentPlace, Event, LinesState, Missing,
    PlacedComment, SteeringEvent, SteeringId, clip,
};

/// Maximum size of a comment in a reason, in bytes.
const REASON_BYTES: usize = 600;

/// The comments of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Comments {
    /// In the order in which they were written, without withdrawn ones.
    pub list: Vec<Comment>,
    /// Number of comments that were written, including withdrawn ones. The next comment has the number after it.
    pub written: u32,
}

/// A comment and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    /// Its number within the run, from 1.
    pub number: u32,
    pub by: CommentAuthor,
    pub text: String,
    /// The lines as they were when it was written.
    pub place: CommentPlace,
    /// The present path of the file, below the project's root.
    pub file: String,
    /// The number of the first of the lines now, or where they were found last.
    pub line: u32,
    pub lines: LinesState,
    /// The message that took it to the agent; `None` for a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<SteeringId>,
    /// The state of the lines when it was sent.
    #[serde(default)]
    pub lines_sent: LinesState,
    /// The iteration that changed the lines after it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_in: Option<u32>,
    /// The agent's reason for leaving the lines as they are, with its iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<CommentReason>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resolved: bool,
}

/// The agent's reason for leaving commented lines as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct CommentReason {
    pub iteration: u32,
    pub reason: String,
}

/// The state of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentState {
    /// No agent has it yet.
    Draft,
    /// Its lines are as they were.
    Open,
    /// An iteration changed its lines.
    Changed {
        iteration: u32,
    },
    /// The agent gave a reason for leaving its lines as they are.
    Answered,
    Resolved,
}

impl Comment {
    pub fn state(&self) -> CommentState {
        match (self.resolved, self.changed_in, &self.answer) {
            (true, ..) => CommentState::Resolved,
            (false, Some(iteration), _) => CommentState::Changed { iteration },
            (false, None, Some(_)) => CommentState::Answered,
            (false, None, None) if self.is_draft() => CommentState::Draft,
            (false, None, None) => CommentState::Open,
        }
    }

    /// Whether it waits to be sent, so that its user can edit and withdraw it.
    pub fn is_draft(&self) -> bool {
        self.by == CommentAuthor::User && self.message.is_none()
    }

    /// Whether its lines are no longer there.
    pub fn is_outdated(&self) -> bool {
        self.lines == LinesState::Gone
    }

    /// Whether it keeps the run from ending: it was sent, and neither was its place changed, nor has the user resolved it.
    pub fn is_missing_work(&self) -> bool {
        match self.state() {
            CommentState::Open | CommentState::Answered => self.by == CommentAuthor::User,
            CommentState::Draft | CommentState::Changed { .. } | CommentState::Resolved => false,
        }
    }

    /// The present place: `src/a.rs:12`.
    pub fn place_now(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// The comment as an agent is sent it: its place, the checkpoint, the quoted lines, the text.
    fn quoted(&self) -> String {
        let checkpoint = self.place.checkpoint.as_ref();
        let checkpoint = checkpoint.map_or_else(String::new, |commit| format!(", checkpoint {:.12}", commit.as_str()));
        let quote: String = self.place.quote.iter().map(|line| format!("> {line}\n")).collect();
        let outdated = match self.is_outdated() {
            true => ", these lines have changed since",
            false => "",
        };
        let (number, place) = (self.number, self.place_now());
        format!(
            "Comment {number} on {place}{checkpoint}{outdated}:\n{quote}{}",
            self.text
        )
    }

    fn put(&mut self, iteration: u32, placed: &PlacedComment) {
        placed.file.as_str().clone_into(&mut self.file);
        self.line = placed.line;
        self.lines = placed.lines;
        if self.is_draft() {
            return;
        }
        // A change that is taken back leaves the comment open again.
        self.changed_in = match self.lines > self.lines_sent {
            true => self.changed_in.or(Some(iteration)),
            false => None,
        };
    }
}

impl Comments {
    /// Applies an event; `is_work` tells whether the agent is the author of the work, whose answers count.
    pub(super) fn apply(&mut self, is_work: bool, event: &Event) {
        match event {
            Event::Comment(CommentEvent::Written {
                comment,
                by,
                place,
                text,
            }) => {
                self.written = *comment;
                self.list.push(Comment {
                    number: *comment,
                    by: *by,
                    text: text.clone(),
                    file: place.file.to_string(),
                    line: place.line,
                    place: (**place).clone(),
                    lines: LinesState::Same,
                    message: None,
                    lines_sent: LinesState::Same,
                    changed_in: None,
                    answer: None,
                    resolved: false,
                });
            }
            Event::Comment(CommentEvent::Edited { comment, text }) => {
                if let Some(known) = self.numbered_mut(*comment) {
                    known.text.clone_from(text);
                }
            }
            Event::Comment(CommentEvent::Withdrawn { comment }) => self.list.retain(|known| known.number != *comment),
            Event::Comment(CommentEvent::Resolved { comment }) => {
                if let Some(known) = self.numbered_mut(*comment) {
                    known.resolved = true;
                }
            }
            Event::Comment(CommentEvent::Sent { message, comments }) => {
                for known in &mut self.list {
                    if comments.contains(&known.number) {
                        known.message = Some(*message);
                        known.lines_sent = known.lines;
                    }
                }
            }
            // A message that no agent has seen gives its comments back.
            Event::Steering(SteeringEvent::Withdrawn { id }) => {
                for known in &mut self.list {
                    if known.message == Some(*id) {
                        (known.message, known.changed_in) = (None, None);
                    }
                }
            }
            Event::Comment(CommentEvent::Placed { iteration, places }) => {
                for placed in places {
                    if let Some(known) = self.numbered_mut(placed.comment) {
                        known.put(*iteration, placed);
                    }
                }
            }
            Event::Agent(AgentEvent::Called {
                iteration,
                call: AgentCall::CommentAnswered { answer },
            }) if is_work => self.answer(*iteration, answer),
            Event::Agent(AgentEvent::Stated {
                iteration, comments, ..
            }) if is_work => comments.iter().for_each(|answer| self.answer(*iteration, answer)),
            _ => {}
        }
    }

    fn answer(&mut self, iteration: u32, answer: &CommentAnswer) {
        let known = self
            .numbered_mut(answer.comment)
            .filter(|known| known.message.is_some());
        if let Some(known) = known {
            let reason = answer.reason.to_string();
            known.answer = Some(CommentReason { iteration, reason });
        }
    }

    /// Whether no comment was written.
    pub fn is_empty(&self) -> bool {
        self.written == 0
    }

    fn numbered_mut(&mut self, number: u32) -> Option<&mut Comment> {
        self.list.iter_mut().find(|comment| comment.number == number)
    }

    pub fn numbered(&self, number: u32) -> Option<&Comment> {
        self.list.iter().find(|comment| comment.number == number)
    }

    pub fn drafts(&self) -> impl Iterator<Item = &Comment> {
        self.list.iter().filter(|comment| comment.is_draft())
    }

    /// The comments that keep the run from ending.
    pub fn missing_work(&self) -> impl Iterator<Item = &Comment> {
        self.list.iter().filter(|comment| comment.is_missing_work())
    }

    /// The reasons for which comments keep the run from ending.
    pub fn reasons(&self) -> impl Iterator<Item = Missing> {
        self.missing_work().map(|comment| Missing::CommentOpen {
            comment: comment.number,
            place: comment.place_now().into(),
            text: clip(&comment.text, REASON_BYTES).into(),
            answered: comment.answer.is_some(),
        })
    }

    /// The last of these comments with the agent's reason, if it has one.
    pub fn question(&self) -> Option<String> {
        let last = self.missing_work().last()?;
        let answer = last.answer.as_ref()?;
        Some(format!("{}: {}", last.place_now(), answer.reason))
    }

    /// Whether a message has comments in it.
    pub fn are_in(&self, message: SteeringId) -> bool {
        self.list.iter().any(|comment| comment.message == Some(message))
    }

    /// The first drafts that a message of `most_bytes` has room for, with its text.
    pub fn message(&self, most_bytes: usize) -> (Vec<u32>, String) {
        let (mut numbers, mut text) = (Vec::new(), String::new());
        for draft in self.drafts() {
            let quoted = draft.quoted();
            if text.len() + quoted.len() + 2 > most_bytes {
                break;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&quoted);
            numbers.push(draft.number);
        }
        (numbers, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(comment: u32, text: &str) -> Event {
        let place = CommentPlace {
            file: "src/a.rs".into(),
            line: 3,
            ..CommentPlace::default()
        };
        Event::Comment(CommentEvent::Written {
            comment,
            by: CommentAuthor::User,
            place: Box::new(place),
            text: text.to_owned(),
        })
    }

    fn sent(message: u32, comment: u32) -> Event {
        Event::Comment(CommentEvent::Sent {
            message: SteeringId(message),
            comments: vec![comment].into(),
        })
    }

    /// The agent's reasons for leaving the lines of comment 1 as they are, called or stated.
    fn answers() -> [Event; 2] {
        let answer = CommentAnswer {
            comment: 1,
            reason: "it is right".into(),
        };
        let called = Event::Agent(AgentEvent::Called {
            iteration: 4,
            call: AgentCall::CommentAnswered { answer: answer.clone() },
        });
        let stated = Event::Agent(AgentEvent::Stated {
            iteration: 4,
            claims: Vec::new(),
            blocked: None,
            denies_done: None,
            question: None,
            status: None,
            review: None,
            tests_changed: None,
            comments: vec![answer],
        });
        [called, stated]
    }

    fn after(events: &[Event]) -> Comments {
        let mut comments = Comments::default();
        events.iter().for_each(|event| comments.apply(true, event));
        comments
    }

    #[test]
    fn only_the_author_of_the_work_answers_a_comment() {
        for answer in answers() {
            let mut comments = after(&[written(1, "name it"), sent(1, 1)]);
            comments.apply(false, &answer);
            assert_eq!(comments.numbered(1).unwrap().state(), CommentState::Open, "{answer:?}");
            comments.apply(true, &answer);
            assert_eq!(
                comments.numbered(1).unwrap().state(),
                CommentState::Answered,
                "{answer:?}"
            );
            assert_eq!(comments.question().as_deref(), Some("src/a.rs:3: it is right"));
        }
    }

    #[test]
    fn a_draft_that_no_agent_has_seen_is_not_answered() {
        for answer in answers() {
            let comments = after(&[written(1, "name it"), answer]);
            assert_eq!(comments.numbered(1).unwrap().state(), CommentState::Draft);
        }
    }

    #[test]
    fn comments_that_are_all_withdrawn_were_written_all_the_same() {
        assert!(after(&[]).is_empty());
        let comments = after(&[
            written(1, "name it"),
            Event::Comment(CommentEvent::Withdrawn { comment: 1 }),
        ]);
        assert!(
            comments.list.is_empty() && !comments.is_empty(),
            "the next one is number 2"
        );
    }

    #[test]
    fn a_message_has_the_comments_that_were_sent_in_it() {
        let comments = after(&[written(1, "one"), written(2, "two"), sent(7, 1)]);
        assert!(comments.are_in(SteeringId(7)));
        assert!(!comments.are_in(SteeringId(8)));
        assert!(!after(&[written(1, "one")]).are_in(SteeringId(7)));
    }

    #[test]
    fn a_message_takes_as_many_drafts_as_it_has_room_for() {
        let comments = after(&[written(1, "one"), written(2, "two"), written(3, "six")]);
        let (numbers, whole) = comments.message(usize::MAX);
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!(comments.message(whole.len()), (vec![1, 2, 3], whole.clone()));
        let (numbers, text) = comments.message(whole.len() - 1);
        assert_eq!(numbers, [1, 2]);
        assert_eq!(text, "Comment 1 on src/a.rs:3:\none\n\nComment 2 on src/a.rs:3:\ntwo");
        assert_eq!(comments.message(10), (vec![], String::new()));
    }
}
