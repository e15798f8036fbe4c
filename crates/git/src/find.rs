//! Finds what a checkpoint holds: with what ralph knows of the files or, where that does not do, with git.

use std::{collections::HashSet, mem};

use super::{
    GitError, Repository,
    index::{Copied, When},
    rules::Rules,
    state::State,
    table::Table,
};

/// What a checkpoint is made of.
pub(super) struct Found {
    pub(super) head: Option<String>,
    /// Whether nothing differs from the checkpoint before.
    pub(super) unchanged: bool,
    pub(super) notices: Vec<String>,
    /// What is ignored and by what, for the table that is to be made; none where there is one, or can be none.
    pub(super) ignoring: Option<(HashSet<Vec<u8>>, Rules)>,
}

impl Repository {
    /// Takes what differs into the table without git; none where git has to look.
    pub(super) fn find_alone(&self, state: &mut State) -> Option<Found> {
        let table = state
            .table
            .as_mut()
            .filter(|table| table.rules.still_hold(&self.layout))?;
        let head = self.head_alone()?;
        let differences = table.compare(&self.layout.root, |path| self.spares(path))?;
        table.record(differences, self.loose()?)?;
        Some(Found {
            head: Some(head),
            unchanged: table.is_as_before(),
            notices: Vec::new(),
            ignoring: None,
        })
    }

    /// Has git look for what differs, and takes it into the table, or into ralph's index where there is more to it.
    pub(super) fn find_by_git(&self, state: &mut State, copied: Copied) -> Result<Found, GitError> {
        let mut table = state.table.take();
        if let Some(table) = &mut table {
            self.write_table(table)?;
        }
        // Before git reads them: what changes meanwhile has changed the next time.
        let rules = self.settings().and_then(|known| known.rules);
        let (mut status, mut warnings) = self.scan()?;
        if copied == Copied::No && status.changes_ignoring() {
            // ralph's index goes on holding what is ignored from now on; the user's has never held it.
            table = None;
            self.follow_index(state, When::Always)?;
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
        let unchanged = state.table.as_ref().is_none_or(Table::is_as_before);
        Ok(Found {
            head,
            unchanged: same_files && unchanged,
            notices,
            ignoring,
        })
    }

    /// Writes the trees of what the table or ralph's index holds, and returns the root's name.
    pub(super) fn write_trees(&self, table: &mut Option<Table>) -> Result<String, GitError> {
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
