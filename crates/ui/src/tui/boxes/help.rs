//! The help: the currently useful keys, in groups.

use ratatui::layout::Rect;

use crate::tui::{
    keys::{Binding, BindingGroup, Chord, KeyAction},
    order::Scroll,
    pen::{Pen, columns, wrapped},
    theme::TextRole,
};

/// Minimum width for two columns.
const TWO_COLUMNS: u16 = 96;
const GAP: u16 = 3;

/// A key with its description, or the heading of a group.
enum HelpLine {
    Blank,
    Head(&'static str),
    Key(String, String),
}

/// The lines of the help, in two columns if there is room.
struct HelpPage {
    /// One or two columns.
    columns: Vec<Vec<HelpLine>>,
    keys_width: u16,
    /// Width of a column.
    width: u16,
}

/// Draws the help for the given bindings.
pub(in crate::tui) fn draw(bindings: &[&'static Binding], mouse: bool, top: usize, whole: Rect, pen: &mut Pen<'_>) {
    let page = page(&sections(bindings, mouse), whole);
    let count = page.rows();
    let width = page.width * page.columns() + GAP * (page.columns() - 1) + 4;
    let height = whole.height.min(u16::try_from(count + 2).unwrap_or(u16::MAX));
    let has_palette = bindings.iter().any(|binding| binding.action == KeyAction::Palette);
    let title = if has_palette { "keys: / finds one" } else { "keys" };
    let Some(inner) = pen.centred(whole, width.min(whole.width), height, title) else {
        return;
    };
    let visible = usize::from(inner.height);
    let top = top.min(count.saturating_sub(visible));
    let mut x = inner.x + 1;
    for column in &page.columns {
        let end = (x + page.width).min(inner.right());
        for (y, line) in (inner.top()..inner.bottom()).zip(column.iter().skip(top)) {
            match line {
                HelpLine::Blank => {}
                HelpLine::Head(name) => _ = pen.role(x, y, end, name, TextRole::Accent),
                HelpLine::Key(keys, about) => {
                    pen.role(x, y, end, keys, TextRole::Key);
                    pen.role(x + page.keys_width + 2, y, end, about, TextRole::Plain);
                }
            }
        }
        x = end + GAP;
    }
    let below = count.saturating_sub(top + visible);
    if below > 0 {
        let text = format!(" {below} more {} ", pen.theme.glyphs.down);
        let style = pen.theme.style(TextRole::Dim);
        pen.right(inner.x, inner.bottom(), inner.right(), &text, style);
    }
}

/// Scrolls the help. Returns its top line.
pub(in crate::tui) fn scrolled(
    bindings: &[&'static Binding],
    mouse: bool,
    top: usize,
    whole: Rect,
    by: Scroll,
) -> usize {
    let visible = usize::from(whole.height.saturating_sub(2));
    by.downwards(
        top,
        page(&sections(bindings, mouse), whole).rows().saturating_sub(visible),
    )
}

impl HelpPage {
    fn columns(&self) -> u16 {
        u16::try_from(self.columns.len()).unwrap_or(1)
    }

    fn rows(&self) -> usize {
        self.columns.iter().map(Vec::len).max().unwrap_or(0)
    }
}

fn page(sections: &[HelpSection], whole: Rect) -> HelpPage {
    let all = || sections.iter().flat_map(|(_, keys)| keys);
    let keys_width = all().map(|(keys, _)| columns(keys)).max().unwrap_or(0);
    let about_width = all().map(|(_, about)| columns(about)).max().unwrap_or(0);
    let room = whole.width.saturating_sub(4);
    let is_wide = room >= TWO_COLUMNS;
    let room = if is_wide { (room - GAP) / 2 } else { room };
    let width = room.min(keys_width + 2 + about_width);
    let about_width = usize::from(width.saturating_sub(keys_width + 2)).max(8);
    let blocks: Vec<Vec<HelpLine>> = sections
        .iter()
        .map(|(name, keys)| block(name, keys, about_width))
        .collect();
    let half = blocks.iter().map(Vec::len).sum::<usize>().div_ceil(2);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for block in blocks {
        // Balances the heights of the columns.
        let to_left = !is_wide || right.is_empty() && left.len() + block.len() / 2 <= half;
        let column = if to_left { &mut left } else { &mut right };
        if !column.is_empty() {
            column.push(HelpLine::Blank);
        }
        column.extend(block);
    }
    let columns = if right.is_empty() {
        vec![left]
    } else {
        vec![left, right]
    };
    HelpPage {
        columns,
        keys_width,
        width,
    }
}

fn block(name: &'static str, keys: &[(String, String)], about_width: usize) -> Vec<HelpLine> {
    let mut lines = vec![HelpLine::Head(name)];
    for (keys, about) in keys {
        let mut keys = keys.clone();
        for about in wrapped(about, about_width) {
            lines.push(HelpLine::Key(std::mem::take(&mut keys), about));
        }
    }
    lines
}

type HelpSection = (&'static str, Vec<(String, String)>);

fn sections(bindings: &[&'static Binding], mouse: bool) -> Vec<HelpSection> {
    let of_group = |group: BindingGroup| {
        let bindings = bindings.iter().filter(move |binding| binding.group == group);
        let rows = bindings.map(|binding| {
            let names: Vec<String> = binding.keys.iter().map(|key| Chord::name(*key)).collect();
            (names.join(" "), binding.described())
        });
        (group.name(), rows.collect::<Vec<_>>())
    };
    let mut sections: Vec<HelpSection> = BindingGroup::ALL.map(of_group).into();
    let mouse: &[(&str, &'static str)] = match mouse {
        true => &[
            (
                "click",
                "choose a row, a tab, a pane or a key of the bottom row; open an iteration",
            ),
            ("wheel", "scroll the pane under it"),
            ("Shift-drag", "select text as usual"),
        ],
        false => &[("drag", "select text; the mouse is left to the terminal")],
    };
    let mouse = mouse
        .iter()
        .map(|(key, about)| ((*key).to_owned(), (*about).to_owned()));
    sections.push(("mouse", mouse.collect()));
    sections.retain(|(_, keys)| !keys.is_empty());
    sections
}
