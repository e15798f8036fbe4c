//! Shell commands: each runs in its own process group, which ends with a timeout of the command or with the agent.
//!
//! A process that a command leaves in the background keeps running until the session ends; then the guard of the agent
//! ends it.

use std::{
    collections::VecDeque,
    io,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::AsyncReadExt,
    net::unix::pipe,
    process::{Child, Command},
    time::{Instant, timeout, timeout_at},
};

use super::outcome::ToolOutcome;

const TIMEOUT_SECONDS: u64 = 120;
const TIMEOUT_SECONDS_MOST: u64 = 1800;
/// How long a group may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait for further output that background processes may still write.
const REST: Duration = Duration::from_millis(200);
/// Most bytes of output that are kept from each end.
const END_CAP_BYTES: usize = 15_000;

#[derive(Debug)]
pub(in crate::native) struct Shell {
    command: String,
    timeout: Duration,
}

impl Shell {
    pub(super) fn new(command: String, seconds: Option<u64>) -> Self {
        let seconds = seconds.unwrap_or(TIMEOUT_SECONDS).clamp(1, TIMEOUT_SECONDS_MOST);
        Self {
            command,
            timeout: Duration::from_secs(seconds),
        }
    }

    /// Runs the command in `project` without the variables in `withheld`. Cancel safe: dropping the future ends its
    /// processes.
    pub(in crate::native) async fn carry_out(self, project: &Path, withheld: &[&str]) -> ToolOutcome {
        let wrong = |error: io::Error| format!("the command was not started: {error}");
        let (reader, writer) = io::pipe().map_err(wrong)?;
        let mut command = Command::new(if which::which("bash").is_ok() { "bash" } else { "sh" });
        command
            .arg("-c")
            .arg(&self.command)
            .current_dir(project)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(wrong)?)
            .stderr(writer)
            // No user is present for pagers and prompts.
            .envs([
                ("PAGER", "cat"),
                ("GIT_PAGER", "cat"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("TERM", "dumb"),
            ])
            .process_group(0);
        for name in withheld {
            command.env_remove(name);
        }
        let mut group = OwnedProcessGroup::new(command.spawn().map_err(wrong)?);
        // It holds the writing end of the pipe.
        drop(command);
        let mut output = pipe::Receiver::from_owned_fd(reader.into()).map_err(wrong)?;
        let mut kept = HeadAndTail::default();
        let deadline = Instant::now() + self.timeout;
        let status = timeout_at(deadline, group.ended(&mut output, &mut kept)).await;
        let said = match status {
            Ok(status) => status.map_err(|error| format!("the command was lost: {error}"))?,
            Err(_) => {
                group.end().await;
                _ = timeout(REST, kept.read(&mut output)).await;
                let seconds = self.timeout.as_secs();
                return Err(format!(
                    "{}\n[ended after {seconds} s, which is its timeout]",
                    kept.text()
                ));
            }
        };
        // Buffered output is available at once; a background process may keep the pipe open forever.
        _ = timeout(REST, kept.read(&mut output)).await;
        let text = match kept.text() {
            text if text.trim().is_empty() => "(no output)".to_owned(),
            text => text,
        };
        match said.code() {
            Some(0) => Ok(text),
            _ => Err(format!("{text}\n[{}]", in_words(said))),
        }
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// A process group. It is killed if it is dropped before its first process has ended.
pub(in crate::native) struct OwnedProcessGroup {
    child: Child,
    leader: Option<Pid>,
}

impl OwnedProcessGroup {
    pub(in crate::native) fn new(child: Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        Self { child, leader }
    }

    /// Reads the output until the first process has ended.
    async fn ended(&mut self, output: &mut pipe::Receiver, kept: &mut HeadAndTail) -> io::Result<ExitStatus> {
        let status = tokio::select! {
            status = self.child.wait() => status,
            () = kept.read(output) => self.child.wait().await,
        };
        self.leader = None;
        status
    }

    /// Sends SIGTERM to the group, and SIGKILL after the grace period.
    pub(in crate::native) async fn end(&mut self) {
        self.signal(Signal::SIGTERM);
        _ = timeout(GRACE, self.child.wait()).await;
        self.signal(Signal::SIGKILL);
        _ = self.child.wait().await; // SIGKILL ends it
        self.leader = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            _ = killpg(leader, signal); // the group may have ended meanwhile
        }
    }
}

impl Drop for OwnedProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

/// The beginning and the end of an output.
#[derive(Default)]
struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
}

impl HeadAndTail {
    /// Reads until all writers have closed the pipe.
    async fn read(&mut self, output: &mut pipe::Receiver) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = output.read(&mut buffer).await {
            self.add(&buffer[..count]);
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = (END_CAP_BYTES - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend(&bytes[room..]);
        let beyond = self.tail.len().saturating_sub(END_CAP_BYTES);
        self.tail.drain(..beyond);
        self.left_out += beyond;
    }

    fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self.left_out {
            0 => text(&[&self.head[..], &tail].concat()),
            bytes => format!("{}\n[… {bytes} bytes left out …]\n{}", text(&self.head), text(&tail)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn run(command: &str, seconds: u64) -> ToolOutcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let shell = Shell::new(command.to_owned(), Some(seconds));
        runtime.block_on(shell.carry_out(&PathBuf::from("/"), &["HOME"]))
    }

    #[test]
    fn a_command_answers_with_its_output_and_how_it_ended() {
        assert_eq!(run("pwd; echo err >&2", 60), Ok("/\nerr\n".to_owned()));
        assert_eq!(run("true", 60), Ok("(no output)".to_owned()));
        assert_eq!(run("echo x; exit 3", 60), Err("x\n\n[exit code 3]".to_owned()));
        assert_eq!(
            run("kill -9 $$", 60),
            Err("(no output)\n[ended by signal 9]".to_owned())
        );
        assert_eq!(run("echo ${HOME-none}", 60), Ok("none\n".to_owned()));
    }

    #[test]
    fn what_takes_too_long_is_ended_with_its_group_and_says_what_it_had_to_say() {
        let said = run("echo begun; trap '' TERM; sleep 600 | cat", 1).unwrap_err();
        assert!(
            said.starts_with("begun\n") && said.contains("ended after 1 s"),
            "{said}"
        );
    }

    #[test]
    fn something_in_the_background_is_not_waited_for() {
        let said = run("sleep 5 & echo begun", 60);
        assert_eq!(said, Ok("begun\n".to_owned()));
    }

    #[test]
    fn of_a_long_output_both_ends_are_kept() {
        let said = run("yes begin | head -c 20000; yes | head -c 500000; echo end", 60).unwrap();
        assert!(said.starts_with("begin\n") && said.ends_with("y\nend\n"), "{said}");
        assert!(
            said.contains(" bytes left out …]") && said.len() < 31_000,
            "{}",
            said.len()
        );
    }
}
