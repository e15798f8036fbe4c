//! Comments as SARIF 2.1.0, which code hosts and editors read. Pure.

use std::fmt::Write as _;

use ralph_core::{
    event::{CommentAuthor, SourceLine},
    run::{Comment, CommentState, RunView},
};
use ralph_words::comment_state_in_words;
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The base of all paths: the project's root.
const ROOT: &str = "PROJECTROOT";

/// Writes the comments of a run and the findings of its reviews that name a place.
pub(crate) fn sarif(view: &RunView) -> String {
    let rule = |id: &str, text: &str| json!({"id": id, "shortDescription": {"text": text}});
    let results: Vec<Value> = view.comments.list.iter().map(result).collect();
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "ralph",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [
                    rule("comment", "A comment of the user on lines of the work"),
                    rule("review-finding", "A finding of an agent that reviewed the work"),
                ],
            }},
            "automationDetails": {"id": format!("ralph/{}", view.run.as_ref().map_or("", |run| &run.0))},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn result(comment: &Comment) -> Value {
    let (rule, index) = match comment.by {
        CommentAuthor::User => ("comment", 0),
        CommentAuthor::Reviewer { .. } => ("review-finding", 1),
    };
    let level = match comment.state() {
        CommentState::Open | CommentState::Answered | CommentState::Draft => "warning",
        CommentState::Changed { .. } | CommentState::Resolved => "note",
    };
    let lines = u32::try_from(comment.place.quote.len()).unwrap_or(u32::MAX).max(1);
    let end = comment.line.saturating_add(lines - 1);
    let quote: Vec<&str> = comment.place.quote.iter().map(SourceLine::as_str).collect();
    let mut result = json!({
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": {"text": comment.text},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(&comment.file), "uriBaseId": ROOT},
            "region": {"startLine": comment.line, "endLine": end, "snippet": {"text": quote.join("\n")}},
        }}],
        "properties": {
            "number": comment.number,
            "state": comment_state_in_words(comment),
            "outdated": comment.is_outdated(),
            "checkpoint": comment.place.checkpoint,
            "answer": comment.answer.as_ref().map(|answer| &answer.reason),
        },
    });
    if comment.state() == CommentState::Resolved {
        result["suppressions"] = json!([{"kind": "external", "status": "accepted"}]);
    }
    result
}

/// Escapes a relative path as a URI.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            byte => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use ralph_core::event::{CommentPlace, Event};

    use super::*;

    #[test]
    fn a_comment_is_a_result_at_its_present_place() {
        let mut view = RunView::default();
        let place = CommentPlace {
            file: "src/a b.rs".into(),
            line: 3,
            quote: vec!["one".into(), "two".into()].into(),
            ..CommentPlace::default()
        };
        let written = |comment, by, text: &str| Event::CommentWritten {
            comment,
            by,
            place: Box::new(place.clone()),
            text: text.to_owned(),
        };
        view.apply_event(1, &written(1, CommentAuthor::User, "name \u{1b} it"));
        view.apply_event(1, &written(2, CommentAuthor::Reviewer { iteration: 4 }, "a stub"));
        view.apply_event(1, &Event::CommentResolved { comment: 2 });
        let document: Value = serde_json::from_str(&sarif(&view)).expect("JSON");
        assert_eq!(document["version"], "2.1.0");
        let results = &document["runs"][0]["results"];
        assert_eq!(results[0]["ruleId"], "comment");
        let location = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "src/a%20b.rs");
        assert_eq!(
            (&location["region"]["startLine"], &location["region"]["endLine"]),
            (&json!(3), &json!(4))
        );
        assert_eq!(location["region"]["snippet"]["text"], "one\ntwo");
        assert_eq!(results[0].get("suppressions"), None);
        assert_eq!(results[1]["ruleId"], "review-finding");
        assert_eq!(results[1]["suppressions"][0]["kind"], "external");
    }
}
