//! Renamed test files: whether their tests still run. The same content is no evidence, since a name may keep a file from a
//! runner, as `_windows_test.go` does.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use ralph_core::event::Goal;
use ralph_gate::guard::{FileContent, GuardError, Originals, RenamedFile, YardstickFile, YardstickKind};

use super::{
    super::goals::{CheckedGoal, all_passed},
    in_place::{InPlace, blocking},
    yardstick::Needed,
};

/// Maximum number of groups of which each is looked for alone.
const GROUPS: usize = 12;

/// Returns files whose tests do not run any more, and fail under their old names, with these results. The files of a directory
/// that have kept their names are one group.
///
/// # Errors
/// [`GuardError`] if a file cannot be replaced. The agent's files are restored then.
pub(super) async fn needed<Running: Future<Output = Vec<CheckedGoal>>>(
    in_place: &InPlace,
    goals: &[Goal],
    run: impl Fn(Vec<Goal>) -> Running,
    project: &Path,
    originals: &Arc<Originals>,
) -> Result<Option<Needed>, GuardError> {
    let (project, originals) = (project.to_owned(), Arc::clone(originals));
    let mut renamed = blocking(move || Ok(originals.new_files(&project)?.renamed)).await?;
    renamed.retain(|file| matches!(&file.content, FileContent::File { bytes, .. } if !bytes.trim_ascii().is_empty()));
    if renamed.is_empty() || goals.is_empty() {
        return Ok(None);
    }
    let as_they_are = run(goals.to_vec()).await;
    for group in groups(renamed) {
        let put = |of: fn(&RenamedFile) -> (String, FileContent)| in_place.put(group.iter().map(of).collect());
        put(|file| (file.to.clone(), FileContent::Nothing)).await?;
        let without = run(goals.to_vec()).await;
        let mut results = None;
        if all_passed(&without) && !runs_more(&as_they_are, &without) {
            put(|file| (file.from.clone(), file.before.clone())).await?;
            results = Some(run(goals.to_vec()).await);
            put(|file| (file.from.clone(), file.now.clone())).await?;
        }
        put(|file| (file.to.clone(), file.content.clone())).await?;
        if let Some(results) = results.filter(|results| !all_passed(results)) {
            let files = group.into_iter().map(of_yardstick).collect();
            return Ok(Some(Needed { files, results }));
        }
    }
    Ok(None)
}

fn groups(renamed: Vec<RenamedFile>) -> Vec<Vec<RenamedFile>> {
    let mut groups: BTreeMap<_, Vec<RenamedFile>> = BTreeMap::new();
    for file in renamed {
        let (from, to) = (Path::new(&file.from), Path::new(&file.to));
        let new_name = (from.file_name() != to.file_name()).then(|| file.to.clone());
        let directories = [from, to].map(|path| path.parent().map(Path::to_owned));
        groups.entry((directories, new_name)).or_default().push(file);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    let rest: Vec<_> = groups.drain(groups.len().min(GROUPS)..).flatten().collect();
    groups.extend(Some(rest).filter(|rest| !rest.is_empty()));
    groups
}

/// Whether a goal ran more tests than in other results.
fn runs_more(checked: &[CheckedGoal], others: &[CheckedGoal]) -> bool {
    let ran = |checked: &CheckedGoal| checked.result.tests.as_ref().map_or(0, |tests| tests.ran());
    checked.iter().zip(others).any(|(one, other)| ran(one) > ran(other))
}

/// Returns the file that had the tests.
pub(super) fn of_yardstick(file: RenamedFile) -> YardstickFile {
    YardstickFile {
        path: file.from,
        kind: YardstickKind::Changed,
        before: file.before,
        now: file.now,
    }
}
