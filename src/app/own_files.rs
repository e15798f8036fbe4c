//! The project's own files for ralph. They are read once, so that the files used are the files that were checked for
//! trust.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use ralph_core::event::{Goal, Mode};
use ralph_plan::PlanKind;
use ralph_policy::{settings::from_json, trust::OwnFile};
use ralph_system::files::{self, Directory, PLAN_CAP_BYTES, PROMPT_CAP_BYTES, ReadError};

use crate::config::{ProjectContent, ProjectFile};

/// The project's settings, adapters, engines, test runners and prompts. Code without this value cannot use them.
#[derive(Debug, Clone)]
pub(crate) struct OwnFiles {
    pub(crate) config: ProjectFile,
    pub(super) adapters: Directory,
    pub(super) engines: Directory,
    pub(super) runners: Directory,
    /// The prompt in `.ralph`, and the one that the project's settings name.
    prompts: Vec<PromptFile>,
    /// The plans that are used if the user names none, with the commands that check their tasks.
    plans: Vec<(PathBuf, String)>,
}

#[derive(Debug, Clone)]
struct PromptFile {
    path: PathBuf,
    text: Result<String, ReadError>,
}

impl OwnFiles {
    /// No files, as for a project that is not trusted.
    pub(super) fn none(project: &Path) -> Self {
        Self {
            config: ProjectFile {
                path: config(project),
                content: ProjectContent::Missing,
            },
            adapters: Directory::default(),
            engines: Directory::default(),
            runners: Directory::default(),
            prompts: Vec::new(),
            plans: Vec::new(),
        }
    }

    /// Reads the existing files.
    pub(crate) fn read(project: &Path) -> Self {
        let config = ProjectFile::read(config(project));
        let own = own_prompt(project);
        let named = named_prompt(&config).map(|path| project.join(path));
        let prompts = [own].into_iter().chain(named).map(|path| PromptFile {
            text: files::read_text(&path, PROMPT_CAP_BYTES),
            path,
        });
        Self {
            adapters: Directory::read(&project.join(".ralph").join("adapters")),
            engines: Directory::read(&project.join(".ralph").join("engines")),
            runners: Directory::read(&project.join(".ralph").join("runners")),
            prompts: prompts.collect(),
            plans: checking_plans(project, &config),
            config,
        }
    }

    /// Every file that was read, with its text, in the form that is trusted.
    pub(crate) fn texts(&self, project: &Path) -> Vec<OwnFile> {
        let config = match &self.config.content {
            ProjectContent::Text(text) => Some((&self.config.path, text)),
            ProjectContent::Missing | ProjectContent::Untrusted | ProjectContent::Unreadable(_) => None,
        };
        let described = [&self.adapters, &self.engines, &self.runners];
        let described = described.into_iter().flat_map(|directory| &directory.files);
        let described = described.filter_map(|file| Some((&file.path, file.text.as_ref().ok()?)));
        let prompts = self.prompts.iter();
        let prompts = prompts.filter_map(|prompt| Some((&prompt.path, prompt.text.as_ref().ok()?)));
        let plans = self.plans.iter().map(|(path, checks)| (path, checks));
        let all = config.into_iter().chain(described).chain(prompts).chain(plans);
        all.map(|(path, text)| OwnFile {
            name: name(project, path),
            text: text.clone(),
            leads_to: leads_to(project, path),
        })
        .collect()
    }

    /// Drops all content, since it is not trusted. Files that could not be read are kept, so that the error is
    /// reported.
    #[must_use]
    pub(crate) fn untrusted(mut self) -> Self {
        if let ProjectContent::Text(_) = self.config.content {
            self.config.content = ProjectContent::Untrusted;
        }
        self.adapters.files.retain(|file| file.text.is_err());
        self.engines.files.retain(|file| file.text.is_err());
        self.runners.files.retain(|file| file.text.is_err());
        self.prompts.retain(|prompt| prompt.text.is_err());
        self.plans.clear();
        self
    }

    /// The result of reading a prompt; `None` if the path is not one of the project's own prompts.
    pub(super) fn prompt(&self, path: &Path) -> Option<&Result<String, ReadError>> {
        let found = self.prompts.iter().find(|prompt| prompt.path == path);
        found.map(|prompt| &prompt.text)
    }
}

fn config(project: &Path) -> PathBuf {
    project.join(".ralph").join("config.json")
}

/// The prompt used if no setting names another.
pub(super) fn own_prompt(project: &Path) -> PathBuf {
    project.join(".ralph").join("prompt.md")
}

/// The prompt file that the project's settings name.
fn named_prompt(config: &ProjectFile) -> Option<PathBuf> {
    named(config, "promptFile")
}

/// The file that the project's settings name with `key`.
fn named(config: &ProjectFile, key: &str) -> Option<PathBuf> {
    let ProjectContent::Text(text) = &config.content else {
        return None;
    };
    let (root, _) = from_json(&config.path, text).ok()?;
    Some(PathBuf::from(root?.get(key)?.text()?))
}

/// The plans with checks, of those that a run may choose by itself.
fn checking_plans(project: &Path, config: &ProjectFile) -> Vec<(PathBuf, String)> {
    let named = named(config, "plan");
    let modes = [None].into_iter().chain(Mode::ALL.map(Some));
    let chosen = modes.filter_map(|mode| ralph_plan::choose(project, named.as_deref(), mode, Path::exists).ok());
    let paths: BTreeSet<PathBuf> = chosen.map(|chosen| chosen.path).collect();
    paths.into_iter().filter_map(with_checks).collect()
}

/// A plan and the commands that check its tasks, one a line; `None` if no task has a check. The other contents of a plan
/// start nothing. The tasks themselves are left out, as agents tick them and add notes.
fn with_checks(path: PathBuf) -> Option<(PathBuf, String)> {
    let bytes = files::read_bytes(&path, PLAN_CAP_BYTES).ok()?;
    let reading = ralph_plan::parse_bytes(PlanKind::from_path(&path), &bytes).ok()?;
    let checks: Vec<Goal> = ralph_plan::checks(&reading, 0);
    let lines: String = checks.into_iter().map(|check| check.command + "\n").collect();
    (!lines.is_empty()).then_some((path, lines))
}

fn name(project: &Path, path: &Path) -> String {
    let name = path.strip_prefix(project).unwrap_or(path);
    name.to_string_lossy().into_owned()
}

/// The real path of a file, if it is reached by a link.
fn leads_to(project: &Path, path: &Path) -> Option<String> {
    let real = fs::canonicalize(path).ok().filter(|real| real != path)?;
    Some(name(project, &real))
}
