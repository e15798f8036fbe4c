//! The latest result of each attempt, in a file beside the manifest: all of them take longer than a night.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    attempt::Outcome,
    cheats::Way,
    manifest::{Commit, Project},
    support::report,
};

const FILE: &str = "benches/outside/results.jsonl";

/// Results by project and commit, and by way. The commit itself has the empty way.
#[derive(Debug, Default)]
pub struct Results(BTreeMap<(String, String), Record>);

#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    commit: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    way: String,
    pub date: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Results {
    /// Returns those of the file if this run writes them, else none.
    ///
    /// # Panics
    /// If the file is not well formed.
    pub fn read() -> Results {
        let text = if report::is_written() {
            fs::read_to_string(path()).unwrap_or_default() // the first run has none
        } else {
            String::new()
        };
        let records = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("a result"))
            .map(|record: Record| ((record.commit.clone(), record.way.clone()), record));
        Results(records.collect())
    }

    pub fn get(&self, project: &Project, commit: &Commit, way: Option<&Way>) -> Option<&Record> {
        self.0.get(&key(project, commit, way))
    }

    /// Keeps a result, in the file too if this run writes it: an end in the middle then loses nothing.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn keep(&mut self, project: &Project, commit: &Commit, way: Option<&Way>, outcome: Outcome) {
        let key = key(project, commit, way);
        let (commit, way) = key.clone();
        let date = jiff::Zoned::now().date().to_string();
        self.0.insert(
            key,
            Record {
                commit,
                way,
                date,
                outcome,
            },
        );
        if report::is_written() {
            let lines = self
                .0
                .values()
                .map(|record| serde_json::to_string(record).expect("a line"));
            let text: String = lines.map(|line| line + "\n").collect();
            fs::write(path(), text).expect("the results");
        }
    }
}

fn key(project: &Project, commit: &Commit, way: Option<&Way>) -> (String, String) {
    let way = way.map(|way| way.name.to_owned());
    (commit.name(project), way.unwrap_or_default())
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(FILE)
}
