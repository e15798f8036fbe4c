//! `ralph completions`: prints scripts that complete commands, flags and values in a shell.

use clap::{Arg, ArgAction, Command, CommandFactory as _, ValueHint, builder::PossibleValuesParser};
use clap_complete::{Shell, generate};
use ralph_agent::catalog;
use ralph_text::console;

use crate::error::{Failure, FailureKind};

use super::args::Args;

pub(super) fn run(shell: Option<Shell>) -> Result<u8, Failure> {
    let shell = shell.or_else(Shell::from_env).ok_or_else(|| {
        Failure::new(FailureKind::Usage, "$SHELL is not a shell with completions")
            .hint("name it: `ralph completions bash`, or zsh, fish, elvish, powershell")
    })?;
    console::pass_on(&script(shell));
    Ok(0)
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut completed(), "ralph", &mut script);
    script
}

/// The command line without hidden commands and flags, and with hints about the values.
fn completed() -> Command {
    let mut whole = ["target", "plan", "prompt-file", "config"]
        .into_iter()
        .fold(Args::command(), |command, id| command.mut_arg(id, is_file))
        .mut_arg("state_dir", |arg| arg.value_hint(ValueHint::DirPath))
        .mut_arg("adapter", is_adapter);
    // Commands get their arguments and subcommands when they are built.
    whole.build();
    // Generators would also write hidden commands and flags, and add the help themselves.
    let flags = whole.get_arguments().filter(|arg| !arg.is_hide_set() && !is_help(arg));
    let commands = whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help");
    let visible = Command::new("ralph").args(flags).subcommands(commands.cloned());
    visible.mut_subcommand("adapters", |adapters| {
        ["show", "check"].into_iter().fold(adapters, |adapters, command| {
            adapters.mut_subcommand(command, |command| command.mut_arg("id", is_adapter))
        })
    })
}

fn is_help(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Help | ArgAction::Version)
}

fn is_file(arg: Arg) -> Arg {
    arg.value_hint(ValueHint::FilePath)
}

fn is_adapter(arg: Arg) -> Arg {
    arg.value_parser(PossibleValuesParser::new(catalog::built_in()))
}

#[cfg(test)]
mod tests {
    use std::{fs, process};

    use super::*;

    /// The completions that bash offers for the last word.
    fn offered(directory: &std::path::Path, words: &[&str]) -> Vec<String> {
        let script = format!(
            "source {}/ralph.bash\n\
             COMP_WORDS=({}) COMP_CWORD={}\n\
             _ralph ralph \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            directory.display(),
            words.iter().map(|word| format!("'{word}' ")).collect::<String>(),
            words.len() - 1,
        );
        let bash = process::Command::new("bash")
            .args(["--norc", "-c", &script])
            .output()
            .expect("bash");
        assert_eq!(String::from_utf8_lossy(&bash.stderr), "", "{words:?}");
        let mut offered: Vec<String> = String::from_utf8_lossy(&bash.stdout)
            .lines()
            .map(str::to_owned)
            .collect();
        offered.sort();
        offered
    }

    #[test]
    fn bash_completes_commands_flags_and_values() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("ralph.bash"), script(Shell::Bash)).unwrap();
        let offered = |words: &[&str]| offered(directory.path(), words);
        assert_eq!(
            offered(&["ralph", "re"]),
            ["replay", "report", "reset-circuit", "restore", "resume"]
        );
        assert_eq!(offered(&["ralph", "config", "s"]), ["schema"]);
        assert_eq!(offered(&["ralph", "--adapter", "cod"]), ["codex"]);
        assert_eq!(offered(&["ralph", "adapters", "show", "cl"]), ["claude", "cline"]);
        assert_eq!(offered(&["ralph", "help", "adapters", "s"]), ["show"]);
        assert_eq!(offered(&["ralph", "restore", "--be"]), ["--before"]);
        assert_eq!(offered(&["ralph", "report", "--format", "m"]), ["markdown"]);
    }

    #[test]
    fn every_shell_gets_all_commands_and_nothing_that_nobody_types() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let script = String::from_utf8(script(shell)).unwrap();
            let command = Args::command();
            for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            for hidden in ["__guard", "__demo-agent", "__native-agent", "--__loop", "--__continue"] {
                assert!(!script.contains(hidden), "{shell}: {hidden}");
            }
        }
    }
}
