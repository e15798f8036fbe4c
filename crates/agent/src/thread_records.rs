//! The records that codex writes of the threads of its subagents: `codex exec` reports that they run, and not what they use.
//!
//! A thread's record is `sessions/YEAR/MONTH/DAY/rollout-TIME-THREAD.jsonl` in codex's own directory. A thread that was
//! forked begins with the usage of the other, so what counts is the difference.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use ralph_core::event::{AgentSignal, SubagentReport, Usage};
use ralph_system::files;
use serde_json::Value;

use super::{invocation::variable, login};

/// Longest record that is read.
const RECORD_CAP_BYTES: u64 = 64 << 20;
/// Longest first line of a record that is read: it has the instructions of the thread.
const ORIGIN_CAP_BYTES: u64 = 1 << 20;
/// Latest days of which records are looked for: a session may begin before midnight.
const DAYS: usize = 2;

/// The records of the subagents of a session.
pub(super) struct ThreadRecords {
    sessions: PathBuf,
    threads: BTreeMap<String, SubagentReport>,
}

impl ThreadRecords {
    /// The records below the directory of codex that a program with these variables uses; `None` if there is none.
    pub(super) fn of(env: &[(String, String)]) -> Option<Self> {
        let home = variable(env, "CODEX_HOME").map(PathBuf::from);
        Some(Self {
            sessions: home.or_else(|| login::expanded("~/.codex"))?.join("sessions"),
            threads: BTreeMap::new(),
        })
    }

    /// Follows the subagents of these signals. Returns what those have used that have ended.
    pub(super) fn follow(&mut self, signals: &[AgentSignal]) -> Vec<AgentSignal> {
        let mut used = Vec::new();
        for signal in signals {
            let AgentSignal::Subagent { subagent } = signal else {
                continue;
            };
            let known = self.threads.entry(subagent.id.clone()).or_default();
            let usage = known.usage;
            *known = SubagentReport {
                usage,
                ..SubagentReport::clone(subagent)
            };
            if !known.running {
                used.extend(new_usage(&self.sessions, known));
            }
        }
        used
    }

    /// Returns what all subagents have used that was not returned before, also those that subagents have started: these
    /// are not reported at all.
    pub(super) fn rest(&mut self) -> Vec<AgentSignal> {
        if !self.threads.is_empty() {
            let records: Vec<PathBuf> = records(&self.sessions).collect();
            // A thread begins after the one that starts it.
            for nested in records.iter().rev().filter_map(|path| origin(path)) {
                let parent = nested.parent.as_deref().unwrap_or_default();
                if self.threads.contains_key(parent) {
                    self.threads.entry(nested.id.clone()).or_insert(nested);
                }
            }
        }
        let threads = self.threads.values_mut();
        threads.flat_map(|known| new_usage(&self.sessions, known)).collect()
    }
}

/// The tokens that a thread has used since the last look.
fn new_usage(sessions: &Path, known: &mut SubagentReport) -> Vec<AgentSignal> {
    let Some(total) = record(sessions, &known.id).and_then(|path| used(&path)) else {
        return Vec::new();
    };
    let usage = total.since(known.usage);
    if usage.tokens().unwrap_or(0) == 0 {
        return Vec::new();
    }
    known.usage = total;
    let subagent = Box::new(known.clone());
    vec![AgentSignal::Usage { usage }, AgentSignal::Subagent { subagent }]
}

/// The record of a thread.
fn record(sessions: &Path, thread: &str) -> Option<PathBuf> {
    let end = OsString::from(format!("-{thread}.jsonl"));
    let is_record = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().ends_with(end.as_encoded_bytes())
    };
    records(sessions).find(is_record)
}

/// The records of the latest days, the newest first.
fn records(sessions: &Path) -> impl Iterator<Item = PathBuf> {
    let days = newest(sessions)
        .into_iter()
        .flat_map(|year| newest(&year))
        .flat_map(|month| newest(&month));
    days.take(DAYS).flat_map(|day| newest(&day))
}

/// The thread of a record that another one has started.
fn origin(path: &Path) -> Option<SubagentReport> {
    let head = files::read_head(path, ORIGIN_CAP_BYTES).ok()?;
    let line: Value = serde_json::from_slice(head.split(|byte| *byte == b'\n').next()?).ok()?;
    let field = |name: &str| Some(line["payload"][name].as_str()?.to_owned());
    Some(SubagentReport {
        id: field("id")?,
        parent: Some(field("parent_thread_id")?),
        title: field("agent_nickname").unwrap_or_default(),
        ..SubagentReport::default()
    })
}

/// The entries of a directory, the last name first.
fn newest(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths.reverse();
    paths
}

/// The usage of a thread itself, by its record.
fn used(path: &Path) -> Option<Usage> {
    let text = files::read_text(path, RECORD_CAP_BYTES).ok()?;
    let counts = text.lines().filter(|line| line.contains("\"token_count\""));
    let mut counts = counts.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let usage = |event: &Value, which: &str| {
        let found = event.pointer(&format!("/payload/info/{which}"))?;
        let count = |name: &str| found.get(name).and_then(Value::as_u64);
        Some(Usage {
            input_tokens: count("input_tokens"),
            cached_tokens: count("cached_input_tokens"),
            output_tokens: count("output_tokens"),
            ..Usage::default()
        })
    };
    let first = counts.find(|event| usage(event, "total_token_usage").is_some())?;
    let before = usage(&first, "total_token_usage")?.since(usage(&first, "last_token_usage")?);
    let last = counts
        .rfind(|event| usage(event, "total_token_usage").is_some())
        .unwrap_or(first);
    Some(usage(&last, "total_token_usage")?.since(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(total: u64, last: u64) -> String {
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{total},"output_tokens":1}},"last_token_usage":{{"input_tokens":{last},"output_tokens":1}}}}}}}}"#
        ) + "\n"
    }

    #[test]
    fn a_subagents_record_counts_once_and_without_what_the_thread_was_forked_with() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/30");
        fs::create_dir_all(&day).unwrap();
        let path = day.join("rollout-2026-11-30T09-00-34-abc.jsonl");
        let limits = r#"{"type":"event_msg","payload":{"type":"token_count","info":null}}"#;
        fs::write(&path, format!("{limits}\n{}{{torn", count(700, 200))).unwrap();
        let env = [("CODEX_HOME".to_owned(), home.path().display().to_string())];
        let mut records = ThreadRecords::of(&env).unwrap();
        let report = |running| AgentSignal::Subagent {
            subagent: Box::new(SubagentReport {
                id: "abc".to_owned(),
                running,
                ..SubagentReport::default()
            }),
        };
        let input = |signals: Vec<AgentSignal>| {
            let used = signals.into_iter().find_map(|signal| match signal {
                AgentSignal::Usage { usage } => usage.input_tokens,
                _ => None,
            });
            used.unwrap_or(0)
        };
        assert_eq!(input(records.follow(&[report(true)])), 0);
        assert_eq!(input(records.follow(&[report(false)])), 200);
        assert_eq!(input(records.follow(&[report(false)])), 0);
        fs::write(&path, count(700, 200) + &count(1000, 300)).unwrap();
        assert_eq!(input(records.rest()), 300);
    }
}
