//! The manifest: projects, their commits, and the questions that a reviewer would ask, too.

use std::collections::BTreeMap;

use serde::Deserialize;

const TEXT: &str = include_str!("commits.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub project: Vec<Project>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// The owner and the name, as the fetcher needs them.
    pub repository: String,
    pub language: String,
    /// A shell command that installs what the tests need, as the project's own instructions say.
    #[serde(default)]
    pub ready: String,
    /// Parts of the goals that run what its CI tests with on one machine.
    #[serde(default)]
    pub tests: Vec<String>,
    /// A shell command that makes commits of what the repository has. Its arguments are their names, which become tags.
    #[serde(default)]
    pub make: String,
    /// The goal of such a commit, with NAME for its name. It fails with the commit's tests alone, which are there first.
    #[serde(default)]
    pub goal: String,
    /// The kind of each commit.
    commits: BTreeMap<String, String>,
    /// For each commit about which a reviewer would have a question, the reason.
    #[serde(default)]
    questions: BTreeMap<String, String>,
}

/// A commit to be made again.
#[derive(Debug, Clone)]
pub struct Commit {
    pub id: String,
    pub kind: String,
    pub question: Option<String>,
}

impl Manifest {
    /// Returns the manifest of this bench.
    ///
    /// # Panics
    /// If it is not well formed.
    pub fn read() -> Manifest {
        toml::from_str(TEXT).expect("a well-formed manifest")
    }
}

impl Commit {
    /// Returns the project's name and the commit.
    pub fn name(&self, project: &Project) -> String {
        format!("{} {}", project.name(), self.id)
    }
}

impl Project {
    pub fn name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or_default()
    }

    pub fn commits(&self) -> impl Iterator<Item = Commit> {
        self.commits.iter().map(|(id, kind)| Commit {
            id: id.clone(),
            kind: kind.clone(),
            question: self.questions.get(id).cloned(),
        })
    }
}
