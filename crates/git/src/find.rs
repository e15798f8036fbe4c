//! Finds the content of a checkpoint: from ralph's table of files if possible, otherwise with git.

use std::{collections::HashSet, mem};

use super::{
    GitError, Repository,
    index::{IndexCopied, IndexUpdate},
    known_settings::IgnoreRuleFiles,
    state::RepositoryState,
    table::IndexTable,
};

/// The input of a checkpoint.
pub(super) struct CheckpointInput {
    pub(super) head: Option<String>,
    /// Whether the files are the same as in the previous checkpoint.
    pub(super) unchanged: bool,
    pub(super) notices: Vec<String>,
    /// Ignored paths and the rules that ignore them, for a new table; `None` if there is a table or none is
    /// possible.
    pub(super) ignoring: Option<(HashSet<Vec<u8>>, IgnoreRuleFiles)>,
}

impl Repository {
    /// Records the differences in the table without git; `None` if git has to look.
    pub(super) fn find_without_git(&self, state: &mut RepositoryState) -> Option<CheckpointInput> {
        let table = state
            .table
            .as_mut()
            .filter(|table| table.rules.still_hold(&self.layout))?;
        let head = self.head_without_git()?;
        let differences = table.compare(&self.layout.root, |path| self.excludes(path))?;
        table.record(differences, self.loose()?)?;
        Some(CheckpointInput {
            head: Some(head),
            unchanged: table.is_as_before(),
            notices: Vec::new(),
            ignoring: None,
        })
    }

    /// Has git find the differences, and records them in the table or, if the table cannot hold them, in ralph's index.
    pub(super) fn find_by_git(
        &self,
        state: &mut RepositoryState,
        copied: IndexCopied,
    ) -> Result<CheckpointInput, GitError> {
        let mut table = state.table.take();
        if let Some(table) = &mut table {
            self.write_table(table)?;
        }
        // Read before git reads them: a change in between is then noticed the next time.
        let rules = self.settings().and_then(|known| known.rules);
        let (mut status, mut warnings) = self.scan()?;
        if copied == IndexCopied::No && status.changes_ignoring() {
            // ralph's index would keep files that are ignored from now on; the user's never held them.
            table = None;
            self.follow_index(state, IndexUpdate::Always)?;
            (status, warnings) = self.scan()?;
        }
        let head = status.head.take();
        let ignored = mem::take(&mut status.ignored);
        let mut work = self.sort(status)?;
        let same_files = work.add.is_empty() && work.remove.is_empty();
        let ignoring = rules.filter(|_| warnings.is_empty()).map(|rules| (ignored, rules));
        state.table = table
            .filter(|_| work.is_whole())
            .zip(ignoring.clone())
            .and_then(|(table, (ignored, rules))| {
                let mut table = table.ignoring(ignored, rules)?;
                let differences = table.read(&self.layout.root, &work.add, &work.remove)?;
                table.record(differences, self.loose()?).map(|()| table)
            });
        if state.table.is_none() {
            self.update_index(&mut work)?;
        }
        let ignoring = ignoring.filter(|_| state.table.is_none() && work.is_whole());
        let mut notices = work.notices();
        notices.extend(warnings);
        let unchanged = state.table.as_ref().is_none_or(IndexTable::is_as_before);
        Ok(CheckpointInput {
            head,
            unchanged: same_files && unchanged,
            notices,
            ignoring,
        })
    }

    /// Writes the trees of the table or of ralph's index, and returns the root tree's name.
    pub(super) fn write_trees(&self, table: &mut Option<IndexTable>) -> Result<String, GitError> {
        let known = table.as_mut().zip(self.loose());
        if let Some(tree) = known.and_then(|(table, loose)| table.write_trees(loose)) {
            return Ok(tree);
        }
        if let Some(table) = table {
            self.write_table(table)?;
        }
        let tree = self.own_index_git().args(["write-tree"]).run()?.line()?;
        if table.as_mut().is_some_and(|table| !table.is_of(&tree)) {
            *table = None;
        }
        Ok(tree)
    }
}
