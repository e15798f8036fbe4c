//! Parses a terminal's answer to the question for its background colour. Pure.
//!
//! Many terminals do not know the question (OSC 11). Every terminal that answers anything answers the next one (DA1),
//! so that answer ends the wait. Answers arrive on the same input as keys, and typed keys may come between them. A slow
//! terminal answers after key reading has begun: then the answer arrives split into key events, and [`LateReplyFilter`]
//! reassembles it.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// Asks for the background, then for the device attributes, which every terminal reports.
pub(super) const QUESTION: &str = "\x1b]11;?\x1b\\\x1b[c";

/// Maximum length of an answer; a longer sequence is something else.
const ANSWER_BYTES: usize = 64;

/// Ends a bracketed paste, which begins with `CSI 200 ~`.
const PASTE_END: &[u8] = b"\x1b[201~";
const PASTE_START_BYTES: usize = 6;

/// The colour of a terminal's background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundColour {
    red: u8,
    green: u8,
    blue: u8,
}

impl BackgroundColour {
    #[cfg(test)]
    pub(super) const fn from_rgb((red, green, blue): (u8, u8, u8)) -> Self {
        Self { red, green, blue }
    }

    /// Parses `11;rgb:1e1e/1e1e/2e2e`, one to four digits per colour. A fourth value (`rgba:`) is the opacity, which is
    /// ignored.
    fn read(answer: &str) -> Option<Self> {
        let colours = answer.strip_prefix("11;rgb")?;
        let colours = colours.strip_prefix(':').or_else(|| colours.strip_prefix("a:"))?;
        let mut parts = colours.split('/').map(|digits| {
            let most = 16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1)?;
            let value = u32::from_str_radix(digits, 16)
                .ok()
                .filter(|_| (1..=4).contains(&digits.len()))?;
            u8::try_from(value * 255 / most).ok()
        });
        Some(Self {
            red: parts.next()??,
            green: parts.next()??,
            blue: parts.next()??,
        })
    }

    /// Relative luminance as defined by the WCAG, from 0 to 1.
    pub(super) fn luminance(self) -> f64 {
        luminance((self.red, self.green, self.blue))
    }
}

pub(super) fn luminance((red, green, blue): (u8, u8, u8)) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        match part <= 0.04045 {
            true => part / 12.92,
            false => ((part + 0.055) / 1.055).powf(2.4),
        }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/// A piece of input from a terminal that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TerminalInput {
    Background(BackgroundColour),
    /// The answer to the second question: the first one will not be answered any more.
    Last,
    /// A key typed meanwhile.
    Key(KeyEvent),
    Paste(String),
}

/// Separates answers from keys in a terminal's input, which may be cut anywhere.
#[derive(Debug, Default)]
pub(super) struct TerminalInputParser {
    bytes: Vec<u8>,
}

impl TerminalInputParser {
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<TerminalInput> {
        self.bytes.extend_from_slice(bytes);
        let mut inputs = Vec::new();
        while let Some((found, length)) = next(&self.bytes) {
            inputs.extend(found);
            self.bytes.drain(..length);
        }
        inputs
    }

    /// Whether an incomplete sequence is buffered.
    pub(super) fn is_midway(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Interprets the buffered rest if no more input comes; a lone ESC is the Esc key.
    pub(super) fn finish(&self) -> Option<TerminalInput> {
        (self.bytes == [0x1b]).then(|| key(KeyCode::Esc))
    }
}

/// Parses the first item in `bytes`, if it is complete, and its length in bytes.
fn next(bytes: &[u8]) -> Option<(Option<TerminalInput>, usize)> {
    match bytes {
        [] | [0x1b] => None,
        [0x1b, b']', rest @ ..] => {
            let Some(at) = rest.iter().position(|byte| matches!(byte, 0x07 | 0x1b)) else {
                return (rest.len() > ANSWER_BYTES).then_some((None, bytes.len()));
            };
            let end = if rest[at] == 0x1b { at + 2 } else { at + 1 };
            let answer = std::str::from_utf8(&rest[..at]).unwrap_or_default();
            (end <= rest.len()).then(|| (BackgroundColour::read(answer).map(TerminalInput::Background), end + 2))
        }
        [0x1b, b'[', b'2', b'0', b'0', b'~', rest @ ..] => {
            let at = rest.windows(PASTE_END.len()).position(|end| end == PASTE_END)?;
            let text = String::from_utf8_lossy(&rest[..at]).into_owned();
            Some((
                Some(TerminalInput::Paste(text)),
                PASTE_START_BYTES + at + PASTE_END.len(),
            ))
        }
        [0x1b, b'[', rest @ ..] => {
            let at = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
            let Some(at) = at else {
                return (rest.len() > ANSWER_BYTES).then_some((None, bytes.len()));
            };
            let inputs = match (rest[at], &rest[..at]) {
                (b'c', [b'?', ..]) => Some(TerminalInput::Last),
                (end, []) => moved(end),
                // Other keys have no effect on a screen that shows nothing yet.
                _ => None,
            };
            Some((inputs, at + 3))
        }
        [0x1b, b'O', end, ..] => Some((moved(*end), 3)),
        [0x1b, b'O'] => None,
        [0x1b, 0x1b, ..] => Some((Some(key(KeyCode::Esc)), 1)),
        [0x1b, rest @ ..] => {
            let (character, length) = first_char(rest)?;
            let typed = character.map(|character| KeyEvent::new(KeyCode::Char(character), KeyModifiers::ALT));
            Some((typed.map(TerminalInput::Key), length + 1))
        }
        rest => {
            let (character, length) = first_char(rest)?;
            Some((character.map(typed), length))
        }
    }
}

fn key(code: KeyCode) -> TerminalInput {
    TerminalInput::Key(KeyEvent::from(code))
}

/// The key sent as `CSI x` or `SS3 x`.
fn moved(end: u8) -> Option<TerminalInput> {
    let code = match end {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        _ => return None,
    };
    Some(key(code))
}

/// The first character and its length, if it is complete; the character is `None` for an invalid byte.
fn first_char(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let most = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(most) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => std::str::from_utf8(&most[..error.valid_up_to()]).unwrap_or_default(),
        Err(error) if error.error_len().is_none() => return None,
        Err(_) => return Some((None, 1)),
    };
    let character = valid.chars().next()?;
    Some((Some(character), character.len_utf8()))
}

fn typed(character: char) -> TerminalInput {
    let with = |code, modifiers| TerminalInput::Key(KeyEvent::new(code, modifiers));
    match character {
        '\r' => key(KeyCode::Enter),
        '\t' => key(KeyCode::Tab),
        '\u{7f}' => key(KeyCode::Backspace),
        '\0' => with(KeyCode::Char(' '), KeyModifiers::CONTROL),
        '\u{1}'..='\u{1a}' => with(
            KeyCode::Char(char::from(b'a' + character as u8 - 1)),
            KeyModifiers::CONTROL,
        ),
        _ if character.is_uppercase() => with(KeyCode::Char(character), KeyModifiers::SHIFT),
        _ => key(KeyCode::Char(character)),
    }
}

/// Recognises an answer among key events: crossterm does not parse it and delivers it character by character, beginning
/// with Alt-].
#[derive(Debug, Default)]
pub(super) struct LateReplyFilter {
    held: Vec<Event>,
    text: String,
}

/// The result of looking at an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FilterResult {
    /// These events are keys, in this order.
    Keys(Vec<Event>),
    /// The event may belong to an answer and is held back.
    Held,
    Background(BackgroundColour),
}

impl LateReplyFilter {
    pub(super) fn take(&mut self, event: Event) -> FilterResult {
        let Event::Key(pressed) = &event else {
            return self.give_up(Some(event));
        };
        let alone = pressed.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match (pressed.code, pressed.modifiers, self.held.is_empty()) {
            (KeyCode::Char(']'), KeyModifiers::ALT, true) => self.held.push(event),
            (KeyCode::Char('\\'), KeyModifiers::ALT, false) | (KeyCode::Char('g'), KeyModifiers::CONTROL, false) => {
                let Some(background) = BackgroundColour::read(&self.text) else {
                    return self.give_up(Some(event));
                };
                *self = Self::default();
                return FilterResult::Background(background);
            }
            (KeyCode::Char(character), _, false) if alone && self.held.len() <= ANSWER_BYTES => {
                self.text.push(character);
                self.held.push(event);
            }
            _ => return self.give_up(Some(event)),
        }
        FilterResult::Held
    }

    pub(super) fn is_midway(&self) -> bool {
        !self.held.is_empty()
    }

    /// Releases the held events as keys, followed by `event`.
    pub(super) fn give_up(&mut self, event: Option<Event>) -> FilterResult {
        self.text.clear();
        let mut keys = std::mem::take(&mut self.held);
        keys.extend(event);
        FilterResult::Keys(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DARK: BackgroundColour = BackgroundColour::from_rgb((30, 30, 46));

    fn char(character: char, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(character), modifiers))
    }

    #[test]
    fn colours_of_any_precision_are_read() {
        for answer in [
            "11;rgb:1e1e/1e1e/2e2e",
            "11;rgb:1e/1e/2e",
            "11;rgba:1e1e/1e1e/2e2e/ffff",
        ] {
            assert_eq!(BackgroundColour::read(answer), Some(DARK), "{answer}");
        }
        assert_eq!(
            BackgroundColour::read("11;rgb:f/f/f"),
            Some(BackgroundColour::from_rgb((255, 255, 255)))
        );
        for other in [
            "",
            "11;",
            "11;?",
            "11;rgb:",
            "11;rgb:1e/1e",
            "11;rgb:12345/0/0",
            "10;rgb:1/1/1",
            "11;rgb:+1/1/1x",
        ] {
            assert_eq!(BackgroundColour::read(other), None, "{other}");
        }
    }

    #[test]
    fn answers_and_what_is_typed_between_them_are_told_apart_wherever_they_are_cut() {
        let sent = "q\u{1b}[200~rm -r\n\u{1b}x é\u{1b}[201~\u{1b}]11;rgb:1e1e/1e1e/2e2e\u{1b}\\Gé\r\u{1b}[A\u{1b}OB\u{3}\u{1b}[15~\u{1b}x\u{1b}[?62;4cl";
        let code = |code| TerminalInput::Key(KeyEvent::from(code));
        let with = |character, modifiers| TerminalInput::Key(KeyEvent::new(KeyCode::Char(character), modifiers));
        let expected = [
            code(KeyCode::Char('q')),
            TerminalInput::Paste("rm -r\n\u{1b}x é".to_owned()),
            TerminalInput::Background(DARK),
            with('G', KeyModifiers::SHIFT),
            code(KeyCode::Char('é')),
            code(KeyCode::Enter),
            code(KeyCode::Up),
            code(KeyCode::Down),
            with('c', KeyModifiers::CONTROL),
            with('x', KeyModifiers::ALT),
            TerminalInput::Last,
            code(KeyCode::Char('l')),
        ];
        for cut in 0..=sent.len() {
            let mut parser = TerminalInputParser::default();
            let (before, after) = sent.as_bytes().split_at(cut);
            let inputs = [parser.take(before), parser.take(after)].concat();
            assert_eq!(inputs, expected, "cut at {cut}");
            assert!(!parser.is_midway());
        }
        let mut parser = TerminalInputParser::default();
        assert_eq!(parser.take(b"\x1b"), []);
        assert_eq!(parser.finish(), Some(code(KeyCode::Esc)));
        assert_eq!(
            TerminalInputParser::default().take(b"\x1b]11;rgb:1e/1e/2e\x07"),
            [TerminalInput::Background(DARK)]
        );
    }

    #[test]
    fn nothing_that_a_terminal_sends_is_waited_for_without_end() {
        let mut parser = TerminalInputParser::default();
        parser.take(b"\x1b]");
        parser.take(&[b'x'; 200]);
        assert!(!parser.is_midway());
        assert_eq!(parser.take(b"q"), [key(KeyCode::Char('q'))]);
        assert_eq!(parser.take(b"\xffq"), [key(KeyCode::Char('q'))], "no UTF-8");
    }

    #[test]
    fn a_late_answer_is_no_keys_and_keys_are_no_answer() {
        let answer = |end: Event| {
            let mut late = LateReplyFilter::default();
            assert_eq!(late.take(char(']', KeyModifiers::ALT)), FilterResult::Held);
            for character in "11;rgb:1e1e/1e1e/2e2e".chars() {
                assert_eq!(late.take(char(character, KeyModifiers::NONE)), FilterResult::Held);
            }
            late.take(end)
        };
        for end in [char('\\', KeyModifiers::ALT), char('g', KeyModifiers::CONTROL)] {
            assert_eq!(answer(end), FilterResult::Background(DARK));
        }
        let mut late = LateReplyFilter::default();
        let pressed = [char(']', KeyModifiers::ALT), char('1', KeyModifiers::NONE)];
        for key in &pressed {
            assert_eq!(late.take(key.clone()), FilterResult::Held);
        }
        let enter = Event::Key(KeyEvent::from(KeyCode::Enter));
        let all = [&pressed[..], std::slice::from_ref(&enter)].concat();
        assert_eq!(late.take(enter), FilterResult::Keys(all));
        assert!(!late.is_midway());
    }
}
