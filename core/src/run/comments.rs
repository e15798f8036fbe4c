//! Comments on lines of files: drafts, sent ones, and what became of them.

use serde::{Deserialize, Serialize};

use crate::event::{
    AgentCall, CommentAnswer, CommentAuthor, CommentPlace, Event, LinesState, Missing, PlacedComment, SteeringId, clip,
};

/// Maximum size of a comment in a reason, in bytes.
const REASON_BYTES: usize = 600;

/// The comments of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Comments {
    /// In the order in which they were written, without withdrawn ones.
    pub list: Vec<Comment>,
    /// Number of comments that were written, including withdrawn ones. The next comment has the number after it.
    pub written: u32,
}

/// A comment and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
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
            Event::CommentWritten {
                comment,
                by,
                place,
                text,
            } => {
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
            Event::CommentEdited { comment, text } => {
                if let Some(known) = self.numbered_mut(*comment) {
                    known.text.clone_from(text);
                }
            }
            Event::CommentWithdrawn { comment } => self.list.retain(|known| known.number != *comment),
            Event::CommentResolved { comment } => {
                if let Some(known) = self.numbered_mut(*comment) {
                    known.resolved = true;
                }
            }
            Event::CommentsSent { message, comments } => {
                for known in &mut self.list {
                    if comments.contains(&known.number) {
                        known.message = Some(*message);
                        known.lines_sent = known.lines;
                    }
                }
            }
            // A message that no agent has seen gives its comments back.
            Event::SteeringWithdrawn { id } => {
                for known in &mut self.list {
                    if known.message == Some(*id) {
                        (known.message, known.changed_in) = (None, None);
                    }
                }
            }
            Event::CommentsPlaced { iteration, places } => {
                for placed in places {
                    if let Some(known) = self.numbered_mut(placed.comment) {
                        known.put(*iteration, placed);
                    }
                }
            }
            Event::AgentCalled {
                iteration,
                call: AgentCall::CommentAnswered { answer },
            } if is_work => self.answer(*iteration, answer),
            Event::AgentStated {
                iteration, comments, ..
            } if is_work => comments.iter().for_each(|answer| self.answer(*iteration, answer)),
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
