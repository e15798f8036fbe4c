//! The presentation of a run: the user's choices, limited to what stdout supports.

use std::path::PathBuf;

use ralph_system::paths::ProjectPaths;
use ralph_text::console;
use ralph_ui::tui::{looks::Looks, theme::Palette};

use crate::{
    config::{ScreenSettings, ScreenTheme},
    ui::{
        headless::{OutputFormat, OutputStyle},
        terminal,
    },
};

#[derive(Debug, Clone, Copy)]
pub struct Presentation {
    pub format: OutputFormat,
    pub style: OutputStyle,
    /// Options of the full screen, if there is one; text follows when it closes.
    pub screen: Option<ScreenOptions>,
}

/// The user's choices for the screen; the rest is detected.
#[derive(Debug, Clone, Copy)]
pub struct ScreenOptions {
    pub palette: Option<Palette>,
    pub ascii: Option<bool>,
    pub mouse: bool,
}

impl From<&ScreenSettings> for ScreenOptions {
    fn from(screen: &ScreenSettings) -> Self {
        Self {
            palette: match screen.theme {
                ScreenTheme::Auto => None,
                ScreenTheme::Dark => Some(Palette::Dark),
                ScreenTheme::Light => Some(Palette::Light),
                ScreenTheme::Sixteen => Some(Palette::Sixteen),
                ScreenTheme::None => Some(Palette::Mono),
            },
            ascii: None,
            mouse: true,
        }
    }
}

/// The file of what the user has chosen on screens.
pub fn looks_file(paths: &ProjectPaths) -> PathBuf {
    paths.states().root().join("screen.json")
}

impl ScreenOptions {
    /// Fills in what was chosen on an earlier screen, where flags and settings choose nothing.
    pub fn with_looks(self, looks: Looks) -> Self {
        Self {
            palette: self.palette.or(looks.theme),
            ascii: self.ascii.or(looks.ascii),
            mouse: self.mouse && looks.mouse.unwrap_or(true),
        }
    }
}

impl Presentation {
    /// Text without a screen; coloured if stdout is a terminal and `NO_COLOR` is not set.
    pub fn for_stdout(format: OutputFormat) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            format,
            style: OutputStyle {
                colour: console::is_terminal() && !no_colour,
                columns: terminal::columns(),
                ascii: console::is_terminal() && !terminal::surroundings().is_unicode(),
                hints: true,
            },
            screen: None,
        }
    }

    /// Applies those screen options that also concern text.
    pub fn suiting(mut self, options: ScreenOptions) -> Self {
        self.style.colour &= options.palette != Some(Palette::Mono);
        self.style.ascii = options.ascii.unwrap_or(self.style.ascii);
        self
    }

    /// Omits command suggestions: the run's state is not where those commands look for it.
    pub fn without_hints(mut self) -> Self {
        self.style.hints = false;
        self
    }

    /// Whether there can be a screen: text for people, on a terminal that can address its cells.
    pub fn can_have_screen(self) -> bool {
        self.format == OutputFormat::Text && terminal::is_addressable()
    }

    /// Requests a screen, where one is possible.
    pub fn on_screen(mut self, options: ScreenOptions) -> Self {
        self.screen = self.can_have_screen().then_some(options);
        self
    }
}
