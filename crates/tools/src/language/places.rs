//! Converts places between questions, the protocol, and answers.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    facts::{QueryError, SourceLocation, SymbolPosition},
    home::{Home, confined},
    position::{Encoding, column, position, word_on},
    source::{self, SourceText, display_path},
    uri,
};

/// The number of lines above and below a line in which a missing symbol is searched.
const NEAR: usize = 10;
/// Most bytes of a line that are reported.
const LINE_BYTES: usize = 240;

/// A file that a question concerns.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueriedFile<'a> {
    pub(super) path: &'a Path,
    pub(super) source: &'a SourceText,
    pub(super) encoding: Encoding,
}

impl QueriedFile<'_> {
    /// The parameters of a request about a place.
    ///
    /// # Errors
    /// The place does not exist.
    pub(super) fn params(&self, at: &SymbolPosition) -> Result<Value, QueryError> {
        let text = &self.source.text;
        let index = usize::try_from(at.line).unwrap_or(usize::MAX).wrapping_sub(1);
        let line = text.line(index).ok_or_else(|| QueryError::NoLine {
            file: at.file.clone(),
            lines: text.lines(),
        })?;
        let characters = match (at.column, &at.symbol) {
            (Some(column), _) => {
                let columns = line.chars().count();
                let before = usize::try_from(column).unwrap_or(usize::MAX).wrapping_sub(1);
                (before <= columns)
                    .then_some(before)
                    .ok_or_else(|| QueryError::NoColumn {
                        file: at.file.clone(),
                        line: at.line,
                        columns,
                    })?
            }
            (None, Some(symbol)) if !symbol.is_empty() => match word_on(line, symbol) {
                // For `a.b` and `a::b` the position of the last part is used.
                Some(at) => at + last_part(symbol),
                None => return Err(self.not_there(at, index, line, symbol)),
            },
            (None, Some(_) | None) => return Err(QueryError::NoPlace),
        };
        Ok(json!({
            "textDocument": {"uri": uri::from_path(self.path)},
            "position": position(index, line, characters, self.encoding),
        }))
    }

    fn not_there(&self, at: &SymbolPosition, index: usize, line: &str, symbol: &str) -> QueryError {
        let around = index.saturating_sub(NEAR)..(index + NEAR + 1).min(self.source.text.lines());
        let near = around.filter(|line| {
            self.source
                .text
                .line(*line)
                .is_some_and(|line| word_on(line, symbol).is_some())
        });
        QueryError::NoSymbol {
            symbol: symbol.to_owned(),
            file: at.file.clone(),
            line: at.line,
            source: cut(line),
            near: near.map(|line| u32::try_from(line + 1).unwrap_or(u32::MAX)).collect(),
        }
    }
}

/// The number of characters before the last name in a path of names.
fn last_part(symbol: &str) -> usize {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let named = symbol.trim_end_matches(|character: char| !is_word(character));
    let start = named.rfind(|character: char| !is_word(character));
    start.map_or(0, |at| named[..at].chars().count() + 1)
}

/// Reads the lines of places, each file once.
#[derive(Debug)]
pub(super) struct LineReader {
    home: Home,
    files: HashMap<PathBuf, Option<SourceText>>,
}

impl LineReader {
    pub(super) fn new(home: &Home) -> Self {
        Self {
            home: home.clone(),
            files: HashMap::new(),
        }
    }

    /// Converts a place from a server. It has no source line if it is not a file, or a file that the sandbox hides.
    pub(super) fn place(&mut self, address: &str, start: &Value, encoding: Encoding) -> Option<SourceLocation> {
        let line = usize::try_from(start["line"].as_u64()?).ok()?;
        let units = usize::try_from(start["character"].as_u64()?).ok()?;
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let Some(path) = uri::to_path(address) else {
            return Some(SourceLocation {
                path: cut(address),
                line: number(line + 1),
                column: number(units + 1),
                source: None,
            });
        };
        let text = self.line(&path, line);
        Some(SourceLocation {
            path: display_path(&self.home.project, &path),
            line: number(line + 1),
            column: number(text.as_ref().map_or(units + 1, |text| column(text, units, encoding))),
            source: text.map(|text| cut(text.trim())),
        })
    }

    fn line(&mut self, path: &Path, line: usize) -> Option<String> {
        let home = &self.home;
        let source = self
            .files
            .entry(path.to_owned())
            .or_insert_with(|| confined(home, || source::read(path).ok()).ok().flatten());
        source.as_ref()?.text.line(line).map(str::to_owned)
    }
}

/// Truncates a line that is too long.
pub(super) fn cut(line: &str) -> String {
    let mut end = line.len().min(LINE_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    match end == line.len() {
        true => line.to_owned(),
        false => format!("{}…", &line[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_path_is_asked_about() {
        for (symbol, before) in [("foo", 0), ("a::b", 3), ("self.x()", 5), ("größe.é", 6), ("()", 0)] {
            assert_eq!(last_part(symbol), before, "{symbol}");
        }
    }
}
