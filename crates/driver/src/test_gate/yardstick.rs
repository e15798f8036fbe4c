//! The goals with the yardstick as it was: all that the run changed and the product is not made of.

use std::{collections::BTreeSet, path::Path};

use ralph_core::event::Goal;
use ralph_gate::guard::{FileContent, GuardError, Originals, YardstickFile, YardstickKind, yardstick};
use ralph_text::whole_words;

use super::{
    super::goals::CheckedGoal,
    in_place::{InPlace, blocking},
};

/// Maximum number of files of which each is tried alone.
const ALONE: usize = 4;

/// Files without which the goals do not pass, and the results without them.
pub(super) struct Needed {
    pub(super) files: Vec<YardstickFile>,
    pub(super) results: Vec<CheckedGoal>,
}

/// Returns the yardstick among the changed files, each as it was `before`. What the user has `accepted` is not part of it.
pub(super) fn find(
    originals: &Originals,
    project: &Path,
    before: &[(String, FileContent)],
    accepted: &BTreeSet<String>,
    goals: &[Goal],
) -> Result<Vec<YardstickFile>, GuardError> {
    let mut files = yardstick(originals, project, before)?;
    // A goal may name a file that is still to be written, and tests by their module.
    let is_awaited = |file: &YardstickFile| {
        let stem = Path::new(&file.path).file_stem().and_then(|stem| stem.to_str());
        let name = match file.kind {
            YardstickKind::Test => stem.unwrap_or(&file.path),
            YardstickKind::New => &file.path,
            YardstickKind::Changed | YardstickKind::Named | YardstickKind::Dependencies => return false,
        };
        let mut commands = goals.iter().map(|goal| goal.command.as_str());
        commands.any(|command| whole_words(command, name).next().is_some())
    };
    files.retain(|file| !accepted.contains(&file.path) && !is_awaited(file));
    Ok(files)
}

/// The search for the files without which the goals do not pass.
pub(super) struct Search {
    files: Vec<YardstickFile>,
    /// For each file, whether its earlier content is in place.
    is_as_before: Vec<bool>,
}

impl Search {
    pub(super) fn new(files: Vec<YardstickFile>) -> Self {
        Search {
            is_as_before: vec![false; files.len()],
            files,
        }
    }

    /// Runs the goals with all files as they were. If they fail, gives groups of the files back to find the smallest that
    /// explains it; returns `None` if the goals pass, or need no more than other dependencies. All files are the agent's
    /// again afterwards.
    ///
    /// # Errors
    /// [`GuardError`] if a file cannot be replaced. The agent's files are restored then.
    pub(super) async fn needed<Running: Future<Output = Vec<CheckedGoal>>>(
        mut self,
        mut held: InPlace,
        run: impl Fn() -> Running,
    ) -> Result<(InPlace, Option<Needed>), GuardError> {
        let all: Vec<usize> = (0..self.files.len()).collect();
        let of = |search: &Self, kind: YardstickKind| -> Vec<usize> {
            let files = search.files.iter().enumerate();
            files.filter(|(_, file)| file.kind == kind).map(|(at, _)| at).collect()
        };
        let dependencies = of(&self, YardstickKind::Dependencies);
        held = self.arranged(held, &[]).await?;
        let mut results = run().await;
        if !passes(&results) && !dependencies.is_empty() {
            held = self.arranged(held, &dependencies).await?;
            results = run().await;
        }
        if passes(&results) {
            return Ok((self.arranged(held, &all).await?, None));
        }
        let kinds = [
            YardstickKind::Changed,
            YardstickKind::Named,
            YardstickKind::New,
            YardstickKind::Test,
        ];
        let groups: Vec<Vec<usize>> = kinds
            .map(|kind| of(&self, kind))
            .into_iter()
            .filter(|group| !group.is_empty())
            .collect();
        let mut needed: Vec<usize> = groups.concat();
        let alone: Vec<Vec<usize>> = match groups.len() {
            0 | 1 => Vec::new(),
            _ => groups,
        };
        for group in alone {
            held = self.arranged(held, &[&dependencies[..], &group].concat()).await?;
            if passes(&run().await) {
                needed = group;
                break;
            }
        }
        if (2..=ALONE).contains(&needed.len()) {
            for file in needed.clone() {
                held = self.arranged(held, &[&dependencies[..], &[file]].concat()).await?;
                if passes(&run().await) {
                    needed = vec![file];
                    break;
                }
            }
        }
        held = self.arranged(held, &all).await?;
        let files = needed.into_iter().map(|at| self.files[at].clone()).collect();
        Ok((held, Some(Needed { files, results })))
    }

    /// Puts all files as they were, but for those that are `given_back`.
    async fn arranged(&mut self, held: InPlace, given_back: &[usize]) -> Result<InPlace, GuardError> {
        let mut puts = Vec::new();
        for (at, file) in self.files.iter().enumerate() {
            let as_before = !given_back.contains(&at);
            if std::mem::replace(&mut self.is_as_before[at], as_before) != as_before {
                let content = if as_before { &file.before } else { &file.now };
                puts.push((file.path.clone(), content.clone()));
            }
        }
        blocking(move || held.put(&puts)).await
    }
}

fn passes(results: &[CheckedGoal]) -> bool {
    results.iter().all(|checked| checked.result.passed)
}
