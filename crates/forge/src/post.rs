//! The texts of issues and comments that agents propose. Pure.
//!
//! The words stay as they are for a reader. A forge finds no mention in them, no issue to close, no command of a bot, and no mark
//! of ralph's.

use pulldown_cmark::{Event, Options, Parser, Tag};
use ralph_text::{one_line, sanitized};
use regex_lite::{Captures, Regex};

use super::request_text::MARK;

/// Joins what is beside it, and shows nothing.
const JOINER: char = '\u{2060}';

/// Texts that a forge or its bots act on. The joiner is put between the two groups.
const ACTED_ON: [&str; 4] = [
    // A mention, unless it is part of an address.
    r"((?:^|[^A-Za-z0-9])@)([A-Za-z0-9])",
    // An issue that the work closes.
    r"(?i)(\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?))((?::\s*|\s+)(?:[\w./-]*#|GH-|https?://))",
    // A command of a bot, at the beginning of a line.
    r"(?m)(^[ \t>*-]*)(/[A-Za-z])",
    // A comment that no reader sees.
    r"(<)(!--)",
];

/// The forms of keys that forges, clouds and models document for theirs.
const KEYS: &str = r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|sk-[\w-]{32,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}|pypi-[\w-]{50,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,})|-----BEGIN [A-Z ]*PRIVATE KEY-----";

/// Returns the mark by which ralph knows that a proposal of a run is on the forge.
pub fn post_mark(run: &str, proposal: u32) -> String {
    format!("{MARK}proposal {run} {proposal} -->")
}

/// Whether the text of an issue or comment was posted with this mark. It is the last line: an agent can write one before.
pub(crate) fn has_mark(text: &str, mark: &str) -> bool {
    text.trim_end().ends_with(mark)
}

/// Returns the text to post.
pub fn post_body(text: &str, mark: &str) -> String {
    let text = sanitized(text);
    format!("{}\n\n{mark}\n", harmless(&text))
}

/// Returns the title to post.
pub fn post_title(prefix: &str, title: &str) -> String {
    let title = joined(&one_line(title));
    match prefix {
        "" => title,
        prefix => format!("{prefix} {title}"),
    }
}

/// Whether a text has one of the `values`, or what looks like a key.
pub fn has_key(text: &str, values: &[String]) -> bool {
    let known = Regex::new(KEYS).expect("an expression");
    known.is_match(text) || values.iter().any(|value| text.contains(value.as_str()))
}

/// Separates what a forge acts on, outside of code: there it is only shown, and has to be copied as it is.
fn harmless(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut out = String::new();
    let mut from = 0;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        let is_code = matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)));
        if is_code && range.start >= from {
            out += &joined(&text[from..range.start]);
            out += &text[range.clone()];
            from = range.end;
        }
    }
    out + &joined(&text[from..])
}

fn joined(text: &str) -> String {
    ACTED_ON.iter().fold(text.to_owned(), |text, form| {
        let form = Regex::new(form).expect("an expression");
        let separated = |found: &Captures<'_>| format!("{}{JOINER}{}", &found[1], &found[2]);
        form.replace_all(&text, separated).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(text: &str) -> String {
        post_body(text, "M").replace(JOINER, "|")
    }

    #[test]
    fn nothing_that_a_forge_acts_on_is_left_and_everything_can_be_read() {
        for (text, expected) in [
            ("Ask @team/core, @bea.", "Ask @|team/core, @|bea."),
            ("me@example.org and _@bea_", "me@example.org and _@|bea_"),
            ("ä@bea (@bea)", "ä@|bea (@|bea)"),
            ("Closes #3, fixed: team/shop#4", "Closes| #3, fixed|: team/shop#4"),
            (
                "resolve https://github.com/team/shop/issues/3",
                "resolve| https://github.com/team/shop/issues/3",
            ),
            ("It encloses #3, see #4", "It encloses #3, see #4"),
            ("/approve\n  /lgtm\n> /close", "|/approve\n  |/lgtm\n> |/close"),
            ("src/a.rs and / too", "src/a.rs and / too"),
            ("<!-- ralph proposal r 3 -->", "<|!-- ralph proposal r 3 -->"),
            ("\u{1b}[31mred\u{202e}", "red"),
        ] {
            assert_eq!(posted(text).trim_end_matches("\n\nM\n").trim_end(), expected, "{text}");
        }
        let title = post_title("[agent]", "@bea:\nfixes #3").replace(JOINER, "|");
        assert!(
            title.starts_with("[agent] @|bea:") && title.ends_with("fixes| #3") && !title.contains('\n'),
            "{title}"
        );
    }

    #[test]
    fn code_stays_as_it_is_and_only_what_markdown_reads_as_code_is_code() {
        let code = "```java\n@Override\n/approve\n```\n\n    @Test\n\nAnd `@Inject`.";
        assert_eq!(posted(code), format!("{code}\n\nM\n"));
        for (text, expected) in [
            ("A ` alone and @bea", "A ` alone and @|bea"),
            ("`` ` `` @bea ` x", "`` ` `` @|bea ` x"),
            ("```\n@a\n```\n@bea\n```", "```\n@a\n```\n@|bea\n```"),
            ("~~~\n@a\n```\n~~~\n@bea", "~~~\n@a\n```\n~~~\n@|bea"),
            ("<pre>\n@bea\n</pre>", "<pre>\n@|bea\n</pre>"),
            ("- a\n\n      @a\n\n  @bea", "- a\n\n      @a\n\n  @|bea"),
        ] {
            assert_eq!(posted(text), format!("{expected}\n\nM\n"), "{text}");
        }
    }

    #[test]
    fn a_post_is_known_by_its_last_line_alone() {
        let mark = post_mark("20260114-140211", 3);
        assert!(has_mark(&post_body("Text", &mark), &mark));
        assert!(has_mark(&post_body("Text", &mark).replace('\n', "\r\n"), &mark));
        assert!(!has_mark(&format!("```\n{mark}\n```\n"), &mark));
        assert!(!has_mark(&post_body("Text", &post_mark("20260114-140211", 33)), &mark));
    }

    #[test]
    fn keys_are_found_by_their_form_and_by_their_value() {
        let letters = "Abc0".repeat(10);
        for key in [
            format!("ghp_{letters}"),
            format!("x=github_pat_{letters}."),
            format!("sk-ant-api03-{letters}"),
            "AKIAABCDEFGHIJKLMNOP".to_owned(),
            format!("eyJ{letters}.eyJ{letters}.{letters}"),
            "-----BEGIN OPENSSH PRIVATE KEY-----".to_owned(),
        ] {
            assert!(has_key(&format!("It says {key} there"), &[]), "{key}");
        }
        for text in [
            "task-sk-1",
            "risk-averse-and-very-careful-people",
            "the ghp_ prefix",
            "AKIA",
            "a public key",
        ] {
            assert!(!has_key(text, &[]), "{text}");
        }
        assert!(has_key("It is correct horse.", &["correct horse".to_owned()]));
    }
}
