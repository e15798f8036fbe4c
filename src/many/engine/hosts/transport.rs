//! Reaches `ralph __node` on a host, by the command of the manifest.

use std::{
    fmt,
    fs::File,
    io::{self, Read, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use ralph_system::proc::{
    Supervisor,
    helper::{Helper, HelperError, PipedHelper},
};
use ralph_text::{one_line, with_causes};
use serde::Serialize;

use super::{
    super::{
        super::node::{GREETING, LINE_CAP_BYTES, NodeReply, NodeRequest, VERSION},
        manifest::EnginePlaceholder,
    },
    HostsManifest,
};

/// Most bytes that a shell may print before ralph does.
const NOISE_BYTES: usize = 64 << 10;
/// How long a program that reaches a host may take to end once its output has ended.
const ENDING: Duration = Duration::from_secs(5);
/// How long commits may stand still on their way, and a node may take to read or to write them.
pub(super) const CARRYING: Duration = Duration::from_secs(600);
/// The exit code of ssh if it does not reach the host.
const NOT_REACHED: i32 = 255;
/// Exit codes of a shell that finds no program, or one that it cannot run.
const NO_PROGRAM: [i32; 2] = [126, 127];
/// Most characters of a message that are repeated.
const REPEATED: usize = 200;

/// Reaches the hosts of one engine.
#[derive(Debug, Clone)]
pub(super) struct NodeTransport {
    pub(super) manifest: Arc<HostsManifest>,
    pub(super) supervisor: Supervisor,
}

/// Why a host did not do what it was asked to; each a clause with the engine as its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeFailure {
    /// No ralph of this version has answered, so nothing was done.
    NotReady { why: String },
    /// The connection was lost; the host may have done it.
    Lost { why: String },
    /// The host has refused.
    Refused { why: String },
}

impl fmt::Display for NodeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (NodeFailure::NotReady { why } | NodeFailure::Lost { why } | NodeFailure::Refused { why }) = self;
        f.write_str(why)
    }
}

impl NodeTransport {
    pub(super) fn new(manifest: Arc<HostsManifest>, supervisor: Supervisor) -> NodeTransport {
        NodeTransport { manifest, supervisor }
    }

    /// Sends a request whose only reply is that it was done.
    pub(super) fn ask(&self, host: &str, request: &NodeRequest) -> Result<(), NodeFailure> {
        let mut conversation = self.open(host, request)?;
        match conversation.reply(CARRYING)? {
            NodeReply::Done => Ok(()),
            other => Err(conversation.unexpected(&other)),
        }
    }

    /// Sends a request, and waits for the greeting of the host.
    pub(super) fn open(&self, host: &str, request: &NodeRequest) -> Result<NodeConversation, NodeFailure> {
        let helper = self.helper(host);
        let not_ready = |why: String| NodeFailure::NotReady { why };
        let started = helper.start().map_err(|error| match error {
            HelperError::Start(error) => not_ready(format!("cannot reach {host}: {error}")),
            error @ (HelperError::TimedOut { .. } | HelperError::GuardLost) => {
                not_ready(format!("cannot reach {host}: {}", with_causes(&error)))
            }
        });
        let mut conversation = NodeConversation {
            host: host.to_owned(),
            helper: started?,
            received: Vec::new(),
        };
        // A host that does not read has not greeted either, which is the better message.
        _ = conversation.send(request, self.manifest.timeout);
        conversation.greet(self.manifest.timeout)?;
        Ok(conversation)
    }

    fn helper(&self, host: &str) -> Helper {
        let mut line: String = self.manifest.setup.iter().map(|line| format!("{line}\n")).collect();
        line.push_str(&format!("exec {} __node", quoted(&self.manifest.ralph)));
        // The user's shell on the host may be another one than `sh`.
        let line = format!("exec sh -c {}", quoted(&line));
        let mut words: Vec<String> = Vec::new();
        for word in &self.manifest.command {
            match word.whole() {
                Some(EnginePlaceholder::Args) => words.extend(self.manifest.args.iter().cloned()),
                _ => words.extend(word.fill(|slot| match slot {
                    EnginePlaceholder::Host => Some(host.to_owned()),
                    EnginePlaceholder::Command => Some(line.clone()),
                    _ => None,
                })),
            }
        }
        let program = words.first().cloned().unwrap_or_default();
        // Unguarded: a transport within this machine leaves the job behind, which is to go on.
        self.supervisor.helper(program).args(words.iter().skip(1)).unguarded()
    }
}

/// Quotes a text for `sh`.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A connection with the node on a host, which answers one request.
pub(super) struct NodeConversation {
    host: String,
    pub(super) helper: PipedHelper,
    /// Bytes that were received and not used yet.
    received: Vec<u8>,
}

impl NodeConversation {
    fn send(&mut self, message: &impl Serialize, patience: Duration) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.helper.write_all(&line, patience)
    }

    /// Sends a message of a request that is being carried out.
    pub(super) fn tell(&mut self, message: &impl Serialize) -> Result<(), NodeFailure> {
        let sent = self.send(message, CARRYING);
        sent.map_err(|error| self.lost(&error))
    }

    /// Sends a file.
    pub(super) fn send_file(&mut self, file: &mut File) -> Result<(), NodeFailure> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let length = file.read(&mut buffer).map_err(|error| NodeFailure::Refused {
                why: format!("cannot read the commits for {}: {error}", self.host),
            })?;
            if length == 0 {
                return Ok(());
            }
            self.send_part(&buffer[..length])?;
        }
    }

    fn send_part(&mut self, mut part: &[u8]) -> Result<(), NodeFailure> {
        let until = Instant::now() + CARRYING;
        while !part.is_empty() {
            let error = match self.helper.write(part, ENDING) {
                Ok(written) => {
                    part = &part[written..];
                    continue;
                }
                Err(error) => error,
            };
            // A node that refuses stops reading: what it says is the reason.
            match self.reply_within(Duration::ZERO)? {
                Some(other) => return Err(self.unexpected(&other)),
                None if error.kind() == io::ErrorKind::TimedOut && Instant::now() < until => {}
                None => return Err(self.lost(&error)),
            }
        }
        Ok(())
    }

    fn greet(&mut self, patience: Duration) -> Result<(), NodeFailure> {
        let until = Instant::now() + patience;
        let mut noise = 0;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = match self.line(left) {
                Ok(Some(line)) => line,
                Ok(None) => return Err(self.not_ready()),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    let why = format!("does not reach {} within {} s", self.host, patience.as_secs());
                    return Err(NodeFailure::NotReady { why });
                }
                Err(error) => return Err(self.lost(&error)),
            };
            noise += line.len();
            let text = String::from_utf8_lossy(&line).into_owned();
            match text.trim_end().strip_prefix(GREETING) {
                Some(VERSION) => return Ok(()),
                Some(other) => {
                    let why = format!(
                        "cannot use {}: it has ralph {}, and this is {VERSION}; install the same version on both",
                        self.host,
                        clipped(other)
                    );
                    return Err(NodeFailure::NotReady { why });
                }
                None if noise > NOISE_BYTES => return Err(self.not_ready()),
                None => {}
            }
        }
    }

    /// Returns why no ralph has answered.
    fn not_ready(&mut self) -> NodeFailure {
        let (status, said) = self.end();
        let host = &self.host;
        let code = status.and_then(|status| status.code());
        let why = match code {
            Some(code) if NO_PROGRAM.contains(&code) => {
                format!("finds no ralph on {host}: {said}; install ralph {VERSION} there, or set `node.ralph`")
            }
            Some(NOT_REACHED) | None => format!("does not reach {host}: {said}"),
            Some(code) => format!("gets no answer of ralph {VERSION} from {host}: {said} (exit code {code})"),
        };
        NodeFailure::NotReady { why }
    }

    fn end(&mut self) -> (Option<std::process::ExitStatus>, String) {
        self.helper.close_stdin();
        let status = self.helper.wait(ENDING);
        let errors = self.helper.errors();
        let said = errors.lines().map(str::trim).rfind(|line| !line.is_empty());
        let said = said.map_or_else(|| "nothing was said".to_owned(), clipped);
        (status, said)
    }

    fn lost(&mut self, error: &io::Error) -> NodeFailure {
        let (_, said) = self.end();
        let why = match self.helper.errors().trim().is_empty() {
            true => format!("has lost the connection with {}: {error}", self.host),
            false => format!("has lost the connection with {}: {said}", self.host),
        };
        NodeFailure::Lost { why }
    }

    pub(super) fn unexpected(&self, reply: &NodeReply) -> NodeFailure {
        let why = match reply {
            NodeReply::Refused { why } => format!("was refused by {}: {}", self.host, clipped(why)),
            other => format!(
                "got an unexpected reply from {}: {}",
                self.host,
                clipped(&format!("{other:?}"))
            ),
        };
        NodeFailure::Refused { why }
    }

    /// Returns the next reply.
    pub(super) fn reply(&mut self, patience: Duration) -> Result<NodeReply, NodeFailure> {
        let line = match self.line(patience) {
            Ok(Some(line)) => line,
            Ok(None) => return Err(self.lost(&io::ErrorKind::UnexpectedEof.into())),
            Err(error) => return Err(self.lost(&error)),
        };
        self.parsed(&line)
    }

    /// Returns the next reply if one comes within `patience`.
    pub(super) fn reply_within(&mut self, patience: Duration) -> Result<Option<NodeReply>, NodeFailure> {
        match self.line(patience) {
            Ok(Some(line)) => self.parsed(&line).map(Some),
            Ok(None) => Err(self.lost(&io::ErrorKind::UnexpectedEof.into())),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
            Err(error) => Err(self.lost(&error)),
        }
    }

    fn parsed(&self, line: &[u8]) -> Result<NodeReply, NodeFailure> {
        match serde_json::from_slice(line) {
            Ok(refused @ NodeReply::Refused { .. }) => Err(self.unexpected(&refused)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(NodeFailure::Lost {
                why: format!("does not understand what {} says: {error}", self.host),
            }),
        }
    }

    /// Reads a line with its end. `None` at the end of the output.
    fn line(&mut self, patience: Duration) -> io::Result<Option<Vec<u8>>> {
        let until = Instant::now() + patience;
        let mut searched = 0;
        loop {
            if let Some(at) = self.received[searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.received.split_off(searched + at + 1);
                return Ok(Some(std::mem::replace(&mut self.received, rest)));
            }
            searched = self.received.len();
            if searched > LINE_CAP_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without an end"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if self.fill(left)? == 0 {
                return Ok(None);
            }
        }
    }

    fn fill(&mut self, patience: Duration) -> io::Result<usize> {
        let mut buffer = [0; 64 << 10];
        let length = self.helper.read(&mut buffer, patience)?;
        self.received.extend_from_slice(&buffer[..length]);
        Ok(length)
    }

    /// Passes `bytes` bytes on to `sink`. What was received stays with `sink` if the connection is lost.
    pub(super) fn receive(&mut self, mut bytes: u64, sink: &mut dyn Write) -> Result<(), NodeFailure> {
        while bytes > 0 {
            if self.received.is_empty() {
                match self.fill(CARRYING) {
                    Ok(0) => return Err(self.lost(&io::ErrorKind::UnexpectedEof.into())),
                    Ok(_) => {}
                    Err(error) => return Err(self.lost(&error)),
                }
            }
            let length = self.received.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
            let written = sink.write_all(&self.received[..length]);
            written.map_err(|error| NodeFailure::Refused {
                why: format!("cannot store what came from {}: {error}", self.host),
            })?;
            self.received.drain(..length);
            bytes -= length as u64;
        }
        Ok(())
    }

    /// Returns the bytes that were received and not used, and the helper itself.
    pub(super) fn into_stream(self) -> (Vec<u8>, PipedHelper) {
        (self.received, self.helper)
    }
}

fn clipped(text: &str) -> String {
    let text = one_line(text.trim()).replace('`', "'");
    match text.char_indices().nth(REPEATED) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
