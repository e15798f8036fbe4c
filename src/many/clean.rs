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
use ralph_state::store::{lock, paths::ProjectPaths};

use super::{
    BatchPaths, Site, batches_in,
    journal::read,
    latest,
    worker::{Failed, of_git},
};
use crate::driver::prune::{Keep, size_of};

/// How much of a batch is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// References of plans whose work tree is gone: their checkpoints cannot be viewed any more.
    References,
    /// Also the states of the runs, and the batch's journal.
    Records,
    /// Also work trees whose content exists elsewhere.
    All,
}

/// The outcome of cleaning a batch.
#[derive(Debug, Default)]
pub(crate) struct Cleaned {
    /// Number of deleted checkpoints.
    pub(crate) checkpoints: usize,
    /// Number of removed states of work trees.
    pub(crate) states: usize,
    pub(crate) branches: Vec<String>,
    pub(crate) trees: Vec<PathBuf>,
    pub(crate) stays: Vec<Stay>,
}

/// A part of a batch that is kept, with the reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stay {
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
    /// A directory that git does not know as a work tree.
    Unknown { tree: PathBuf },
    /// A work tree in which a plan's run is active.
    Running { tree: PathBuf },
    /// Merges that no branch contains.
    Merges { reference: String },
    /// git or the file system refused.
    Failed { what: String, why: Failed },
}

/// Cleans up all earlier batches without a record in the last `older`. Returns, for each batch, the removed
/// parts and the parts that stay.
pub(crate) fn clean(site: &Site, older: Option<Duration>, now: SystemTime) -> Result<Vec<(BatchId, Cleaned)>, Failed> {
    let references = OwnReferences::list(&site.branches).map_err(of_git)?;
    let ids = batches_in(site.project.state());
    let last = latest(&site.project);
    let mut all = Vec::new();
    for id in ids {
        let earlier = Earlier::new(site, &id, &references);
        let Ok(batch) = earlier.batch() else { continue };
        let cleaned = if last.as_ref() == Some(&id) && can_be_resumed(&batch) {
            Cleaned::untouched(Stay::Resumable)
        } else if older.is_some_and(|older| earlier.age(now) < older) {
            Cleaned::untouched(Stay::Recent)
        } else {
            earlier.clean(&batch, Extent::All)
        };
        all.push((id, cleaned));
    }
    Ok(all)
}

/// Reduces earlier batches to the limits of `keep`: their references always, the states of their runs if they
/// are too many, too old or too large. The records of the last batch stay; the `spared` batch is not touched.
///
/// Returns the reasons of failed removals. Work that exists nowhere else is not reported here, but by `ralph
/// many clean`.
pub(crate) fn prune(site: &Site, spared: Option<&BatchId>, keep: Keep, now: SystemTime) -> Vec<Failed> {
    let ids = batches_in(site.project.state());
    if ids.iter().all(|id| Some(id) == spared) {
        return Vec::new();
    }
    let references = match OwnReferences::list(&site.branches) {
        Ok(references) => references,
        Err(error) => return vec![of_git(error)],
    };
    let mut budget = Budget {
        keep,
        now,
        runs: 0,
        bytes: 0,
        is_spent: false,
    };
    let mut failures = Vec::new();
    let last = latest(&site.project);
    for id in ids.iter().rev() {
        let earlier = Earlier::new(site, id, &references);
        let Ok(batch) = earlier.batch() else { continue };
        let extent = match budget.is_beyond(&earlier, &batch) && Some(id) != last.as_ref() {
            true => Extent::Records,
            false => Extent::References,
        };
        if Some(id) == spared {
            continue;
        }
        let stays = earlier.clean(&batch, extent).stays.into_iter();
        failures.extend(stays.filter_map(|stay| match stay {
            Stay::Failed { what, why } => Some(format!("what batch {id} has left is not removed: {what}: {why}")),
            Stay::Resumable
            | Stay::Recent
            | Stay::Commits { .. }
            | Stay::CheckedOut { .. }
            | Stay::Changes { .. }
            | Stay::Ignored { .. }
            | Stay::Unknown { .. }
            | Stay::Running { .. }
            | Stay::Merges { .. } => None,
        }));
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
    match phase {
        PlanPhase::Merged { .. }
        | PlanPhase::Kept {
            why: KeptReason::Cancelled,
        } => true,
        PlanPhase::Waiting
        | PlanPhase::Preparing
        | PlanPhase::Ready
        | PlanPhase::Running
        | PlanPhase::Finished
        | PlanPhase::Merging
        | PlanPhase::Verifying { .. }
        | PlanPhase::Moving { .. }
        | PlanPhase::Repairing
        | PlanPhase::Kept { .. } => false,
    }
}

/// The limits for batches, and the amounts counted so far, from the latest batch back.
struct Budget {
    keep: Keep,
    now: SystemTime,
    runs: u64,
    bytes: u64,
    is_spent: bool,
}

impl Budget {
    /// Counts another batch. Every batch older than one beyond the budget is beyond it as well.
    fn is_beyond(&mut self, earlier: &Earlier, batch: &Batch) -> bool {
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
struct Earlier<'a> {
    site: Site,
    id: &'a BatchId,
    references: &'a OwnReferences<'a>,
}

impl Earlier<'_> {
    fn new<'a>(site: &Site, id: &'a BatchId, references: &'a OwnReferences<'a>) -> Earlier<'a> {
        let paths = BatchPaths::new(&site.project, id);
        Earlier {
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

    fn clean(&self, batch: &Batch, extent: Extent) -> Cleaned {
        let mut cleaned = Cleaned::default();
        for plan in &batch.plans {
            let done = self.clean_plan(plan, extent, &mut cleaned);
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
        if extent != Extent::References && cleaned.stays.is_empty() {
            let done = removed(self.site.paths.dir());
            cleaned.note("its journal", done);
        }
        cleaned
    }

    fn clean_plan(&self, plan: &BatchPlan, extent: Extent, cleaned: &mut Cleaned) -> Result<(), Failed> {
        let (branch, tree) = (self.id.branch(&plan.name), self.site.paths.tree(&plan.name));
        let state = self.site.state_of(&plan.name)?;
        if lock::is_held(&state) {
            cleaned.stays.push(Stay::Running { tree });
            return Ok(());
        }
        if tree.symlink_metadata().is_ok() {
            let stay = match extent {
                Extent::All => self.why_tree_stays(&tree, &branch)?,
                // Pruning never removes an existing work tree: the user may want to look at it.
                Extent::References | Extent::Records => Some(Stay::Changes { tree: tree.clone() }),
            };
            if let Some(stay) = stay {
                cleaned.stays.push(stay);
                return Ok(());
            }
            self.site.branches.remove_tree(&tree).map_err(of_git)?;
            cleaned.trees.push(tree);
        }
        self.delete_branch(&branch, cleaned)?;
        self.forget(&state, extent, cleaned)
    }

    /// Returns the reason why a work tree stays; `None` if nothing would be lost with it.
    fn why_tree_stays(&self, tree: &Path, branch: &str) -> Result<Option<Stay>, Failed> {
        let (branches, tree) = (&self.site.branches, tree.to_owned());
        if !branches.has_tree(&tree).map_err(of_git)? {
            return Ok(Some(Stay::Unknown { tree }));
        }
        if !branches.is_clean(&tree, true).map_err(of_git)? {
            return Ok(Some(Stay::Changes { tree }));
        }
        let is_tip_elsewhere = match branches.tip(branch).map_err(of_git)? {
            Some(tip) => self.references.is_elsewhere(&tip, branch).map_err(of_git)?,
            None => true,
        };
        if !is_tip_elsewhere || !self.references.is_head_elsewhere(&tree, branch).map_err(of_git)? {
            let branch = branch.to_owned();
            return Ok(Some(Stay::Commits {
                branch,
                tree: Some(tree),
            }));
        }
        let ignored = branches.ignored_files(&tree).map_err(of_git)?.into_iter().next();
        Ok(ignored.map(|file| Stay::Ignored { tree, file }))
    }

    /// Removes the scratch work tree of an interrupted batch: everything in it is in commits.
    fn clean_scratch(&self, extent: Extent, cleaned: &mut Cleaned) -> Result<(), Failed> {
        let tree = self.site.paths.scratch_tree();
        if tree.symlink_metadata().is_ok() {
            self.site.branches.remove_tree(&tree).map_err(of_git)?;
        }
        let state = self.site.state_at(&self.site.branches.project_in(&tree))?;
        self.forget(&state, extent, cleaned)
    }

    /// Deletes a branch that another branch contains.
    fn delete_branch(&self, branch: &str, cleaned: &mut Cleaned) -> Result<(), Failed> {
        if !self.references.has_branch(branch) {
            return Ok(());
        }
        let branches = &self.site.branches;
        let Some(tip) = branches.tip(branch).map_err(of_git)? else {
            return Ok(());
        };
        let branch = branch.to_owned();
        if let Some(tree) = branches.checked_out_in(&branch).map_err(of_git)? {
            cleaned.stays.push(Stay::CheckedOut { branch, tree });
        } else if self.references.is_elsewhere(&tip, &branch).map_err(of_git)? {
            branches.delete(&branch, &tip).map_err(of_git)?;
            cleaned.branches.push(branch);
        } else {
            cleaned.stays.push(Stay::Commits { branch, tree: None });
        }
        Ok(())
    }

    /// Deletes the reference that keeps the merges of the batch, if a branch contains them.
    fn release(&self, cleaned: &mut Cleaned) -> Result<(), Failed> {
        let (branches, batch) = (&self.site.branches, self.id.to_string());
        let Some((reference, commit)) = self.references.held(&batch).map_err(of_git)? else {
            return Ok(());
        };
        if self.references.is_elsewhere(&commit, "").map_err(of_git)? {
            return branches.release(&batch).map_err(of_git);
        }
        cleaned.stays.push(Stay::Merges { reference });
        Ok(())
    }

    /// Deletes the checkpoints of the runs of a removed work tree, and its state unless the extent keeps it.
    fn forget(&self, state: &ProjectPaths, extent: Extent, cleaned: &mut Cleaned) -> Result<(), Failed> {
        let runs: HashSet<String> = state.run_ids().into_iter().map(|run| run.0).collect();
        cleaned.checkpoints += self.references.forget(&runs).map_err(of_git)?;
        if extent != Extent::References && state.state().is_dir() {
            removed(state.state())?;
            cleaned.states += 1;
        }
        Ok(())
    }
}

impl Cleaned {
    fn untouched(stay: Stay) -> Cleaned {
        Cleaned {
            stays: vec![stay],
            ..Cleaned::default()
        }
    }

    fn note(&mut self, what: &str, done: Result<(), Failed>) {
        if let Err(why) = done {
            let what = what.to_owned();
            self.stays.push(Stay::Failed { what, why });
        }
    }
}

fn removed(directory: &Path) -> Result<(), Failed> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!("{}: {error}", directory.display())),
        Ok(()) | Err(_) => Ok(()),
    }
}
