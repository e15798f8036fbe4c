//! Generates the reference page of all commands, and checks the commands that the guide shows. They know the commands of all leaves.

#![cfg(feature = "full")]

use std::{fs, path::Path};

use clap::{Command, FromArgMatches as _, error::ErrorKind};
use ralph_agent::catalog::{self, Catalog};
use ralph_core::{limits::LimitUnit, testing::assert_committed};

use super::{args::Args, help};
use crate::config::{self, SettingFlag, SettingSources};

const HEAD: &str = "\
# Commands

What `ralph --help` and `ralph COMMAND --help` print, without `--help` itself, which every command has. Most options of `ralph`
alone set something: [Configuration](configuration.md) has them with their settings.
";

/// Width of the help, in columns.
const WIDTH: usize = 100;

#[test]
fn the_page_of_all_commands_is_the_committed_one() {
    let root = help::command_for_help()
        .term_width(WIDTH)
        .mut_args(|arg| arg.hide_env_values(true));
    let mut page = HEAD.to_owned();
    write_help(&root, "ralph", &mut page);
    assert_committed("docs/reference/commands.md", &page, "the_page_of_all_commands");
}

fn write_help(command: &Command, name: &str, page: &mut String) {
    let is_root = command.get_name() == "ralph";
    let help = command.clone().term_width(WIDTH).render_long_help().to_string();
    page.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", shortened(&help, is_root)));
    // In the order of the overview. Aliases and internal commands are left out.
    let below: Vec<&Command> = match is_root {
        true => help::listed()
            .filter_map(|(name, _)| command.find_subcommand(name))
            .collect(),
        false => command
            .get_subcommands()
            .filter(|command| command.get_name() != "help")
            .collect(),
    };
    for command in below {
        write_help(command, &format!("{name} {}", command.get_name()), page);
    }
}

/// The help without what every command has, and without blank lines between its options; that of `ralph` itself also
/// without the options that are settings.
fn shortened(help: &str, is_root: bool) -> String {
    let settings = config::flags();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let help = lines.join("\n");
    let paragraphs = help.split("\n\n").map(|paragraph| paragraph.trim_start_matches('\n'));
    let is_of_all = |paragraph: &&str| {
        let option = paragraph.strip_prefix("Options:\n").unwrap_or(paragraph);
        let is_setting = |flag: &SettingFlag| option.contains(&format!("{} <", flag.declared.name));
        option.trim_start().starts_with("-h, --help")
            || paragraph.starts_with("Options of all commands")
            || is_root && option.starts_with(' ') && settings.iter().any(is_setting)
    };
    let mut text = String::new();
    for paragraph in paragraphs.filter(|paragraph| !is_of_all(paragraph)) {
        let gap = match paragraph.starts_with(' ') {
            true => "\n",
            false => "\n\n",
        };
        text += if text.is_empty() { "" } else { gap };
        text += paragraph;
    }
    text
}

/// The pages that show commands.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![root.join("README.md")];
    let guide = fs::read_dir(root.join("docs/guide")).expect("the guide");
    paths.extend(guide.flatten().map(|entry| entry.path()));
    let read = |path: &Path| fs::read_to_string(path).expect("a page");
    paths
        .iter()
        .map(|path| (path.display().to_string(), read(path)))
        .collect()
}

/// A command that a page shows.
#[derive(Debug, PartialEq)]
enum ShownCommand {
    /// In a block, to be typed as it stands.
    Whole(String),
    /// In backquotes in a sentence, possibly without its arguments.
    Named(String),
}

fn shown(page: &str) -> Vec<ShownCommand> {
    let is_ralph = |command: &&str| *command == "ralph" || command.starts_with("ralph ");
    let mut fenced = false;
    let mut shown = Vec::new();
    for line in page.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if fenced || line.starts_with("    ") {
            let commands = line.split("&&").flat_map(|line| line.split(" | "));
            let commands = commands.map(|command| command.trim().trim_start_matches("$ "));
            shown.extend(
                commands
                    .filter(is_ralph)
                    .map(|command| ShownCommand::Whole(command.to_owned())),
            );
        } else {
            let quoted = line.split('`').skip(1).step_by(2);
            shown.extend(
                quoted
                    .filter(is_ralph)
                    .map(|command| ShownCommand::Named(command.to_owned())),
            );
        }
    }
    shown
}

/// Returns clap's error for a command that cannot be typed.
fn mistake(shown: &ShownCommand) -> Option<clap::Error> {
    let (ShownCommand::Whole(command) | ShownCommand::Named(command)) = shown;
    let typed = words(command);
    let typed = typed.iter().map(|word| match NUMBERS.contains(&word.as_str()) {
        true => "3",
        false => word,
    });
    let error = help::command().try_get_matches_from(typed).err()?;
    let is_name = matches!(shown, ShownCommand::Named(_)) && error.kind() == ErrorKind::MissingRequiredArgument;
    (error.use_stderr() && !is_name).then_some(error)
}

/// Splits a command into words as a shell does, up to a comment or redirection.
fn words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    for character in command.chars() {
        match (character, quote) {
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (character, Some(open)) if character == open => quote = None,
            (' ', None) => words.extend(word.take()),
            ('#' | '>', None) if word.is_none() => break,
            (character, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// Placeholders for a number.
const NUMBERS: &[&str] = &["N", "M"];

#[test]
fn every_command_that_the_guide_shows_can_be_typed() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, page) in pages() {
        let all = shown(&page);
        count += all.len();
        let mistakes = all.iter().filter_map(|shown| Some((shown, mistake(shown)?)));
        wrong.extend(mistakes.map(|(shown, error)| format!("{path}: {shown:?}: {error}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} commands were found");
}

/// Returns the command if it limits a cost or tokens that its agent does not report: such a run is refused before it
/// starts.
fn void_limit(command: &str, catalog: &Catalog) -> Option<String> {
    let matches = help::command().try_get_matches_from(words(command)).ok()?;
    let flags = Args::from_arg_matches(&matches).ok()?.settings.given;
    let loaded = config::load(&SettingSources {
        flags,
        ..SettingSources::default()
    });
    let config = loaded.unwrap_or_else(|error| panic!("{command}: {error:?}")).config;
    let manifest = catalog.manifest(config.adapter.as_deref()?).ok()?;
    let (limits, counted) = (&config.limits, manifest.capabilities);
    let is_void = LimitUnit::Dollars.is_limited(limits) && !counted.cost
        || LimitUnit::Tokens.is_limited(limits) && !counted.usage;
    is_void.then(|| command.to_owned())
}

#[test]
fn no_command_that_the_guide_shows_limits_a_cost_that_its_agent_does_not_report() {
    let catalog = Catalog::load(&catalog::AdapterSources::default());
    let all: Vec<ShownCommand> = pages().iter().flat_map(|(_, page)| shown(page)).collect();
    let void = all.iter().filter_map(|shown| match shown {
        ShownCommand::Whole(command) => void_limit(command, &catalog),
        ShownCommand::Named(_) => None,
    });
    assert_eq!(void.collect::<Vec<_>>(), Vec::<String>::new());
    let refused = |command| void_limit(command, &catalog).is_some();
    assert!(refused("ralph -a codex --sandbox on --max-cost-usd 20"));
    assert!(refused("ralph -a gemini --max-cost-usd-per-task 2"));
    assert!(!refused("ralph -a claude --max-cost-usd 20") && !refused("ralph -a codex --max-tokens 20000000"));
}

#[test]
fn a_command_is_taken_apart_as_a_shell_does() {
    assert_eq!(
        words("ralph -g tests='a b' \"\" x#y # z"),
        ["ralph", "-g", "tests=a b", "", "x#y"]
    );
    let page = "See `ralph status`.\n\n    gh | ralph import -\n\n```sh\nralph a && ralph\n```\n";
    let [import, long, short] =
        ["ralph import -", "ralph a", "ralph"].map(|command| ShownCommand::Whole(command.to_owned()));
    assert_eq!(
        shown(page),
        [ShownCommand::Named("ralph status".to_owned()), import, long, short]
    );
    let is_wrong = |shown: ShownCommand| mistake(&shown).is_some();
    assert!(
        !is_wrong(ShownCommand::Named("ralph steer".to_owned()))
            && is_wrong(ShownCommand::Whole("ralph steer".to_owned()))
    );
    assert!(is_wrong(ShownCommand::Named("ralph steer --loud x".to_owned())));
}
