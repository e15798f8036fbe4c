//! `ralph diff`: shows what iterations changed.

use ralph_git::{DiffColour, DiffDetail};
use ralph_review::{DifferenceRequest, difference};
use ralph_state::store::journal::read_view;
use ralph_system::proc::Supervisor;
use ralph_text::{KeptEscapes, PlainText, console};

use crate::{
    config,
    error::{Failure, FailureKind},
    ui::{
        Presentation,
        headless::{OutputFormat, OutputStyle},
    },
};

use super::{
    args::Args,
    restore::which_run,
    run::{place, sources},
    trust,
};

/// Width of the list of files without a terminal, in columns.
const COLUMNS: u16 = 100;

pub(super) fn run(
    args: &Args,
    (n, since, only): (Option<u32>, Option<u32>, &[String]),
    stat: bool,
    run: Option<&str>,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let place = place(args)?;
    let run = which_run(&place.paths, run)?;
    let view = read_view(&place.paths, &run).ok();
    if view
        .as_ref()
        .is_some_and(|view| view.is_over() && view.iterations.rows.is_empty())
    {
        let what = format!("run {run} had no iterations, so it changed nothing");
        return Err(
            Failure::new(FailureKind::Failed, what).hint("`ralph runs` lists the runs, `--run ID` names another")
        );
    }
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let is_shown = console::is_terminal();
    // Git may colour the list of files only: it quotes unusual file names.
    let is_painted_by_git = is_shown && stat && style.colour;
    let colour = if is_painted_by_git {
        DiffColour::Yes
    } else {
        DiffColour::No
    };
    let request = DifferenceRequest {
        n,
        since,
        only: only.to_vec(),
        detail: detail(stat, style),
        colour,
        include: include(args),
        plan: view.map(|view| view.settings.plan.clone()).unwrap_or_default(),
    };
    let difference = difference(&place.paths, &run, request, supervisor)?;
    if difference.bytes.is_empty() {
        console::warn("no file differs");
    }
    if is_shown {
        let keep = if is_painted_by_git {
            KeptEscapes::Colour
        } else {
            KeptEscapes::Nothing
        };
        let lines = lines(&difference.bytes, keep);
        let lines = if style.colour && !stat {
            painted(lines, style)
        } else {
            lines
        };
        console::print_coloured(&(lines.join("\n") + "\n"));
    } else {
        console::pass_on(&difference.bytes);
    }
    if let Some(command) = difference.whole {
        console::warn(&format!("truncated: `{command}` shows all of it"));
    }
    Ok(0)
}

/// The setting `checkpoint.include`. Empty if the settings have mistakes, since a difference can be read without them.
fn include(args: &Args) -> Vec<String> {
    let loaded = trust::place_and_what_is_left_out(args)
        .ok()
        .and_then(|(place, _)| config::load(&sources(args, &place)).ok());
    loaded
        .map(|loaded| loaded.config.checkpoint.include)
        .unwrap_or_default()
}

fn detail(stat: bool, style: OutputStyle) -> DiffDetail {
    if stat {
        DiffDetail::Stat {
            columns: style.columns.unwrap_or(COLUMNS),
        }
    } else {
        DiffDetail::Patch
    }
}

fn lines(difference: &[u8], keep: KeptEscapes) -> Vec<String> {
    let mut lines = Vec::new();
    let mut plain = PlainText::new(keep);
    plain.feed(difference, |line| lines.push(line.to_owned()));
    plain.finish(|line| lines.push(line.to_owned()));
    lines
}

/// Colours a patch as git does. Git's own colours are not used: they cannot be told apart from escape sequences in a
/// file, which can hide a line.
fn painted(lines: Vec<String>, style: OutputStyle) -> Vec<String> {
    let mut is_head = true;
    let paint = |line: String| {
        is_head = line.starts_with("diff --git ") || (is_head && !line.starts_with("@@"));
        match line.chars().next() {
            _ if is_head => style.paint("1", &line),
            Some('@') => style.paint("36", &line),
            Some('+') => style.paint("32", &line),
            Some('-') => style.paint("31", &line),
            Some(_) | None => line,
        }
    };
    lines.into_iter().map(paint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_coloured_by_its_lines_and_not_by_what_is_in_them() {
        let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n--- old\n+\x1b[8mnew\x1b[0m\n same\ndiff --git a/b b/b\n";
        let style = OutputStyle {
            colour: true,
            ..OutputStyle::PLAIN
        };
        let painted = painted(lines(patch.as_bytes(), KeptEscapes::Nothing), style);
        let codes: Vec<&str> = painted.iter().map(|line| line.split('m').next().unwrap()).collect();
        let bold = "\x1b[1";
        let expected = [bold, bold, bold, "\x1b[36", "\x1b[31", "\x1b[32", " sa", bold];
        assert_eq!(codes, expected);
        assert_eq!(painted[5], "\x1b[32m+new\x1b[0m");
    }
}
