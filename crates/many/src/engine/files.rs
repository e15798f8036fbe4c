//! The files of one job, in the directory of its batch: the script that an engine runs, the state before the
//! job, and whether the job has begun.
//!
//! Creating the directory `NAME.began` claims the job, which succeeds once: either the script does so and
//! runs, or the batch does so and withdraws the job. So a job that an engine lost, or accepted twice, runs
//! once or never.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ralph_system::{
    files,
    paths::{create_private_dir, replace_file},
};
use serde::{Deserialize, Serialize};

use super::super::worker::RunsBeforeJob;

/// Most bytes of a job's file.
const BASELINE_CAP_BYTES: u64 = 64 << 10;
/// Exit code of a script that cannot reach the batch's files.
const ELSEWHERE: u8 = 97;
/// Exit code of a script that cannot reach the work tree.
const NO_TREE: u8 = 98;

/// Locations of the files of one job.
#[derive(Debug, Clone)]
pub(super) struct JobFiles {
    dir: PathBuf,
    name: String,
}

/// The state before the job.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobBaseline {
    pub(super) before: RunsBeforeJob,
    /// Size of the log.
    pub(super) log_bytes: u64,
}

/// The content of a script.
pub(super) struct JobScript<'a> {
    pub(super) about: String,
    pub(super) setup: &'a [String],
    pub(super) env: &'a [(String, String)],
    pub(super) tree: &'a Path,
    pub(super) log: &'a Path,
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
}

impl JobFiles {
    pub(super) fn new(dir: &Path, name: String) -> JobFiles {
        JobFiles {
            dir: dir.to_owned(),
            name,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn script(&self) -> PathBuf {
        self.dir.join(format!("{}.sh", self.name))
    }

    fn baseline_path(&self) -> PathBuf {
        self.dir.join(format!("{}.json", self.name))
    }

    fn claim(&self) -> PathBuf {
        self.dir.join(format!("{}.began", self.name))
    }

    /// Writes the script and the state before the job, before the engine is told of it.
    pub(super) fn write(&self, script: &JobScript<'_>, baseline: &JobBaseline) -> io::Result<()> {
        create_private_dir(&self.dir).map_err(io::Error::other)?;
        replace_file(&self.baseline_path(), &serde_json::to_vec(baseline)?)?;
        replace_file(&self.script(), &script.text(&self.claim()))
    }

    /// Returns the state before the job; `None` if it was never written.
    pub(super) fn baseline(&self) -> Option<JobBaseline> {
        serde_json::from_slice(&files::read_bytes(&self.baseline_path(), BASELINE_CAP_BYTES).ok()?).ok()
    }

    pub(super) fn has_begun(&self) -> bool {
        self.claim().is_dir() && !self.is_withdrawn()
    }

    /// Withdraws the job unless it has begun; returns whether it is withdrawn.
    pub(super) fn withdraw(&self) -> bool {
        match fs::create_dir(self.claim()) {
            Ok(()) => {
                // If this fails, the job counts as one that began and did nothing, and another one is
                // submitted.
                _ = fs::write(self.withdrawn(), b"");
                true
            }
            // Without the directory of jobs no script begins.
            Err(error) => error.kind() == io::ErrorKind::NotFound || self.is_withdrawn(),
        }
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.withdrawn().exists()
    }

    fn withdrawn(&self) -> PathBuf {
        self.claim().join("withdrawn")
    }
}

impl JobScript<'_> {
    fn text(&self, claim: &Path) -> Vec<u8> {
        let mut text = Vec::new();
        let mut line = |parts: &[&[u8]]| {
            parts.iter().for_each(|part| text.extend_from_slice(part));
            text.push(b'\n');
        };
        let claim = quoted(claim.as_os_str());
        line(&[b"#!/bin/sh"]);
        line(&[b"# ", self.about.replace('\n', " ").as_bytes(), b"."]);
        line(&[b"# Whoever makes this directory has the job; `ralph many` makes it to withdraw it."]);
        line(&[b"if ! mkdir ", &claim, b" 2>/dev/null; then"]);
        line(&[b"    [ -d ", &claim, b" ] && exit 0"]);
        line(&[
            b"    echo \"error: $(hostname) cannot write \"",
            &claim,
            b"\", where ralph has its state: the engine has to run \\",
        ]);
        line(&[b"jobs where that is on the same file system\" >&2"]);
        line(&[b"    exit ", ELSEWHERE.to_string().as_bytes()]);
        line(&[b"fi"]);
        line(&[b"exec >>", &quoted(self.log.as_os_str()), b" 2>&1 </dev/null"]);
        line(&[
            b"cd ",
            &quoted(self.tree.as_os_str()),
            b" || exit ",
            NO_TREE.to_string().as_bytes(),
        ]);
        for setup in self.setup {
            line(&[setup.as_bytes()]);
        }
        for (name, value) in self.env {
            line(&[b"export ", name.as_bytes(), b"=", &quoted(value.as_ref())]);
        }
        let words = [self.program.as_os_str()]
            .into_iter()
            .chain(self.args.iter().map(OsString::as_os_str));
        let words: Vec<Vec<u8>> = words.map(quoted).collect();
        // `exec` replaces the shell, which would not pass on signals.
        line(&[b"exec ", &words.join(&b' ')]);
        text
    }
}

/// Quotes a word for `sh`.
pub(super) fn quoted(word: &OsStr) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => text.extend_from_slice(b"'\\''"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn files(dir: &Path) -> JobFiles {
        JobFiles::new(&dir.join("it's here"), "api-1".to_owned())
    }

    fn written(files: &JobFiles, dir: &Path) {
        let script = JobScript {
            about: "A\njob".to_owned(),
            setup: &["GREETING='good day'".to_owned()],
            env: &[("NAME".to_owned(), "it's $me".to_owned())],
            tree: dir,
            log: &dir.join("the log"),
            program: "sh".into(),
            args: ["-c", "echo \"$1 $NAME $0\"", "x y", "${GREETING}"]
                .map(OsString::from)
                .to_vec(),
        };
        let before = RunsBeforeJob::default();
        files.write(&script, &JobBaseline { before, log_bytes: 0 }).unwrap();
    }

    fn run(files: &JobFiles) -> Option<i32> {
        Command::new("sh").arg(files.script()).status().unwrap().code()
    }

    #[test]
    fn a_script_runs_once_however_often_it_is_started() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        written(&files, dir.path());
        assert!(!files.has_begun());
        assert_eq!((run(&files), run(&files)), (Some(0), Some(0)));
        assert!(files.has_begun() && !files.withdraw());
        let log = fs::read_to_string(dir.path().join("the log")).unwrap();
        assert_eq!(log, "${GREETING} it's $me x y\n");
    }

    #[test]
    fn a_job_that_was_withdrawn_does_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        written(&files, dir.path());
        assert!(files.withdraw());
        assert_eq!(run(&files), Some(0));
        assert!(!dir.path().join("the log").exists());
    }

    #[test]
    fn a_script_without_its_batch_says_so_and_does_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        written(&files, dir.path());
        let elsewhere = dir.path().join("script");
        fs::copy(files.script(), &elsewhere).unwrap();
        fs::remove_dir_all(dir.path().join("it's here")).unwrap();
        let output = Command::new("sh").arg(&elsewhere).output().unwrap();
        assert_eq!(output.status.code(), Some(i32::from(ELSEWHERE)));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("same file system"), "{said}");
        assert!(!dir.path().join("the log").exists());
    }
}
