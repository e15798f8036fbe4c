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
    Some(compare(
        Size { cols: 80, rows: 25 },
        output.as_bytes(),
        expected.lines(),
    ))
}

/// Compares with the characters of a grid, which begins with the row at the bottom.
fn alacritty(path: &Path) -> Option<Result<(), String>> {
    let json = |name| -> Option<Value> { serde_json::from_slice(&fs::read(path.with_file_name(name)).ok()?).ok() };
    let (grid, size) = (json("grid.json")?, json("size.json")?);
    let number = |value: &Value| u16::try_from(value.as_u64().unwrap()).unwrap();
    let size = Size {
        cols: number(&size["columns"]),
        rows: number(&size["screen_lines"]),
    };
    let list = |value: &Value| value.as_array().unwrap().clone();
    let text = |row: &Value| {
        let cells = list(&row["inner"]);
        let shown = cells
            .iter()
            .filter(|cell| !cell["flags"].as_str().unwrap().contains("WIDE_CHAR_SPACER"));
        let joined = |cell: &Value| match &cell["extra"]["zerowidth"] {
            Value::Array(characters) => characters.iter().filter_map(Value::as_str).collect(),
            _ => String::new(),
        };
        shown
            .map(|cell| format!("{}{}", cell["c"].as_str().unwrap(), joined(cell)))
            .collect::<String>()
    };
    let rows: Vec<String> = list(&grid["raw"]["inner"])[..usize::from(size.rows)]
        .iter()
        .rev()
        .map(text)
        .collect();
    let output = fs::read(path).unwrap();
    Some(compare(size, &output, rows.iter().map(String::as_str)))
}

fn compare<'a>(size: Size, output: &[u8], expected: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut screen = Screen::new(size, Scrollback::Cells(1000));
    screen.process(output);
    let shown: Vec<String> = screen
        .vt()
        .rows(0, size.cols)
        .map(|row| row.trim_end().to_owned())
        .collect();
    // A tab that was written is a cell of alacritty.
    let expected = expected.map(|row| row.replace('\t', " ").trim_end().to_owned());
    let expected: Vec<String> = expected.take(shown.len()).collect();
    let differs = (1..)
        .zip(shown.iter().zip(&expected))
        .find(|(_, (shown, expected))| shown != expected);
    match differs {
        Some((row, (shown, expected))) => Err(format!("  row {row}\n  shown    {shown:?}\n  expected {expected:?}")),
        None => Ok(()),
    }
}
