//! Which plans there are, and how large one may be.

use std::path::Path;

/// Most tasks of a plan.
pub(super) const TASKS_CAP: usize = 10_000;
/// Most bytes of the texts of all tasks, as JSON has them. With [`TASKS_CAP`] it bounds the record of a plan: less than
/// 2 MiB. One that names every task as vanished and as many as new stays below 3 MiB.
pub(super) const ALL_TEXTS_CAP_BYTES: usize = 1 << 20;
/// Most bytes of all headings, as JSON has them. A plan with more is read without them.
pub(super) const ALL_HEADINGS_CAP_BYTES: usize = 128 << 10;

/// Most list items and quotes that begin on the line of another. Reading one takes some hundred bytes of memory.
pub(super) const NESTED_CAP: usize = 50_000;

/// How a plan is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// A check-list: `- [ ] task`.
    Markdown,
    /// User stories in JSON, each with `passes`.
    Prd,
}

impl PlanKind {
    /// Tells the kind from the file's name: `.json` in any case is [`PlanKind::Prd`], all else Markdown.
    pub fn of(path: &Path) -> Self {
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
        assert_eq!(PlanKind::of(Path::new("a/prd.JSON")), PlanKind::Prd);
        assert_eq!(PlanKind::of(Path::new("PLAN.md")), PlanKind::Markdown);
        assert_eq!(PlanKind::of(Path::new("plan")), PlanKind::Markdown);
        assert_eq!(PlanKind::of(Path::new(".json")), PlanKind::Markdown);
    }
}
