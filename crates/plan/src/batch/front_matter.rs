//! Dependencies in a plan's front matter: the plans that must be merged before it begins.
//!
//! ```text
//! ---
//! after: [api, ui]
//! ---
//! ```
//!
//! A section of a plan has them in its first line: `after: API, UI`.
//!
//! The parser understands three forms of YAML: a list in brackets, a list of lines, and names separated by
//! commas. Other keys belong to other programs and are ignored.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: `after` takes names of plans, as in `after: [api, ui]`")]
pub struct FrontMatterError {
    pub line: usize,
}

/// Returns the names behind `after` if the text below a heading begins with it; `line` is the line number of
/// that text.
///
/// # Errors
/// [`FrontMatterError`] if its value is not a list of names.
pub fn after_heading(text: &str, line: usize) -> Result<Vec<String>, FrontMatterError> {
    let first = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
    let Some((at, value)) = first.and_then(|(at, line)| Some((at, line.trim().strip_prefix("after:")?))) else {
        return Ok(Vec::new());
    };
    let wrong = || FrontMatterError { line: line + at };
    let value = value.trim();
    let list = match value.strip_prefix('[') {
        Some(list) => list.strip_suffix(']').ok_or_else(wrong)?,
        None => value,
    };
    let items: Vec<&str> = list.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    match items.is_empty() {
        true => Err(wrong()),
        false => items.into_iter().map(|item| name(item).ok_or_else(wrong)).collect(),
    }
}

/// Returns the names behind `after` in the front matter; empty if there is no such key.
///
/// # Errors
/// [`FrontMatterError`] if its value is not a list of names.
pub fn after(text: &str) -> Result<Vec<String>, FrontMatterError> {
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
    if lines.first().map(|line| line.trim_end()) != Some("---") {
        return Ok(Vec::new());
    }
    let Some(end) = lines[1..].iter().position(|line| line.trim_end() == "---") else {
        return Ok(Vec::new());
    };
    let inner = &lines[1..=end];
    let Some(at) = inner.iter().position(|line| line.starts_with("after:")) else {
        return Ok(Vec::new());
    };
    let wrong = |line: usize| FrontMatterError { line: line + 2 };
    let value = inner[at]["after:".len()..].trim();
    if let Some(list) = value.strip_prefix('[') {
        let list = list.strip_suffix(']').ok_or_else(|| wrong(at))?;
        let items = list.split(',').map(str::trim).filter(|item| !item.is_empty());
        return items.map(|item| name(item).ok_or_else(|| wrong(at))).collect();
    }
    if !value.is_empty() {
        let items = value.split(',').map(str::trim);
        return items.map(|item| name(item).ok_or_else(|| wrong(at))).collect();
    }
    let items = inner[at + 1..]
        .iter()
        .map_while(|line| line.trim_start().strip_prefix("- "));
    let items = items.enumerate();
    items
        .map(|(below, item)| name(item.trim()).ok_or_else(|| wrong(at + 1 + below)))
        .collect()
}

fn name(text: &str) -> Option<String> {
    let bare = ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    let name = bare.unwrap_or(text);
    let is_name = !name.is_empty() && !name.contains(['[', ']', '{', '}', ':', '"', '\'', '#', '&', '*']);
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_however_they_are_listed() {
        let read = |text: &str| after(text).unwrap().join(" ");
        assert_eq!(read("---\nafter: [api, \"ui\"]\n---\n- [ ] x\n"), "api ui");
        assert_eq!(read("---\r\ntitle: x\r\nafter: api\r\n---\r\n"), "api");
        assert_eq!(
            read("\u{feff}---\nafter:\n  - api\n  - 'docs/ui.md'\nother: 1\n---\n"),
            "api docs/ui.md"
        );
        assert_eq!(read("---\nafter: api, \"ui\"\n---\n"), "api ui");
        assert_eq!(read("---\nafter: []\n---\n"), "");
        for none in [
            "",
            "- [ ] after: x\n",
            "---\nafter: [api]\n",
            "text\n---\nafter: api\n---\n",
            "---\n---\n",
        ] {
            assert_eq!(read(none), "", "{none:?}");
        }
    }

    #[test]
    fn a_section_names_what_it_waits_for_in_its_first_line() {
        let read = |text: &str| after_heading(text, 7).map(|names| names.join("|"));
        assert_eq!(read("\n\nafter: API, The UI\n- [ ] x\n").as_deref(), Ok("API|The UI"));
        assert_eq!(read("after: [\"API\"]\n").as_deref(), Ok("API"));
        assert_eq!(read("- [ ] x\nafter: API\n").as_deref(), Ok(""));
        assert_eq!(read("").as_deref(), Ok(""));
        assert_eq!(read("\nafter:\n- [ ] x\n"), Err(FrontMatterError { line: 8 }));
        assert_eq!(read("after: [API\n"), Err(FrontMatterError { line: 7 }));
    }

    #[test]
    fn what_is_no_list_of_names_is_told_with_its_line() {
        for (text, line) in [
            ("---\nafter: [api\n---\n", 2),
            ("---\na: b\nafter: {api: 1}\n---\n", 3),
            ("---\nafter: api,\n---\n", 2),
            ("---\nafter:\n- api\n- [ui]\n---\n", 4),
        ] {
            assert_eq!(after(text), Err(FrontMatterError { line }), "{text:?}");
        }
    }
}
