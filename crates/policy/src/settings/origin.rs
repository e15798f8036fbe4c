//! The origin of a value.

use std::{fmt, path::Path, sync::Arc};

use ralph_text::{LineIndex, Position};

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The default, which is written nowhere.
    Default,
    /// An adapter that comes with ralph.
    BuiltIn,
    File {
        path: Arc<Path>,
        position: Position,
    },
    /// An environment variable, by its name.
    Env(String),
    /// A command-line flag, with its dashes.
    Flag(String),
}

impl SettingOrigin {
    /// A position in a file.
    pub fn file(path: &Path, position: Position) -> Self {
        SettingOrigin::File {
            path: path.into(),
            position,
        }
    }

    /// The line in a file; 0 for other origins.
    pub fn line(&self) -> u32 {
        match self {
            SettingOrigin::File { position, .. } => position.line,
            SettingOrigin::Default | SettingOrigin::BuiltIn | SettingOrigin::Env(_) | SettingOrigin::Flag(_) => 0,
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Default => f.write_str("default"),
            SettingOrigin::BuiltIn => f.write_str("built in"),
            SettingOrigin::File { path, position } => {
                write!(f, "{}:{}:{}", path.display(), position.line, position.column)
            }
            SettingOrigin::Env(name) | SettingOrigin::Flag(name) => f.write_str(name),
        }
    }
}

/// Determines the origins of values in one text.
pub struct OriginFinder<'t> {
    text: &'t str,
    lines: LineIndex,
    source: OriginSource,
    /// The last requested byte and its position. Most requests are in the order of the text, and a text may be one long
    /// line.
    last: (usize, Position),
}

enum OriginSource {
    File(Arc<Path>),
    BuiltIn,
}

impl<'t> OriginFinder<'t> {
    /// The text of a file.
    pub fn file(path: &Path, text: &'t str) -> Self {
        OriginFinder::new(text, OriginSource::File(path.into()))
    }

    /// A text that comes with ralph.
    pub fn built_in(text: &'t str) -> Self {
        OriginFinder::new(text, OriginSource::BuiltIn)
    }

    fn new(text: &'t str, source: OriginSource) -> Self {
        OriginFinder {
            text,
            lines: LineIndex::new(text),
            source,
            last: (0, Position { line: 1, column: 1 }),
        }
    }

    /// The origin of the value that begins at byte `offset`.
    pub(super) fn at(&mut self, offset: usize) -> SettingOrigin {
        match &self.source {
            OriginSource::BuiltIn => SettingOrigin::BuiltIn,
            OriginSource::File(path) => {
                let path = Arc::clone(path);
                SettingOrigin::File {
                    path,
                    position: self.position(offset),
                }
            }
        }
    }

    fn position(&mut self, offset: usize) -> Position {
        let line = self.lines.line_of(offset);
        let (from, column) = match self.last {
            (last, position) if position.line == line && last <= offset => (last, position.column),
            _ => (self.lines.start_of(line), 1),
        };
        let characters = self.text.get(from..offset).map_or(0, |text| text.chars().count());
        let column = column.saturating_add(u32::try_from(characters).unwrap_or(u32::MAX));
        self.last = (offset, Position { line, column });
        self.last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_text_is_found_in_any_order() {
        let text = "aä\r\nb\u{1f980}c\n\nd";
        let offsets: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
        let mut place = OriginFinder::file(Path::new("x"), text);
        for &offset in offsets.iter().chain(offsets.iter().rev()) {
            let origin = SettingOrigin::file(Path::new("x"), Position::at_offset(text, offset));
            assert_eq!(place.at(offset), origin, "at {offset}");
        }
    }
}
