//! The kinds of plans and their size limits.

use std::path::Path;

/// Maximum number of tasks of a plan.
pub(super) const TASKS_CAP: usize = 10_000;
/// Maximum number of lines that look like tasks and cannot be read.
pub(super) const UNREAD_CAP: usize = 10_000;
/// Maximum size of all task texts as JSON, in bytes. Together with [`TASKS_CAP`] it keeps the record of a plan below 2
/// MiB, and one that lists every task as vanished and as many new ones below 3 MiB.
pub(super) const ALL_TEXTS_CAP_BYTES: usize = 1 << 20;
/// Maximum size of all headings as JSON, in bytes. A plan with more is read without them.
pub(super) const ALL_HEADINGS_CAP_BYTES: usize = 128 << 10;

/// Maximum number of list items and quotes that begin on the line of another. Each takes some hundred bytes of memory
/// to parse.
pub(super) const NESTED_CAP: usize = 50_000;

/// The format of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// A check-list: `- [ ] task`.
    Markdown,
    /// User stories in JSON, each with `passes`.
    Prd,
}

impl PlanKind {
    /// Returns the kind by the file's extension: `.json` in any case is [`PlanKind::Prd`], all others are Markdown.
    pub fn from_path(path: &Path) -> Self {
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("json") => PlanKind::Prd,
            Some(_) | None => PlanKind::Markdown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_the_kind() {
        assert_eq!(PlanKind::from_path(Path::new("a/prd.JSON")), PlanKind::Prd);
        assert_eq!(PlanKind::from_path(Path::new("PLAN.md")), PlanKind::Markdown);
        assert_eq!(PlanKind::from_path(Path::new("plan")), PlanKind::Markdown);
        assert_eq!(PlanKind::from_path(Path::new(".json")), PlanKind::Markdown);
    }
}
