//! Says to vt100 in its own words what it does not know: other character sets, tab stops, and half of the cursor's moves.
//!
//! vt100 has the cells and the cursor. What it has no state for is in [`Modes`]. A function that depends on the cursor is
//! written only after all output before it has been fed.

use std::{collections::BTreeSet, ops::RangeInclusive};

use unicode_width::UnicodeWidthChar;

use super::sequences::{Csi, Part};

/// Most output that is fed at once. One panic loses no more.
pub(super) const PIECE_BYTES: usize = 1024;

/// The characters from `_` to `~` in the set for line drawing.
#[rustfmt::skip]
const LINE_DRAWING: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
    '⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

/// The state of a terminal that vt100 does not have.
#[derive(Default)]
pub(super) struct Modes {
    charsets: Charsets,
    /// The set of the next character alone.
    single_shift: Option<usize>,
    inserts: bool,
    /// Whether a line feed is a line end.
    ends_lines: bool,
    /// Whether text stays in its row, whose last character it replaces.
    keeps_row: bool,
    tabs: TabStops,
    /// Regions of the normal and of the alternate screen.
    regions: [Region; 2],
    /// Character sets and origin mode that were saved with the cursor of the normal and of the alternate screen.
    saved: [(Charsets, bool); 2],
    /// The latest character, if nothing but text came after it.
    repeatable: Option<char>,
    /// The columns right of the cursor, at least; 0 if it may be behind its row, waiting to wrap.
    free: u16,
    /// Whether a blank may be seen: text may be underlined, inverse or on a background.
    paints: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Charsets {
    /// The sets G0 to G3: whether each draws lines.
    draw_lines: [bool; 4],
    /// The set in use.
    shifted: usize,
}

/// The rows that scroll, if not all of them do.
#[derive(Debug, Clone, Copy, Default)]
struct Region {
    margins: Option<(u16, u16)>,
    /// Whether rows are counted from the upper margin.
    is_origin: bool,
}

/// Tab stops are at every eighth column, unless they were cleared, and with these exceptions.
#[derive(Default)]
struct TabStops {
    are_cleared: bool,
    exceptions: BTreeSet<u16>,
}

impl TabStops {
    fn is_at(&self, col: u16) -> bool {
        (!self.are_cleared && col.is_multiple_of(8)) != self.exceptions.contains(&col)
    }

    fn set(&mut self, col: u16, is_stop: bool) {
        if self.is_at(col) != is_stop && !self.exceptions.remove(&col) {
            self.exceptions.insert(col);
        }
    }

    fn are_usual(&self) -> bool {
        !self.are_cleared && self.exceptions.is_empty()
    }
}

impl Modes {
    fn text_is_plain(&self) -> bool {
        let Charsets { draw_lines, shifted } = self.charsets;
        !(draw_lines[shifted] || self.single_shift.is_some() || self.inserts || self.keeps_row)
    }

    fn shown(&mut self, character: char) -> char {
        if character < ' ' {
            return character;
        }
        let set = self.single_shift.take().unwrap_or(self.charsets.shifted);
        let line = u32::from(character).checked_sub(u32::from('_'));
        let line = line
            .filter(|_| self.charsets.draw_lines[set])
            .and_then(|index| LINE_DRAWING.get(index as usize));
        line.copied().unwrap_or(character)
    }

    /// Forgets the margins, which end with a change of size.
    pub(super) fn forget_margins(&mut self) {
        self.free = 0;
        for region in &mut self.regions {
            region.margins = None;
        }
    }
}

/// A vt100, which may be made anew at any time.
pub(super) trait Terminal {
    fn feed(&mut self, output: &[u8]);
    fn vt(&self) -> &vt100::Screen;
    /// Whether it was made anew since this was asked last.
    fn is_new(&mut self) -> bool;
}

pub(super) struct Translator<'a, T: Terminal> {
    modes: &'a mut Modes,
    pub(super) terminal: &'a mut T,
    rows: u16,
    cols: u16,
    /// Output that the terminal is fed next.
    translated: Vec<u8>,
}

impl<'a, T: Terminal> Translator<'a, T> {
    pub(super) fn new(modes: &'a mut Modes, terminal: &'a mut T) -> Self {
        let (rows, cols) = terminal.vt().size();
        let mut translator = Self {
            modes,
            terminal,
            rows: rows.get(),
            cols: cols.get(),
            translated: Vec::with_capacity(PIECE_BYTES),
        };
        translator.place();
        translator
    }

    pub(super) fn translate(&mut self, part: Part<'_>) {
        let latest = self.modes.repeatable.take();
        match part {
            // A line end may show a row that has to be painted.
            Part::Text(text) if self.modes.paints => {
                for line in text.split_inclusive(|byte| *byte == b'\n') {
                    let unfinished = line.strip_suffix(b"\r\n");
                    self.text(unfinished.unwrap_or(line));
                    if unfinished.is_some() {
                        self.control(b'\r');
                        self.control(b'\n');
                    }
                }
            }
            Part::Text(text) => self.text(text),
            Part::Control(byte) => self.control(byte),
            Part::Sequence(sequence) => match Csi::read(&sequence) {
                Some(csi) => self.csi(&csi, &sequence, latest),
                None => self.escape(&sequence),
            },
            Part::String(bytes) => self.push(bytes),
        }
    }

    /// Feeds what was translated so far.
    pub(super) fn flush(&mut self) {
        if !self.translated.is_empty() {
            self.terminal.feed(&self.translated);
            self.translated.clear();
            self.place();
        }
    }

    /// Gives its margins to a terminal that was made anew.
    fn place(&mut self) {
        if !self.terminal.is_new() {
            return;
        }
        let shown = self.shown_screen();
        self.modes.regions[1 - shown] = Region::default();
        let Region { margins, is_origin } = self.modes.regions[shown];
        let (top, bottom) = margins.unwrap_or((0, self.rows - 1));
        let origin = if is_origin { 'h' } else { 'l' };
        let (row, col) = self.terminal.vt().cursor_position();
        let placed = format!("\x1b[{};{}r\x1b[?6{origin}{}", top + 1, bottom + 1, moved(row, col));
        self.terminal.feed(placed.as_bytes());
    }

    fn push(&mut self, output: impl AsRef<[u8]>) {
        let output = output.as_ref();
        if self.translated.len() + output.len() > PIECE_BYTES {
            self.flush();
        }
        self.translated.extend_from_slice(output);
    }

    /// The row and the column of the cursor; the column behind the last one if it waits to wrap.
    fn cursor(&mut self) -> (u16, u16) {
        self.flush();
        self.terminal.vt().cursor_position()
    }

    fn waits(&mut self) -> bool {
        if self.modes.free == 0 {
            self.modes.free = self.cols.saturating_sub(self.cursor().1);
        }
        self.modes.free == 0
    }

    /// Ends the wait of a cursor: most functions take place in the last column.
    fn settle(&mut self) {
        if self.waits() {
            self.push(format!("\x1b[{}G", self.cols));
            self.modes.free = 1;
        }
    }

    fn text(&mut self, text: &[u8]) {
        let last = text.iter().rposition(|byte| !(0x80..0xc0).contains(byte)).unwrap_or(0);
        let last = text[last..]
            .utf8_chunks()
            .next()
            .and_then(|chunk| chunk.valid().chars().next());
        self.modes.repeatable = last.filter(|character| *character >= ' ');
        if self.modes.text_is_plain() {
            self.push(text);
        } else {
            for chunk in text.utf8_chunks() {
                chunk.valid().chars().for_each(|character| self.character(character));
                self.push(chunk.invalid());
            }
        }
        let row = match text.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => {
                self.modes.free = self.cols;
                &text[end + 1..]
            }
            None => text,
        };
        // No character has more columns than bytes.
        self.modes.free = self
            .modes
            .free
            .saturating_sub(u16::try_from(row.len()).unwrap_or(u16::MAX));
    }

    fn character(&mut self, character: char) {
        let character = self.modes.shown(character);
        let width = u16::try_from(character.width().unwrap_or(0)).unwrap_or(0);
        if width > 0 && (self.modes.inserts || self.modes.keeps_row) {
            let free = self.cols.saturating_sub(self.cursor().1);
            if free < width {
                match self.modes.keeps_row {
                    true => self.push(format!("\x1b[{}G", self.cols - width + 1)),
                    false => self.push("\r\n"),
                }
            }
            if self.modes.inserts {
                self.push(format!("\x1b[{width}@"));
            }
        }
        self.push(character.encode_utf8(&mut [0; 4]));
    }

    fn control(&mut self, byte: u8) {
        self.modes.repeatable = None;
        match byte {
            0x08 => self.settle(),
            b'\t' if self.waits() => return,
            b'\t' if self.modes.tabs.are_usual() => self.modes.free = 1,
            b'\t' => return self.tab(1),
            b'\n' | 0x0b | 0x0c => {
                if self.modes.ends_lines {
                    self.push("\r");
                }
                return self.line_feed();
            }
            b'\r' => self.modes.free = self.cols,
            0x0e => self.modes.charsets.shifted = 1,
            0x0f => self.modes.charsets.shifted = 0,
            _ => {}
        }
        self.push([byte]);
    }

    fn line_feed(&mut self) {
        self.settle();
        if self.modes.paints {
            let (row, (_, bottom)) = (self.cursor().0, self.margins());
            self.push("\n");
            if row == bottom {
                self.paint(bottom..=bottom);
            }
        } else {
            self.push("\n");
        }
    }

    /// Colours rows that scrolling has emptied: terminals give blanks the background of the text.
    fn paint(&mut self, rows: RangeInclusive<u16>) {
        if self.modes.paints {
            let (row, _) = self.cursor();
            for empty in rows {
                self.go_to_row(empty);
                self.erase(b"\x1b[2K");
            }
            self.go_to_row(row);
        }
    }

    /// Erases in the background of the text alone; vt100 would underline and invert blanks as well.
    fn erase(&mut self, sequence: &[u8]) {
        if !self.modes.paints {
            return self.push(sequence);
        }
        self.flush();
        let style = self.terminal.vt();
        let (underline, inverse) = (style.underline(), style.inverse());
        self.push("\x1b[24;27m");
        self.push(sequence);
        self.push(if underline { "\x1b[4m" } else { "" });
        self.push(if inverse { "\x1b[7m" } else { "" });
    }

    fn style(&mut self, csi: &Csi<'_>, sequence: &[u8]) {
        let mut is_known = !csi.text.contains(&b':');
        self.modes.paints &= !matches!(csi.text, b"" | b"0");
        for parameter in csi.parameters() {
            is_known &= !matches!(parameter, 21 | 58);
            self.modes.paints |= matches!(parameter, 4 | 7 | 21 | 40..=48 | 100..=107);
        }
        match is_known {
            true => self.push(sequence),
            false => self.push(known_style(&String::from_utf8_lossy(csi.text))),
        }
    }

    fn escape(&mut self, sequence: &[u8]) {
        match sequence[1..] {
            [b'7'] => self.save(),
            [b'8'] => self.restore(),
            [b'D'] => self.line_feed(),
            [b'E'] => {
                self.control(b'\r');
                self.line_feed();
            }
            [b'M'] => {
                self.settle();
                let row = self.cursor().0;
                let (top, _) = self.margins();
                if row == top {
                    self.push(sequence);
                    self.paint(top..=top);
                } else {
                    self.go_down(-1);
                }
            }
            [b'H'] => self.set_tab(true),
            [b'N'] => self.modes.single_shift = Some(2),
            [b'O'] => self.modes.single_shift = Some(3),
            [b'n'] => self.modes.charsets.shifted = 2,
            [b'o'] => self.modes.charsets.shifted = 3,
            [b'c'] => {
                *self.modes = Modes::default();
                self.push(sequence);
            }
            [b'#', b'8'] => self.fill(),
            [set @ b'('..=b'+', name] => self.modes.charsets.draw_lines[usize::from(set - b'(')] = name == b'0',
            // A control sequence with an error.
            [b'[', ..] => {}
            _ => self.push(sequence),
        }
    }

    fn csi(&mut self, csi: &Csi<'_>, sequence: &[u8], latest: Option<char>) {
        match (csi.marks, csi.last) {
            ((b"" | b"?", b""), b'h' | b'l') => return self.set_modes(csi),
            ((b"", b"!"), b'p') => return self.reset_softly(),
            ((b"", b""), b'm') => return self.style(csi, sequence),
            ((b"", b""), _) => {}
            _ => return self.push(sequence),
        }
        let count = csi.count(0);
        match csi.last {
            b'b' => return self.repeat(latest, count),
            b's' => return self.save(),
            b'u' => return self.restore(),
            b'H' | b'f' => self.modes.free = self.free_from(csi.count(1)),
            b'G' | b'`' => self.modes.free = self.free_from(count),
            b'C' => self.modes.free = 1,
            b'I' if self.waits() => return,
            b'@' | b'A' | b'B' | b'D'..=b'F' | b'I' | b'L' | b'M' | b'P' | b'X' | b'Z' | b'a' | b'd' | b'e' => {
                self.settle()
            }
            _ => {}
        }
        match csi.last {
            b'A' => self.go_down(-i32::from(count)),
            b'B' => self.go_down(count.into()),
            b'E' | b'F' => {
                self.push("\r");
                let rows = i32::from(count);
                self.go_down(if csi.last == b'E' { rows } else { -rows });
            }
            b'I' => self.tab(count),
            b'L' | b'M' | b'S' | b'T' => {
                let row = self.cursor().0;
                self.push(sequence);
                let (top, bottom) = self.margins();
                let first = if matches!(csi.last, b'L' | b'M') { row } else { top };
                if (top..=bottom).contains(&first) {
                    let more = (count - 1).min(bottom - first);
                    self.paint(match csi.last {
                        b'L' | b'T' => first..=first + more,
                        _ => bottom - more..=bottom,
                    });
                    if matches!(csi.last, b'L' | b'M') {
                        self.push("\r");
                    }
                }
            }
            b'J' | b'K' | b'X' => self.erase(sequence),
            b'@' => {
                self.push(sequence);
                if self.modes.paints {
                    self.erase(format!("\x1b[{count}X").as_bytes());
                }
            }
            b'P' => {
                self.push(sequence);
                if self.modes.paints {
                    let col = self.cursor().1;
                    self.go_to_col(self.cols - count.min(self.cols.saturating_sub(col)));
                    self.erase(b"\x1b[K");
                    self.go_to_col(col);
                }
            }
            b'Z' => self.tab_back(count),
            b'a' => {
                self.push(format!("\x1b[{count}C"));
                self.modes.free = 1;
            }
            b'd' if self.region().is_origin => {
                let col = self.cursor().1;
                self.push(format!("\x1b[{count};{}H", col + 1));
            }
            b'e' => {
                let row = self.cursor().0.saturating_add(count);
                let (_, bottom) = self.margins();
                let last = if self.region().is_origin { bottom } else { self.rows - 1 };
                self.go_to_row(row.min(last));
            }
            b'g' if csi.parameters().next() == Some(0) => self.set_tab(false),
            b'g' if count == 3 => {
                self.modes.tabs = TabStops {
                    are_cleared: true,
                    exceptions: BTreeSet::new(),
                };
            }
            b'r' => self.set_margins(csi),
            _ => self.push(sequence),
        }
    }

    fn set_modes(&mut self, csi: &Csi<'_>) {
        let is_set = csi.last == b'h';
        let last = char::from(csi.last);
        for mode in csi.parameters() {
            match (csi.marks.0, mode) {
                (b"", 4) => self.modes.inserts = is_set,
                (b"", 20) => self.modes.ends_lines = is_set,
                (b"", _) => {}
                (_, 3) if is_set => {
                    self.region().margins = None;
                    self.push("\x1b[r\x1b[H");
                    self.erase(b"\x1b[2J");
                }
                (_, 6) => {
                    self.region().is_origin = is_set;
                    self.push(format!("\x1b[?6{last}"));
                }
                (_, 7) => self.modes.keeps_row = !is_set,
                (_, 1048) if is_set => self.save(),
                (_, 1048) => self.restore(),
                (_, 47 | 1047 | 1049) => self.switch(mode, is_set),
                (_, mode) => self.push(format!("\x1b[?{mode}{last}")),
            }
        }
    }

    /// Shows the other screen. vt100 has a cursor for each; terminals have one, which 1049 saves and restores.
    fn switch(&mut self, mode: u16, is_alternate: bool) {
        if mode == 1049 && is_alternate {
            self.save();
        }
        let (row, col) = self.cursor();
        if mode == 1047 && !is_alternate && self.terminal.vt().alternate_screen() {
            self.erase(b"\x1b[2J");
        }
        self.push(if is_alternate { "\x1b[?47h" } else { "\x1b[?47l" });
        self.flush();
        match (mode, is_alternate) {
            (1049, false) => return self.restore(),
            (1049, true) => self.erase(b"\x1b[2J"),
            _ => {}
        }
        self.push(moved(row, col));
        if col == self.cols {
            // Only what is written in the last column makes a cursor wait.
            self.flush();
            let cell = self.terminal.vt().cell(row, col - 1).map(vt100::Cell::contents);
            let again = cell.filter(|contents| !contents.is_empty()).unwrap_or(" ").to_owned();
            self.push(again);
        }
    }

    /// The index of the shown screen's saved state.
    fn shown_screen(&self) -> usize {
        usize::from(self.terminal.vt().alternate_screen())
    }

    fn save(&mut self) {
        let screen = self.shown_screen();
        self.modes.saved[screen] = (self.modes.charsets, self.modes.regions[screen].is_origin);
        self.push("\x1b7");
    }

    fn restore(&mut self) {
        let screen = self.shown_screen();
        (self.modes.charsets, self.modes.regions[screen].is_origin) = self.modes.saved[screen];
        self.push("\x1b8");
        (self.modes.free, self.modes.paints) = (0, true);
    }

    fn reset_softly(&mut self) {
        let (row, col) = self.cursor();
        let screen = self.shown_screen();
        let modes = &mut *self.modes;
        (modes.charsets, modes.single_shift, modes.inserts, modes.keeps_row) = Default::default();
        (modes.saved[screen], modes.regions[screen]) = Default::default();
        (modes.free, modes.paints) = (0, false);
        self.push("\x1b[?25h\x1b[?1l\x1b>\x1b[m\x1b[?6l\x1b[r\x1b7");
        self.push(moved(row, col));
    }

    /// Fills the screen with `E`, in the usual colours.
    fn fill(&mut self) {
        self.flush();
        let colours = self.terminal.vt().attributes_formatted();
        *self.region() = Region::default();
        self.push("\x1b[r\x1b[?6l\x1b[m");
        let row = "E".repeat(usize::from(self.cols));
        for at in 1..=self.rows {
            self.push(format!("\x1b[{at}H{row}"));
        }
        self.push(format!("\x1b[m{colours}\x1b[H"));
        self.modes.free = self.cols;
    }

    fn set_margins(&mut self, csi: &Csi<'_>) {
        let rows = self.rows;
        let top = csi.count(0);
        let bottom = csi
            .parameters()
            .nth(1)
            .filter(|bottom| *bottom > 0)
            .unwrap_or(rows)
            .min(rows);
        if top < bottom {
            self.region().margins = ((top, bottom) != (1, rows)).then_some((top - 1, bottom - 1));
            self.push(format!("\x1b[{top};{bottom}r\x1b[H"));
            self.modes.free = self.cols;
        }
    }

    fn region(&mut self) -> &mut Region {
        let screen = self.shown_screen();
        &mut self.modes.regions[screen]
    }

    fn margins(&mut self) -> (u16, u16) {
        let last = self.rows - 1;
        self.region().margins.unwrap_or((0, last))
    }

    /// Moves the cursor down, or up. It does not pass a margin.
    fn go_down(&mut self, rows: i32) {
        let row = i32::from(self.cursor().0);
        let (top, bottom) = self.margins();
        let first = if row >= top.into() { top } else { 0 };
        let last = if row <= bottom.into() { bottom } else { self.rows - 1 };
        let row = (row + rows).clamp(first.into(), last.into());
        self.go_to_row(u16::try_from(row).unwrap_or_default());
    }

    /// The row is counted from the top of the screen by vt100, whatever the margins are.
    fn go_to_row(&mut self, row: u16) {
        self.push(format!("\x1b[{}d", row + 1));
    }

    fn go_to_col(&mut self, col: u16) {
        self.push(format!("\x1b[{}G", col + 1));
        self.modes.free = self.cols - col;
    }

    /// The columns from `col` on, which vt100 moves into the row.
    fn free_from(&self, col: u16) -> u16 {
        (self.cols + 1).saturating_sub(col).max(1)
    }

    fn col(&mut self) -> u16 {
        self.cursor().1.min(self.cols - 1)
    }

    fn set_tab(&mut self, is_stop: bool) {
        let col = self.col();
        self.modes.tabs.set(col, is_stop);
    }

    fn tab(&mut self, count: u16) {
        let col = self.col();
        let last = self.cols - 1;
        let mut stops = (col..last).skip(1).filter(|col| self.modes.tabs.is_at(*col));
        let to = stops.nth(usize::from(count) - 1).unwrap_or(last);
        self.go_to_col(to);
    }

    fn tab_back(&mut self, count: u16) {
        let col = self.col();
        let mut stops = (0..col).rev().filter(|col| self.modes.tabs.is_at(*col));
        let to = stops.nth(usize::from(count) - 1).unwrap_or(0);
        self.go_to_col(to);
    }

    /// Writes a character again, at most a screenful of them.
    fn repeat(&mut self, character: Option<char>, count: u16) {
        let cells = usize::from(self.rows) * usize::from(self.cols);
        if let Some(character) = character {
            let again = character.to_string().repeat(usize::from(count).min(cells));
            self.text(again.as_bytes());
        }
    }
}

/// Writes an SGR sequence for vt100, which knows one underline, without a colour of its own, and colours without a space.
fn known_style(parameters: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut rest = parameters.split(';');
    while let Some(parameter) = rest.next() {
        match parameter.split(':').collect::<Vec<_>>()[..] {
            [colour @ ("38" | "48" | "58")] => {
                let mode = rest.next().unwrap_or_default();
                let values: Vec<&str> = rest.by_ref().take(if mode == "2" { 3 } else { 1 }).collect();
                if colour != "58" {
                    known.push(format!("{colour};{mode};{}", values.join(";")));
                }
            }
            [colour @ ("38" | "48"), "2", .., red, green, blue] => {
                known.push(format!("{colour}:2:{red}:{green}:{blue}"))
            }
            ["58", ..] => {}
            ["4", "0"] => known.push("24".to_owned()),
            ["4" | "21", ..] => known.push("4".to_owned()),
            _ => known.push(parameter.to_owned()),
        }
    }
    match known.is_empty() {
        true => String::new(),
        false => format!("\x1b[{}m", known.join(";")),
    }
}

fn moved(row: u16, col: u16) -> String {
    format!("\x1b[{}d\x1b[{}G", row + 1, col + 1)
}

#[cfg(test)]
mod tests;
