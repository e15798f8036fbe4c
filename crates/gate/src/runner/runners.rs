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

    /// The command that installs the packages of a project, if `output` of `command` says that they are missing.
    pub fn installs_missing(&self, command: &str, output: &str) -> Option<&str> {
        let mut commands = self.0.iter().flat_map(|runner| &runner.start);
        let start = commands.find(|start| start.command == command)?;
        start.installs_missing(output)
    }

    /// Returns a command line that runs only the tests of `files`, or those with `names`, if the last command of `command`
    /// is a runner that can be told so. Whether it does run them, only a run can tell.
    pub fn narrowed(&self, command: &str, files: &[&str], names: &[&str]) -> Option<String> {
        let last = command.rsplit(['&', '|', ';', '\n']).next()?;
        let is_plain = |word: &&str| {
            let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
            !word.is_empty() && !word.starts_with('-') && word.bytes().all(is_usual)
        };
        self.likely(last).into_iter().find_map(|runner| {
            let narrow = runner.narrow.as_deref()?;
            // A command line may have the mark already after which arguments are for the tests.
            let narrow = narrow
                .strip_prefix("-- ")
                .filter(|_| last.contains(" -- "))
                .unwrap_or(narrow);
            let words = if narrow.contains("{files}") { files } else { names };
            let is_known = !words.is_empty() && words.iter().all(is_plain);
            let arguments = narrow
                .replace("{files}", &words.join(" "))
                .replace("{names}", &words.join(" "));
            is_known.then(|| format!("{command} {}", arguments.replace("{any_name}", &words.join("|"))))
        })
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
