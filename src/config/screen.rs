//! Settings of the screen.

use ralph_policy::{choices, settings, settings::OneOf};

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

choices! {
    ScreenTheme: "auto" = Auto, "dark" = Dark, "light" = Light, "16" = Sixteen, "none" = None;
}
