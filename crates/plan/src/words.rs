//! The text of a task or a heading without its markup.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser};

/// A longer text is taken as it is written: parsing it would take some hundred bytes for each of its own.
const MARKUP_CAP_BYTES: usize = 64 << 10;
/// Stands before the text, so that nothing in it is at the beginning of a line.
const PREFIX: &str = "x ";

/// A text without its markup.
#[derive(Default)]
pub(super) struct PlainWords {
    pub(super) text: String,
    /// The code spans in the text.
    pub(super) code: Vec<Range<usize>>,
    /// The start of each piece of the text, in the text and in the source.
    pieces: Vec<(usize, usize)>,
}

impl PlainWords {
    fn push(&mut self, piece: &str, source: usize) {
        self.pieces.push((self.text.len(), source));
        self.text.push_str(piece);
    }

    /// The source offset of a byte of the text.
    pub(super) fn source_of(&self, at: usize) -> usize {
        let piece = self.pieces.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        let (start, source) = self.pieces.get(piece).copied().unwrap_or_default();
        source + at.saturating_sub(start)
    }

    /// Parses the text that is written in these places of the source.
    pub(super) fn parsed(source: &str, places: &[Range<usize>]) -> Self {
        let mut words = Self::default();
        let mut markup = PREFIX.to_owned();
        let mut starts = Vec::new();
        for place in places {
            if !starts.is_empty() {
                markup.push('\n');
            }
            starts.push((markup.len(), place.start));
            markup.push_str(source.get(place.clone()).unwrap_or_default());
        }
        let source_of = |at: usize| {
            let piece = starts.partition_point(|(start, _)| *start <= at).saturating_sub(1);
            let (start, source) = starts.get(piece).copied().unwrap_or_default();
            source + at.saturating_sub(start)
        };
        if markup.len() > MARKUP_CAP_BYTES {
            return Self::written(source, places);
        }
        for (event, range) in Parser::new_ext(&markup, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
            match event {
                Event::Text(text) => {
                    let of_the_prefix = PREFIX.len().saturating_sub(range.start).min(text.len());
                    words.push(&text[of_the_prefix..], source_of(range.start + of_the_prefix));
                }
                Event::Code(text) => {
                    let start = words.text.len();
                    words.push(&text, source_of(range.start));
                    words.code.push(start..words.text.len());
                }
                Event::InlineHtml(html) if html.starts_with("<!--") => {}
                // `Vec<String>` outside a code span is parsed as a tag.
                Event::InlineHtml(html) => words.push(&html, source_of(range.start)),
                Event::SoftBreak | Event::HardBreak => words.push(" ", source_of(range.start)),
                _ => {}
            }
        }
        words
    }

    /// Takes the text as it is written.
    pub(super) fn written(source: &str, places: &[Range<usize>]) -> Self {
        let mut words = Self::default();
        for place in places {
            words.push(source.get(place.clone()).unwrap_or_default(), place.start);
            words.push(" ", place.end);
        }
        words
    }
}
