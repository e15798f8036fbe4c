//! A position in the text of a script.

/// A position in the text of a script.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Cursor { text, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The text passed since `start`.
    pub(super) fn since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    pub(super) fn before(&self) -> &'t str {
        &self.text[..self.at]
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// The longest text from here without a character that ends a word, as written.
    pub(super) fn bare(&self) -> &'t str {
        let end = self.rest().find(ends_word);
        &self.rest()[..end.unwrap_or(self.rest().len())]
    }

    /// Skips blanks, line continuations and a comment.
    pub(super) fn skip_blank(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.starts_with("\\\n") => self.at += 2,
                Some('#') => {
                    let end = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += end;
                }
                Some(_) | None => return,
            }
        }
    }

    /// Takes the rest of the line with its terminator, and returns it without.
    pub(super) fn line(&mut self) -> &'t str {
        let rest = self.rest();
        let (line, passed) = match rest.find('\n') {
            Some(end) => (&rest[..end], end + 1),
            None => (rest, rest.len()),
        };
        self.at += passed;
        line
    }

    /// Whether the `((` here is closed by `))` like arithmetic, and not by two separate `)` like two subshells.
    pub(super) fn is_arithmetic(&self) -> bool {
        let mut depth = 0_u32;
        let mut characters = self.rest().chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '(' => depth += 1,
                ')' if depth <= 2 => return characters.peek() == Some(&')'),
                ')' => depth -= 1,
                _ => {}
            }
        }
        false
    }
}

/// Whether an unquoted character ends a word.
pub(super) fn ends_word(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}
