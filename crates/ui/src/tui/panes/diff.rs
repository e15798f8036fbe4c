//! The changes of iterations: statistics and patch, with a list of files beside them.

use ralph_core::run::{Comment, CommentState};
use ralph_words::comment_state_in_words;
use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::{
    editor::Editor,
    keys::KeyAction,
    model::{CommentDraft, CommentSubject, DiffState, DiffView, InputMode, Model, SIDES_COLS},
    order::{ScreenOrder, Scroll, StepDirection, refused},
    patch::{LineKind, Patch, PatchFile},
    pen::{Pen, columns, flowed},
    theme::TextRole,
};

use super::{
    content::{PaneContent, match_at},
    patch_lines::{digits, pieces, without},
    sides,
};

/// Minimum width for the list of files, shown if there are several.
const FILES_FROM_COLS: u16 = 100;
/// Minimum width for line numbers.
const NUMBERS_FROM_COLS: u16 = 70;
/// Maximum columns of the list.
const FILES_COLS: u16 = 36;
/// Columns scrolled sideways by a key.
const SIDEWAYS: usize = 16;

pub(super) struct DiffContent;

impl PaneContent for DiffContent {
    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        match &model.ui.diff.state {
            DiffState::None => pen.note(area, "No iteration has run."),
            DiffState::Loading => pen.note(area, "Loading the changes…"),
            DiffState::Failed(why) => pen.note(area, why),
            DiffState::Loaded(patch) if patch.lines.is_empty() => pen.note(area, "No changes."),
            DiffState::Loaded(patch) => {
                let area = files(model, patch, area, pen);
                match is_split(model) {
                    true => sides::draw(patch, &model.ui.diff, area, pen),
                    false => lines(patch, &model.ui.diff, area, pen),
                }
                marks(model, patch, area, pen);
            }
        }
    }

    /// The iterations and the current file.
    fn note(&self, model: &Model) -> String {
        let diff = &model.ui.diff;
        let (Some(iteration), DiffState::Loaded(patch)) = (diff.iteration, &diff.state) else {
            return String::new();
        };
        let first = model.run.iterations.rows.get(0).map(|first| first.number);
        let of = match diff.since {
            None => format!("iteration {iteration}"),
            since if since == first && model.run.iterations.number == iteration => "the whole run".to_owned(),
            Some(since) => format!("iterations {since} to {iteration}"),
        };
        let of = match diff.cursor.and_then(|at| comment_at(model, patch, at)) {
            Some(comment) => format!("{of} · comment {}: {}", comment.number, comment_state_in_words(comment)),
            None => of,
        };
        match patch.file_at(diff.top) {
            Some(at) if patch.files.len() > 1 => format!("{of} · file {} of {}", at + 1, patch.files.len()),
            _ => of,
        }
    }

    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        if let Some(patch) = patch(model) {
            patch.lines.iter().for_each(|line| take(line));
        }
    }

    fn at(&self, model: &Model) -> usize {
        model.ui.diff.top
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.diff.top = at;
    }

    fn last(&self, model: &Model) -> usize {
        let height = usize::from(model.content_area().height);
        // A wrapped line may take all of the rows.
        let shown = if model.ui.diff.wrap { 1 } else { height };
        match patch(model) {
            Some(patch) if is_split(model) => patch.first_line(patch.sides.len().saturating_sub(shown)),
            Some(patch) => patch.lines.len().saturating_sub(shown),
            None => 0,
        }
    }

    /// Less than a page may follow the beginning of the last file, which can be at the top.
    fn scroll(&self, model: &mut Model, by: Scroll) -> Vec<ScreenOrder> {
        if model.ui.diff.cursor.is_some() {
            move_cursor(model, by);
            return Vec::new();
        }
        let (top, last) = (model.ui.diff.top, self.last(model));
        model.ui.diff.top = match patch(model) {
            Some(patch) if is_split(model) => patch.first_line(by.downwards(patch.row_of(top), patch.row_of(last))),
            Some(_) | None => by.downwards(top, last),
        };
        Vec::new()
    }

    fn row_of(&self, model: &Model, area: Rect, line: usize) -> Option<u16> {
        let top = model.ui.diff.top;
        let below = match patch(model)? {
            patch if is_split(model) => patch.row_of(line).checked_sub(patch.row_of(top))?,
            _ => line.checked_sub(top)?,
        };
        let below = u16::try_from(below).ok()?;
        Some(area.y.saturating_add(below)).filter(|y| *y < area.bottom())
    }

    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        match action {
            KeyAction::Comment => return comment(model),
            KeyAction::NextFile => go_to_file(model, StepDirection::Next),
            KeyAction::PreviousFile => go_to_file(model, StepDirection::Previous),
            KeyAction::Leftwards => scroll_sideways(model, StepDirection::Previous),
            KeyAction::Rightwards => scroll_sideways(model, StepDirection::Next),
            KeyAction::CompareEarlier => return compare(model, StepDirection::Previous),
            KeyAction::CompareLater => return compare(model, StepDirection::Next),
            KeyAction::Split => {
                model.ui.diff.unified = !model.ui.diff.unified;
                if !model.has_room_for_sides() {
                    return refused(
                        model,
                        "the sides are beside each other from 160 columns on (z gives the pane more)",
                    );
                }
            }
            KeyAction::Wrap => {
                model.ui.diff.wrap = !model.ui.diff.wrap;
                model.ui.diff.left = 0;
            }
            _ => {}
        }
        Vec::new()
    }

    /// The beginning of the file whose name is there.
    fn hit(&self, model: &Model, area: Rect, at: Position) -> Option<usize> {
        let patch = patch(model)?;
        let (list, first) = file_list(model, patch, area)?;
        let file = first + usize::from(at.y.checked_sub(list.y)?);
        Some(patch.files.get(file).filter(|_| list.contains(at))?.at)
    }

    /// The line of a match, or else the hunk or file header at the top with its lines.
    fn copy(&self, model: &Model) -> Option<String> {
        let lines = &patch(model)?.lines;
        let at = self.at(model);
        if let Some(line) = match_at(at, model) {
            return lines.get(line).cloned();
        }
        let begins = |line: &String| line.starts_with("@@") || line.starts_with("diff ");
        let start = lines.iter().take(at + 1).rposition(begins).unwrap_or(0);
        let rest = lines.get(start..)?;
        let end = rest.iter().skip(1).position(begins).map_or(rest.len(), |at| at + 1);
        Some(rest[..end].join("\n"))
    }

    fn file(&self) -> &'static str {
        "changes.diff"
    }
}

/// Shows the changes of `iteration`; a repeated call reloads them.
pub(in crate::tui) fn show(model: &mut Model, iteration: u32) -> Vec<ScreenOrder> {
    let diff = &mut model.ui.diff;
    if diff.iteration != Some(iteration) {
        diff.since = None;
        begin(model, iteration);
    }
    vec![ScreenOrder::LoadDiff]
}

fn begin(model: &mut Model, iteration: u32) {
    let diff = &mut model.ui.diff;
    (diff.top, diff.left, diff.cursor) = (0, 0, None);
    diff.state = DiffState::Loading;
    diff.iteration = Some(iteration);
}

/// Takes a loaded patch, unless another one is wanted by now.
pub(in crate::tui) fn loaded(
    model: &mut Model,
    since: u32,
    iteration: u32,
    patch: Result<Patch, String>,
) -> Vec<ScreenOrder> {
    let diff = &mut model.ui.diff;
    if diff.iterations() != Some((since, iteration)) {
        return match diff.iteration {
            Some(_) => vec![ScreenOrder::LoadDiff],
            None => Vec::new(),
        };
    }
    diff.state = match patch {
        Ok(patch) => DiffState::Loaded(patch),
        Err(why) => DiffState::Failed(why),
    };
    model.ui.diff.top = model.ui.diff.top.min(DiffContent.last(model));
    // The chosen line may be another one in the new patch.
    model.ui.diff.cursor = None;
    Vec::new()
}

/// Moves the start of the comparison an iteration back or forth. After the run's start comes the iteration alone, and
/// vice versa.
fn compare(model: &mut Model, way: StepDirection) -> Vec<ScreenOrder> {
    let diff = &model.ui.diff;
    let first = model.run.iterations.rows.get(0).map(|first| first.number);
    let (Some(iteration), Some(first)) = (diff.iteration, first) else {
        return Vec::new();
    };
    let since = diff.since.unwrap_or(iteration);
    let since = match way {
        StepDirection::Previous if since <= first => iteration,
        StepDirection::Previous => since - 1,
        StepDirection::Next if since >= iteration => first,
        StepDirection::Next => since + 1,
    };
    if first == iteration {
        return refused(model, "there is no earlier iteration to compare with");
    }
    model.ui.diff.since = Some(since).filter(|since| *since != iteration);
    begin(model, iteration);
    vec![ScreenOrder::LoadDiff]
}

fn patch(model: &Model) -> Option<&Patch> {
    match &model.ui.diff.state {
        DiffState::Loaded(patch) => Some(patch),
        DiffState::None | DiffState::Loading | DiffState::Failed(_) => None,
    }
}

/// A line of an iteration's result.
struct ChosenLine {
    /// Its index in the patch.
    at: usize,
    file: String,
    line: u32,
    iteration: u32,
}

/// Returns the chosen line. If none is chosen, chooses one and says what can be done with it.
fn chosen_line(model: &mut Model) -> Option<ChosenLine> {
    let diff = &model.ui.diff;
    let Some(at) = diff.cursor else {
        let from = match_at(diff.top, model).unwrap_or(diff.top);
        let first = patch(model).and_then(|patch| {
            let mut lines = (from..patch.lines.len()).chain(0..from);
            lines.find(|at| patch.new_line(*at).is_some())
        });
        if first.is_none() {
            refused(model, "there is no line to choose");
            return None;
        }
        model.ui.diff.cursor = first;
        // Rows of wrapped lines would not be those of the chosen ones.
        model.ui.diff.wrap = false;
        move_cursor(model, Scroll::Up(0));
        refused(model, "Up and Down choose the line, C comments on it, Esc leaves");
        return None;
    };
    let patch = patch(model)?;
    Some(ChosenLine {
        at,
        file: patch.files.get(patch.file_at(at)?)?.name.clone(),
        line: patch.new_line(at)?,
        iteration: diff.iteration?,
    })
}

/// Begins a comment on the chosen line, or edits its draft.
fn comment(model: &mut Model) -> Vec<ScreenOrder> {
    let Some(ChosenLine {
        at,
        file,
        line,
        iteration,
    }) = chosen_line(model)
    else {
        return Vec::new();
    };
    let known = patch(model).and_then(|patch| comment_at(model, patch, at));
    let draft = match known.filter(|comment| comment.is_draft()) {
        Some(comment) => CommentDraft {
            subject: CommentSubject::Draft { number: comment.number },
            editor: Editor::with_text(&comment.text),
        },
        None => CommentDraft {
            subject: CommentSubject::Line { file, line, iteration },
            editor: Editor::default(),
        },
    };
    model.ui.mode = InputMode::Commenting(draft);
    Vec::new()
}

/// Moves the chosen line among those of the new side, and keeps it in view.
fn move_cursor(model: &mut Model, by: Scroll) {
    let height = usize::from(model.content_area().height).max(1);
    let is_split = is_split(model);
    let Some((patch, cursor)) = patch(model).zip(model.ui.diff.cursor) else {
        return;
    };
    let lines: Vec<usize> = (0..patch.lines.len())
        .filter(|at| patch.new_line(*at).is_some())
        .collect();
    let at = lines.partition_point(|line| *line < cursor);
    let Some(&cursor) = lines.get(by.downwards(at, lines.len().saturating_sub(1))) else {
        return;
    };
    let row = |line: usize| if is_split { patch.row_of(line) } else { line };
    let line = |row: usize| if is_split { patch.first_line(row) } else { row };
    let (shown, first) = (row(cursor), row(model.ui.diff.top));
    let top = line(first.clamp((shown + 1).saturating_sub(height), shown));
    (model.ui.diff.cursor, model.ui.diff.top) = (Some(cursor), top);
}

/// The last comment on the line at `at` of the patch.
fn comment_at<'m>(model: &'m Model, patch: &Patch, at: usize) -> Option<&'m Comment> {
    let (line, file) = (patch.new_line(at)?, &patch.files.get(patch.file_at(at)?)?.name);
    let iteration = model.ui.diff.iteration;
    let is_latest = iteration == Some(model.run.iterations.number);
    // The patch names files from the root of the repository, of which the project may be a part.
    let is_file = |known: &str| {
        file.strip_suffix(known)
            .is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    let is_here = |comment: &&Comment| {
        let as_written = iteration.is_some() && comment.place.iteration == iteration;
        as_written && comment.place.line == line && is_file(&comment.place.file)
            || is_latest && !comment.is_outdated() && comment.line == line && is_file(&comment.file)
    };
    model.run.comments.list.iter().rev().find(is_here)
}

/// The role of a comment's state.
pub(in crate::tui) fn comment_role(comment: &Comment) -> TextRole {
    match comment.state() {
        CommentState::Draft => TextRole::User,
        CommentState::Open | CommentState::Answered => TextRole::Wait,
        CommentState::Changed { .. } | CommentState::Resolved => TextRole::Good,
    }
}

/// Draws the chosen line, and a sign before each line that has a comment.
fn marks(model: &Model, patch: &Patch, area: Rect, pen: &mut Pen<'_>) {
    let row = |line: usize| DiffContent.row_of(model, area, line);
    if let Some(y) = model.ui.diff.cursor.and_then(row) {
        let chosen = Rect::new(area.x, y, area.width, 1);
        pen.buffer.set_style(chosen, pen.theme.style(TextRole::Chosen));
    }
    if model.run.comments.list.is_empty() || model.ui.diff.wrap {
        return;
    }
    let shown = (model.ui.diff.top..patch.lines.len()).map_while(|line| Some((line, row(line)?)));
    let shown: Vec<(usize, u16)> = shown.collect();
    for (line, y) in shown {
        if let Some(comment) = comment_at(model, patch, line) {
            pen.role(area.x, y, area.right(), pen.theme.glyphs.user, comment_role(comment));
        }
    }
}

/// Goes to the beginning of the next file, or of the current one and then the one before.
fn go_to_file(model: &mut Model, way: StepDirection) {
    let top = model.ui.diff.top;
    let Some(patch) = patch(model) else { return };
    let mut files = patch.files.iter().map(|file| file.at);
    let at = match way {
        StepDirection::Next => files.find(|at| *at > top),
        StepDirection::Previous => files.rfind(|at| *at < top).or(Some(0)),
    };
    // Even if less than a page follows: the current file is the one at the top.
    if let Some(at) = at {
        model.ui.diff.top = at;
    }
}

fn scroll_sideways(model: &mut Model, way: StepDirection) {
    let widest = patch(model).map_or(0, |patch| patch.widest);
    let diff = &mut model.ui.diff;
    diff.left = match way {
        _ if diff.wrap => 0,
        StepDirection::Next => (diff.left + SIDEWAYS).min(widest.saturating_sub(SIDEWAYS)),
        StepDirection::Previous => diff.left.saturating_sub(SIDEWAYS),
    };
}

/// Whether both sides are shown beside each other.
fn is_split(model: &Model) -> bool {
    !model.ui.diff.unified && model.has_room_for_sides()
}

/// The area of the file list, if there is room, and the first visible file.
fn file_list(model: &Model, patch: &Patch, area: Rect) -> Option<(Rect, usize)> {
    let top = model.ui.diff.top;
    // Both sides need the room more than the list does.
    let from = match is_split(model) {
        true => SIDES_COLS + FILES_COLS + 1,
        false => FILES_FROM_COLS,
    };
    if area.width < from || patch.files.len() < 2 {
        return None;
    }
    let height = usize::from(area.height);
    let first = patch.file_at(top).unwrap_or(0).saturating_sub(height / 2);
    let first = first.min(patch.files.len().saturating_sub(height));
    let width = FILES_COLS.min(area.width / 3);
    Some((Rect { width, ..area }, first))
}

/// Draws the file list, if there is room. Returns the remaining area.
fn files(model: &Model, patch: &Patch, area: Rect, pen: &mut Pen<'_>) -> Rect {
    let Some((list, first)) = file_list(model, patch, area) else {
        return area;
    };
    let current = patch.file_at(model.ui.diff.top);
    let (width, bar) = (list.width, list.right());
    for (y, (at, file)) in (area.top()..area.bottom()).zip(patch.files.iter().enumerate().skip(first)) {
        let row = Rect::new(area.x, y, width, 1);
        name(file, row, pen);
        if current == Some(at) {
            pen.buffer.set_style(row, pen.theme.style(TextRole::Chosen));
        }
    }
    for y in area.top()..area.bottom() {
        pen.role(bar, y, bar + 1, pen.theme.glyphs.bar, TextRole::GaugeRest);
    }
    Rect::new(bar + 1, area.y, area.width - width - 1, area.height)
}

fn name(file: &PatchFile, row: Rect, pen: &mut Pen<'_>) {
    let end = row.right().saturating_sub(1);
    let mut right = end;
    // A file whose lines are all the same has no figures.
    if file.added > 0 || file.removed > 0 {
        let removed = format!("{}{}", pen.theme.glyphs.minus, file.removed);
        right = pen.right(row.x, row.y, right, &removed, pen.theme.style(TextRole::Removed));
        let added = format!("+{} ", file.added);
        right = pen.right(row.x, row.y, right, &added, pen.theme.style(TextRole::Added));
    }
    if !file.note.is_empty() {
        let gap = if right == end { "" } else { " " };
        let note = format!("{}{gap}", file.note);
        right = pen.right(row.x, row.y, right, &note, pen.theme.style(TextRole::Dim));
    }
    let room = usize::from(right.saturating_sub(row.x + 2));
    // The end of a path is more informative than its beginning.
    let name = ending(&file.name, room, pen.theme.glyphs.more);
    pen.role(row.x + 1, row.y, right.saturating_sub(1), &name, TextRole::Plain);
}

fn ending(name: &str, room: usize, mark: &str) -> String {
    if usize::from(columns(name)) <= room {
        return name.to_owned();
    }
    let mut taken = usize::from(columns(mark));
    let kept = name.graphemes(true).rev().take_while(|grapheme| {
        taken += usize::from(columns(grapheme));
        taken <= room
    });
    let kept: usize = kept.map(str::len).sum();
    format!("{mark}{}", &name[name.len() - kept..])
}

fn lines(patch: &Patch, diff: &DiffView, area: Rect, pen: &mut Pen<'_>) {
    let numbers = if area.width >= NUMBERS_FROM_COLS {
        digits(patch, diff, area)
    } else {
        0
    };
    let start = area.x + 1 + numbers + u16::from(numbers > 0);
    let room = usize::from(area.right().saturating_sub(start)).max(1);
    let mut y = area.y;
    for (at, kind) in patch.kinds.iter().enumerate().skip(diff.top) {
        if y >= area.bottom() {
            return;
        }
        if let (LineKind::Same(number) | LineKind::Added(number) | LineKind::Removed(number), 1..) = (kind, numbers) {
            let end = start.saturating_sub(1);
            pen.right(area.x, y, end, &number.to_string(), pen.theme.style(TextRole::Dim));
        }
        let pieces = pieces(patch, at, pen);
        if diff.wrap {
            for row in flowed(&pieces, room) {
                if y < area.bottom() {
                    pen.pieces(start, y, area.right(), &row);
                    y += 1;
                }
            }
        } else {
            pen.pieces(start, y, area.right(), &without(&pieces, diff.left));
            y += 1;
        }
    }
}
