//! Changes to the batch's repository by others: to branches, tags and replacements of objects, and to the
//! configuration, all of which agents share with the user.

use std::collections::BTreeMap;

use ralph_git::{REPLACEMENTS, References, changed_keys, config_file, config_text, is_moved_in_root, references};
use ralph_plan::batch::{Batch, BatchPlan, PlanPhase, RepositoryChange};
use ralph_system::{os::now_ms, paths::replace_file};

use super::worker::Site;

/// Prefix of the branches of batches.
const OWN: &str = "refs/heads/ralph/";

/// The state of a repository at the start of a batch, and the changes reported since.
#[derive(Debug, Default)]
pub(super) struct RepositoryWatch {
    references: References,
    /// The last reported object of each moved reference; `None` for a deleted one.
    reported: BTreeMap<String, Option<String>>,
    config: Vec<u8>,
    reported_config: Vec<u8>,
}

impl RepositoryWatch {
    /// Records the present state. Anything unreadable is not watched.
    pub(super) fn start(site: &Site) -> RepositoryWatch {
        let config = config_text(&site.branches);
        RepositoryWatch {
            references: references(&site.branches).unwrap_or_default(),
            reported: BTreeMap::new(),
            reported_config: config.clone(),
            config,
        }
    }

    /// Returns the changes since the last call.
    pub(super) fn changes(&mut self, site: &Site, batch: &Batch) -> Vec<RepositoryChange> {
        let mut changes: Vec<RepositoryChange> = self.config_change(site).into_iter().collect();
        // With a broken configuration git fails.
        let Ok(now) = references(&site.branches) else {
            return changes;
        };
        changes.extend(self.target_change(site, batch, &now));
        let target = target_reference(batch);
        let mut moved_by_user = Vec::new();
        for (name, from) in &self.references {
            let to = now.get(name);
            let known = self.reported.get(name).cloned().unwrap_or_else(|| Some(from.clone()));
            if name.starts_with(OWN) || *name == target || known.as_ref() == to {
                continue;
            }
            self.reported.insert(name.clone(), to.cloned());
            match to {
                Some(to) if is_moved_in_root(&site.branches, name, to).unwrap_or(false) => {
                    moved_by_user.push((name.clone(), to.clone()));
                }
                Some(to) if to == from => {}
                Some(_) | None => changes.push(RepositoryChange::Reference {
                    name: name.clone(),
                    from: from.clone(),
                    to: to.cloned(),
                }),
            }
        }
        self.references.extend(moved_by_user);
        changes.extend(self.new_replacements(&now));
        changes
    }

    fn new_replacements(&mut self, now: &References) -> Option<RepositoryChange> {
        let is_new = |name: &String| !self.references.contains_key(name) && !self.reported.contains_key(name);
        let new: Vec<(&String, &String)> = now
            .iter()
            .filter(|(name, _)| name.starts_with(REPLACEMENTS) && is_new(name))
            .collect();
        let reported = new.iter().map(|(name, to)| ((*name).clone(), Some((*to).clone())));
        self.reported.extend(reported);
        let objects: Vec<String> = new
            .iter()
            .map(|(name, _)| name[REPLACEMENTS.len()..].to_owned())
            .collect();
        (!objects.is_empty()).then_some(RepositoryChange::Replaced { objects })
    }

    /// Returns a move of the target that the batch did not make. Later merges will contain these commits,
    /// although no goals ran on each.
    ///
    /// A target that lacks merges has been put back before this is called.
    fn target_change(&mut self, site: &Site, batch: &Batch, now: &References) -> Option<RepositoryChange> {
        // The reference may have moved before the record of it is written.
        let is_moving = |plan: &BatchPlan| matches!(plan.phase, PlanPhase::Moving { .. });
        // A target that follows a remote is moved by ralph between the records.
        if batch.delivery.is_some() {
            return None;
        }
        let name = target_reference(batch);
        let to = now.get(&name)?;
        let from = &batch.target_commit;
        if batch.plans.iter().any(is_moving) || to == from || self.reported.get(&name) == Some(&Some(to.clone())) {
            return None;
        }
        self.reported.insert(name.clone(), Some(to.clone()));
        let is_by_user = is_moved_in_root(&site.branches, &name, to).unwrap_or(false);
        (!is_by_user).then(|| RepositoryChange::Reference {
            name,
            from: from.clone(),
            to: Some(to.clone()),
        })
    }

    fn config_change(&mut self, site: &Site) -> Option<RepositoryChange> {
        let now = config_text(&site.branches);
        if now == self.reported_config {
            return None;
        }
        self.reported_config.clone_from(&now);
        let keys = changed_keys(&self.config, &now);
        if keys.is_empty() {
            return None;
        }
        let copy = site.paths.dir().join(format!("git-config-{}", now_ms()));
        // Without a copy, the change is still reported.
        _ = replace_file(&copy, &self.config);
        Some(RepositoryChange::Config {
            keys,
            file: config_file(&site.branches).to_string_lossy().into_owned(),
            copy: copy.to_string_lossy().into_owned(),
        })
    }
}

fn target_reference(batch: &Batch) -> String {
    format!("refs/heads/{}", batch.target)
}
