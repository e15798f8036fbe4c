//! Frames of a terminal as one moving picture.
//!
//! Each row is drawn once for everything it has shown, and is visible while it showed that: most rows stay as they are
//! from one frame to the next.

use std::{fmt::Write as _, time::Duration};

use unicode_width::UnicodeWidthStr;

use crate::stage::Frame;

/// The size of a cell, and what is left free around the terminal.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 12.0;
/// How long the last frame stays before everything begins again.
const LAST: Duration = Duration::from_secs(4);
/// More frames than one in this time are not kept.
const WHILE: Duration = Duration::from_millis(150);
const FOREGROUND: &str = "#c9d1d9";
const BACKGROUND: &str = "#0d1117";
const SIXTEEN: [&str; 16] = [
    "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4", "#6e7681", "#ffa198",
    "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc",
];

/// What a row shows, and when.
struct Shown {
    drawn: String,
    times: Vec<(Duration, Duration)>,
}

pub fn draw(frames: &[Frame], cols: u16, rows: u16) -> String {
    let frames = sparse(frames);
    let start = frames.first().map_or(Duration::ZERO, |frame| frame.at);
    let end = frames.last().map_or(Duration::ZERO, |frame| frame.at) + LAST - start;
    let (width, height) = (
        f64::from(cols) * CELL.0 + 2.0 * MARGIN,
        f64::from(rows) * CELL.1 + 2.0 * MARGIN,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-size=\"14\" \
         font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\">\n\
         <title>ralph demo</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n<g fill=\"{FOREGROUND}\" \
         stroke-width=\"1\" xml:space=\"preserve\" style=\"white-space:pre\" transform=\"translate({MARGIN} {MARGIN})\">\n"
    );
    for row in 0..rows {
        for shown in shown(&frames, row, cols, start, end) {
            if !shown.drawn.is_empty() {
                group(&shown, end, &mut svg);
            }
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// The last frame of each while.
fn sparse(frames: &[Frame]) -> Vec<&Frame> {
    let mut kept: Vec<&Frame> = Vec::new();
    for frame in frames {
        let beginning = |frame: &Frame| frame.at.as_millis() / WHILE.as_millis();
        if kept.last().is_some_and(|last| beginning(last) == beginning(frame)) {
            kept.pop();
        }
        kept.push(frame);
    }
    kept
}

/// Everything that was in a row.
fn shown(frames: &[&Frame], row: u16, cols: u16, start: Duration, end: Duration) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let drawn = self::row(&frame.screen, row, cols);
        let until = frames.get(at + 1).map_or(end, |next| next.at - start);
        let from = frame.at - start;
        match all.iter_mut().find(|shown| shown.drawn == drawn) {
            Some(shown) => match shown.times.last_mut() {
                Some(last) if last.1 == from => last.1 = until,
                Some(_) | None => shown.times.push((from, until)),
            },
            None => all.push(Shown {
                drawn,
                times: vec![(from, until)],
            }),
        }
    }
    all
}

/// A row with its times. Without animation the last frame is shown.
fn group(shown: &Shown, end: Duration, svg: &mut String) {
    if shown.times == [(Duration::ZERO, end)] {
        svg.push_str(&shown.drawn);
        svg.push('\n');
        return;
    }
    let share = |at: Duration| format!("{:.4}", at.as_secs_f64() / end.as_secs_f64());
    let (mut values, mut times) = (Vec::new(), Vec::new());
    if shown.times[0].0 > Duration::ZERO {
        values.push("none");
        times.push("0".to_owned());
    }
    for (from, until) in &shown.times {
        values.push("inline");
        times.push(if from.is_zero() { "0".to_owned() } else { share(*from) });
        if *until < end {
            values.push("none");
            times.push(share(*until));
        }
    }
    let last = shown.times.last().is_some_and(|(_, until)| *until == end);
    let hidden = if last { "" } else { " display=\"none\"" };
    _ = writeln!(
        svg,
        "<g{hidden}>{}<animate attributeName=\"display\" values=\"{}\" keyTimes=\"{}\" dur=\"{:.1}s\" \
         calcMode=\"discrete\" repeatCount=\"indefinite\"/></g>",
        shown.drawn,
        values.join(";"),
        times.join(";"),
        end.as_secs_f64(),
    );
}

/// Cells of one look, side by side.
#[derive(Default)]
struct Run {
    column: u16,
    columns: u16,
    text: String,
    look: Look,
}

#[derive(Clone, PartialEq, Eq, Default)]
struct Look {
    foreground: Option<String>,
    background: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

fn row(screen: &vt100::Screen, row: u16, cols: u16) -> String {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..cols {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
            continue;
        };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let columns = if cell.is_wide() { 2 } else { 1 };
        let look = look(cell);
        match runs.last_mut() {
            // Signs of lines and bars are drawn, not written, each by itself.
            Some(run) if run.look == look && line(text).is_none() && line(&run.text).is_none() => {
                run.text.push_str(text);
                run.columns += columns;
            }
            Some(run) if run.look == look && line(text).is_some() && run.text.starts_with(text) => {
                run.text.push_str(text);
                run.columns += columns;
            }
            Some(_) | None => runs.push(Run {
                column,
                columns,
                text: text.to_owned(),
                look,
            }),
        }
    }
    runs.iter().map(|run| drawn(run, row)).collect()
}

fn drawn(run: &Run, row: u16) -> String {
    let (x, y) = (f64::from(run.column) * CELL.0, f64::from(row) * CELL.1);
    let width = f64::from(run.columns) * CELL.0;
    let mut out = String::new();
    if let Some(background) = &run.look.background {
        out += &format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{background}\"/>",
            CELL.1
        );
    }
    let colour = run.look.foreground.as_deref().unwrap_or(FOREGROUND);
    if let Some(line) = line(&run.text) {
        out + &line.drawn(x, y, width, colour)
    } else if run.text.trim().is_empty() {
        out
    } else {
        out + &written(run, x, y, colour)
    }
}

fn written(run: &Run, x: f64, y: f64, colour: &str) -> String {
    let leading = run.text.len() - run.text.trim_start_matches(' ').len();
    let text = run.text.trim_matches(' ');
    #[allow(clippy::cast_precision_loss)] // of a row's columns
    let (skipped, columns) = (leading as f64, text.width() as f64);
    let mut look = String::new();
    if colour != FOREGROUND {
        look += &format!(" fill=\"{colour}\"");
    }
    for (is, attribute) in [
        (run.look.bold, " font-weight=\"bold\""),
        (run.look.dim, " opacity=\".6\""),
        (run.look.italic, " font-style=\"italic\""),
        (run.look.underline, " text-decoration=\"underline\""),
    ] {
        if is {
            look += attribute;
        }
    }
    format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" textLength=\"{:.1}\"{look}>{}</text>",
        x + skipped * CELL.0,
        y + 13.5,
        columns * CELL.0,
        text.replace('&', "&amp;").replace('<', "&lt;")
    )
}

/// What is drawn as lines, because fonts leave gaps between rows.
#[derive(Clone, Copy)]
enum Line {
    Across,
    Down,
    /// A corner, by the directions of its ends: right or left, down or up.
    Corner(f64, f64),
    Bar {
        opacity: f64,
    },
}

fn line(text: &str) -> Option<Line> {
    match text.chars().next()? {
        '─' => Some(Line::Across),
        '│' => Some(Line::Down),
        '╭' => Some(Line::Corner(1.0, 1.0)),
        '╮' => Some(Line::Corner(-1.0, 1.0)),
        '╰' => Some(Line::Corner(1.0, -1.0)),
        '╯' => Some(Line::Corner(-1.0, -1.0)),
        '█' => Some(Line::Bar { opacity: 1.0 }),
        '░' => Some(Line::Bar { opacity: 0.5 }),
        _ => None,
    }
}

impl Line {
    fn drawn(self, x: f64, y: f64, width: f64, colour: &str) -> String {
        let (half_width, half) = (CELL.0 / 2.0, CELL.1 / 2.0);
        let stroke = |path: String| format!("<path d=\"{path}\" stroke=\"{colour}\" fill=\"none\"/>");
        match self {
            Line::Across => stroke(format!("M{x:.1} {:.1}h{width:.1}", y + half)),
            Line::Down => stroke(format!("M{:.1} {y:.1}v{:.1}", x + half_width, CELL.1)),
            Line::Corner(right, down) => stroke(format!(
                "M{:.1} {:.1}q{:.1} 0 {:.1} {:.1}",
                x + half_width + right * half_width,
                y + half,
                -right * half_width,
                -right * half_width,
                down * half
            )),
            Line::Bar { opacity } => format!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"10\" fill=\"{colour}\" \
                 opacity=\"{opacity}\"/>",
                y + 4.0
            ),
        }
    }
}

fn look(cell: &vt100::Cell) -> Look {
    let (mut foreground, mut background) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
    if cell.inverse() {
        (foreground, background) = (
            Some(background.unwrap_or_else(|| BACKGROUND.to_owned())),
            Some(foreground.unwrap_or_else(|| FOREGROUND.to_owned())),
        );
    }
    Look {
        foreground,
        background,
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underline: cell.underline(),
    }
}

fn colour(colour: vt100::Color) -> Option<String> {
    let value = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(index @ 0..16) => Some(SIXTEEN[usize::from(index)].to_owned()),
        vt100::Color::Idx(index @ 16..232) => {
            let index = index - 16;
            let (red, green, blue) = (value(index / 36), value(index / 6 % 6), value(index % 6));
            Some(format!("#{red:02x}{green:02x}{blue:02x}"))
        }
        vt100::Color::Idx(index) => {
            let grey = 8 + (index - 232) * 10;
            Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
        }
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}
