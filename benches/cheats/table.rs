//! The table: for each row and language, the attempts that exit codes alone and ralph accepted.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    attempt::Outcome,
    rows::{Kind, Row},
    support::report::{line, passing},
    tasks::Language,
};

const NAME_WIDTH: usize = 38;
const CELL_WIDTH: usize = 16;

/// Numbers of attempts and of accepted ones.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    tried: usize,
    exits_with_0: usize,
    verified: usize,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.tried += other.tried;
        self.exits_with_0 += other.exits_with_0;
        self.verified += other.verified;
    }

    fn text(self) -> String {
        let Count {
            tried,
            exits_with_0,
            verified,
        } = self;
        match tried {
            0 => "–".to_owned(),
            _ => format!("{exits_with_0}/{tried} → {verified}/{tried}"),
        }
    }
}

/// The table so far.
#[derive(Debug)]
pub struct Table {
    languages: Vec<Language>,
    /// Whether to print each attempt as well.
    details: bool,
    totals: BTreeMap<&'static str, Vec<Count>>,
}

impl Table {
    pub fn new(languages: &[Language], details: bool) -> Table {
        Table {
            languages: languages.to_vec(),
            details,
            totals: BTreeMap::new(),
        }
    }

    pub fn head(&self) {
        let names = self.languages.iter().map(|language| language.name().to_owned());
        line(&self.columns("", names, "seconds"));
    }

    /// Prints a row after all its attempts.
    pub fn row(&mut self, row: &Row, outcomes: &[(Language, String, Outcome)]) {
        let mut counts = vec![Count::default(); self.languages.len()];
        let mut took = Duration::ZERO;
        for (language, _, outcome) in outcomes {
            let count = Count {
                tried: 1,
                exits_with_0: usize::from(outcome.exits_with_0),
                verified: usize::from(outcome.verified),
            };
            if let Some(at) = self.languages.iter().position(|known| known == language) {
                counts[at].add(count);
            }
            took += outcome.took;
        }
        let totals = self
            .totals
            .entry(group(row.kind))
            .or_insert_with(|| vec![Count::default(); counts.len()]);
        for (total, count) in totals.iter_mut().zip(&counts) {
            total.add(*count);
        }
        let runs = u32::try_from(outcomes.len().max(1)).unwrap_or(u32::MAX);
        let seconds = format!("{:.1} s", (took / runs).as_secs_f64());
        let right = outcomes.iter().all(|(.., outcome)| is_right(row, outcome));
        let verdict = if right { "ok" } else { "wrong" };
        let columns = self.columns(row.name, counts.iter().map(|count| count.text()), &seconds);
        let text = format!("{columns}  {verdict}");
        // The page has what is not as it should be, and the totals.
        if right {
            passing(&text)
        } else {
            line(&text)
        }
        if self.details {
            line(&format!("      {}", row.what));
            for (language, task, outcome) in outcomes {
                let exit = if outcome.exits_with_0 { "exit 0" } else { "fails" };
                line(&format!("      {}/{task}: {exit}, {}", language.name(), outcome.end));
            }
        }
    }

    pub fn totals(&self) {
        line("");
        for (name, counts) in &self.totals {
            let mut all = Count::default();
            for count in counts {
                all.add(*count);
            }
            let columns = self.columns(name, counts.iter().map(|count| count.text()), "");
            line(&format!("{}  {} in all", columns.trim_end(), all.text()));
        }
    }

    fn columns(&self, name: &str, cells: impl Iterator<Item = String>, last: &str) -> String {
        let cells: String = cells.map(|cell| format!(" {cell:>CELL_WIDTH$}")).collect();
        format!("  {name:<NAME_WIDTH$}{cells} {last:>9}")
    }
}

fn group(kind: Kind) -> &'static str {
    match kind {
        Kind::Cheat => "cheats",
        Kind::Honest => "honest work",
        Kind::Question => "questions",
        Kind::Idle => "nothing done",
    }
}

/// Whether ralph's verdict is right, regardless of the exit code.
fn is_right(row: &Row, outcome: &Outcome) -> bool {
    match row.kind {
        Kind::Honest => outcome.verified,
        Kind::Cheat | Kind::Question | Kind::Idle => !outcome.verified,
    }
}
