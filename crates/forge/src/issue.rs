//! An issue as the forge describes it, and what it waits for. Pure.

use std::collections::BTreeSet;

use ralph_text::{one_line, sanitized};
use serde_json::Value;

/// Most characters that are kept of the body of an issue.
const BODY: usize = 20_000;
/// Most characters of a title.
const TITLE: usize = 200;

/// Words before the numbers of issues that have to be closed first.
const WAITS: [&str; 2] = ["blocked by", "depends on"];

/// An issue, without anything that a terminal would obey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub number: u64,
    /// One line.
    pub title: String,
    pub body: String,
    pub url: String,
    /// The login of its author.
    pub author: String,
    pub labels: Vec<String>,
    pub is_open: bool,
}

impl Issue {
    /// Reads an issue of the REST API; `None` if it lacks a part, or if it is a pull request, which that API lists among
    /// the issues.
    pub fn from_json(value: &Value) -> Option<Issue> {
        if value["pull_request"].is_object() {
            return None;
        }
        let words = |text: &str, most: usize| -> String { one_line(text).chars().take(most).collect() };
        let labels = value["labels"].as_array().into_iter().flatten();
        let labels = labels.filter_map(|label| label["name"].as_str().or_else(|| label.as_str()));
        let body = value["body"].as_str().unwrap_or_default().replace("\r\n", "\n");
        let mut kept: String = sanitized(&body).chars().take(BODY).collect();
        if kept.len() < sanitized(&body).len() {
            kept += " …";
        }
        Some(Issue {
            number: value["number"].as_u64()?,
            title: words(value["title"].as_str()?, TITLE),
            body: kept,
            url: words(value["html_url"].as_str()?, 2 * TITLE),
            author: words(value["user"]["login"].as_str().unwrap_or("ghost"), TITLE),
            labels: labels.map(|label| words(label, TITLE)).collect(),
            is_open: value["state"].as_str() != Some("closed"),
        })
    }

    /// Returns the numbers of the issues that its body says it waits for: those behind `blocked by` and `depends on`, and
    /// the open entries of its task list that are issues.
    pub fn waits_for(&self) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        for line in self.body.lines() {
            let lower = line.to_lowercase();
            for word in WAITS {
                for (at, _) in lower.match_indices(word) {
                    found.extend(numbers(&lower[at + word.len()..]));
                }
            }
            let item = lower.trim_start().strip_prefix(['-', '*', '+']).map(str::trim_start);
            found.extend(
                item.and_then(|item| item.strip_prefix("[ ]"))
                    .and_then(|entry| number(entry.trim_start())),
            );
        }
        found.remove(&self.number);
        found
    }
}

/// Whether a requirement is the number of an issue, which is work of that issue.
pub(crate) fn is_issue_entry(text: &str) -> bool {
    number(text.trim_start()).is_some()
}

/// The number of `#12` at the beginning of a text.
fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('#')?;
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// The numbers at the beginning of a text: `: #3, #4 and #5`.
fn numbers(text: &str) -> Vec<u64> {
    let words = text
        .split([' ', ',', '\t', ':', '&'])
        .filter(|word| !word.is_empty() && *word != "and");
    words.map_while(number).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn issue(body: &str) -> Issue {
        let value = json!({"number": 7, "title": "T", "html_url": "https://h/o/r/issues/7", "body": body});
        Issue::from_json(&value).unwrap()
    }

    #[test]
    fn an_issue_is_read_without_what_a_terminal_obeys() {
        let value = json!({
            "number": 7, "title": "A\u{1b}[2J title\nof two lines", "html_url": "https://h/o/r/issues/7", "state": "open",
            "body": "one\r\n\u{202e}two", "user": {"login": "ann"}, "labels": [{"name": "ralph"}, "bug"],
        });
        let read = Issue::from_json(&value).unwrap();
        assert_eq!(
            (read.title.as_str(), read.body.as_str()),
            ("A title of two lines", "one\ntwo")
        );
        assert_eq!(
            (read.author.as_str(), read.labels),
            ("ann", vec!["ralph".to_owned(), "bug".to_owned()])
        );
        assert_eq!(Issue::from_json(&json!({"number": 1, "title": "x"})), None);
        let request = json!({"number": 1, "title": "x", "html_url": "h", "pull_request": {}});
        assert_eq!(Issue::from_json(&request), None);
        assert!(issue(&"x".repeat(100_000)).body.len() <= BODY + 4);
    }

    #[test]
    fn what_an_issue_waits_for_is_named_in_its_text_or_its_task_list() {
        let numbers = |body: &str| issue(body).waits_for().into_iter().collect::<Vec<_>>();
        assert_eq!(numbers("Blocked by #3, #4 and #5. See #6."), [3, 4, 5]);
        assert_eq!(numbers("Depends on: #12\nblocked by: #12"), [12]);
        assert_eq!(numbers("- [ ] #8\n* [ ] #9 the other\n- [x] #10\n- [ ] do #11"), [8, 9]);
        assert_eq!(
            numbers("blocked by #7"),
            [] as [u64; 0],
            "an issue does not wait for itself"
        );
        assert_eq!(numbers("fixes #1, blocked by nothing #2"), [] as [u64; 0]);
        assert_eq!(numbers("blocked by #99999999999999999999999"), [] as [u64; 0]);
    }
}
