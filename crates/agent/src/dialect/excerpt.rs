//! The beginning of a long output in signals, and how much of a text they hold.

use ralph_core::event::clip;

/// Most bytes of one agent text in a signal. Longer messages keep their end, since claims of completion are there.
pub const TEXT_CAP_BYTES: usize = 1024 * 1024;
/// Most bytes and lines of a tool's output in a signal, from its beginning. If it was cut, the last line says how many
/// lines are missing.
pub const OUTPUT_CAP_BYTES: usize = 16 * 1024;
pub const OUTPUT_CAP_LINES: usize = 100;
/// An upper bound for the line that counts the missing lines.
const COUNT_BYTES: usize = 64;

/// The beginning of a tool's output. The omitted lines are counted here, since later stages do not see them.
pub(crate) fn head(text: &str) -> String {
    let lines = text.lines().count();
    if lines <= OUTPUT_CAP_LINES && text.len() <= OUTPUT_CAP_BYTES {
        return text.to_owned();
    }
    let most = match lines {
        0..=OUTPUT_CAP_LINES => OUTPUT_CAP_LINES,
        _ => OUTPUT_CAP_LINES - 1,
    };
    let end = text.match_indices('\n').nth(most - 1).map_or(text.len(), |(at, _)| at);
    let kept = clip(&text[..end], OUTPUT_CAP_BYTES - COUNT_BYTES);
    match lines - kept.lines().count() {
        0 => kept,
        1 => format!("{kept}\n… 1 more line"),
        more => format!("{kept}\n… {more} more lines"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_output_that_is_cut_every_line_is_there_or_counted() {
        for (lines, width) in [
            (100, 3),
            (101, 3),
            (5000, 3),
            (60, 1000),
            (99, 200),
            (100, 200),
            (101, 200),
            (1, 40_000),
            (2, 16_384),
        ] {
            for end in ["", "\n"] {
                let output = vec!["ü".repeat(width / 2); lines].join("\n") + end;
                let head = head(&output);
                assert!(
                    head.len() <= OUTPUT_CAP_BYTES && head.lines().count() <= OUTPUT_CAP_LINES,
                    "{head}"
                );
                let last = head.lines().last().unwrap();
                let more = last.strip_prefix("… ").map(|last| last.split(' ').next().unwrap());
                let (kept, more) = match more {
                    Some(more) => (head.lines().count() - 1, more.parse().unwrap()),
                    None => (head.lines().count(), 0),
                };
                assert_eq!(kept + more, lines, "{lines} of {width}: {last}");
            }
        }
    }

    #[test]
    fn long_outputs_tell_how_many_lines_are_missing() {
        let output = (0..200).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        assert!(head(&output).ends_with("98\n… 101 more lines"), "{}", head(&output));
        assert_eq!(head("a\nb\n"), "a\nb\n");
    }
}
