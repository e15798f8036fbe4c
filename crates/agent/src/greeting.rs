//! Checks before a run that needs the live channel whether the installed agent supports the one its adapter names: the
//! agent is greeted as in a session, and ended as soon as it has answered.
//!
//! Starting an agent takes up to seconds, so a success is cached for the program as it is installed.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    time::{Duration, Instant},
};

use jiff::tz::TimeZone;
use ralph_core::event::{ProblemKind, RunId, SubagentLimits, ToolKinds};
use ralph_system::proc::{Child, ChildEnd, Launch, OutputSink, Size, StopSpeed, Supervisor};
use ralph_text::{KeptEscapes, PlainText, one_line};

use super::{
    Display, SessionRequest,
    dialect::{Tail, ZonedClock, classify},
    invocation,
    manifest::{LiveLaunch, Manifest},
};

/// How long to wait for an answer. A slower agent counts as able, and the first session finds out.
const DEADLINE: Duration = Duration::from_secs(20);
/// Most bytes of an answer that are read.
const ANSWER_CAP_BYTES: usize = 4 << 20;

/// Checks whether the agent answers on its live channel; with `asks`, with the arguments that make it ask for
/// permission. `scratch` is an empty directory that other agents cannot write to.
///
/// # Errors
/// The last words of the agent if it has no such channel. An inconclusive check is `Ok`.
pub fn answers(
    manifest: &Manifest,
    live: &LiveLaunch,
    asks: bool,
    project: &Path,
    scratch: &Path,
    supervisor: &Supervisor,
) -> Result<(), String> {
    let prompt = scratch.join("prompt.md");
    let asking = live.asking.file.as_ref().filter(|_| asks);
    let written = asking.map_or(Ok(()), |text| fs::write(invocation::asking_file(scratch), text));
    let request = SessionRequest {
        run: RunId(format!("greeting-{}", std::process::id())),
        iteration: 0,
        prompt: prompt.clone(),
        cwd: project.to_owned(),
        model: None,
        agent: None,
        resume: None,
        size: Size { cols: 80, rows: 24 },
        asks: if asks { ToolKinds::ALL } else { ToolKinds::NONE },
        subagents: SubagentLimits::default(),
        one_way: false,
        env: Vec::new(),
        scratch: scratch.to_owned(),
        display: Box::new(NullDisplay),
    };
    // An agent that cannot be started is reported by the first session.
    let (Ok(launch), Ok(()), Ok(())) = (
        invocation::launch(manifest, &request, Some(live), &[]),
        written,
        fs::write(&prompt, ""),
    ) else {
        return Ok(());
    };
    let known = known(&launch, scratch);
    if known.as_ref().is_some_and(|known| known.exists()) {
        return Ok(());
    }
    greet(live, launch, supervisor)?;
    if let Some(known) = known {
        let directory = known.parent().unwrap_or(&known);
        // If the result cannot be stored, the agent is asked again next time.
        _ = fs::create_dir_all(directory).and_then(|()| fs::write(&known, ""));
    }
    Ok(())
}

/// The path of the cache file that exists once the program, as it is installed now, has answered.
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

/// Starts the agent, greets it, and ends it after its answer or the deadline.
fn greet(live: &LiveLaunch, launch: Launch, supervisor: &Supervisor) -> Result<(), String> {
    let (sender, events) = mpsc::channel();
    let Ok(child) = supervisor.spawn(launch, Box::new(ProcessListener(sender))) else {
        return Ok(());
    };
    // If the agent does not read its input, it does not answer either.
    _ = child.write_input(&live.protocol.greeting());
    let until = Instant::now() + DEADLINE;
    let (mut answer, mut tail) = (Vec::new(), Tail::default());
    let mut plain = PlainText::new(KeptEscapes::Nothing);
    let found = loop {
        match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(ProcessEvent::Stdout(bytes)) => {
                answer.extend(bytes);
                if let Some(found) = live.protocol.answer(&answer) {
                    break found;
                }
                if answer.len() > ANSWER_CAP_BYTES {
                    break Ok(());
                }
            }
            Ok(ProcessEvent::Terminal(bytes)) => plain.feed(&bytes, |line| tail.push(line)),
            Ok(ProcessEvent::Exited) => {
                plain.finish(|line| tail.push(line));
                break lacking(&tail.text());
            }
            Ok(ProcessEvent::Lost) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break Ok(()),
        }
    };
    end(&child, &events);
    found
}

/// Judges an agent that ended without an answer by its last output: the channel is missing, unless the output tells of
/// another problem, which the first session will meet as well.
fn lacking(said: &str) -> Result<(), String> {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let Some(last) = last else {
        return Err("it exited without output".to_owned());
    };
    // The time of a limit is not used here.
    let clock = ZonedClock {
        now_ms: 0,
        zone: TimeZone::UTC,
        named: |_| None,
    };
    match classify(said, &clock).kind {
        ProblemKind::Usage | ProblemKind::Crashed | ProblemKind::Other => Err(one_line(last)),
        _ => Ok(()),
    }
}

/// Ends the agent and waits for its exit, since its files are removed next.
fn end(child: &Child, events: &mpsc::Receiver<ProcessEvent>) {
    child.stop(StopSpeed::Immediate);
    while let Ok(ProcessEvent::Stdout(_) | ProcessEvent::Terminal(_)) = events.recv_timeout(DEADLINE) {}
}

/// An event of the agent's process.
enum ProcessEvent {
    Stdout(Vec<u8>),
    Terminal(Vec<u8>),
    /// The agent ended by itself.
    Exited,
    /// The agent was not started, or its guard was killed.
    Lost,
}

struct ProcessListener(Sender<ProcessEvent>);

impl OutputSink for ProcessListener {
    fn terminal(&mut self, bytes: &[u8]) {
        _ = self.0.send(ProcessEvent::Terminal(bytes.to_vec())); // the greeting is already over
    }

    fn stdout(&mut self, bytes: &[u8]) {
        _ = self.0.send(ProcessEvent::Stdout(bytes.to_vec())); // the greeting is already over
    }

    fn ended(&mut self, end: ChildEnd) {
        let event = match end {
            ChildEnd::Exited(_) => ProcessEvent::Exited,
            ChildEnd::NotStarted { .. } | ChildEnd::Exceeded(_) | ChildEnd::GuardLost => ProcessEvent::Lost,
        };
        _ = self.0.send(event); // the greeting is already over
    }
}

struct NullDisplay;

impl Display for NullDisplay {
    fn show(&mut self, _: &[u8]) {}
}
