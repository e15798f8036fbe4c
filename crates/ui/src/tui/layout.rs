//! The layout: one function from the terminal's size to rectangles, used for drawing, the mouse and the size of agents'
//! terminals. Pure.
//!
//! Small terminals lose elements in a fixed order: the line above the footer, the side bar (it becomes a strip), the
//! strip, the second rows of header and footer, the title of the main area.

use ralph_system::proc::Size;
use ratatui::layout::{Margin, Rect};

/// Minimum width for tasks beside the main area.
const SIDE_COLS: u16 = 110;
/// Minimum height for a strip of tasks above the main area.
const STRIP_ROWS: u16 = 20;
/// Minimum height for two rows in header and footer.
const TALL_ROWS: u16 = 16;
/// Minimum height for a title of the main area.
const TITLE_ROWS: u16 = 8;
/// Minimum height for a line above the footer.
const BASE_ROWS: u16 = 30;
/// Minimum width for the log beside the agent, and the columns that it takes.
const ASIDE_FROM_COLS: u16 = 160;
const ASIDE_COLS: std::ops::RangeInclusive<u16> = 44..=80;
/// Minimum width for a free column on either side of a terminal.
const PADDED_COLS: u16 = 40;

/// The area that receives keys and searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    /// The chosen pane.
    #[default]
    Main,
    Plan,
}

/// The rectangles of a screen; areas without room are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScreenLayout {
    pub whole: Rect,
    pub header: Rect,
    /// The plan's tasks, with a title.
    pub tasks: Rect,
    /// The line between side bar and main area.
    pub divider: Rect,
    /// The title of the main area.
    pub title: Rect,
    pub main: Rect,
    /// The line between main area and log, and the log beside the agent with its title, on a wide screen.
    pub second_divider: Rect,
    pub aside: Rect,
    /// The line above the footer.
    pub base: Rect,
    pub footer: Rect,
}

impl ScreenLayout {
    pub fn new(cols: u16, rows: u16, tasks: usize) -> Self {
        let whole = Rect::new(0, 0, cols, rows);
        let bars = match rows {
            0..=2 => 0,
            3..TALL_ROWS => 1,
            TALL_ROWS.. => 2,
        };
        let header = Rect::new(0, 0, cols, bars);
        let footer = Rect::new(0, rows - bars, cols, bars);
        let base_rows = u16::from(rows >= BASE_ROWS);
        let base = Rect::new(0, rows - bars - base_rows, cols, base_rows);
        let mut rest = Rect::new(0, bars, cols, rows - 2 * bars - base_rows);
        let (mut list, mut divider) = (Rect::default(), Rect::default());
        if cols >= SIDE_COLS && rows >= TITLE_ROWS {
            let width = (cols * 3 / 10).clamp(32, 52);
            list = Rect::new(0, rest.y, width, rest.height);
            divider = Rect::new(width, rest.y, 1, rest.height);
            rest = Rect::new(width + 1, rest.y, cols - width - 1, rest.height);
        } else if rows >= STRIP_ROWS {
            let most = (rows / 4).saturating_sub(1).max(4);
            let height = 1 + u16::try_from(tasks.max(1)).unwrap_or(most).min(most);
            list = Rect::new(0, rest.y, cols, height);
            rest = Rect::new(0, rest.y + height, cols, rest.height - height);
        }
        let (mut second_divider, mut aside) = (Rect::default(), Rect::default());
        if cols >= ASIDE_FROM_COLS && rows >= TITLE_ROWS {
            let width = (rest.width * 2 / 5).clamp(*ASIDE_COLS.start(), *ASIDE_COLS.end());
            let x = rest.right() - width;
            aside = Rect::new(x, rest.y, width, rest.height);
            second_divider = Rect::new(x - 1, rest.y, 1, rest.height);
            rest.width -= width + 1;
        }
        let title_rows = u16::from(rows >= TITLE_ROWS);
        Self {
            whole,
            header,
            tasks: list,
            divider,
            title: Rect::new(rest.x, rest.y, rest.width, title_rows),
            main: Rect::new(rest.x, rest.y + title_rows, rest.width, rest.height - title_rows),
            second_divider,
            aside,
            base,
            footer,
        }
    }

    /// The layout in which the main area has the room of the log beside it.
    pub fn without_aside(self) -> Self {
        let taken = self.second_divider.width + self.aside.width;
        let wider = |area: Rect| Rect {
            width: area.width + taken,
            ..area
        };
        Self {
            title: wider(self.title),
            main: wider(self.main),
            second_divider: Rect::default(),
            aside: Rect::default(),
            ..self
        }
    }

    /// The layout in which one area has all the room between header and footer.
    pub fn zoomed(self, focus: Focus) -> Self {
        let top = self.header.bottom();
        let between = Rect::new(0, top, self.whole.width, self.base.y - top);
        let none = Rect::default();
        match focus {
            Focus::Plan => Self {
                tasks: between,
                divider: none,
                title: none,
                main: none,
                second_divider: none,
                aside: none,
                ..self
            },
            Focus::Main => Self {
                tasks: none,
                divider: none,
                second_divider: none,
                aside: none,
                title: Rect {
                    height: self.title.height,
                    ..between
                },
                main: Rect {
                    y: top + self.title.height,
                    height: between.height - self.title.height,
                    ..between
                },
                ..self
            },
        }
    }

    /// The area in which a terminal is drawn: one column of padding on either side, as for text.
    pub fn terminal(&self) -> Rect {
        match self.main.width {
            PADDED_COLS.. => self.main.inner(Margin::new(1, 0)),
            ..PADDED_COLS => self.main,
        }
    }

    /// The size of the agent's terminal.
    pub fn pane(&self) -> Size {
        let terminal = self.terminal();
        Size {
            cols: terminal.width,
            rows: terminal.height,
        }
        .clamped()
    }

    /// Whether the tasks are shown in a strip above the main area.
    pub fn has_strip(&self) -> bool {
        !self.tasks.is_empty() && !self.main.is_empty() && !self.has_side_bar()
    }

    /// Whether the tasks are shown beside the main area.
    pub fn has_side_bar(&self) -> bool {
        self.divider.width > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_size_breaks_it_and_nothing_overlaps() {
        for cols in 0..=260 {
            for rows in 0..=130 {
                for (tasks, zoomed) in [(0, None), (3, Some(Focus::Main)), (9, Some(Focus::Plan)), (200, None)] {
                    let layout = ScreenLayout::new(cols, rows, tasks);
                    let layout = zoomed.map_or(layout, |focus| layout.zoomed(focus));
                    let parts = [
                        layout.header,
                        layout.tasks,
                        layout.divider,
                        layout.title,
                        layout.main,
                        layout.second_divider,
                        layout.aside,
                        layout.base,
                        layout.footer,
                    ];
                    let cells: u32 = parts.iter().map(|part| part.area()).sum();
                    assert_eq!(cells, layout.whole.area(), "{cols}x{rows} with {tasks}: {layout:?}");
                    assert!(
                        parts
                            .iter()
                            .all(|part| part.is_empty() || layout.whole.union(*part) == layout.whole)
                    );
                }
            }
        }
    }

    #[test]
    fn a_tiny_terminal_still_shows_the_agent() {
        let layout = ScreenLayout::new(20, 6, 9);
        assert_eq!((layout.main.width, layout.main.height), (20, 4));
        assert!(layout.tasks.is_empty());
    }

    #[test]
    fn a_usual_terminal_has_a_strip_and_a_wide_one_a_side_bar() {
        let usual = ScreenLayout::new(80, 24, 4);
        assert!(!usual.has_side_bar() && usual.tasks.height == 5 && usual.main.height == 14);
        let wide = ScreenLayout::new(200, 60, 4);
        assert!(wide.has_side_bar() && wide.main.width == 88 && wide.aside.width == 58);
        assert_eq!(wide.without_aside().main.width, 147);
    }
}
