//! Turns the output of one agent into signals and a display, on the reader thread of its process.
//!
//! Stop 2 of the tour in ARCHITECTURE.md. The display gets the raw bytes, or a transcript of the signals. The dialect
//! (stop 3) gets the bytes as well, and its signals go into the session's channel.

use std::{
    collections::VecDeque,
    fs,
    path::PathBuf,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use jiff::tz::TimeZone;
use parking_lot::Mutex;
use ralph_core::event::{AgentSignal, CancelReason, Exit, Finding, Problem, ProblemKind, SessionId, SteeringId};
use ralph_system::proc::{Child, ChildEnd, OutputSink, Size, StopSpeed};
use ralph_text::{KeptEscapes, PlainText};
use ralph_words::exceeded_in_words;
use tokio::sync::mpsc;

use super::{
    Display, SessionRequest,
    dialect::{DialectKind, DialectTrait, Finish, LinePatterns, Tail, ZonedClock, terminal_with},
    protocol::{Exchange, LiveKind, OneWay, Protocol, SessionCommand, SessionOpening},
    queries::Queries,
    subagents::SubagentTools,
    thread_records::ThreadRecords,
    transcript::Transcript,
    usage::{EarlierTurns, TurnUsageMeter},
};

/// State shared by a session and its reporter.
pub(super) struct SessionLink {
    /// Weak, so that the reporter does not keep a dropped session's child alive.
    child: Mutex<Weak<Child>>,
    /// The terminal's size; columns and rows packed into one number.
    size: AtomicU32,
    /// Whether the session has started. Before that, the starting thread reports its end; afterwards the reporter does,
    /// even if it panics. The reporter may already be gone at the start.
    start: Mutex<StartState>,
    /// Commands for the agent.
    commands: Mutex<VecDeque<SessionCommand>>,
    /// The reason for which ralph ends the session.
    ended_for: OnceLock<CancelReason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum StartState {
    #[default]
    Pending,
    Started,
    /// The reporter was gone before the start.
    Missed,
}

impl SessionLink {
    pub(super) fn new(size: Size) -> Self {
        Self {
            child: Mutex::default(),
            size: AtomicU32::new(packed(size)),
            start: Mutex::default(),
            commands: Mutex::default(),
            ended_for: OnceLock::new(),
        }
    }

    /// Records the first reason for which ralph ends the session: the agent's later reports follow from it.
    pub(super) fn ends_for(&self, reason: CancelReason) {
        // The first reason counts, even if the session is then stopped faster.
        _ = self.ended_for.set(reason);
    }

    /// Queues a command for the reporter, which the caller has to wake.
    pub(super) fn send(&self, command: SessionCommand) {
        self.commands.lock().push_back(command);
    }

    /// Leaves reporting the end of the session to the reporter. Returns whether the reporter still exists.
    pub(super) fn start(&self, child: &Arc<Child>) -> bool {
        *self.child.lock() = Arc::downgrade(child);
        self.hand_over()
    }

    fn child(&self) -> Option<Arc<Child>> {
        self.child.lock().upgrade()
    }

    fn hand_over(&self) -> bool {
        let mut start = self.start.lock();
        let is_there = *start == StartState::Pending;
        if is_there {
            *start = StartState::Started;
        }
        is_there
    }

    /// Records that the reporter is gone. Returns whether it has to report the end.
    fn leave(&self) -> bool {
        let mut start = self.start.lock();
        let is_started = *start == StartState::Started;
        if !is_started {
            *start = StartState::Missed;
        }
        is_started
    }

    pub(super) fn resize(&self, size: Size) {
        self.size.store(packed(size), Ordering::Relaxed);
    }

    fn size(&self) -> Size {
        let [cols_high, cols_low, rows_high, rows_low] = self.size.load(Ordering::Relaxed).to_be_bytes();
        Size {
            cols: u16::from_be_bytes([cols_high, cols_low]),
            rows: u16::from_be_bytes([rows_high, rows_low]),
        }
    }
}

fn packed(size: Size) -> u32 {
    u32::from(size.cols) << 16 | u32::from(size.rows)
}

/// Sends the signals on a separate thread: the caller may be the thread that has to empty the channel first.
pub(super) fn send_from_thread(signals: [AgentSignal; 2], out: mpsc::Sender<AgentSignal>) {
    let sending = thread::Builder::new().spawn({
        let (signals, out) = (signals.clone(), out.clone());
        move || {
            for signal in signals {
                _ = out.blocking_send(signal); // the loop has ended
            }
        }
    });
    if sending.is_err() {
        // No thread can be started. The channel of a session without earlier signals has enough room.
        for signal in signals {
            _ = out.try_send(signal);
        }
    }
}

/// The final signals of a session whose reporter panicked.
pub(super) fn breakdown_signals(output_bytes: u64) -> [AgentSignal; 2] {
    let text = "ralph's reader of this agent broke down".to_owned();
    let problem = AgentSignal::Problem {
        problem: Problem::said(ProblemKind::Crashed, text),
    };
    let ended = AgentSignal::Ended {
        exit: None,
        output_bytes,
    };
    [problem, ended]
}

pub(super) struct Reporter {
    out: mpsc::Sender<AgentSignal>,
    display: Box<dyn Display>,
    protocol: Box<dyn Protocol>,
    /// The opening of a live session, until it was sent.
    opening: Option<(SessionOpening, PathBuf)>,
    /// The local time zone, for times without a zone.
    zone: TimeZone,
    form: TerminalRole,
    link: Arc<SessionLink>,
    /// The usage meter, for dialects that sum up usage over a session.
    meter: Option<Arc<TurnUsageMeter>>,
    session: Option<SessionId>,
    continued: bool,
    /// Messages that were sent to the agent and not answered.
    messages: Vec<(SteeringId, String)>,
    output_bytes: u64,
    /// Whether ralph stopped the program because it would not have ended by itself.
    cut_short: bool,
    /// Whether a live channel has been silent so far and a one-way channel exists: an older version may not support the
    /// live one.
    may_lack_channel: bool,
    subagents: SubagentTools,
    records: Option<ThreadRecords>,
    ended: bool,
}

/// The channel to an agent.
pub(super) enum AgentChannel {
    OneWay {
        dialect: DialectKind,
        patterns: Option<Arc<LinePatterns>>,
        /// What the agent writes of its subagents, where it does not report what they use.
        records: Option<ThreadRecords>,
    },
    Live {
        kind: LiveKind,
        opening: SessionOpening,
        /// Whether the agent has a one-way channel as well.
        has_another: bool,
    },
}

/// The role of the terminal in a dialect.
enum TerminalRole {
    /// The terminal carries the whole output.
    Terminal { queries: Queries },
    /// The terminal carries only the program's other output; the signals are shown as a transcript.
    Structured {
        transcript: Box<Transcript>,
        plain: PlainText,
        tail: Tail,
        /// Whether the terminal's last line is incomplete.
        mid_line: bool,
        /// Whether the transcript's last line is incomplete.
        mid_text: bool,
    },
}

impl Reporter {
    pub(super) fn new(
        conversation: AgentChannel,
        request: SessionRequest,
        out: mpsc::Sender<AgentSignal>,
        link: Arc<SessionLink>,
        meter: Arc<TurnUsageMeter>,
        sums_usage: bool,
        subagents: &[String],
    ) -> Self {
        let may_lack_channel = matches!(&conversation, AgentChannel::Live { has_another: true, .. });
        let is_structured = match &conversation {
            AgentChannel::OneWay { dialect, .. } => dialect.has(DialectTrait::Structured),
            AgentChannel::Live { .. } => true,
        };
        let are_reported = match &conversation {
            AgentChannel::OneWay { dialect, .. } => dialect.has(DialectTrait::Subagents),
            AgentChannel::Live { kind, .. } => kind.reports_subagents(),
        };
        let (mut protocol, opening, records): (Box<dyn Protocol>, _, _) = match conversation {
            AgentChannel::OneWay {
                dialect,
                patterns,
                records,
            } => {
                let parser = patterns.map_or_else(|| dialect.parser(), terminal_with);
                (Box::new(OneWay(parser)), None, records)
            }
            AgentChannel::Live { kind, opening, .. } => {
                (kind.protocol(), Some((opening, request.prompt.clone())), None)
            }
        };
        let is_continued = request.resume.is_some();
        protocol.follow(EarlierTurns {
            meter: Arc::clone(&meter),
            is_continued,
        });
        let form = if is_structured {
            TerminalRole::Structured {
                transcript: Box::new(Transcript::new(&request.cwd, request.size.cols)),
                plain: PlainText::new(KeptEscapes::Nothing),
                tail: Tail::default(),
                mid_line: false,
                mid_text: false,
            }
        } else {
            TerminalRole::Terminal {
                queries: Queries::new(request.size),
            }
        };
        Self {
            out,
            display: request.display,
            protocol,
            opening,
            zone: TimeZone::system(),
            form,
            link,
            meter: sums_usage.then_some(meter),
            continued: is_continued,
            session: request.resume,
            messages: Vec::new(),
            output_bytes: 0,
            cut_short: false,
            may_lack_channel,
            subagents: SubagentTools {
                names: subagents.to_vec(),
                are_reported,
            },
            records,
            ended: false,
        }
    }

    fn report_ended(&mut self, exit: Option<Exit>, mut signals: Vec<AgentSignal>) {
        signals.push(AgentSignal::Ended {
            exit,
            output_bytes: self.output_bytes,
        });
        let used = self.records.as_mut().map(ThreadRecords::rest);
        self.deliver(used.unwrap_or_default());
        self.report(signals);
        self.ended = true;
    }

    fn clock(&self) -> ZonedClock {
        current_clock(&self.zone)
    }

    /// Reports the signals of an exchange and writes its bytes to the agent. Stops a program that would not end by
    /// itself.
    fn carry_out(&mut self, exchange: Exchange) {
        let Exchange { signals, input, close } = exchange;
        self.report(signals);
        let Some(child) = self.link.child() else { return };
        // An agent that accepts no input is about to end and reports why, or has stopped reading for good.
        let refused = (close || !input.is_empty()) && child.write_input(&input).is_err();
        if close {
            child.close_input();
        }
        if (refused || self.protocol.is_stuck()) && !std::mem::replace(&mut self.cut_short, true) {
            child.stop(StopSpeed::Graceful);
        }
    }

    /// Begins a live conversation.
    fn open(&mut self) {
        let Some((opening, path)) = self.opening.take() else {
            return;
        };
        let mut exchange = Exchange::default();
        match fs::read_to_string(&path) {
            Ok(prompt) => {
                let opening = SessionOpening { prompt, ..opening };
                self.protocol.start(opening, &mut exchange);
            }
            Err(error) => {
                let text = format!("{}: the prompt cannot be read: {error}", path.display());
                let kind = ProblemKind::Other;
                exchange.signals.push(AgentSignal::Problem {
                    problem: Problem::said(kind, text),
                });
                exchange.close = true;
            }
        }
        self.carry_out(exchange);
    }

    /// Shows the signals before sending them, so that the display does not wait for a slow receiver.
    fn report(&mut self, signals: Vec<AgentSignal>) {
        let completed = signals
            .into_iter()
            .filter_map(|signal| self.completed(signal))
            .collect();
        let signals = self.subagents.follow(completed);
        let used = self.records.as_mut().map(|records| records.follow(&signals));
        self.deliver(signals);
        self.deliver(used.unwrap_or_default());
    }

    /// Shows signals and hands them to the loop.
    fn deliver(&mut self, mut signals: Vec<AgentSignal>) {
        if let TerminalRole::Structured {
            transcript,
            mid_line,
            mid_text,
            ..
        } = &mut self.form
        {
            let mut shown = Vec::new();
            signals.iter().for_each(|signal| transcript.render(signal, &mut shown));
            signals.retain(|signal| !signal.is_live_text());
            if !shown.is_empty() {
                if std::mem::take(mid_line) {
                    self.display.show(b"\r\n");
                }
                self.display.show(&shown);
                *mid_text = shown.last() != Some(&b'\n');
            }
        }
        for signal in signals {
            // Fails if the loop has ended, which also stops the child.
            _ = self.out.blocking_send(signal);
        }
    }

    /// Completes a signal: adds the text of a delivered message, subtracts the usage of earlier turns, and marks
    /// problems after ralph ended the session.
    fn completed(&mut self, signal: AgentSignal) -> Option<AgentSignal> {
        if let AgentSignal::Opened { session, .. } = &signal {
            self.session.clone_from(session);
        }
        match (&self.meter, signal) {
            (Some(meter), AgentSignal::Usage { usage }) => {
                let usage = meter.turn(self.session.as_ref(), self.continued, usage)?;
                Some(AgentSignal::Usage { usage })
            }
            (_, AgentSignal::MessageAnswered { id, taken, .. }) => {
                let at = self.messages.iter().position(|(told, _)| *told == id);
                let text = at.map(|at| self.messages.remove(at).1).filter(|_| taken);
                Some(AgentSignal::MessageAnswered { id, taken, text })
            }
            (_, AgentSignal::Problem { mut problem }) => {
                if let Some(reason) = self.link.ended_for.get() {
                    problem.finding = Some(Finding::EndedByRalph { reason: *reason });
                }
                Some(AgentSignal::Problem { problem })
            }
            (_, signal) => Some(signal),
        }
    }

    fn finish(&mut self, exit: Option<Exit>, exchange: &mut Exchange) {
        let clock = self.clock();
        let Self { form, protocol, .. } = self;
        let stderr = match form {
            TerminalRole::Structured { plain, tail, .. } => {
                plain.finish(|line| {
                    tail.push(line);
                    protocol.stderr_line(line, &clock, exchange);
                });
                tail.text()
            }
            TerminalRole::Terminal { .. } => String::new(),
        };
        protocol.finish(Finish { exit, stderr: &stderr }, &clock, exchange);
    }
}

/// The present time, and the zone of times that are given without one.
pub(super) fn current_clock(zone: &TimeZone) -> ZonedClock {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ZonedClock {
        now_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        zone: zone.clone(),
        named: |name| TimeZone::get(name).ok(),
    }
}

/// Adds to an unexplained failure that the program may lack the live channel.
fn blame_channel(signal: &mut AgentSignal) {
    let AgentSignal::Problem { problem } = signal else {
        return;
    };
    let unexplained = matches!(
        problem.kind,
        ProblemKind::Usage | ProblemKind::Crashed | ProblemKind::Other
    );
    if unexplained {
        problem.finding = Some(Finding::NoLiveChannel);
    }
}

impl OutputSink for Reporter {
    fn terminal(&mut self, bytes: &[u8]) {
        self.output_bytes += bytes.len() as u64;
        if let TerminalRole::Structured { mid_text, .. } = &mut self.form
            && std::mem::take(mid_text)
        {
            self.display.show(b"\r\n");
        }
        self.display.show(bytes);
        let mut exchange = Exchange::default();
        let clock = self.clock();
        let Self { form, protocol, .. } = self;
        match form {
            TerminalRole::Structured {
                plain, tail, mid_line, ..
            } => {
                plain.feed(bytes, |line| {
                    tail.push(line);
                    protocol.stderr_line(line, &clock, &mut exchange);
                });
                *mid_line = bytes.last() != Some(&b'\n');
            }
            TerminalRole::Terminal { queries } => {
                queries.resize(self.link.size());
                let replies = queries.take(bytes);
                let child = self.link.child();
                if let Some(child) = child.filter(|_| !replies.is_empty()) {
                    child.type_bytes(&replies);
                }
                protocol.feed(bytes, &clock, &mut exchange);
            }
        }
        self.carry_out(exchange);
    }

    fn stdout(&mut self, bytes: &[u8]) {
        self.output_bytes += bytes.len() as u64;
        let mut exchange = Exchange::default();
        let clock = self.clock();
        self.protocol.feed(bytes, &clock, &mut exchange);
        let is_word = |signal: &AgentSignal| !matches!(signal, AgentSignal::Noted { .. } | AgentSignal::Unknown { .. });
        self.may_lack_channel &= exchange.input.is_empty() && !exchange.signals.iter().any(is_word);
        self.carry_out(exchange);
    }

    fn woken(&mut self) {
        self.open();
        let commands = std::mem::take(&mut *self.link.commands.lock());
        for command in commands {
            if let SessionCommand::Steer { id, text } = &command {
                self.messages.push((*id, text.clone()));
            }
            let mut exchange = Exchange::default();
            self.protocol.command(command, &mut exchange);
            self.carry_out(exchange);
        }
    }

    fn ended(&mut self, end: ChildEnd) {
        let mut exchange = Exchange::default();
        let exit = match end {
            ChildEnd::NotStarted { why, missing } => {
                let kind = if missing {
                    ProblemKind::NotInstalled
                } else {
                    ProblemKind::Other
                };
                exchange.signals.push(AgentSignal::Problem {
                    problem: Problem::said(kind, why),
                });
                None
            }
            ChildEnd::Exited(exit) => {
                self.finish(Some(exit), &mut exchange);
                if self.may_lack_channel && matches!(exit, Exit::Code { .. }) {
                    exchange.signals.iter_mut().for_each(blame_channel);
                }
                Some(exit)
            }
            ChildEnd::Exceeded(exceeded) => {
                self.finish(None, &mut exchange);
                // The dialect's reports of a missing verdict are no news.
                let is_verdict = |signal: &AgentSignal| matches!(signal, AgentSignal::Problem { .. });
                exchange.signals.retain(|signal| !is_verdict(signal));
                exchange.signals.push(AgentSignal::Problem {
                    problem: Problem::said(ProblemKind::TooLarge, exceeded_in_words(&exceeded)),
                });
                None
            }
            ChildEnd::GuardLost => {
                self.finish(None, &mut exchange);
                None
            }
        };
        self.report_ended(exit, exchange.signals);
    }
}

impl Drop for Reporter {
    /// A reporter that is dropped without an end has panicked, or its thread has: the loop still needs an end of the
    /// session.
    fn drop(&mut self) {
        if !self.ended && self.link.leave() {
            send_from_thread(breakdown_signals(self.output_bytes), self.out.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_that_the_system_has_are_known_by_name() {
        if std::path::Path::new("/usr/share/zoneinfo/Europe/Berlin").exists() {
            assert!(TimeZone::get("Europe/Berlin").is_ok());
        }
    }

    #[test]
    fn whoever_comes_second_answers_for_the_end_of_a_session() {
        let size = Size { cols: 80, rows: 24 };
        let link = SessionLink::new(size);
        assert!(link.hand_over(), "the reporter is there");
        assert!(link.leave(), "it answers for the end");
        let link = SessionLink::new(size);
        assert!(!link.leave(), "nobody knows yet whether there is a session");
        assert!(!link.hand_over(), "whoever starts answers for the end");
    }
}
