//! How text is set.

use ralph_text::Form;

/// Colour and width of what is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub colour: bool,
    /// The terminal's width, where there is one.
    pub columns: Option<u16>,
    /// ralph's signs are ASCII.
    pub ascii: bool,
    /// Hints on what to type next are written; not where no such command would find the run.
    pub hints: bool,
}

impl Style {
    /// Text without colour and of any width, as for a file.
    pub const PLAIN: Style = Style {
        colour: false,
        columns: None,
        ascii: false,
        hints: true,
    };

    /// What such text holds.
    pub fn form(self) -> Form {
        if self.colour { Form::Coloured } else { Form::Plain }
    }

    /// Sets `text` in the colour of an SGR code, where there is colour.
    pub fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
