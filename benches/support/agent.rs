//! The agents: a bench's own executable, started again with a hidden argument, and their log.

use std::{
    env,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    process::{Command, exit},
    str::FromStr,
    time::{Duration, Instant},
};

use super::now_ns;

/// The argument that makes a bench an agent.
pub const MARK: &str = "__bench-agent";

/// The beginning of the line that an agent changes.
const CHANGED: &str = "changed at";

/// The work of an agent between its start and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    Nothing,
    /// Changes a file.
    Edit,
    /// Changes a file and commits it.
    Commit,
    /// Ticks the next task of the plan and commits it.
    Tick,
    /// Writes so many bytes of coloured text as agents print it.
    Colours(u64),
    /// Writes so many bytes of coloured text in which the cursor moves up at times, as with progress bars.
    Moves(u64),
    /// Writes so many bytes of the shortest lines.
    Lines(u64),
    /// Writes so many bytes of messages, one JSON object a line.
    Messages(u64),
    /// Writes messages for so many seconds.
    Talk(u64),
}

impl Script {
    pub fn args(self) -> Vec<String> {
        let (name, bytes) = match self {
            Script::Nothing => ("nothing", 0),
            Script::Edit => ("edit", 0),
            Script::Commit => ("commit", 0),
            Script::Tick => ("tick", 0),
            Script::Colours(bytes) => ("colours", bytes),
            Script::Moves(bytes) => ("moves", bytes),
            Script::Lines(bytes) => ("lines", bytes),
            Script::Messages(bytes) => ("messages", bytes),
            Script::Talk(seconds) => ("talk", seconds),
        };
        vec![name.to_owned(), bytes.to_string()]
    }

    fn of(args: &[String]) -> Option<Script> {
        let [name, bytes] = args else { return None };
        let bytes = u64::from_str(bytes).ok()?;
        Some(match name.as_str() {
            "nothing" => Script::Nothing,
            "edit" => Script::Edit,
            "commit" => Script::Commit,
            "tick" => Script::Tick,
            "colours" => Script::Colours(bytes),
            "moves" => Script::Moves(bytes),
            "lines" => Script::Lines(bytes),
            "messages" => Script::Messages(bytes),
            "talk" => Script::Talk(bytes),
            _ => return None,
        })
    }
}

/// Returns a command that runs `script` without ralph.
pub fn alone(script: Script, log: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("the bench's own path"));
    command.arg(MARK).arg(log).args(script.args());
    command
}

/// Turns this process into the agent if it was started as one; it does not return then.
pub fn become_agent_if_asked() {
    let start = now_ns();
    let args: Vec<String> = env::args().skip(1).collect();
    let Some((mark, args)) = args.split_first() else { return };
    if mark != MARK {
        return;
    }
    let (log, script) = args.split_first().expect("a log and a script");
    let script = Script::of(script).expect("a known script");
    let mut log = File::options()
        .append(true)
        .create(true)
        .open(log)
        .expect("the agent's log");
    writeln!(log, "start {start}").expect("the agent's log");
    act(script).expect("what the agent does");
    // Read by the agent, because ralph may be gone afterwards.
    if let Some(peak) = peak_of_ralph() {
        writeln!(log, "peak {peak}").expect("the agent's log");
    }
    writeln!(log, "end {}", now_ns()).expect("the agent's log");
    exit(0);
}

fn act(script: Script) -> io::Result<()> {
    match script {
        Script::Nothing => Ok(()),
        Script::Edit => edit(),
        Script::Commit => {
            edit()?;
            commit()
        }
        Script::Tick => {
            let plan = fs::read_to_string("PLAN.md")?;
            fs::write("PLAN.md", plan.replacen("[ ]", "[x]", 1))?;
            commit()
        }
        Script::Colours(bytes) => flood(&coloured_text(), bytes),
        Script::Moves(bytes) => flood(&coloured_text().replace("thinking…", "\x1b[A\x1b[Bthinking…"), bytes),
        Script::Lines(bytes) => flood(&"y\n".repeat(32 * 1024), bytes),
        Script::Messages(bytes) => flood(&messages(), bytes),
        Script::Talk(seconds) => {
            let (block, start) = (messages(), Instant::now());
            while start.elapsed() < Duration::from_secs(seconds) {
                flood(&block, block.len() as u64)?;
            }
            Ok(())
        }
    }
}

fn edit() -> io::Result<()> {
    let path = "src/module000/file00001.txt";
    let text = fs::read_to_string(path)?;
    // The file stays as long as it is: what grows in a long run is not the agent's.
    let mut text: String = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with(CHANGED))
        .collect();
    writeln!(text, "{CHANGED} {}", now_ns()).expect("a string takes everything");
    fs::write(path, text)
}

fn commit() -> io::Result<()> {
    let message = format!("Change {}", now_ns());
    let status = Command::new("git")
        .args(["commit", "--all", "--quiet", "--message", &message])
        .status()?;
    assert!(status.success(), "git commit");
    Ok(())
}

fn flood(block: &str, bytes: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut left = bytes;
    while left > 0 {
        let length = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        out.write_all(&block.as_bytes()[..length])?;
        left -= length as u64;
    }
    out.flush()
}

/// Returns some hundred kilobytes of typical agent output: coloured diffs, headings, progress, a link, wide
/// characters.
fn coloured_text() -> String {
    let mut text = String::new();
    for number in 0..2000 {
        let line = match number % 10 {
            0 => format!("\x1b[1;36m● Edit\x1b[0m \x1b[2msrc/module{number:03}/file.rs\x1b[0m\n"),
            1 | 2 => {
                format!("\x1b[38;2;63;185;80;48;2;18;38;30m+    let value = compute({number}, &mut state)?;\x1b[0m\n")
            }
            3 => format!("\x1b[38;2;248;81;73;48;2;45;18;22m-    let value = compute_old({number});\x1b[0m\n"),
            4 => format!("\r\x1b[2K\x1b[33m⠋\x1b[0m thinking… {number}\r\x1b[2K\x1b[33m⠙\x1b[0m thinking… {number}\n"),
            5 => format!("  see \x1b]8;;https://example.invalid/{number}\x1b\\the page\x1b]8;;\x1b\\ 日本語 🦀\n"),
            6 => format!("\x1b[32m✔\x1b[0m test result: ok. {number} passed; 0 failed; finished in 0.{number}s\n"),
            _ => format!("The quick brown fox jumps over the lazy dog and writes line {number} of this text.\n"),
        };
        text.push_str(&line);
    }
    text
}

fn messages() -> String {
    let body = "Changed the parser so that it keeps the position of every token. ".repeat(6);
    (0..500).fold(String::new(), |mut text, number| {
        writeln!(text, "{{\"type\":\"said\",\"text\":\"{number}: {body}\"}}").expect("a string takes everything");
        text
    })
}

/// Returns the peak memory of ralph so far, in KiB. ralph is the parent of the guard, which is the parent of this
/// agent.
fn peak_of_ralph() -> Option<u64> {
    let guard = field(&fs::read_to_string("/proc/self/status").ok()?, "PPid:")?;
    let ralph = field(&fs::read_to_string(format!("/proc/{guard}/status")).ok()?, "PPid:")?;
    field(&fs::read_to_string(format!("/proc/{ralph}/status")).ok()?, "VmHWM:")
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The log of an agent: start and end of each session, and ralph's peak memory.
#[derive(Debug, Default)]
pub struct Log {
    /// Nanoseconds on the wall clock.
    pub starts: Vec<u64>,
    pub ends: Vec<u64>,
    /// Bytes.
    pub peaks: Vec<u64>,
}

impl Log {
    pub fn read(path: &Path) -> Log {
        let mut log = Log::default();
        // The log does not exist before the first session.
        for line in fs::read_to_string(path).unwrap_or_default().lines() {
            let (what, number) = line.split_once(' ').expect("two words a line");
            let number = number.parse().expect("a number");
            match what {
                "start" => log.starts.push(number),
                "end" => log.ends.push(number),
                "peak" => log.peaks.push(number * 1024),
                _ => panic!("{line}: not a line of an agent's log"),
            }
        }
        log
    }

    /// Returns the entries that were written after `earlier` was read.
    #[must_use]
    pub fn after(mut self, earlier: &Log) -> Log {
        self.starts.drain(..earlier.starts.len());
        self.ends.drain(..earlier.ends.len());
        self.peaks.drain(..earlier.peaks.len());
        self
    }

    /// Returns the times between the end of each session and the start of the next.
    pub fn gaps(&self) -> impl Iterator<Item = Duration> {
        let pairs = self.ends.iter().zip(self.starts.iter().skip(1));
        pairs.map(|(end, start)| Duration::from_nanos(start.saturating_sub(*end)))
    }
}
