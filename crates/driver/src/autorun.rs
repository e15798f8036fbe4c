//! Watches files of a project that make programs run unasked: git's hooks and configuration, files that shells and
//! editors read as they start, ralph's own. They are compared around an iteration, and changes are reported.
//!
//! An agent may write them, and the programs that they name run as the user, later and outside of the sandbox. A look
//! takes some forty system calls and no process: a file is read again only if its metadata has changed.

use std::{
    collections::BTreeMap,
    fs::{self, Metadata},
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use ralph_core::event::Notice;
use ralph_system::files;

/// Most bytes of a file that are compared.
const CAP_BYTES: u64 = 1 << 20;
/// Most entries of a directory that are looked at.
const ENTRIES_CAP: usize = 256;
/// Most files that are reported for one iteration.
const TOLD: usize = 8;

/// Directories of the project that usually hold git hooks.
const HOOKS: [&str; 2] = [".husky", ".githooks"];
const SHELL: [&str; 7] = [
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
];
const EDITOR: [&str; 2] = [".vscode/tasks.json", ".vscode/settings.json"];
const RALPH: [&str; 2] = [".ralph/config.json", ".ralph/prompt.md"];

/// Ends of names of git settings that name a program, or another file of settings.
const GIT_KEYS: [&str; 25] = [
    "difffilter",
    "uploadpack",
    "receivepack",
    "vcs",
    "smtpserver",
    "insteadof",
    "allow",
    "hookspath",
    "fsmonitor",
    "sshcommand",
    "pager",
    "editor",
    "askpass",
    "helper",
    "program",
    "command",
    "textconv",
    "clean",
    "smudge",
    "process",
    "driver",
    "external",
    "path",
    "cmd",
    "attributesfile",
];
/// Sections of git's settings in which each key names a program.
const GIT_SECTIONS: [&str; 1] = ["pager"];
/// Attributes of a file that make git run a program.
const ATTRIBUTES: [&str; 3] = ["filter=", "diff=", "merge="];

/// The program that runs commands from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunBy {
    Git,
    Shell,
    Editor,
    Ralph,
    /// ralph, if the user has trusted the project's settings.
    Trust,
}

/// The watched files of a project, and their state at the last look.
#[derive(Debug)]
pub(super) struct Autorun {
    project: PathBuf,
    /// git's directories of the project; empty without a repository.
    git: Vec<PathBuf>,
    /// The file of the user's trust.
    trust: PathBuf,
    /// `None` before the first look.
    seen: Option<BTreeMap<PathBuf, WatchedFile>>,
}

/// The state of a file at a look.
#[derive(Debug, Clone, PartialEq)]
struct WatchedFile {
    by: RunBy,
    /// Device, inode, size, mode, and the times of the last change of its content and of its metadata.
    identity: [i128; 6],
    /// Hash of its content that makes programs run; `None` if it has no such content.
    says: Option<u64>,
}

impl Autorun {
    pub(super) fn new(project: &Path, git: Vec<PathBuf>, trust: PathBuf) -> Self {
        Self {
            project: project.to_owned(),
            git,
            trust,
            seen: None,
        }
    }

    /// Returns the changes since the last look, and records the current state; none at the first look. Changes beyond
    /// the most that are reported at once are reported after the next look.
    pub(super) fn changes(&mut self) -> Vec<Notice> {
        let mut now = self.now();
        let Some(seen) = self.seen.take() else {
            self.seen = Some(now);
            return Vec::new();
        };
        let says = |files: &BTreeMap<PathBuf, WatchedFile>, path: &PathBuf| files.get(path).and_then(|file| file.says);
        let known = now.keys().chain(seen.keys().filter(|path| !now.contains_key(*path)));
        let changed = known.filter(|path| says(&now, path) != says(&seen, path));
        let mut changed: Vec<PathBuf> = changed.cloned().collect();
        let untold = changed.split_off(changed.len().min(TOLD));
        let notice = |path: PathBuf| {
            let by = now.get(&path).or(seen.get(&path)).map_or(RunBy::Git, |seen| seen.by);
            let shown = path.strip_prefix(&self.project).unwrap_or(&path);
            changed_in_words(shown, by, says(&now, &path).is_none())
        };
        let notices = changed.into_iter().map(notice).collect();
        for path in untold {
            match seen.get(&path) {
                Some(before) => _ = now.insert(path, before.clone()),
                None => _ = now.remove(&path),
            }
        }
        self.seen = Some(now);
        notices
    }

    fn now(&self) -> BTreeMap<PathBuf, WatchedFile> {
        let files = self.files().into_iter();
        let seen = files.filter_map(|(path, by)| Some((self.seen_of(&path, by)?, path)));
        seen.map(|(seen, path)| (path, seen)).collect()
    }

    fn files(&self) -> Vec<(PathBuf, RunBy)> {
        let mut files = Vec::new();
        for git in &self.git {
            files.extend(below(&git.join("hooks"), "").map(|path| (path, RunBy::Git)));
            let settings = ["config", "config.worktree", "info/attributes"];
            files.extend(settings.map(|name| (git.join(name), RunBy::Git)));
        }
        let here = |names: &[&str], by: RunBy| -> Vec<(PathBuf, RunBy)> {
            names.iter().map(|name| (self.project.join(name), by)).collect()
        };
        for hooks in HOOKS {
            files.extend(below(&self.project.join(hooks), "").map(|path| (path, RunBy::Git)));
        }
        files.extend(here(&[".gitattributes"], RunBy::Git));
        files.extend(here(&SHELL, RunBy::Shell));
        files.extend(here(&EDITOR, RunBy::Editor));
        files.extend(here(&RALPH, RunBy::Ralph));
        let adapters = below(&self.project.join(".ralph").join("adapters"), "toml");
        files.extend(adapters.map(|path| (path, RunBy::Ralph)));
        files.push((self.trust.clone(), RunBy::Trust));
        files
    }

    /// Returns the state of a file; `None` if it is missing.
    fn seen_of(&self, path: &Path, by: RunBy) -> Option<WatchedFile> {
        let metadata = fs::metadata(path).ok()?;
        let identity = identity(&metadata);
        let known = self.seen.as_ref().and_then(|seen| seen.get(path));
        let known = known.filter(|known| known.identity == identity);
        let says = known.map_or_else(|| says(path, &metadata), |known| known.says);
        Some(WatchedFile { by, identity, says })
    }
}

fn identity(metadata: &Metadata) -> [i128; 6] {
    let time = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    [
        metadata.dev().into(),
        metadata.ino().into(),
        metadata.size().into(),
        metadata.mode().into(),
        time(metadata.mtime(), metadata.mtime_nsec()),
        time(metadata.ctime(), metadata.ctime_nsec()),
    ]
}

/// Returns the files of a directory with this extension, or with any if it is empty, except git's sample hooks.
fn below(directory: &Path, extension: &'static str) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().take(ENTRIES_CAP);
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(move |path| {
        let end = path.extension().unwrap_or_default();
        end != "sample" && (extension.is_empty() || end == extension)
    })
}

/// Returns a hash of the content of a file that makes programs run; `None` if it has no such content.
fn says(path: &Path, metadata: &Metadata) -> Option<u64> {
    let name = path.file_name().unwrap_or_default();
    let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
    let is_hook = parent == "hooks" || HOOKS.iter().any(|hooks| parent == *hooks);
    // git skips hooks that are not executable.
    if is_hook && metadata.mode() & 0o111 == 0 {
        return None;
    }
    let text = match files::read_bytes(path, CAP_BYTES) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => error.to_string(),
    };
    let lines: Vec<&str> = match name.to_str() {
        Some("config" | "config.worktree") => program_lines(&text),
        Some(".gitattributes" | "attributes") => {
            let runs = |line: &&str| ATTRIBUTES.iter().any(|name| line.contains(name));
            text.lines().filter(runs).collect()
        }
        _ => return Some(hash(&text)),
    };
    (!lines.is_empty()).then(|| hash(&lines))
}

/// Returns the lines of git's settings that may name a program.
fn program_lines(text: &str) -> Vec<&str> {
    let mut is_of_programs = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if let Some(section) = line.trim().strip_prefix('[') {
            let name = section.split([' ', ']', '.']).next().unwrap_or_default();
            is_of_programs = GIT_SECTIONS.contains(&name.to_ascii_lowercase().as_str());
        }
        // A setting may stand behind the name of its section.
        if is_of_programs || is_program(line) {
            lines.push(line);
        }
    }
    lines
}

/// Whether a line of git's settings may name a program. The value of an alias does if it begins with `!`.
fn is_program(line: &str) -> bool {
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    let key = key.trim().to_ascii_lowercase();
    GIT_KEYS.iter().any(|name| key.ends_with(name)) || value.trim().trim_start_matches('"').starts_with('!')
}

fn changed_in_words(path: &Path, by: RunBy, gone: bool) -> Notice {
    let what = if gone { "was deleted" } else { "was changed" };
    let then = match by {
        RunBy::Git => "your next `git` here uses it",
        RunBy::Shell => "a shell that you start here may run it",
        RunBy::Editor => "your editor may run it when it opens the project",
        RunBy::Ralph => "the next `ralph` here asks before it uses it",
        RunBy::Trust => "it records which files you trust; if it was not you, `ralph trust --revoke`",
    };
    let path = path.display();
    Notice::warning("autorun-changed", format!("{path} {what}: {then}")).with("path", path)
}

fn hash(said: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    said.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn told(name: &str, by: RunBy, gone: bool) -> Notice {
        changed_in_words(Path::new(name), by, gone)
    }

    fn project() -> (tempfile::TempDir, Autorun) {
        let dir = tempfile::tempdir().unwrap();
        let git = vec![dir.path().join(".git")];
        let mut autorun = Autorun::new(dir.path(), git, dir.path().join("trust.json"));
        assert_eq!(autorun.changes(), [], "the first look");
        (dir, autorun)
    }

    #[test]
    fn a_file_of_each_kind_is_told_once_when_it_comes_changes_and_goes() {
        for (name, by) in [
            (".envrc", RunBy::Shell),
            (".vscode/tasks.json", RunBy::Editor),
            (".ralph/config.json", RunBy::Ralph),
            (".ralph/adapters/x.toml", RunBy::Ralph),
            ("trust.json", RunBy::Trust),
        ] {
            let (dir, mut autorun) = project();
            let path = dir.path().join(name);
            write(&path, "a");
            assert_eq!(autorun.changes(), [told(name, by, false)]);
            assert_eq!(autorun.changes(), []);
            write(&path, "b");
            assert_eq!(autorun.changes(), [told(name, by, false)]);
            // Rewritten with the same content.
            fs::remove_file(&path).unwrap();
            write(&path, "b");
            assert_eq!(autorun.changes(), []);
            fs::remove_file(&path).unwrap();
            assert_eq!(autorun.changes(), [told(name, by, true)]);
        }
    }

    #[test]
    fn a_hook_counts_as_soon_as_it_can_be_executed() {
        let (dir, mut autorun) = project();
        let hook = dir.path().join(".git/hooks/pre-commit");
        write(&hook, "#!/bin/sh\n");
        write(&dir.path().join(".git/hooks/pre-push.sample"), "#!/bin/sh\n");
        assert_eq!(autorun.changes(), []);
        fs::set_permissions(&hook, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(autorun.changes(), [told(".git/hooks/pre-commit", RunBy::Git, false)]);
    }

    #[test]
    fn what_is_too_much_to_report_at_once_is_reported_later() {
        let (dir, mut autorun) = project();
        for number in 0..TOLD + 2 {
            let hook = dir.path().join(format!(".git/hooks/a{number:02}"));
            write(&hook, "#!/bin/sh\n");
            fs::set_permissions(&hook, Permissions::from_mode(0o755)).unwrap();
        }
        let counts: Vec<usize> = (0..3).map(|_| autorun.changes().len()).collect();
        assert_eq!(counts, [TOLD, 2, 0]);
    }

    #[test]
    fn settings_of_git_count_as_far_as_they_name_programs() {
        let (dir, mut autorun) = project();
        let (config, attributes) = (dir.path().join(".git/config"), dir.path().join(".gitattributes"));
        write(&config, "[user]\n\tname = x\n[branch \"main\"]\n\tremote = origin\n");
        write(&attributes, "*.sh eol=lf\n");
        assert_eq!(autorun.changes(), []);
        for line in [
            "\tfsmonitor = ./x",
            "[core]\n\thooksPath = x",
            "[alias]\n\tst = !x",
            "[include]\n\tpath = x",
            "[pager]\n\tlog = x",
            "[core] hooksPath = y",
            "[interactive]\n\tdiffFilter = x",
            "[remote \"x\"]\n\tuploadpack = x",
        ] {
            write(&config, line);
            assert_eq!(autorun.changes().len(), 1, "{line}");
        }
        write(&attributes, "* filter=x\n");
        assert_eq!(autorun.changes(), [told(".gitattributes", RunBy::Git, false)]);
    }
}
