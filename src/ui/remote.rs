//! The screen's end of a run whose loop is another process.
//!
//! Stop 11 of the tour in ARCHITECTURE.md.
//!
//! A thread reads frames from the run's stream and queues a bounded amount of them, so that a slow screen slows the
//! loop down. Orders to the loop are sent in order from a second thread: no key press waits for an answer.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use parking_lot::{Condvar, Mutex};
use ralph_core::event::{Event, Record, RequestedBy, RunEvent, UserCommand};
use ralph_state::{
    control::{
        Address, ControlError,
        frames::{Frame, Hello, PollResult, UiEvent, next_event},
        stream::{Closer, FrameReader, Poster, StreamPurpose},
    },
    store::journal::JournalReader,
};
use ralph_system::{
    paths::RunPaths,
    proc::{self, Size},
};
use ralph_text::with_causes;
use ralph_ui::tui::{AfterSignal, EventSource, LoopControl, WakeCallback};
use serde_json::json;

/// Bytes of output that are queued for a slow screen.
const KEPT_BYTES: usize = 256 * 1024;

/// Delays before a lost connection is reopened; the last one repeats.
const BACKOFF: [Duration; 4] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(3),
];
/// Resets a terminal to its initial state.
const RESET: &[u8] = b"\x1bc";

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The run's process said that it ends, with that exit code.
    Ended(Option<u8>),
    /// The stream ended without a word: the process was killed, or the connection is lost.
    Lost,
}

/// The frames of a run, queued for a screen.
#[derive(Debug)]
pub(crate) struct Remote {
    shared: Arc<RemoteShared>,
    /// The run's files, if they are on this machine.
    files: Option<RunPaths>,
    address: Address,
    /// The first record that the stream delivers.
    first: u64,
    /// The record after the last one that the screen took.
    next: u64,
    /// The exit code of the run, while it is over.
    stopped: Option<u8>,
}

#[derive(Debug, Default)]
struct RemoteShared {
    state: Mutex<RemoteState>,
    /// Signalled when an event arrives.
    came: Condvar,
    /// Signalled when an event is taken.
    taken: Condvar,
}

#[derive(Debug, Default)]
struct RemoteState {
    events: VecDeque<UiEvent>,
    /// Bytes of output among `events`.
    output_bytes: usize,
    /// The loop's answers to orders that it refused.
    refusals: VecDeque<String>,
    woken: bool,
    ending: Option<StreamEnd>,
    /// The loop's number for this screen; a new connection gets a new one.
    screen: Option<u64>,
    /// Closes the stream.
    closer: Option<Closer>,
    /// Set when the screen is gone and takes no more events.
    abandoned: bool,
}

impl RemoteShared {
    fn wake(&self, refusal: Option<String>) {
        let mut state = self.state.lock();
        state.refusals.extend(refusal);
        state.woken = true;
        self.came.notify_one();
    }

    /// Queues `event` once there is room for it. Returns false if the screen is gone.
    fn keep(&self, event: UiEvent) -> bool {
        let mut state = self.state.lock();
        while state.output_bytes >= KEPT_BYTES && !state.abandoned {
            self.taken.wait(&mut state);
        }
        let state = &mut *state;
        match (event, state.events.back_mut()) {
            (UiEvent::Output(bytes), Some(UiEvent::Output(before))) => {
                state.output_bytes += bytes.len();
                before.extend_from_slice(&bytes);
            }
            (event, _) => {
                if let UiEvent::Output(bytes) = &event {
                    state.output_bytes += bytes.len();
                }
                state.events.push_back(event);
            }
        }
        self.came.notify_one();
        !state.abandoned
    }
}

impl Remote {
    /// Starts to read the frames that follow `hello` from `address`. Earlier records are read from the run's `files`,
    /// or requested if those are on another machine. A lost connection is reopened.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn start(
        frames: FrameReader,
        hello: &Hello,
        looks: StreamPurpose,
        address: Address,
        files: Option<RunPaths>,
    ) -> io::Result<Self> {
        let shared = Arc::new(RemoteShared::default());
        let taker = FrameReceiver {
            shared: Arc::clone(&shared),
            hello: hello.clone(),
            looks,
            address: address.clone(),
            next: hello.first,
            details: Details::default(),
        };
        taker.follow(&frames, hello);
        let take = move || taker.take_all(frames);
        thread::Builder::new().name("frames".to_owned()).spawn(take)?;
        Ok(Self {
            shared,
            files,
            address,
            first: hello.first,
            next: hello.first,
            stopped: None,
        })
    }

    /// The exit code of the run, if it is over according to the records taken so far.
    pub(crate) fn stopped(&self) -> Option<u8> {
        self.stopped
    }

    /// The sequence number of the record that would be taken next.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next
    }

    /// How the stream ended; `None` while it is open.
    pub(crate) fn ending(&self) -> Option<StreamEnd> {
        self.shared.state.lock().ending
    }

    /// Returns the sender of orders to the loop. If this process has started the loop as process `started`, a typed
    /// Ctrl-C is sent to it as a signal, and stops it like any signal.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn reach(&self, started: Option<u32>) -> io::Result<RemoteReach> {
        let (orders, taken) = mpsc::channel();
        let shared = Arc::clone(&self.shared);
        let poster = Poster::new(&self.address).map_err(io::Error::other)?;
        thread::Builder::new()
            .name("orders".to_owned())
            .spawn(move || send_orders(&poster, &taken, &shared))?;
        Ok(RemoteReach {
            orders: Mutex::new(orders),
            started,
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.abandoned = true;
        state.closer = None;
        self.shared.taken.notify_all();
    }
}

/// Reads frames on its own thread.
struct FrameReceiver {
    shared: Arc<RemoteShared>,
    hello: Hello,
    looks: StreamPurpose,
    /// The address to reconnect to.
    address: Address,
    /// The record after the last one that arrived.
    next: u64,
    details: Details,
}

/// Recognises new details: the loop resends its stored details with each connection.
#[derive(Debug, Default)]
struct Details {
    /// The time of the latest detail that arrived.
    latest_ms: u64,
    /// Details up to this time arrived over an earlier connection.
    known_ms: Option<u64>,
}

impl Details {
    fn is_new(&mut self, at_ms: u64) -> bool {
        let is_new = self.known_ms.is_none_or(|known_ms| at_ms > known_ms);
        self.latest_ms = self.latest_ms.max(at_ms);
        is_new
    }

    fn connect_anew(&mut self) {
        self.known_ms = (self.latest_ms > 0).then_some(self.latest_ms);
    }
}

impl FrameReceiver {
    /// Notes the screen number of `hello` and the closer of its stream. Returns false if the screen is gone.
    fn follow(&self, frames: &FrameReader, hello: &Hello) -> bool {
        let closer = frames.closer();
        let mut state = self.shared.state.lock();
        state.screen = hello.screen;
        // If the screen has gone meanwhile, the closer is dropped, which closes the stream: the loop would count this
        // screen for ever.
        state.closer = Some(closer).filter(|_| !state.abandoned);
        !state.abandoned
    }

    fn take_all(mut self, mut frames: FrameReader) {
        let ending = loop {
            match take_frames(&mut frames, &self.shared, &mut self.next, &mut self.details) {
                StreamEnd::Lost => {}
                ended @ StreamEnd::Ended(_) => break ended,
            }
            match self.reconnect() {
                Some(anew) => {
                    self.details.connect_anew();
                    frames = anew;
                }
                None => break StreamEnd::Lost,
            }
        };
        self.shared.state.lock().ending = Some(ending);
        self.shared.came.notify_one();
    }

    /// Reopens the connection, however long that takes. Returns `None` if the screen is gone, if the loop works on
    /// another run, or if no process listens at the socket on this machine: then the loop was killed.
    fn reconnect(&self) -> Option<FrameReader> {
        let mut pauses = BACKOFF.iter().copied();
        let mut pause = BACKOFF[0];
        // The first attempt waits too: a stream that ends as soon as it is opened must not keep both sides busy.
        if !self.rest(pause) {
            return None;
        }
        loop {
            let opened = FrameReader::open(&self.address, self.looks, Some(self.next));
            if let Err(ControlError::NotRunning) = opened {
                return None;
            }
            let greeted = opened.ok().and_then(|mut frames| Some((frames.hello()?, frames)));
            let Some((hello, frames)) = greeted else {
                let why = "the connection is lost; ralph tries again";
                self.shared.wake(Some(why.to_owned()));
                pause = pauses.next().unwrap_or(pause);
                if !self.rest(pause) {
                    return None;
                }
                continue;
            };
            if hello.run != self.hello.run {
                return None;
            }
            if !self.follow(&frames, &hello) {
                return None;
            }
            // The loop resends the iteration's terminal output from as far back as it has kept it.
            self.shared.keep(UiEvent::Output(RESET.to_vec()));
            self.shared.wake(Some("connected again".to_owned()));
            return Some(frames);
        }
    }

    /// Waits for `pause`. Returns false if the screen is gone.
    fn rest(&self, pause: Duration) -> bool {
        let mut state = self.shared.state.lock();
        let rests = |state: &mut RemoteState| !state.abandoned;
        self.shared.taken.wait_while_for(&mut state, rests, pause);
        !state.abandoned
    }
}

/// Updates the exit code of a run from `record`.
fn end_with(stopped: &mut Option<u8>, record: &Record) {
    match &record.event {
        Event::Run(RunEvent::Stopped { reason, .. }) => *stopped = Some(reason.exit_code()),
        Event::Run(RunEvent::Reopened { .. }) => *stopped = None,
        _ => {}
    }
}

fn take_frames(frames: &mut FrameReader, shared: &RemoteShared, next: &mut u64, details: &mut Details) -> StreamEnd {
    loop {
        let event = match frames.next_frame() {
            Ok(Some(Frame::Event(event))) => event,
            Ok(Some(Frame::Hello(_) | Frame::Alive)) => continue,
            Ok(Some(Frame::End { exit_code })) => return StreamEnd::Ended(exit_code),
            Ok(None) | Err(_) => return StreamEnd::Lost,
        };
        match &event {
            UiEvent::Record(record) => *next = record.seq + 1,
            UiEvent::Detail(detail) if !details.is_new(detail.at_ms) => continue,
            UiEvent::Detail(_) | UiEvent::Output(_) | UiEvent::Resized(_) | UiEvent::Skipped { .. } => {}
        }
        if !shared.keep(event) {
            return StreamEnd::Lost;
        }
    }
}

impl EventSource for Remote {
    fn poll(&mut self, deadline: Option<Instant>) -> PollResult {
        let mut state = self.shared.state.lock();
        loop {
            if std::mem::take(&mut state.woken) {
                return PollResult::Woken;
            }
            if let Some(event) = state.events.pop_front() {
                if let UiEvent::Output(bytes) = &event {
                    state.output_bytes -= bytes.len();
                    self.shared.taken.notify_one();
                }
                if let UiEvent::Record(record) = &event {
                    self.next = record.seq + 1;
                    end_with(&mut self.stopped, record);
                }
                return PollResult::Event(event);
            }
            if state.ending.is_some() {
                return PollResult::Over;
            }
            match deadline {
                Some(deadline) if deadline <= Instant::now() => return PollResult::Woken,
                Some(deadline) => _ = self.shared.came.wait_until(&mut state, deadline),
                None => self.shared.came.wait(&mut state),
            }
        }
    }

    fn past(&mut self, take: &mut dyn FnMut(&Record)) {
        let mut stopped = None;
        let take = &mut |record: &Record| {
            end_with(&mut stopped, record);
            take(record);
        };
        match &self.files {
            Some(files) => {
                if let Ok(mut reader) = JournalReader::open(&files.journal()) {
                    reader.read_before(self.first, take);
                }
            }
            None => self.past_of_the_stream(take),
        }
        self.stopped = stopped;
    }

    fn waker(&self) -> WakeCallback {
        let shared = Arc::clone(&self.shared);
        Box::new(move || shared.wake(None))
    }

    fn now_ms(&self) -> u64 {
        ralph_system::os::now_ms()
    }

    fn refusal(&mut self) -> Option<String> {
        self.shared.state.lock().refusals.pop_front()
    }
}

impl Remote {
    /// Requests the records before the first event from the loop. Missing ones are skipped.
    fn past_of_the_stream(&self, take: &mut dyn FnMut(&Record)) {
        let mut seq = 0;
        let Ok(mut frames) = FrameReader::open(&self.address, StreamPurpose::Records, Some(0)) else {
            return;
        };
        while seq < self.first
            && let Ok(Some(frame)) = frames.next_frame()
        {
            if let Frame::Event(UiEvent::Record(record)) = frame {
                seq = record.seq + 1;
                if record.seq < self.first {
                    take(&record);
                }
            }
        }
    }
}

/// The remaining events after the screen is gone, for text.
impl Iterator for Remote {
    type Item = UiEvent;

    fn next(&mut self) -> Option<UiEvent> {
        next_event(|| self.poll(None))
    }
}

/// Sends orders of a screen to a loop in another process.
#[derive(Debug)]
pub(crate) struct RemoteReach {
    orders: Mutex<Sender<RemoteOrder>>,
    /// The loop's process, if this one has started it.
    started: Option<u32>,
}

/// An order of the screen to its loop.
#[derive(Debug)]
enum RemoteOrder {
    Command(UserCommand),
    CancelTask(u32),
    Type(Vec<u8>),
    Resize(Size),
}

impl RemoteReach {
    fn order(&self, order: RemoteOrder) {
        // If the thread is gone, so is the connection, which the screen already shows.
        _ = self.orders.lock().send(order);
    }
}

impl LoopControl for RemoteReach {
    fn command(&self, command: UserCommand, by: RequestedBy) -> Result<(), String> {
        match (by, self.started) {
            (RequestedBy::Interrupt, Some(pid)) => proc::signal_loop(pid, Signal::SIGINT),
            _ => self.order(RemoteOrder::Command(command)),
        }
        Ok(())
    }

    fn cancel_task(&self, number: u32) -> Result<(), String> {
        self.order(RemoteOrder::CancelTask(number));
        Ok(())
    }

    fn type_bytes(&self, bytes: Vec<u8>) {
        self.order(RemoteOrder::Type(bytes));
    }

    fn resize(&self, size: Size) {
        self.order(RemoteOrder::Resize(size));
    }

    fn signalled(&self, by: RequestedBy) -> AfterSignal {
        let signal = match by {
            RequestedBy::Interrupt => Signal::SIGINT,
            RequestedBy::Terminate => Signal::SIGTERM,
            RequestedBy::Hangup | RequestedBy::User => return AfterSignal::Leaves,
        };
        match self.started {
            // A terminating signal in the terminal that started the loop is meant for the run.
            Some(pid) => {
                proc::signal_loop(pid, signal);
                AfterSignal::Stays
            }
            None => AfterSignal::Leaves,
        }
    }

    fn outlives_screen(&self) -> bool {
        true
    }
}

fn send_orders(poster: &Poster, orders: &Receiver<RemoteOrder>, shared: &RemoteShared) {
    // The size of the pane, and the screen number for which the loop knows it.
    let mut size: Option<(Size, Option<u64>)> = None;
    while let Ok(order) = orders.recv() {
        let screen = shared.state.lock().screen;
        if let Some((pane, known)) = size
            && known != screen
        {
            // A new connection counts as a new screen, whose size the loop does not know.
            send_order(poster, RemoteOrder::Resize(pane), screen, shared);
            size = Some((pane, screen));
        }
        if let RemoteOrder::Resize(pane) = order {
            size = Some((pane, screen));
        }
        send_order(poster, order, screen, shared);
    }
}

/// Sends one order on behalf of `screen`. A refusal is passed to the screen.
fn send_order(poster: &Poster, order: RemoteOrder, screen: Option<u64>, shared: &RemoteShared) {
    let screen = screen.map(|screen| format!("?screen={screen}")).unwrap_or_default();
    let (path, content_type, body) = match order {
        RemoteOrder::Command(command) => {
            let body = serde_json::to_vec(&command).expect("commands have no failing serialisers");
            ("/commands".to_owned(), "application/json", body)
        }
        RemoteOrder::CancelTask(number) => (format!("/tasks/{number}/cancel"), "application/json", Vec::new()),
        RemoteOrder::Type(bytes) => ("/terminal/input".to_owned(), "application/octet-stream", bytes),
        RemoteOrder::Resize(Size { cols, rows }) => {
            let body = json!({ "cols": cols, "rows": rows }).to_string().into_bytes();
            ("/terminal/size".to_owned(), "application/json", body)
        }
    };
    let refusal = match poster.post(&format!("{path}{screen}"), content_type, body) {
        Ok(()) => return,
        Err(ControlError::Refused { why, .. }) => why,
        Err(error) => format!("the loop does not answer: {}", with_causes(&error)),
    };
    shared.wake(Some(refusal));
}
