//! The help: commands in groups, an example of each, and the flags that only `--help` shows.

use clap::{Command, CommandFactory as _, Id};

use super::{args::Args, exit_codes};

/// The commands that users type, in groups, each with an example that can be typed as it stands.
const GROUPS: &[(&str, &[(&str, &str)])] = &[
    (
        "Begin",
        &[
            ("demo", "ralph demo"),
            ("init", "ralph init \"Write the parser\" \"Test it with broken input\""),
            ("setup", "ralph setup shop \"Write the parser\""),
            ("plan", "ralph plan check"),
            ("import", "ralph import requirements.md --to PLAN.md"),
            ("doctor", "ralph doctor"),
            ("adapters", "ralph adapters show codex"),
            ("config", "ralph config"),
            ("trust", "ralph trust --show"),
            ("notify", "ralph notify"),
            ("completions", "ralph completions bash"),
            ("man", "ralph man ~/.local/share/man/man1"),
        ],
    ),
    (
        "Watch",
        &[
            ("continue", "ralph continue --iterations 10"),
            ("many", "ralph many api.md ui.md docs.md --jobs 2"),
            ("take", "ralph take 42 43"),
            ("engines", "ralph engines slurm"),
            ("status", "ralph status --watch"),
            ("attach", "ralph attach"),
            ("wait", "ralph wait && git push"),
            ("web", "ralph web"),
            ("token", "ralph token --read-only"),
        ],
    ),
    (
        "Steer",
        &[
            ("steer", "ralph steer \"Use SQLite, not Postgres\""),
            ("comment", "ralph comment src/parser.rs:12 \"This loses the last line\""),
            ("asks", "ralph asks"),
            ("answer", "ralph answer 3 no \"use the test database\""),
            ("pause", "ralph pause"),
            ("resume", "ralph resume --now"),
            ("skip", "ralph skip"),
            ("stop", "ralph stop --after-iteration"),
            ("confirm", "ralph confirm"),
            ("tasks", "ralph tasks start -- npm run dev"),
            ("reset-circuit", "ralph reset-circuit"),
        ],
    ),
    (
        "Review",
        &[
            ("report", "ralph report --format markdown"),
            ("runs", "ralph runs"),
            ("diff", "ralph diff 3 --stat"),
            ("restore", "ralph restore 3"),
            ("replay", "ralph replay --speed 8"),
        ],
    ),
    (
        "Verify and confine",
        &[
            ("goals", "ralph goals check"),
            ("permissions", "ralph permissions test 'git push'"),
            ("sandbox", "ralph sandbox explain ~/.ssh"),
            ("mcp", "ralph mcp --without task_add"),
            ("acp", "ralph acp -a codex"),
        ],
    ),
];

/// The commands of a day, which `-h` shows.
const OF_A_DAY: [&str; 10] = [
    "demo", "init", "plan", "continue", "attach", "steer", "answer", "stop", "report", "diff",
];

/// The commands of all groups, each with its example. Those of a leaf that is left out are among them.
pub(super) fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    GROUPS.iter().flat_map(|(_, rows)| *rows).copied()
}

/// The flags of a day, with the words that `-h` has for them.
const FLAGS_OF_A_DAY: [(&str, &str); 3] = [
    ("adapter", "The agent [default: the one that is logged in]"),
    ("max-iterations", "Stop after N iterations [default: 50]"),
    ("goal", "A command that has to pass: tests='cargo test'"),
];

const SHORT_ABOUT: &str = "Run your coding agent in a loop until every task is done and verified";

const SHORT_HEAD: &str = "Commands of a day; `ralph --help` lists all, `ralph help COMMAND` explains one:\n";

const EXAMPLES: &str = "\
Examples:
  ralph demo                                   see it work, without a model
  ralph init                                   find its tests, begin a plan
  ralph PLAN.md                                with the agent that is installed
  ralph \"Write the parser\"                     one task, without a plan
  ralph -a codex -g tests='cargo test' -n 20   until the tests pass, or 20 times";

/// The clap command with the texts around its help.
pub(super) fn command() -> Command {
    let command = Args::command().after_long_help(exit_codes::help());
    let (short, long) = (short_overview(&command), long_overview(&command));
    let about = command.get_about().cloned().unwrap_or_default();
    let command = command.about(SHORT_ABOUT).long_about(about);
    let command = command.before_help(short).before_long_help(long);
    // Changed in one call, because `mut_arg` moves every argument behind the changed one.
    command
        .mut_args(|arg| {
            let short = FLAGS_OF_A_DAY.iter().find(|(name, _)| arg.get_id() == *name);
            let long = arg.get_help().cloned().unwrap_or_default();
            match short {
                Some((_, short)) => arg.help(*short).long_help(long).help_heading(None::<&str>),
                None => arg.hide_short_help(true),
            }
        })
        .mut_subcommands(|command| {
            let Some((_, example)) = listed().find(|(name, _)| *name == command.get_name()) else {
                return command;
            };
            // The overview already lists these commands.
            let command = command.hide(true);
            match command.get_after_help() {
                Some(_) => command,
                None => command.after_help(format!("Example:\n    {example}")),
            }
        })
        .help_template("{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}")
}

/// As [`command`], but the help of a command does not repeat the options that all commands have. Takes more time.
pub(super) fn command_for_help() -> Command {
    let mut command = command();
    // `ralph plan` has a `--plan` of its own.
    let of_all: Vec<Id> = command.get_arguments().map(|arg| arg.get_id().clone()).collect();
    command.build();
    command.mut_subcommands(|command| without_options_of_all(command, &of_all))
}

fn without_options_of_all(command: Command, of_all: &[Id]) -> Command {
    let after = command
        .get_after_help()
        .map(|after| format!("{after}\n\n"))
        .unwrap_or_default();
    command
        .mut_args(|arg| match arg.is_global_set() && of_all.contains(arg.get_id()) {
            true => arg.hide(true),
            false => arg,
        })
        .after_long_help(format!("{after}Options of all commands: `ralph --help`"))
        .mut_subcommands(|command| without_options_of_all(command, of_all))
}

/// Whether the overview lists the command.
pub(super) fn is_in_overview(command: &Command) -> bool {
    listed().any(|(name, _)| name == command.get_name())
}

/// The overview of `-h`: a line for each command of a day.
fn short_overview(command: &Command) -> String {
    format!("{SHORT_HEAD}{}", rows(command, OF_A_DAY).trim_end())
}

/// The overview of `--help`: a line for each command.
fn long_overview(command: &Command) -> String {
    let mut text = String::new();
    for (group, listed) in GROUPS {
        text += &format!("{group}:\n");
        text += &rows(command, listed.iter().map(|(name, _)| *name));
    }
    text + "\n" + EXAMPLES
}

/// A line for each command that there is, with the first clause of its purpose.
fn rows(command: &Command, names: impl IntoIterator<Item = &'static str>) -> String {
    let row = |name| Some(format!("  {name:<14} {}\n", about(command.find_subcommand(name)?)));
    names.into_iter().filter_map(row).collect()
}

/// The first clause of a command's purpose.
fn about(command: &Command) -> String {
    // Taken as ANSI text: stripping styles, of which the text has none, would cost time at every start.
    let about = command.get_about().map(|about| about.ansi().to_string());
    first_clause(&about.unwrap_or_default()).to_owned()
}

/// Returns the text before the first comma, colon, semicolon or bracket. The command's own help has the rest.
fn first_clause(about: &str) -> &str {
    about.split([',', ':', ';', '(']).next().unwrap_or(about).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible() -> Vec<String> {
        let command = Args::command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        visible.map(|command| command.get_name().to_owned()).collect()
    }

    /// The commands of all groups that this ralph has.
    fn listed_here() -> impl Iterator<Item = (&'static str, &'static str)> {
        let visible = visible();
        // A ralph with all leaves has each of them.
        listed().filter(move |(name, _)| cfg!(feature = "full") || visible.iter().any(|there| there == name))
    }

    #[test]
    fn every_command_is_in_a_group_with_an_example_that_can_be_typed() {
        let mut grouped: Vec<&str> = listed_here().map(|(name, _)| name).collect();
        grouped.sort_unstable();
        let mut visible = visible();
        visible.sort_unstable();
        assert_eq!(grouped, visible);
        for (name, example) in listed_here() {
            let typed = example.split(" && ").next().expect("one");
            let words = typed
                .split(['"', '\''])
                .enumerate()
                .flat_map(|(at, part)| match at % 2 {
                    0 => part.split_whitespace().collect::<Vec<_>>(),
                    _ => vec![part],
                });
            let matches = command().try_get_matches_from(words);
            let matches = matches.unwrap_or_else(|error| panic!("{example}: {error}"));
            assert_eq!(matches.subcommand_name(), Some(name));
        }
    }

    #[cfg(feature = "full")]
    #[test]
    fn every_command_that_stands_for_one_of_another_loop_can_be_typed() {
        let page = include_str!("../../docs/guide/other-loops.md");
        let quoted = page.split('`').skip(1).step_by(2);
        let typed = quoted.filter(|text| *text == "ralph" || text.starts_with("ralph "));
        let mut count = 0;
        for line in typed {
            let words = line.split_whitespace().map(|word| word.trim_matches('"'));
            let matches = command().try_get_matches_from(words);
            matches.unwrap_or_else(|error| panic!("{line}: {error}"));
            count += 1;
        }
        assert!(count > 30, "{count}");
    }

    #[test]
    fn the_short_help_fits_a_screen_and_the_long_one_has_every_command_and_flag() {
        let short = command().term_width(80).render_help().to_string();
        assert!(short.trim_end().lines().count() <= 24, "{short}");
        assert!(short.lines().all(|line| line.chars().count() <= 80), "{short}");
        for name in OF_A_DAY {
            assert!(listed().any(|(listed, _)| listed == name), "{name}");
        }
        for (name, _) in FLAGS_OF_A_DAY {
            assert!(short.contains(&format!("--{name} ")), "{name}");
        }
        let overview = long_overview(&command());
        assert!(overview.lines().all(|line| line.chars().count() <= 80), "{overview}");
        let long = command().term_width(100).render_long_help().to_string();
        for (name, _) in listed_here() {
            assert!(long.contains(&format!("\n  {name} ")), "{name}");
        }
        for flag in command()
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(clap::Arg::get_long)
        {
            assert!(long.contains(&format!("--{flag}")), "{flag}");
        }
        insta::assert_snapshot!(short);
    }
}
