//! The plan's tasks and, if there is room, the pending messages, the goals and the iterations.

use ralph_core::{
    event::{Changes, PlanSnapshot, PlanTask, Usage, UserCommand},
    run::{Message, Phase, RunView},
};
use ralph_text::one_line;
use ralph_words::{cost_in_words, counted, short_duration, task_at_limit_in_words, ticking};
use ratatui::layout::{Position, Rect};

use crate::tui::{
    keys::KeyAction,
    layout::{Focus, ScreenLayout},
    model::{Model, PlanRow, has_sections, heading_of},
    order::{ScreenOrder, Scroll, refused},
    pen::{Pen, wrapped},
    theme::TextRole,
};

use super::{
    content::PaneContent,
    goal_rows, history,
    messages::kind_word,
    plan_window::{PlanLine, window},
};

/// Maximum rows of the other lists of the side bar.
const MESSAGES: usize = 5;
const GOALS: usize = 5;
const ITERATIONS: usize = 10;
/// Maximum rows of the question that blocks a task.
const QUESTION_ROWS: usize = 4;
/// Minimum rows of the plan for details of the selected task.
const DETAILED_ROWS: u16 = 10;
/// Minimum width for the effort of each task beside it.
const WIDE_COLS: u16 = 90;
const SPENT_COLS: u16 = 28;
/// The detail of a task that the user has set aside.
const SET_ASIDE: &str = "- set aside by you";
/// Minimum rows of a side bar with other lists than tasks.
const ROOMY_ROWS: u16 = 24;

/// The areas of the lists; areas without room or entries are empty.
struct SideBarAreas {
    plan: Rect,
    /// The area and lines with details of the selected task.
    details: (Rect, Vec<(String, TextRole)>),
    messages: Rect,
    goals: Rect,
    iterations: Rect,
}

impl SideBarAreas {
    fn new(model: &Model, layout: &ScreenLayout) -> Self {
        let (mut plan, none) = (layout.tasks, Rect::default());
        let (mut messages, mut goals, mut iterations) = (none, none, none);
        if layout.has_side_bar() && plan.height >= ROOMY_ROWS {
            let outstanding = outstanding(&model.run).count();
            (plan, iterations) = split(plan, model.run.iterations.rows.len().min(ITERATIONS));
            (plan, goals) = split(plan, model.run.goals.len().min(GOALS));
            (plan, messages) = split(plan, outstanding.min(MESSAGES));
        }
        let mut details = (none, Vec::new());
        if !layout.has_strip() && plan.height >= DETAILED_ROWS {
            let lines = chosen(model).map_or_else(Vec::new, |task| details_of(model, task, plan.width));
            let (rest, part) = split(plan, lines.len());
            (plan, details) = (rest, (part, lines));
        }
        Self {
            plan,
            details,
            messages,
            goals,
            iterations,
        }
    }
}

/// Whether the goals have rows below the plan.
pub(in crate::tui) fn has_goal_rows(model: &Model) -> bool {
    let layout = model.layout();
    !layout.tasks.is_empty() && !SideBarAreas::new(model, &layout).goals.is_empty()
}

/// Index of the selected task, while the plan has the focus.
fn chosen(model: &Model) -> Option<usize> {
    model.task_at().filter(|_| model.ui.focus == Focus::Plan)
}

/// The visible lines of the plan with their areas.
struct VisibleLines(Vec<(Rect, PlanLine)>);

impl VisibleLines {
    /// The first row of `part` is its title.
    fn new(model: &Model, layout: &ScreenLayout, part: Rect) -> Self {
        // One column next to the divider stays free.
        let margin = u16::from(layout.has_side_bar());
        let area = Rect::new(part.x, part.y + 1, part.width - margin, part.height - 1);
        let plan = &model.run.plan;
        let rows = model.plan_rows();
        let mut y = area.y;
        let mut place = |height: u16, line| {
            let place = Rect { y, height, ..area };
            y += height;
            (place, line)
        };
        if let Some(heights) = heights(plan, &rows, area) {
            let rows = rows.into_iter().zip(heights);
            return Self(rows.map(|(row, height)| place(height, PlanLine::Row(row))).collect());
        }
        let kept = model.task_at();
        let kept = kept.and_then(|task| rows.iter().position(|row| row.stands_for(task)));
        let lines = window(plan, &rows, kept, usize::from(area.height));
        Self(lines.into_iter().map(|line| place(1, line)).collect())
    }
}

pub(super) struct PlanContent;

impl PaneContent for PlanContent {
    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        if area.is_empty() {
            return;
        }
        let layout = model.layout();
        let parts = SideBarAreas::new(model, &layout);
        iterations(model, parts.iterations, pen);
        messages(model, parts.messages, pen);
        goals(model, parts.goals, pen);
        details(&parts.details, pen);
        let (plan, area) = (&model.run.plan, parts.plan);
        let has_focus = model.ui.focus == Focus::Plan;
        titled(
            area,
            "plan",
            if has_focus { TextRole::Accent } else { TextRole::Dim },
            pen,
        );
        if plan.tasks.is_empty() {
            let words = "no tasks in this plan";
            pen.role(area.x + 1, area.y + 1, area.right(), words, TextRole::Dim);
        }
        // A run that is paused works on none.
        let current = model.run.task().filter(|_| model.run.phase != Phase::Paused);
        let left_out = model.run.left_out();
        let chosen = chosen(model);
        for (area, line) in VisibleLines::new(model, &layout, area).0 {
            match &line {
                PlanLine::Row(PlanRow::Task(at)) => {
                    let shown = &plan.tasks[*at];
                    task(shown, current, left_out.contains(&shown.text), model, area, pen);
                }
                PlanLine::Row(PlanRow::Heading { tasks, is_folded }) => {
                    heading(&plan.tasks[tasks.clone()], *is_folded, area, pen);
                }
                PlanLine::More { count, done: true, .. } => {
                    let text = format!(" {} {count} more done", pen.theme.glyphs.done);
                    pen.role(area.x, area.y, area.right(), &text, TextRole::Good);
                }
                PlanLine::More { count, .. } => {
                    let text = format!(" {} {count} more", pen.theme.glyphs.more);
                    pen.role(area.x, area.y, area.right(), &text, TextRole::Dim);
                }
            }
            if let (PlanLine::Row(row), Some(chosen)) = (&line, chosen)
                && row.stands_for(chosen)
            {
                pen.choose(area);
            }
        }
    }

    fn each(&self, model: &Model, take: &mut dyn FnMut(&str)) {
        model.run.plan.tasks.iter().for_each(|task| take(&task.text));
    }

    fn at(&self, model: &Model) -> usize {
        model.task_at().unwrap_or(0)
    }

    fn put(&self, model: &mut Model, at: usize) {
        model.ui.task = Some(at);
    }

    fn count(&self, model: &Model) -> Option<usize> {
        Some(model.run.plan.tasks.len())
    }

    /// Moves among the visible tasks; a folded section counts as one step, its first task.
    fn scroll(&self, model: &mut Model, by: Scroll) -> Vec<ScreenOrder> {
        let mut rows = model.plan_rows();
        rows.retain(|row| row.stands_for(row.task()));
        let chosen = self.at(model);
        let at = rows.iter().position(|row| row.stands_for(chosen)).unwrap_or(0);
        let row = rows.get(by.downwards(at, rows.len().saturating_sub(1)));
        model.ui.task = row.map(PlanRow::task);
        Vec::new()
    }

    fn hit(&self, model: &Model, _: Rect, at: Position) -> Option<usize> {
        row_at(model, at.y).map(|row| row.task())
    }

    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        match action {
            KeyAction::Fold => fold(model),
            KeyAction::SetAside => set_aside(model),
            _ => Vec::new(),
        }
    }

    /// Selects a task, folds or unfolds a section, or opens an iteration.
    fn click(&self, model: &mut Model, _: Rect, at: Position) -> Vec<ScreenOrder> {
        let part = SideBarAreas::new(model, &model.layout()).iterations;
        if part.contains(at) {
            let below = usize::from(part.bottom() - 1 - at.y);
            let shown = shown_iterations(model, part);
            return match at.y > part.y && below < shown {
                true => history::show(model, below),
                false => Vec::new(),
            };
        }
        let Some(row) = row_at(model, at.y) else {
            return Vec::new();
        };
        model.ui.task = Some(row.task());
        match row {
            PlanRow::Heading { .. } => fold(model),
            PlanRow::Task(_) => Vec::new(),
        }
    }

    fn file(&self) -> &'static str {
        "plan.txt"
    }
}

/// Sets the chosen task aside, or takes it back.
fn set_aside(model: &mut Model) -> Vec<ScreenOrder> {
    let chosen = model.task_at().and_then(|task| model.run.plan.tasks.get(task));
    let Some(task) = chosen.filter(|task| !task.done) else {
        return refused(model, "this task is done");
    };
    let task = task.text.clone();
    if model.run.set_aside_by_user.contains(&task) {
        return vec![ScreenOrder::by_user(UserCommand::TakeTaskBack { task })];
    }
    if model.run.left_out().contains(&task) {
        return refused(model, "it is in a task that you set aside, or waits for one");
    }
    vec![ScreenOrder::by_user(UserCommand::SetTaskAside { task })]
}

fn fold(model: &mut Model) -> Vec<ScreenOrder> {
    if model.layout().has_strip() {
        return refused(model, "headings need a larger plan pane; `z` zooms it");
    }
    let plan = &model.run.plan;
    let task = model.task_at().unwrap_or(0);
    let heading = heading_of(plan, task).filter(|_| has_sections(plan));
    let Some(heading) = heading.map(str::to_owned) else {
        return refused(model, "no heading is above this task");
    };
    // The current task may change to another section later.
    model.ui.task = Some(task);
    if !model.ui.folded.remove(&heading) {
        model.ui.folded.insert(heading);
    }
    Vec::new()
}

/// The row of the plan at a row of the screen. For the line that counts hidden tasks, the nearest of them.
fn row_at(model: &Model, row: u16) -> Option<PlanRow> {
    let layout = model.layout();
    let part = SideBarAreas::new(model, &layout).plan;
    let mut lines = VisibleLines::new(model, &layout, part).0.into_iter();
    lines
        .find(|(area, _)| (area.top()..area.bottom()).contains(&row))
        .map(|(_, line)| match line {
            PlanLine::Row(row) => row,
            PlanLine::More { next, .. } => PlanRow::Task(next),
        })
}

/// Draws a heading with the number of completed tasks.
fn heading(tasks: &[PlanTask], is_folded: bool, area: Rect, pen: &mut Pen<'_>) {
    let glyphs = pen.theme.glyphs;
    let done = tasks.iter().filter(|task| task.done).count();
    let count = format!(" {done}/{} ", tasks.len());
    let end = pen.right(area.x + 8, area.y, area.right(), &count, pen.theme.style(TextRole::Dim));
    let sign = if is_folded { glyphs.folded } else { glyphs.unfolded };
    let x = pen.role(area.x + 1, area.y, end, &format!("{sign} "), TextRole::Dim);
    let role = if done == tasks.len() {
        TextRole::Dim
    } else {
        TextRole::Strong
    };
    let name = tasks.first().and_then(|task| task.heading.as_deref());
    pen.role(x, area.y, end, &one_line(name.unwrap_or_default()), role);
}

fn title(area: Rect, text: &str, pen: &mut Pen<'_>) {
    titled(area, text, TextRole::Dim, pen);
}

fn titled(area: Rect, text: &str, role: TextRole, pen: &mut Pen<'_>) {
    let style = pen.theme.style(TextRole::GaugeRest);
    pen.rule(area.x, area.y, area.right(), style);
    pen.role(area.x + 1, area.y, area.right(), &format!(" {text} "), role);
}

/// The effort spent on a task, and what blocks it.
fn details_of(model: &Model, task: usize, width: u16) -> Vec<(String, TextRole)> {
    let Some(task) = model.run.plan.tasks.get(task) else {
        return Vec::new();
    };
    let iterations = &model.run.iterations;
    let mut lines = Vec::new();
    if let (Some(mut spent), Some(work)) = (spent(model, task), iterations.work.get(&task.text)) {
        let is_of_task = |number: &u32| work.iterations.binary_search(number).is_ok();
        let rows = iterations.rows.iter().filter(|row| is_of_task(&row.number));
        let usage = rows.fold(Usage::default(), |sum, row| sum.plus(row.usage));
        spent.extend(cost_in_words(&usage).map(|cost| format!(" · {cost}")));
        lines.push((spent, TextRole::Dim));
    }
    if let Some((goal, iteration)) = broken_goal(model, task) {
        let text = one_line(&format!("broke {goal} in iteration {iteration}"));
        lines.push((text, TextRole::Bad));
    }
    let mut blocks = model.run.blocks.iter().rev();
    let block = blocks.find(|block| block.task.as_ref() == Some(&task.text) && !task.done);
    if let Some(block) = block {
        let question = one_line(&format!("? {}", block.question));
        let question = wrapped(&question, usize::from(width.saturating_sub(2)));
        let question = question.into_iter().take(QUESTION_ROWS);
        lines.extend(question.map(|line| (line, TextRole::Wait)));
    }
    if !task.done && model.run.left_out().contains(&task.text) {
        lines.push((SET_ASIDE.to_owned(), TextRole::Dim));
    }
    let limit = model.run.task_limit_reached(&task.text).filter(|_| !task.done);
    if let Some(limit) = limit {
        let text = format!("? {}", task_at_limit_in_words(limit));
        let wrapped = wrapped(&text, usize::from(width.saturating_sub(2)));
        lines.extend(wrapped.into_iter().map(|line| (line, TextRole::Wait)));
    }
    lines
}

/// The number of iterations on a task and their total duration so far; `None` without iterations.
fn spent(model: &Model, task: &PlanTask) -> Option<String> {
    let work = model.run.iterations.work.get(&task.text)?;
    let iterations = counted(work.iterations.len() as u64, "iteration");
    Some(match work.duration_ms {
        0 => iterations,
        duration_ms => format!("{iterations} · {}", short_duration(duration_ms)),
    })
}

/// The failing goal that the work on a task has broken, and the iteration that did.
fn broken_goal<'m>(model: &'m Model, task: &PlanTask) -> Option<(&'m str, u32)> {
    let work = model.run.iterations.work.get(&task.text)?;
    model.run.goals.iter().find_map(|goal| {
        let by = goal.suspects()?.alone()?;
        let is_of_task = work.iterations.binary_search(&by).is_ok();
        is_of_task.then_some((&*goal.name, by))
    })
}

/// Draws the details of the selected task.
fn details((part, lines): &(Rect, Vec<(String, TextRole)>), pen: &mut Pen<'_>) {
    if part.is_empty() {
        return;
    }
    title(*part, "this task", pen);
    for (y, (text, role)) in (part.y + 1..part.bottom()).zip(lines) {
        pen.role(part.x + 1, y, part.right() - 1, text, *role);
    }
}

/// Draws a task into `area`, in one row or wrapped into several.
fn task(task: &PlanTask, current: Option<&PlanTask>, is_left_out: bool, model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let is_current = current == Some(task);
    let glyphs = pen.theme.glyphs;
    let (sign, sign_role, text_role) = match (task.done, is_current) {
        (true, _) if broken_goal(model, task).is_some() => (glyphs.bad, TextRole::Bad, TextRole::Plain),
        (true, _) => (glyphs.done, TextRole::Good, TextRole::Dim),
        (false, _) if is_left_out => ("-", TextRole::Dim, TextRole::Dim),
        (false, _) if model.run.is_set_aside(&task.text) => ("?", TextRole::Wait, TextRole::Plain),
        (false, true) if model.run.is_busy() => (glyphs.current, TextRole::Accent, TextRole::Strong),
        (false, true) => (glyphs.current, TextRole::Wait, TextRole::Strong),
        (false, false) => (glyphs.open, TextRole::Dim, TextRole::Plain),
    };
    let x = area.x + indent(task);
    let end = area.x + text_columns(area);
    pen.role(x, area.y, end, sign, sign_role);
    let text = one_line(&task.text);
    let lines = match area.height {
        1 => vec![text],
        _ => wrapped(&text, usize::from(end.saturating_sub(x + 2))),
    };
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        pen.role(x + 2, y, end, &line, text_role);
    }
    if end < area.right()
        && let Some(spent) = spent(model, task)
    {
        let style = pen.theme.style(TextRole::Dim);
        pen.right(end + 1, area.y, area.right() - 1, &spent, style);
    }
}

fn indent(task: &PlanTask) -> u16 {
    1 + u16::from(task.depth.min(6)) * 2
}

/// The columns of `area` for the text of tasks; in a wide area, their effort is beside it.
fn text_columns(area: Rect) -> u16 {
    match area.width {
        WIDE_COLS.. => area.width - SPENT_COLS,
        ..WIDE_COLS => area.width,
    }
}

/// The heights of all rows without truncation; `None` if they do not all fit.
fn heights(plan: &PlanSnapshot, rows: &[PlanRow], area: Rect) -> Option<Vec<u16>> {
    // A long plan cannot fit, so it is not measured.
    if rows.len() > usize::from(area.height) {
        return None;
    }
    let height = |row: &PlanRow| match row {
        PlanRow::Heading { .. } => 1,
        PlanRow::Task(at) => {
            let task = &plan.tasks[*at];
            let room = text_columns(area).saturating_sub(indent(task) + 2);
            wrapped(&one_line(&task.text), usize::from(room)).len()
        }
    };
    let heights: Vec<usize> = rows.iter().map(height).collect();
    let fits = heights.iter().sum::<usize>() <= usize::from(area.height);
    fits.then(|| {
        let heights = heights.into_iter();
        heights.map(|height| u16::try_from(height).unwrap_or(1)).collect()
    })
}

/// The number of iterations with a row in `part`, the latest ones.
fn shown_iterations(model: &Model, part: Rect) -> usize {
    let rows = usize::from(part.height.saturating_sub(1));
    model.run.iterations.rows.len().min(rows)
}

/// Draws the latest iterations.
fn iterations(model: &Model, part: Rect, pen: &mut Pen<'_>) {
    let all = &model.run.iterations.rows;
    if part.is_empty() {
        return;
    }
    title(part, &counted(all.dropped() + all.len() as u64, "iteration"), pen);
    let shown = all.iter().skip(all.len() - shown_iterations(model, part));
    for (y, iteration) in (part.y + 1..part.bottom()).zip(shown) {
        let (sign, style) = history::sign(iteration, &model.run.goals, pen.theme);
        let end = part.right() - 1;
        let mut x = pen.text(part.x + 1, y, end, &format!("{sign} "), style);
        x = pen.role(x, y, end, &format!("{:>3} ", iteration.number), TextRole::Dim);
        let duration = match iteration.outcome {
            Some(_) => short_duration(iteration.duration_ms),
            None => ticking(model.now_ms.saturating_sub(iteration.started_ms)),
        };
        x = pen.role(x, y, end, &format!("{duration:>6} "), TextRole::Dim);
        if iteration.was_refused() {
            x = pen.role(x, y, end, " refused", TextRole::Wait);
        }
        let changes = iteration.changes.filter(|changes| *changes != Changes::default());
        let Some(changes) = changes else { continue };
        let minus = pen.theme.glyphs.minus;
        x = pen.role(x, y, end, &format!(" +{}", changes.added), TextRole::Added);
        pen.role(x, y, end, &format!(" {minus}{}", changes.removed), TextRole::Removed);
    }
}

/// Queued messages, and standing ones unless the run is over.
fn outstanding(run: &RunView) -> impl Iterator<Item = &Message> {
    let stands = |message: &Message| message.is_standing() && !run.is_over();
    run.messages
        .iter()
        .filter(move |message| message.is_queued() || stands(message))
}

/// `1 message waiting · 2 standing messages`; `None` if there are neither.
pub(in crate::tui) fn outstanding_in_words(run: &RunView) -> Option<String> {
    let (standing, waiting): (Vec<_>, Vec<_>) = outstanding(run).partition(|message| message.is_standing());
    let waiting = (!waiting.is_empty()).then(|| format!("{} waiting", counted(waiting.len() as u64, "message")));
    let standing = (!standing.is_empty()).then(|| counted(standing.len() as u64, "standing message"));
    let parts: Vec<String> = waiting.into_iter().chain(standing).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Draws the queued and standing messages.
fn messages(model: &Model, part: Rect, pen: &mut Pen<'_>) {
    let Some(words) = outstanding_in_words(&model.run).filter(|_| !part.is_empty()) else {
        return;
    };
    let outstanding: Vec<_> = outstanding(&model.run).collect();
    let shown = &outstanding[outstanding.len().saturating_sub(MESSAGES)..];
    title(part, &words, pen);
    let width = shown.iter().map(|message| kind_word(message).len()).max();
    let width = width.unwrap_or_default();
    for (y, message) in (part.y + 1..part.bottom()).zip(shown) {
        let kind = kind_word(message);
        let x = pen.role(part.x + 1, y, part.right(), &format!("{kind:<width$} "), TextRole::User);
        pen.role(x, y, part.right(), &one_line(&message.text), TextRole::Plain);
    }
}

fn goals(model: &Model, part: Rect, pen: &mut Pen<'_>) {
    if part.is_empty() {
        return;
    }
    title(part, &counted(model.run.goals.len() as u64, "goal"), pen);
    goal_rows::draw(model, part, pen);
}

/// Splits off rows for a title and `lines` lines at the end of `area`; an empty part if `lines` is 0.
fn split(area: Rect, lines: usize) -> (Rect, Rect) {
    if lines == 0 {
        return (area, Rect::default());
    }
    let height = u16::try_from(lines + 1).unwrap_or(u16::MAX).min(area.height / 2);
    let rest = Rect::new(area.x, area.y, area.width, area.height - height);
    (rest, Rect::new(area.x, rest.bottom(), area.width, height))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{
        Delivery, Event, PlanEvent, RunEvent, SteeringEvent, SteeringId, SteeringKind, StopReason, TaskEvent, Totals,
    };

    use crossterm::event::KeyCode;
    use ralph_core::run::GoalStatus;

    use crate::tui::{
        testing::{begun, model, plan, running},
        update::{
            tests::{clicked, key, press},
            update,
        },
    };

    #[test]
    fn a_standing_message_waits_for_its_first_prompt_and_stands_until_the_end() {
        let mut run = RunView::default();
        let id = SteeringId(1);
        let mut after = |event: Event| {
            run.apply_event(1, &event);
            outstanding_in_words(&run)
        };
        let queued = Event::Steering(SteeringEvent::Queued {
            id,
            kind: SteeringKind::Standing,
            text: "Use tabs.".to_owned(),
            answers: None,
        });
        assert_eq!(after(queued).as_deref(), Some("1 message waiting"));
        let delivered = Event::Steering(SteeringEvent::Delivered {
            id,
            iteration: 1,
            how: Delivery::Prompt,
        });
        assert_eq!(after(delivered).as_deref(), Some("1 standing message"));
        let stopped = Event::Run(RunEvent::Stopped {
            reason: StopReason::Requested,
            hints: Vec::new().into(),
            totals: Totals::default(),
        });
        assert_eq!(after(stopped), None);
    }

    #[test]
    fn a_chosen_task_says_what_was_spent_on_it_and_what_it_waits_for() {
        let mut events = running();
        events.push(Event::Task(TaskEvent::Blocked {
            iteration: 3,
            task: Some("Write the parser".to_owned()),
            question: "Which\tgrammar?".into(),
        }));
        events.push(plan(0, 4));
        let mut model = model(160, 50, events);
        model.ui.focus = Focus::Plan;
        model.ui.task = Some(0);
        let parts = |model: &Model| SideBarAreas::new(model, &model.layout());
        let (part, lines) = parts(&model).details;
        let words = |at: usize| (lines[at].0.as_str(), lines[at].1);
        assert_eq!(words(0), ("1 iteration · 42s · $0.21", TextRole::Dim));
        assert_eq!(words(1), ("? Which grammar?", TextRole::Wait));
        assert_eq!((part.height, lines.len()), (3, 2));
        assert_eq!(part.y, parts(&model).plan.bottom(), "a click there chooses no task");
        assert_eq!(row_at(&model, part.y + 1), None);
        model.ui.task = Some(3);
        assert!(parts(&model).details.1.is_empty(), "nothing was spent on it");
        model.ui.task = Some(0);
        (model.ui.cols, model.ui.rows) = (80, 24);
        assert!(parts(&model).details.1.is_empty(), "a few rows are for the tasks alone");
        model.ui.zoomed = true;
        assert!(!parts(&model).details.1.is_empty());
    }

    #[test]
    fn a_done_task_whose_work_broke_a_goal_is_marked_and_says_so() {
        let mut events = running();
        events.push(plan(1, 4));
        let mut model = model(160, 50, events);
        model.ui.focus = Focus::Plan;
        model.ui.task = Some(0);
        let work = &model.run.iterations.work["Write the parser"];
        let broke = *work.iterations.last().unwrap();
        let details = |model: &Model| SideBarAreas::new(model, &model.layout()).details.1;
        let told = ("broke tests in iteration".to_owned(), TextRole::Bad);
        let is_told = |(text, role): &(String, TextRole)| text.starts_with(&told.0) && *role == told.1;
        assert!(!details(&model).iter().any(is_told));
        let goal = GoalStatus {
            passed_with: Some(broke - 1),
            broken_by: Some(broke),
            ..GoalStatus::unknown("tests")
        };
        model.run.goals = vec![goal];
        assert!(details(&model).iter().any(is_told), "{:?}", details(&model));
        // The goal may have been broken by one of several.
        model.run.goals[0].broken_by = Some(broke + 1);
        assert!(!details(&model).iter().any(is_told));
    }

    #[test]
    fn a_task_is_set_aside_and_taken_back_by_a_key() {
        let set_aside = |task: &str| Event::Task(TaskEvent::SetAsideByUser { task: task.to_owned() });
        let mut events = running();
        events.push(plan(1, 4));
        let mut model = model(120, 40, events.clone());
        model.ui.focus = Focus::Plan;
        let tasks: Vec<String> = model.run.plan.tasks.iter().map(|task| task.text.clone()).collect();
        model.ui.task = Some(0);
        assert_eq!(press(&mut model, "x"), [], "a done task stays done");
        model.ui.task = Some(2);
        let task = tasks[2].clone();
        let order = ScreenOrder::by_user(UserCommand::SetTaskAside { task: task.clone() });
        assert_eq!(press(&mut model, "x"), [order]);
        events.push(set_aside(&task));
        let mut model = crate::tui::testing::model(120, 40, events);
        model.ui.focus = Focus::Plan;
        model.ui.task = Some(2);
        let (_, details) = SideBarAreas::new(&model, &model.layout()).details;
        assert!(details.contains(&(SET_ASIDE.to_owned(), TextRole::Dim)), "{details:?}");
        let order = ScreenOrder::by_user(UserCommand::TakeTaskBack { task });
        assert_eq!(press(&mut model, "x"), [order]);
    }

    #[test]
    fn headings_of_the_plan_fold_and_every_task_is_reached_by_keys_wheel_and_click() {
        let tasks = (0..5_000).map(|at| PlanTask {
            text: format!("task {at}"),
            done: at < 3,
            line: at,
            depth: 0,
            heading: (at % 500 == 0).then(|| format!("part {}", at / 500)),
            settings: Default::default(),
            ..PlanTask::default()
        });
        let plan = PlanSnapshot { tasks: tasks.collect() };
        let mut model = model(120, 40, [begun(), vec![Event::Plan(PlanEvent::Read { plan })]].concat());
        update(&mut model, key(KeyCode::Tab));
        let top = model.layout().tasks.y + 1;
        let click = |model: &mut Model, row: u16| {
            assert_eq!(update(model, clicked(3, top + row)), []);
            model.task_at()
        };
        // The tasks above the current one are summarised, and the heading of its section is below them.
        assert_eq!((model.task_at(), click(&mut model, 3)), (Some(3), Some(4)));
        press(&mut model, "jjjG");
        assert_eq!(model.task_at(), Some(4_999));
        // Down to the last row, which stands for all tasks without room. Below it are the goal and its title.
        press(&mut model, "g");
        let last = model.layout().tasks.height - 4;
        let next = click(&mut model, last).unwrap();
        assert_eq!((usize::from(last), model.task_at()), (next + 1, Some(next)));
        // A folded section is a single step.
        press(&mut model, "g");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(model.task_at(), Some(0));
        press(&mut model, "j");
        assert_eq!(model.task_at(), Some(500));
        press(&mut model, "k");
        assert_eq!(click(&mut model, 3), Some(501));
        press(&mut model, "g");
        assert_eq!(click(&mut model, 0), Some(0));
        press(&mut model, "j");
        assert_eq!(model.task_at(), Some(1), "a click on the heading has unfolded it");
        // The strip above the main area has no headings.
        (model.ui.cols, model.ui.rows) = (80, 24);
        update(&mut model, key(KeyCode::Enter));
        assert!(model.ui.folded.is_empty() && model.ui.toast.is_some());
        press(&mut model, "z");
        update(&mut model, key(KeyCode::Enter));
        assert_eq!(model.ui.folded.len(), 1);
    }
}
