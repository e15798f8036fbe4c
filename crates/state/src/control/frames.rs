//! The frames of `/stream`: the events of a run for a screen in another process.
//!
//! Stop 10 of the tour in ARCHITECTURE.md.
//!
//! A frame consists of one byte for its kind, the length of its payload (four bytes, big-endian), and the payload.
//! Output of an agent's terminal is passed unchanged. A reader skips kinds that it does not know: a loop may be newer
//! than the screen that shows it.

use std::sync::Arc;

use ralph_core::event::{AgentSignal, Record, RunId};
use ralph_system::proc::Size;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;

/// Bytes of kind and length.
const HEAD_BYTES: usize = 5;
/// Most bytes of a payload. Longer ones are not ralph's: records and the terminal output between two looks are far
/// smaller.
const PAYLOAD_CAP_BYTES: usize = 32 << 20;

/// An event for a user interface; events come in the order in which they happened.
#[derive(Debug, Clone, PartialEq)]
pub enum UiEvent {
    Record(Arc<Record>),
    /// Bytes of the agent's terminal.
    Output(Vec<u8>),
    /// The agent's terminal has another size from here on. Within a live run's process, the user interface chooses it.
    Resized(Size),
    /// A signal of the agent that the journal does not keep.
    Detail(Box<SignalDetail>),
    /// This much output was left out because the subscriber did not keep up.
    Skipped {
        bytes: u64,
    },
}

/// The result of a wait for the next event.
#[derive(Debug, Clone, PartialEq)]
pub enum PollResult {
    Event(UiEvent),
    /// The time is up, or another thread ended the wait.
    Woken,
    /// The loop is over and everything was taken.
    Over,
}

/// Polls until an event comes; `None` if the loop is over and everything was taken.
pub fn next_event(mut poll: impl FnMut() -> PollResult) -> Option<UiEvent> {
    loop {
        match poll() {
            PollResult::Event(event) => return Some(event),
            PollResult::Woken => {}
            PollResult::Over => return None,
        }
    }
}

/// One item of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// Facts that a screen needs about the run; always the first frame.
    Hello(Box<Hello>),
    Event(UiEvent),
    /// A keep-alive, sent when nothing has happened for a while.
    Alive,
    /// The run's process ends with this exit code; always the last frame.
    End {
        exit_code: Option<u8>,
    },
}

/// A run, and the screen that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    pub run: RunId,
    pub pid: u32,
    /// The first record that is sent. Earlier ones are in the journal.
    pub first: u64,
    /// The number that identifies the screen in its requests; `None` for a stream that is not a screen.
    pub screen: Option<u64>,
    #[serde(default)]
    pub show: Show,
}

/// The run's settings for screens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Show {
    /// Adapters whose agents draw their terminal themselves; the display of other agents is made from their signals.
    pub terminals: Vec<String>,
    /// How the terminal notifies a user who looks elsewhere.
    pub notify: Signalling,
    /// Patterns of ignored files that checkpoints include all the same.
    pub include: Vec<String>,
}

/// The facts that screens need about the run they show.
#[derive(Debug, Clone)]
pub struct ScreenFacts {
    pub run: RunId,
    pub show: Show,
    /// Whether the loop's own process has a screen.
    pub here: bool,
}

/// How a terminal asks for attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signalling {
    #[default]
    None,
    Bell,
    Osc9,
}

/// A signal that is shown but not recorded: a subscriber that lags misses it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignalDetail {
    pub at_ms: u64,
    pub iteration: u32,
    pub signal: AgentSignal,
    /// Number of details before it that were left out because the subscriber did not keep up.
    pub missed: u64,
}

#[derive(Debug, Error)]
pub enum FrameError {
    #[error("a frame of {bytes} bytes is not one of ralph's")]
    TooLong { bytes: usize },
    #[error("a frame of kind {kind} cannot be read")]
    Garbled { kind: u8, source: serde_json::Error },
    #[error("a frame of kind {kind} has {bytes} bytes")]
    Length { kind: u8, bytes: usize },
}

/// The kinds. The number of a removed kind is never reused.
mod kind {
    pub(super) const HELLO: u8 = 1;
    pub(super) const RECORD: u8 = 2;
    pub(super) const DETAIL: u8 = 3;
    pub(super) const OUTPUT: u8 = 4;
    pub(super) const SKIPPED: u8 = 5;
    pub(super) const RESIZED: u8 = 6;
    pub(super) const ALIVE: u8 = 7;
    pub(super) const END: u8 = 8;
}

impl Frame {
    /// Appends the encoded frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Frame::Hello(hello) => put_json(kind::HELLO, hello, out),
            Frame::Event(UiEvent::Record(record)) => put_json(kind::RECORD, record.as_ref(), out),
            Frame::Event(UiEvent::Detail(detail)) => put_json(kind::DETAIL, detail, out),
            Frame::Event(UiEvent::Output(bytes)) => put(kind::OUTPUT, bytes, out),
            Frame::Event(UiEvent::Skipped { bytes }) => put(kind::SKIPPED, &bytes.to_be_bytes(), out),
            Frame::Event(UiEvent::Resized(Size { cols, rows })) => {
                let ([a, b], [c, d]) = (cols.to_be_bytes(), rows.to_be_bytes());
                put(kind::RESIZED, &[a, b, c, d], out);
            }
            Frame::Alive => put(kind::ALIVE, &[], out),
            Frame::End { exit_code } => put(kind::END, exit_code.as_slice(), out),
        }
    }

    /// Decodes a payload; `None` for a kind that this ralph does not know.
    fn decode(kind: u8, payload: &[u8]) -> Result<Option<Self>, FrameError> {
        let length = || FrameError::Length {
            kind,
            bytes: payload.len(),
        };
        Ok(Some(match kind {
            kind::HELLO => Frame::Hello(json(kind, payload)?),
            kind::RECORD => Frame::Event(UiEvent::Record(Arc::new(json(kind, payload)?))),
            // A signal that only a newer ralph knows is skipped.
            kind::DETAIL => match json(kind, payload) {
                Ok(detail) => Frame::Event(UiEvent::Detail(detail)),
                Err(_) => return Ok(None),
            },
            kind::OUTPUT => Frame::Event(UiEvent::Output(payload.to_vec())),
            kind::SKIPPED => Frame::Event(UiEvent::Skipped {
                bytes: u64::from_be_bytes(payload.try_into().map_err(|_| length())?),
            }),
            kind::RESIZED => {
                let [a, b, c, d] = payload.try_into().map_err(|_| length())?;
                Frame::Event(UiEvent::Resized(Size {
                    cols: u16::from_be_bytes([a, b]),
                    rows: u16::from_be_bytes([c, d]),
                }))
            }
            kind::ALIVE => Frame::Alive,
            kind::END => match payload {
                [] => Frame::End { exit_code: None },
                [code] => Frame::End { exit_code: Some(*code) },
                _ => return Err(length()),
            },
            _ => return Ok(None),
        }))
    }
}

fn put(kind: u8, payload: &[u8], out: &mut Vec<u8>) {
    // The reader refuses any payload above its cap, so the saturated length does no harm.
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    out.reserve(HEAD_BYTES + payload.len());
    out.push(kind);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(payload);
}

fn put_json(kind: u8, value: &impl Serialize, out: &mut Vec<u8>) {
    let payload = serde_json::to_vec(value).expect("frames have no failing serialisers");
    put(kind, &payload, out);
}

fn json<T: DeserializeOwned>(kind: u8, payload: &[u8]) -> Result<T, FrameError> {
    serde_json::from_slice(payload).map_err(|source| FrameError::Garbled { kind, source })
}

/// Decodes frames from bytes that arrive in pieces of any size.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    bytes: Vec<u8>,
    /// Number of bytes at the front that are already decoded.
    taken: usize,
}

impl FrameDecoder {
    pub fn push(&mut self, bytes: &[u8]) {
        // Decoded bytes are dropped first: the buffer holds one frame and one piece at most.
        self.bytes.drain(..std::mem::take(&mut self.taken));
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next complete frame, or `None` until more bytes arrive.
    ///
    /// # Errors
    /// [`FrameError`] if the bytes are not ralph's. The rest of the stream cannot be decoded then.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            let left = &self.bytes[self.taken..];
            let Some((&[kind, a, b, c, d], rest)) = left.split_first_chunk::<HEAD_BYTES>() else {
                return Ok(None);
            };
            let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
            if length > PAYLOAD_CAP_BYTES {
                return Err(FrameError::TooLong { bytes: length });
            }
            let Some(payload) = rest.get(..length) else {
                return Ok(None);
            };
            self.taken += HEAD_BYTES + length;
            if let Some(frame) = Frame::decode(kind, payload)? {
                return Ok(Some(frame));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{Event, Notice};

    fn all_kinds() -> Vec<Frame> {
        vec![
            Frame::Hello(Box::new(Hello {
                run: RunId("r".to_owned()),
                pid: 7,
                first: 3,
                screen: Some(1),
                show: Show {
                    terminals: vec!["aider".to_owned()],
                    notify: Signalling::Osc9,
                    include: vec!["*.o".to_owned()],
                },
            })),
            Frame::Event(UiEvent::Record(Arc::new(Record {
                seq: 3,
                at_ms: 1,
                event: Event::Noticed {
                    notice: Notice::info("nothing-to-do", "nothing to do"),
                },
            }))),
            Frame::Event(UiEvent::Detail(Box::new(SignalDetail {
                at_ms: 2,
                iteration: 1,
                signal: AgentSignal::Said {
                    text: "hello".to_owned(),
                },
                missed: 4,
            }))),
            Frame::Event(UiEvent::Output((0..=u8::MAX).collect())),
            Frame::Event(UiEvent::Output(Vec::new())),
            Frame::Event(UiEvent::Skipped { bytes: u64::MAX }),
            Frame::Event(UiEvent::Resized(Size { cols: 300, rows: 24 })),
            Frame::Alive,
            Frame::End { exit_code: None },
            Frame::End { exit_code: Some(143) },
        ]
    }

    fn encoded(frames: &[Frame]) -> Vec<u8> {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        bytes
    }

    fn taken(decoder: &mut FrameDecoder) -> Vec<Frame> {
        std::iter::from_fn(|| decoder.next_frame().unwrap()).collect()
    }

    #[test]
    fn frames_arrive_as_they_were_sent_wherever_the_bytes_are_cut() {
        let frames = all_kinds();
        let bytes = encoded(&frames);
        for cut in 0..=bytes.len() {
            let mut decoder = FrameDecoder::default();
            decoder.push(&bytes[..cut]);
            let mut got = taken(&mut decoder);
            decoder.push(&bytes[cut..]);
            got.extend(taken(&mut decoder));
            assert_eq!(got, frames, "cut at {cut}");
        }
        let mut decoder = FrameDecoder::default();
        let mut got = Vec::new();
        for byte in bytes {
            decoder.push(&[byte]);
            got.extend(taken(&mut decoder));
        }
        assert_eq!(got, frames, "byte by byte");
    }

    #[test]
    fn a_kind_of_a_newer_ralph_is_passed_over() {
        let mut bytes = Vec::new();
        put(200, b"whatever it means", &mut bytes);
        put(kind::DETAIL, b"{\"signal\":{\"type\":\"unheard-of\"}}", &mut bytes);
        Frame::Alive.encode(&mut bytes);
        let mut decoder = FrameDecoder::default();
        decoder.push(&bytes);
        assert_eq!(taken(&mut decoder), [Frame::Alive]);
    }

    #[test]
    fn what_is_no_frame_is_refused_before_it_is_waited_for() {
        for (bytes, expected) in [
            (&b"HTTP/1.1 200 OK"[..], "is not one of ralph's"),
            (&[2, 0, 0, 0, 1, b'{'], "cannot be read"),
            (&[6, 0, 0, 0, 1, 0], "has 1 bytes"),
            (&[8, 0, 0, 0, 2, 0, 0], "has 2 bytes"),
        ] {
            let mut decoder = FrameDecoder::default();
            decoder.push(bytes);
            let error = decoder.next_frame().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
