//! A run without a screen: records and transcript as text for people, or the records as JSON lines for machines.
//!
//! Nothing an agent writes reaches the terminal as it is: its output passes through `text::PlainText`,
//! which leaves colours at most. Whoever shows a run writes it to what `text::Shown` makes of it.

mod text;

use std::io::{self, Write};

use crate::driver::UiEvent;

pub use crate::ui::report::Style;
pub use text::{Pace, TextPrinter};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Text,
    /// One record a line and nothing else.
    Jsonl,
}

/// Shows a run until it is over. When `out` breaks (a pipe that was closed), the rest is taken and shown to nobody:
/// the loop goes on.
pub fn show(events: impl Iterator<Item = UiEvent>, format: Format, style: Style, pace: Pace, out: &mut dyn Write) {
    let mut printer = TextPrinter::new(style, pace);
    let mut broken = false;
    for event in events {
        if broken {
            continue;
        }
        let shown = match format {
            Format::Text => printer.show(&event, out),
            Format::Jsonl => show_json(&event, out),
        };
        broken = shown.and_then(|()| out.flush()).is_err();
    }
}

fn show_json(event: &UiEvent, out: &mut dyn Write) -> io::Result<()> {
    match event {
        UiEvent::Record(record) => {
            let mut line = serde_json::to_vec(record.as_ref())?;
            line.push(b'\n');
            // One write a line: whoever reads the pipe never sees half a record without waiting for the rest.
            out.write_all(&line)
        }
        // Records and nothing else: what is printed is the journal.
        UiEvent::Output(_) | UiEvent::Resized(_) | UiEvent::Detail(_) | UiEvent::Skipped { .. } => Ok(()),
    }
}
