//! A run whose loop is another process, as the screen of this one shows it.
//!
//! A thread takes the frames from the run's stream and hands them to the screen; no more of them than a little is kept here,
//! so that a screen that is behind is felt by the loop. What the screen wants of the loop goes the other way on a thread of
//! its own, in order: no key waits for an answer.

use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Instant,
};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    control::{
        frames::{Frame, Hello},
        stream::{Closer, FrameReader, Poster},
    },
    driver::{self, Detail, Poll, UiEvent},
    event::{Record, RequestedBy, UserCommand},
    proc::{self, Size},
    store::journal::Reader,
    ui::tui::{AfterSignal, Reach, Source, Wake},
};

/// Output that is kept for a screen that is behind.
const KEPT_BYTES: usize = 256 * 1024;

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The run's process said that it ends, with that exit code.
    Ended(Option<u8>),
    /// It said nothing: it was killed, or the connection is lost.
    Lost,
}

/// The frames of a run, as a screen takes them.
#[derive(Debug)]
pub(crate) struct Remote {
    shared: Arc<Shared>,
    journal: PathBuf,
    /// The first record that comes by the stream.
    first: u64,
    /// The record after the last one that was taken.
    next: u64,
    /// Ends the stream with this value.
    _closer: Closer,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Something has come.
    came: Condvar,
    /// Something was taken.
    taken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<UiEvent>,
    /// Bytes of output among them.
    output_bytes: usize,
    /// What the loop answered to an order that it did not take.
    refusals: VecDeque<String>,
    woken: bool,
    ending: Option<Ending>,
    /// Nobody takes anything any more.
    abandoned: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, refusal: Option<String>) {
        let mut state = self.lock();
        state.refusals.extend(refusal);
        state.woken = true;
        self.came.notify_one();
    }

    /// Keeps `event` once there is room for it; false if nobody wants it.
    fn keep(&self, event: UiEvent) -> bool {
        let mut state = self.lock();
        while state.output_bytes >= KEPT_BYTES && !state.abandoned {
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
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
    /// Starts to take the frames that follow `hello`. Records from before them are in `journal`.
    ///
    /// # Errors
    /// If there can be no thread.
    pub(crate) fn start(mut frames: FrameReader, hello: &Hello, journal: PathBuf) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let closer = frames.closer()?;
        let keeping = Arc::clone(&shared);
        thread::Builder::new().name("frames".to_owned()).spawn(move || {
            let ending = take_frames(&mut frames, &keeping);
            keeping.lock().ending = Some(ending);
            keeping.came.notify_one();
        })?;
        Ok(Self {
            shared,
            journal,
            first: hello.first,
            next: hello.first,
            _closer: closer,
        })
    }

    /// The sequence number of the record that would be taken next.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next
    }

    /// How the stream ended; none if it goes on.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.shared.lock().ending
    }

    /// The way back to the loop of `hello`. A typed Ctrl-C becomes a signal to the process `started`, if this one has started
    /// the loop: then it is stopped as by any signal.
    ///
    /// # Errors
    /// If there can be no thread.
    pub(crate) fn reach(&self, poster: Poster, hello: &Hello, started: Option<u32>) -> io::Result<RemoteReach> {
        let (orders, taken) = mpsc::channel();
        let screen = hello.screen;
        let shared = Arc::clone(&self.shared);
        thread::Builder::new()
            .name("orders".to_owned())
            .spawn(move || send_orders(poster, screen, &taken, &shared))?;
        Ok(RemoteReach {
            orders: Mutex::new(orders),
            started,
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.shared.lock().abandoned = true;
        self.shared.taken.notify_one();
    }
}

fn take_frames(frames: &mut FrameReader, shared: &Shared) -> Ending {
    loop {
        let event = match frames.next_frame() {
            Ok(Some(Frame::Record(record))) => UiEvent::Record(record),
            Ok(Some(Frame::Output(bytes))) => UiEvent::Output(bytes),
            Ok(Some(Frame::Skipped(bytes))) => UiEvent::Skipped { bytes },
            Ok(Some(Frame::Resized { cols, rows })) => UiEvent::Resized(Size { cols, rows }),
            Ok(Some(Frame::Detail(detail))) => UiEvent::Detail(Box::new(Detail {
                at_ms: detail.at_ms,
                iteration: detail.iteration,
                signal: detail.signal,
                missed: detail.missed,
            })),
            Ok(Some(Frame::Hello(_) | Frame::Alive)) => continue,
            Ok(Some(Frame::End { exit_code })) => return Ending::Ended(exit_code),
            Ok(None) | Err(_) => return Ending::Lost,
        };
        if !shared.keep(event) {
            return Ending::Lost;
        }
    }
}

impl Source for Remote {
    fn poll(&mut self, deadline: Option<Instant>) -> Poll {
        let mut state = self.shared.lock();
        loop {
            if std::mem::take(&mut state.woken) {
                return Poll::Woken;
            }
            if let Some(event) = state.events.pop_front() {
                if let UiEvent::Output(bytes) = &event {
                    state.output_bytes -= bytes.len();
                    self.shared.taken.notify_one();
                }
                if let UiEvent::Record(record) = &event {
                    self.next = record.seq + 1;
                }
                return Poll::Event(event);
            }
            if state.ending.is_some() {
                return Poll::Over;
            }
            let now = Instant::now();
            state = match deadline.map(|deadline| deadline.saturating_duration_since(now)) {
                Some(left) if left.is_zero() => return Poll::Woken,
                Some(left) => {
                    let waited = self.shared.came.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.shared.came.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn past(&mut self, take: &mut dyn FnMut(&Record)) {
        let Ok(mut reader) = Reader::open(&self.journal) else {
            return;
        };
        while reader.next_seq() < self.first
            && let Ok(Some(record)) = reader.next_record()
        {
            take(&record);
        }
    }

    fn waker(&self) -> Wake {
        let shared = Arc::clone(&self.shared);
        Box::new(move || shared.wake(None))
    }

    fn now_ms(&self) -> u64 {
        driver::now_ms()
    }

    fn refusal(&mut self) -> Option<String> {
        self.shared.lock().refusals.pop_front()
    }
}

/// What comes after the screen is gone, for text.
impl Iterator for Remote {
    type Item = UiEvent;

    fn next(&mut self) -> Option<UiEvent> {
        loop {
            match self.poll(None) {
                Poll::Event(event) => return Some(event),
                Poll::Woken => {}
                Poll::Over => return None,
            }
        }
    }
}

/// The way of a screen to a loop in another process.
#[derive(Debug)]
pub(crate) struct RemoteReach {
    orders: Mutex<Sender<Order>>,
    /// The loop's process, if this one has started it.
    started: Option<u32>,
}

/// What a screen wants of its loop.
#[derive(Debug)]
enum Order {
    Command(UserCommand),
    Type(Vec<u8>),
    Resize(Size),
}

impl RemoteReach {
    fn order(&self, order: Order) {
        // Without the thread the connection is lost, which is shown.
        _ = self.orders.lock().unwrap_or_else(PoisonError::into_inner).send(order);
    }
}

impl Reach for RemoteReach {
    fn command(&self, command: UserCommand, by: RequestedBy) {
        match (by, self.started) {
            (RequestedBy::Interrupt, Some(pid)) => proc::signal_loop(pid, Signal::SIGINT),
            _ => self.order(Order::Command(command)),
        }
    }

    fn type_bytes(&self, bytes: Vec<u8>) {
        self.order(Order::Type(bytes));
    }

    fn resize(&self, size: Size) {
        self.order(Order::Resize(size));
    }

    fn signalled(&self, by: RequestedBy) -> AfterSignal {
        let signal = match by {
            RequestedBy::Interrupt => Signal::SIGINT,
            RequestedBy::Terminate => Signal::SIGTERM,
            RequestedBy::Hangup | RequestedBy::User => return AfterSignal::Leaves,
        };
        match self.started {
            // Whoever ends what they have started means the run.
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

fn send_orders(mut poster: Poster, screen: Option<u64>, orders: &Receiver<Order>, shared: &Shared) {
    let screen = screen.map(|screen| format!("?screen={screen}")).unwrap_or_default();
    while let Ok(order) = orders.recv() {
        let (path, content_type, body) = match order {
            Order::Command(command) => {
                let body = serde_json::to_vec(&command).expect("commands have no failing serialisers");
                ("/commands", "application/json", body)
            }
            Order::Type(bytes) => ("/terminal/input", "application/octet-stream", bytes),
            Order::Resize(Size { cols, rows }) => {
                let body = json!({ "cols": cols, "rows": rows }).to_string().into_bytes();
                ("/terminal/size", "application/json", body)
            }
        };
        let answered = poster.post(&format!("{path}{screen}"), content_type, &body);
        let refusal = match answered {
            Ok(answered) if answered.status < 400 => continue,
            Ok(answered) => refusal(&answered.body),
            Err(error) => format!("the loop does not answer: {error}"),
        };
        shared.wake(Some(refusal));
    }
}

/// Why an order was not taken, as its answer says.
fn refusal(body: &[u8]) -> String {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let detail = problem.get("detail").or_else(|| problem.get("title"));
    let detail = detail.and_then(Value::as_str);
    detail.unwrap_or("the loop did not take it").to_owned()
}
