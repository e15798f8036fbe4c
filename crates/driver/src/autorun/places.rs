//! The places of files that make programs run unasked: their names, and where they are in a project.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    fs::{self, DirEntry},
    path::{Path, PathBuf},
};

use ralph_system::files;

/// Most directories of a project that are looked at: those with the fewest others above them.
const DIRECTORIES_CAP: usize = 20_000;
/// Most files of a directory of hooks, or of settings, that are looked at.
const FILES_CAP: usize = 2_048;
/// Most bytes of a file that says where a repository is.
const POINTER_CAP_BYTES: u64 = 64 << 10;

/// The program that runs commands from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RunBy {
    Git,
    Shell,
    Tool,
    Editor,
    Agent,
    Ralph,
    /// ralph, if the user has trusted the project's settings.
    Trust,
    /// Anything: the directory was not looked at.
    Unknown,
}

/// The content of a file that makes programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    All,
    /// All, if the file can be executed.
    Hook,
    /// Settings of git.
    Settings,
    Attributes,
}

/// A file to look at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) by: RunBy,
    pub(super) content: Content,
}

/// Directories all of whose files count, by the ends of their paths.
const DIRECTORIES: [(RunBy, &str); 4] = [
    (RunBy::Git, ".husky .githooks .git-hooks .lefthook"),
    (RunBy::Tool, ".mise"),
    (RunBy::Editor, ".vscode .zed .idea .devcontainer .helix .fleet"),
    (
        RunBy::Agent,
        ".claude .codex .gemini .github/hooks .opencode .cursor .windsurf .continue .qwen .kiro .kilocode .roo .cline .factory \
         .kimi .pi",
    ),
];
/// Files, by the ends of their paths.
const FILES: [(RunBy, &str); 6] = [
    (
        RunBy::Git,
        ".gitattributes .pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml .simple-git-hooks.json lefthook.yml \
         lefthook.yaml lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml lefthook-local.yml .lefthook-local.yml",
    ),
    (
        RunBy::Shell,
        ".envrc .bashrc .bash_profile .bash_login .profile .zshrc .zshenv .zprofile .zlogin",
    ),
    (
        RunBy::Tool,
        "mise.toml .mise.toml mise.local.toml .mise.local.toml .config/mise.toml .config/mise/config.toml .tool-versions \
         .cargo/config.toml .cargo/config rust-toolchain.toml .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs bunfig.toml \
         .Rprofile .irbrc .pryrc",
    ),
    (
        RunBy::Editor,
        ".devcontainer.json .exrc .vimrc .nvimrc .nvim.lua .lvimrc .dir-locals.el .dir-locals-2.el",
    ),
    (
        RunBy::Agent,
        ".mcp.json opencode.json opencode.jsonc .opencode.json kilo.json kilo.jsonc crush.json .crush.json .aider.conf.yml",
    ),
    (RunBy::Ralph, ".ralph/config.json .ralph/prompt.md"),
];
/// Ends of the names of files with the settings of an editor for a whole project.
const WORKSPACES: &str = "code-workspace sublime-project";
/// The names of directories that tools fill and nobody opens as a project, and of work trees that agents make.
const FILLED: &str = "node_modules __pycache__ .venv venv .tox target worktrees";
/// Files that an editor rewrites all the time, and that run nothing unasked.
const REWRITTEN: &str = "workspace.xml";

impl Place {
    pub(super) fn new(path: PathBuf, by: RunBy, content: Content) -> Place {
        Place { path, by, content }
    }
}

/// Returns the files of a project, and of the repositories in it, that make programs run unasked, also those that may
/// appear.
pub(super) fn places_of(project: &Path) -> Vec<Place> {
    let mut found = Vec::new();
    // Breadth first, so that many directories far down hide none further up.
    let mut queue = VecDeque::from([project.to_owned()]);
    let mut looked_at = 0;
    while let Some(directory) = queue.pop_front() {
        if looked_at == DIRECTORIES_CAP {
            found.push(Place::new(directory, RunBy::Unknown, Content::All));
            break;
        }
        looked_at += 1;
        let entries: Vec<DirEntry> = fs::read_dir(&directory).into_iter().flatten().flatten().collect();
        let has = |name: &str| entries.iter().any(|entry| entry.file_name() == *name);
        // These names make a directory a repository for git.
        if has("HEAD") && has("objects") && has("refs") {
            places_of_git(&directory, &mut found);
            continue;
        }
        for entry in &entries {
            place_of_entry(entry, &mut queue, &mut found);
        }
    }
    found
}

fn place_of_entry(entry: &DirEntry, queue: &mut VecDeque<PathBuf>, found: &mut Vec<Place>) {
    let (path, name) = (entry.path(), entry.file_name());
    let Some(name) = name.to_str() else { return };
    if name == ".git" {
        places_of_git(&repository_at(&path), found);
        return;
    }
    let ends = |ends: &str| ends.split(' ').any(|end| end.ends_with(name) && path.ends_with(end));
    if let Some((by, _)) = DIRECTORIES.iter().find(|(_, known)| ends(known)) {
        // Only executable files are hooks of git's; husky runs any.
        let content = match name {
            ".githooks" | ".git-hooks" => Content::Hook,
            _ => Content::All,
        };
        below(&path, *by, content, found);
        return;
    }
    let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
    if is_directory && !is_among(FILLED, name) {
        queue.push_back(path);
    } else if !is_directory {
        let known = FILES.iter().find(|(_, known)| ends(known));
        let end = path.extension().and_then(OsStr::to_str);
        let is_workspace = || end.is_some_and(|end| is_among(WORKSPACES, end));
        let by = known.map(|(by, _)| *by).or(is_workspace().then_some(RunBy::Editor));
        if let Some(by) = by {
            let content = match name {
                ".gitattributes" => Content::Attributes,
                _ => Content::All,
            };
            found.push(Place::new(path, by, content));
        }
    }
}

/// Adds the files of a directory of git's, of the one that it shares with other work trees, and of submodules in them.
pub(super) fn places_of_git(git: &Path, found: &mut Vec<Place>) {
    let common = pointer(&git.join("commondir"), "");
    let mut queue: VecDeque<PathBuf> = common.into_iter().chain([git.to_owned()]).collect();
    for _ in 0..FILES_CAP {
        let Some(git) = queue.pop_front() else { return };
        let is_above_submodules = git.ends_with("modules") || !git.join("HEAD").exists();
        let modules = if is_above_submodules {
            git.clone()
        } else {
            git.join("modules")
        };
        let below_it = fs::read_dir(modules).into_iter().flatten().take(FILES_CAP).flatten();
        let directories = below_it.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        queue.extend(directories.map(|entry| entry.path()));
        below(&git.join("hooks"), RunBy::Git, Content::Hook, found);
        for (name, content) in [
            ("config", Content::Settings),
            ("config.worktree", Content::Settings),
            ("info/attributes", Content::Attributes),
        ] {
            found.push(Place::new(git.join(name), RunBy::Git, content));
        }
    }
}

/// Adds the files below a directory, except git's sample hooks.
pub(super) fn below(directory: &Path, by: RunBy, content: Content, found: &mut Vec<Place>) {
    let mut looked_at = 0;
    let mut queue = VecDeque::from([directory.to_owned()]);
    while let Some(directory) = queue.pop_front() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if looked_at == FILES_CAP {
                found.push(Place::new(directory, RunBy::Unknown, Content::All));
                return;
            }
            looked_at += 1;
            let (path, name) = (entry.path(), entry.file_name());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && !name.to_str().is_some_and(|name| is_among(FILLED, name)) {
                queue.push_back(path);
            } else if !is_directory && name != *REWRITTEN && path.extension().is_none_or(|end| end != "sample") {
                found.push(Place::new(path, by, content));
            }
        }
    }
}

fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

/// Returns the directory of git's at a `.git`, which may be a file that names it.
fn repository_at(path: &Path) -> PathBuf {
    pointer(path, "gitdir: ").unwrap_or_else(|| path.to_owned())
}

/// Returns the path that a file names behind `prefix`; `None` if it names none.
fn pointer(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = files::read_text(file, POINTER_CAP_BYTES).ok()?;
    let named = file.parent()?.join(text.trim_end().strip_prefix(prefix)?);
    Some(named.canonicalize().unwrap_or(named))
}
