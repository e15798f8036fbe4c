//! The agents' questions, one per row, and one of them shown in full.

use std::borrow::Cow;

use ralph_core::{
    event::{AnswerPlace, Decider},
    run::{AskEnd, AskEntry, AskSubject},
};
use ralph_text::one_line;
use ralph_words::{
    Tone, counted, mode_word, place_of_decision, scope_in_words, short_duration, ticking, used_up_in_words,
};
use ratatui::layout::{Position, Rect};

use crate::tui::{
    keys::KeyAction,
    model::{AnswerBox, InputMode, Model, PageRow, ask_in_words, is_missed, listed, position, select, used_up},
    order::ScreenOrder,
    pen::{Pen, flowed, shortened},
    request::{self, RequestLine, paragraph},
    theme::TextRole,
};

use super::content::{PaneContent, below_head, draw_list, list_line_at};

/// Minimum width for times.
const TIME_COLS: u16 = 60;

pub(super) struct AskListContent;

impl PaneContent for AskListContent {
    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        if model.asks.is_empty() || area.height < 2 {
            return pen.note(area, "No questions of the agent.");
        }
        let end = area.right();
        let times = area.width >= TIME_COLS;
        let head = if times { "    #  asked     what" } else { "    #  what" };
        pen.role(area.x, area.y, end, head, TextRole::Dim);
        let right = end.saturating_sub(1);
        pen.right(area.x, area.y, right, "outcome", pen.theme.style(TextRole::Dim));
        let row = |entry: &AskEntry, area, pen: &mut Pen<'_>| row(model, entry, area, pen);
        draw_list(listed(model), position(model), below_head(area), pen, row);
    }

    fn note(&self, model: &Model) -> String {
        match model.asks.dropped() {
            0 if model.asks.is_empty() => String::new(),
            0 => "Enter answers it, or shows it".to_owned(),
            dropped => format!("{} only in the journal", counted(dropped, "older one")),
        }
    }

    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        listed(model).for_each(|entry| take(&ask_in_words(entry)));
    }

    fn at(&self, model: &Model) -> usize {
        position(model)
    }

    fn put(&self, model: &mut Model, at: usize) {
        select(model, at);
    }

    fn count(&self, model: &Model) -> Option<usize> {
        Some(model.asks.len())
    }

    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        if action == KeyAction::Open {
            open(model);
        }
        Vec::new()
    }

    fn hit(&self, model: &Model, area: Rect, at: Position) -> Option<usize> {
        list_line_at(position(model), self.last(model), below_head(area), at)
    }

    /// The command, the URL, the change or the question.
    fn copy(&self, model: &Model) -> Option<String> {
        let entry = listed(model).nth(position(model))?;
        Some(match &entry.what {
            AskSubject::Request(ask) => {
                let request = &ask.request;
                let parts = [&request.command, &request.url, &request.diff];
                let what = parts.into_iter().flatten().next();
                what.unwrap_or(&request.title).clone()
            }
            AskSubject::Title { title, .. } => title.clone(),
            AskSubject::Block { question, .. } => question.clone(),
        })
    }

    fn document(&self, model: &Model) -> Option<String> {
        self.copy(model)
    }

    fn file(&self) -> &'static str {
        "question.txt"
    }
}

/// A question shown in full: the request, then its outcome.
pub(super) struct AskContent;

impl PaneContent for AskContent {
    fn rows<'m>(&self, model: &'m Model) -> Cow<'m, [PageRow]> {
        let Some(place) = model.ui.asks.reading else {
            return Cow::default();
        };
        let rows = rows(model, place, model.layout().main).into_iter();
        rows.map(PageRow::from_pieces).collect()
    }

    fn note(&self, model: &Model) -> String {
        let entry = model.ui.asks.reading.and_then(|place| model.asks.at(place));
        match entry.and_then(|entry| entry.number) {
            Some(number) => format!("question {number} · Esc leaves"),
            None => "Esc leaves".to_owned(),
        }
    }

    fn file(&self) -> &'static str {
        AskListContent.file()
    }
}

/// Opens the answer box for an open question; shows other entries in full.
fn open(model: &mut Model) {
    if model.ui.asks.reading.is_some() {
        return;
    }
    let Some(entry) = listed(model).nth(position(model)) else {
        return;
    };
    let (place, number) = (entry.place, entry.number.unwrap_or_default());
    let subject = model.run.open_ask(number).filter(|_| model.ui.replay.is_none());
    let Some(subject) = subject else {
        model.ui.asks.reading = Some(place);
        return;
    };
    let is_late = subject.is_late();
    let needs_iteration = is_late && !subject.is_decision();
    if let Some(limit) = used_up(&model.run).filter(|_| needs_iteration) {
        let used_up = used_up_in_words(limit, &model.run);
        return model.ui.toast(Tone::Note, used_up, model.now_ms);
    }
    // The user opened the box, so keys count at once.
    model.ui.mode = InputMode::Answering(AnswerBox {
        late: is_late,
        ..AnswerBox::new(number, 0)
    });
}

fn row(model: &Model, entry: &AskEntry, area: Rect, pen: &mut Pen<'_>) {
    let (sign, end) = (sign(model, entry, pen), area.right());
    let number = entry.number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let mut x = pen.role(area.x, area.y, end, &format!("{number:>5}  "), TextRole::Dim);
    if area.width >= TIME_COLS {
        x = pen.role(
            x,
            area.y,
            end,
            &format!("{}  ", model.clock(entry.at_ms)),
            TextRole::Dim,
        );
    }
    x = pen.text(x, area.y, end, &format!("{} ", sign.0), pen.theme.style(sign.1));
    let fate = fate(model, entry);
    let most = usize::from(area.width) / 2;
    let fate = format!("  {} ", shortened(&fate, most, pen.theme.glyphs.more));
    let start = pen.right(x + 8, area.y, end, &fate, pen.theme.style(sign.1));
    let what = match entry.end {
        None => TextRole::Strong,
        Some(_) => TextRole::Plain,
    };
    pen.role(x, area.y, start, &ask_in_words(entry), what);
}

fn sign(model: &Model, entry: &AskEntry, pen: &Pen<'_>) -> (&'static str, TextRole) {
    let glyphs = pen.theme.glyphs;
    match &entry.end {
        None => (glyphs.wait, TextRole::Wait),
        Some(_) if is_missed(model, entry) => (glyphs.wait, TextRole::Wait),
        Some(end) if verdict(end).is_some_and(|(_, role)| role == TextRole::Good) => (glyphs.good, TextRole::Good),
        Some(AskEnd::Withdrawn) => (glyphs.note, TextRole::Dim),
        Some(_) if entry.late.is_some() => (glyphs.good, TextRole::Good),
        Some(AskEnd::Decided { .. } | AskEnd::Answered { .. }) => (glyphs.bad, TextRole::Bad),
        Some(AskEnd::Unanswered) => (glyphs.note, TextRole::Dim),
    }
}

/// The outcome of a question in a few words.
fn fate(model: &Model, entry: &AskEntry) -> String {
    let waited = |ms: u64| match ms {
        0..1_000 => String::new(),
        _ => format!(" · {}", short_duration(ms)),
    };
    if let Some((message, _)) = &entry.late {
        return format!("answered late, message {}", message.0);
    }
    match &entry.end {
        None => {
            let mut pending = model.run.permissions.pending.iter();
            let until = pending
                .find(|ask| Some(ask.number) == entry.number)
                .map(|ask| ask.until_ms);
            match until {
                Some(Some(until_ms)) => format!("{} left", ticking(until_ms.saturating_sub(model.now_ms))),
                Some(None) | None => "waits for you".to_owned(),
            }
        }
        Some(_) if is_missed(model, entry) => "Enter answers it late".to_owned(),
        Some(end @ (AskEnd::Decided { by, waited_ms, .. } | AskEnd::Answered { by, waited_ms, .. })) => {
            let word = verdict(end).map_or("", |(word, _)| word);
            format!("{word} {}{}", decider(by), waited(*waited_ms))
        }
        Some(AskEnd::Withdrawn) => "withdrawn by the agent".to_owned(),
        Some(AskEnd::Unanswered) => "not answered".to_owned(),
    }
}

/// The decision or the answer in a word, and its role.
fn verdict(end: &AskEnd) -> Option<(&'static str, TextRole)> {
    match end {
        AskEnd::Decided { allowed: true, .. } => Some(("allowed", TextRole::Good)),
        AskEnd::Decided { allowed: false, .. } => Some(("denied", TextRole::Bad)),
        AskEnd::Answered { answers, .. } if !answers.is_empty() => Some(("answered", TextRole::Good)),
        AskEnd::Answered { by, .. } if by.is_user() => Some(("declined", TextRole::Bad)),
        AskEnd::Answered { .. } => Some(("not answered", TextRole::Bad)),
        AskEnd::Withdrawn | AskEnd::Unanswered => None,
    }
}

/// The decider in a word or two; the entry's full view has the details.
fn decider(by: &Decider) -> String {
    match by {
        Decider::Rule { rule, .. } => format!("by {}", one_line(rule)),
        Decider::Mode { mode } => format!("by mode {}", mode_word(*mode)),
        Decider::Unclear => "as unclear".to_owned(),
        Decider::User { at } => match at {
            AnswerPlace::CommandLine => "by `ralph answer`".to_owned(),
            AnswerPlace::Page => "on the page".to_owned(),
            AnswerPlace::Api => "over HTTP".to_owned(),
            AnswerPlace::Screen => "by you".to_owned(),
        },
        Decider::Deadline => "by the time limit".to_owned(),
        Decider::TooManyPending => "by the request limit".to_owned(),
        Decider::Agent => "by the agent".to_owned(),
        Decider::Limit { .. } => "by a limit".to_owned(),
    }
}

/// The full view of an entry: the request, then its outcome.
fn rows(model: &Model, place: u64, area: Rect) -> Vec<RequestLine> {
    let room = usize::from(area.width.saturating_sub(2)).max(1);
    let Some(entry) = model.asks.at(place) else {
        return vec![vec![(
            "No longer in memory; see the journal.".to_owned(),
            TextRole::Dim,
        )]];
    };
    let mut rows = Vec::new();
    let place = match (entry.number, entry.iteration) {
        (Some(number), Some(iteration)) => {
            format!("question {number}, iteration {iteration}, {}", model.clock(entry.at_ms))
        }
        (Some(number), None) => format!("question {number}, {}", model.clock(entry.at_ms)),
        (None, _) => format!("not put to the user, {}", model.clock(entry.at_ms)),
    };
    rows.extend(paragraph(&format!("{} · {place}", tool(entry)), TextRole::Dim, room));
    rows.push(Vec::new());
    match &entry.what {
        AskSubject::Request(ask) => rows.extend(request::rows(ask, room)),
        AskSubject::Title { title, .. } => {
            rows.extend(flowed(&[(one_line(title), TextRole::Strong)], room));
            rows.extend(paragraph("The journal has the full text.", TextRole::Dim, room));
        }
        AskSubject::Block { task, question } => rows.extend(request::block(task.as_deref(), question, room)),
    }
    rows.push(Vec::new());
    for (text, role) in outcome(model, entry) {
        rows.extend(flowed(&[(text, role)], room));
    }
    rows
}

fn tool(entry: &AskEntry) -> String {
    match &entry.what {
        AskSubject::Request(ask) => one_line(&ask.request.tool),
        AskSubject::Title { tool, .. } => one_line(tool),
        AskSubject::Block { .. } => "blocked".to_owned(),
    }
}

/// The outcome of an entry, in sentences.
fn outcome(model: &Model, entry: &AskEntry) -> Vec<(String, TextRole)> {
    let mut lines = Vec::new();
    match &entry.end {
        None => lines.push((fate(model, entry), TextRole::Wait)),
        Some(
            end @ (AskEnd::Decided {
                by, message, waited_ms, ..
            }
            | AskEnd::Answered {
                by, message, waited_ms, ..
            }),
        ) => {
            let (word, role) = verdict(end).unwrap_or(("", TextRole::Plain));
            let waited = entry
                .number
                .map(|_| format!(", after {}", short_duration(*waited_ms)))
                .unwrap_or_default();
            lines.push((format!("{word} {}{waited}", one_line(&place_of_decision(by))), role));
            if let AskEnd::Answered { answers, .. } = end {
                let answers = answers.iter().map(|answer| one_line(&answer.join(", ")));
                lines.extend(answers.map(|answer| (answer, TextRole::User)));
            }
            lines.extend(
                message
                    .iter()
                    .map(|text| (format!("\"{}\"", text.trim()), TextRole::User)),
            );
        }
        Some(AskEnd::Withdrawn) => lines.push(("the agent withdrew it".to_owned(), TextRole::Dim)),
        Some(AskEnd::Unanswered) => lines.push(("not answered in its iteration".to_owned(), TextRole::Dim)),
    }
    if let Some((scope, rules)) = &entry.rules {
        let rules = one_line(&rules.join(", "));
        lines.push((
            format!("now allowed {}: {rules}", scope_in_words(*scope)),
            TextRole::Good,
        ));
    }
    if let Some((message, text)) = &entry.late {
        lines.push((
            format!("answered late, in message {}: {}", message.0, one_line(text)),
            TextRole::User,
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;

    use ralph_core::{
        event::{Answer, AskEvent, Event, IterationEvent, Outcome, Record, StopReason, TaskEvent, UserCommand},
        testing::{iteration_started, permission_asked, permission_decided, question_asked},
    };

    use super::*;
    use crate::tui::{
        boxes::show_question,
        model::{Pane, ReplayState},
        testing::{running, stopped},
        update::{
            tests::{after, key, press},
            update,
        },
    };

    fn allowed(ask: u32, title: &str) -> Event {
        let by = Decider::User {
            at: AnswerPlace::Screen,
        };
        let mut event = permission_decided(Some(ask), true, by, None);
        if let Event::Ask(AskEvent::Answered { answered }) = &mut event {
            answered.title = title.to_owned();
        }
        event
    }

    fn ended() -> Event {
        Event::Iteration(IterationEvent::Ended {
            iteration: 3,
            outcome: Outcome::Completed,
            exit: None,
            duration_ms: 1,
            output_bytes: 1,
        })
    }

    /// The list after these events, without a box over it.
    fn listing(events: Vec<Event>) -> Model {
        let mut model = after([running(), events].concat());
        model.ui.put_off = u32::MAX;
        model.ui.report.due = false;
        press(&mut model, "P");
        assert_eq!((model.ui.pane, &model.ui.mode), (Pane::Asks, &InputMode::Normal));
        model
    }

    fn numbers(model: &Model) -> Vec<u32> {
        listed(model).map(|entry| entry.number.unwrap_or_default()).collect()
    }

    fn opened(model: &Model) -> Option<(u32, bool)> {
        match &model.ui.mode {
            InputMode::Answering(answering) => Some((answering.ask, answering.late)),
            _ => None,
        }
    }

    #[test]
    fn what_waits_is_listed_first_and_its_box_opens_and_the_past_is_shown_whole() {
        let asks = [1, 2, 3].map(permission_asked).to_vec();
        let mut model = listing(
            [
                asks,
                vec![allowed(1, "one"), question_asked(4, false), allowed(3, "three")],
            ]
            .concat(),
        );
        assert_eq!(numbers(&model), [2, 4, 3, 1]);
        press(&mut model, "j");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(opened(&model), Some((4, false)));
        let orders = press(&mut model, "1");
        assert!(
            matches!(
                &orders[..],
                [ScreenOrder::Command {
                    command: UserCommand::Answer { ask: 4, .. },
                    ..
                }]
            ),
            "at once"
        );
        update(&mut model, key(KeyCode::Esc));
        assert_eq!(opened(&model), None, "what was put off stays so");
        press(&mut model, "G");
        update(&mut model, key(KeyCode::Enter));
        let reading = model.ui.asks.reading.expect("an entry");
        assert_eq!(model.asks.at(reading).and_then(|entry| entry.number), Some(1));
        update(&mut model, key(KeyCode::Esc));
        assert_eq!((model.ui.pane, model.ui.asks.reading), (Pane::Asks, None));
        update(&mut model, key(KeyCode::Esc));
        assert_eq!(model.ui.pane, Pane::Terminal);
    }

    #[test]
    fn what_nobody_answered_is_answered_late_from_the_list_also_after_the_end() {
        let blocked = StopReason::Blocked { question: "?".into() };
        for events in [
            vec![permission_asked(1), ended()],
            vec![permission_asked(1), ended(), stopped(blocked.clone())],
        ] {
            let mut model = listing(events);
            update(&mut model, key(KeyCode::Enter));
            assert_eq!(opened(&model), Some((1, true)));
            let command = UserCommand::Answer {
                ask: 1,
                answer: Answer::Deny { message: None },
                at: AnswerPlace::Screen,
            };
            assert_eq!(press(&mut model, "n"), [ScreenOrder::by_user(command)]);
        }
        let mut used_up = listing(vec![permission_asked(1), ended(), stopped(blocked)]);
        used_up.run.settings.limits.max_iterations = Some(1);
        update(&mut used_up, key(KeyCode::Enter));
        assert_eq!(opened(&used_up), None);
        assert!(used_up.ui.toast.is_some(), "it is said why");
        let mut gone = listing(vec![permission_asked(1), ended(), iteration_started(4, None, None)]);
        update(&mut gone, key(KeyCode::Enter));
        assert!(opened(&gone).is_none() && gone.ui.asks.reading.is_some());
    }

    #[test]
    fn a_task_that_is_blocked_is_answered_from_the_list() {
        let block = Event::Task(TaskEvent::Blocked {
            iteration: 3,
            task: Some("Write the parser".to_owned()),
            question: "Which key?".into(),
        });
        let mut model = listing(vec![block]);
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(opened(&model), Some((1, true)));
        press(&mut model, "othe blue one");
        let command = UserCommand::Answer {
            ask: 1,
            answer: Answer::Words {
                words: vec!["the blue one".to_owned()],
            },
            at: AnswerPlace::Screen,
        };
        assert_eq!(update(&mut model, key(KeyCode::Enter)), [ScreenOrder::by_user(command)]);
    }

    #[test]
    fn a_replay_shows_what_was_asked_and_answers_nothing() {
        let mut model = listing(vec![permission_asked(1)]);
        model.ui.replay = Some(ReplayState {
            speed: 1.0,
            paused: false,
            over: false,
        });
        assert_eq!(update(&mut model, key(KeyCode::Enter)), []);
        assert!(opened(&model).is_none() && model.ui.asks.reading.is_some());
    }

    #[test]
    fn ten_thousand_are_gone_through_and_searched_and_the_chosen_one_stays_chosen() {
        let many = (1..=10_000).flat_map(|number| {
            let mut asked = permission_asked(number);
            if let Event::Ask(AskEvent::Asked { ask }) = &mut asked {
                ask.request.title = format!("echo {number}.");
            }
            [asked, allowed(number, "echo")]
        });
        let mut model = listing(many.collect());
        press(&mut model, "jj");
        let chosen = |model: &Model| listed(model).nth(position(model)).and_then(|entry| entry.number);
        assert_eq!(chosen(&model), Some(9_998));
        model.apply(&Record {
            seq: 1,
            at_ms: model.now_ms,
            event: permission_asked(10_001),
        });
        show_question(&mut model);
        assert_eq!(
            (chosen(&model), position(&model)),
            (Some(9_998), 3),
            "another one came first"
        );
        press(&mut model, "/echo 5000.");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(chosen(&model), Some(5_000));
        press(&mut model, "N");
        assert_eq!(chosen(&model), Some(5_000), "the only one, around the end");
        press(&mut model, "G");
        assert_eq!(chosen(&model), Some(2), "the first was dropped");
    }
}
