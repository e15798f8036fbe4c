//! `ralph man`: the manual, generated from the same declarations as the help.
//!
//! The pages are roff in the `man` macros, which every `man` reads: `.TP` begins a term and its description.

use std::{fmt::Write as _, fs, path::Path};

use clap::{Arg, Command};
use ralph_text::console::print;

use crate::error::{Failure, FailureKind};

use super::help::{self, GROUPS};

pub(super) fn run(directory: Option<&Path>) -> Result<u8, Failure> {
    let pages = pages();
    let Some(directory) = directory else {
        print(&pages[0].1);
        return Ok(0);
    };
    let failed = |path: &Path, error| {
        let what = format!("{}: cannot be written: {error}", path.display());
        Failure::new(FailureKind::Failed, what)
            .hint("`ralph man DIR` names another directory, `ralph man` prints the page")
    };
    fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    for (name, page) in &pages {
        let path = directory.join(name);
        fs::write(&path, page).map_err(|error| failed(&path, error))?;
    }
    print(&format!("wrote {} pages to {}\n", pages.len(), directory.display()));
    Ok(0)
}

/// The pages with their file names, that of ralph itself first.
fn pages() -> Vec<(String, String)> {
    let mut command = help::command();
    command.build();
    let mut pages = vec![("ralph.1".to_owned(), page(&command, "ralph"))];
    below(&command, "ralph", &mut pages);
    pages
}

fn below(command: &Command, name: &str, pages: &mut Vec<(String, String)>) {
    for command in typed(command) {
        let name = format!("{name}-{}", command.get_name());
        pages.push((format!("{name}.1"), page(command, &name)));
        below(command, &name, pages);
    }
}

/// The subcommands that users type. Those of ralph itself are hidden from its help, which has them in groups.
fn typed(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|command| command.get_name() != "help" && (!command.is_hide_set() || help::is_in_overview(command)))
}

fn page(command: &Command, name: &str) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page = format!(
        ".TH {} 1 \"\" \"ralph {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        escaped(name),
        escaped(&about)
    );
    page += ".SH SYNOPSIS\n";
    let usage = command.clone().render_usage().to_string();
    for line in usage
        .trim_start_matches("Usage:")
        .lines()
        .filter(|line| !line.trim().is_empty())
    {
        _ = writeln!(page, "{}\n.br", escaped(line.trim()));
    }
    if let Some(long) = command
        .get_long_about()
        .map(ToString::to_string)
        .filter(|long| *long != about)
    {
        _ = writeln!(page, ".SH DESCRIPTION\n{}", escaped(&long));
    }
    match name {
        "ralph" => page += &groups(command),
        _ => page += &section("COMMANDS", typed(command).map(|command| entry(command, name)).collect()),
    }
    page += &arguments(command, name);
    for after in [command.get_after_help(), command.get_after_long_help()]
        .into_iter()
        .flatten()
    {
        page += &after_help(&after.to_string());
    }
    if name != "ralph" {
        page += ".SH SEE ALSO\n.BR ralph (1),\nfor the flags of all commands and the exit codes.\n";
    }
    page
}

/// The commands of ralph in the groups of its help.
fn groups(command: &Command) -> String {
    let mut text = ".SH COMMANDS\n".to_owned();
    for (group, rows) in GROUPS {
        _ = writeln!(text, ".SS {group}");
        let commands = rows.iter().flat_map(|row| row.commands);
        let known = commands.filter_map(|(name, _)| command.find_subcommand(name));
        text.extend(known.map(|command| entry(command, "ralph")));
    }
    text
}

fn entry(command: &Command, above: &str) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let page = format!("{above}-{}", command.get_name());
    term(&format!("\\fB{}\\fR(1)", escaped(&page)), &about)
}

/// The arguments of the command, under the headings of the help.
fn arguments(command: &Command, name: &str) -> String {
    let shown = |arg: &&Arg| !arg.is_hide_set() && (name == "ralph" || !arg.is_global_set());
    let (positional, flags): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(shown)
        .partition(|arg| arg.is_positional());
    let (settings, options): (Vec<&Arg>, Vec<&Arg>) =
        flags.into_iter().partition(|arg| arg.get_help_heading().is_some());
    [("ARGUMENTS", positional), ("OPTIONS", options), ("SETTINGS", settings)]
        .into_iter()
        .map(|(heading, args)| section(heading, args.into_iter().map(argument).collect()))
        .collect()
}

fn argument(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("\\fB\\-{short}\\fR"));
    let long = arg
        .get_long()
        .map(|long| format!("\\fB{}\\fR", escaped(&format!("--{long}"))));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes_value = arg.get_action().takes_values();
    let values = arg.get_value_names().unwrap_or_default().iter().filter(|_| takes_value);
    let values: Vec<String> = values.map(|value| format!("\\fI{}\\fR", escaped(value))).collect();
    let head = [names.join(", "), values.join(" ")].join(" ");
    let help = arg
        .get_long_help()
        .or(arg.get_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    let possible = arg.get_possible_values();
    let possible: Vec<&str> = possible
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name())
        .collect();
    let possible = match takes_value && !possible.is_empty() {
        true => format!(" [one of: {}]", possible.join(", ")),
        false => String::new(),
    };
    term(head.trim(), &format!("{help}{possible}"))
}

/// Formats the text after the help: blocks with a heading, shown verbatim.
fn after_help(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match line.strip_suffix(':').filter(|heading| !heading.starts_with(' ')) {
            Some(heading) if out.is_empty() => _ = writeln!(out, ".SH {}\n.nf", escaped(&heading.to_uppercase())),
            Some(heading) => _ = writeln!(out, ".fi\n.SH {}\n.nf", escaped(&heading.to_uppercase())),
            None => _ = writeln!(out, "{}", escaped(line)),
        }
    }
    out + ".fi\n"
}

fn section(heading: &str, entries: Vec<String>) -> String {
    match entries.is_empty() {
        true => String::new(),
        false => format!(".SH {heading}\n{}", entries.concat()),
    }
}

/// Formats a term, which is roff already, with its description.
fn term(head: &str, text: &str) -> String {
    format!(".TP\n{head}\n{}\n", escaped(text))
}

/// Escapes text for roff: backslash, hyphen, and a dot or quote at the beginning of a line are special there.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = text.lines().map(|line| match line.starts_with(['.', '\'']) {
        true => format!("\\&{line}"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::args::Args;
    use super::*;

    #[test]
    fn every_command_has_its_page_and_every_flag_is_on_one() {
        let pages = pages();
        for (name, page) in &pages {
            assert!(page.starts_with(".TH "), "{name}");
            for section in ["\n.SH NAME\n", "\n.SH SYNOPSIS\n"] {
                assert_eq!(page.matches(section).count(), 1, "{name}: {section}");
            }
            // No typed text has become a macro or an escape sequence of roff.
            let macros = [".TH", ".SH", ".SS", ".TP", ".br", ".nf", ".fi", ".BR"];
            for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
                assert!(
                    macros.contains(&line.split(' ').next().unwrap_or_default()),
                    "{name}: {line}"
                );
            }
        }
        let ralph = &pages[0].1;
        let command = Args::command();
        for visible in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let page = format!("ralph-{}", visible.get_name());
            assert!(pages.iter().any(|(name, _)| *name == format!("{page}.1")), "{page}");
            assert!(ralph.contains(&format!("\\fB{}\\fR(1)", escaped(&page))), "{page}");
        }
        for flag in command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(Arg::get_long)
        {
            assert!(
                ralph.contains(&format!("\\fB{}\\fR", escaped(&format!("--{flag}")))),
                "{flag}"
            );
        }
        assert!(ralph.contains("\n.SH EXIT CODES\n.nf\n"), "{ralph}");
        let config = pages.iter().find(|(name, _)| name == "ralph-config-show.1");
        assert!(config.is_some_and(|(_, page)| page.contains("ralph config show")));
    }
}
