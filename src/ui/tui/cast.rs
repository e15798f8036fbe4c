//! Recordings (asciicast v2), line by line. Pure.

use serde::Deserialize;

use crate::proc::{Size, screen::Screen};

/// The first line of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Header {
    version: u32,
    width: u16,
    height: u16,
}

impl Header {
    /// Reads the header; none if this is no recording.
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
}

/// What one line says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Moment {
    Output { at_ms: u64, text: String },
    Resized { at_ms: u64, size: Size },
}

impl Moment {
    /// Reads a line; none for what this does not know, and for a line that was cut off.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (seconds, code, text): (f64, String, String) = serde_json::from_str(line).ok()?;
        let at_ms = (seconds.max(0.0) * 1000.0) as u64;
        match code.as_str() {
            "o" => Some(Moment::Output { at_ms, text }),
            "r" => {
                let (cols, rows) = text.split_once('x')?;
                let size = Size {
                    cols: cols.parse().ok()?,
                    rows: rows.parse().ok()?,
                };
                Some(Moment::Resized {
                    at_ms,
                    size: size.clamped(),
                })
            }
            _ => None,
        }
    }

    /// When it was, since the recording began.
    pub(super) fn at_ms(&self) -> u64 {
        match self {
            Moment::Output { at_ms, .. } | Moment::Resized { at_ms, .. } => *at_ms,
        }
    }
}

/// Plays all lines of a recording into a screen that fits into `pane`; none if this is no recording.
pub(super) fn play(mut lines: impl Iterator<Item = String>, pane: Size, scrollback_rows: usize) -> Option<Screen> {
    let header = Header::parse(&lines.next()?)?;
    let fitting = |size: Size| Size {
        cols: size.cols.min(pane.cols),
        rows: size.rows.min(pane.rows),
    };
    let mut screen = Screen::new(fitting(header.size()), scrollback_rows);
    for moment in lines.filter_map(|line| Moment::parse(&line)) {
        match moment {
            Moment::Output { text, .. } => {
                screen.process(text.as_bytes());
                // Who asked is not there any more.
                screen.take_replies();
            }
            Moment::Resized { size, .. } => screen.resize(fitting(size)),
        }
    }
    Some(screen)
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
        let screen = play(lines.into_iter().map(str::to_owned), pane, 10).unwrap();
        assert_eq!((screen.contents().as_str(), screen.size().cols), ("one\ntwo", 10));
    }

    #[test]
    fn another_file_is_no_recording() {
        let pane = Size { cols: 80, rows: 24 };
        for first in ["", "x", r#"{"version": 3, "width": 1, "height": 1}"#] {
            assert!(play([first.to_owned()].into_iter(), pane, 10).is_none());
        }
    }
}
