//! Finds files of a project that say what is to be built, by their names and places.

use std::{fs, path::Path};

/// Directories in which such files are, besides the top.
const DIRECTORIES: [&str; 7] = ["docs", "doc", "specs", "spec", "plans", "requirements", ".ralph/specs"];
/// Words of a name that say that the file describes what is to be built.
const WORDS: [&str; 12] = [
    "prd",
    "spec",
    "specs",
    "specification",
    "specifications",
    "requirement",
    "requirements",
    "srs",
    "brief",
    "scope",
    "stories",
    "features",
];
/// Words of files that are about the directory itself.
const BESIDE: [&str; 3] = ["readme", "index", "template"];
/// Maximum number of entries that are looked at in a directory.
const ENTRIES_CAP: usize = 1024;

/// The files that say what is to be built, relative to the project: those at its top first.
pub(crate) fn requirements_files(project: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for directory in ["."].into_iter().chain(DIRECTORIES) {
        let entries = fs::read_dir(project.join(directory)).into_iter().flatten().flatten();
        let files = entries
            .take(ENTRIES_CAP)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let names = files.filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<String> = names.filter(|name| describes_work(directory, name)).collect();
        found.sort_unstable();
        all.extend(found.into_iter().map(|name| match directory {
            "." => name,
            _ => format!("{directory}/{name}"),
        }));
    }
    all
}

/// Whether a Markdown file of this name describes what is to be built. In a directory of specifications, all do.
fn describes_work(directory: &str, name: &str) -> bool {
    let lower = name.to_lowercase();
    let Some(stem) = lower.strip_suffix(".md").or_else(|| lower.strip_suffix(".markdown")) else {
        return false;
    };
    let has = |text: &str, wanted: &[&str]| {
        let mut words = text.split(|sign: char| !sign.is_alphanumeric());
        words.any(|word| wanted.contains(&word))
    };
    let place = directory.rsplit('/').next().unwrap_or_default();
    !has(stem, &BESIDE) && (has(stem, &WORDS) || has(place, &WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_say_what_is_to_be_built_are_found_by_name_and_place() {
        let project = tempfile::tempdir().unwrap();
        for name in [
            "PRD.md",
            "README.md",
            "CHANGELOG.md",
            "prd.json",
            "docs/product-requirements.md",
            "docs/guide.md",
            "specs/login.md",
            "specs/README.md",
            "specs/login.txt",
            "plans/MVP Spec.markdown",
            "src/spec.md",
        ] {
            let path = project.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        assert_eq!(
            requirements_files(project.path()),
            [
                "PRD.md",
                "docs/product-requirements.md",
                "specs/login.md",
                "plans/MVP Spec.markdown"
            ]
        );
        assert_eq!(requirements_files(&project.path().join("none")), [""; 0]);
    }
}
