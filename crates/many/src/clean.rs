//! Cleans up after earlier batches: checkpoints, states of removed work trees, branches and work trees.
//!
//! Only copies are removed: a branch that another branch contains, a work tree without uncommitted changes.
//! Branches are deleted one by one, each compared with the remaining ones, so that one of two equal branches
//! stays.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ralph_git::OwnReferences;
use ralph_plan::batch::{Batch, BatchEnd, BatchId, BatchPlan, KeptReason, PlanPhase};
use ralph_state::store::lock;
use ralph_system::paths::ProjectPaths;

use super::{
    BatchPaths, Site, batches_in,
    journal::read,
    latest,
    worker::{TaskFailure, git_failure},
};
use ralph_review::prune::{RetentionLimits, size_of};

/// How much of a batch is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CleanExtent {
    /// References of plans whose work tree is gone: their checkpoints cannot be viewed any more.
    References,
    /// Also the states of the runs, and the batch's journal.
    Records,
    /// Also work trees whose content exists elsewhere.
    All,
}

/// The outcome of cleaning a batch.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Number of deleted checkpoints.
    pub checkpoints: usize,
    /// Number of removed states of work trees.
    pub states: usize,
    pub branches: Vec<String>,
    pub trees: Vec<PathBuf>,
    pub retained: Vec<Retained>,
}

/// A part of a batch that is kept, with the reason.
#[derive(Debug, PartialEq, Eq)]
pub enum Retained {
    /// The whole batch: it can be resumed.
    Resumable,
    /// The whole batch: its last record is newer than the requested age.
    Recent,
    /// A branch with commits that no other branch has, and its work tree if it exists.
    Commits { branch: String, tree: Option<PathBuf> },
    /// A branch that is checked out somewhere.
    CheckedOut { branch: String, tree: PathBuf },
    /// A work tree with uncommitted changes.
    Changes { tree: PathBuf },
    /// A work tree with an ignored file that no tool can recreate.
    Ignored { tree: PathBuf, file: String },
    /// Ignored files of removed work trees.
    KeptFiles { directory: PathBuf },
    /// A directory that git does not know as a work tree.
    Unknown { tree: PathBuf },
    /// A work tree in which a plan's run is active.
    Running { tree: PathBuf },
    /// Merges that no branch contains.
    Merges { reference: String },
    /// git or the file system refused.
    Failed { what: String, why: TaskFailure },
}

/// Cleans up all earlier batches without a record in the last `older`. Returns, for each batch, the removed
/// parts and the parts that stay.
pub fn clean(site: &Site, older: Option<Duration>, now: SystemTime) -> Result<Vec<(BatchId, Cleaned)>, TaskFailure> {
    let references = OwnReferences::list(&site.branches, &site.project.states()).map_err(git_failure)?;
    let ids = batches_in(site.project.state());
    let last = latest(&site.project);
    let mut all = Vec::new();
    for id in ids {
        let earlier = EarlierBatch::new(site, &id, &references);
        let Ok(batch) = earlier.batch() else { continue };
        let cleaned = if last.as_ref() == Some(&id) && can_be_resumed(&batch) {
            Cleaned::untouched(Retained::Resumable)
        } else if older.is_some_and(|older| earlier.age(now) < older) {
            Cleaned::untouched(Retained::Recent)
        } else {
            earlier.clean(&batch, CleanExtent::All)
        };
        all.push((id, cleaned));
    }
    if all.iter().any(|(_, cleaned)| cleaned.checkpoints > 0) {
        for collection in references.collect() {
            _ = collection.join(); // what it left, the next one deletes
        }
    }
    Ok(all)
}

/// Reduces earlier batches to the limits of `keep`: their references always, the states of their runs if they
/// are too many, too old or too large. The records of the last batch stay; the `spared` batch is not touched.
///
/// Returns the reasons of failed removals. Work that exists nowhere else is not reported here, but by `ralph
/// many clean`.
pub fn prune(site: &Site, spared: Option<&BatchId>, keep: RetentionLimits, now: SystemTime) -> Vec<TaskFailure> {
    let ids = batches_in(site.project.state());
    if ids.iter().all(|id| Some(id) == spared) {
        return Vec::new();
    }
    let references = match OwnReferences::list(&site.branches, &site.project.states()) {
        Ok(references) => references,
        Err(error) => return vec![git_failure(error)],
    };
    let mut budget = RetentionBudget {
        keep,
        now,
        runs: 0,
        bytes: 0,
        is_spent: false,
    };
    let (mut failures, mut has_forgotten) = (Vec::new(), false);
    let last = latest(&site.project);
    for id in ids.iter().rev() {
        let earlier = EarlierBatch::new(site, id, &references);
        let Ok(batch) = earlier.batch() else { continue };
        let extent = match budget.is_beyond(&earlier, &batch) && Some(id) != last.as_ref() {
            true => CleanExtent::Records,
            false => CleanExtent::References,
        };
        if Some(id) == spared {
            continue;
        }
        let cleaned = earlier.clean(&batch, extent);
        has_forgotten |= cleaned.checkpoints > 0;
        failures.extend(cleaned.retained.into_iter().filter_map(|retained| match retained {
            Retained::Failed { what, why } => {
                Some(format!("leftovers of batch {id} could not be removed: {what}: {why}"))
            }
            Retained::Resumable
            | Retained::Recent
            | Retained::Commits { .. }
            | Retained::CheckedOut { .. }
            | Retained::Changes { .. }
            | Retained::Ignored { .. }
            | Retained::KeptFiles { .. }
            | Retained::Unknown { .. }
            | Retained::Running { .. }
            | Retained::Merges { .. } => None,
        }));
    }
    if has_forgotten {
        references.collect(); // while the batch works
    }
    failures
}

/// Whether `ralph many resume` would continue the last batch, which may have ended before it recorded its
/// plans.
fn can_be_resumed(batch: &Batch) -> bool {
    let is_open = |plan: &BatchPlan| !plan.cancelled && !is_settled(&plan.phase);
    batch.end != Some(BatchEnd::Merged) && (batch.plans.is_empty() || batch.plans.iter().any(is_open))
}

/// Whether a plan is merged or cancelled, so that no batch continues it.
fn is_settled(phase: &PlanPhase) -> bool {
    matches!(
        phase,
        PlanPhase::Merged { .. }
            | PlanPhase::Kept {
                why: KeptReason::Cancelled | KeptReason::Closed { .. },
            }
    )
}

/// The limits for batches, and the amounts counted so far, from the latest batch back.
struct RetentionBudget {
    keep: RetentionLimits,
    now: SystemTime,
    runs: u64,
    bytes: u64,
    is_spent: bool,
}

impl RetentionBudget {
    /// Counts another batch. Every batch older than one beyond the budget is beyond it as well.
    fn is_beyond(&mut self, earlier: &EarlierBatch, batch: &Batch) -> bool {
        let states: Vec<ProjectPaths> = batch
            .plans
            .iter()
            .filter_map(|plan| earlier.site.state_of(&plan.name).ok())
            .collect();
        self.runs += states.iter().map(|state| state.run_ids().len() as u64).sum::<u64>();
        if self.keep.size_bytes.is_some() && !self.is_spent {
            let sizes = states.iter().map(|state| size_of(state.state()));
            self.bytes = self
                .bytes
                .saturating_add(sizes.sum::<u64>() + size_of(earlier.site.paths.dir()));
        }
        self.is_spent |= self.keep.runs.is_some_and(|most| self.runs > u64::from(most))
            || self.keep.age.is_some_and(|most| earlier.age(self.now) > most)
            || self.keep.size_bytes.is_some_and(|most| self.bytes > most);
        self.is_spent
    }
}

/// An earlier batch of the project.
struct EarlierBatch<'a> {
    site: Site,
    id: &'a BatchId,
    references: &'a OwnReferences<'a>,
}

impl EarlierBatch<'_> {
    fn new<'a>(site: &Site, id: &'a BatchId, references: &'a OwnReferences<'a>) -> EarlierBatch<'a> {
        let paths = BatchPaths::new(&site.project, id);
        EarlierBatch {
            site: Site { paths, ..site.clone() },
            id,
            references,
        }
    }

    /// Reads the batch from its journal. A batch with an unreadable journal is left alone.
    fn batch(&self) -> Result<Batch, ()> {
        let records = read(&self.site.paths.journal()).map_err(drop)?;
        Batch::from_records(&records).ok_or(())
    }

    /// Returns the time since the last record.
    fn age(&self, now: SystemTime) -> Duration {
        let last = fs::metadata(self.site.paths.journal()).and_then(|journal| journal.modified());
        last.ok()
            .and_then(|last| now.duration_since(last).ok())
            .unwrap_or_default()
    }

    fn clean(&self, batch: &Batch, extent: CleanExtent) -> Cleaned {
        let mut cleaned = Cleaned::default();
        for plan in &batch.plans {
            let done = self.clean_plan(batch, plan, extent, &mut cleaned);
            cleaned.note(&plan.name.0, done);
        }
        let done = self.clean_scratch(extent, &mut cleaned);
        cleaned.note("its scratch work tree", done);
        if batch.target == self.id.target() {
            let done = self.delete_branch(&batch.target, &mut cleaned);
            cleaned.note(&batch.target, done);
        }
        let done = self.release(&mut cleaned);
        cleaned.note("its merges", done);
        // Succeeds only if the directory is empty.
        _ = fs::remove_dir(self.site.paths.trees());
        _ = fs::remove_dir(self.site.paths.trees_of_project());
        let kept = self.site.paths.all_kept_files();
        if extent == CleanExtent::All && kept.exists() {
            cleaned.retained.push(Retained::KeptFiles {
                directory: kept.clone(),
            });
        }
        if extent != CleanExtent::References && cleaned.retained.is_empty() && !kept.exists() {
            let done = removed(self.site.paths.dir());
            cleaned.note("its journal", done);
        }
        cleaned
    }

    fn clean_plan(
        &self,
        batch: &Batch,
        plan: &BatchPlan,
        extent: CleanExtent,
        cleaned: &mut Cleaned,
    ) -> Result<(), TaskFailure> {
        let (branch, tree) = (self.id.branch(&plan.name), self.site.paths.tree(&plan.name));
        let state = self.site.state_of(&plan.name)?;
        if lock::is_held(&state) {
            cleaned.retained.push(Retained::Running { tree });
            return Ok(());
        }
        if tree.symlink_metadata().is_ok() {
            let retained = match extent {
                CleanExtent::All => self.why_tree_is_retained(&tree, &branch)?,
                // Pruning never removes an existing work tree: the user may want to look at it.
                CleanExtent::References | CleanExtent::Records => Some(Retained::Changes { tree: tree.clone() }),
            };
            if let Some(retained) = retained {
                cleaned.retained.push(retained);
                return Ok(());
            }
            self.site.tear_down(batch, plan)?;
            self.site.branches.remove_tree(&tree).map_err(git_failure)?;
            cleaned.trees.push(tree);
        }
        self.delete_branch(&branch, cleaned)?;
        self.forget(&state, extent, cleaned)
    }

    /// Returns the reason why a work tree stays; `None` if nothing would be lost with it.
    fn why_tree_is_retained(&self, tree: &Path, branch: &str) -> Result<Option<Retained>, TaskFailure> {
        let (branches, tree) = (&self.site.branches, tree.to_owned());
        if !branches.has_tree(&tree).map_err(git_failure)? {
            return Ok(Some(Retained::Unknown { tree }));
        }
        if !branches.is_clean(&tree, true).map_err(git_failure)? {
            return Ok(Some(Retained::Changes { tree }));
        }
        let is_tip_elsewhere = match branches.tip(branch).map_err(git_failure)? {
            Some(tip) => self.references.is_elsewhere(&tip, branch).map_err(git_failure)?,
            None => true,
        };
        if !is_tip_elsewhere || !self.references.is_head_elsewhere(&tree, branch).map_err(git_failure)? {
            let branch = branch.to_owned();
            return Ok(Some(Retained::Commits {
                branch,
                tree: Some(tree),
            }));
        }
        let ignored = self.site.ignored_work(&tree)?.into_iter().next();
        Ok(ignored.map(|file| Retained::Ignored {
            tree,
            file: file.display().to_string(),
        }))
    }

    /// Removes the scratch work tree of an interrupted batch: everything in it is in commits.
    fn clean_scratch(&self, extent: CleanExtent, cleaned: &mut Cleaned) -> Result<(), TaskFailure> {
        let tree = self.site.paths.scratch_tree();
        if tree.symlink_metadata().is_ok() {
            self.site.branches.remove_tree(&tree).map_err(git_failure)?;
        }
        let state = self.site.state_at(&self.site.branches.project_in(&tree))?;
        self.forget(&state, extent, cleaned)
    }

    /// Deletes a branch that another branch contains.
    fn delete_branch(&self, branch: &str, cleaned: &mut Cleaned) -> Result<(), TaskFailure> {
        if !self.references.has_branch(branch) {
            return Ok(());
        }
        let branches = &self.site.branches;
        let Some(tip) = branches.tip(branch).map_err(git_failure)? else {
            return Ok(());
        };
        let branch = branch.to_owned();
        if let Some(tree) = branches.checked_out_in(&branch).map_err(git_failure)? {
            cleaned.retained.push(Retained::CheckedOut { branch, tree });
        } else if self.references.is_elsewhere(&tip, &branch).map_err(git_failure)? {
            branches.delete(&branch, &tip).map_err(git_failure)?;
            cleaned.branches.push(branch);
        } else {
            cleaned.retained.push(Retained::Commits { branch, tree: None });
        }
        Ok(())
    }

    /// Deletes the reference that keeps the merges of the batch, if a branch contains them.
    fn release(&self, cleaned: &mut Cleaned) -> Result<(), TaskFailure> {
        let (branches, batch) = (&self.site.branches, self.id.to_string());
        let Some((reference, commit)) = self.references.held(&batch).map_err(git_failure)? else {
            return Ok(());
        };
        if self.references.is_elsewhere(&commit, "").map_err(git_failure)? {
            return branches.release(&batch).map_err(git_failure);
        }
        cleaned.retained.push(Retained::Merges { reference });
        Ok(())
    }

    /// Deletes the checkpoints of the runs of a removed work tree, and its state unless the extent keeps it.
    fn forget(&self, state: &ProjectPaths, extent: CleanExtent, cleaned: &mut Cleaned) -> Result<(), TaskFailure> {
        let runs: HashSet<String> = state.run_ids().into_iter().map(|run| run.0).collect();
        cleaned.checkpoints += self.references.forget(&runs).map_err(git_failure)?;
        if extent != CleanExtent::References && state.state().is_dir() {
            removed(state.state())?;
            cleaned.states += 1;
        }
        Ok(())
    }
}

impl Cleaned {
    fn untouched(retained: Retained) -> Cleaned {
        Cleaned {
            retained: vec![retained],
            ..Cleaned::default()
        }
    }

    fn note(&mut self, what: &str, done: Result<(), TaskFailure>) {
        if let Err(why) = done {
            let what = what.to_owned();
            self.retained.push(Retained::Failed { what, why });
        }
    }
}

fn removed(directory: &Path) -> Result<(), TaskFailure> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!("{}: {error}", directory.display())),
        Ok(()) | Err(_) => Ok(()),
    }
}
