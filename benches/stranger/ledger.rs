//! The ledger that the agents wrote, and its comparison with what ralph says.

use std::{collections::BTreeSet, fmt::Display, fs, path::PathBuf};

use serde_json::Value;

/// The file to which every agent adds a line for what it does.
pub struct Ledger(pub PathBuf);

impl Ledger {
    /// The lines that begin with `what`, without it.
    pub fn lines(&self, what: &str) -> Vec<String> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix(what)?.strip_prefix(' '));
        lines.map(str::to_owned).collect()
    }

    /// The sums of what scripted agents have reported: tokens in and out, and dollars.
    pub fn usage(&self) -> [f64; 3] {
        let mut sums = [0.0; 3];
        for line in self.lines("usage") {
            for (sum, word) in sums.iter_mut().zip(line.split(' ')) {
                *sum += word.parse::<f64>().expect("a number of the ledger");
            }
        }
        sums
    }
}

/// The rows of a comparison.
#[derive(Default)]
pub struct Comparison {
    pub differs: bool,
}

impl Comparison {
    /// Prints what ralph says beside what the ledger says.
    pub fn row<T: PartialEq + Display>(&mut self, name: &str, ralph: T, ledger: T) {
        let verdict = if ralph == ledger { "ok" } else { "DIFFERS" };
        self.differs |= ralph != ledger;
        println!("  {name:<36} {ralph:>10}   ledger {ledger:>10}   {verdict}");
    }

    /// A number in JSON, compared in the same way.
    pub fn count(&mut self, name: &str, ralph: &Value, ledger: usize) {
        self.row(name, ralph.to_string(), ledger.to_string());
    }

    /// Prints how much there is of what must not be.
    pub fn nothing(&mut self, name: &str, found: impl IntoIterator<Item: Display>) {
        let found: Vec<_> = found.into_iter().collect();
        self.row(name, found.len(), 0);
        found.iter().take(8).for_each(|line| println!("      {line}"));
    }

    /// Prints the use of tokens, and the cost.
    pub fn usage(&mut self, ralph: &Value, ledger: [f64; 3]) {
        let of = |key: &str| ralph[key].as_f64().unwrap_or_default();
        self.row("tokens in", of("inputTokens"), ledger[0]);
        self.row("tokens out", of("outputTokens"), ledger[1]);
        let cost = |dollars: f64| format!("${dollars:.4}");
        self.row("cost", cost(of("costUsd")), cost(ledger[2]));
    }
}

/// The paths in which two listings of `git ls-tree -r` differ.
pub fn differing(one: &str, other: &str) -> BTreeSet<String> {
    let [one, other] = [one, other].map(|listing| listing.lines().collect::<BTreeSet<_>>());
    let lines = one
        .symmetric_difference(&other)
        .filter_map(|line| line.split_once('\t'));
    lines.map(|(_, path)| path.to_owned()).collect()
}
