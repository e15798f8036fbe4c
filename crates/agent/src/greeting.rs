//! Whether the installed version of an agent has the live channel that its adapter names, found out before a run that cannot do
//! without it: the agent is greeted as in a session, and ended as soon as it has answered.
//!
//! Starting an agent takes up to seconds, so an answer is remembered for the program as it is installed.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    time::{Duration, Instant},
};

use jiff::tz::TimeZone;
use ralph_core::event::{ProblemKind, RunId};
use ralph_system::proc::{Child, End, Launch, Output, Size, Stop, Supervisor};
use ralph_text::{Keep, PlainText, one_line};

use super::{
    Display, SessionRequest,
    dialect::{Clock, Tail, classify},
    invocation,
    manifest::{Live, Manifest},
};

/// How long an answer is waited for. A later one is left to the first session.
const DEADLINE: Duration = Duration::from_secs(20);
/// Most bytes of an answer.
const ANSWER_CAP_BYTES: usize = 4 << 20;

/// Finds out whether the agent answers on its live channel, with what makes it ask if it `asks`.
///
/// # Errors
/// Why it has none, in its own words. Where nothing can be said, it may have one.
pub fn answers(
    manifest: &Manifest,
    live: &Live,
    asks: bool,
    project: &Path,
    supervisor: &Supervisor,
) -> Result<(), String> {
    let Ok(scratch) = tempfile::tempdir() else {
        return Ok(());
    };
    let prompt = scratch.path().join("prompt.md");
    let asking = live.asking.file.as_ref().filter(|_| asks);
    let written = asking.map_or(Ok(()), |text| fs::write(invocation::asking_file(scratch.path()), text));
    let request = SessionRequest {
        run: RunId(format!("greeting-{}", std::process::id())),
        iteration: 0,
        prompt: prompt.clone(),
        cwd: project.to_owned(),
        model: None,
        agent: None,
        resume: None,
        size: Size { cols: 80, rows: 24 },
        asks,
        one_way: false,
        env: Vec::new(),
        scratch: scratch.path().to_owned(),
        display: Box::new(Nobody),
    };
    // What cannot be started at all is told by the first session.
    let (Ok(launch), Ok(()), Ok(())) = (
        invocation::launch(manifest, &request, Some(live), &[]),
        written,
        fs::write(&prompt, ""),
    ) else {
        return Ok(());
    };
    let known = known(&launch, scratch.path());
    if known.as_ref().is_some_and(|known| known.exists()) {
        return Ok(());
    }
    greet(live, launch, supervisor)?;
    if let Some(known) = known {
        let directory = known.parent().unwrap_or(&known);
        // Without a place to remember it, the agent is asked again next time.
        _ = fs::create_dir_all(directory).and_then(|()| fs::write(&known, ""));
    }
    Ok(())
}

/// What is there once the program has answered, as it is installed now.
fn known(launch: &Launch, scratch: &Path) -> Option<PathBuf> {
    let found = fs::metadata(&launch.program).ok()?;
    let mut hasher = DefaultHasher::new();
    (&launch.program, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    let scratch = scratch.to_string_lossy();
    for arg in &launch.args {
        arg.to_string_lossy().replace(&*scratch, "").hash(&mut hasher);
    }
    (found.dev(), found.ino(), found.size()).hash(&mut hasher);
    (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()).hash(&mut hasher);
    let name = format!("{:016x}", hasher.finish());
    Some(dirs::cache_dir()?.join("ralph").join("live").join(name))
}

/// Starts the agent, greets it, and ends it when it has answered or not.
fn greet(live: &Live, launch: Launch, supervisor: &Supervisor) -> Result<(), String> {
    let (sender, heard) = mpsc::channel();
    let Ok(child) = supervisor.spawn(launch, Box::new(Listener(sender))) else {
        return Ok(());
    };
    // What is not taken is not answered.
    _ = child.write_input(&live.protocol.greeting());
    let until = Instant::now() + DEADLINE;
    let (mut answer, mut tail) = (Vec::new(), Tail::default());
    let mut plain = PlainText::new(Keep::Nothing);
    let found = loop {
        match heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Heard::Stdout(bytes)) => {
                answer.extend(bytes);
                if let Some(found) = live.protocol.answer(&answer) {
                    break found;
                }
                if answer.len() > ANSWER_CAP_BYTES {
                    break Ok(());
                }
            }
            Ok(Heard::Terminal(bytes)) => plain.feed(&bytes, |line| tail.push(line)),
            Ok(Heard::Exited) => {
                plain.finish(|line| tail.push(line));
                break lacking(&tail.text());
            }
            Ok(Heard::Lost) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break Ok(()),
        }
    };
    end(&child, &heard);
    found
}

/// What the last words of an agent that has ended instead of an answer mean: it has no such channel, unless they tell of
/// something else, which the first session will meet as well.
fn lacking(said: &str) -> Result<(), String> {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let Some(last) = last else {
        return Err("it ended without a word".to_owned());
    };
    // Of times in it nobody wants to know.
    let clock = Clock {
        now_ms: 0,
        zone: TimeZone::UTC,
        named: |_| None,
    };
    match classify(said, &clock).kind {
        ProblemKind::Usage | ProblemKind::Crashed | ProblemKind::Other => Err(one_line(last)),
        _ => Ok(()),
    }
}

/// Ends the agent, and waits until it has ended: its files are removed next.
fn end(child: &Child, heard: &mpsc::Receiver<Heard>) {
    child.stop(Stop::Immediate);
    while let Ok(Heard::Stdout(_) | Heard::Terminal(_)) = heard.recv_timeout(DEADLINE) {}
}

/// What is heard of the agent.
enum Heard {
    Stdout(Vec<u8>),
    Terminal(Vec<u8>),
    /// It has ended by itself.
    Exited,
    /// It was not started, or somebody has ended it.
    Lost,
}

struct Listener(Sender<Heard>);

impl Output for Listener {
    fn terminal(&mut self, bytes: &[u8]) {
        _ = self.0.send(Heard::Terminal(bytes.to_vec())); // it was heard enough
    }

    fn stdout(&mut self, bytes: &[u8]) {
        _ = self.0.send(Heard::Stdout(bytes.to_vec())); // it was heard enough
    }

    fn ended(&mut self, end: End) {
        let heard = match end {
            End::Exited(_) => Heard::Exited,
            End::NotStarted { .. } | End::GuardLost => Heard::Lost,
        };
        _ = self.0.send(heard); // it was heard enough
    }
}

struct Nobody;

impl Display for Nobody {
    fn show(&mut self, _: &[u8]) {}
}
