//! Reads HEAD and branches without git, if references are files.

use std::{fs, path::Path};

use ralph_system::files::open_unfollowed;

use super::{Repository, layout::read_small, loose::is_name};

/// A larger `packed-refs` is left to git.
const PACKED_BYTES: u64 = 4 << 20;

impl Repository {
    /// Returns the commit of HEAD; `None` if git has to be asked.
    pub(super) fn head_without_git(&self) -> Option<String> {
        head_in(&self.layout.git_dir, &self.layout.common_dir)
    }
}

/// Returns the commit of a work tree's HEAD; `None` if git has to be asked.
pub(super) fn head_in(git_dir: &Path, common_dir: &Path) -> Option<String> {
    let head = name_in(&git_dir.join("HEAD"))?;
    match head.strip_prefix("ref: ") {
        Some(branch) => branch_in(common_dir, branch),
        None => Some(head).filter(|head| is_name(head)),
    }
}

/// Returns the commit of `refs/heads/…`; `None` if git has to be asked, also if the branch is not found.
pub(super) fn branch_in(common_dir: &Path, branch: &str) -> Option<String> {
    let is_usual = branch.starts_with("refs/heads/") && !branch.split('/').any(|part| part == "..");
    if !is_usual || common_dir.join("reftable").symlink_metadata().is_ok() {
        return None;
    }
    let file = common_dir.join(branch);
    let at = match file.symlink_metadata() {
        Ok(_) => name_in(&file)?,
        Err(_) => packed(&common_dir.join("packed-refs"), branch)?,
    };
    Some(at).filter(|at| is_name(at))
}

/// Whether HEAD is on `refs/heads/…`; `None` if git has to be asked.
pub(super) fn is_on(git_dir: &Path, branch: &str) -> Option<bool> {
    let head = name_in(&git_dir.join("HEAD"))?;
    match head.strip_prefix("ref: ") {
        Some(named) => Some(named == branch),
        None => is_name(&head).then_some(false),
    }
}

fn name_in(path: &Path) -> Option<String> {
    let text = String::from_utf8(read_small(path)?).ok()?;
    Some(text.strip_suffix('\n')?.to_owned())
}

/// Finds a reference among the packed ones.
fn packed(path: &Path, reference: &str) -> Option<String> {
    let (_, metadata) = open_unfollowed(path).ok()??;
    if metadata.len() > PACKED_BYTES {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    let line = text
        .lines()
        .find(|line| line.split_once(' ').is_some_and(|(_, name)| name == reference))?;
    Some(line.split_once(' ')?.0.to_owned())
}
