//! Changes of the work that tests should notice: a cheat proves something only if the work is not done.

use ralph_core::event::Mutant;
use ralph_gate::{cheats::language, mutants::work_mutants};
use ralph_text::whole_words;

/// Most source files that are searched for changes.
const FILES: usize = 200;
/// Most changes that are returned.
const MOST: usize = 24;

/// A change of one line of the work.
#[derive(Debug, Clone)]
pub(crate) struct Break {
    pub(crate) mutant: Mutant,
    /// The whole file before the change.
    pub(crate) original: String,
    /// The whole file after the change.
    pub(crate) broken: String,
}

/// Returns the source files among `files`, those that `tests`, the text of all tests, mention most first.
pub(crate) fn ranked(files: &[String], is_test: impl Fn(&str) -> bool, tests: &str) -> Vec<String> {
    let source = files.iter().filter(|path| language(path).is_some() && !is_test(path));
    let mut ranked: Vec<(usize, &String)> = source.map(|path| (mentions(path, tests), path)).collect();
    ranked.sort_by_key(|(mentions, path)| (usize::MAX - mentions, path.matches('/').count(), *path));
    ranked.into_iter().map(|(_, path)| path.clone()).take(FILES).collect()
}

/// Counts how often the tests mention a file.
fn mentions(path: &str, tests: &str) -> usize {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    whole_words(tests, stem).count()
}

/// Returns changes of the `ranked` source files: one of each file before the second of any.
pub(crate) fn breaks(ranked: &[String], text: impl Fn(&str) -> Option<String>) -> Vec<Break> {
    let mut found = Vec::new();
    for path in ranked {
        let Some(original) = text(path) else { continue };
        let lines = 1..=u32::MAX;
        let mutations = work_mutants(path, &original, &[lines], original.len() as u64);
        found.extend(mutations.into_iter().take(MOST).enumerate().map(|(nth, mutation)| {
            let found = Break {
                mutant: mutation.mutant,
                original: original.clone(),
                broken: mutation.text,
            };
            (nth, found)
        }));
    }
    found.sort_by_key(|(nth, _)| *nth);
    found.into_iter().map(|(_, found)| found).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_tests_name_are_broken_first() {
        let files = ["a/deep/other.py", "calc.py", "data.json", "other.py", "test_calc.py"].map(str::to_owned);
        let is_test = |path: &str| path.starts_with("test_");
        let found = ranked(&files, is_test, "from calc import add, calculus\n");
        assert_eq!(found, ["calc.py", "other.py", "a/deep/other.py"]);
        let text = |path: &str| (path == "calc.py").then(|| "def add(a, b):\n    return a + b\n".to_owned());
        let breaks = breaks(&found, text);
        assert!(!breaks.is_empty());
        for found in breaks {
            let Break {
                mutant,
                original,
                broken,
            } = &found;
            assert_eq!((&mutant.path[..], mutant.line), ("calc.py", 2), "{found:?}");
            assert!(broken != original && mutant.before == "return a + b");
        }
    }
}
