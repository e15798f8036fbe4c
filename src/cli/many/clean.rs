//! `ralph many clean`: removes leftovers of batches, and says what stays and why.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use ralph_plan::batch::BatchId;
use ralph_state::control::UserOnlyAction;
use ralph_system::proc::Supervisor;
use ralph_text::{
    console::{complain, print},
    one_line,
};
use ralph_words::counted;

use super::super::{args::Args, run::place, trust};
use ralph_many::{Cleaned, Retained};

use crate::{
    app,
    error::{Failure, FailureKind, shell_word},
};

/// Removes leftovers of batches without activity for `older_ms`.
pub(super) fn clean(args: &Args, older_ms: Option<u64>, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    trust::refuse_agent(&place.paths, UserOnlyAction::Many)?;
    let Some(last) = ralph_many::latest(&place.paths) else {
        print("nothing to clean: there is no batch in this project\n");
        return Ok(0);
    };
    let _lock = app::many::lock(&place, supervisor)?;
    let site = app::many::site_of_batch(&place, &last, false, supervisor)?;
    let older = older_ms.map(Duration::from_millis);
    let failed = |why| Failure::new(FailureKind::Failed, why);
    let cleaned = ralph_many::clean(&site, older, SystemTime::now()).map_err(failed)?;
    let mut has_failed = false;
    for (id, cleaned) in &cleaned {
        print(&format!("{}\n", one_line(&removed_in_words(id, cleaned))));
        for retained in &cleaned.retained {
            has_failed |= matches!(retained, Retained::Failed { .. });
            let (what, hint) = retained_in_words(retained);
            print(&format!("  stays: {}\n", one_line(&what)));
            if let Some(hint) = hint {
                complain(&format!("hint: {}", one_line(&hint)));
            }
        }
    }
    Ok(u8::from(has_failed))
}

fn removed_in_words(id: &BatchId, cleaned: &Cleaned) -> String {
    let counted_if_any = |count: usize, what: &str| (count > 0).then(|| counted(count as u64, what));
    let mut parts: Vec<String> = Vec::new();
    parts.extend(counted_if_any(cleaned.checkpoints, "checkpoint"));
    parts.extend((cleaned.states > 0).then(|| format!("the runs of {}", counted(cleaned.states as u64, "plan"))));
    parts.extend(counted_if_any(cleaned.trees.len(), "work tree"));
    parts.extend(cleaned.branches.iter().map(|branch| format!("`{branch}`")));
    match parts.is_empty() {
        true if cleaned.retained.is_empty() => format!("batch {id}: removed its journal"),
        true => format!("batch {id}: nothing removed"),
        false => format!("batch {id}: removed {}", parts.join(", ")),
    }
}

/// Says what stays and why, with the command that removes it anyway.
fn retained_in_words(retained: &Retained) -> (String, Option<String>) {
    let remove_tree = |tree: &Path| format!("git worktree remove --force {}", shell_word(&tree.to_string_lossy()));
    match retained {
        Retained::Resumable => (
            "all of it: `ralph many resume` continues it".to_owned(),
            Some("ralph many cancel && ralph many clean".to_owned()),
        ),
        Retained::Recent => (
            "all of it: it was active within that time".to_owned(),
            Some("`ralph many clean` without `--older` removes it".to_owned()),
        ),
        Retained::Commits { branch, tree } => {
            let delete = format!("git branch -D {branch}");
            (
                format!("`{branch}`, which has commits that no other branch has"),
                Some(match tree {
                    Some(tree) => format!("{} && {delete}", remove_tree(tree)),
                    None => delete,
                }),
            )
        }
        Retained::CheckedOut { branch, tree } => (
            format!("`{branch}`, which is checked out in {}", tree.display()),
            Some(format!(
                "git -C {} switch --detach && ralph many clean",
                shell_word(&tree.to_string_lossy())
            )),
        ),
        Retained::Changes { tree } => (
            format!("{}, which has uncommitted changes", tree.display()),
            Some(remove_tree(tree)),
        ),
        Retained::Ignored { tree, file } => (
            format!(
                "{} has `{file}`, which git ignores and no commit contains",
                tree.display()
            ),
            Some(remove_tree(tree)),
        ),
        Retained::KeptFiles { directory } => (
            format!("{}, which has files that git ignores", directory.display()),
            Some(format!("rm -r {}", shell_word(&directory.to_string_lossy()))),
        ),
        Retained::Unknown { tree } => (
            format!("{}, which git does not know as a work tree", tree.display()),
            Some(format!("rm -r {}", shell_word(&tree.to_string_lossy()))),
        ),
        Retained::Running { tree } => (
            format!("{}, where a run goes on", tree.display()),
            Some(format!("(cd {} && ralph stop)", shell_word(&tree.to_string_lossy()))),
        ),
        Retained::Merges { reference } => (
            format!("`{reference}`, which has merges that no branch has"),
            Some(format!("git update-ref -d {reference}")),
        ),
        Retained::Failed { what, why } => (format!("{what}: {why}"), None),
    }
}
