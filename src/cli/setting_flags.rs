//! The command-line flags of settings: one for each setting that declares a flag.

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, error::ErrorKind};

use crate::config::{self, Flag, SettingFlag};

/// The help heading of these flags.
pub(super) const SETTINGS: &str = "Settings";

/// The setting flags that were given.
#[derive(Debug)]
pub(super) struct SettingFlags {
    pub(super) given: Vec<Flag>,
}

impl clap::Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let command = command.next_help_heading(SETTINGS);
        command.args(config::flags().iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Short letters of frequently typed settings.
const LETTERS: [(&str, char); 5] = [
    ("adapter", 'a'),
    ("model", 'm'),
    ("plan", 'p'),
    ("goal", 'g'),
    ("max-iterations", 'n'),
];

fn arg(flag: &SettingFlag) -> Arg {
    let name = id(flag);
    // Two different modes are a mistake, so neither overrides the other; see `check_mode`.
    let action = match flag.adds || name == MODE {
        true => ArgAction::Append,
        false => ArgAction::Set,
    };
    let declared = flag.declared;
    let letter = LETTERS.iter().find(|(of, _)| *of == name).map(|(_, letter)| *letter);
    let arg = Arg::new(name)
        .long(name)
        .short(letter)
        .value_name(declared.value)
        .help(declared.help)
        .action(action);
    match name {
        "prompt" => arg.conflicts_with("prompt-file"),
        _ => arg,
    }
}

/// Hides a setting in the help of a command that takes the settings of `ralph`, which lists them. Global flags stay.
pub(super) fn hide_listed(arg: Arg) -> Arg {
    match arg.get_help_heading() {
        Some(SETTINGS) if !arg.is_global_set() => arg.hide(true),
        Some(_) | None => arg,
    }
}

/// The flag whose second value is a mistake instead of an override.
const MODE: &str = "mode";

/// Refuses two modes at once: each has its own plan and its own rules.
fn check_mode(matches: &ArgMatches) -> Result<(), clap::Error> {
    let modes: Vec<&String> = matches.get_many(MODE).into_iter().flatten().collect();
    match modes.iter().find(|mode| *mode != &modes[0]) {
        None => Ok(()),
        Some(other) => {
            let text = format!(
                "two modes at once: `--mode {}` and `--mode {other}`\n\n  tip: a run has one; run them one after the other\n",
                modes[0]
            );
            Err(clap::Error::raw(ErrorKind::ArgumentConflict, text))
        }
    }
}

/// The name without its dashes.
fn id(flag: &SettingFlag) -> &'static str {
    flag.declared.name.trim_start_matches('-')
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        check_mode(matches)?;
        let mut given = Vec::new();
        for flag in config::flags() {
            let values = matches.get_many::<String>(id(&flag)).into_iter().flatten();
            given.extend(values.map(|value| Flag::new(flag.declared.name, &flag.key, value.as_str())));
        }
        Ok(SettingFlags { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    #[test]
    fn every_declared_flag_sets_its_setting() {
        for flag in config::flags() {
            let name = flag.declared.name;
            let matches = SettingFlags::augment_args(Command::new("ralph")).get_matches_from(["ralph", name, "word"]);
            let given = SettingFlags::from_arg_matches(&matches).unwrap().given;
            assert_eq!(given, [Flag::new(name, &flag.key, "word")]);
        }
    }

    #[test]
    fn a_flag_of_a_list_may_be_given_more_than_once() {
        let line = ["ralph", "--goal", "a=b", "--goal", "c=d"];
        let matches = SettingFlags::augment_args(Command::new("ralph")).get_matches_from(line);
        let given = SettingFlags::from_arg_matches(&matches).unwrap().given;
        assert_eq!(given, ["a=b", "c=d"].map(|goal| Flag::new("--goal", "goals", goal)));
    }
}
