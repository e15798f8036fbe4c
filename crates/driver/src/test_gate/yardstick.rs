//! The goals with the yardstick as it was: all that the run changed and the product is not made of.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use ralph_core::event::Goal;
use ralph_gate::guard::{FileContent, GuardError, Originals, YardstickFile, YardstickKind, yardstick};

use super::{
    super::goals::{CheckedGoal, all_passed},
    bite::contains_word,
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
        commands.any(|command| contains_word(command, name))
    };
    files.retain(|file| !accepted.contains(&file.path) && !is_awaited(file));
    Ok(files)
}

/// What the yardstick is found by, and the goals that are run with it as it was.
#[derive(Clone, Copy)]
pub(super) struct Measured<'m> {
    pub(super) project: &'m Path,
    pub(super) originals: &'m Arc<Originals>,
    /// The paths of changes that the user has accepted.
    pub(super) accepted: &'m BTreeSet<String>,
    pub(super) goals: &'m [Goal],
}

impl Measured<'_> {
    /// Finds the yardstick; `None` if the run has changed nothing of it. The changed files `before` the work are handed back.
    async fn search(
        self,
        before: Vec<(String, FileContent)>,
    ) -> Result<(Option<Search>, Vec<(String, FileContent)>), GuardError> {
        let (project, originals) = (self.project.to_owned(), Arc::clone(self.originals));
        let (accepted, goals) = (self.accepted.clone(), self.goals.to_vec());
        let find = move || Ok((find(&originals, &project, &before, &accepted, &goals)?, before));
        let (files, before) = blocking(find).await?;
        Ok(((!files.is_empty()).then(|| Search::new(files)), before))
    }

    /// Runs the goals with the yardstick as it was, beside the originals that are in place. Returns the results if they pass:
    /// then they answer for both. With new tests, which are altered beside the originals later, they do not. The content of the
    /// changed files `before` the work is handed back.
    ///
    /// # Errors
    /// [`GuardError`] if a file cannot be read or replaced. The agent's files are restored then.
    pub(super) async fn passing<Running: Future<Output = Vec<CheckedGoal>>>(
        self,
        held: InPlace,
        before: Vec<(String, FileContent)>,
        run: impl Fn(Vec<Goal>) -> Running,
    ) -> Result<(InPlace, Vec<(String, FileContent)>, Option<Vec<CheckedGoal>>), GuardError> {
        let (search, before) = self.search(before).await?;
        let has_new_tests = |search: &Search| search.files.iter().any(|file| file.kind == YardstickKind::Test);
        let Some(mut search) = search.filter(|search| !has_new_tests(search)) else {
            return Ok((held, before, None));
        };
        let held = search.arranged(held, &[]).await?;
        let results = run(self.goals.to_vec()).await;
        let all = search.all();
        let held = search.arranged(held, &all).await?;
        Ok((held, before, all_passed(&results).then_some(results)))
    }

    /// Runs the goals with the yardstick as it was, and returns the files that they need of it. The content of the changed
    /// files `before` the work is handed back.
    ///
    /// # Errors
    /// [`GuardError`] if a file cannot be read or replaced. The agent's files are restored then.
    pub(super) async fn needed<Running: Future<Output = Vec<CheckedGoal>>>(
        self,
        held: InPlace,
        before: Vec<(String, FileContent)>,
        run: impl Fn(Vec<Goal>) -> Running,
    ) -> Result<(InPlace, Vec<(String, FileContent)>, Option<Needed>), GuardError> {
        let (search, before) = self.search(before).await?;
        let Some(search) = search else {
            return Ok((held, before, None));
        };
        let (held, needed) = search.needed(held, || run(self.goals.to_vec())).await?;
        Ok((held, before, needed))
    }
}

/// The search for the files without which the goals do not pass.
struct Search {
    files: Vec<YardstickFile>,
    /// For each file, whether its earlier content is in place.
    is_as_before: Vec<bool>,
}

impl Search {
    fn new(files: Vec<YardstickFile>) -> Self {
        Search {
            is_as_before: vec![false; files.len()],
            files,
        }
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
    async fn needed<Running: Future<Output = Vec<CheckedGoal>>>(
        mut self,
        mut held: InPlace,
        run: impl Fn() -> Running,
    ) -> Result<(InPlace, Option<Needed>), GuardError> {
        let all = self.all();
        let of = |search: &Self, kind: YardstickKind| -> Vec<usize> {
            let files = search.files.iter().enumerate();
            files.filter(|(_, file)| file.kind == kind).map(|(at, _)| at).collect()
        };
        let dependencies = of(&self, YardstickKind::Dependencies);
        held = self.arranged(held, &[]).await?;
        let mut results = run().await;
        if !all_passed(&results) && !dependencies.is_empty() {
            held = self.arranged(held, &dependencies).await?;
            results = run().await;
        }
        if all_passed(&results) {
            return Ok((self.arranged(held, &all).await?, None));
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
            held = self.narrowed(held, &dependencies, groups, &mut needed, &run).await?;
        }
        if (2..=ALONE).contains(&needed.len()) {
            let files = needed.iter().map(|file| vec![*file]).collect();
            held = self.narrowed(held, &dependencies, files, &mut needed, &run).await?;
        }
        held = self.arranged(held, &all).await?;
        let files = needed.into_iter().map(|at| self.files[at].clone()).collect();
        Ok((held, Some(Needed { files, results })))
    }

    /// Gives one of `parts` back after the other, beside the dependencies. The first with which the goals pass is `needed`.
    async fn narrowed<Running: Future<Output = Vec<CheckedGoal>>>(
        &mut self,
        mut held: InPlace,
        dependencies: &[usize],
        parts: Vec<Vec<usize>>,
        needed: &mut Vec<usize>,
        run: impl Fn() -> Running,
    ) -> Result<InPlace, GuardError> {
        for part in parts {
            held = self.arranged(held, &[dependencies, &part].concat()).await?;
            if all_passed(&run().await) {
                *needed = part;
                break;
            }
        }
        Ok(held)
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
