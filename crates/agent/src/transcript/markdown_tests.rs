use std::{fs, path::Path};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ralph_core::testing::Dice;

use super::*;

const COLUMNS: usize = 80;

fn shown_in(pieces: &[&str]) -> String {
    let mut markdown = Markdown::new(TextStyle::PLAIN, COLUMNS);
    let mut out = Vec::new();
    for piece in pieces {
        markdown.feed(piece, &mut out);
    }
    markdown.finish(&mut out);
    String::from_utf8(out).expect("UTF-8")
}

fn shown(text: &str) -> String {
    shown_in(&[text])
}

/// Each character with its style. Panics on any other escape sequence, and if a style is not reset.
fn cells(shown: &str) -> Vec<(char, &str)> {
    let mut cells = Vec::new();
    let mut colours = "";
    let mut rest = shown;
    while let Some(character) = rest.chars().next() {
        if character == '\x1b' {
            let parameters = rest.strip_prefix("\x1b[").expect("a sequence of our own");
            let end = parameters.find('m').expect("a colour");
            assert!(
                parameters[..end]
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b';')
            );
            colours = if &parameters[..end] == "0" {
                ""
            } else {
                &parameters[..end]
            };
            rest = &parameters[end + 1..];
            continue;
        }
        assert!(
            !character.is_control() || matches!(character, '\r' | '\n' | '\t'),
            "{shown:?}"
        );
        cells.push((character, colours));
        rest = &rest[character.len_utf8()..];
    }
    assert_eq!(colours, "", "the last colour is left on: {shown:?}");
    cells
}

fn plain(text: &str) -> String {
    let shown = shown(text);
    cells(&shown)
        .into_iter()
        .map(|(character, _)| character)
        .collect::<String>()
        .replace("\r\n", "\n")
}

fn assert_cuts_change_nothing(text: &str) {
    let whole = shown(text);
    let expected = cells(&whole);
    let cuts: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
    let far = cuts.len() > 400;
    for at in cuts.iter().copied().filter(|at| !far || at % 7 == 0) {
        let cut = shown_in(&[&text[..at], &text[at..]]);
        assert_eq!(cells(&cut), expected, "cut at {at}: {text:?}");
    }
    let single: Vec<_> = text.split_inclusive(|_: char| true).collect();
    let cut = shown_in(&single);
    assert_eq!(cells(&cut), expected, "one character at a time: {text:?}");
}

const ALL_OF_IT: &str = include_str!("../../../../tests/fixtures/markdown/everything.md");

#[test]
fn a_message_with_everything_reads_well() {
    let shown = shown(ALL_OF_IT).replace("\r\n", "\n").replace('\x1b', "^");
    insta::with_settings!({ snapshot_path => "../../../../tests/fixtures/markdown", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("everything", shown);
    });
}

#[test]
fn where_a_message_is_cut_makes_no_difference() {
    assert_cuts_change_nothing(ALL_OF_IT);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut messages = 0;
    for agent in ["claude", "codex", "gemini", "opencode"] {
        for file in fs::read_dir(fixtures.join(agent).join("signals")).expect("reviewed signals") {
            let signals = fs::read_to_string(file.expect("a file").path()).expect("text");
            for line in signals.lines().filter(|line| line.contains(r#""type":"said""#)) {
                let signal: serde_json::Value = serde_json::from_str(line).expect("a signal");
                assert_cuts_change_nothing(signal["text"].as_str().expect("a text"));
                messages += 1;
            }
        }
    }
    assert!(messages > 10, "{messages}");
}

#[test]
fn what_is_no_markdown_comes_out_as_it_is() {
    for text in [
        "a lone * and 2*3*4 and ** and snake_case_name and __init__.py's\n",
        "**not closed\n\n_neither\n",
        "`not closed\n",
        "[x] and [a][b] and [ ](\n",
        "https://example.com/_a_/*b*/~~c~~ and a~b and ~~ c ~~\n",
        "<promise>DONE_1_2</promise> Vec<T> a < b && c > d\n",
        "---RALPH_STATUS---\nEXIT_SIGNAL: false\n---END_RALPH_STATUS---\n",
        "one\n\n\ntwo  \n\tthree\n   four\n",
        "C:\\dir \\\n#tag 1.5 12:30 -x --flag +1 *.rs and *.toml\n",
        "| a bar\n| another\n",
        "&amp; &lt;\n",
        "    indented *code* [x](y)\n",
    ] {
        assert_eq!(plain(text), text);
        assert_cuts_change_nothing(text);
    }
}

#[test]
fn what_can_be_shown_is_not_held_back() {
    let mut markdown = Markdown::new(TextStyle::PLAIN, COLUMNS);
    let mut after = |piece: &str| {
        let mut out = Vec::new();
        markdown.feed(piece, &mut out);
        String::from_utf8(out).expect("UTF-8")
    };
    assert_eq!(after("I"), "I");
    assert_eq!(after(" will"), " will");
    assert_eq!(after(" **now"), " ");
    assert_eq!(after(" run"), "");
    assert_eq!(after("** "), "\x1b[1mnow run\x1b[0m ");
    assert_eq!(after("it\n"), "it\r\n");
    assert_eq!(after("- "), "");
    assert_eq!(after("a"), "• a");
    assert_eq!(after("\n```sh\nls"), "\r\n\x1b[2m╭─ sh\x1b[0m\r\n\x1b[2m│ \x1b[0mls");
}

/// A generator of Markdown as agents write it, partly nested.
struct Writer {
    dice: Dice,
    text: String,
}

impl Writer {
    fn words(&mut self, nested: usize) {
        for at in 0..1 + self.dice.index(4) {
            if at > 0 {
                self.text.push(' ');
            }
            let choice = if nested > 2 { 0 } else { self.dice.index(12) };
            match choice {
                1 => self.within("**", "**", nested),
                2 if nested == 0 => self.within("*", "*", nested),
                3 if nested == 0 => self.within("_", "_", nested),
                4 => self.within("~~", "~~", nested + 2),
                5 => self.text.push_str("`a *b* [c]`"),
                6 if nested == 0 => self.within("[", "](https://example.com/a_b)", nested + 2),
                7 => self.text.push_str(r"\* \_ \[ \`"),
                8 => self.text.push_str("snake_case_name"),
                _ => self
                    .text
                    .push_str(["word", "漢字", "e\u{301}", "x.", "(y)", "3"][self.dice.index(6)]),
            }
        }
    }

    fn within(&mut self, begin: &str, end: &str, nested: usize) {
        self.text.push_str(begin);
        self.text.push_str("in ");
        self.words(nested + 1);
        self.text.push_str(" on");
        self.text.push_str(end);
    }

    fn block(&mut self) {
        match self.dice.index(9) {
            0 => {
                self.text.push_str(["# ", "## ", "### "][self.dice.index(3)]);
                self.words(0);
                self.text.push('\n');
            }
            1 => {
                for lead in ["- ", "- ", "  - "] {
                    self.text.push_str(lead);
                    self.words(0);
                    self.text.push('\n');
                }
            }
            2 => {
                self.text.push_str("Steps:\n\n");
                for number in 1..4 {
                    self.text.push_str(&format!("{number}. "));
                    self.words(0);
                    self.text.push('\n');
                }
            }
            3 => {
                for _ in 0..2 {
                    self.text.push_str("> ");
                    self.words(0);
                    self.text.push('\n');
                }
            }
            4 => self.text.push_str("```rust\nfn *main*() {\n\n    # `x`\n}\n```\n"),
            5 => self
                .text
                .push_str("| a | **b** |\n|---|:-:|\n| `1` | x \\| y |\n| 漢字 | |\n"),
            6 => self.text.push_str("---\n"),
            _ => {
                self.text.push_str("Say ");
                self.words(0);
                self.text.push_str("\nand ");
                self.words(0);
                self.text.push('\n');
            }
        }
        self.text.push('\n');
    }
}

/// The content that another Markdown parser finds, without blanks.
fn read(text: &str) -> String {
    let mut out = String::new();
    let (mut numbers, mut address): (Vec<Option<u64>>, _) = (Vec::new(), String::new());
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => out.push_str(&text),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => out.push_str(&language),
            Event::Start(Tag::List(first)) => numbers.push(first),
            Event::End(TagEnd::List(_)) => drop(numbers.pop()),
            Event::Start(Tag::Item) => {
                if let Some(Some(number)) = numbers.last_mut() {
                    out.push_str(&format!("{number}."));
                    *number += 1;
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) => address = dest_url.to_string(),
            Event::End(TagEnd::Link) => out.push_str(&format!("({address})")),
            _ => {}
        }
    }
    out.retain(|character| !character.is_whitespace());
    out
}

#[test]
fn what_is_seen_of_markdown_is_what_a_reader_of_it_finds() {
    let mut writer = Writer {
        dice: Dice::new(0x9e37_79b9_7f4a_7c15),
        text: String::new(),
    };
    for _ in 0..60 {
        writer.text.clear();
        for _ in 0..1 + writer.dice.index(5) {
            writer.block();
        }
        let text = &writer.text;
        let mut seen = plain(text);
        seen.retain(|character| !character.is_whitespace() && !"•▎╭─╰│┼".contains(character));
        assert_eq!(seen, read(text), "{text}");
        assert_cuts_change_nothing(text);
    }
}

#[test]
fn whatever_is_written_nothing_of_it_is_lost_and_no_style_is_left_on() {
    const PIECES: [&str; 30] = [
        "*", "**", "***", "_", "__", "~~", "`", "```", "[", "](", ")", "<", ">", "!", "\\", "|", "#", "- ", "> ",
        "1. ", "=", "---", " ", "\n", "\n", "\n    ", "\t", "a", "漢", "word",
    ];
    let mut dice = Dice::new(0x2545_f491_4f6c_dd1d);
    for _ in 0..300 {
        let text: String = (0..dice.index(60)).map(|_| PIECES[dice.index(PIECES.len())]).collect();
        let letters = |text: &str| {
            text.chars()
                .filter(|character| character.is_alphanumeric())
                .collect::<String>()
        };
        assert_eq!(letters(&plain(&text)), letters(&text), "{text:?}");
        assert_cuts_change_nothing(&text);
    }
}

#[test]
fn what_never_ends_is_shown_and_not_kept() {
    for lead in [
        "**",
        "`",
        "[a](",
        "| a ",
        "<a",
        "- - ",
        "#",
        "> > ",
        "---",
        "```x",
        "12",
        "\\",
        "\t",
        "```\n~",
        "|a|\n|-|\n|",
    ] {
        let mut markdown = Markdown::new(TextStyle::PLAIN, COLUMNS);
        let (mut out, mut most) = (Vec::new(), 0);
        markdown.feed(lead, &mut out);
        for _ in 0..20_000 {
            markdown.feed("*a", &mut out);
            most = most.max(markdown.held.len());
        }
        assert!(most <= 2 * LINE_CAP_BYTES, "{lead}: {most}");
        assert!(out.len() > 38_000, "{lead}: {}", out.len());
    }
}
