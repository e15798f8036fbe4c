//! Draws a terminal's cells in a pane.

use std::cell::RefCell;

use ralph_system::proc::screen::Screen;
use ratatui::{
    buffer::{Buffer, Cell},
    layout::{Position, Rect},
    style::{Color, Modifier, Style},
};
use unicode_width::UnicodeWidthStr;

use crate::tui::{
    model::{InputMode, Model},
    pen::Pen,
};

/// The available terminals.
pub(crate) struct ShownTerminals<'a> {
    /// The terminal of the running or latest agent.
    pub live: &'a Screen,
    /// The last rows of the agent before that one.
    pub before: &'a [String],
    /// The terminal of a past iteration, or of an overlay.
    pub played: Option<&'a Screen>,
    /// The cells of the shown terminal, in a frame in which only time has passed since the last one.
    pub kept: Option<&'a RefCell<Option<KeptCells>>>,
}

/// Drawn cells, which cost a tenth of drawing them.
pub(crate) struct KeptCells {
    area: Rect,
    cells: Vec<Cell>,
}

impl KeptCells {
    fn of(area: Rect, buffer: &Buffer) -> Self {
        let cells = area.positions().map(|position| buffer[position].clone());
        Self {
            area,
            cells: cells.collect(),
        }
    }

    fn draw(&self, buffer: &mut Buffer) {
        for (position, cell) in self.area.positions().zip(&self.cells) {
            buffer[position].clone_from(cell);
        }
    }
}

impl ShownTerminals<'_> {
    /// The terminal that the main area shows, if any.
    pub(super) fn shown(&self, model: &Model) -> Option<&Screen> {
        match model.ui.shows_agent() {
            true => Some(self.live),
            false => self.played.filter(|_| model.ui.shows_cells()),
        }
    }
}

/// Draws a terminal. Returns the position of the agent's cursor, if visible.
pub(super) fn draw(
    screen: &Screen,
    kept: Option<&RefCell<Option<KeptCells>>>,
    model: &Model,
    area: Rect,
    pen: &mut Pen<'_>,
) -> Option<Position> {
    let mut kept = kept.map(RefCell::borrow_mut);
    match kept.as_deref_mut() {
        Some(Some(kept)) if kept.area == area => kept.draw(pen.buffer),
        Some(kept) => {
            copy(screen, area, pen);
            *kept = Some(KeptCells::of(area, pen.buffer));
        }
        None => copy(screen, area, pen),
    }
    let vt = screen.vt();
    let is_hidden = vt.hide_cursor() || screen.scrollback() > 0 || !model.run.is_busy();
    if is_hidden || !model.ui.shows_agent() {
        return None;
    }
    let (row, column) = vt.cursor_position();
    let at = Position::new(
        area.x.saturating_add(column.min(area.width.saturating_sub(1))),
        area.y.saturating_add(row),
    );
    if !area.contains(at) {
        return None;
    }
    // While keys do not go to the agent, the real cursor is elsewhere, so the agent's is drawn reversed.
    if model.ui.mode != InputMode::Typing && !model.ui.transcript {
        let cell = &mut pen.buffer[at];
        cell.modifier.toggle(Modifier::REVERSED);
    }
    Some(at)
}

/// Whether nothing is shown.
pub(super) fn is_blank(screen: &Screen) -> bool {
    let (vt, size) = (screen.shown(), screen.size());
    let mut cells = (0..size.rows).flat_map(|row| (0..size.cols).filter_map(move |column| vt.cell(row, column)));
    cells.all(|cell| cell.contents().trim().is_empty())
}

fn copy(screen: &Screen, area: Rect, pen: &mut Pen<'_>) {
    let vt = screen.shown();
    let size = screen.size();
    for row in 0..area.height.min(size.rows) {
        let mut column = 0;
        while column < area.width.min(size.cols) {
            let Some(cell) = vt.cell(row, column) else { break };
            let target = &mut pen.buffer[(area.x + column, area.y + row)];
            let wide = cell.is_wide();
            let fits = !wide || column + 1 < area.width;
            let style = style(cell, pen.theme);
            target
                .set_symbol(&pen.theme.spelled(if fits { symbol(cell) } else { " " }))
                .set_style(style);
            if wide && fits {
                let hidden = &mut pen.buffer[(area.x + column + 1, area.y + row)];
                hidden.reset();
                hidden.set_style(style);
            }
            column += if wide { 2 } else { 1 };
        }
    }
}

/// The symbol to draw for a cell. If vt100 and ratatui disagree on its width, the layout matters more than the
/// character.
fn symbol(cell: &vt100::Cell) -> &str {
    let contents = cell.contents();
    if contents.is_empty() || cell.is_wide_continuation() {
        return " ";
    }
    if let [byte] = contents.as_bytes() {
        return if byte.is_ascii_control() { " " } else { contents };
    }
    let columns = if cell.is_wide() { 2 } else { 1 };
    let joined = contents.contains('\u{200d}');
    if contents.width() == columns && !joined && !contents.contains(char::is_control) {
        return contents;
    }
    let first = contents.chars().next().map_or(0, char::len_utf8);
    let first = &contents[..first];
    if first.width() == columns && !first.contains(char::is_control) {
        first
    } else if columns == 2 {
        "  "
    } else {
        "·"
    }
}

fn style(cell: &vt100::Cell, theme: &crate::tui::theme::Theme) -> Style {
    let colour = |colour: vt100::Color| match colour {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(index) => theme.nearest(Color::Indexed(index)),
        vt100::Color::Rgb(red, green, blue) => theme.nearest(Color::Rgb(red, green, blue)),
    };
    let mut modifier = Modifier::empty();
    modifier.set(Modifier::BOLD, cell.bold());
    modifier.set(Modifier::DIM, cell.dim());
    modifier.set(Modifier::ITALIC, cell.italic());
    modifier.set(Modifier::UNDERLINED, cell.underline());
    modifier.set(Modifier::REVERSED, cell.inverse());
    Style::new()
        .fg(colour(cell.fgcolor()))
        .bg(colour(cell.bgcolor()))
        .add_modifier(modifier)
}
