//! A run without a screen: records and transcript as text for people, or the records as JSON lines for machines.
//!
//! Agent output never reaches the terminal raw: it passes through `text::PlainText`, which keeps colours at most.
//! Callers pass a writer from `ralph_text::OutputFilter`.

pub(crate) mod text;

use std::io::{self, Write};

use ralph_core::run::RunView;
use ralph_state::control::frames::UiEvent;
use ralph_text::signs::AsciiSigns;

pub use ralph_ui::report::OutputStyle;
pub(crate) use text::limits_in_words;
pub use text::{Pace, TextPrinter};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputFormat {
    #[default]
    Text,
    /// One record per line and nothing else.
    Jsonl,
}

/// Shows a run until it is over, without its `past`. If writing to `out` fails (a closed pipe), the remaining events are drained and
/// discarded, so that the loop continues.
pub fn show(
    past: RunView,
    events: impl Iterator<Item = UiEvent>,
    format: OutputFormat,
    style: OutputStyle,
    pace: Pace,
    out: &mut dyn Write,
) {
    let mut plain;
    let out: &mut dyn Write = match (format, style.ascii) {
        (OutputFormat::Text, true) => {
            plain = AsciiSigns(out);
            &mut plain
        }
        (OutputFormat::Text, false) | (OutputFormat::Jsonl, _) => out,
    };
    let mut printer = TextPrinter::new(style, pace).after(past);
    let mut broken = false;
    for event in events {
        if broken {
            continue;
        }
        let shown = match format {
            OutputFormat::Text => printer.show(&event, out),
            OutputFormat::Jsonl => show_json(&event, out),
        };
        broken = shown.and_then(|()| out.flush()).is_err();
    }
}

fn show_json(event: &UiEvent, out: &mut dyn Write) -> io::Result<()> {
    match event {
        UiEvent::Record(record) => {
            let mut line = serde_json::to_vec(record.as_ref())?;
            line.push(b'\n');
            // One write per line: a reader of the pipe never sees half a record.
            out.write_all(&line)
        }
        // Only records are printed: the output equals the journal.
        UiEvent::Output(_) | UiEvent::Resized(_) | UiEvent::Detail(_) | UiEvent::Skipped { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_plain_where_they_have_to_be_and_words_of_others_are_not() {
        let written = |ascii| {
            let mut out = Vec::new();
            let events = [UiEvent::Output("▸ ls → 漢\n".as_bytes().to_vec())];
            let style = OutputStyle {
                ascii,
                ..OutputStyle::PLAIN
            };
            let past = RunView::default();
            show(
                past,
                events.into_iter(),
                OutputFormat::Text,
                style,
                Pace::Lines,
                &mut out,
            );
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(true), "| > ls > 漢\n");
        assert_eq!(written(false), "│ ▸ ls → 漢\n");
    }
}
