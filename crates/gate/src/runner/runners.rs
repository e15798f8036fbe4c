//! All runners that are known, and which of them a command line is likely to run.

use super::{manifest::Runner, reader::OutputReader};

/// Runners in the order in which they are looked for.
#[derive(Debug, Clone, Default)]
pub struct Runners(Vec<Runner>);

impl Runners {
    pub fn new(runners: Vec<Runner>) -> Runners {
        Runners(runners)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Runner> {
        self.0.iter()
    }

    pub fn get(&self, id: &str) -> Option<&Runner> {
        self.0.iter().find(|runner| runner.id == id)
    }

    /// The runners that a command line is likely to run, and what it starts them with, such as `make`.
    pub fn likely(&self, command: &str) -> Vec<&Runner> {
        let is_likely = |runner: &&Runner| runner.command.iter().any(|pattern| pattern.is_match(command));
        self.0.iter().filter(is_likely).collect()
    }

    /// Reads the output of a command line.
    ///
    /// Where the command line names runners, and nothing that could start others, only their output counts. Otherwise that of
    /// every runner does.
    pub fn reader(&self, command: &str) -> OutputReader<'_> {
        let likely = self.likely(command);
        let names_all = !likely.is_empty() && likely.iter().all(|runner| runner.output.is_some());
        let candidates = if names_all { likely } else { self.0.iter().collect() };
        let is_silent = |runner: &Runner| runner.silent.iter().any(|pattern| pattern.is_match(command));
        OutputReader::new(candidates.into_iter().filter(|runner| !is_silent(runner)))
    }
}
