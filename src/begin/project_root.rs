//! The files of a project, or of a part of one, as far as they tell how it is tested.

use std::{
    cell::OnceCell,
    fs,
    path::{Path, PathBuf},
};

use ralph_system::files::read_text;
use ralph_text::path_glob::{PathGlob, parts};
use serde_json::Value;

use super::ci::{self, Step};

/// Maximum size of a file that is read.
const CAP_BYTES: u64 = 1 << 20;
/// Maximum number of files read in a directory.
pub(super) const FILES_CAP: usize = 64;
/// Levels of hidden directories at which files that run something are looked for.
const LEVELS: usize = 2;
/// Directories that contain no part of a project.
pub(super) const NO_PARTS: [&str; 6] = ["build", "dist", "node_modules", "target", "vendor", "venv"];
/// Files that mark directories which tools have made: caches, and environments of Python.
const MADE: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];
/// Ends of the names of files that describe and list, and run nothing.
const NO_AUTOMATION: [&str; 7] = [".md", ".rst", ".txt", ".adoc", ".lock", "-lock.json", "-lock.yaml"];

/// A directory with a project.
pub(super) struct ProjectRoot<'a> {
    directory: PathBuf,
    /// Its path from the directory in which commands begin.
    part: &'a str,
    /// The steps of [`ProjectRoot::ci`], once they are asked for.
    ci: OnceCell<Vec<Step>>,
}

impl<'a> ProjectRoot<'a> {
    /// The part of the project `top` that is at the relative path `part`.
    pub(super) fn new(top: &Path, part: &'a str) -> Self {
        let directory = top.join(part);
        let ci = OnceCell::new();
        Self { directory, part, ci }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.directory.join(name).exists()
    }

    /// The text of a file; empty if it cannot be read.
    pub(super) fn text(&self, name: &str) -> String {
        read_text(&self.directory.join(name), CAP_BYTES).unwrap_or_default()
    }

    pub(super) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap_or_default()
    }

    /// The first file or directory that a glob matches.
    pub(super) fn find(&self, glob: &PathGlob) -> Option<String> {
        let below = glob.pattern().rsplit_once('/').map_or("", |(below, _)| below);
        let names = self.entries(below).into_iter().map(|(name, _)| match below {
            "" => name,
            below => format!("{below}/{name}"),
        });
        names.into_iter().find(|path| glob.matches(&parts(path)))
    }

    /// The names in a directory, each with whether it is a directory, sorted.
    pub(super) fn entries(&self, below: &str) -> Vec<(String, bool)> {
        let entries = fs::read_dir(self.directory.join(below)).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            Some((entry.file_name().into_string().ok()?, is_directory))
        });
        let mut named: Vec<_> = named.collect();
        named.sort_unstable();
        named
    }

    /// Whether tools have made a directory.
    pub(super) fn is_made(&self, below: &str) -> bool {
        MADE.iter().any(|mark| self.has(&format!("{below}/{mark}")))
    }

    /// The path to a virtual environment of Python, of this part or of the project around it; it may not be activated.
    pub(super) fn virtual_env(&self) -> Option<String> {
        let levels = Path::new(self.part).components().count();
        (0..=levels).find_map(|up| {
            let way = "../".repeat(up);
            let mut found = self.entries(&way).into_iter().map(|(name, _)| format!("{way}{name}"));
            found.find(|path| self.has(&format!("{path}/pyvenv.cfg")) && self.has(&format!("{path}/bin/python")))
        })
    }

    /// The command with which the project itself runs `tool`, and the file that says so: its CI, hooks, tasks and scripts, which are
    /// at its top and in hidden directories.
    pub(super) fn runs(&self, tool: &str) -> Option<(String, String)> {
        self.automation().into_iter().find_map(|file| {
            let command = self.text(&file).lines().find_map(|line| command_in(line, tool))?;
            Some((command, file))
        })
    }

    /// The steps of the project's CI; of GitHub's, those on pull requests: they run on work of strangers, so that they publish
    /// nothing.
    pub(super) fn ci(&self) -> &[Step] {
        self.ci.get_or_init(|| {
            let files = self.automation().into_iter().filter(|path| {
                let is_of_ci = path.starts_with('.') || path.contains("pipelines");
                is_of_ci && (path.ends_with(".yml") || path.ends_with(".yaml"))
            });
            let texts = files.map(|path| (self.text(&path), path));
            let of_changes =
                texts.filter(|(text, path)| !path.starts_with(".github/") || text.contains("pull_request"));
            of_changes.flat_map(|(text, _)| ci::steps(&text)).collect()
        })
    }

    /// The single commands of [`ProjectRoot::ci`].
    pub(super) fn ci_commands(&self) -> impl Iterator<Item = &str> {
        self.ci().iter().flat_map(Step::plain)
    }

    /// Whether the project lists `tool` among its hooks of pre-commit.
    pub(super) fn hooks(&self, tool: &str) -> bool {
        let hooks = self.text(".pre-commit-config.yaml");
        let is_hook = |line: &str| {
            line.trim_start_matches(['-', ' '])
                .strip_prefix("id:")
                .is_some_and(|id| id.trim() == tool)
        };
        hooks.lines().any(is_hook)
    }

    /// The files that may run something.
    fn automation(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut directories = vec![String::new()];
        while let Some(below) = directories.pop() {
            for (name, is_directory) in self.entries(&below).into_iter().take(FILES_CAP) {
                let path = format!("{below}{name}");
                let is_hidden = path.starts_with('.') && path.matches('/').count() < LEVELS && name != ".git";
                match is_directory {
                    true if is_hidden && !self.is_made(&path) => directories.push(format!("{path}/")),
                    true => {}
                    false if NO_AUTOMATION.iter().any(|end| name.ends_with(end)) => {}
                    false => files.push(path),
                }
            }
        }
        files
    }
}

/// The command that runs `tool` in a line of a script, a Makefile or a CI file. A command with variables cannot be told.
fn command_in(line: &str, tool: &str) -> Option<String> {
    let line = line.trim();
    let at = line.find(tool).filter(|_| !line.starts_with('#'))?;
    let (before, rest) = (line[..at].trim_end(), &line[at + tool.len()..]);
    let is_key = before.ends_with(':') && !before.ends_with("name:") && !before.ends_with("id:");
    let is_behind = ["-", "=", "&&", "-m", " run", "npx", "@"]
        .iter()
        .any(|end| before.ends_with(end));
    let starts = before.is_empty() || is_key || is_behind;
    let is_whole = rest.is_empty() || rest.starts_with([' ', '\'', '"']);
    let is_value = rest.trim_start().starts_with(['=', ':', '<', '>', '~', '^']);
    if !starts || !is_whole || is_value {
        return None;
    }
    // tox puts the arguments of its command line there: usually none.
    let rest = rest.split("{posargs").next().unwrap_or_default();
    let rest = rest
        .split(['&', ';', '|', '#', '\'', '"'])
        .next()
        .unwrap_or_default()
        .trim();
    // A name alone on its line may be one of a list.
    if before.is_empty() && rest.is_empty() && !tool.contains(' ') {
        return None;
    }
    let is_plain = !rest.contains(['$', '{', '(', ',', '\\', '<', '>']);
    is_plain.then(|| format!("{tool} {rest}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_where_files_run_it_and_not_where_they_name_it() {
        for (line, command) in [
            (
                "      - run: cargo clippy --tests -- -Dclippy::all",
                Some("cargo clippy --tests -- -Dclippy::all"),
            ),
            ("\t@cargo clippy", Some("cargo clippy")),
            ("cargo fmt --check && cargo clippy --all", Some("cargo clippy --all")),
            ("  entry: cargo clippy # all", Some("cargo clippy")),
            ("    name: cargo clippy", None),
            ("# cargo clippy", None),
            ("Then cargo clippy is run", None),
            ("  - run: cargo clippy ${{ matrix.flags }}", None),
            ("cargo clippy-driver", None),
        ] {
            assert_eq!(command_in(line, "cargo clippy").as_deref(), command, "{line}");
        }
        for (line, command) in [
            ("commands = mypy src tests", Some("mypy src tests")),
            ("    uv run mypy", Some("mypy")),
            ("    python -m mypy src", Some("mypy src")),
            ("mypy = \"^1.0\"", None),
            ("  - pip install mypy", None),
            ("mypy==1.2", None),
            ("    mypy", None),
            ("    mypy . {posargs}", Some("mypy .")),
            ("  \"mypy\",", None),
        ] {
            assert_eq!(command_in(line, "mypy").as_deref(), command, "{line}");
        }
    }
}
