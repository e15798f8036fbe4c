//! Changes of guarded files as a diff for people.

use std::time::Duration;

use similar::TextDiff;

use super::project_dir::FileContent;

const DIFF_CAP_BYTES: usize = 64 << 10;
/// Most bytes of a file whose lines are compared.
const COMPARED_CAP_BYTES: usize = 1 << 20;
/// Time limit of the search for the shortest diff; after that, a longer one is accepted.
const PATIENCE: Duration = Duration::from_millis(200);

/// A unified diff that grows file by file, up to a bound.
#[derive(Default)]
pub(super) struct UnifiedDiff {
    text: String,
    left_out: usize,
}

impl UnifiedDiff {
    /// Adds a file to the diff; `now` is `None` if the file cannot be read.
    pub(super) fn add(&mut self, path: &str, before: &FileContent, now: Option<&FileContent>) {
        if self.text.len() >= DIFF_CAP_BYTES {
            self.left_out += 1;
            return;
        }
        let texts = (shown(before), now.and_then(shown));
        let (Some(old), Some(new)) = texts else {
            self.text.push_str(&format!("{path}: not text, or too large to show\n"));
            return;
        };
        let name = |content: Option<&FileContent>, side: &str| match content {
            Some(FileContent::Nothing) => "/dev/null".to_owned(),
            Some(FileContent::File { .. } | FileContent::Link(_)) | None => format!("{side}/{path}"),
        };
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&old, &new);
        let mut unified = diff.unified_diff();
        unified.header(&name(Some(before), "a"), &name(now, "b"));
        let text = unified.to_string();
        if text.is_empty() {
            self.text.push_str(&format!("{path}: executable bit changed\n"));
        }
        self.text.push_str(&text);
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    pub(super) fn into_text(mut self) -> String {
        if self.text.len() > DIFF_CAP_BYTES {
            let bytes = &self.text.as_bytes()[..DIFF_CAP_BYTES];
            let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            self.text.truncate(end);
            self.text.push_str("…\n");
        }
        if self.left_out > 0 {
            self.text.push_str(&format!("… and {} more\n", self.left_out));
        }
        self.text
    }
}

fn shown(content: &FileContent) -> Option<String> {
    match content {
        FileContent::Nothing => Some(String::new()),
        FileContent::Link(target) => Some(format!("-> {}\n", String::from_utf8_lossy(target))),
        FileContent::File { bytes, .. } if bytes.len() > COMPARED_CAP_BYTES || bytes.contains(&0) => None,
        FileContent::File { bytes, .. } => String::from_utf8(bytes.clone()).ok(),
    }
}
