//! The goals with the yardstick as it was: all that the run changed and the product is not made of.

use std::{collections::BTreeSet, path::Path};

use ralph_core::event::{Goal, GoalResult};
use ralph_gate::guard::{FileContent, GuardError, Originals, YardstickFile, YardstickKind, yardstick};

use super::{
    super::goals::{CheckedGoal, all_passed},
    bite::contains_word,
    in_place::InPlace,
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
        commands.any(|command| contains_word(command, name))
    };
    files.retain(|file| !accepted.contains(&file.path) && !is_awaited(file));
    Ok(files)
}

/// The search for the files without which the goals do not pass, beside the originals that are in place.
pub(super) struct Search {
    held: InPlace,
    files: Vec<YardstickFile>,
    /// For each file, whether its earlier content is in place.
    is_as_before: Vec<bool>,
    /// The results with all files as they were, where the goals did not pass so.
    failed: Option<Vec<CheckedGoal>>,
}

impl Search {
    pub(super) fn new(files: Vec<YardstickFile>, held: &InPlace) -> Self {
        Search {
            held: held.clone(),
            is_as_before: vec![false; files.len()],
            files,
            failed: None,
        }
    }

    /// Runs the goals with the yardstick as it was. Returns the results if they pass: then they answer for the originals as
    /// well. With new tests, which are altered beside the originals later, they do not.
    ///
    /// # Errors
    /// [`GuardError`] if a file cannot be replaced. The agent's files are restored then.
    pub(super) async fn passing<Running: Future<Output = Vec<CheckedGoal>>>(
        &mut self,
        run: impl Fn() -> Running,
    ) -> Result<Option<Vec<CheckedGoal>>, GuardError> {
        if self.files.is_empty() || self.files.iter().any(|file| file.kind == YardstickKind::Test) {
            return Ok(None);
        }
        self.arrange(&[]).await?;
        let results = run().await;
        self.arrange(&self.all()).await?;
        if all_passed(&results) {
            return Ok(Some(results));
        }
        self.failed = Some(results);
        Ok(None)
    }

    /// The files, which are all in place as the run left them at first.
    pub(super) fn files(&self) -> &[YardstickFile] {
        &self.files
    }

    /// Returns the results `at_start`, if all goals passed then: with the files as they were, these are the files of the start,
    /// unless packages differ.
    pub(super) fn as_at_start(&self, goals: &[Goal], at_start: &[GoalResult]) -> Option<Vec<CheckedGoal>> {
        if self.files.iter().any(|file| file.kind == YardstickKind::Dependencies) {
            return None;
        }
        let result = |goal: &Goal| {
            let result = at_start
                .iter()
                .find(|result| result.name == goal.name && result.passed)?;
            Some(CheckedGoal {
                result: result.clone(),
                report: None,
                output: String::new(),
            })
        };
        goals.iter().map(result).collect()
    }

    fn all(&self) -> Vec<usize> {
        (0..self.files.len()).collect()
    }

    /// Runs the goals with all files as they were. If they fail, gives groups of the files back to find the smallest that
    /// explains it; returns `None` if the goals pass, or need no more than other dependencies. All files are the agent's
    /// again afterwards.
    ///
    /// # Errors
    /// [`GuardError`] if a file cannot be replaced. The agent's files are restored then.
    pub(super) async fn needed<Running: Future<Output = Vec<CheckedGoal>>>(
        mut self,
        run: impl Fn() -> Running,
    ) -> Result<Option<Needed>, GuardError> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let all = self.all();
        let of = |search: &Self, kind: YardstickKind| -> Vec<usize> {
            let files = search.files.iter().enumerate();
            files.filter(|(_, file)| file.kind == kind).map(|(at, _)| at).collect()
        };
        let dependencies = of(&self, YardstickKind::Dependencies);
        let mut results = match self.failed.take() {
            Some(failed) => failed,
            None => {
                self.arrange(&[]).await?;
                run().await
            }
        };
        if !all_passed(&results) && !dependencies.is_empty() {
            self.arrange(&dependencies).await?;
            results = run().await;
        }
        if all_passed(&results) {
            self.arrange(&all).await?;
            return Ok(None);
        }
        let kinds = [
            YardstickKind::Changed,
            YardstickKind::Named,
            YardstickKind::New,
            YardstickKind::Test,
        ];
        let groups = kinds.map(|kind| of(&self, kind)).into_iter();
        let groups: Vec<Vec<usize>> = groups.filter(|group| !group.is_empty()).collect();
        let mut needed = groups.concat();
        // One group alone is known to be the reason.
        if groups.len() > 1 {
            self.narrow(&dependencies, groups, &mut needed, &run).await?;
        }
        if (2..=ALONE).contains(&needed.len()) {
            let files = needed.iter().map(|file| vec![*file]).collect();
            self.narrow(&dependencies, files, &mut needed, &run).await?;
        }
        self.arrange(&all).await?;
        let files = needed.into_iter().map(|at| self.files[at].clone()).collect();
        Ok(Some(Needed { files, results }))
    }

    /// Gives one of `parts` back after the other, beside the dependencies. The first with which the goals pass is `needed`.
    async fn narrow<Running: Future<Output = Vec<CheckedGoal>>>(
        &mut self,
        dependencies: &[usize],
        parts: Vec<Vec<usize>>,
        needed: &mut Vec<usize>,
        run: impl Fn() -> Running,
    ) -> Result<(), GuardError> {
        for part in parts {
            self.arrange(&[dependencies, &part].concat()).await?;
            if all_passed(&run().await) {
                *needed = part;
                break;
            }
        }
        Ok(())
    }

    /// Puts all files as they were, but for those that are `given_back`.
    async fn arrange(&mut self, given_back: &[usize]) -> Result<(), GuardError> {
        let mut puts = Vec::new();
        for (at, file) in self.files.iter().enumerate() {
            let as_before = !given_back.contains(&at);
            if std::mem::replace(&mut self.is_as_before[at], as_before) != as_before {
                let content = if as_before { &file.before } else { &file.now };
                puts.push((file.path.clone(), content.clone()));
            }
        }
        self.held.put(puts).await
    }
}
