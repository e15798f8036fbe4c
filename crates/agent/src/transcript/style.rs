//! Text styles and their escape sequences, the only ones in Markdown text. Pure.

/// Weight, slant and colour of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TextStyle {
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underlined: bool,
    pub(super) struck: bool,
    pub(super) colour: Option<ThemeColour>,
}

/// A colour of the terminal's theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThemeColour {
    Red,
    Green,
    Cyan,
}

impl TextStyle {
    pub(super) const PLAIN: TextStyle = TextStyle {
        bold: false,
        dim: false,
        italic: false,
        underlined: false,
        struck: false,
        colour: None,
    };
    pub(super) const THOUGHT: TextStyle = TextStyle {
        dim: true,
        italic: true,
        ..TextStyle::PLAIN
    };

    pub(super) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(super) fn dim(self) -> Self {
        Self { dim: true, ..self }
    }

    pub(super) fn italic(self) -> Self {
        Self { italic: true, ..self }
    }

    pub(super) fn underlined(self) -> Self {
        Self {
            underlined: true,
            ..self
        }
    }

    pub(super) fn struck(self) -> Self {
        Self { struck: true, ..self }
    }

    pub(super) fn coloured(self, colour: ThemeColour) -> Self {
        Self {
            colour: Some(colour),
            ..self
        }
    }

    fn sequence(self) -> String {
        let colour = self.colour.map(|colour| match colour {
            ThemeColour::Red => "31",
            ThemeColour::Green => "32",
            ThemeColour::Cyan => "36",
        });
        let codes = [
            self.bold.then_some("1"),
            self.dim.then_some("2"),
            self.italic.then_some("3"),
            self.underlined.then_some("4"),
            self.struck.then_some("9"),
            colour,
        ];
        let codes: Vec<_> = codes.into_iter().flatten().collect();
        format!("\x1b[{}m", codes.join(";"))
    }
}

/// A writer that tracks the current style.
#[derive(Debug, Default)]
pub(super) struct StyledWriter {
    style: TextStyle,
}

impl StyledWriter {
    pub(super) fn write(&mut self, style: TextStyle, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        if style != self.style {
            self.lift(out);
            if style != TextStyle::PLAIN {
                out.extend_from_slice(style.sequence().as_bytes());
            }
            self.style = style;
        }
        out.extend_from_slice(text.as_bytes());
    }

    /// Resets the style, so that other output in between is not affected.
    pub(super) fn lift(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.style) != TextStyle::PLAIN {
            out.extend_from_slice(b"\x1b[0m");
        }
    }
}
