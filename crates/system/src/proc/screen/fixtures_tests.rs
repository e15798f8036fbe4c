//! Other terminals' fixtures, which are not in the repository: `RALPH_TERMINAL_FIXTURES=DIRECTORY cargo test -p
//! ralph-loop-system --lib screen::fixtures -- --nocapture` reads clones of xterm.js and of alacritty below the directory.

use std::{env, fs, path::Path};

use serde_json::Value;
use walkdir::WalkDir;

use super::*;

const VARIABLE: &str = "RALPH_TERMINAL_FIXTURES";

/// The fixtures of a terminal: where they are, and how many of them the screen shows as that terminal does.
struct Suite {
    name: &'static str,
    /// The end of the files with the output.
    output: &'static str,
    /// Compares the screen with what the other terminal shows; `None` if that is not known.
    compare: fn(&Path) -> Option<Result<(), String>>,
    least: usize,
}

const SUITES: [Suite; 2] = [
    Suite {
        name: "xterm.js",
        output: ".in",
        compare: xterm,
        least: 60,
    },
    Suite {
        name: "alacritty",
        output: "alacritty.recording",
        compare: alacritty,
        least: 41,
    },
];

#[test]
#[allow(clippy::print_stdout)] // the counts, with `--nocapture`
fn the_screen_shows_what_other_terminals_show() {
    let Some(directory) = env::var_os(VARIABLE) else {
        println!("skipped: {VARIABLE} does not name a directory with fixtures");
        return;
    };
    for suite in SUITES {
        let files = WalkDir::new(&directory).sort_by_file_name();
        let outcomes: Vec<_> = files
            .into_iter()
            .map(|entry| entry.unwrap().into_path())
            .filter(|path| path.to_string_lossy().ends_with(suite.output))
            .filter_map(|path| Some(((suite.compare)(&path)?, path)))
            .collect();
        let equal = outcomes.iter().filter(|(outcome, _)| outcome.is_ok()).count();
        for (outcome, path) in &outcomes {
            if let Err(difference) = outcome {
                println!("{}\n{difference}", path.display());
            }
        }
        println!("{}: {equal} of {}", suite.name, outcomes.len());
        assert!(equal >= suite.least, "{}: {} are wanted", suite.name, suite.least);
    }
}

/// Compares with the text of a window of xterm: every row, without trailing blanks.
fn xterm(path: &Path) -> Option<Result<(), String>> {
    let expected = fs::read_to_string(path.with_extension("text")).ok()?;
    // A terminal device puts a carriage return before each line feed.
    let output = String::from_utf8(fs::read(path).unwrap())
        .unwrap()
        .replace('\n', "\r\n");
    let size = Size { cols: 80, rows: 25 };
    let mut screen = Screen::new(size, Scrollback::Cells(1000));
    screen.process(output.as_bytes());
    let plain = |row: &str| row.trim_end().to_owned();
    let shown: Vec<String> = screen.vt().rows(0, size.cols).map(|row| plain(&row)).collect();
    Some(compare(&shown, &expected.lines().map(plain).collect::<Vec<_>>()))
}

/// Compares with the characters and the styles of a grid, which begins with the row at the bottom.
fn alacritty(path: &Path) -> Option<Result<(), String>> {
    let json = |name| -> Option<Value> { serde_json::from_slice(&fs::read(path.with_file_name(name)).ok()?).ok() };
    let (grid, size) = (json("grid.json")?, json("size.json")?);
    let number = |value: &Value| u16::try_from(value.as_u64().unwrap()).unwrap();
    let (cols, rows) = (number(&size["columns"]), number(&size["screen_lines"]));
    let mut screen = Screen::new(Size { cols, rows }, Scrollback::Cells(1000));
    screen.process(&fs::read(path).unwrap());
    let cell = |row, col| vt100_cell(screen.vt().cell(row, col).unwrap());
    let shown = (0..rows).map(|row| drawn((0..cols).filter_map(|col| cell(row, col))));
    let grid = grid["raw"]["inner"].as_array().unwrap();
    let expected = grid[..usize::from(rows)].iter().rev().map(|row| {
        let cells = row["inner"].as_array().unwrap();
        drawn(cells.iter().filter_map(alacritty_cell))
    });
    Some(compare(&shown.collect::<Vec<_>>(), &expected.collect::<Vec<_>>()))
}

/// A cell as text and style; none if it is the second half of a wide character.
type DrawnCell = Option<(String, String)>;

fn alacritty_cell(cell: &Value) -> DrawnCell {
    const NAMES: [&str; 8] = ["Black", "Red", "Green", "Yellow", "Blue", "Magenta", "Cyan", "White"];
    let colour = |value: &Value| match (value["Named"].as_str(), value["Indexed"].as_u64()) {
        (Some("Foreground" | "Background"), _) => "Default".to_owned(),
        (Some(name), _) => {
            let plain = name.trim_start_matches("Bright");
            let index = NAMES.iter().position(|name| *name == plain).unwrap();
            format!("Idx({})", index + if plain == name { 0 } else { 8 })
        }
        (None, Some(index)) => format!("Idx({index})"),
        (None, None) => {
            let [red, green, blue] = ["r", "g", "b"].map(|part| &value["Spec"][part]);
            format!("Rgb({red}, {green}, {blue})")
        }
    };
    let flags = cell["flags"].as_str().unwrap();
    let joined = cell["extra"]["zerowidth"].as_array().into_iter().flatten();
    let text = cell["c"].as_str().into_iter().chain(joined.filter_map(Value::as_str));
    let style = ["UNDER", "INVERSE", "BOLD", "ITALIC"].map(|flag| flags.contains(flag));
    let colours = [&cell["fg"], &cell["bg"]].map(colour);
    (!flags.contains("WIDE_CHAR_SPACER")).then(|| styled(&text.collect::<String>(), colours, style))
}

fn vt100_cell(cell: &vt100::Cell) -> DrawnCell {
    let style = [cell.underline(), cell.inverse(), cell.bold(), cell.italic()];
    let colours = [cell.fgcolor(), cell.bgcolor()].map(|colour| format!("{colour:?}"));
    (!cell.is_wide_continuation()).then(|| styled(cell.contents(), colours, style))
}

/// The style of a blank is what is seen of it. A tab that was written is a cell of alacritty.
fn styled(text: &str, [foreground, background]: [String; 2], style: [bool; 4]) -> (String, String) {
    match text.trim() {
        "" => (" ".to_owned(), format!("{background} {:?}", &style[..2])),
        text => (text.to_owned(), format!("{foreground} {background} {style:?}")),
    }
}

/// A row with its styles where they change, without plain blanks at its end.
fn drawn(cells: impl Iterator<Item = (String, String)>) -> String {
    const PLAIN: &str = "Default [false, false]";
    let mut cells: Vec<_> = cells.collect();
    let blanks = cells
        .iter()
        .rev()
        .take_while(|(text, style)| text == " " && style == PLAIN)
        .count();
    cells.truncate(cells.len() - blanks);
    let (mut row, mut latest) = (String::new(), String::new());
    for (text, style) in cells {
        if style != latest {
            row.push_str(&format!("<{style}>"));
            latest = style;
        }
        row.push_str(&text);
    }
    row
}

fn compare(shown: &[String], expected: &[String]) -> Result<(), String> {
    let mut rows = (1..).zip(shown.iter().zip(expected));
    match rows.find(|(_, (shown, expected))| shown != expected) {
        Some((row, (shown, expected))) => Err(format!("  row {row}\n  shown    {shown:?}\n  expected {expected:?}")),
        None => Ok(()),
    }
}
