//! Bytes on their way to a terminal: none of them can control it, wherever they are cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_text::{
    AllowedEscapes, KeptEscapes, LINE_CAP_BYTES, PlainText, escape_controls, escape_name, last_line, one_line,
    sanitized,
    wrap::{UnfinishedWord, Wrapper},
};

fuzz_target!(|bytes: &[u8]| {
    let whole = lines(PlainText::new(KeptEscapes::Nothing), &[bytes]);
    let (head, rest) = bytes.split_at(bytes.len() / 3);
    assert_eq!(lines(PlainText::new(KeptEscapes::Nothing), &[head, rest]), whole);
    for line in whole.iter().chain(&lines(PlainText::for_screen(), &[bytes])) {
        assert_plain(line, &['\t']);
    }
    for line in lines(PlainText::new(KeptEscapes::Colour), &[bytes]) {
        assert_plain(&without_colours(&line), &['\t']);
    }
    let text = String::from_utf8_lossy(bytes);
    assert_plain(&sanitized(&text), &['\t', '\n']);
    assert_plain(&one_line(&text), &[]);
    assert_plain(&escape_name(&text), &[]);
    assert_plain(&last_line(bytes), &['\t']);
    assert_plain(&escape_controls(&text, AllowedEscapes::Plain), &['\t', '\n']);
    assert_plain(&escape_controls(&text, AllowedEscapes::Json), &['\t', '\n']);
    let coloured = escape_controls(&text, AllowedEscapes::Coloured);
    assert_plain(&without_colours(&coloured), &['\t', '\n']);
    let mut wrapper = Wrapper::new(20, UnfinishedWord::Waits, "\n");
    let mut out = Vec::new();
    wrapper.feed(bytes, &mut out);
    wrapper.finish(&mut out);
});

fn lines(mut plain: PlainText, pieces: &[&[u8]]) -> Vec<String> {
    let mut lines = Vec::new();
    for piece in pieces {
        plain.feed(piece, |line| lines.push(line.to_owned()));
    }
    plain.finish(|line| lines.push(line.to_owned()));
    assert!(lines.iter().all(|line| line.len() <= 2 * LINE_CAP_BYTES));
    lines
}

/// Checks that a text has no characters that control a terminal or reorder text, but for those `allowed`.
#[track_caller]
fn assert_plain(text: &str, allowed: &[char]) {
    let is_foreign = |&character: &char| {
        character.is_control() && !allowed.contains(&character)
            || ('\u{202a}'..='\u{202e}').contains(&character)
            || ('\u{2066}'..='\u{2069}').contains(&character)
    };
    assert_eq!(text.chars().find(is_foreign), None, "{text:?}");
}

/// Removes colours: `ESC [`, digits and separators, `m`.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|character: char| character.is_ascii_digit() || ";:".contains(character));
        plain += rest.strip_prefix('m').expect("only colours are kept");
    }
    plain
}
