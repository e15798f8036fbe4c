//! Brings a plan's branch to a host and back.
//!
//! The work that comes back is data: commits go into a reference of the plan's own, each object checked by git, and from
//! there to the plan's branch, unless that was moved since. Only the goals run anything of it, in their sandbox.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ralph_git::{
    Committer, OpenMerge, committer, is_commit_name, node_reference, open_merge, put_branch, read_bundle, write_bundle,
};
use ralph_plan::batch::{BatchId, BatchPlan, PlanName};
use ralph_state::store::paths::{create_private_dir, replace_file};
use ralph_system::files::{self, PLAN_CAP_BYTES};
use ralph_text::with_causes;
use ralph_words::plan_commit_message;
use serde::{Deserialize, Serialize};

use super::super::super::{
    node::{NodeJob, OpenMergeRequest, StartRequest},
    worker::{RunsBeforeJob, Site, git_failure},
};

/// Most bytes of a record.
const RECORD_CAP_BYTES: u64 = 64 << 10;

/// The record of a job on a host, written before the host is told of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeRecord {
    pub(super) plan: PlanName,
    pub(super) name: String,
    pub(super) host: String,
    pub(super) before: RunsBeforeJob,
    /// Size of the plan's log before the job.
    pub(super) log_bytes: u64,
    /// The commit of the plan's branch that was sent, and the one that is merged into it.
    pub(super) sent: String,
    pub(super) merging: Option<String>,
}

impl NodeRecord {
    /// Writes the record of a job, which is the plan's latest from now on.
    pub(super) fn write(&self, site: &Site) -> Result<(), String> {
        create_private_dir(&site.paths.jobs()).map_err(|error| with_causes(&error))?;
        let bytes = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        for path in [record(site, &self.name), latest(site, &self.plan)] {
            replace_file(&path, &bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Reads the record of the job of this name.
    pub(super) fn read(site: &Site, name: &str) -> Option<NodeRecord> {
        read(&record(site, name))
    }

    /// Reads the records of all jobs of a plan.
    pub(super) fn all(site: &Site, plan: &PlanName) -> Vec<NodeRecord> {
        let entries = fs::read_dir(site.paths.jobs()).into_iter().flatten().flatten();
        let records = entries.filter_map(|entry| read(&entry.path()));
        records.filter(|record| record.plan == *plan).collect()
    }

    /// Reads the record of a plan's latest job.
    pub(super) fn latest(site: &Site, plan: &PlanName) -> Option<NodeRecord> {
        read(&latest(site, plan))
    }
}

fn record(site: &Site, name: &str) -> PathBuf {
    site.paths.jobs().join(format!("{name}.json"))
}

// Names of jobs begin with `batch-` and end with a number.
fn latest(site: &Site, plan: &PlanName) -> PathBuf {
    site.paths.jobs().join(format!("{plan}.latest.json"))
}

fn read(path: &Path) -> Option<NodeRecord> {
    serde_json::from_slice(&files::read_bytes(path, RECORD_CAP_BYTES).ok()?).ok()
}

/// Returns the job of a plan as its host knows it.
pub(super) fn node_job(site: &Site, plan: &PlanName, name: &str) -> NodeJob {
    let state = site.project.state().file_name().unwrap_or_default();
    NodeJob {
        project: state.to_string_lossy().into_owned(),
        batch: batch_name(site),
        plan: plan.0.clone(),
        name: name.to_owned(),
        prefix: site.branches.project_in(Path::new("")),
    }
}

fn batch_name(site: &Site) -> String {
    let name = site.paths.dir().file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the name of a plan in the references for commits of other machines.
pub(super) fn reference(site: &Site, plan: &PlanName) -> String {
    format!("{}/{plan}", batch_name(site))
}

fn branch(site: &Site, plan: &PlanName) -> String {
    BatchId(batch_name(site)).branch(plan)
}

/// Commits what is in a plan's work tree, but for a merge in progress, and returns the request that starts its job.
pub(super) fn start_request(
    site: &Site,
    plan: &BatchPlan,
    name: &str,
    args: Vec<String>,
    env: Vec<(String, String)>,
) -> Result<StartRequest, String> {
    let tree = site.paths.tree(&plan.name);
    let branch = branch(site, &plan.name);
    let merge = match open_merge(&site.branches, &tree).map_err(git_failure)? {
        Some(merge) => Some(merge_request(site, plan, &tree, merge)?),
        None => {
            let message = plan_commit_message(&plan.name);
            site.branches.commit_all(&tree, &message).map_err(git_failure)?;
            None
        }
    };
    if !site.branches.advance_to_head(&tree, &branch).map_err(git_failure)? {
        return Err(format!(
            "{} has another branch checked out, without all commits of `{branch}`",
            tree.display()
        ));
    }
    let tip = site.branches.tip(&branch).map_err(git_failure)?;
    let committer = committer(&site.branches).map_err(git_failure)?;
    Ok(StartRequest {
        job: node_job(site, &plan.name, name),
        tip: tip.ok_or_else(|| format!("the branch `{branch}` no longer exists"))?,
        merge,
        trusted: site.trusted.clone(),
        committer: committer.map(|Committer { name, email }| (name, email)),
        args,
        env,
    })
}

fn merge_request(site: &Site, plan: &BatchPlan, tree: &Path, merge: OpenMerge) -> Result<OpenMergeRequest, String> {
    let path = site.branches.project_in(tree).join(&plan.file);
    let bytes = files::read_bytes(&path, PLAN_CAP_BYTES).map_err(|error| with_causes(&error))?;
    Ok(OpenMergeRequest {
        commit: merge.commit,
        message: merge.message,
        file: plan.file.clone(),
        text: String::from_utf8(bytes).map_err(|error| format!("{}: {error}", path.display()))?,
    })
}

/// Writes the commits of a plan that a host lacks to a file. `None` if it has all.
pub(super) fn outgoing(
    site: &Site,
    (batch_target, plan): (&str, &PlanName),
    request: &StartRequest,
    known: &[String],
) -> Result<Option<PathBuf>, String> {
    let file = bundle(site, plan);
    let branch = branch(site, plan);
    let mut names = vec![branch.as_str()];
    if request.merge.is_some() {
        names.push(batch_target);
    }
    let written = write_bundle(&site.branches, &file, &names, known).map_err(git_failure)?;
    Ok(written.then_some(file))
}

/// Returns the file for a bundle on its way: beside the work trees, where git may write.
pub(super) fn bundle(site: &Site, plan: &PlanName) -> PathBuf {
    site.paths.trees().join(format!("_{plan}.bundle"))
}

/// Moves a plan's branch and its work tree to the commit that came from its host; the bundle is in `file`.
pub(super) fn take_in(
    site: &Site,
    plan: &PlanName,
    record: &NodeRecord,
    (tip, file): (&str, Option<&Path>),
) -> Result<(), String> {
    let host = &record.host;
    if !is_commit_name(tip) {
        return Err(format!("{host} named {tip:?} as the commit of its work"));
    }
    let (branches, branch, tree) = (&site.branches, branch(site, plan), site.paths.tree(plan));
    let kept = reference(site, plan);
    if let Some(file) = file {
        let read = read_bundle(branches, file, &branch, &kept).map_err(git_failure)?;
        if read != tip {
            return Err(format!("{host} named {tip} as the commit of its work, and sent {read}"));
        }
    }
    let here = branches.tip(&branch).map_err(git_failure)?;
    if here.as_deref() == Some(tip) && record.merging.is_none() {
        return Ok(());
    }
    let is_changed = || -> Result<bool, String> {
        let is_as_sent = here.as_deref() == Some(&record.sent);
        // A merge in progress was sent as such, and is concluded in what came back.
        let is_untouched = record.merging.is_some() || branches.is_clean(&tree, true).map_err(git_failure)?;
        Ok(!(is_as_sent && is_untouched))
    };
    // A batch that was killed in the middle has moved the branch.
    if here.as_deref() != Some(tip) && is_changed()? {
        return Err(format!(
            "{} was changed while its run was on {host}, whose work is in `{}`",
            tree.display(),
            node_reference(&kept)
        ));
    }
    // The host sent nothing if its work is what it was sent.
    if file.is_none() && tip != record.sent {
        return Err(format!(
            "{host} named {tip} as the commit of its work, and sent nothing"
        ));
    }
    match tip == record.sent {
        // A merge that was not concluded stays as it is.
        true => Ok(()),
        false => put_branch(branches, &tree, &branch, tip).map_err(git_failure),
    }
}

/// Removes the file of [`bundle`].
pub(super) fn remove_bundle(site: &Site, plan: &PlanName) {
    _ = fs::remove_file(bundle(site, plan)); // the next one replaces it
}
