//! Properties of the terminal that ralph itself runs in.

use std::env;

use ralph_system::proc::Size;
use ralph_text::console;
use ralph_ui::tui::{self, ScreenLayout, theme::TerminalEnvironment};

use crate::ui::headless::Pace;

/// The size of an agent's terminal if ralph has no terminal itself.
const NO_TERMINAL: Size = Size { cols: 120, rows: 40 };

/// The width of the terminal on stdout; `None` if stdout is not a terminal.
pub(crate) fn columns() -> Option<u16> {
    let (columns, _) = console::is_terminal().then(|| crossterm::terminal::size().ok())??;
    Some(columns)
}

/// The size of an agent's terminal: that of ralph's own.
pub(crate) fn agent_size() -> Size {
    if !console::is_terminal() {
        return NO_TERMINAL;
    }
    match crossterm::terminal::size() {
        Ok((cols, rows)) if cols > 0 && rows > 0 => Size { cols, rows }.clamped(),
        Ok(_) | Err(_) => NO_TERMINAL,
    }
}

/// The size of an agent's terminal on a screen: that of the pane that shows it, in a run of `tasks` tasks.
pub(crate) fn pane_size(tasks: usize) -> Size {
    let (cols, rows) = crossterm::terminal::size().unwrap_or((NO_TERMINAL.cols, NO_TERMINAL.rows));
    ScreenLayout::new(cols, rows, tasks).pane()
}

/// When to write lines of a transcript: piecewise only on a terminal. Not in CI, where a terminal may exist although no
/// user watches it.
pub(crate) fn pace() -> Pace {
    let is_build = env::var_os("CI").is_some_and(|value| !value.is_empty());
    match console::is_terminal() && !is_build {
        true => Pace::AsWritten,
        false => Pace::Lines,
    }
}

/// Whether the terminal can address its cells.
pub(crate) fn is_addressable() -> bool {
    let dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    console::is_terminal() && !dumb
}

/// Whether the terminal can show a progress indicator.
pub(crate) fn shows_progress() -> bool {
    tui::shows_progress(|name| env::var(name).unwrap_or_default())
}

/// Terminal properties from the environment.
pub(crate) fn surroundings() -> TerminalEnvironment {
    let text = |name: &str| env::var(name).unwrap_or_default();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(text);
    TerminalEnvironment {
        no_color: !text("NO_COLOR").is_empty(),
        term: text("TERM"),
        colorterm: text("COLORTERM"),
        colorfgbg: text("COLORFGBG"),
        locale: locale.into_iter().find(|value| !value.is_empty()).unwrap_or_default(),
    }
}
