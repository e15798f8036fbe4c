//! Parses `git status --porcelain=v2 --branch -z`: the commit and the branch of HEAD, and the files that differ from the index.

use std::{ffi::OsStr, path::PathBuf};

use super::process::{nul_separated, path};

/// The differences between the work tree and the index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WorkTreeStatus {
    /// `None` before the first commit.
    pub(super) head: Option<String>,
    /// The branch that is checked out; `None` if HEAD is detached.
    pub(super) branch: Option<String>,
    /// Tracked files that differ or are gone, relative to the root.
    pub(super) changed: Vec<PathBuf>,
    pub(super) untracked: Vec<PathBuf>,
    /// Untracked directories that are repositories themselves, without those in ignored directories.
    pub(super) nested: Vec<PathBuf>,
    /// Entries of the index that name a commit, where another one is checked out.
    pub(super) links: Vec<PathBuf>,
    /// Ignored directories; files of the same patterns are left out.
    pub(super) ignored: Vec<PathBuf>,
}

impl WorkTreeStatus {
    /// Whether an ignore file changed, so that untracked files in ralph's index may be ignored now.
    pub(super) fn changes_ignoring(&self) -> bool {
        self.changed
            .iter()
            .chain(&self.untracked)
            .any(|path| path.file_name() == Some(OsStr::new(".gitignore")))
    }
}

/// Parses git's output; `None` if it is not in the documented form.
pub(super) fn parse(output: &[u8]) -> Option<WorkTreeStatus> {
    let mut status = WorkTreeStatus::default();
    for line in nul_separated(output) {
        let (kind, rest) = (line.first()?, line.get(2..)?);
        match kind {
            b'#' => {
                if let Some(oid) = rest.strip_prefix(b"branch.oid ").filter(|oid| *oid != b"(initial)") {
                    status.head = Some(str::from_utf8(oid).ok()?.to_owned());
                }
                if let Some(branch) = rest.strip_prefix(b"branch.head ").filter(|name| *name != b"(detached)") {
                    status.branch = Some(String::from_utf8_lossy(branch).into_owned());
                }
            }
            // `1 XY …` and `u XY …`, the path after 8 and 10 words. Y is the work tree's side.
            b'1' if rest.get(1) == Some(&b'.') => {}
            b'1' if rest.splitn(6, |&byte| byte == b' ').nth(4)? == b"160000" => {
                status.links.push(path(word(rest, 7)?));
            }
            b'1' => status.changed.push(path(word(rest, 7)?)),
            b'u' => status.changed.push(path(word(rest, 9)?)),
            b'!' => status.ignored.extend(rest.strip_suffix(b"/").map(path)),
            b'?' => match rest.strip_suffix(b"/") {
                Some(directory) => status.nested.push(path(directory)),
                None => status.untracked.push(path(rest)),
            },
            _ => return None,
        }
    }
    Some(status)
}

/// Returns everything after the first `skipped` words; a path may contain spaces.
fn word(line: &[u8], skipped: usize) -> Option<&[u8]> {
    line.splitn(skipped + 1, |&byte| byte == b' ').nth(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_trees_side_decides() {
        let output = b"# branch.oid abc\0# branch.head main\0\
            1 M. N... 100644 100644 100644 1 2 staged\0\
            1 .M N... 100644 100644 100644 1 2 a b\0\
            1 AD N... 000000 100644 000000 1 2 gone\0\
            1 .M SC.. 160000 160000 160000 1 2 sub module\0\
            1 .D S... 160000 160000 000000 1 2 sub gone\0\
            u UU N... 100644 100644 100644 100644 1 2 3 merged\0\
            ? new\xff\0? inner/\0! made/\0! file.o\0";
        let status = parse(output).unwrap();
        assert_eq!(status.head.as_deref(), Some("abc"));
        assert_eq!(status.branch.as_deref(), Some("main"));
        assert_eq!(status.changed, ["a b", "gone", "sub gone", "merged"].map(PathBuf::from));
        assert_eq!(status.untracked, [path(b"new\xff")]);
        assert_eq!(status.nested, [PathBuf::from("inner")]);
        assert_eq!(status.links, [PathBuf::from("sub module")]);
        assert_eq!(status.ignored, [PathBuf::from("made")]);
    }

    #[test]
    fn before_the_first_commit_there_is_no_head() {
        let status = parse(b"# branch.oid (initial)\0# branch.head main\0").unwrap();
        assert_eq!((status.head, status.branch.as_deref()), (None, Some("main")));
    }

    #[test]
    fn a_detached_head_is_on_no_branch() {
        let status = parse(b"# branch.oid abc\0# branch.head (detached)\0").unwrap();
        assert_eq!((status.head.as_deref(), status.branch), (Some("abc"), None));
    }

    #[test]
    fn anything_else_is_not_guessed_at() {
        assert_eq!(parse(b"2 R. what is this\0"), None);
        assert_eq!(parse(b"1 .M short\0"), None);
    }
}
