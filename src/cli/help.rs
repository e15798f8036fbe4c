//! The help: commands in groups, an example of each, and the flags that only `--help` shows.

use clap::{Command, CommandFactory as _, Id};

use super::{args::Args, exit_codes, setting_flags::SETTINGS};

/// A row of the overview: related commands, each with an example that can be typed as it stands.
struct OverviewRow {
    commands: &'static [(&'static str, &'static str)],
    /// Purpose of several commands, for the short help. `None` for a single command, which has its own first line.
    about: Option<&'static str>,
}

const fn one(command: &'static [(&'static str, &'static str)]) -> OverviewRow {
    OverviewRow {
        commands: command,
        about: None,
    }
}

const fn several(commands: &'static [(&'static str, &'static str)], about: &'static str) -> OverviewRow {
    OverviewRow {
        commands,
        about: Some(about),
    }
}

/// The commands that users type, in groups.
const GROUPS: &[(&str, &[OverviewRow])] = &[
    (
        "Begin",
        &[
            one(&[("demo", "ralph demo")]),
            several(
                &[
                    ("init", "ralph init \"Write the parser\" \"Test it with broken input\""),
                    ("setup", "ralph setup shop \"Write the parser\""),
                ],
                "Set up this project, or a new one",
            ),
            several(
                &[
                    ("plan", "ralph plan check"),
                    ("import", "ralph import requirements.md --to PLAN.md"),
                ],
                "Show, check and extend the plan; import requirements",
            ),
            several(
                &[("doctor", "ralph doctor"), ("adapters", "ralph adapters show codex")],
                "Check whether ralph can run here; the agents it knows",
            ),
            several(
                &[
                    ("config", "ralph config show"),
                    ("trust", "ralph trust --show"),
                    ("notify", "ralph notify test"),
                ],
                "Show settings; trust this project's; try notifications",
            ),
            several(
                &[
                    ("completions", "ralph completions bash"),
                    ("man", "ralph man ~/.local/share/man/man1"),
                ],
                "Print completions for your shell, or the manual page",
            ),
        ],
    ),
    (
        "Watch",
        &[
            one(&[("continue", "ralph continue --iterations 10")]),
            several(
                &[
                    ("many", "ralph many api.md ui.md docs.md --jobs 2"),
                    ("take", "ralph take 42 43"),
                    ("engines", "ralph engines show slurm"),
                ],
                "Run plans side by side, also from issues; the engines",
            ),
            several(
                &[
                    ("status", "ralph status --watch"),
                    ("attach", "ralph attach"),
                    ("wait", "ralph wait && git push"),
                ],
                "Show the active run, or wait for its end",
            ),
            several(
                &[("web", "ralph web"), ("token", "ralph token --read-only")],
                "Serve your runs on a web page; the token of the API",
            ),
        ],
    ),
    (
        "Steer",
        &[
            several(
                &[
                    ("steer", "ralph steer \"Use SQLite, not Postgres\""),
                    ("withdraw", "ralph withdraw 2"),
                    ("comment", "ralph comment src/parser.rs:12 \"This loses the last line\""),
                ],
                "Message the agent; comment on lines",
            ),
            several(
                &[
                    ("asks", "ralph asks"),
                    ("answer", "ralph answer 3 no \"use the test database\""),
                ],
                "List what the agent asks, and answer it",
            ),
            several(
                &[("pause", "ralph pause"), ("resume", "ralph resume --now")],
                "Pause after the current iteration, and resume",
            ),
            several(
                &[("skip", "ralph skip"), ("stop", "ralph stop --after-iteration")],
                "End the current iteration, or the run",
            ),
            one(&[("confirm", "ralph confirm")]),
            one(&[("tasks", "ralph tasks start -- npm run dev")]),
            one(&[("reset-circuit", "ralph reset-circuit")]),
        ],
    ),
    (
        "Review",
        &[
            several(
                &[("report", "ralph report --format markdown"), ("runs", "ralph runs")],
                "Summarize a run; list the runs of this project",
            ),
            several(
                &[("diff", "ralph diff 3 --stat"), ("restore", "ralph restore 3")],
                "Show what an iteration changed; restore the files",
            ),
            one(&[("replay", "ralph replay --speed 8")]),
        ],
    ),
    (
        "Verify and confine",
        &[
            one(&[("goals", "ralph goals check")]),
            several(
                &[
                    ("permissions", "ralph permissions test 'git push'"),
                    ("sandbox", "ralph sandbox explain ~/.ssh"),
                ],
                "What agents may do: rules, and confinement",
            ),
            one(&[("mcp", "ralph mcp --without task_add")]),
            one(&[("acp", "ralph acp -a codex")]),
        ],
    ),
];

/// The commands of all groups, each with its example.
pub(super) fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = GROUPS.iter().flat_map(|(_, rows)| *rows);
    rows.flat_map(|row| row.commands).copied()
}

/// The setting flags that `-h` shows.
const FIRST: &[&str] = &["adapter", "model", "plan", "goal", "max-iterations", "sandbox"];

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
    let command = command.before_help(short).before_long_help(long);
    // Changed in one call, because `mut_arg` moves every argument behind the changed one.
    command
        .mut_args(|arg| {
            let is_setting = arg.get_help_heading() == Some(SETTINGS) && !FIRST.contains(&arg.get_id().as_str());
            // The plan is in the usage line right above.
            let is_short = !is_setting && arg.get_id() != "target";
            if is_short { arg } else { arg.hide_short_help(true) }
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

/// The overview of `-h`: a line for each row.
fn short_overview(command: &Command) -> String {
    let mut text = String::new();
    for (group, rows) in GROUPS {
        text += &format!("{group}:\n");
        for row in *rows {
            let names: Vec<&str> = row.commands.iter().map(|(name, _)| *name).collect();
            let about = row.about.map_or_else(|| about(command, names[0]), str::to_owned);
            text += &format!("  {:<22}{about}\n", names.join(", "));
        }
    }
    text + "\n" + EXAMPLES
}

/// The overview of `--help`: a line for each command, with the first clause of its purpose.
fn long_overview(command: &Command) -> String {
    let mut text = String::new();
    for (group, rows) in GROUPS {
        text += &format!("{group}:\n");
        for (name, _) in rows.iter().flat_map(|row| row.commands) {
            text += &format!("  {name:<14} {}\n", about(command, name));
        }
    }
    text + "\n" + EXAMPLES
}

/// The first clause of a command's purpose.
fn about(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about);
    // Taken as ANSI text: stripping styles, of which the text has none, would cost time at every start.
    let about = about.map(|about| about.ansi().to_string());
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

    #[test]
    fn every_command_is_in_a_group_with_an_example_that_can_be_typed() {
        let mut grouped: Vec<&str> = listed().map(|(name, _)| name).collect();
        grouped.sort_unstable();
        let mut visible = visible();
        visible.sort_unstable();
        assert_eq!(grouped, visible);
        for (name, example) in listed() {
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
    fn the_short_help_fits_a_screen_and_the_long_one_has_every_flag() {
        let short = command().term_width(100).render_help().to_string();
        assert!(short.lines().count() <= 60, "{}", short.lines().count());
        assert!(short.lines().all(|line| line.chars().count() <= 100), "{short}");
        let overview = short_overview(&command());
        assert!(overview.lines().all(|line| line.chars().count() <= 80), "{overview}");
        for (name, _) in listed() {
            let is_named = |line: &str| line.split([' ', ',']).any(|word| word == name);
            assert!(overview.lines().any(is_named), "{name}");
        }
        let long = command().term_width(100).render_long_help().to_string();
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
