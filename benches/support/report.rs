//! Rows on stdout: figure, reference, their ratio, the budget, and whether it was kept.

use std::{
    env, fs,
    io::{self, Write},
    sync::Mutex,
};

use super::numbers::Quantity;

/// The limit of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Budget {
    AtMost(Quantity),
    AtLeast(Quantity),
}

/// One line of a bench's report.
#[derive(Debug)]
pub struct Row {
    name: String,
    figure: Quantity,
    reference: Option<(String, Quantity)>,
    budget: Option<Budget>,
}

impl Row {
    pub fn new(name: impl Into<String>, figure: impl Into<Quantity>) -> Row {
        Row {
            name: name.into(),
            figure: figure.into(),
            reference: None,
            budget: None,
        }
    }

    /// Sets the reference, measured in the same run.
    #[must_use]
    pub fn beside(mut self, name: impl Into<String>, reference: impl Into<Quantity>) -> Row {
        self.reference = Some((name.into(), reference.into()));
        self
    }

    #[must_use]
    pub fn at_most(mut self, most: impl Into<Quantity>) -> Row {
        self.budget = Some(Budget::AtMost(most.into()));
        self
    }

    #[must_use]
    pub fn at_least(mut self, least: impl Into<Quantity>) -> Row {
        self.budget = Some(Budget::AtLeast(least.into()));
        self
    }

    pub fn print(self) {
        let reference = self.reference.map_or_else(String::new, |(name, value)| {
            let ratio = self.figure.number() / value.number();
            format!("{name} {value} (× {ratio:.2})")
        });
        let (budget, verdict) = match self.budget {
            Some(Budget::AtMost(most)) => (format!("≤ {most}"), self.figure.number() <= most.number()),
            Some(Budget::AtLeast(least)) => (format!("≥ {least}"), self.figure.number() >= least.number()),
            None => (String::new(), true),
        };
        let verdict = match (&self.budget, verdict) {
            (None, _) => "",
            (Some(_), true) => "ok",
            (Some(_), false) => "over",
        };
        line(&format!(
            "  {:<46} {:>12}   {reference:<44} {budget:>14}  {verdict}",
            self.name, self.figure
        ));
    }
}

/// Prints the title of a group of rows.
pub fn title(text: &str) {
    line(&format!("\n{text}"));
}

/// Prints a line that is not a row.
pub fn note(text: &str) {
    line(&format!("  {text}"));
}

/// The page of figures in the documentation, and the variable that has a bench write its part.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/quality.md");
const WRITE: &str = "RALPH_BENCH_WRITE";

/// The lines of this bench so far.
static LINES: Mutex<String> = Mutex::new(String::new());

/// Returns whether this run writes its figures.
pub fn is_written() -> bool {
    env::var_os(WRITE).is_some()
}

/// Replaces the part of bench `name` in the page of figures by the lines of this run, if that is wanted.
///
/// # Panics
/// If the page has no such part, or cannot be written.
pub fn write(name: &str) {
    if !is_written() {
        return;
    }
    let page = fs::read_to_string(PAGE).expect("the page of figures");
    let begins = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&begins).expect("the part of the bench");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end of the part");
    let lines = LINES.lock().expect("the lines").trim().to_owned();
    let page = format!("{before}{begins}\n```text\n{lines}\n```\n\n<!-- end -->{after}");
    fs::write(PAGE, page).expect("the page of figures");
}

/// Prints a line and keeps it for [`write`].
pub fn line(text: &str) {
    LINES
        .lock()
        .expect("the lines")
        .push_str(&format!("{}\n", text.trim_end()));
    passing(text);
}

/// Prints a line that the page does not have.
pub fn passing(text: &str) {
    let line = format!("{}\n", text.trim_end());
    _ = io::stdout().lock().write_all(line.as_bytes()); // the reader may have closed the pipe
}
