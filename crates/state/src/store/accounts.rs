//! The newest reports of the windows of the user's accounts, shared by all runs of this machine.
//!
//! Runs write without a lock: the file is replaced as a whole, and a report that is lost comes again with the next
//! request.

use std::{fs, io, path::PathBuf};

use ralph_core::event::WindowSample;
use ralph_system::{
    files::read_unfollowed,
    paths::{States, digest, replace_file},
};
use ralph_text::pretty_json;
use serde::{Deserialize, Serialize};

const CAP_BYTES: u64 = 64 * 1024;
/// Time between two reports of parallel runs whose order says nothing.
const AT_ONCE_MS: u64 = 60_000;

/// The file of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountFile {
    path: PathBuf,
    account: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Account {
    /// The directory of the agent's own state, or its adapter.
    account: String,
    windows: Vec<WindowSample>,
}

impl AccountFile {
    pub fn new(states: &States, account: &str) -> Self {
        let name = format!("{:016x}.json", digest(account.as_bytes()));
        Self {
            path: states.root().join("accounts").join(name),
            account: account.to_owned(),
        }
    }

    /// Returns the newest report of each window; an empty list if the file is missing or not what ralph wrote.
    pub fn windows(&self) -> Vec<WindowSample> {
        let text = read_unfollowed(&self.path, CAP_BYTES).unwrap_or_default();
        let known: Account = serde_json::from_slice(&text).unwrap_or_default();
        known.windows
    }

    /// Keeps a report, unless there is a newer one of its window. Parallel runs report in any order: of two reports
    /// within a minute, the one with the larger used share counts.
    ///
    /// # Errors
    /// The file system's error.
    pub fn keep(&self, sample: WindowSample) -> io::Result<()> {
        let mut windows = self.windows();
        let of_kind = windows.iter().find(|known| known.window.kind == sample.window.kind);
        if of_kind.is_some_and(|known| known.holds_at(sample.at_ms) && counts_more(known, &sample)) {
            return Ok(());
        }
        windows.retain(|known| known.window.kind != sample.window.kind);
        windows.push(sample);
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let known = Account {
            account: self.account.clone(),
            windows,
        };
        replace_file(&self.path, pretty_json(&known).as_bytes())
    }
}

/// Whether a known report, which is valid, says more than a new one.
fn counts_more(known: &WindowSample, new: &WindowSample) -> bool {
    match known.at_ms.abs_diff(new.at_ms) < AT_ONCE_MS {
        true => known.window.used_percent > new.window.used_percent,
        false => known.at_ms > new.at_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{UsageWindow, WindowKind};

    fn sample(at_ms: u64, kind: WindowKind, used_percent: u8) -> WindowSample {
        let window = UsageWindow {
            kind,
            used_percent,
            resets_ms: 2 * AT_ONCE_MS,
            length_ms: 2 * AT_ONCE_MS,
        };
        WindowSample { at_ms, window }
    }

    #[test]
    fn the_newest_report_of_each_window_is_kept_for_every_run() {
        let directory = tempfile::tempdir().unwrap();
        let states = States::below(directory.path());
        let (one, other) = (AccountFile::new(&states, "codex"), AccountFile::new(&states, "codex"));
        assert_eq!(one.windows(), []);
        let week = sample(5, WindowKind::Week, 40);
        one.keep(sample(6, WindowKind::FiveHour, 10)).unwrap();
        other.keep(week).unwrap();
        other.keep(sample(8, WindowKind::FiveHour, 20)).unwrap();
        // It was made before the other one, or its clock is slow.
        one.keep(sample(9, WindowKind::FiveHour, 15)).unwrap();
        assert_eq!(one.windows(), [week, sample(8, WindowKind::FiveHour, 20)]);
        let later = sample(8 + AT_ONCE_MS, WindowKind::FiveHour, 15);
        one.keep(later).unwrap();
        one.keep(sample(8, WindowKind::FiveHour, 20)).unwrap();
        assert_eq!(one.windows(), [week, later]);
        assert_eq!(AccountFile::new(&states, "claude").windows(), []);
    }

    #[test]
    fn a_spoilt_file_has_no_reports_and_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let file = AccountFile::new(&States::below(directory.path()), "codex");
        file.keep(sample(1, WindowKind::Week, 1)).unwrap();
        fs::write(&file.path, "{").unwrap();
        assert_eq!(file.windows(), []);
        let week = sample(2, WindowKind::Week, 2);
        file.keep(week).unwrap();
        assert_eq!(file.windows(), [week]);
    }
}
