//! Parses recordings (asciicast v2), line by line. Pure.

use ralph_system::proc::{
    Size,
    screen::{Screen, Scrollback},
};
use serde::Deserialize;

use super::screens::{SCROLLBACK_ROWS, TerminalPage};

/// The first line of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct CastHeader {
    version: u32,
    width: u16,
    height: u16,
    /// Whether the recorded text was made from signals. Absent in older recordings.
    transcript: Option<bool>,
}

impl CastHeader {
    /// Parses the header; `None` if this is not a recording.
    pub(super) fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line)
            .ok()
            .filter(|header: &Self| header.version == 2)
    }

    pub(super) fn size(&self) -> Size {
        Size {
            cols: self.width,
            rows: self.height,
        }
        .clamped()
    }

    pub(super) fn transcript(self) -> Option<bool> {
        self.transcript
    }
}

/// An event of a recording.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CastEvent {
    Output { at_ms: u64, text: String },
    Resized { at_ms: u64, size: Size },
}

impl CastEvent {
    /// Parses a line; `None` for unknown events and truncated lines.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (seconds, code, text): (f64, String, String) = serde_json::from_str(line).ok()?;
        let at_ms = (seconds.max(0.0) * 1000.0) as u64;
        match code.as_str() {
            "o" => Some(CastEvent::Output { at_ms, text }),
            "r" => {
                let (cols, rows) = text.split_once('x')?;
                let size = Size {
                    cols: cols.parse().ok()?,
                    rows: rows.parse().ok()?,
                };
                Some(CastEvent::Resized {
                    at_ms,
                    size: size.clamped(),
                })
            }
            _ => None,
        }
    }

    /// Time since the start of the recording.
    pub(super) fn at_ms(&self) -> u64 {
        match self {
            CastEvent::Output { at_ms, .. } | CastEvent::Resized { at_ms, .. } => *at_ms,
        }
    }
}

/// Plays a whole recording into a screen; `None` if it is not a recording. A transcript is wrapped for `pane`;
/// `is_transcript` decides for recordings without that information. Output that a program drew keeps its original size,
/// as far as it fits into `pane`.
pub(super) fn play(mut lines: impl Iterator<Item = String>, pane: Size, is_transcript: bool) -> Option<Screen> {
    let header = CastHeader::parse(&lines.next()?)?;
    let is_transcript = header.transcript().unwrap_or(is_transcript);
    let fitting = |size: Size| match is_transcript {
        true => pane,
        false => Size {
            cols: size.cols.min(pane.cols),
            rows: size.rows.min(pane.rows),
        },
    };
    let mut page = TerminalPage::new(fitting(header.size()), Scrollback::Text(SCROLLBACK_ROWS), is_transcript);
    for moment in lines.filter_map(|line| CastEvent::parse(&line)) {
        match moment {
            CastEvent::Output { text, .. } => {
                page.process(text.as_bytes());
                page.forget_questions();
            }
            CastEvent::Resized { size, .. } => page.resize(fitting(size)),
        }
    }
    Some(page.into_screen())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_played_to_its_end_however_it_was_cut_off() {
        let lines = [
            r#"{"version": 2, "width": 20, "height": 4, "timestamp": 0}"#,
            r#"[0.5, "o", "one\r\n"]"#,
            r#"[0.6, "i", "typed"]"#,
            r#"[0.7, "r", "10x4"]"#,
            r#"[1.0, "o", "two"]"#,
            r#"[1.5, "o", "cut o"#,
        ];
        let pane = Size { cols: 80, rows: 24 };
        let screen = play(lines.into_iter().map(str::to_owned), pane, false).unwrap();
        assert_eq!((screen.contents().as_str(), screen.size().cols), ("one\ntwo", 10));
    }

    #[test]
    fn another_file_is_no_recording() {
        let pane = Size { cols: 80, rows: 24 };
        for first in ["", "x", r#"{"version": 3, "width": 1, "height": 1}"#] {
            assert!(play([first.to_owned()].into_iter(), pane, true).is_none());
        }
    }

    #[test]
    fn a_conversation_is_wrapped_for_the_pane_and_a_program_of_a_terminal_keeps_its_size() {
        let pane = Size { cols: 12, rows: 6 };
        let rows = |said: &str| {
            let header = format!(r#"{{"version": 2, "width": 8, "height": 4{said}}}"#);
            let lines = [header, r#"[0.5, "o", "one two three\r\n"]"#.to_owned()];
            let screen = play(lines.into_iter(), pane, true).unwrap();
            screen.contents().replace(" \n", "\n")
        };
        assert_eq!(rows(r#", "transcript": true"#), "one two\nthree");
        assert_eq!(
            rows(r#", "transcript": false"#),
            "one two three",
            "a line that the program wrapped itself"
        );
        assert_eq!(rows(""), "one two\nthree", "as the run says");
    }
}
