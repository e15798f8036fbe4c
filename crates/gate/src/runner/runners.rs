//! All known runners, and the ones that a command line probably runs.

use super::{manifest::Runner, reader::OutputReader};

/// Runners in the order in which they are tried.
#[derive(Debug, Clone, Default)]
pub struct Runners(Vec<Runner>);

impl Runners {
    pub fn new(runners: Vec<Runner>) -> Runners {
        Runners(runners)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Runner> {
        self.0.iter()
    }

    /// Returns the runners that a command line probably runs, including those that start others, such as `make`.
    pub fn likely(&self, command: &str) -> Vec<&Runner> {
        let is_likely = |runner: &&Runner| runner.command.iter().any(|pattern| pattern.is_match(command));
        self.0.iter().filter(is_likely).collect()
    }

    /// Returns a reader for the output of a command line.
    ///
    /// If the command line names runners, and none that starts others, only their output counts; otherwise every
    /// runner's does.
    pub fn reader(&self, command: &str) -> OutputReader<'_> {
        let likely = self.likely(command);
        let names_all = !likely.is_empty() && likely.iter().all(|runner| runner.output.is_some());
        let candidates = if names_all { likely } else { self.0.iter().collect() };
        let is_silent = |runner: &Runner| runner.silent.iter().any(|pattern| pattern.is_match(command));
        OutputReader::new(candidates.into_iter().filter(|runner| !is_silent(runner)))
    }
}
