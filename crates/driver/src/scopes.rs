//! The files that the work on tasks has changed outside of their scopes.
//!
//! Only what differs between the checkpoints before and after iterations counts: what the user changes between iterations does
//! not, nor what other tasks change. A file that is as it was before the work on the task is not among them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_core::{
    event::{Checkpoint, LIST_CAP, PlanSnapshot, ScopedTask, Settings, has_grown},
    machine::ScopeFinding,
    run::TaskChanges,
};
use ralph_gate::guard::FileGuard;
use ralph_git::{GitError, Repository};
use ralph_plan::TaskScope;

use super::job_facts::SettleJob;

/// The scopes of a run.
pub(super) struct RunScopes {
    settings: Arc<Settings>,
    /// Tells files with tests, which belong to every scope.
    tests: FileGuard,
    project: PathBuf,
    /// The plan, and the file to which it leads.
    plan: Vec<PathBuf>,
}

/// The changed files that may be outside of a scope.
struct ChangedFiles {
    paths: BTreeSet<String>,
    is_complete: bool,
}

impl RunScopes {
    pub(super) fn new(settings: &Arc<Settings>, tests: FileGuard, project: &Path) -> Self {
        Self {
            settings: Arc::clone(settings),
            tests,
            project: project.to_owned(),
            plan: [settings.plan.clone()]
                .into_iter()
                .chain(settings.plan.canonicalize().ok())
                .collect(),
        }
    }

    /// The open tasks that have a scope, by their names: their ticks were not looked at.
    pub(super) fn unchecked(&self, before: &PlanSnapshot) -> BTreeSet<String> {
        let open = before.tasks.iter().filter(|task| !task.done);
        let scoped = open.filter_map(|task| before.scope_of(&self.settings.scopes, &task.text));
        scoped.map(|scoped| scoped.task).collect()
    }

    /// Checks the scopes of the task of an iteration and of those that it ticked. `now` is the plan with all its ticks.
    /// Returns the tasks whose ticks do not count.
    pub(super) fn check(
        &self,
        job: &SettleJob,
        now: &PlanSnapshot,
        repository: Option<&Repository>,
        after: Option<&Checkpoint>,
        findings: &mut Vec<ScopeFinding>,
    ) -> BTreeSet<String> {
        // The changes of a reviewer are undone.
        if job.is_review {
            return held_after(&job.scopes, &[]);
        }
        let ticked = ticked(&job.open, now);
        let given = job.task.as_deref();
        let texts: BTreeSet<&str> = ticked.iter().copied().chain(given).collect();
        let scopes: Vec<Option<ScopedTask>> = texts
            .iter()
            .map(|text| job.plan.scope_of(&self.settings.scopes, text))
            .collect();
        let scoped: BTreeMap<&str, &ScopedTask> = scopes
            .iter()
            .flatten()
            .map(|scoped| (scoped.task.as_str(), scoped))
            .collect();
        let is_ticked = |task: &str| {
            let ticked = ticked
                .iter()
                .filter_map(|text| job.plan.scope_of(&self.settings.scopes, text));
            ticked.into_iter().any(|scoped| scoped.task == task)
        };
        // A task without a scope, which is worked on as well, may change every file.
        let is_open = scopes.iter().any(Option::is_none);
        let union = TaskScope::new(scopes.iter().flatten().flat_map(|scoped| &scoped.only));
        let allowed = |path: &str| is_open || union.has(path);
        let found = scoped.into_values().map(|scoped| {
            let known = job.scopes.iter().find(|known| known.task == scoped.task);
            let found = repository
                .zip(job.before.as_ref().zip(after))
                .map(|(repository, (before, after))| self.outside(repository, scoped, known, (before, after), allowed));
            // Files that cannot be compared are not taken as unchanged.
            let (outside, more) = found.and_then(Result::ok).unwrap_or((Vec::new(), 1));
            ScopeFinding {
                ticked: is_ticked(&scoped.task),
                task: scoped.task.clone(),
                outside,
                more,
            }
        });
        findings.extend(found);
        held_after(&job.scopes, findings)
    }

    /// The files that the work on a task has changed outside of its scope, and the number of those beyond the first 100.
    fn outside(
        &self,
        repository: &Repository,
        scoped: &ScopedTask,
        known: Option<&TaskChanges>,
        (before, after): (&Checkpoint, &Checkpoint),
        allowed: impl Fn(&str) -> bool,
    ) -> Result<(Vec<String>, u64), GitError> {
        let since = known.and_then(|known| known.since.as_ref()).unwrap_or(before);
        let since_start = self.changed(repository, since, after)?;
        let own = TaskScope::new(&scoped.only);
        let is_listed = known.is_none_or(|known| known.more == 0) && since_start.is_complete;
        let mut outside: BTreeSet<String> = match is_listed {
            true => {
                let now = self.changed(repository, before, after)?;
                let new = now.paths.into_iter().filter(|path| !allowed(path));
                let earlier = known.iter().flat_map(|known| &known.outside).map(ToString::to_string);
                earlier.chain(new).collect()
            }
            // The list is too long to be kept: every file that has changed since counts.
            false => since_start
                .paths
                .iter()
                .filter(|path| !own.has(path))
                .cloned()
                .collect(),
        };
        outside.retain(|path| since_start.paths.contains(path));
        let more = outside.len().saturating_sub(LIST_CAP) as u64 + u64::from(!since_start.is_complete);
        Ok((outside.into_iter().take(LIST_CAP).collect(), more))
    }

    /// The files that differ between two checkpoints, besides the plan, ralph's own, and tests.
    fn changed(&self, repository: &Repository, from: &Checkpoint, to: &Checkpoint) -> Result<ChangedFiles, GitError> {
        let (paths, is_complete) = repository.paths_between(from, to)?;
        let own = self.project.join(".ralph");
        let paths = paths.into_iter().map(|path| repository.root().join(path));
        let paths = paths.filter(|path| !self.plan.contains(path) && !path.starts_with(&own));
        let paths = paths.map(|path| match path.strip_prefix(&self.project) {
            Ok(below) => below.to_string_lossy().into_owned(),
            // A file of the repository around the project.
            Err(_) => path.to_string_lossy().into_owned(),
        });
        Ok(ChangedFiles {
            paths: paths.filter(|path| !self.tests.is_test(path)).collect(),
            is_complete,
        })
    }
}

/// The tasks whose ticks do not count after an iteration, by what was known before it and what it brought.
fn held_after(known: &[TaskChanges], found: &[ScopeFinding]) -> BTreeSet<String> {
    let is_checked = |task: &str| found.iter().any(|finding| finding.task == task);
    let earlier = known
        .iter()
        .filter(|known| known.holds_tick() && !is_checked(&known.task));
    let now = found.iter().filter(|finding| {
        let mut accepted = known.iter().filter(|known| known.task == finding.task);
        let files = || finding.outside.iter().map(String::as_str);
        let is_clean = finding.outside.is_empty() && finding.more == 0;
        !is_clean && !accepted.any(|known| known.accepts(files(), finding.more))
    });
    let now = now.map(|finding| finding.task.clone());
    earlier.map(|known| known.task.clone()).chain(now).collect()
}

/// Those of the `open` tasks that are ticked now.
fn ticked<'p>(open: &'p [String], now: &PlanSnapshot) -> Vec<&'p str> {
    let done: BTreeSet<&str> = now
        .tasks
        .iter()
        .filter(|task| task.done)
        .map(|task| task.text.as_str())
        .collect();
    let known: BTreeSet<&str> = now.tasks.iter().map(|task| task.text.as_str()).collect();
    let is_noted = |text: &str| !known.contains(text) && done.iter().any(|done| has_grown(text, done));
    let ticked = open
        .iter()
        .filter(|text| done.contains(text.as_str()) || is_noted(text));
    ticked.map(String::as_str).collect()
}
