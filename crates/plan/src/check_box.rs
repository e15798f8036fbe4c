//! The box of a task in Markdown: brackets with at most one character in them, or a sign that is drawn as a box.

/// A box, as a range in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CheckBox {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) state: BoxState,
    pub(super) form: BoxForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoxState {
    Open,
    Ticked,
    /// Open, with a mark of the author's: `[~]`.
    Marked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoxForm {
    Brackets,
    /// ☐ and the like, which are nothing but boxes.
    Sign,
    /// ✅ and ❌, which people also write in front of what is no task.
    Emoji,
}

/// Square brackets, and those of full width.
const BRACKETS: [(char, char); 2] = [('[', ']'), ('［', '］')];

/// The most bytes in brackets: one character on the screen may be several joined ones.
const INSIDE_CAP_BYTES: usize = 48;

impl CheckBox {
    /// Reads the box at `offset`.
    ///
    /// The following characters distinguish a box from a link (`[x](url)`, `[x][ref]`, `[x]: url`) and from `[]string`.
    pub(super) fn at(text: &str, offset: usize) -> Option<Self> {
        let content = text.get(offset..)?;
        let brackets = BRACKETS.iter().find(|(opening, _)| content.starts_with(*opening));
        let (length, state, form) = match brackets {
            Some((opening, closing)) => {
                let (inside, state) = bracketed(&content[opening.len_utf8()..], *closing)?;
                let length = opening.len_utf8() + inside + closing.len_utf8();
                (length, state, BoxForm::Brackets)
            }
            None => sign(content)?,
        };
        Some(CheckBox {
            start: offset,
            end: offset + length,
            state,
            form,
        })
    }

    /// The mark in the box, if it is neither blank nor a tick.
    pub(super) fn mark<'a>(&self, text: &'a str) -> Option<&'a str> {
        let inside = text.get(self.start..self.end)?;
        let is_bracket = |c: char| BRACKETS.iter().any(|(opening, closing)| c == *opening || c == *closing);
        let inside = inside.trim_matches(|c: char| is_bracket(c) || c.is_whitespace());
        (self.state == BoxState::Marked).then_some(inside)
    }

    /// Whether the box holds a digit, as a reference to a footnote does.
    pub(super) fn is_number(&self, text: &str) -> bool {
        self.mark(text)
            .is_some_and(|mark| mark.starts_with(|c: char| c.is_ascii_digit()))
    }
}

/// The length of what is in brackets, behind the first of them, and what it says.
fn bracketed(content: &str, closing: char) -> Option<(usize, BoxState)> {
    // Limited to the line, and to what may be one character: a long text would otherwise be searched to its end.
    let (end, _) = content
        .char_indices()
        .take_while(|(at, _)| *at < INSIDE_CAP_BYTES)
        .find(|(_, character)| *character == closing || matches!(character, '\n' | '\r'))?;
    let (inside, after) = content.split_at(end);
    let after = after.strip_prefix(closing)?;
    let state = match inside.trim() {
        "" => BoxState::Open,
        mark if !is_one_character(mark) => return None,
        mark if mark.chars().next().is_some_and(is_tick) => BoxState::Ticked,
        _ => BoxState::Marked,
    };
    match after.chars().next().filter(|c| !c.is_whitespace()) {
        Some('(' | '[' | ':') => return None,
        // `[]string`, and a word that begins with a letter in brackets.
        Some(_) if inside.is_empty() || state == BoxState::Marked => return None,
        Some(_) | None => {}
    }
    Some((end, state))
}

/// Whether a text is one character on the screen: the first may be followed by what joins or varies it.
fn is_one_character(text: &str) -> bool {
    let mut joined = true;
    text.chars().all(|character| {
        let joins = matches!(character, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{20e3}' | '\u{300}'..='\u{36f}' | '\u{1f3fb}'..='\u{1f3ff}');
        let is_part = joins || joined;
        joined = character == '\u{200d}';
        is_part
    })
}

/// `x`, and what looks like it or like a tick.
fn is_tick(character: char) -> bool {
    matches!(
        character,
        'x' | 'X' | 'х' | 'Х' | 'χ' | 'Χ' | '×' | '✓' | '✔' | '☑' | '✅' | '🗸' | '🗹'
    )
}

/// The length of a sign that is a box, with the blank that has to follow it left out.
fn sign(content: &str) -> Option<(usize, BoxState, BoxForm)> {
    let mut characters = content.chars();
    let first = characters.next()?;
    let (state, form) = match first {
        '☐' | '⬜' | '◻' | '▢' | '□' | '🔲' => (BoxState::Open, BoxForm::Sign),
        '☑' | '☒' | '🗹' => (BoxState::Ticked, BoxForm::Sign),
        '✅' | '✔' | '✓' | '🗸' => (BoxState::Ticked, BoxForm::Emoji),
        '❌' | '✗' | '✘' | '✖' => (BoxState::Marked, BoxForm::Emoji),
        _ => return None,
    };
    let after = characters.as_str();
    let after = after.strip_prefix(['\u{fe0e}', '\u{fe0f}']).unwrap_or(after);
    let is_apart = after.chars().next().is_none_or(char::is_whitespace);
    is_apart.then(|| (content.len() - after.len(), state, form))
}
