//! Presentation of text output.

use ralph_text::AllowedEscapes;

/// Colour and width of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputStyle {
    pub colour: bool,
    /// The terminal's width, if there is a terminal.
    pub columns: Option<u16>,
    /// Whether ralph's signs are replaced by ASCII.
    pub ascii: bool,
    /// Whether to print hints on what to type next; off where such a command would not find the run.
    pub hints: bool,
}

impl OutputStyle {
    /// No colour and unlimited width, as for a file.
    pub const PLAIN: OutputStyle = OutputStyle {
        colour: false,
        columns: None,
        ascii: false,
        hints: true,
    };

    /// The kind of text that this style produces.
    pub fn form(self) -> AllowedEscapes {
        if self.colour {
            AllowedEscapes::Coloured
        } else {
            AllowedEscapes::Plain
        }
    }

    /// Colours `text` with an SGR code, if colour is on.
    pub fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
