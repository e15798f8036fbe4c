//! Conflicts of a merge, read from git's index and the files.

use std::{fs, path::Path};

use ralph_system::files;

use super::process::{nul_separated, raw_changes};

/// The mode of an entry that is a nested repository.
const GITLINK: &str = "160000";
/// The beginnings of the lines that enclose a conflict.
const MARKERS: [&str; 2] = ["<<<<<<< ", ">>>>>>> "];
/// Larger files are not searched for markers.
const MARKED_CAP_BYTES: u64 = 16 << 20;

/// A file that both sides of a merge changed, and the versions that exist of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileConflict {
    pub path: String,
    /// The common ancestor has the file.
    pub in_base: bool,
    /// The branch that is merged into has the file.
    pub in_branch: bool,
    pub in_target: bool,
}

impl FileConflict {
    /// Parses the output of `git ls-files --unmerged -z`.
    pub(super) fn parse(printed: &[u8]) -> Vec<FileConflict> {
        let mut conflicts: Vec<FileConflict> = Vec::new();
        for entry in nul_separated(printed) {
            // `MODE OBJECT STAGE<TAB>PATH`
            let entry = String::from_utf8_lossy(entry);
            let Some((stage, path)) = entry.split_once('\t') else {
                continue;
            };
            if conflicts.last().is_none_or(|last| last.path != path) {
                conflicts.push(FileConflict {
                    path: path.to_owned(),
                    ..FileConflict::default()
                });
            }
            if let Some(conflict) = conflicts.last_mut() {
                conflict.in_base |= stage.ends_with('1');
                conflict.in_branch |= stage.ends_with('2');
                conflict.in_target |= stage.ends_with('3');
            }
        }
        conflicts
    }
}

/// Returns the files that have conflict markers.
pub fn marked(tree: &Path, files: &[String]) -> Vec<String> {
    let is_marked = |file: &&String| {
        let bytes = files::read_unfollowed(&tree.join(file), MARKED_CAP_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let has = |marker: &str| text.lines().any(|line| line.starts_with(marker));
        MARKERS.iter().all(|marker| has(marker))
    };
    files.iter().filter(is_marked).cloned().collect()
}

/// Whether `messages` name `file` as a separate word: `newer` and `src/new` do not name `new`.
fn is_named(messages: &str, file: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    messages.match_indices(file).any(|(at, _)| {
        let before = messages[..at].chars().next_back();
        let mut after = messages[at + file.len()..].chars();
        let next = after.next();
        // A full stop ends a sentence, unless an extension follows it.
        let goes_on = next == Some('.') && after.next().is_some_and(is_part);
        !before.is_some_and(|c| is_part(c) || c == '.') && !next.is_some_and(is_part) && !goes_on
    })
}

/// Whether a file of a merge is resolved: it differs from both sides (`differs`), or `messages` name it.
pub(super) fn is_resolved(tree: &Path, file: &str, differs: [bool; 2], messages: &str) -> bool {
    let is_nowhere = differs == [false; 2] && tree.join(file).symlink_metadata().is_err();
    let names = match is_nowhere {
        true => moved_aside(tree, file),
        false => vec![file.to_owned()],
    };
    differs == [true; 2] || names.iter().all(|name| is_named(messages, name))
}

/// Returns the files that git has moved aside because a merge puts a directory in their place. git calls them
/// `NAME~SIDE` and names the sides differently in each work tree: `file` may be the name in another one.
fn moved_aside(tree: &Path, file: &str) -> Vec<String> {
    let Some((name, _)) = file.rsplit_once('~') else {
        return Vec::new();
    };
    let (directory, name) = name
        .rsplit_once('/')
        .map_or(("", name), |(directory, name)| (directory, name));
    let Ok(entries) = fs::read_dir(tree.join(directory)) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_aside = |found: &String| {
        let side = found.strip_prefix(name).and_then(|rest| rest.strip_prefix('~'));
        side.is_some_and(|side| !side.is_empty())
    };
    let aside = names.filter(is_aside);
    aside
        .map(|name| match directory {
            "" => name,
            directory => format!("{directory}/{name}"),
        })
        .collect()
}

/// Returns the paths that become nested repositories, from the output of `git diff --raw -z`.
pub(super) fn repositories_added(printed: &[u8]) -> Vec<String> {
    raw_changes(printed)
        .flatten()
        .filter(|change| change.modes[0] != GITLINK && change.modes[1] == GITLINK)
        .map(|change| String::from_utf8_lossy(change.path).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_say_which_side_has_a_file() {
        let printed =
            b"100644 a 1\tboth\x00100644 b 2\tboth\x00100644 c 3\tboth\x00100644 d 1\tgone\x00100644 e 3\tgone\0garbage\0";
        let sides: Vec<_> = FileConflict::parse(printed)
            .into_iter()
            .map(|file| (file.path, file.in_base, file.in_branch, file.in_target))
            .collect();
        assert_eq!(
            sides,
            [
                ("both".to_owned(), true, true, true),
                ("gone".to_owned(), true, false, true)
            ]
        );
    }

    #[test]
    fn a_file_is_named_by_itself_and_not_by_a_longer_name() {
        for message in [
            "Keep our logo.png, it is right",
            "`logo.png`",
            "logo.png",
            "Keep logo.png.",
        ] {
            assert!(is_named(message, "logo.png"), "{message}");
        }
        for message in [
            "",
            "src/logo.png",
            "logo.png.bak",
            "my-logo.png",
            "logo_png",
            "logo.pngx",
        ] {
            assert!(!is_named(message, "logo.png"), "{message}");
        }
        assert!(!is_named("Make it newer", "new"));
    }

    #[test]
    fn a_repository_that_was_there_before_is_not_added() {
        let printed = b":160000 160000 a b M\0old\0:000000 160000 0 c A\0new\0:100644 100644 d e M\0file\0";
        assert_eq!(repositories_added(printed), ["new"]);
    }
}
