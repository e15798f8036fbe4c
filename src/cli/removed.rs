//! Recognises commands and flags that ralph had once.

use crate::{
    config::REMOVED_COMMANDS,
    error::{Failure, FailureKind},
};

/// The error for a command line with a removed command or flag: the longest of the table that fits. `words` are the
/// arguments behind `ralph`.
pub(super) fn failure<'w>(words: impl IntoIterator<Item = &'w str>) -> Option<Failure> {
    let words: Vec<&str> = words.into_iter().collect();
    let (name, instead) = REMOVED_COMMANDS.iter().rev().find(|(name, _)| has(&words, name))?;
    Some(Failure::new(FailureKind::Usage, format!("`ralph {name}` was removed")).hint(*instead))
}

/// Whether the words of a command are the first that are no options, with its flags, if `name` has any, behind them.
fn has(words: &[&str], name: &str) -> bool {
    let (flags, command): (Vec<&str>, Vec<&str>) = name.split(' ').partition(|word| word.starts_with('-'));
    let is_option = |at: usize| words[at].starts_with('-') || at > 0 && words[at - 1].starts_with('-');
    let first = (0..words.len()).find(|at| !is_option(*at)).unwrap_or(words.len());
    let is_given = |flag: &&str| words.iter().any(|word| word.split('=').next() == Some(*flag));
    words[first..].starts_with(&command) && flags.iter().all(is_given)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory as _;

    use super::{super::args::Args, *};

    #[test]
    fn each_removed_command_is_told_what_to_type_instead() {
        assert!(REMOVED_COMMANDS.is_sorted());
        for (name, instead) in REMOVED_COMMANDS {
            let said = failure(name.split(' ')).unwrap().to_string();
            assert_eq!(said, format!("error: `ralph {name}` was removed\nhint: {instead}"));
            let args: Vec<OsString> = ["ralph"]
                .into_iter()
                .chain(name.split(' '))
                .map(OsString::from)
                .collect();
            let parsed = super::super::help::command().try_get_matches_from(&args);
            let is_word = !name.contains(' ') && Args::command().find_subcommand(name).is_none();
            // A word behind these is parsed as the name of a plan or an engine.
            let is_name = name.starts_with("many ") || name.starts_with("engines ");
            assert!(is_word || is_name || parsed.is_err(), "{name} is a command");
        }
    }

    #[test]
    fn what_only_looks_like_a_removed_command_is_none() {
        for words in ["-p bisect --frob", "report", "rebisect", "Write bisect tests", ""] {
            let words: Vec<&str> = words.split(' ').collect();
            assert!(failure(words.clone()).is_none(), "{words:?}");
        }
    }
}
