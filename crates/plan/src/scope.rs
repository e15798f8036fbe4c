//! The scope of a task: the files that it may change.

use std::collections::BTreeSet;

use ralph_core::event::{PlanSnapshot, ScopedTask};
use ralph_text::path_glob::{PathGlob, parts};

/// Divides a list of patterns at its commas, besides those in braces and brackets, and checks each.
///
/// # Errors
/// The first wrong pattern, and a clause with what is wrong about it.
pub(super) fn patterns(list: &str) -> Result<Vec<String>, (&str, &'static str)> {
    let mut depth = 0_usize;
    let ends = |letter: char| {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    let patterns = list.split(ends).map(str::trim).filter(|pattern| !pattern.is_empty());
    let checked = patterns.map(|pattern| match mistake(pattern) {
        Some(why) => Err((pattern, why)),
        None => PathGlob::new(pattern)
            .map(|_| pattern.to_owned())
            .map_err(|why| (pattern, why)),
    });
    checked.collect()
}

/// The reason why a well-formed pattern matches no path of a project.
fn mistake(pattern: &str) -> Option<&'static str> {
    let mut letters = pattern.chars();
    let has_drive = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && letters.next() == Some(':');
    if pattern.contains('\\') {
        Some("separate directories by `/`")
    } else if pattern.contains(['"', '\'', '`']) {
        Some("quotation marks go around the whole list: only=\"a b/**,c\"")
    } else if has_drive {
        Some("it starts with a drive, but paths are relative to the project")
    } else if pattern.starts_with('~') {
        Some("it starts with `~`, but paths are relative to the project")
    } else {
        None
    }
}

/// Counts ticked tasks as open that changed files outside of their scopes: those whose names are in `held`.
pub fn hold_out_of_scope(plan: &mut PlanSnapshot, at_start: &[ScopedTask], held: &BTreeSet<String>) {
    if held.is_empty() {
        return;
    }
    let done = plan.tasks.iter().filter(|task| task.done);
    let scopes: Vec<Option<ScopedTask>> = done.map(|task| plan.scope_of(at_start, &task.text)).collect();
    for (task, scope) in plan.tasks.iter_mut().filter(|task| task.done).zip(scopes) {
        task.done = !scope.is_some_and(|scope| held.contains(&scope.task));
    }
}

/// The files that some tasks may change.
#[derive(Debug, Default)]
pub struct TaskScope(Vec<(PathGlob, bool)>);

impl TaskScope {
    /// Compiles patterns. One that is wrong matches nothing.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a String>) -> Self {
        let globs = patterns.into_iter().filter_map(|pattern| {
            let last = pattern.rsplit('/').next().unwrap_or_default();
            Some((PathGlob::new(pattern).ok()?, !last.contains(['*', '?', '[', '{'])))
        });
        Self(globs.collect())
    }

    /// Whether the file at `path`, relative to the project, may be changed. A pattern that ends in a plain name may be that of
    /// a directory, and then has all files below it.
    pub fn has(&self, path: &str) -> bool {
        let parts = parts(path);
        self.0.iter().any(|(glob, may_be_directory)| {
            let first = if *may_be_directory { 1 } else { parts.len() };
            (first..=parts.len()).any(|end| glob.matches(&parts[..end]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_the_files_of_its_patterns_and_all_below_a_directory_that_is_named() {
        let scope = |patterns: &[&str]| TaskScope::new(&patterns.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        for (patterns, path, expected) in [
            (&["src/parser/**"][..], "src/parser/a/b.rs", true),
            (&["src/parser/**"], "src/parser.rs", false),
            (&["src/parser"], "src/parser/a/b.rs", true),
            (&["src/parser/"], "src/parser/a/b.rs", true),
            (&["src/parser"], "src/parser.rs", false),
            (&["src/parser"], "lib/src/parser/a.rs", false),
            (&["src/*"], "src/a.rs", true),
            (&["src/*"], "src/a/b.rs", false),
            (&["parser"], "src/parser/a.rs", true),
            (&["*.md", "src/a.rs"], "docs/x.md", true),
            (&["*.md", "src/a.rs"], "src/a.rs", true),
            (&["*.md", "src/a.rs"], "src/b.rs", false),
            (&["my dir/**"], "my dir/ä ö.txt", true),
            (&["SRC/**"], "src/a.rs", false),
            (&["vendor"], "vendor", true),
            (&["src/**"], "../src/a.rs", false),
            (&["**"], "any/where", true),
        ] {
            assert_eq!(scope(patterns).has(path), expected, "{patterns:?} {path}");
        }
    }
}
