//! The to-do list of the model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most entries of a list.
const ENTRIES_CAP: usize = 100;
/// Most bytes of an entry.
const ENTRY_CAP_BYTES: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::native) struct TodoEntry {
    pub(in crate::native) content: String,
    pub(in crate::native) status: String,
}

pub(crate) fn read(todos: Option<&Value>) -> Result<Vec<TodoEntry>, String> {
    let Some(Value::Array(entries)) = todos else {
        return Err("`todo` needs `todos`, a list of objects with `content` and `status`".to_owned());
    };
    let entry = |entry: &Value| {
        let content = entry.as_str().or_else(|| entry["content"].as_str())?;
        let status = match entry["status"].as_str() {
            Some("completed" | "done") => "completed",
            Some("in_progress" | "in-progress") => "in_progress",
            _ => "pending",
        };
        Some(TodoEntry {
            content: ralph_core::event::clip(content, ENTRY_CAP_BYTES),
            status: status.to_owned(),
        })
    };
    let read: Option<Vec<TodoEntry>> = entries.iter().take(ENTRIES_CAP).map(entry).collect();
    read.ok_or_else(|| "each entry of `todos` needs `content`".to_owned())
}
