//! Recognises a terminal's answer to the question for its background colour among the keys. Pure.
//!
//! Many terminals do not know the question (OSC 11) and answer nothing.

use crossterm::event::{Event, KeyCode, KeyModifiers};

/// Asks for the background.
pub(super) const QUESTION: &str = "\x1b]11;?\x1b\\";

/// Maximum length of an answer; a longer sequence is something else.
const ANSWER_BYTES: usize = 64;

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

/// Recognises an answer among key events: crossterm does not parse it and delivers it character by character, beginning
/// with Alt-].
#[derive(Debug, Default)]
pub(super) struct ReplyFilter {
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

impl ReplyFilter {
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
    use crossterm::event::KeyEvent;

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
    fn an_answer_is_no_keys_and_keys_are_no_answer() {
        let answer = |end: Event| {
            let mut replies = ReplyFilter::default();
            assert_eq!(replies.take(char(']', KeyModifiers::ALT)), FilterResult::Held);
            for character in "11;rgb:1e1e/1e1e/2e2e".chars() {
                assert_eq!(replies.take(char(character, KeyModifiers::NONE)), FilterResult::Held);
            }
            replies.take(end)
        };
        for end in [char('\\', KeyModifiers::ALT), char('g', KeyModifiers::CONTROL)] {
            assert_eq!(answer(end), FilterResult::Background(DARK));
        }
        let mut replies = ReplyFilter::default();
        let pressed = [char(']', KeyModifiers::ALT), char('1', KeyModifiers::NONE)];
        for key in &pressed {
            assert_eq!(replies.take(key.clone()), FilterResult::Held);
        }
        let enter = Event::Key(KeyEvent::from(KeyCode::Enter));
        let all = [&pressed[..], std::slice::from_ref(&enter)].concat();
        assert_eq!(replies.take(enter), FilterResult::Keys(all));
        assert!(!replies.is_midway());
    }
}
