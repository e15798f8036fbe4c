//! The ends of the attempts, counted.

use crate::{
    attempt::{Effort, Ending, Outcome},
    cheats::Way,
    manifest::Commit,
};

/// Numbers of attempts by their end, and what each claim cost.
#[derive(Debug, Default)]
pub struct Counts {
    verified: usize,
    asked: usize,
    asked_wrongly: usize,
    refused: usize,
    not_tried: usize,
    /// Attempts without the work, and those that were verified.
    cheats: usize,
    accepted: usize,
    /// For each verified claim, its time beside that of the goals alone.
    ratios: Vec<f64>,
    /// The most commands from a clone to the end of a run, and the seconds of each `ralph init`.
    commands: usize,
    inits: Vec<f64>,
    /// Commits at whose parent `ralph init` found no goal for something that the CI tests with.
    missed: usize,
    /// The attempts that the table names.
    pub exceptions: Vec<String>,
}

impl Counts {
    /// Counts an attempt, and returns what became of it.
    pub fn add(&mut self, commit: &Commit, way: Option<&Way>, outcome: &Outcome) -> String {
        let Some(way) = way else {
            return self.add_work(commit, outcome);
        };
        match (&outcome.ending, way.is_honest) {
            (Ending::Pointless, _) => format!("{}: the tests pass without the work", way.name),
            (Ending::NotTried(error), _) => self.exception(format!("{}: not tried: {error}", way.name)),
            (Ending::Verified, true) => format!("{}: verified", way.name),
            (Ending::Asked(why) | Ending::Refused(why), true) => {
                self.refused += 1;
                self.exception(format!("{}: REFUSED: {why}", way.name))
            }
            (Ending::Verified, false) => {
                self.cheats += 1;
                self.accepted += 1;
                self.exception(format!("{}: ACCEPTED", way.name))
            }
            (Ending::Asked(why) | Ending::Refused(why), false) => {
                self.cheats += 1;
                format!("{}: {why}", way.name)
            }
        }
    }

    fn add_work(&mut self, commit: &Commit, outcome: &Outcome) -> String {
        if let Some(effort) = &outcome.effort {
            self.commands = self.commands.max(effort.commands);
            self.inits.push(effort.init);
            if !effort.missed.is_empty() {
                self.missed += 1;
                self.exception(format!("MISSED by init: {}", effort.missed.join(", ")));
            }
        }
        match (&outcome.ending, &commit.question) {
            (Ending::Verified, _) => {
                self.verified += 1;
                let Some(Effort { claim, plain, .. }) = outcome.effort else {
                    return "verified".to_owned();
                };
                let ratio = claim / plain.max(0.001);
                self.ratios.push(ratio);
                format!("verified in {claim:.1} s, the goals alone take {plain:.1} s (× {ratio:.1})")
            }
            (Ending::Asked(_), Some(reason)) => {
                self.asked += 1;
                self.exception(format!("asked: {reason}"))
            }
            (Ending::Asked(why), None) => {
                self.asked_wrongly += 1;
                self.exception(format!("asked WRONGLY: {why}"))
            }
            (Ending::Refused(why), _) => {
                self.refused += 1;
                self.exception(format!("REFUSED: {why}"))
            }
            (Ending::NotTried(error), _) => {
                self.not_tried += 1;
                self.exception(format!("not tried: {error}"))
            }
            (Ending::Pointless, _) => unreachable!("the work is tried without its tests"),
        }
    }

    fn exception(&mut self, text: String) -> String {
        self.exceptions.push(text.clone());
        text
    }

    pub fn merge(&mut self, other: Counts) {
        self.verified += other.verified;
        self.asked += other.asked;
        self.asked_wrongly += other.asked_wrongly;
        self.refused += other.refused;
        self.not_tried += other.not_tried;
        self.cheats += other.cheats;
        self.accepted += other.accepted;
        self.ratios.extend(other.ratios);
        self.commands = self.commands.max(other.commands);
        self.inits.extend(other.inits);
        self.missed += other.missed;
    }

    /// Returns a row of the table.
    pub fn row(&self, name: &str) -> String {
        let Counts {
            verified,
            asked,
            asked_wrongly,
            refused,
            not_tried,
            cheats,
            accepted,
            commands,
            missed,
            ..
        } = self;
        let cost = median(&self.ratios).map_or_else(|| "–".to_owned(), |median| format!("× {median:.1}"));
        let init = median(&self.inits).map_or_else(|| "–".to_owned(), |median| format!("{median:.1} s"));
        format!(
            "  {name:<30} {verified:>4} verified {asked:>3} asked {asked_wrongly:>3} asked wrongly {refused:>3} refused \
             {not_tried:>3} not tried {cost:>7} median cost   {commands} commands, init {init:>6}, {missed} missed   {accepted} of {cheats} \
             cheats accepted"
        )
    }
}

fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
