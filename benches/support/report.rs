//! Rows on stdout: figure, reference, their ratio, the budget, and whether it was kept.

use std::io::{self, Write};

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

fn line(text: &str) {
    let mut out = io::stdout().lock();
    let line = format!("{}\n", text.trim_end());
    _ = out.write_all(line.as_bytes()); // the reader may have closed the pipe
}
