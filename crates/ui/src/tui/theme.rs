//! Colours and signs, chosen for the terminal's abilities and the user's background. Pure.
//!
//! Each palette is legible on its backgrounds, which a test computes. On a background that is unknown, or neither dark
//! nor light, only the terminal's sixteen colours are used: the terminal's theme makes them legible.

use std::borrow::Cow;

use ralph_text::signs;
use ralph_words::Tone;
use ratatui::style::{Color, Modifier, Style};
use serde::{Deserialize, Serialize};

use super::background::BackgroundColour;

/// Maximum luminance of a background for the dark palette, and minimum for the light one.
const DARK_UP_TO: f64 = 0.035;
const LIGHT_FROM: f64 = 0.78;

/// The palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Palette {
    Dark,
    Light,
    /// The terminal's own sixteen colours.
    Sixteen,
    /// No colours, only bold and dim.
    Mono,
}

/// The colour depth of everything that is drawn, output of agents included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    None,
    Sixteen,
    Indexed,
    True,
}

/// Terminal properties from the environment.
#[derive(Debug, Clone, Default)]
pub struct TerminalEnvironment {
    pub no_color: bool,
    pub term: String,
    pub colorterm: String,
    pub colorfgbg: String,
    /// `LC_ALL`, `LC_CTYPE` or `LANG`, the first that is set.
    pub locale: String,
}

impl TerminalEnvironment {
    /// Whether the locale uses UTF-8.
    pub fn is_unicode(&self) -> bool {
        let locale = self.locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub palette: Palette,
    pub depth: Depth,
    pub glyphs: &'static Glyphs,
    /// Whether the palette follows the background: the user chose no palette, and the terminal has at least 256
    /// colours.
    goes_by_background: bool,
}

/// The signs used for drawing.
#[derive(Debug, PartialEq, Eq)]
pub struct Glyphs {
    pub done: &'static str,
    pub open: &'static str,
    pub current: &'static str,
    pub good: &'static str,
    pub bad: &'static str,
    pub wait: &'static str,
    pub user: &'static str,
    pub note: &'static str,
    pub start: &'static str,
    pub tool: &'static str,
    pub rule: &'static str,
    pub bar: &'static str,
    pub full: &'static str,
    pub rest: &'static str,
    pub dot: &'static str,
    pub more: &'static str,
    pub up: &'static str,
    pub down: &'static str,
    pub folded: &'static str,
    pub unfolded: &'static str,
    pub minus: &'static str,
    /// Frames of the spinner, one a second.
    pub spinner: &'static [&'static str],
    pub corners: [&'static str; 4],
    /// Junctions where a vertical line begins at a horizontal one, and where it ends at one.
    pub tees: [&'static str; 2],
    /// Junction where a horizontal line ends at a vertical one.
    pub side: &'static str,
}

static UNICODE: Glyphs = Glyphs {
    done: "✔",
    open: "○",
    current: "▶",
    good: "✔",
    bad: "✖",
    wait: "…",
    user: "»",
    note: "·",
    start: "▶",
    tool: "▸",
    rule: "─",
    bar: "│",
    full: "━",
    rest: "─",
    dot: "·",
    more: "…",
    up: "↑",
    down: "↓",
    folded: "▸",
    unfolded: "▾",
    minus: "−",
    spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
    corners: ["╭", "╮", "╰", "╯"],
    tees: ["┬", "┴"],
    side: "┤",
};

static ASCII: Glyphs = Glyphs {
    done: "+",
    open: "o",
    current: ">",
    good: "+",
    bad: "x",
    wait: "~",
    user: ">",
    note: ".",
    start: ">",
    tool: "$",
    rule: "-",
    bar: "|",
    full: "=",
    rest: "-",
    dot: "-",
    more: "~",
    up: "^",
    down: "v",
    folded: "+",
    unfolded: "v",
    minus: "-",
    spinner: &["|", "/", "-", "\\"],
    corners: ["+", "+", "+", "+"],
    tees: ["+", "+"],
    side: "+",
};

/// Parts of `TERM` values of terminals with 256 colours that may not announce them.
const MANY_COLOURS: [&str; 6] = ["256", "kitty", "alacritty", "ghostty", "foot", "wezterm"];

/// The purpose of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    Plain,
    Dim,
    Strong,
    /// The name of ralph, the current task, the shown pane.
    Accent,
    Good,
    Bad,
    Wait,
    User,
    /// The selected row of a list.
    Chosen,
    GaugeDone,
    GaugeRest,
    Added,
    Removed,
    Hunk,
    Match,
    /// The match that a search is at.
    CurrentMatch,
    Key,
    /// The verdict at the end of a run.
    GoodVerdict,
    WaitVerdict,
    /// The first line of a screen: the state of the run as a block of colour.
    BusyBadge,
    WaitingBadge,
    /// The state of a run that waits for an answer.
    AskingBadge,
    FailedBadge,
    DoneBadge,
}

impl Theme {
    pub const fn new(palette: Palette, depth: Depth, ascii: bool) -> Self {
        Self {
            palette,
            depth,
            glyphs: if ascii { &ASCII } else { &UNICODE },
            goes_by_background: false,
        }
    }

    /// Chooses the theme for a terminal; `asked_for` and `ascii` are the user's settings, if any.
    pub fn suiting(around: &TerminalEnvironment, asked_for: Option<Palette>, ascii: Option<bool>) -> Self {
        let depth = if around.no_color || asked_for == Some(Palette::Mono) {
            Depth::None
        } else if matches!(around.colorterm.as_str(), "truecolor" | "24bit") {
            Depth::True
        } else if MANY_COLOURS.iter().any(|name| around.term.contains(name)) {
            Depth::Indexed
        } else {
            Depth::Sixteen
        };
        let chosen = asked_for.unwrap_or_else(|| {
            let background = around
                .colorfgbg
                .rsplit(';')
                .next()
                .and_then(|colour| colour.parse::<u8>().ok());
            match background {
                Some(7 | 15) => Palette::Light,
                Some(0..=6 | 8) => Palette::Dark,
                Some(_) | None => Palette::Sixteen,
            }
        });
        let palette = match (depth, chosen) {
            (Depth::None, _) => Palette::Mono,
            (Depth::Sixteen, _) => Palette::Sixteen,
            (Depth::Indexed | Depth::True, chosen) => chosen,
        };
        Self {
            goes_by_background: asked_for.is_none() && depth >= Depth::Indexed,
            ..Self::new(palette, depth, ascii.unwrap_or(!around.is_unicode()))
        }
    }

    /// Whether to ask the terminal for its background.
    pub fn goes_by_background(&self) -> bool {
        self.goes_by_background
    }

    /// Adapts the theme to a background, unless its palette is fixed.
    pub fn on(self, background: BackgroundColour) -> Self {
        if !self.goes_by_background {
            return self;
        }
        let luminance = background.luminance();
        let palette = if luminance <= DARK_UP_TO {
            Palette::Dark
        } else if luminance >= LIGHT_FROM {
            Palette::Light
        } else {
            Palette::Sixteen
        };
        Self { palette, ..self }
    }

    /// The theme with a palette that the user chose, as far as the terminal has its colours.
    pub(super) fn with_palette(self, palette: Palette) -> Self {
        let palette = match self.depth {
            Depth::None => Palette::Mono,
            Depth::Sixteen if palette != Palette::Mono => Palette::Sixteen,
            Depth::Sixteen | Depth::Indexed | Depth::True => palette,
        };
        Self {
            palette,
            goes_by_background: false,
            ..self
        }
    }

    pub(super) fn with_ascii(self, ascii: bool) -> Self {
        let glyphs = if ascii { &ASCII } else { &UNICODE };
        Self { glyphs, ..self }
    }

    pub fn style(&self, role: TextRole) -> Style {
        let plain = Style::new();
        // The two sides of a badge in the palettes with colours of their own: text and background.
        let badge = |dark: (u8, u8), light: (u8, u8), sixteen: (Color, Color)| match self.palette {
            Palette::Dark => plain.fg(Color::Indexed(dark.0)).bg(Color::Indexed(dark.1)),
            Palette::Light => plain.fg(Color::Indexed(light.0)).bg(Color::Indexed(light.1)),
            Palette::Sixteen => plain.fg(sixteen.0).bg(sixteen.1),
            Palette::Mono => plain.add_modifier(Modifier::REVERSED),
        };
        let colour = |dark: u8, light: u8, sixteen: Color| match self.palette {
            Palette::Dark => plain.fg(Color::Indexed(dark)),
            Palette::Light => plain.fg(Color::Indexed(light)),
            Palette::Sixteen => plain.fg(sixteen),
            Palette::Mono => plain,
        };
        match role {
            TextRole::Plain => plain,
            TextRole::Dim => match self.palette {
                Palette::Dark => plain.fg(Color::Indexed(247)),
                Palette::Light => plain.fg(Color::Indexed(241)),
                Palette::Sixteen | Palette::Mono => plain.add_modifier(Modifier::DIM),
            },
            TextRole::Strong => plain.add_modifier(Modifier::BOLD),
            TextRole::Accent => colour(81, 25, Color::Cyan).add_modifier(Modifier::BOLD),
            TextRole::Good => colour(114, 22, Color::Green),
            TextRole::Bad => colour(210, 124, Color::Red).add_modifier(Modifier::BOLD),
            TextRole::Wait => colour(221, 94, Color::Yellow),
            TextRole::User => colour(177, 90, Color::Magenta),
            TextRole::Chosen => match self.palette {
                Palette::Dark => plain.bg(Color::Indexed(237)).add_modifier(Modifier::BOLD),
                Palette::Light => plain.bg(Color::Indexed(195)).add_modifier(Modifier::BOLD),
                Palette::Sixteen | Palette::Mono => plain.add_modifier(Modifier::REVERSED),
            },
            TextRole::GaugeDone => colour(114, 22, Color::Green),
            TextRole::GaugeRest => match self.palette {
                Palette::Dark => plain.fg(Color::Indexed(240)),
                Palette::Light => plain.fg(Color::Indexed(249)),
                Palette::Sixteen | Palette::Mono => plain.add_modifier(Modifier::DIM),
            },
            TextRole::Added => colour(114, 22, Color::Green),
            TextRole::Removed => colour(210, 124, Color::Red),
            TextRole::Hunk => colour(81, 25, Color::Cyan),
            TextRole::Match => match self.palette {
                Palette::Mono => plain.add_modifier(Modifier::REVERSED | Modifier::UNDERLINED),
                Palette::Dark | Palette::Light => plain.fg(Color::Indexed(16)).bg(Color::Indexed(221)),
                Palette::Sixteen => plain.fg(Color::Black).bg(Color::Yellow),
            },
            TextRole::CurrentMatch => match self.palette {
                Palette::Mono => plain.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
                Palette::Dark => plain.fg(Color::Indexed(16)).bg(Color::Indexed(231)),
                Palette::Light => plain.fg(Color::Indexed(231)).bg(Color::Indexed(90)),
                Palette::Sixteen => plain.fg(Color::Black).bg(Color::Cyan),
            }
            .add_modifier(Modifier::BOLD),
            TextRole::Key => plain.add_modifier(Modifier::BOLD),
            TextRole::GoodVerdict => self.style(TextRole::Good).add_modifier(Modifier::BOLD),
            TextRole::WaitVerdict => self.style(TextRole::Wait).add_modifier(Modifier::BOLD),
            TextRole::BusyBadge => badge((195, 23), (16, 159), (Color::Black, Color::Cyan)),
            // The text is amber here, and the block where the run asks: only that has to be seen from afar.
            TextRole::WaitingBadge => badge((222, 58), (16, 223), (Color::Yellow, Color::Reset)),
            TextRole::AskingBadge => badge((16, 221), (231, 94), (Color::Black, Color::Yellow)),
            TextRole::FailedBadge => badge((231, 88), (231, 124), (Color::White, Color::Red)),
            TextRole::DoneBadge => badge((231, 22), (231, 22), (Color::Black, Color::Green)),
        }
    }

    /// The style of a cell in a selected row: on the row's background, and never dim.
    ///
    /// The sixteen colours have no second background on which all of them are legible, so the whole row is reversed.
    pub fn chosen(&self, cell: Style) -> Style {
        let row = self.style(TextRole::Chosen);
        match self.palette {
            Palette::Dark | Palette::Light => {
                let is_faint = [TextRole::Dim, TextRole::GaugeRest]
                    .iter()
                    .any(|role| self.style(*role).fg == cell.fg);
                // The colour was chosen for another background.
                let is_bound = cell.bg.is_some_and(|background| background != Color::Reset);
                let own = if is_faint || is_bound {
                    cell.fg(Color::Reset)
                } else {
                    cell
                };
                own.remove_modifier(Modifier::DIM | Modifier::REVERSED).patch(row)
            }
            Palette::Sixteen | Palette::Mono => row,
        }
    }

    /// Replaces ralph's own punctuation by ASCII where there is no Unicode. Other characters are unchanged.
    pub fn spelled<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.glyphs != &ASCII || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.chars().map(signs::ascii).collect())
    }

    /// Rewrites a frame for terminals with sixteen colours, which may misread the long forms of colour sequences that
    /// the drawing library emits.
    pub fn encoded(&self, frame: Vec<u8>) -> Vec<u8> {
        if self.depth != Depth::Sixteen {
            return frame;
        }
        let mut encoded = Vec::with_capacity(frame.len());
        let mut rest = &frame[..];
        while let Some(at) = rest.windows(2).position(|pair| pair == b"\x1b[") {
            let (before, sequence) = rest.split_at(at + 2);
            encoded.extend_from_slice(before);
            let end = sequence.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';'));
            let (parameters, after) = sequence.split_at(end.unwrap_or(sequence.len()));
            if after.first() == Some(&b'm') {
                encoded.extend_from_slice(shortened(parameters).as_bytes());
            } else {
                encoded.extend_from_slice(parameters);
            }
            rest = after;
        }
        encoded.extend_from_slice(rest);
        encoded
    }

    pub fn tone(&self, tone: Tone) -> (&'static str, Style) {
        let glyphs = self.glyphs;
        let (sign, role) = match tone {
            Tone::Start => (glyphs.start, TextRole::Accent),
            Tone::Good => (glyphs.good, TextRole::Good),
            Tone::Bad => (glyphs.bad, TextRole::Bad),
            Tone::Warning => ("!", TextRole::Wait),
            Tone::Wait => (glyphs.wait, TextRole::Wait),
            Tone::User => (glyphs.user, TextRole::User),
            Tone::Note => (glyphs.note, TextRole::Dim),
        };
        (sign, self.style(role))
    }

    /// The nearest colour to `colour` that the terminal has.
    pub fn nearest(&self, colour: Color) -> Color {
        match (self.depth, colour) {
            (Depth::None, _) => Color::Reset,
            (Depth::True, colour) => colour,
            (Depth::Indexed, Color::Rgb(red, green, blue)) => Color::Indexed(cube(red, green, blue)),
            (Depth::Indexed, colour) => colour,
            (Depth::Sixteen, Color::Rgb(red, green, blue)) => Color::Indexed(sixteenth(red, green, blue)),
            (Depth::Sixteen, Color::Indexed(index @ 16..)) => {
                let (red, green, blue) = indexed_rgb(index);
                Color::Indexed(sixteenth(red, green, blue))
            }
            (Depth::Sixteen, colour) => colour,
        }
    }
}

/// Replaces long forms of the sixteen colours by short ones.
fn shortened(parameters: &[u8]) -> String {
    let text = String::from_utf8_lossy(parameters);
    let mut numbers = text.split(';');
    let mut out: Vec<String> = Vec::new();
    while let Some(number) = numbers.next() {
        let base: Option<u16> = match number {
            "38" => Some(30),
            "48" => Some(40),
            _ => None,
        };
        let index = base.and_then(|_| {
            let mut ahead = numbers.clone();
            let index = (ahead.next()? == "5").then(|| ahead.next()?.parse::<u16>().ok())??;
            numbers = ahead;
            Some(index)
        });
        out.push(match (base, index) {
            (Some(base), Some(index @ 0..8)) => (base + index).to_string(),
            (Some(base), Some(index @ 8..16)) => (base + 60 + index - 8).to_string(),
            (Some(_), Some(index)) => format!("{number};5;{index}"),
            (_, None) | (None, Some(_)) => number.to_owned(),
        });
    }
    out.join(";")
}

/// The index of a colour in the 6×6×6 cube or on the grey ramp.
fn cube(red: u8, green: u8, blue: u8) -> u8 {
    if red == green && green == blue {
        return match red {
            0..8 => 16,
            8..238 => 232 + (red - 8) / 10,
            238.. => 231,
        };
    }
    let step = |value: u8| match value {
        0..48 => 0,
        48..115 => 1,
        115.. => (value - 35) / 40,
    };
    16 + 36 * step(red) + 6 * step(green) + step(blue)
}

fn indexed_rgb(index: u8) -> (u8, u8, u8) {
    if index >= 232 {
        let grey = 8 + (index - 232) * 10;
        return (grey, grey, grey);
    }
    let value = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    let index = index - 16;
    (value(index / 36), value(index / 6 % 6), value(index % 6))
}

/// The nearest of the sixteen colours: a bit for each strong component, and one for bright.
fn sixteenth(red: u8, green: u8, blue: u8) -> u8 {
    let most = red.max(green).max(blue);
    if most < 48 {
        return 0;
    }
    let strong = |value: u8| u8::from(u16::from(value) * 3 > u16::from(most) * 2);
    let colour = strong(red) | strong(green) << 1 | strong(blue) << 2;
    match (colour, most) {
        (7, 48..128) => 8,
        (7, 128..200) => 7,
        (7, _) => 15,
        (colour, 200..) => colour + 8,
        (colour, _) => colour,
    }
}

#[cfg(test)]
mod contrast_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn around(term: &str, colorterm: &str, colorfgbg: &str, locale: &str) -> TerminalEnvironment {
        TerminalEnvironment {
            no_color: false,
            term: term.to_owned(),
            colorterm: colorterm.to_owned(),
            colorfgbg: colorfgbg.to_owned(),
            locale: locale.to_owned(),
        }
    }

    #[test]
    fn an_unknown_background_gets_the_terminals_own_colours() {
        let theme = Theme::suiting(&around("xterm-256color", "truecolor", "", "C.UTF-8"), None, None);
        assert_eq!((theme.palette, theme.depth), (Palette::Sixteen, Depth::True));
        let light = Theme::suiting(&around("xterm-256color", "", "0;15", "C.UTF-8"), None, None);
        assert_eq!((light.palette, light.depth), (Palette::Light, Depth::Indexed));
    }

    #[test]
    fn the_background_decides_unless_the_user_has() {
        let [dark, light, between] = [(30, 30, 46), (253, 246, 227), (110, 110, 110)].map(BackgroundColour::from_rgb);
        let auto = Theme::suiting(&around("xterm-256color", "", "0;15", "C.UTF-8"), None, None);
        assert!(auto.goes_by_background());
        assert_eq!(
            auto.on(dark).palette,
            Palette::Dark,
            "the terminal knows better than a variable"
        );
        assert_eq!(auto.on(light).palette, Palette::Light);
        assert_eq!(auto.on(between).palette, Palette::Sixteen);
        let around_xterm = around("xterm", "", "", "C.UTF-8");
        let mut no_colour = around("xterm-256color", "truecolor", "", "C.UTF-8");
        no_colour.no_color = true;
        for told in [
            Theme::suiting(&around("xterm-kitty", "", "", "C.UTF-8"), Some(Palette::Sixteen), None),
            Theme::suiting(&around_xterm, None, None),
            Theme::suiting(&no_colour, None, None),
        ] {
            assert!(!told.goes_by_background());
            assert_eq!(told.on(light).palette, told.palette);
        }
    }

    #[test]
    fn no_color_leaves_weights_only() {
        let around = TerminalEnvironment {
            no_color: true,
            ..around("xterm-256color", "truecolor", "15;0", "C.UTF-8")
        };
        let theme = Theme::suiting(&around, Some(Palette::Dark), None);
        assert_eq!(theme.palette, Palette::Mono);
        assert_eq!(theme.nearest(Color::Rgb(1, 2, 3)), Color::Reset);
        for role in [TextRole::Bad, TextRole::Accent, TextRole::Match, TextRole::Dim] {
            let style = theme.style(role);
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }

    #[test]
    fn signs_are_plain_where_the_locale_is_not_unicode() {
        let theme = Theme::suiting(&around("xterm", "", "", "C"), None, None);
        assert_eq!(theme.glyphs, &ASCII);
        for sign in [ASCII.done, ASCII.rule, ASCII.full, ASCII.minus] {
            assert!(sign.is_ascii());
        }
        for sign in "▸◂✗↻•│▎─┼╭╰…·●⋮".chars() {
            assert!(theme.spelled(&sign.to_string()).is_ascii(), "{sign}");
        }
        assert_eq!(theme.spelled("漢"), "漢", "words of others stay what they are");
    }

    #[test]
    fn a_terminal_of_sixteen_colours_gets_the_short_forms() {
        let encoded = |depth, frame: &str| {
            let theme = Theme::new(Palette::Sixteen, depth, false);
            String::from_utf8(theme.encoded(frame.as_bytes().to_vec())).unwrap()
        };
        let frame = "38;5;1m\x1b[38;5;6;49mé\x1b[1;38;5;9;48;5;15mb\x1b[5;38Hc\x1b[0m\x1b[m";
        let short = "38;5;1m\x1b[36;49mé\x1b[1;91;107mb\x1b[5;38Hc\x1b[0m\x1b[m";
        assert_eq!(encoded(Depth::Sixteen, frame), short);
        assert_eq!(encoded(Depth::Indexed, frame), frame);
    }

    #[test]
    fn colours_become_the_nearest_there_is() {
        let sixteen = Theme::new(Palette::Sixteen, Depth::Sixteen, false);
        assert_eq!(sixteen.nearest(Color::Rgb(250, 20, 20)), Color::Indexed(9));
        assert_eq!(sixteen.nearest(Color::Indexed(28)), Color::Indexed(2));
        let indexed = Theme::new(Palette::Dark, Depth::Indexed, false);
        assert_eq!(indexed.nearest(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(indexed.nearest(Color::Rgb(128, 128, 128)), Color::Indexed(244));
    }
}
