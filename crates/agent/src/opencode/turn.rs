//! One turn of a session, built from the server's events and lists of messages. Pure.
//!
//! The same fact may arrive more than once and in any order: as an event, in the list of messages that is read after a
//! lost connection, and as a delayed event. Every part therefore only moves forward, and remembers what was reported of
//! it.

use std::collections::{BTreeSet, HashMap};

use ralph_core::event::{AgentSignal, Problem, ProblemKind};
use serde_json::Value;

use crate::dialect::{ZonedClock, classify, one_line, usage, with_time};

use super::{
    ignored_events::{RecentEvents, is_ignored, progress_of},
    messages::{Speaker, TurnMessages},
    parts::{PartState, TextPart, ToolPart},
    problem::{denial, long_wait, problem_from_error},
    subagents::OpencodeSubagents,
    verdict::TurnVerdict,
    wire::{
        EventKind, ListedMessage, MessageInfo, MessagePart, PartKind, ServerEvent, SessionStatus, ToolStatus,
        WirePermission, WireQuestion,
    },
};

/// The number of equal errors, with nothing done in between, after which the turn fails: opencode compacts a session
/// that is too long for its model and tries again without end.
const ROUNDS: u32 = 3;
/// Most unknown events that are reported, and most denied permissions that are listed.
const ODDITIES_CAP: usize = 32;
const DENIALS_CAP: usize = 8;

/// The state of a turn.
#[derive(Debug)]
pub(super) struct ServerTurn {
    session: String,
    /// The session and the sessions of its subagents.
    family: BTreeSet<String>,
    /// The newest message before the turn; empty if there was none.
    baseline: String,
    events: RecentEvents,
    messages: TurnMessages,
    /// Parts that arrived before their message.
    early: HashMap<String, Vec<MessagePart>>,
    parts: HashMap<String, PartState>,
    /// Incomplete texts, in the order in which they began.
    open: Vec<String>,
    /// Running tool uses, including those of subagents.
    running: BTreeSet<String>,
    subagents: OpencodeSubagents,
    /// The time of the latest event.
    now_ms: u64,
    status: Option<SessionStatus>,
    /// The error with which the turn fails, unless something is done after it.
    error: Option<Problem>,
    rounds: u32,
    /// Permissions that were denied.
    denied: Vec<String>,
    oddities: BTreeSet<String>,
}

/// The next action after an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NextAction {
    GoOn,
    /// The turn may be over; the server's list of messages tells.
    Look,
    AskPermission(WirePermission),
    /// A permission request has been answered.
    PermissionAnswered {
        id: String,
        allowed: bool,
    },
    AskQuestion(WireQuestion),
    QuestionAnswered(String),
}

impl ServerTurn {
    /// Creates the turn of `session` that begins after message `baseline`.
    pub(super) fn new(session: &str, baseline: Option<String>) -> Self {
        Self {
            session: session.to_owned(),
            family: BTreeSet::from([session.to_owned()]),
            baseline: baseline.unwrap_or_default(),
            events: RecentEvents::default(),
            messages: TurnMessages::default(),
            early: HashMap::new(),
            parts: HashMap::new(),
            open: Vec::new(),
            running: BTreeSet::new(),
            subagents: OpencodeSubagents::default(),
            now_ms: 0,
            status: None,
            error: None,
            rounds: 0,
            denied: Vec::new(),
            oddities: BTreeSet::new(),
        }
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Applies one event.
    pub(super) fn take(&mut self, event: ServerEvent, clock: &ZonedClock, out: &mut Vec<AgentSignal>) -> NextAction {
        self.now_ms = clock.now_ms;
        if !event.id.is_empty() && !self.events.is_new(&event.id) {
            return NextAction::GoOn;
        }
        match event.kind {
            EventKind::Connected | EventKind::Heartbeat => {}
            EventKind::SessionCreated(info) => {
                if info.parent.is_some_and(|parent| self.family.contains(&parent)) {
                    self.family.insert(info.id);
                }
            }
            EventKind::MessageUpdated(info) => self.message(info, clock, out),
            EventKind::PartUpdated(part) => self.part(*part, out),
            EventKind::PartDelta(delta) if delta.field == "text" => {
                if let Some(PartState::Text(text)) = self.parts.get_mut(&delta.part) {
                    out.extend(text.grow(&delta.delta));
                }
            }
            EventKind::PartDelta(_) => {}
            EventKind::Status { session, status } => return self.status(&session, status, clock, out),
            EventKind::Idle { session } if session == self.session => {
                self.status = Some(SessionStatus::Idle);
                return NextAction::Look;
            }
            EventKind::Idle { .. } => {}
            EventKind::Failed { session, error } if session.as_deref() == Some(&self.session) => {
                self.failed(&error, clock);
                // A refused prompt fails before the session was ever busy.
                let works = matches!(self.status, Some(SessionStatus::Busy | SessionStatus::Retry { .. }));
                return if works { NextAction::GoOn } else { NextAction::Look };
            }
            EventKind::Failed { .. } => {}
            EventKind::PermissionAsked(permission) if self.is_family(&permission.session) => {
                return NextAction::AskPermission(permission);
            }
            EventKind::PermissionAnswered { id, allowed, .. } => return NextAction::PermissionAnswered { id, allowed },
            EventKind::QuestionAsked(question) if self.is_family(&question.session) => {
                return NextAction::AskQuestion(question);
            }
            EventKind::QuestionAnswered { id, .. } => return NextAction::QuestionAnswered(id),
            EventKind::PermissionAsked(_) | EventKind::QuestionAsked(_) => {}
            EventKind::Todos { session, todos } if session == self.session => out.extend(progress_of(&todos)),
            EventKind::Todos { .. } => {}
            EventKind::Other { name, session } if session.as_deref() == Some(&self.session) => {
                if !is_ignored(&name) {
                    self.odd(&name, "unknown event", out);
                }
            }
            EventKind::Other { .. } => {}
            EventKind::Garbled { name, .. } => self.odd(&name, "unreadable event", out),
        }
        NextAction::GoOn
    }

    /// Applies the messages of the session, oldest first, to catch up on missed events.
    pub(super) fn catch_up(&mut self, listed: &[ListedMessage], clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        for message in listed {
            let id = &message.info.id;
            if *id <= self.baseline {
                continue;
            }
            self.message(message.info.clone(), clock, out);
            self.messages.forget_texts(id);
            for part in message.parts() {
                let id = part.id.clone();
                self.part(part, out);
                if let Some(PartState::Text(text)) = self.parts.get_mut(&id) {
                    text.doubt();
                }
            }
        }
    }

    /// Reports incomplete texts, before the verdict.
    pub(super) fn finish(&mut self, out: &mut Vec<AgentSignal>) {
        for part in std::mem::take(&mut self.open) {
            if let Some(PartState::Text(text)) = self.parts.get_mut(&part) {
                text.report(out);
            }
        }
    }

    /// The verdict on the turn, once it is over.
    pub(super) fn verdict(&self) -> TurnVerdict {
        TurnVerdict::from_messages(&self.messages, self.error.as_ref(), &self.denied)
    }

    /// Whether one of `prompts` user messages has not arrived, or the newest has no answer yet.
    pub(super) fn is_unanswered(&self, prompts: usize) -> bool {
        self.error.is_none() && (self.messages.prompts() < prompts || self.messages.is_unanswered())
    }

    /// The problem because of which waiting for the end of the turn is useless: the server's next retry is hours away,
    /// or the error repeats forever.
    pub(super) fn fatal_problem(&self, clock: &ZonedClock) -> Option<Problem> {
        if self.rounds >= ROUNDS {
            let error = self.error.as_ref()?;
            return Some(Problem::said(
                error.kind,
                format!("{} ({ROUNDS} times, with nothing done in between)", error.text),
            ));
        }
        match &self.status {
            Some(SessionStatus::Retry { message, next, .. }) => long_wait(message, *next, clock),
            Some(SessionStatus::Idle | SessionStatus::Busy | SessionStatus::Other) | None => None,
        }
    }

    /// Whether a tool is running.
    pub(super) fn is_using_a_tool(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether a session is this one or that of one of its subagents.
    pub(super) fn is_family(&self, session: &str) -> bool {
        self.family.contains(session)
    }

    /// Adds the session of a subagent.
    pub(super) fn adopt(&mut self, session: String) {
        self.family.insert(session);
    }

    fn status(
        &mut self,
        session: &str,
        status: SessionStatus,
        clock: &ZonedClock,
        out: &mut Vec<AgentSignal>,
    ) -> NextAction {
        if session != self.session {
            return NextAction::GoOn;
        }
        let again = self.status.as_ref() == Some(&status);
        if let SessionStatus::Retry { attempt, message, next } = &status
            && !again
        {
            let problem = classify(message, clock);
            out.push(AgentSignal::Retrying {
                attempt: *attempt,
                of: None,
                why: problem.text.into(),
                kind: Some(with_time(problem.kind, || *next)).filter(|kind| *kind != ProblemKind::Other),
            });
        }
        let idle = status == SessionStatus::Idle;
        self.status = Some(status);
        if idle { NextAction::Look } else { NextAction::GoOn }
    }

    fn failed(&mut self, error: &Value, clock: &ZonedClock) {
        let problem = problem_from_error(error, clock);
        let again = self.error.as_ref().is_some_and(|before| before.kind == problem.kind);
        if problem.kind == ProblemKind::ContextOverflow {
            self.rounds = if again { self.rounds + 1 } else { 1 };
        }
        // The server reports some errors twice, the second time with a different or empty text.
        let another = problem.kind != ProblemKind::Other && !again;
        if self.error.is_none() || another {
            self.error = Some(problem);
        }
    }

    /// Notes progress: an earlier error did not end the turn.
    fn go_on(&mut self, out: &mut Vec<AgentSignal>) {
        self.rounds = 0;
        if let Some(error) = self.error.take() {
            out.push(AgentSignal::Noted {
                text: format!("warning: {}", error.text),
            });
        }
    }

    fn message(&mut self, info: MessageInfo, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if info.session != self.session || info.id <= self.baseline {
            return;
        }
        let id = info.id.clone();
        let (said, error) = (info.is_said(), info.error.clone());
        let ends = self.messages.update(info);
        match error {
            // An event reports the error as well, unless it was missed.
            Some(error) if said && self.error.is_none() => self.failed(&error, clock),
            Some(_) => {}
            None if ends => self.go_on(out),
            None => {}
        }
        for part in self.early.remove(&id).unwrap_or_default() {
            self.part(part, out);
        }
    }

    fn part(&mut self, part: MessagePart, out: &mut Vec<AgentSignal>) {
        if part.session != self.session {
            return self.part_of_subagent(&part, out);
        }
        if part.message <= self.baseline {
            return;
        }
        match self.messages.speaker(&part.message) {
            None => return self.early.entry(part.message.clone()).or_default().push(part),
            Some(Speaker::Assistant) => {}
            Some(Speaker::User) => return self.messages.prompted(&part),
            Some(Speaker::Other) => return self.usage(&part, out),
        }
        match part.kind {
            PartKind::Text | PartKind::Reasoning => self.text(part, out),
            PartKind::Tool => self.tool(&part, out),
            PartKind::StepFinish => self.usage(&part, out),
            PartKind::Other => {}
        }
    }

    /// A subagent's work is a tool use of the agent; only its usage and its running tools are tracked.
    fn part_of_subagent(&mut self, part: &MessagePart, out: &mut Vec<AgentSignal>) {
        if !self.is_family(&part.session) {
            return;
        }
        match part.kind {
            PartKind::Tool => {
                self.track(part);
                self.subagents.tool(part, self.now_ms, out);
            }
            PartKind::StepFinish => {
                if !self.parts.contains_key(&part.id) {
                    self.subagents.spent(&part.session, &part.raw, self.now_ms, out);
                }
                self.usage(part, out);
            }
            PartKind::Text | PartKind::Reasoning | PartKind::Other => {}
        }
    }

    fn text(&mut self, part: MessagePart, out: &mut Vec<AgentSignal>) {
        if part.synthetic {
            return;
        }
        let (id, message) = (part.id.clone(), part.message.clone());
        let told = self
            .parts
            .entry(id.clone())
            .or_insert_with(|| PartState::Text(TextPart::new(part.kind == PartKind::Reasoning)));
        let PartState::Text(text) = told else { return };
        text.update(&part);
        if !text.is_whole() {
            if !self.open.contains(&id) {
                self.open.push(id);
            }
            return;
        }
        text.report(out);
        self.open.retain(|open| *open != id);
        if part.kind == PartKind::Text {
            self.messages.keep(&message, id, &part.text);
        }
    }

    fn tool(&mut self, part: &MessagePart, out: &mut Vec<AgentSignal>) {
        self.track(part);
        let told = self
            .parts
            .entry(part.id.clone())
            .or_insert_with(|| PartState::Tool(ToolPart::default()));
        let PartState::Tool(tool) = told else { return };
        let mut signals = Vec::new();
        let done = tool.update(part, &mut signals);
        if matches!(signals.first(), Some(AgentSignal::ToolStarted { .. })) {
            // The text before a tool call is reported as complete only after the call.
            for open in &self.open {
                if let Some(PartState::Text(text)) = self.parts.get_mut(open) {
                    text.report_so_far(out);
                }
            }
        }
        out.append(&mut signals);
        self.subagents.tool(part, self.now_ms, out);
        if let Some(denied) = denial(&part.raw) {
            note(&mut self.denied, denied);
        }
        if done {
            self.go_on(out);
        }
    }

    fn track(&mut self, part: &MessagePart) {
        match part.tool_status() {
            ToolStatus::Running => {
                let ended = matches!(self.parts.get(&part.id), Some(PartState::Tool(tool)) if tool.has_ended());
                if !ended {
                    self.running.insert(part.id.clone());
                }
            }
            ToolStatus::Completed | ToolStatus::Failed => {
                self.running.remove(&part.id);
            }
            ToolStatus::Pending => {}
        }
    }

    fn usage(&mut self, part: &MessagePart, out: &mut Vec<AgentSignal>) {
        if part.kind == PartKind::StepFinish && self.parts.insert(part.id.clone(), PartState::Done).is_none() {
            out.extend(usage(&part.raw));
        }
    }

    fn odd(&mut self, name: &str, what: &str, out: &mut Vec<AgentSignal>) {
        if self.oddities.len() < ODDITIES_CAP && self.oddities.insert(name.to_owned()) {
            out.push(AgentSignal::Unknown {
                event: name.to_owned(),
                text: format!("{what} `{}`", one_line(name)),
            });
        }
    }
}

fn note(denials: &mut Vec<String>, denial: String) {
    if denials.len() < DENIALS_CAP && !denials.contains(&denial) {
        denials.push(denial);
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
