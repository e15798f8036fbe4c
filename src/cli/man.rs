//! `ralph man`: the manual, generated from the same declarations as the help.

use std::{fs, path::Path};

use clap::Command;
use clap_mangen::Man;
use ralph_text::console::print;

use crate::error::{Failure, FailureKind};

use super::help;

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
    // The help lists these commands in its overview, and hides them below it.
    let listed = |command: Command| {
        let is_listed = help::is_in_overview(&command);
        command.hide(!is_listed)
    };
    let mut ralph = help::command().disable_help_subcommand(true).mut_subcommands(listed);
    ralph.build();
    let mut pages = Vec::new();
    add(ralph, &mut pages);
    pages
}

/// Adds the pages of a command and its subcommands.
fn add(command: Command, pages: &mut Vec<(String, String)>) {
    // A flag that only the long help shows would be without its text.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    let man = Man::new(command.clone())
        .source(concat!("ralph ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut page = Vec::new();
    man.render(&mut page).expect("a vector takes every write");
    let page = String::from_utf8_lossy(&page).replace(".SH EXTRA\nExit codes:\n", ".SH \"EXIT CODES\"\n");
    let more = match pages.is_empty() {
        true => "",
        false => ".SH \"SEE ALSO\"\n.BR ralph (1),\nfor the exit codes.\n",
    };
    pages.push((man.get_filename(), page + more));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add(below.clone(), pages);
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::args::Args;
    use super::*;

    #[test]
    fn every_command_has_its_page_and_every_flag_is_on_one() {
        let escaped = |text: &str| text.replace('-', "\\-");
        let pages = pages();
        for (name, page) in &pages {
            for section in ["\n.SH NAME\n", "\n.SH SYNOPSIS\n"] {
                assert_eq!(page.matches(section).count(), 1, "{name}: {section}");
            }
        }
        let ralph = &pages[0].1;
        let command = Args::command();
        for visible in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let page = format!("ralph-{}", visible.get_name());
            assert!(pages.iter().any(|(name, _)| *name == format!("{page}.1")), "{page}");
            assert!(ralph.contains(&format!("\n{}(1)\n", escaped(&page))), "{page}");
        }
        for flag in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let Some(name) = flag.get_long() else { continue };
            let (_, entry) = ralph
                .split_once(&format!("\n.TP\n\\fB{}\\fR", escaped(&format!("--{name}"))))
                .or_else(|| ralph.split_once(&format!(", \\fB{}\\fR", escaped(&format!("--{name}")))))
                .unwrap_or_else(|| panic!("{name}"));
            let text = entry.lines().nth(1).unwrap_or_default();
            assert!(!text.is_empty() && !text.starts_with('.'), "{name}: {text}");
        }
        assert!(ralph.contains("\n.SH \"EXIT CODES\"\n"), "{ralph}");
        let config = pages.iter().find(|(name, _)| name == "ralph-config-schema.1");
        assert!(config.is_some_and(|(_, page)| page.contains("ralph config schema")));
    }
}
