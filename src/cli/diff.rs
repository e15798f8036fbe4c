//! `ralph diff`: what one iteration changed.

use std::io::{self, IsTerminal, Write};

use crate::{
    app::Presentation,
    error::{Failure, FailureKind},
    headless::Format,
    host::git::{Colour, Detail, Repository},
    text::{Keep, PlainText},
};

use super::{args::Args, restore::which_run, run::place};

/// How wide the list of files is where no terminal says.
const COLUMNS: u16 = 100;

pub(super) fn run(args: &Args, n: u32, stat: bool, run: Option<&str>) -> Result<u8, Failure> {
    let place = place(args)?;
    let run = which_run(&place.paths, run)?;
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?;
    let (repository, _) = Repository::discover(&place.project, scratch.path())?;
    let (before, after) = repository.around(&run, n)?;
    let style = Presentation::of_stdout(Format::Text).style;
    let detail = if stat {
        Detail::Stat {
            columns: style.columns.unwrap_or(COLUMNS),
        }
    } else {
        Detail::Patch
    };
    let colour = if style.colour { Colour::Yes } else { Colour::No };
    write(&repository.difference(&before, &after, detail, colour)?);
    Ok(0)
}

/// Writes to stdout: as it is where a program reads it, without anything that could move a cursor on a terminal.
fn write(difference: &[u8]) {
    let mut out = io::stdout().lock();
    if !out.is_terminal() {
        _ = out.write_all(difference); // a reader that went away has read enough
        return;
    }
    let mut plain = PlainText::new(Keep::Colour);
    let mut line = |line: &str| _ = writeln!(out, "{line}"); // likewise
    plain.feed(difference, &mut line);
    plain.finish(&mut line);
}
