//! Settings of the screen.

use ralph_policy::{
    settings,
    settings::{NamedChoice, OneOf},
};

settings! {
    /// How runs are shown in your terminal.
    pub struct ScreenSettings {
        /// "dark" and "light" suit such backgrounds, "16" uses the terminal's own sixteen colours, "none" only font
        /// weights; "auto" asks the terminal for its background. `--theme` sets it for one command; NO_COLOR means
        /// "none".
        theme("theme"): OneOf<ScreenTheme> = "auto",
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

impl NamedChoice for ScreenTheme {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", ScreenTheme::Auto),
        ("dark", ScreenTheme::Dark),
        ("light", ScreenTheme::Light),
        ("16", ScreenTheme::Sixteen),
        ("none", ScreenTheme::None),
    ];
}
