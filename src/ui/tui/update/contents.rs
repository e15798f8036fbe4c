//! The lines of panes that search and copying work on. Lines of terminals are not in the model.

use ralph_core::run::{AskEntry, AskSubject};
use ralph_text::one_line;

use crate::ui::tui::{
    keys::KeyFocus,
    model::{
        DiffState, IterationPart, Model, Pane, ReportRow, ask_in_words, background_at, listed, message_at, position,
        select,
    },
    patch::Patch,
    search_query::SearchDirection,
    view,
};

/// The lines of a pane and the user's position in them.
pub(super) trait PaneContent {
    /// Calls `take` for every line, in order.
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str));

    /// The selected line, or the first visible one; one past the last if the view follows new lines.
    fn at(&self, model: &Model) -> usize;

    /// Selects the line, or scrolls it to the top.
    fn put(&self, model: &mut Model, at: usize);

    /// The full text of the selected item.
    fn chosen(&self, model: &Model) -> Option<String> {
        let at = self.at(model);
        line(self, model, match_at(at, model).unwrap_or(at))
    }

    /// Whether the pane has a selected line.
    fn chooses(&self) -> bool {
        true
    }

    /// The preferred direction of a search.
    fn direction(&self) -> SearchDirection {
        SearchDirection::Down
    }
}

/// The lines of the focused pane; `None` for terminals.
pub(super) fn lines(model: &Model) -> Option<&'static dyn PaneContent> {
    Some(match KeyFocus::from_ui(&model.ui) {
        KeyFocus::Plan => &PlanContent,
        KeyFocus::View(Pane::Log) => &LogContent,
        KeyFocus::View(Pane::Diff) => &DiffContent,
        KeyFocus::View(Pane::History) => match model.ui.history.open.as_ref().map(|open| open.part) {
            None => &HistoryContent,
            Some(IterationPart::Diff) => &DiffContent,
            Some(IterationPart::Goals | IterationPart::Messages) => &IterationContent,
            Some(IterationPart::Transcript) => return None,
        },
        KeyFocus::View(Pane::Report) => &ReportContent,
        KeyFocus::View(Pane::Messages) if model.ui.reading.is_some() => &MessageContent,
        KeyFocus::View(Pane::Messages) => &MessageListContent,
        KeyFocus::View(Pane::Asks) if model.ui.asks.reading.is_some() => &AskContent,
        KeyFocus::View(Pane::Asks) => &AskListContent,
        KeyFocus::View(Pane::Limits) => &LimitsContent,
        KeyFocus::View(Pane::Background) => &BackgroundContent,
        KeyFocus::View(Pane::Terminal) => return None,
    })
}

/// The full text of the selected item in the focused pane.
pub(super) fn chosen(model: &Model) -> Option<String> {
    lines(model)?.chosen(model)
}

/// The content of the focused pane with a file name for it. For messages and questions, only the selected one.
pub(super) fn document(model: &Model) -> Option<(&'static str, String)> {
    let lines = lines(model)?;
    let place = KeyFocus::from_ui(&model.ui);
    let text = match place {
        KeyFocus::View(Pane::Messages) | KeyFocus::View(Pane::Asks) => lines.chosen(model)?,
        _ => whole(lines, model),
    };
    let name = match place {
        KeyFocus::Plan => "plan.txt",
        KeyFocus::View(Pane::Terminal) => "transcript.txt",
        KeyFocus::View(Pane::Log) => "log.txt",
        KeyFocus::View(Pane::History) => match model.ui.history.open.as_ref().map(|open| open.part) {
            Some(IterationPart::Diff) => "changes.diff",
            _ => "iterations.txt",
        },
        KeyFocus::View(Pane::Diff) => "changes.diff",
        KeyFocus::View(Pane::Messages) => "message.md",
        KeyFocus::View(Pane::Asks) => "question.txt",
        KeyFocus::View(Pane::Limits) => "limits.txt",
        KeyFocus::View(Pane::Background) => "tasks.txt",
        KeyFocus::View(Pane::Report) => "report.txt",
    };
    (!text.trim().is_empty()).then_some((name, text))
}

/// The line of the current match, if the user is still there.
fn match_at(at: usize, model: &Model) -> Option<usize> {
    let landed = model.ui.search.landed?;
    let is_here = (landed.pane, landed.focus, landed.at) == (model.ui.pane, model.ui.focus, at);
    is_here.then_some(landed.line)
}

/// The text of a line, or of the last one if there are fewer lines.
fn line(lines: &(impl PaneContent + ?Sized), model: &Model, at: usize) -> Option<String> {
    let (mut found, mut last, mut count) = (None, String::new(), 0);
    lines.each(model, &mut |text| {
        if count == at {
            found = Some(text.to_owned());
        }
        last.clear();
        last.push_str(text);
        count += 1;
    });
    found.or((count > 0).then_some(last))
}

fn whole(lines: &(impl PaneContent + ?Sized), model: &Model) -> String {
    let mut all = String::new();
    lines.each(model, &mut |line| {
        all.push_str(line);
        all.push('\n');
    });
    all
}

/// The command, the URL, the change or the question.
fn what_was_asked(entry: &AskEntry) -> String {
    match &entry.what {
        AskSubject::Request { request, .. } => {
            let parts = [&request.command, &request.url, &request.diff];
            let what = parts.into_iter().flatten().next();
            what.unwrap_or(&request.title).clone()
        }
        AskSubject::Title { title, .. } => title.clone(),
        AskSubject::Block { question, .. } => question.clone(),
    }
}

/// Selects a line, or scrolls it into view with a third of the height above it.
pub(super) fn go(lines: &dyn PaneContent, model: &mut Model, line: usize) {
    if lines.chooses() {
        return lines.put(model, line);
    }
    let mut count = 0_usize;
    lines.each(model, &mut |_| count += 1);
    let height = usize::from(model.layout().main.height);
    let top = line.saturating_sub(height / 3).min(count.saturating_sub(height));
    lines.put(model, top);
}

struct PlanContent;

impl PaneContent for PlanContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        model.run.plan.tasks.iter().for_each(|task| take(&task.text));
    }

    fn at(&self, model: &Model) -> usize {
        model.task_at().unwrap_or(0)
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.task = Some(at);
    }
}

struct LogContent;

impl PaneContent for LogContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        let log = &model.log;
        (0..log.len())
            .filter_map(|at| log.get(at))
            .for_each(|line| take(&line.text));
    }

    fn at(&self, model: &Model) -> usize {
        match model.ui.log_below {
            0 => model.log.len(),
            below => model.log.len().saturating_sub(1 + below),
        }
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.log_below = model.log.len().saturating_sub(1).saturating_sub(at);
    }

    fn direction(&self) -> SearchDirection {
        SearchDirection::Up
    }
}

struct DiffContent;

impl PaneContent for DiffContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        if let DiffState::Loaded(patch) = &model.ui.diff.state {
            patch.lines.iter().for_each(|line| take(line));
        }
    }

    fn at(&self, model: &Model) -> usize {
        model.ui.diff.top
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.diff.top = at;
    }

    /// The line of a match, or else the hunk or file header at the top with its lines.
    fn chosen(&self, model: &Model) -> Option<String> {
        let DiffState::Loaded(Patch { lines, .. }) = &model.ui.diff.state else {
            return None;
        };
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

    fn chooses(&self) -> bool {
        false
    }
}

struct HistoryContent;

impl PaneContent for HistoryContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        let tasks = model.run.iterations.rows.iter().map(|row| row.task.as_deref());
        tasks.for_each(|task| take(task.unwrap_or_default()));
    }

    fn at(&self, model: &Model) -> usize {
        let newest = model.run.iterations.rows.len().saturating_sub(1);
        newest.saturating_sub(model.ui.history.selected)
    }

    fn put(&self, model: &mut Model, at: usize) {
        let newest = model.run.iterations.rows.len().saturating_sub(1);
        model.ui.history.selected = newest.saturating_sub(at);
    }

    fn chosen(&self, model: &Model) -> Option<String> {
        let row = model.run.iterations.rows.get(self.at(model))?;
        let task = row.task.as_deref().unwrap_or_default();
        Some(format!("iteration {}: {task}", row.number))
    }
}

struct MessageListContent;

impl PaneContent for MessageListContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        let messages = model.run.messages.iter().rev();
        messages.for_each(|message| take(&one_line(&message.text)));
    }

    fn at(&self, model: &Model) -> usize {
        model.ui.message
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.message = at;
    }

    fn chosen(&self, model: &Model) -> Option<String> {
        Some(message_at(model)?.text.clone())
    }
}

/// A message shown in full.
struct MessageContent;

impl PaneContent for MessageContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        view::lines_of_message(model).iter().for_each(|line| take(line));
    }

    fn at(&self, model: &Model) -> usize {
        model.ui.reading.map_or(0, |read| read.top)
    }

    fn put(&self, model: &mut Model, at: usize) {
        if let Some(read) = &mut model.ui.reading {
            read.top = at;
        }
    }

    fn chosen(&self, model: &Model) -> Option<String> {
        MessageListContent.chosen(model)
    }

    fn chooses(&self) -> bool {
        false
    }
}

struct AskListContent;

impl PaneContent for AskListContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        listed(model).for_each(|entry| take(&ask_in_words(entry)));
    }

    fn at(&self, model: &Model) -> usize {
        position(model)
    }

    fn put(&self, model: &mut Model, at: usize) {
        select(model, at);
    }

    fn chosen(&self, model: &Model) -> Option<String> {
        listed(model).nth(position(model)).map(what_was_asked)
    }
}

/// A question shown in full.
struct AskContent;

impl PaneContent for AskContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        if let Some(reading) = model.ui.asks.reading {
            let lines = view::lines_of_ask(model, reading.place);
            lines.iter().for_each(|line| take(line));
        }
    }

    fn at(&self, model: &Model) -> usize {
        model.ui.asks.reading.map_or(0, |reading| reading.top)
    }

    fn put(&self, model: &mut Model, at: usize) {
        if let Some(reading) = &mut model.ui.asks.reading {
            reading.top = at;
        }
    }

    fn chosen(&self, model: &Model) -> Option<String> {
        Some(whole(self, model))
    }

    fn chooses(&self) -> bool {
        false
    }
}

struct ReportContent;

impl PaneContent for ReportContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        model.ui.report.rows.iter().for_each(|row| take(&text_of(row)));
    }

    fn at(&self, model: &Model) -> usize {
        model.ui.report.top
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.report.top = at;
    }

    fn chooses(&self) -> bool {
        false
    }

    fn chosen(&self, model: &Model) -> Option<String> {
        Some(whole(self, model))
    }
}

fn text_of(row: &ReportRow) -> String {
    row.pieces.iter().map(|(text, _)| text.as_str()).collect()
}

/// A part of an iteration shown in full.
struct IterationContent;

impl PaneContent for IterationContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        if let Some(open) = &model.ui.history.open {
            let rows = view::part_rows(model, open, model.layout().main.width);
            rows.iter().for_each(|row| take(&text_of(row)));
        }
    }

    fn at(&self, model: &Model) -> usize {
        model.ui.history.open.as_ref().map_or(0, |open| open.top)
    }

    fn put(&self, model: &mut Model, at: usize) {
        if let Some(open) = &mut model.ui.history.open {
            open.top = at;
        }
    }

    fn chooses(&self) -> bool {
        false
    }

    fn chosen(&self, model: &Model) -> Option<String> {
        Some(whole(self, model))
    }
}

struct LimitsContent;

impl PaneContent for LimitsContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        view::lines_of_limits(model).iter().for_each(|line| take(line));
    }

    fn at(&self, model: &Model) -> usize {
        model.ui.limits_top
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.limits_top = at;
    }

    fn chosen(&self, model: &Model) -> Option<String> {
        Some(whole(self, model))
    }

    fn chooses(&self) -> bool {
        false
    }
}

struct BackgroundContent;

impl PaneContent for BackgroundContent {
    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        let tasks = model.run.background.tasks.iter().rev();
        tasks.for_each(|task| take(&one_line(&task.command)));
    }

    fn at(&self, model: &Model) -> usize {
        model.ui.background
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.background = at;
    }

    /// The command, followed by the end of its output once it is over.
    fn chosen(&self, model: &Model) -> Option<String> {
        let task = background_at(model)?;
        let tail = task.result.as_ref().map_or("", |result| result.tail.as_str());
        Some(format!("{}\n{tail}", task.command).trim_end().to_owned())
    }
}
