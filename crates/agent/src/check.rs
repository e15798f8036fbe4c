//! Checks whether an agent is installed and has the version its adapter was written for.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_system::proc::{
    Supervisor,
    helper::{CapturedOutput, Helper, HelperError},
};
use ralph_text::{one_line, with_causes};

use super::{
    AgentError,
    login::Login,
    manifest::Manifest,
    template::{AdapterPlaceholder, AdapterTemplate},
};

/// How long a program may take to print its version.
const PROBE_DEADLINE: Duration = Duration::from_secs(30);
/// Most bytes kept of the program's output.
const PROBE_CAP_BYTES: usize = 4096;

/// The result of checking an agent's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    pub id: String,
    pub title: String,
    /// The program as the manifest names it.
    pub program: String,
    /// The program's path; `None` if it is not on PATH.
    pub path: Option<PathBuf>,
    pub version: InstalledVersion,
    /// The version the adapter was written for.
    pub verified: Option<String>,
    pub login: Login,
    pub install: Option<String>,
}

/// The version that a program reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstalledVersion {
    /// The adapter does not say how to ask, or the program is missing.
    NotAsked,
    /// The first line of the output.
    Said(String),
    /// The program failed or printed nothing.
    Failed { why: String },
    /// The program did not answer in time and was ended.
    TimedOut { after: Duration },
}

/// How an installed version compares with the verified one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Same,
    Other,
    Unknown,
}

impl CheckReport {
    pub fn comparison(&self) -> Comparison {
        match (self.version_number(), &self.verified) {
            (Some(number), Some(verified)) if number == verified => Comparison::Same,
            (Some(_), Some(_)) => Comparison::Other,
            (None, _) | (_, None) => Comparison::Unknown,
        }
    }

    /// The version number in the program's answer: `0.169.0` in `codex-cli 0.169.0`.
    pub fn version_number(&self) -> Option<&str> {
        match &self.version {
            InstalledVersion::Said(line) => number_in(line),
            InstalledVersion::NotAsked | InstalledVersion::Failed { .. } | InstalledVersion::TimedOut { .. } => None,
        }
    }
}

/// Finds the program of `manifest` and asks for its version. The variables in `keys` are not passed on, since it needs
/// no keys. Takes at most 30 seconds and ends every process it started.
///
/// `supervisor_of` returns the supervisor that confines the agent of a manifest: an agent may have replaced its program.
pub(crate) fn check(
    manifest: &Manifest,
    cwd: &Path,
    keys: &[String],
    supervisor_of: impl Fn(&Manifest) -> Supervisor,
) -> CheckReport {
    check_within(manifest, cwd, keys, supervisor_of, PROBE_DEADLINE)
}

fn check_within(
    manifest: &Manifest,
    cwd: &Path,
    keys: &[String],
    supervisor_of: impl Fn(&Manifest) -> Supervisor,
    deadline: Duration,
) -> CheckReport {
    let path = find(manifest, cwd).ok();
    let version = match (&path, &manifest.probe) {
        (Some(path), Some(args)) => {
            let helper = supervisor_of(manifest).confined_helper(path);
            let helper = helper.args(args).deadline(deadline);
            probe(keys.iter().fold(helper, Helper::env_remove))
        }
        (Some(_) | None, None) | (None, Some(_)) => InstalledVersion::NotAsked,
    };
    CheckReport {
        id: manifest.id.clone(),
        title: manifest.title.clone(),
        program: named(manifest),
        path,
        version,
        verified: manifest.verified.clone(),
        login: login(manifest),
        install: manifest.install.clone(),
    }
}

/// The state of the agent's login.
pub(super) fn login(manifest: &Manifest) -> Login {
    let own = manifest.command.env.iter().map(|(name, _)| name.as_str());
    manifest.credentials.look(own)
}

/// The path of the manifest's program; a relative path is resolved against `cwd`.
///
/// # Errors
/// [`AgentError::NotInstalled`].
pub(super) fn find(manifest: &Manifest, cwd: &Path) -> Result<PathBuf, AgentError> {
    let wanted = fill_program(&manifest.command.program);
    let of_manifest = manifest.command.env.iter().find(|(name, _)| name == "PATH");
    let search: Option<OsString> = of_manifest
        .and_then(|(_, value)| value.fill(|_| None).map(OsString::from))
        .or_else(|| std::env::var_os("PATH"));
    let home = wanted
        .strip_prefix("~/")
        .and_then(|rest| Some(dirs::home_dir()?.join(rest)));
    let wanted = home.unwrap_or_else(|| PathBuf::from(wanted));
    which::which_in(&wanted, search, cwd).map_err(|_| AgentError::NotInstalled {
        id: manifest.id.clone(),
        program: named(manifest),
        install: manifest.install.clone(),
    })
}

fn named(manifest: &Manifest) -> String {
    fill_program(&manifest.command.program)
}

fn fill_program(program: &AdapterTemplate) -> String {
    let own = |placeholder| match placeholder {
        AdapterPlaceholder::Ralph => own_executable(),
        _ => None,
    };
    program.fill(own).unwrap_or_else(|| "ralph".to_owned())
}

/// The executable of this process.
pub(super) fn own_executable() -> Option<String> {
    std::env::current_exe()
        .ok()
        .map(|path| path.to_string_lossy().into_owned())
}

fn probe(helper: Helper) -> InstalledVersion {
    let finished = match helper.output_cap(PROBE_CAP_BYTES).run() {
        Ok(finished) => finished,
        Err(HelperError::TimedOut { deadline }) => return InstalledVersion::TimedOut { after: deadline },
        Err(error) => {
            return InstalledVersion::Failed {
                why: with_causes(&error),
            };
        }
    };
    let mut said = beginning(&finished.stdout);
    if said.trim().is_empty() {
        said = beginning(&finished.stderr);
    }
    let status = finished.status;
    match said.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) if status.success() => InstalledVersion::Said(one_line(line)),
        Some(line) => InstalledVersion::Failed {
            why: format!("{status}: {}", one_line(line)),
        },
        None => InstalledVersion::Failed {
            why: format!("{status}, and it printed nothing"),
        },
    }
}

/// The captured beginning of the output as text.
fn beginning(captured: &CapturedOutput) -> String {
    String::from_utf8_lossy(&captured.bytes).into_owned()
}

/// The first word in a line that looks like a version.
fn number_in(line: &str) -> Option<&str> {
    line.split(|character: char| !(character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '+')))
        .map(|word| word.trim_start_matches('v').trim_end_matches('.'))
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.'))
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        os::{fd::AsFd, unix::fs::OpenOptionsExt},
    };

    use nix::{
        fcntl::OFlag,
        poll::{PollFd, PollFlags, PollTimeout, poll},
        sys::stat::Mode,
        unistd::mkfifo,
    };
    use serde_json::json;

    use crate::catalog::{AdapterSources, Catalog};
    use ralph_policy::settings::{Node, SettingOrigin};

    use super::*;

    /// The report on an agent whose `--version` is a shell script.
    fn report_of(version: &str, deadline: Duration) -> CheckReport {
        let codex = json!({"command": {"program": "sh"}, "probe": {"args": ["-c", version]}});
        let config = vec![Node::from_value(json!({ "codex": codex }), &SettingOrigin::Default)];
        let catalog = Catalog::load(&AdapterSources {
            config,
            ..AdapterSources::default()
        });
        check_within(
            &catalog.manifest("codex").expect("a manifest"),
            Path::new("/"),
            &[],
            |_| Supervisor::default(),
            deadline,
        )
    }

    #[test]
    fn versions_are_compared_by_their_number() {
        let compare = |said: &str| report_of(&format!("echo; echo '{said}'"), PROBE_DEADLINE).comparison();
        assert_eq!(compare("codex-cli 0.171.0"), Comparison::Same);
        assert_eq!(compare("v0.171.0 (build 7)"), Comparison::Same);
        assert_eq!(compare("This is Codex 0.171.0."), Comparison::Same);
        assert_eq!(compare("0.171.1"), Comparison::Other);
        assert_eq!(compare("0.171.0-alpha.1"), Comparison::Other);
        assert_eq!(compare("no number"), Comparison::Unknown);
    }

    #[test]
    fn a_probe_that_fails_says_why() {
        let failed = report_of("echo 'cannot find node' >&2; exit 3", PROBE_DEADLINE).version;
        assert_eq!(
            failed,
            InstalledVersion::Failed {
                why: "exit status: 3: cannot find node".to_owned()
            }
        );
        let silent = report_of("exit 0", PROBE_DEADLINE).version;
        assert_eq!(
            silent,
            InstalledVersion::Failed {
                why: "exit status: 0, and it printed nothing".to_owned()
            }
        );
    }

    #[test]
    fn nothing_of_a_probe_stays_behind() {
        for (script, deadline, version) in [
            ("sleep 1000 & wait", Duration::from_millis(300), None),
            ("sleep 1000 & echo 1.0.0", PROBE_DEADLINE, Some("1.0.0")),
        ] {
            let dir = tempfile::tempdir().expect("a directory");
            let fifo = dir.path().join("alive");
            mkfifo(&fifo, Mode::S_IRWXU).expect("a fifo");
            let alive = File::options()
                .read(true)
                .custom_flags(OFlag::O_NONBLOCK.bits())
                .open(&fifo)
                .expect("the fifo");
            // Every process of the probe holds the fifo open for writing; the poll reports a hangup once the last one
            // is gone.
            let report = report_of(&format!("exec 3<>'{}'; {script}", fifo.display()), deadline);
            match version {
                Some(version) => assert_eq!(report.version, InstalledVersion::Said(version.to_owned())),
                None => assert_eq!(report.version, InstalledVersion::TimedOut { after: deadline }),
            }
            let mut fds = [PollFd::new(alive.as_fd(), PollFlags::POLLIN)];
            assert_eq!(poll(&mut fds, PollTimeout::from(30_000u16)), Ok(1), "{script}");
            assert_eq!(fds[0].revents(), Some(PollFlags::POLLHUP), "{script}");
        }
    }
}
