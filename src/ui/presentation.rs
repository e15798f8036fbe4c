//! How a run is shown: what the user asked for, as far as stdout can have it.

use ralph_text::console;

use crate::{
    config::{Screen, ScreenTheme, Signs},
    ui::{
        headless::{Format, Style},
        terminal,
        tui::theme::Palette,
    },
};

#[derive(Debug, Clone, Copy)]
pub struct Presentation {
    pub format: Format,
    pub style: Style,
    /// On a screen of its own; what is left when that closes is text.
    pub screen: Option<ScreenOptions>,
}

/// What the user asks of the screen; the rest is found out.
#[derive(Debug, Clone, Copy)]
pub struct ScreenOptions {
    pub palette: Option<Palette>,
    pub ascii: Option<bool>,
    pub mouse: bool,
}

impl From<&Screen> for ScreenOptions {
    fn from(screen: &Screen) -> Self {
        Self {
            palette: match screen.theme {
                ScreenTheme::Auto => None,
                ScreenTheme::Dark => Some(Palette::Dark),
                ScreenTheme::Light => Some(Palette::Light),
                ScreenTheme::Sixteen => Some(Palette::Sixteen),
                ScreenTheme::None => Some(Palette::Mono),
            },
            ascii: match screen.glyphs {
                Signs::Auto => None,
                Signs::Unicode => Some(false),
                Signs::Ascii => Some(true),
            },
            mouse: screen.mouse,
        }
    }
}

impl Presentation {
    /// Text without a screen, in colours if stdout is a terminal whose user did not ask for none.
    pub fn of_stdout(format: Format) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            format,
            style: Style {
                colour: console::is_terminal() && !no_colour,
                columns: terminal::columns(),
                ascii: console::is_terminal() && !terminal::surroundings().is_unicode(),
                hints: true,
            },
            screen: None,
        }
    }

    /// Takes what the user asks of a screen as far as text has it, too.
    pub fn suiting(mut self, options: ScreenOptions) -> Self {
        self.style.colour &= options.palette != Some(Palette::Mono);
        self.style.ascii = options.ascii.unwrap_or(self.style.ascii);
        self
    }

    /// Leaves out what could be typed about the run: its state is not where a command looks for it.
    pub fn without_hints(mut self) -> Self {
        self.style.hints = false;
        self
    }

    /// Whether there can be a screen: text for people, on a terminal that can address its cells.
    pub fn can_have_screen(self) -> bool {
        self.format == Format::Text && terminal::is_addressable()
    }

    /// Asks for a screen, where there can be one.
    pub fn on_screen(mut self, options: ScreenOptions) -> Self {
        self.screen = self.can_have_screen().then_some(options);
        self
    }
}
