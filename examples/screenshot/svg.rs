//! Draws terminal screens as SVG: a still or an animated picture.
//!
//! A browser lays out text with its own fonts and may collapse blanks. So every run of text states its column and
//! width, and keeps its blanks. Each content of a part of a row is drawn once, however often and wherever it is shown:
//! lines of a terminal mostly stay or move.

use std::{collections::HashMap, fmt::Write as _, ops::Range, time::Duration};

use unicode_width::UnicodeWidthChar;

/// The size of a cell, and the margin around the terminal.
const CELL: (u16, u16) = (8, 17);
const MARGIN: u16 = 12;
const BASELINE: u16 = 13;
/// Duration of the last frame before the animation repeats.
const LAST: Duration = Duration::from_secs(5);

/// A screen, and the time from which it is shown.
pub struct Frame {
    pub at: Duration,
    pub screen: vt100::Screen,
}

/// The palette of a terminal.
pub struct Colours {
    foreground: &'static str,
    background: &'static str,
    sixteen: [&'static str; 16],
}

pub const DARK: Colours = Colours {
    foreground: "#c9d1d9",
    background: "#0d1117",
    sixteen: [
        "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4", "#6e7681", "#ffa198",
        "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc",
    ],
};

pub const LIGHT: Colours = Colours {
    foreground: "#24292f",
    background: "#ffffff",
    sixteen: [
        "#24292f", "#cf222e", "#116329", "#4d2d00", "#0969da", "#8250df", "#1b7c83", "#6e7781", "#57606a", "#a40e26",
        "#1a7f37", "#633c01", "#218bff", "#a475f9", "#3192aa", "#8c959f",
    ],
};

/// Draws the frames one after the other, in a loop. Viewers without animation see the last frame.
pub fn draw(frames: &[Frame], colours: &Colours) -> String {
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
        return String::new();
    };
    let (rows, cols) = last.screen.size();
    let (rows, cols) = (rows.get(), cols.get());
    let mut sheet = Sheet::new(colours);
    let times: Vec<Duration> = frames.iter().map(|frame| frame.at - first.at).collect();
    let end = last.at - first.at + LAST;
    let mut shown = String::new();
    for part in parts(frames, rows, cols) {
        for row in 0..rows {
            let drawn: Vec<String> = frames
                .iter()
                .map(|frame| sheet.id_of(&cells(&frame.screen, row, &part)))
                .collect();
            place(&drawn, &times, end, (part.start * CELL.0, row * CELL.1), &mut shown);
        }
    }
    let [width, height] = size(cols, rows);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-size=\"13.3\" font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\">\n\
         <title>ralph</title>\n\
         <style>text{{white-space:pre}}text,tspan{{fill:currentColor}}path{{stroke:currentColor;fill:none}}{}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n<defs>\n{}</defs>\n\
         <g color=\"{}\" transform=\"translate({MARGIN} {MARGIN})\">\n{shown}</g>\n</svg>\n",
        sheet.styles, colours.background, sheet.drawings, colours.foreground
    )
}

/// The size of a picture, in pixels.
pub fn size(cols: u16, rows: u16) -> [u16; 2] {
    [cols * CELL.0 + 2 * MARGIN, rows * CELL.1 + 2 * MARGIN]
}

/// The parts into which rows are cut, at columns where most rows have a bar: the text on each side changes
/// independently.
fn parts(frames: &[Frame], rows: u16, cols: u16) -> Vec<Range<u16>> {
    let is_bar = |frame: &Frame, column| {
        (0..rows)
            .filter(|row| {
                frame
                    .screen
                    .cell(*row, column)
                    .is_some_and(|cell| cell.contents() == "│")
            })
            .count()
            * 2
            > usize::from(rows)
    };
    let cuts =
        (1..cols).filter(|column| frames.iter().filter(|frame| is_bar(frame, *column)).count() * 2 > frames.len());
    let mut parts = Vec::new();
    let mut start = 0;
    for cut in cuts.chain([cols]) {
        parts.push(start..cut);
        start = cut;
    }
    parts
}

/// Shows drawings in one place, each from its time on.
fn place(drawn: &[String], times: &[Duration], end: Duration, (x, y): (u16, u16), out: &mut String) {
    let mut changes: Vec<(&str, Duration)> = Vec::new();
    for (id, at) in drawn.iter().zip(times) {
        if changes.last().is_none_or(|(last, _)| last != id) {
            changes.push((id, *at));
        }
    }
    let Some((last, _)) = changes.last() else { return };
    let at = |name: &str, value: u16| match value {
        0 => String::new(),
        value => format!(" {name}=\"{value}\""),
    };
    let at = at("x", x) + &at("y", y);
    if changes.len() == 1 {
        if *last != EMPTY {
            _ = writeln!(out, "<use href=\"#{last}\"{at}/>");
        }
        return;
    }
    let values: Vec<String> = changes.iter().map(|(id, _)| format!("#{id}")).collect();
    let share = |at: Duration| format!("{:.4}", at.as_secs_f64() / end.as_secs_f64());
    let key_times: Vec<String> = changes
        .iter()
        .map(|(_, at)| share(*at).trim_start_matches('0').trim_end_matches(['0']).to_owned())
        .map(|share| if share.len() <= 1 { "0".to_owned() } else { share })
        .collect();
    _ = writeln!(
        out,
        "<use href=\"#{last}\"{at}><animate attributeName=\"href\" values=\"{}\" keyTimes=\"{}\" dur=\"{:.1}s\" \
         calcMode=\"discrete\" repeatCount=\"indefinite\"/></use>",
        values.join(";"),
        key_times.join(";"),
        end.as_secs_f64(),
    );
}

/// Adjacent cells that are drawn together.
struct Run {
    /// Offset in columns from the beginning of its part.
    column: u16,
    columns: u16,
    text: String,
    look: Look,
}

#[derive(Clone, PartialEq, Eq, Default)]
struct Look {
    foreground: Option<vt100::Color>,
    background: Option<vt100::Color>,
    inverse: bool,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

/// The runs of cells in a part of a row.
fn cells(screen: &vt100::Screen, row: u16, part: &Range<u16>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in part.clone() {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
            continue;
        };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let columns = if cell.is_wide() { 2 } else { 1 };
        let look = look(cell);
        match runs.last_mut() {
            Some(run) if run.look == look && goes_on(&run.text, text) => {
                run.text.push_str(text);
                run.columns += columns;
            }
            Some(_) | None => runs.push(Run {
                column: column - part.start,
                columns,
                text: text.to_owned(),
                look,
            }),
        }
    }
    runs
}

/// Whether a cell is drawn together with those before it: text with text, and a line with the same line.
fn goes_on(before: &str, next: &str) -> bool {
    match (line(before), line(next)) {
        (None, None) => !stands_alone(before) && !stands_alone(next),
        (Some(_), Some(_)) => before.starts_with(next),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Characters that monospaced fonts may lack. Their substitutes have another width, so they are drawn alone.
fn stands_alone(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    first.width() == Some(2) || (first >= '\u{2190}' && first != '−')
}

fn look(cell: &vt100::Cell) -> Look {
    let colour = |colour| (colour != vt100::Color::Default).then_some(colour);
    Look {
        foreground: colour(cell.fgcolor()),
        background: colour(cell.bgcolor()),
        inverse: cell.inverse(),
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underline: cell.underline(),
    }
}

/// The id of an empty drawing.
const EMPTY: &str = "_";

/// All drawings and styles, each stored once.
struct Sheet<'a> {
    colours: &'a Colours,
    drawings: String,
    ids: HashMap<String, String>,
    styles: String,
    classes: HashMap<String, String>,
}

impl Sheet<'_> {
    fn new(colours: &Colours) -> Sheet<'_> {
        Sheet {
            colours,
            drawings: format!("<g id=\"{EMPTY}\"/>\n"),
            ids: HashMap::from([(String::new(), EMPTY.to_owned())]),
            styles: String::new(),
            classes: HashMap::new(),
        }
    }

    /// The id of the drawing of these cells.
    fn id_of(&mut self, runs: &[Run]) -> String {
        let drawn = self.drawn(runs);
        let next = name(self.ids.len());
        let id = self.ids.entry(drawn).or_insert_with_key(|drawn| {
            _ = writeln!(self.drawings, "<g id=\"{next}\">{drawn}</g>");
            next
        });
        id.clone()
    }

    fn drawn(&mut self, runs: &[Run]) -> String {
        let (mut below, mut text) = (String::new(), String::new());
        for run in runs {
            let (x, width) = (run.column * CELL.0, run.columns * CELL.0);
            let (foreground, background) = self.paints(&run.look);
            if let Some(background) = background {
                _ = write!(
                    below,
                    "<rect{} width=\"{width}\" height=\"{}\" fill=\"{background}\"/>",
                    from(x),
                    CELL.1
                );
            }
            let class = self.class(&run.look, foreground);
            if let Some(line) = line(&run.text) {
                below += &line.drawn(x, width, &class);
            } else {
                text += &written(run, x, &class);
            }
        }
        if !text.is_empty() {
            _ = write!(below, "<text y=\"{BASELINE}\">{text}</text>");
        }
        below
    }

    /// The foreground and the background of a look; `None` for the default.
    fn paints(&self, look: &Look) -> (Option<String>, Option<String>) {
        let paint = |colour: Option<vt100::Color>| colour.and_then(|colour| self.paint(colour));
        let (foreground, background) = (paint(look.foreground), paint(look.background));
        if !look.inverse {
            return (foreground, background);
        }
        (
            Some(background.unwrap_or_else(|| self.colours.background.to_owned())),
            Some(foreground.unwrap_or_else(|| self.colours.foreground.to_owned())),
        )
    }

    fn paint(&self, colour: vt100::Color) -> Option<String> {
        let value = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
        match colour {
            vt100::Color::Default => None,
            vt100::Color::Idx(index @ 0..16) => Some(self.colours.sixteen[usize::from(index)].to_owned()),
            vt100::Color::Idx(index @ 16..232) => {
                let index = index - 16;
                let (red, green, blue) = (value(index / 36), value(index / 6 % 6), value(index % 6));
                Some(format!("#{red:02x}{green:02x}{blue:02x}"))
            }
            vt100::Color::Idx(index) => {
                let grey = 8 + 10 * (index - 232);
                Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
            }
            vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        }
    }

    /// The class attribute for a look.
    fn class(&mut self, look: &Look, foreground: Option<String>) -> String {
        let mut style = foreground.map_or_else(String::new, |colour| format!("color:{colour};"));
        for (is, rule) in [
            (look.bold, "font-weight:bold;"),
            (look.dim, "opacity:.6;"),
            (look.italic, "font-style:italic;"),
            (look.underline, "text-decoration:underline;"),
        ] {
            if is {
                style += rule;
            }
        }
        if style.is_empty() {
            return String::new();
        }
        let next = name(self.classes.len());
        let class = self.classes.entry(style).or_insert_with_key(|style| {
            _ = write!(self.styles, ".{next}{{{style}}}");
            next
        });
        format!(" class=\"{class}\"")
    }
}

/// A short id for each number.
fn name(number: usize) -> String {
    const FIRST: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut name = String::from(char::from(FIRST[number % FIRST.len()]));
    let mut rest = number / FIRST.len();
    while rest > 0 {
        name.push(char::from(FIRST[rest % FIRST.len()]));
        rest /= FIRST.len();
    }
    name
}

fn from(x: u16) -> String {
    if x == 0 { String::new() } else { format!(" x=\"{x}\"") }
}

/// A run of text as SVG at its columns, without surrounding blanks.
fn written(run: &Run, x: u16, class: &str) -> String {
    let blank = |text: &str| u16::try_from(text.len()).unwrap_or(u16::MAX);
    let (leading, text) = match run.look.underline {
        true => (0, run.text.as_str()),
        false => {
            let text = run.text.trim_start_matches(' ');
            (blank(&run.text) - blank(text), text.trim_end_matches(' '))
        }
    };
    if text.is_empty() {
        return String::new();
    }
    let trailing = if run.look.underline {
        0
    } else {
        blank(&run.text) - leading - blank(text)
    };
    let columns = run.columns - leading - trailing;
    let length = match columns {
        1 => String::new(),
        columns => format!(" textLength=\"{}\"", columns * CELL.0),
    };
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!("<tspan x=\"{}\"{length}{class}>{text}</tspan>", x + leading * CELL.0)
}

/// A box-drawing character, drawn as lines because fonts leave gaps between cells.
enum Line {
    /// Lines from the middle of the cell, and their weight.
    Arms {
        left: bool,
        right: bool,
        up: bool,
        down: bool,
        heavy: bool,
    },
    /// A round corner, by the directions of its ends: right or left, down or up.
    Corner(i8, i8),
    /// A part of the cell, from its left or its lower side, in eighths.
    Block { across: u8, up: u8, opacity: &'static str },
}

fn line(text: &str) -> Option<Line> {
    let arms = |left, right, up, down| Line::Arms {
        left,
        right,
        up,
        down,
        heavy: false,
    };
    let block = |across, up, opacity| Line::Block { across, up, opacity };
    let eighths = |sign: char, first: char| u8::try_from(u32::from(sign) - u32::from(first)).unwrap_or(0);
    Some(match text.chars().next()? {
        '─' => arms(true, true, false, false),
        '━' => Line::Arms {
            left: true,
            right: true,
            up: false,
            down: false,
            heavy: true,
        },
        '│' => arms(false, false, true, true),
        '┌' => arms(false, true, false, true),
        '┐' => arms(true, false, false, true),
        '└' => arms(false, true, true, false),
        '┘' => arms(true, false, true, false),
        '├' => arms(false, true, true, true),
        '┤' => arms(true, false, true, true),
        '┬' => arms(true, true, false, true),
        '┴' => arms(true, true, true, false),
        '┼' => arms(true, true, true, true),
        '╭' => Line::Corner(1, 1),
        '╮' => Line::Corner(-1, 1),
        '╰' => Line::Corner(1, -1),
        '╯' => Line::Corner(-1, -1),
        '█' => block(8, 8, "1"),
        '░' => block(8, 8, ".25"),
        '▒' => block(8, 8, ".5"),
        '▓' => block(8, 8, ".75"),
        sign @ '▁'..='▇' => block(8, eighths(sign, '▁') + 1, "1"),
        sign @ '▉'..='▏' => block(7 - eighths(sign, '▉'), 8, "1"),
        _ => return None,
    })
}

impl Line {
    fn drawn(&self, x: u16, width: u16, class: &str) -> String {
        let (half, middle) = (f64::from(CELL.0) / 2.0, f64::from(CELL.1) / 2.0);
        let left_edge = f64::from(x);
        let stroke = |path: &str, more: &str| format!("<path d=\"{path}\"{more}{class}/>");
        match self {
            Line::Arms {
                left,
                right,
                up,
                down,
                heavy,
            } => {
                let mut path = String::new();
                if *left || *right {
                    let start = if *left { left_edge } else { left_edge + half };
                    let stop = left_edge + f64::from(width) - if *right { 0.0 } else { half };
                    _ = write!(path, "M{start} {middle}H{stop}");
                }
                if *up || *down {
                    let (start, stop) = (
                        if *up { 0.0 } else { middle },
                        if *down { f64::from(CELL.1) } else { middle },
                    );
                    _ = write!(path, "M{} {start}V{stop}", left_edge + half);
                }
                stroke(&path, if *heavy { " stroke-width=\"3\"" } else { "" })
            }
            Line::Corner(right, down) => {
                let (right, down) = (f64::from(*right) * half, f64::from(*down) * middle);
                let path = format!("M{} {middle}q{} 0 {} {down}", left_edge + half + right, -right, -right);
                stroke(&path, "")
            }
            Line::Block { across, up, opacity } => {
                let height = CELL.1 * u16::from(*up) / 8;
                let width = if *across == 8 {
                    width
                } else {
                    CELL.0 * u16::from(*across) / 8
                };
                let faint = if *opacity == "1" {
                    String::new()
                } else {
                    format!(" opacity=\"{opacity}\"")
                };
                format!(
                    "<rect{} y=\"{}\" width=\"{width}\" height=\"{height}\" fill=\"currentColor\"{faint}{class}/>",
                    from(x),
                    CELL.1 - height
                )
            }
        }
    }
}
