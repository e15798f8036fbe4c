//! Comments on lines: where their lines are after an iteration, what a review found, and comments on a run that no loop
//! serves.

use std::path::{Path, PathBuf};

use ralph_core::{
    event::{
        Checkpoint, CommentAuthor, CommentEvent, CommentPlace, Event, LinesState, PlacedComment, ReviewAnswer,
        SourceLine, UserCommand,
    },
    machine::{LoopState, Statement, comment_events},
    run::{Comment, Message, RunView},
};
use ralph_git::{
    Repository,
    anchor::{locate, place, source_lines},
};
use ralph_plan::claims::finding_place;
use ralph_state::store::lock::Lock;
use ralph_system::{files::read_bytes, os::now_ms, paths::ProjectPaths};
use ralph_words::{closed_in_words, comment_written_in_words, comments_sent_in_words};

use super::open::{OpenError, latest};

/// Most bytes of a commented file.
const FILE_CAP_BYTES: u64 = 4 << 20;

/// The text of a message as an agent reads it.
pub(super) fn message_text(view: &RunView, message: &Message) -> String {
    let text = ralph_words::message_in_prompt(message);
    match view.comments.are_in(message.id) {
        true => ralph_words::comments_in_prompt(&text),
        false => text,
    }
}

/// The comments whose lines are looked for after an iteration.
#[derive(Debug)]
pub(super) struct CommentsBefore {
    comments: Vec<Comment>,
    /// The latest tree in which they were found.
    since: Option<Checkpoint>,
}

impl CommentsBefore {
    pub(super) fn of(view: &RunView) -> Self {
        let open = view.comments.list.iter().filter(|comment| !comment.resolved);
        let rows = view.iterations.rows.iter();
        let settled = rows.rev().find_map(|row| row.after.clone());
        let first = || view.iterations.rows.get(0).and_then(|row| row.before.clone());
        Self {
            comments: open.cloned().collect(),
            since: settled.or_else(first),
        }
    }
}

/// The files of a project as an iteration left them.
pub(super) struct CommentedFiles<'a> {
    pub(super) project: &'a Path,
    pub(super) repository: Option<&'a Repository>,
}

impl CommentedFiles<'_> {
    /// Finds the lines of comments in the files as they are `now`.
    pub(super) fn places_now(&self, before: &CommentsBefore, now: Option<&Checkpoint>) -> Vec<PlacedComment> {
        let mut renames: Option<Vec<(PathBuf, PathBuf)>> = None;
        let placed = before.comments.iter().map(|comment| {
            let mut file = comment.file.clone();
            let mut lines = self.lines(&file);
            if lines.is_none() {
                let renames = renames.get_or_insert_with(|| self.renames(before.since.as_ref(), now));
                if let Some((_, to)) = renames.iter().find(|(from, _)| *from == Path::new(&file)) {
                    file = to.to_string_lossy().into_owned();
                    lines = self.lines(&file);
                }
            }
            let (line, state) = match lines {
                Some(lines) => locate(&comment.place, &lines, comment.line),
                None => (comment.line, LinesState::Gone),
            };
            PlacedComment {
                comment: comment.number,
                file: file.into(),
                line,
                lines: state,
            }
        });
        placed.collect()
    }

    /// The places that the findings of a review name, with the findings. Their lines are read from the checkpoint that
    /// was reviewed, so that no link of an agent's leads elsewhere.
    pub(super) fn findings(&self, stated: &Statement, reviewed: Option<&Checkpoint>) -> Vec<(CommentPlace, String)> {
        let (Some(ReviewAnswer::Findings { findings }), Some(reviewed)) = (&stated.review, reviewed) else {
            return Vec::new();
        };
        let named = findings.found.iter().filter_map(|finding| {
            let (file, line) = finding_place(finding)?;
            let lines = self.lines_at(reviewed, Path::new(file))?;
            let place = CommentPlace {
                checkpoint: Some(reviewed.commit.as_str().into()),
                ..place(file, &lines, line, 1)?
            };
            Some((place, finding.to_string()))
        });
        named.collect()
    }

    /// Looks up the line that `place` names in the result of an iteration; `None` if there is no such line. The file is
    /// named as in a patch, below the root of the repository.
    pub(super) fn quoted(&self, named: &CommentPlace, result: &IterationResult) -> Option<CommentPlace> {
        let path = self.repository?.root().join(named.file.as_str());
        let below = path.strip_prefix(self.project).ok()?;
        let lines = match result {
            IterationResult::Kept(checkpoint) => self.lines_at(checkpoint, below)?,
            // A link of an agent's may lead out of the project.
            IterationResult::Present => {
                let path = path.canonicalize().ok().filter(|path| path.starts_with(self.project))?;
                self.lines(path.to_str()?)?
            }
            IterationResult::Nothing => return None,
        };
        let checkpoint = match result {
            IterationResult::Kept(checkpoint) => Some(checkpoint.commit.as_str().into()),
            IterationResult::Present | IterationResult::Nothing => None,
        };
        Some(CommentPlace {
            iteration: named.iteration,
            checkpoint,
            ..place(below.to_str()?, &lines, named.line, 1)?
        })
    }

    fn lines(&self, file: &str) -> Option<Vec<SourceLine>> {
        let bytes = read_bytes(&self.project.join(file), FILE_CAP_BYTES).ok()?;
        Some(source_lines(&String::from_utf8_lossy(&bytes)))
    }

    fn lines_at(&self, checkpoint: &Checkpoint, file: &Path) -> Option<Vec<SourceLine>> {
        let repository = self.repository?;
        let path = self.project.join(file);
        let file = path.strip_prefix(repository.root()).ok()?;
        let text = repository.text_at(Some(checkpoint), file).ok()??;
        Some(source_lines(&text))
    }

    /// The renamed files below the project, with their paths there.
    fn renames(&self, from: Option<&Checkpoint>, to: Option<&Checkpoint>) -> Vec<(PathBuf, PathBuf)> {
        let (Some(repository), Some(from), Some(to)) = (self.repository, from, to) else {
            return Vec::new();
        };
        let below = |path: PathBuf| {
            let path = repository.root().join(path);
            Some(path.strip_prefix(self.project).ok()?.to_owned())
        };
        // Without the names, the comments are outdated.
        let renamed = repository.renames(from, to).unwrap_or_default().into_iter();
        renamed
            .filter_map(|(from, to)| Some((below(from)?, below(to)?)))
            .collect()
    }
}

/// The files that an iteration left.
#[derive(Debug, Clone)]
pub(super) enum IterationResult {
    Kept(Checkpoint),
    /// The files as they are now, while the iteration runs.
    Present,
    Nothing,
}

impl IterationResult {
    pub(super) fn find(view: &RunView, iteration: Option<u32>) -> Self {
        let row = iteration.and_then(|iteration| view.iterations.numbered(iteration));
        match row.map(|row| (row.number, row.after.clone())) {
            Some((_, Some(after))) => IterationResult::Kept(after),
            Some((number, None)) if number == view.iterations.number && !view.is_over() => IterationResult::Present,
            Some(_) | None => IterationResult::Nothing,
        }
    }
}

/// Fills in the lines of a comment on a run that no loop serves. The command stays as it is if they are not found.
pub fn with_lines(command: UserCommand, view: &RunView, project: &Path, repository: &Repository) -> UserCommand {
    let files = CommentedFiles {
        project,
        repository: Some(repository),
    };
    filled(command, |place| {
        files.quoted(place, &IterationResult::find(view, place.iteration))
    })
}

pub(super) fn filled(command: UserCommand, quoted: impl FnOnce(&CommentPlace) -> Option<CommentPlace>) -> UserCommand {
    match command {
        UserCommand::WriteComment { place, text } => {
            let place = quoted(&place).map_or(place, Box::new);
            UserCommand::WriteComment { place, text }
        }
        command => command,
    }
}

/// The reply to a command about comments that resulted in `events`.
pub(super) fn reply(events: &[Event], view: &RunView) -> String {
    let said = events.iter().find_map(|event| match event {
        Event::Comment(CommentEvent::Written {
            comment,
            place,
            by: CommentAuthor::User,
            ..
        }) => Some(comment_written_in_words(
            *comment,
            &format!("{}:{}", place.file, place.line),
        )),
        Event::Comment(CommentEvent::Edited { comment, .. }) => Some(format!("comment {comment} changed")),
        Event::Comment(CommentEvent::Withdrawn { comment }) => Some(format!("comment {comment} withdrawn")),
        Event::Comment(CommentEvent::Resolved { comment }) => Some(format!("comment {comment} resolved")),
        Event::Comment(CommentEvent::Sent { comments, .. }) => {
            Some(comments_sent_in_words(comments.len(), view.comments.drafts().count()))
        }
        _ => None,
    });
    said.unwrap_or_default()
}

/// Why a command about comments changes nothing.
pub(super) fn refusal(command: &UserCommand, state: &LoopState) -> String {
    let known = |comment: u32| state.view.comments.numbered(comment);
    match command {
        UserCommand::WriteComment { .. } => {
            "the run has as many comments as it can have: withdraw drafts, or send a message".to_owned()
        }
        UserCommand::SendComments { .. } => match state.closed_for_good() {
            Some(closed) if state.view.comments.drafts().next().is_some() => {
                format!("the comments were not sent: {}", closed_in_words(closed, &state.view))
            }
            _ => "there is no draft to send; `ralph comment FILE:LINE \"TEXT\"` writes one".to_owned(),
        },
        UserCommand::ResolveComment { comment } => match known(*comment) {
            Some(known) if known.is_draft() => {
                format!("comment {comment} is a draft: `ralph comment --withdraw {comment}` drops it")
            }
            Some(_) => format!("comment {comment} is resolved already"),
            None => no_comment(*comment),
        },
        UserCommand::EditComment { comment, .. } | UserCommand::WithdrawComment { comment } => match known(*comment) {
            Some(_) => format!("comment {comment} is sent already: `ralph comment --resolve {comment}` closes it"),
            None => no_comment(*comment),
        },
        _ => String::new(),
    }
}

fn no_comment(comment: u32) -> String {
    format!("there is no comment {comment}; `ralph comment` lists them")
}

/// The result of a command about comments when no loop runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentOutcome {
    Done {
        text: String,
    },
    Refused {
        why: String,
    },
    /// No run has been started here yet.
    NoRun,
}

/// Carries out a command about comments in the journal of the last run. The next `ralph` continues that run with comments
/// that were sent.
///
/// # Errors
/// As [`OpenRun::open`](super::OpenRun::open).
pub fn change_comments(paths: &ProjectPaths, command: &UserCommand) -> Result<CommentOutcome, OpenError> {
    if !paths.runs().is_dir() {
        return Ok(CommentOutcome::NoRun);
    }
    let _lock = Lock::take(paths)?;
    let Some(run) = latest(paths)? else {
        return Ok(CommentOutcome::NoRun);
    };
    let mut run = run.into_resumable()?;
    let is_sent = matches!(command, UserCommand::SendComments { .. });
    let is_closed = is_sent && run.state.closed_for_good().is_some();
    let events = match is_closed {
        true => Vec::new(),
        false => comment_events(&run.state, command),
    };
    for event in &events {
        let record = run.journal.append(now_ms(), event.clone())?;
        run.state.apply(&record);
    }
    let plan = run.state.view.settings.plan.display();
    if events.is_empty() {
        let why = refusal(command, &run.state);
        return Ok(CommentOutcome::Refused { why });
    }
    let text = reply(&events, &run.state.view);
    Ok(CommentOutcome::Done {
        text: match is_sent {
            true => format!("{text}; `ralph continue` resumes the run of {plan} with it"),
            false => text,
        },
    })
}
