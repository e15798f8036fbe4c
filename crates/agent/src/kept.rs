//! The process of an agent that is given one session after the other.
//!
//! Between two sessions the process stands still (SIGSTOP), and what its tools have left running is ended: nothing of an
//! agent works while the loop looks at what it has done. Whatever goes wrong ends the process, and the next session gets
//! a new one.
//!
//! A session that the process does not open is opened by a new process, and the loop hears nothing of it.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use jiff::tz::TimeZone;
use parking_lot::{Condvar, Mutex, MutexGuard};
use ralph_core::event::{AgentSignal, CancelReason, ToolKinds};
use ralph_system::proc::{
    Activity, Child, ChildEnd, Launch, OutputSink, Size, SpawnError, StopSpeed, Supervisor, TreeSnapshot,
};
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::{
    NotLive, Session, SessionCommand,
    protocol::{Exchange, Protocol},
    reporter::{Reporter, SessionLink, breakdown_signals, current_clock, send_from_thread},
    unstarted::{problem_of, unstarted_signals},
};

/// Most sessions of one process: what an agent keeps of each ends with it.
const MOST_SESSIONS: u32 = 50;
/// Most memory of a process that waits for a session. An agent that has just started has a third of it.
const MOST_BYTES: u64 = 1 << 30;
/// How long a process may take to open another session. Agents take a tenth of a second.
const OPENING: Duration = Duration::from_secs(5);
/// How long a process may take to end when the run is over, beyond its grace period.
const CLOSING: Duration = Duration::from_secs(5);

/// The launch of a process, and what the sessions of one process have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptLaunch {
    pub(super) launch: Launch,
    pub(super) model: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) asks: ToolKinds,
}

/// Starts the sessions of an adapter in the process that it keeps.
pub(super) struct ProcessKeeper {
    supervisor: Supervisor,
    most_bytes: u64,
    processes: Mutex<KeptProcesses>,
}

#[derive(Default)]
struct KeptProcesses {
    current: Option<Arc<KeptProcess>>,
    /// Processes that were asked to end.
    ending: Vec<Arc<KeptProcess>>,
}

struct KeptProcess {
    used_for: KeptLaunch,
    child: Arc<Child>,
    stage: Arc<SharedStage>,
}

/// The stage of a process, for its reader thread and the loop.
#[derive(Default)]
struct SharedStage {
    stage: Mutex<ProcessStage>,
    over: Condvar,
}

#[derive(Default)]
enum ProcessStage {
    /// The process has a session.
    #[default]
    Busy,
    /// The process is suspended.
    Idle,
    /// Its reader thread has not begun the session yet.
    Called(Box<Reporter>),
    /// The process has ended, or nobody reads its output any more.
    Over,
}

impl ProcessKeeper {
    pub(super) fn new(supervisor: &Supervisor) -> Self {
        let ceiling = supervisor.memory_ceiling_bytes();
        Self {
            supervisor: supervisor.clone(),
            most_bytes: ceiling.map_or(MOST_BYTES, |ceiling| MOST_BYTES.min(ceiling / 2)),
            processes: Mutex::default(),
        }
    }

    /// Starts a session in the kept process, or in a new one if there is none for `wanted`.
    pub(super) fn start(
        self: &Arc<Self>,
        wanted: KeptLaunch,
        reporter: Box<Reporter>,
        out: mpsc::Sender<AgentSignal>,
    ) -> Result<Box<dyn Session>, SpawnError> {
        let link = reporter.link();
        if let Err(reporter) = self.hand_over(&wanted, reporter) {
            self.launch(wanted, reporter, out)?;
        }
        Ok(Box::new(KeptSession {
            link,
            _keeper: Arc::clone(self),
        }))
    }

    /// Gives the session to the process that waits for one.
    fn hand_over(&self, wanted: &KeptLaunch, reporter: Box<Reporter>) -> Result<(), Box<Reporter>> {
        let processes = self.processes.lock();
        let Some(process) = processes.current.as_ref().filter(|process| process.serves(wanted)) else {
            return Err(reporter);
        };
        let link = reporter.link();
        let mut stage = process.stage.lock();
        if !matches!(*stage, ProcessStage::Idle) {
            return Err(reporter);
        }
        process.child.resize(wanted.launch.size);
        link.start(&process.child);
        *stage = ProcessStage::Called(reporter);
        process.child.wake();
        Ok(())
    }

    fn launch(
        self: &Arc<Self>,
        used_for: KeptLaunch,
        reporter: Box<Reporter>,
        out: mpsc::Sender<AgentSignal>,
    ) -> Result<(), SpawnError> {
        let link = reporter.link();
        let stage = Arc::new(SharedStage::default());
        let sink = KeptSink {
            keeper: Arc::downgrade(self),
            used_for: used_for.clone(),
            stage: Arc::clone(&stage),
            child: Weak::new(),
            conversation: Conversation::Session(reporter),
            before: None,
            sessions: 1,
            due: None,
        };
        let child = self.supervisor.spawn(used_for.launch.clone(), Box::new(sink))?;
        info!(program = ?used_for.launch.program, "agent started, to be kept");
        let process = Arc::new(KeptProcess {
            used_for,
            child: Arc::new(child),
            stage,
        });
        self.replace(Arc::clone(&process));
        if !link.start(&process.child) {
            send_from_thread(breakdown_signals(0), out);
        }
        // The reporter begins the conversation, now that it can write.
        process.child.wake();
        Ok(())
    }

    fn replace(&self, process: Arc<KeptProcess>) {
        let mut processes = self.processes.lock();
        processes.ending.retain(|process| !process.stage.is_over());
        if let Some(before) = processes.current.replace(process) {
            before.child.stop(StopSpeed::Graceful);
            processes.ending.push(before);
        }
    }

    /// Ends all processes, and waits for their end with a bound.
    pub(super) fn close(&self) {
        let processes = std::mem::take(&mut *self.processes.lock());
        let all: Vec<_> = processes.current.into_iter().chain(processes.ending).collect();
        all.iter().for_each(|process| process.child.stop(StopSpeed::Graceful));
        for process in all {
            let grace = process.used_for.launch.ladder.grace;
            if !process.stage.wait_for_end(2 * grace + CLOSING) {
                process.child.stop(StopSpeed::Immediate);
                process.stage.wait_for_end(CLOSING); // afterwards its guard continues alone
            }
        }
    }
}

impl fmt::Debug for ProcessKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessKeeper").finish_non_exhaustive()
    }
}

impl KeptProcess {
    /// Whether it was started for the same use. The size of its terminal can be changed.
    fn serves(&self, wanted: &KeptLaunch) -> bool {
        let size = self.used_for.launch.size;
        let launch = Launch {
            size,
            ..wanted.launch.clone()
        };
        self.used_for
            == KeptLaunch {
                launch,
                ..wanted.clone()
            }
    }
}

impl SharedStage {
    fn lock(&self) -> MutexGuard<'_, ProcessStage> {
        self.stage.lock()
    }

    fn is_over(&self) -> bool {
        matches!(*self.lock(), ProcessStage::Over)
    }

    /// Returns the session that the process was given, if it has not begun.
    fn take_called(&self) -> Option<Box<Reporter>> {
        let mut stage = self.lock();
        match std::mem::take(&mut *stage) {
            ProcessStage::Called(reporter) => Some(reporter),
            other => {
                *stage = other;
                None
            }
        }
    }

    /// Returns the session that the process was given and will never begin.
    fn end(&self) -> Option<Box<Reporter>> {
        let called = self.take_called();
        *self.lock() = ProcessStage::Over;
        self.over.notify_all();
        called
    }

    /// Returns whether the process ends within `patience`.
    fn wait_for_end(&self, patience: Duration) -> bool {
        let waits = |stage: &mut ProcessStage| !matches!(stage, ProcessStage::Over);
        let mut stage = self.lock();
        self.over.wait_while_for(&mut stage, waits, patience);
        matches!(*stage, ProcessStage::Over)
    }
}

/// Receives the output of a kept process.
struct KeptSink {
    keeper: Weak<ProcessKeeper>,
    used_for: KeptLaunch,
    stage: Arc<SharedStage>,
    /// The process, once it has been suspended.
    child: Weak<Child>,
    conversation: Conversation,
    /// The processes that were there before the session; `None` until the program has written something. Agents start
    /// helpers of their own before they answer.
    before: Option<TreeSnapshot>,
    sessions: u32,
    /// The time by which the session has to be open.
    due: Option<Instant>,
}

enum Conversation {
    Session(Box<Reporter>),
    /// Between two sessions.
    Idle(Box<dyn Protocol>),
    Over,
}

impl KeptSink {
    /// Begins a session in the process that has waited for it.
    fn begin(&mut self, mut next: Box<Reporter>) {
        let Conversation::Idle(protocol) = std::mem::replace(&mut self.conversation, Conversation::Over) else {
            unreachable!("only a process without a session is given one");
        };
        if let Some(child) = self.child.upgrade() {
            child.resume();
            self.before = Some(child.snapshot());
        }
        next.continue_with(protocol);
        self.sessions += 1;
        self.due = Some(Instant::now() + OPENING);
        self.conversation = Conversation::Session(next);
        info!(sessions = self.sessions, "session in a kept process");
    }

    /// Looks at the session after something has happened in it.
    fn look(&mut self) {
        let Conversation::Session(reporter) = &self.conversation else {
            return;
        };
        if reporter.has_opened() {
            self.due = None;
        }
        if reporter.is_over() {
            self.rest();
        }
    }

    /// Suspends the process, and then reports the end of its session. Ends a process that cannot be kept, which then
    /// reports the end.
    fn rest(&mut self) {
        let Conversation::Session(reporter) = &mut self.conversation else {
            return;
        };
        let Some(child) = reporter.child() else { return };
        let most_bytes = self.keeper.upgrade().map_or(0, |keeper| keeper.most_bytes);
        let suspended = match (&self.before, self.sessions < MOST_SESSIONS) {
            (Some(before), true) => child.suspend(before, most_bytes).map_err(Some),
            (_, _) => Err(None),
        };
        match suspended {
            Ok(left) => {
                if let Some(keeper) = self.keeper.upgrade() {
                    keeper.supervisor.report_left_running(left);
                }
            }
            Err(why) => {
                info!(?why, sessions = self.sessions, "agent not kept");
                child.resume();
                return reporter.let_end(&child);
            }
        }
        self.child = Arc::downgrade(&child);
        let protocol = reporter.release();
        let Conversation::Session(mut reporter) =
            std::mem::replace(&mut self.conversation, Conversation::Idle(protocol))
        else {
            return;
        };
        // Before the end is reported: the loop may start the next session at once.
        *self.stage.lock() = ProcessStage::Idle;
        reporter.report_end();
    }

    /// Opens the session with a new process.
    fn begin_again(&self, mut reporter: Box<Reporter>, end: &ChildEnd) {
        warn!(
            ?end,
            sessions = self.sessions,
            "the kept process has not opened the session"
        );
        let out = reporter.out();
        reporter.begin_again();
        let launched = match self.keeper.upgrade() {
            Some(keeper) => keeper.launch(self.used_for.clone(), reporter, out.clone()),
            None => return, // the adapter is gone, and so is the run
        };
        if let Err(error) = launched {
            send_from_thread(unstarted_signals(problem_of(error)), out);
        }
    }
}

impl OutputSink for KeptSink {
    fn terminal(&mut self, bytes: &[u8]) {
        if let Conversation::Session(reporter) = &mut self.conversation {
            reporter.terminal(bytes);
        }
        self.look();
    }

    fn stdout(&mut self, bytes: &[u8]) {
        match &mut self.conversation {
            Conversation::Session(reporter) => {
                if self.before.is_none() {
                    self.before = reporter.child().map(|child| child.snapshot());
                }
                reporter.stdout(bytes);
            }
            // The rest of what it has written before it was suspended.
            Conversation::Idle(protocol) => {
                let mut exchange = Exchange::default();
                protocol.feed(bytes, &current_clock(&TimeZone::UTC), &mut exchange);
                if let Some(child) = self.child.upgrade().filter(|_| !exchange.input.is_empty()) {
                    _ = child.write_input(&exchange.input); // it is about to end
                }
            }
            Conversation::Over => {}
        }
        self.look();
    }

    fn woken(&mut self) {
        if let Some(next) = self.stage.take_called() {
            self.begin(next);
        }
        if let Conversation::Session(reporter) = &mut self.conversation {
            reporter.woken();
            if self.due.is_some_and(|due| due <= Instant::now()) {
                self.due = None;
                reporter.give_up();
            }
        }
        self.look();
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }

    fn ended(&mut self, end: ChildEnd) {
        let called = self.stage.end();
        let lost = match std::mem::replace(&mut self.conversation, Conversation::Over) {
            Conversation::Session(reporter) if reporter.can_begin_again() => Some(reporter),
            Conversation::Session(mut reporter) => {
                reporter.ended(end.clone());
                None
            }
            Conversation::Idle(_) | Conversation::Over => {
                info!(
                    ?end,
                    sessions = self.sessions,
                    "the kept process has ended between two sessions"
                );
                called
            }
        };
        if let Some(reporter) = lost {
            self.begin_again(reporter, &end);
        }
    }
}

impl Drop for KeptSink {
    /// A sink whose thread has panicked begins no session any more.
    fn drop(&mut self) {
        drop(self.stage.end());
    }
}

/// A session in a kept process. Dropping it before its end stops the process.
struct KeptSession {
    link: Arc<SessionLink>,
    /// The owner of the process.
    _keeper: Arc<ProcessKeeper>,
}

impl Session for KeptSession {
    fn stop(&self, stop: StopSpeed) {
        self.link.stop(stop);
    }

    fn ends_for(&self, reason: CancelReason) {
        self.link.ends_for(reason);
    }

    fn resize(&self, size: Size) {
        self.link.resize(size);
        if let Some(child) = self.link.child() {
            child.resize(size);
        }
    }

    fn type_bytes(&self, bytes: &[u8]) {
        if let Some(child) = self.link.child() {
            child.type_bytes(bytes);
        }
    }

    fn send(&self, command: SessionCommand) -> Result<(), NotLive> {
        self.link.send(command);
        if let Some(child) = self.link.child() {
            child.wake();
        }
        Ok(())
    }

    fn activity(&self) -> Activity {
        self.link.activity()
    }
}

impl Drop for KeptSession {
    fn drop(&mut self) {
        if !self.link.is_over() {
            self.link.stop(StopSpeed::Immediate);
        }
    }
}
