//! Watches files of a project that make programs run unasked: git's hooks and configuration, files that shells, editors,
//! tools and coding agents read as they start, ralph's own. They are compared around an iteration, and changes are reported.
//!
//! An agent may write them, and the programs that they name run as the user, later and outside of the sandbox. A look
//! lists the directories of the project; a file is read again, and git asked about its settings, only if the file's
//! metadata has changed. What cannot be read counts as changed with its metadata.

mod places;

use std::{
    collections::BTreeMap,
    fs::{self, Metadata},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use places::{Content, Place, RunBy, below, places_of, places_of_git};
use ralph_core::{event::Notice, notices::first_named};
use ralph_git::{Repository, settings_of};
use ralph_system::{files, proc::Supervisor};

/// Most bytes of a file that are compared.
const CAP_BYTES: u64 = 4 << 20;
/// Most files that one sentence names.
const NAMED: usize = 8;
/// Most files that the data of a notice names.
const LISTED: usize = 200;

/// Ends of names of git settings that name a program, another file of settings or the files to work on, or that have git
/// ask for a key.
const GIT_KEYS: &str = "difffilter uploadpack receivepack vcs smtpserver insteadof allow hookspath fsmonitor sshcommand pager \
     editor askpass helper program command textconv clean smudge process driver external path cmd attributesfile gitproxy \
     templatedir httpd core.worktree gpgsign";
/// The section of git's settings in which each key names a program.
const PAGERS: &str = "pager.";
/// Attributes of a file that make git run a program.
const ATTRIBUTES: [&str; 3] = ["filter=", "diff=", "merge="];

/// The watched files of a project, and their state at the last look.
#[derive(Debug)]
pub(super) struct Autorun {
    project: PathBuf,
    /// The root of the work tree, or the project without a repository.
    root: PathBuf,
    /// git's directories of the project; empty without a repository.
    git: Vec<PathBuf>,
    /// The file of the user's trust.
    trust: PathBuf,
    supervisor: Supervisor,
    /// `None` before the first look.
    seen: Option<BTreeMap<PathBuf, WatchedFile>>,
}

/// The state of a file at a look.
#[derive(Debug, Clone, PartialEq)]
struct WatchedFile {
    by: RunBy,
    /// Device, inode, size, mode, and the times of the last change of its content and of its metadata.
    identity: [i128; 6],
    read: FileRead,
}

/// The content of a file that makes programs run, and the files that it leads to.
#[derive(Debug, Clone, PartialEq, Default)]
struct FileRead {
    /// The hash of that content; `None` if there is none.
    says: Option<u64>,
    /// The directory of hooks that git's settings name.
    hooks: Option<PathBuf>,
    /// Further files of git's settings.
    included: Vec<PathBuf>,
}

impl Autorun {
    pub(super) fn new(project: &Path, repository: Option<&Repository>, trust: PathBuf, supervisor: Supervisor) -> Self {
        Self {
            project: project.to_owned(),
            root: repository.map_or(project, Repository::root).to_owned(),
            git: repository.map_or_else(Vec::new, Repository::directories),
            trust,
            supervisor,
            seen: None,
        }
    }

    /// Returns the changes since the last look, one notice for each program that runs them, and records the current
    /// state; none at the first look.
    pub(super) fn changes(&mut self) -> Vec<Notice> {
        let now = self.now();
        let Some(seen) = self.seen.replace(now.clone()) else {
            return Vec::new();
        };
        let says = |files: &BTreeMap<PathBuf, WatchedFile>, path| files.get(path).and_then(|file| file.read.says);
        let mut changed: BTreeMap<(RunBy, bool), Vec<&Path>> = BTreeMap::new();
        for (path, file) in seen.iter().filter(|(path, _)| !now.contains_key(*path)).chain(&now) {
            let is_gone = says(&now, path).is_none();
            if says(&now, path) != says(&seen, path) && !(is_gone && file.by == RunBy::Unknown) {
                let shown = path.strip_prefix(&self.project).unwrap_or(path);
                changed.entry((file.by, is_gone)).or_default().push(shown);
            }
        }
        let notices = changed.into_iter();
        notices
            .map(|((by, is_gone), paths)| changed_in_words(&paths, by, is_gone))
            .collect()
    }

    fn now(&self) -> BTreeMap<PathBuf, WatchedFile> {
        let mut places = self.places();
        let mut seen: BTreeMap<PathBuf, WatchedFile> = BTreeMap::new();
        while let Some(place) = places.pop() {
            if seen.contains_key(&place.path) {
                continue;
            }
            let Some(file) = self.seen_of(&place) else { continue };
            let included = file.read.included.iter().cloned();
            places.extend(included.map(|path| Place::new(path, RunBy::Git, Content::Settings)));
            if let Some(hooks) = &file.read.hooks {
                below(hooks, RunBy::Git, Content::Hook, &mut places);
            }
            seen.insert(place.path, file);
        }
        seen
    }

    fn places(&self) -> Vec<Place> {
        // The last that are listed come first: with them, hooks that settings name count as hooks.
        let mut places = places_of(&self.root);
        for git in &self.git {
            places_of_git(git, &mut places);
        }
        let own = self.project.join(".ralph");
        for directory in ["adapters", "engines"] {
            below(&own.join(directory), RunBy::Ralph, Content::All, &mut places);
        }
        places.push(Place::new(self.trust.clone(), RunBy::Trust, Content::All));
        places
    }

    /// Returns the state of a file; `None` if it is missing.
    fn seen_of(&self, place: &Place) -> Option<WatchedFile> {
        let identity = match fs::metadata(&place.path) {
            Ok(metadata) => identity(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(_) => Default::default(),
        };
        let known = self.seen.as_ref().and_then(|seen| seen.get(&place.path));
        let known = known.filter(|known| known.identity == identity);
        let read = known.map_or_else(|| self.read(place, identity), |known| known.read.clone());
        Some(WatchedFile {
            by: place.by,
            identity,
            read,
        })
    }

    fn read(&self, place: &Place, identity: [i128; 6]) -> FileRead {
        let said = |says: Option<u64>| FileRead {
            says,
            ..FileRead::default()
        };
        let [_, _, _, mode, ..] = identity;
        // git skips hooks that are not executable.
        if place.content == Content::Hook && mode & 0o111 == 0 {
            return FileRead::default();
        }
        if place.by == RunBy::Unknown {
            return said(Some(0));
        }
        let unread = |error: &dyn std::error::Error| said(Some(hash(&(error.to_string(), identity))));
        let bytes = match files::read_bytes(&place.path, CAP_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => return unread(&error),
        };
        match place.content {
            Content::All | Content::Hook => said(Some(hash(&bytes))),
            Content::Attributes => {
                let text = String::from_utf8_lossy(&bytes);
                let runs = |line: &&str| ATTRIBUTES.iter().any(|name| line.contains(name));
                let lines: Vec<&str> = text.lines().filter(runs).collect();
                said((!lines.is_empty()).then(|| hash(&lines)))
            }
            Content::Settings => match settings_of(&self.supervisor, bytes) {
                Ok(settings) => self.of_programs(&place.path, settings),
                Err(error) => unread(&error),
            },
        }
    }

    /// Returns those of git's settings that name programs, and the files that they lead to.
    fn of_programs(&self, file: &Path, mut settings: Vec<(String, String)>) -> FileRead {
        settings.retain(|(key, value)| is_program(key, value));
        let directory = file.parent().unwrap_or(file);
        let is_include = |key: &str| key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path");
        let included = settings.iter().filter(|(key, _)| is_include(key));
        let hooks = settings.iter().rev().find(|(key, _)| key == "core.hookspath");
        FileRead {
            says: (!settings.is_empty()).then(|| hash(&settings)),
            // git reads these paths from the root of the work tree, and those of included files from this file's place.
            hooks: hooks.map(|(_, path)| self.root.join(path)),
            included: included.map(|(_, path)| directory.join(path)).collect(),
        }
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

/// Whether a setting of git's may name a program. The value of an alias does if it begins with `!`.
fn is_program(key: &str, value: &str) -> bool {
    GIT_KEYS.split(' ').any(|name| key.ends_with(name))
        || key.starts_with(PAGERS)
        || value.trim_start().starts_with('!')
}

fn changed_in_words(paths: &[&Path], by: RunBy, is_gone: bool) -> Notice {
    let (were, it) = if paths.len() == 1 {
        ("was", "it")
    } else {
        ("were", "them")
    };
    let what = if is_gone { "deleted" } else { "changed" };
    let then = match by {
        RunBy::Git => format!("your next `git` here uses {it}"),
        RunBy::Shell => format!("a shell that you start here may run {it}"),
        RunBy::Tool => format!("the tools that read {it} may run what is in {it}"),
        RunBy::Editor => format!("your editor may run {it} when it opens the project"),
        RunBy::Agent => format!("a coding agent that you start here may run {it}, outside of the sandbox"),
        RunBy::Ralph => format!("the next `ralph` here asks before it uses {it}"),
        RunBy::Trust => "it records which files you trust; if it was not you, `ralph trust --revoke`".to_owned(),
        RunBy::Unknown => "there are too many files to see which of them programs run unasked".to_owned(),
    };
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let text = format!("{} {were} {what}: {then}", first_named(names.iter(), NAMED, ", "));
    Notice::warning("autorun-changed", text).with("path", names[..names.len().min(LISTED)].join("\n"))
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
        changed_in_words(&[Path::new(name)], by, gone)
    }

    fn project() -> (tempfile::TempDir, Autorun) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        let mut autorun = Autorun::new(dir.path(), None, dir.path().join("trust.json"), Supervisor::default());
        assert_eq!(autorun.changes(), [], "the first look");
        (dir, autorun)
    }

    fn hook(path: &Path) {
        write(path, "#!/bin/sh\n");
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_file_of_each_kind_is_told_once_when_it_comes_changes_and_goes() {
        for (name, by) in [
            (".envrc", RunBy::Shell),
            ("web/.envrc", RunBy::Shell),
            (".vscode/tasks.json", RunBy::Editor),
            ("a/b.code-workspace", RunBy::Editor),
            ("web/app/.zed/tasks.json", RunBy::Editor),
            (".devcontainer/devcontainer.json", RunBy::Editor),
            ("mise.toml", RunBy::Tool),
            ("core/.cargo/config.toml", RunBy::Tool),
            (".claude/settings.json", RunBy::Agent),
            ("web/.codex/config.toml", RunBy::Agent),
            (".mcp.json", RunBy::Agent),
            (".opencode/plugin/x.ts", RunBy::Agent),
            (".github/hooks/start.json", RunBy::Agent),
            ("analysis/.Rprofile", RunBy::Tool),
            ("lefthook.yml", RunBy::Git),
            ("web/.pre-commit-config.yaml", RunBy::Git),
            (".husky/pre-commit", RunBy::Git),
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
    fn files_of_the_work_and_of_its_dependencies_are_passed_over() {
        let (dir, mut autorun) = project();
        for name in [
            "src/config.toml",
            "config",
            ".cargo/registry/x",
            "node_modules/x/.vscode/tasks.json",
            ".claude/worktrees/a/.envrc",
            ".idea/workspace.xml",
            ".github/workflows/ci.yml",
            "src/hooks/start.json",
        ] {
            write(&dir.path().join(name), "a");
        }
        assert_eq!(autorun.changes(), []);
    }

    #[test]
    fn a_hook_counts_as_soon_as_it_can_be_executed() {
        let (dir, mut autorun) = project();
        let path = dir.path().join(".git/hooks/pre-commit");
        write(&path, "#!/bin/sh\n");
        write(&dir.path().join(".git/hooks/pre-push.sample"), "#!/bin/sh\n");
        assert_eq!(autorun.changes(), []);
        hook(&path);
        assert_eq!(autorun.changes(), [told(".git/hooks/pre-commit", RunBy::Git, false)]);
    }

    #[test]
    fn repositories_in_the_project_have_hooks_and_settings_as_well() {
        let (dir, mut autorun) = project();
        let at = |path: &str| dir.path().join(path);
        hook(&at("sub/.git/hooks/post-checkout"));
        assert_eq!(
            autorun.changes(),
            [told("sub/.git/hooks/post-checkout", RunBy::Git, false)]
        );
        write(&at(".git/modules/a/b/HEAD"), "");
        write(&at(".git/modules/a/b/config"), "[core]\n\tfsmonitor = x\n");
        assert_eq!(autorun.changes(), [told(".git/modules/a/b/config", RunBy::Git, false)]);
        // A bare repository, which git uses in its directory.
        for name in ["bare/HEAD", "bare/objects/x", "bare/refs/x"] {
            write(&at(name), "");
        }
        write(&at("bare/config"), "[core]\n\tfsmonitor = x\n");
        assert_eq!(autorun.changes(), [told("bare/config", RunBy::Git, false)]);
        write(&at("other/.git"), "gitdir: ../hidden/place\n");
        write(&at("hidden/place/commondir"), ".\n");
        write(&at("hidden/place/HEAD"), "");
        hook(&at("hidden/place/hooks/pre-push"));
        let name = at("hidden/place/hooks/pre-push").canonicalize().unwrap();
        let told = autorun.changes();
        assert!(
            told.len() == 1
                && told[0]
                    .text
                    .contains(name.strip_prefix("/").unwrap().file_name().unwrap().to_str().unwrap()),
            "{told:?}"
        );
    }

    #[test]
    fn all_files_are_told_at_once_and_those_of_one_kind_hide_no_other() {
        let (dir, mut autorun) = project();
        for number in 0..NAMED + 2 {
            hook(&dir.path().join(format!(".git/hooks/a{number:02}")));
        }
        write(&dir.path().join(".vscode/tasks.json"), "{}");
        let told = autorun.changes();
        let texts: Vec<&str> = told.iter().map(|notice| &*notice.text).collect();
        assert_eq!(
            texts,
            [
                ".git/hooks/a00, .git/hooks/a01, .git/hooks/a02, .git/hooks/a03, .git/hooks/a04, .git/hooks/a05, \
                 .git/hooks/a06, .git/hooks/a07 and 2 more were changed: your next `git` here uses them",
                ".vscode/tasks.json was changed: your editor may run it when it opens the project",
            ]
        );
        assert!(
            told[0].data["path"].lines().any(|path| path == ".git/hooks/a09"),
            "{told:?}"
        );
        assert_eq!(autorun.changes(), []);
    }

    #[test]
    fn a_directory_with_too_many_files_is_told() {
        let (dir, mut autorun) = project();
        for number in 0..2_100 {
            write(&dir.path().join(format!(".claude/skills/{number}")), "");
        }
        let texts: Vec<String> = autorun.changes().iter().map(|notice| notice.text.to_string()).collect();
        assert!(texts.iter().any(|text| text.contains("too many files")), "{texts:?}");
        assert_eq!(autorun.changes(), []);
    }

    #[test]
    fn settings_of_git_count_as_far_as_they_name_programs() {
        let (dir, mut autorun) = project();
        let (config, attributes) = (dir.path().join(".git/config"), dir.path().join(".gitattributes"));
        write(&config, "[user]\n\tname = x\n[branch \"main\"]\n\tremote = origin\n");
        write(&attributes, "*.sh eol=lf\n");
        assert_eq!(autorun.changes(), []);
        let long = format!("{}[core]\n\tfsmonitor = x\n", "# nothing\n".repeat(200_000));
        for text in [
            "[core]\n\tfsmonitor = ./x",
            "[core]\n\thooksPath = x",
            "[alias]\n\tst = !x",
            "[alias]\n\tst = \\\n!y",
            "[alias]\n\tst = \"\"!z",
            "[include]\n\tpath = x",
            "[pager]\n\tlog = x",
            "[core] hooksPath = y",
            "[interactive]\n\tdiffFilter = x",
            "[remote \"x\"]\n\tuploadpack = x",
            "[commit]\n\tgpgSign",
            "[core]\n\tgitProxy = x",
            &long,
            "[core",
            "[core ",
        ] {
            write(&config, text);
            assert_eq!(autorun.changes().len(), 1, "{text:.40}");
        }
        write(&attributes, "* filter=x\n");
        assert_eq!(autorun.changes(), [told(".gitattributes", RunBy::Git, false)]);
    }

    #[test]
    fn what_gits_settings_lead_to_is_watched() {
        let (dir, mut autorun) = project();
        let at = |path: &str| dir.path().join(path);
        write(
            &at(".git/config"),
            "[include]\n\tpath = ../shared.conf\n[core]\n\thooksPath = tools/hooks\n",
        );
        write(&at("shared.conf"), "[user]\n\tname = x\n");
        assert_eq!(autorun.changes().len(), 1);
        write(&at("shared.conf"), "[diff]\n\texternal = x\n");
        hook(&at("tools/hooks/pre-push"));
        let told = autorun.changes();
        assert!(
            told[0].text.contains("shared.conf, tools/hooks/pre-push were changed"),
            "{told:?}"
        );
    }
}
