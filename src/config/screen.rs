//! Settings of the screen.

use ralph_policy::{
    settings,
    settings::{NamedChoice, OneOf, Switch},
};

settings! {
    /// How runs are shown in your terminal.
    pub struct ScreenSettings {
        /// "dark" and "light" suit such backgrounds, "16" uses the terminal's own sixteen colours, "none" only font
        /// weights; "auto" asks the terminal for its background. `--theme` sets it for one command; NO_COLOR means
        /// "none".
        theme("theme"): OneOf<ScreenTheme> = "auto",
        /// "ascii" draws without Unicode, also headless; "auto" does so if the locale of the terminal has no Unicode.
        /// `--ascii` sets it for one command.
        glyphs("glyphs"): OneOf<Signs> = "auto",
        /// Whether the screen handles clicks and the wheel; false leaves them to the terminal, so that it can select
        /// text. `--no-mouse` sets that for one command.
        mouse("mouse"): Switch = true,
    }
}

/// The colours of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenTheme {
    Auto,
    Dark,
    Light,
    Sixteen,
    None,
}

/// The characters used for drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signs {
    Auto,
    Unicode,
    Ascii,
}

impl NamedChoice for ScreenTheme {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", ScreenTheme::Auto),
        ("dark", ScreenTheme::Dark),
        ("light", ScreenTheme::Light),
        ("16", ScreenTheme::Sixteen),
        ("none", ScreenTheme::None),
    ];
}

impl NamedChoice for Signs {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", Signs::Auto),
        ("unicode", Signs::Unicode),
        ("ascii", Signs::Ascii),
    ];
}
