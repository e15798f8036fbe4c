//! Adds an item to a list in a file of settings, and leaves all else as its user has written it.

use std::path::Path;

use jsonc_parser::cst::{CstInputValue, CstRootNode};
use ralph_text::{JSON_WITH_COMMENTS, Position};
use serde_json::Value;

use super::mistake::Mistake;

/// Returns the `text` of the file at `path` with `item` at the end of the list `key` in the groups `above`. What is missing of
/// these is added; `None` if something else stands in the place of one.
///
/// # Errors
/// [`Mistake::Syntax`].
pub fn appended(
    path: &Path,
    text: &str,
    (above, key): (&[&str], &str),
    item: &Value,
) -> Result<Option<String>, Mistake> {
    let root = CstRootNode::parse(text, &JSON_WITH_COMMENTS).map_err(|error| Mistake::Syntax {
        path: path.to_owned(),
        position: Position::at_offset(text, error.range().start),
        language: "JSON",
        why: error.kind().to_string().to_lowercase(),
    })?;
    let group = above.iter().try_fold(root.object_value_or_create(), |group, name| {
        Some(group?.object_value_or_create(name))
    });
    let list = group.flatten().and_then(|group| group.array_value_or_create(key));
    Ok(list.map(|list| {
        list.append(input(item));
        let text = root.to_string();
        if text.ends_with('\n') { text } else { text + "\n" }
    }))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_item_is_added_and_comments_and_order_are_kept() {
        let add = |text: &str| appended(Path::new("f"), text, (&["sandbox"], "write"), &json!("~/x")).unwrap();
        for (text, expected) in [
            ("", "{\n  \"sandbox\": {\n    \"write\": [\"~/x\"]\n  }\n}\n"),
            ("{}\n", "{\n  \"sandbox\": {\n    \"write\": [\"~/x\"]\n  }\n}\n"),
            (
                "// mine\n{\n  // which\n  \"adapter\": \"codex\", // this\n}\n",
                "// mine\n{\n  // which\n  \"adapter\": \"codex\", // this\n  \"sandbox\": {\n    \"write\": [\"~/x\"]\n  },\n}\n",
            ),
            (
                "{ \"sandbox\": { \"write\": [\"~/a\"], \"mode\": \"on\" } }",
                "{ \"sandbox\": { \"write\": [\"~/a\", \"~/x\"], \"mode\": \"on\" } }\n",
            ),
        ] {
            assert_eq!(add(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["[]", "{\"sandbox\": 1}", "{\"sandbox\": {\"write\": \"~/a\"}}"] {
            assert_eq!(add(text), None, "{text}");
        }
        let broken = appended(
            Path::new("f"),
            "{",
            (&[], "goals"),
            &json!({"name": "a", "command": "b"}),
        );
        assert!(matches!(broken, Err(Mistake::Syntax { .. })));
    }
}
