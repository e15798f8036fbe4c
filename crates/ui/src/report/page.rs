//! The report for a screen: lines without a width, with semantic marks and tones instead of colours.

use ralph_core::{
    event::{Changes, Delivery, EndKind, Outcome, Proof, StopReason},
    run::{Assessment, Message, Task, TaskState},
    subagents::Subagents,
};
use ralph_text::one_line;
use ralph_words::{
    claim_in_words, cost_in_words, goal_in_words, mutants_in_words, problem_in_words, short_duration, subagent_tree,
    subagents_in_words, task_in_words, trial_in_words,
};

use super::{
    FirstLine, FirstSubject, RunReport,
    check::UNVERIFIED as NOT_VERIFIED,
    head::{effort_in_words, end_in_words, iteration_runs, outcome_cell, verdict_in_words, waits_in_words},
    sections::{
        DetailLevel, ITERATIONS, NEEDS_YOU, ReportSection, UNVERIFIED, judged_in_words, origin_in_words, sections,
        tail, tidied, work_on_task,
    },
};

/// Maximum items of a section: the page is rebuilt while a run goes on.
const MOST_ITEMS: usize = 300;

/// A line of the page. It may be longer than a screen is wide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLine {
    pub mark: Option<LineMark>,
    /// Columns before the mark.
    pub indent: u16,
    pub text: String,
    pub tone: PageTone,
    /// Figures of a table, for columns at the right end.
    pub cells: Vec<String>,
}

/// The mark before a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineMark {
    Done,
    Open,
    Blocked,
    Item,
    Good,
    Bad,
    Unfinished,
    /// An iteration without progress.
    Nothing,
}

/// The meaning of a line, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageTone {
    Plain,
    Dim,
    Heading,
    GoodVerdict,
    BadVerdict,
    /// Neither good nor bad: the run is over and the result needs a look.
    UnfinishedVerdict,
    /// A question or problem that is open.
    Unfinished,
}

impl PageLine {
    fn new(text: impl AsRef<str>, tone: PageTone) -> Self {
        Self {
            mark: None,
            indent: 0,
            text: one_line(text.as_ref()),
            tone,
            cells: Vec::new(),
        }
    }

    fn marked(mark: LineMark, text: impl AsRef<str>, tone: PageTone) -> Self {
        Self {
            mark: Some(mark),
            ..Self::new(text, tone)
        }
    }

    fn indented(self, indent: u16) -> Self {
        Self { indent, ..self }
    }

    fn empty() -> Self {
        Self::new("", PageTone::Plain)
    }
}

/// Whether each iteration is a line, or all that is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IterationFold {
    #[default]
    Folded,
    Unfolded,
}

/// Renders the whole report: first why the run is over, then the next steps, then the work done. `time` renders a
/// moment, given in milliseconds since the Unix epoch.
pub fn page(report: &RunReport, fold: IterationFold, time: impl Fn(u64) -> String) -> Vec<PageLine> {
    let mut lines = vec![verdict(report)];
    lines.push(PageLine::new(effort_in_words(report), PageTone::Heading).indented(2));
    lines.extend(why(report));
    lines.extend(first(report));
    lines.extend(waits_in_words(report).map(|waits| PageLine::new(waits, PageTone::Dim).indented(2)));
    let mut sections = sections(report, DetailLevel::Whole);
    let mut taken = |title: &str| {
        let at = sections.iter().position(|section| section.title == title)?;
        Some(sections.remove(at))
    };
    let (needs, unverified) = (taken(NEEDS_YOU), taken(UNVERIFIED));
    // Tasks are shown in their own table.
    taken("Tasks");
    let all_iterations = taken(ITERATIONS);
    lines.extend(next(report));
    let needs = needs.map(|needs| without_verdict(needs, report));
    lines.extend(
        needs
            .filter(|needs| !needs.items.is_empty())
            .into_iter()
            .flat_map(section),
    );
    if report.view.is_over() {
        lines.extend(unverified.into_iter().flat_map(section));
    }
    lines.extend(tasks(report));
    let after = sections
        .iter()
        .position(|section| !["Work tree", "Goals", "Tests"].contains(&section.title));
    let later = sections.split_off(after.unwrap_or(sections.len()));
    lines.extend(sections.into_iter().flat_map(section));
    lines.extend(match fold {
        IterationFold::Folded => iterations(report),
        IterationFold::Unfolded => all_iterations.into_iter().flat_map(section).collect(),
    });
    lines.extend(later.into_iter().flat_map(section));
    lines.push(PageLine::empty());
    lines.extend(
        origin_in_words(report, time)
            .iter()
            .map(|line| PageLine::new(line, PageTone::Dim)),
    );
    lines
}

fn verdict(report: &RunReport) -> PageLine {
    let words = report
        .first
        .first()
        .map_or_else(|| verdict_in_words(report), |line| line.text.clone());
    let Some(reason) = report.view.stop_reason() else {
        return PageLine::marked(LineMark::Unfinished, words, PageTone::Heading);
    };
    let (mark, tone) = match reason.kind() {
        EndKind::Good
            if matches!(
                reason,
                StopReason::Done {
                    proof: Proof::Nothing,
                    ..
                }
            ) =>
        {
            (LineMark::Unfinished, PageTone::UnfinishedVerdict)
        }
        EndKind::Good => (LineMark::Good, PageTone::GoodVerdict),
        EndKind::Bad => (LineMark::Bad, PageTone::BadVerdict),
        EndKind::Unfinished => (LineMark::Unfinished, PageTone::UnfinishedVerdict),
    };
    let mark = match reason {
        StopReason::Blocked { .. } => LineMark::Blocked,
        _ => mark,
    };
    PageLine::marked(mark, words, tone)
}

/// The iterations, a line each.
fn iterations(report: &RunReport) -> Vec<PageLine> {
    let count = report.iterations().len();
    if count == 0 {
        return Vec::new();
    }
    let head = PageLine {
        cells: ["outcome", "time", "changes"].map(str::to_owned).into(),
        ..PageLine::new(ITERATIONS, PageTone::Heading)
    };
    let rows = iteration_runs(report, count.saturating_sub(MOST_ITEMS));
    let rows = rows.into_iter().map(|run| {
        let row = run.last;
        let outcome = outcome_cell(report, row);
        let mark = match (&row.outcome, outcome) {
            (_, "refused" | "findings") | (Some(Outcome::Failed { .. } | Outcome::Interrupted), _) => LineMark::Bad,
            (Some(Outcome::Completed), _) if row.progress == Some(false) => LineMark::Nothing,
            (Some(Outcome::Completed), _) if row.question.is_some() => LineMark::Blocked,
            (Some(Outcome::Completed), _) if row.closed > 0 || !row.look.goals.is_empty() => LineMark::Good,
            (Some(Outcome::Completed), _) => LineMark::Item,
            (Some(Outcome::Cancelled { .. }) | None, _) => LineMark::Unfinished,
        };
        let changes = row.changes.filter(|changes| *changes != Changes::default());
        let changes = changes.map_or_else(
            || "-".to_owned(),
            |changes| format!("+{} −{}", changes.added, changes.removed),
        );
        let task = task_in_words(row.role, row.task.as_deref());
        let time = short_duration(run.duration_ms);
        PageLine {
            cells: vec![outcome.to_owned(), time, changes],
            ..PageLine::marked(mark, format!("{}: {task}", run.numbers()), PageTone::Plain)
        }
    });
    [PageLine::empty(), head].into_iter().chain(rows).collect()
}

/// The agent's question or the problem, in full.
fn why(report: &RunReport) -> Vec<PageLine> {
    let said = match report.view.stop_reason() {
        None => Vec::new(),
        Some(StopReason::Blocked { question }) => question.lines().map(str::to_owned).collect(),
        Some(reason) => match reason.problem() {
            Some(problem) if problem.text.is_empty() => vec![problem_in_words(problem)],
            Some(problem) => vec![format!("it said: {}", problem_in_words(problem))],
            None => Vec::new(),
        },
    };
    let lines = said.iter().map(|line| PageLine::new(line, PageTone::Plain).indented(2));
    lines.collect()
}

/// The lines to read first, below the verdict.
fn first(report: &RunReport) -> Vec<PageLine> {
    // Matters that wait for the user have a section of their own.
    let is_shown = |line: &&FirstLine| !matches!(line.subject, FirstSubject::Verdict | FirstSubject::NeedsYou);
    let lines = report.first.iter().filter(is_shown);
    let tone = |subject| match subject {
        FirstSubject::Cost => PageTone::Dim,
        _ => PageTone::Plain,
    };
    let line = |line: &FirstLine| PageLine::new(line.in_words(), tone(line.subject));
    lines.map(line).map(|line| line.indented(2)).collect()
}

/// Hints on the next steps.
fn next(report: &RunReport) -> Vec<PageLine> {
    let hints: Vec<&String> = report.end.iter().flat_map(|end| &end.hints).collect();
    if hints.is_empty() {
        return Vec::new();
    }
    let hints = hints
        .into_iter()
        .map(|hint| PageLine::marked(LineMark::Item, hint, PageTone::Plain));
    [PageLine::empty(), PageLine::new("Next", PageTone::Heading)]
        .into_iter()
        .chain(hints)
        .collect()
}

/// Removes items that repeat the verdict or the question below it.
fn without_verdict(mut needs: ReportSection, report: &RunReport) -> ReportSection {
    let verdict = end_in_words(report);
    let question = match report.view.stop_reason() {
        Some(StopReason::Blocked { question }) => Some(one_line(question)),
        _ => None,
    };
    let is_said = |text: &str| {
        let is_question = question.as_deref().is_some_and(|question| text.ends_with(question));
        is_question || text == verdict || text == NOT_VERIFIED
    };
    needs.items.retain(|item| !is_said(&item.text));
    needs
}

fn tasks(report: &RunReport) -> Vec<PageLine> {
    if report.tasks.is_empty() {
        return Vec::new();
    }
    let costs = report.tasks.iter().any(|task| task.work.usage.cost_usd.is_some());
    let heading = |text: &str| text.to_owned();
    let mut head = vec![heading("iterations"), heading("time")];
    head.extend(costs.then(|| heading("cost")));
    let head = PageLine {
        cells: head,
        ..PageLine::new("Tasks", PageTone::Heading)
    };
    let rows = report.tasks.iter().flat_map(|task| task_lines(report, task, costs));
    let tidied = tidied(report).map(|text| PageLine::new(text, PageTone::Dim));
    [PageLine::empty(), head]
        .into_iter()
        .chain(rows)
        .chain(tidied)
        .collect()
}

fn task_lines(report: &RunReport, task: &Task, costs: bool) -> Vec<PageLine> {
    let (mark, tone) = match task.state {
        TaskState::Done => (LineMark::Done, PageTone::Plain),
        TaskState::Open => (LineMark::Open, PageTone::Plain),
        TaskState::Blocked => (LineMark::Blocked, PageTone::Plain),
        TaskState::Vanished | TaskState::SetAside => (LineMark::Open, PageTone::Dim),
    };
    let gone = match task.state {
        TaskState::Vanished => " (vanished from the plan)",
        TaskState::SetAside => " (set aside by you)",
        TaskState::Done | TaskState::Open | TaskState::Blocked => "",
    };
    let or_none = |text: String| {
        if task.work.iterations.is_empty() {
            "-".to_owned()
        } else {
            text
        }
    };
    let mut cells = vec![
        or_none(task.work.iterations.len().to_string()),
        or_none(short_duration(task.work.duration_ms)),
    ];
    if costs {
        cells.push(cost_in_words(&task.work.usage).unwrap_or_else(|| "-".to_owned()));
    }
    let depth = u16::from(task.depth.min(6)) * 2;
    let row = PageLine {
        cells,
        ..PageLine::marked(mark, format!("{}{gone}", task.text), tone).indented(depth)
    };
    let question = task.question.iter().map(|question| {
        let text = format!("asks: {question}");
        PageLine::new(text, PageTone::Unfinished).indented(depth + 4)
    });
    let work = work_on_task(report, &task.work).into_iter();
    let work = work.map(|line| PageLine::new(line, PageTone::Dim).indented(depth + 4));
    [row].into_iter().chain(question).chain(work).collect()
}

fn section(section: ReportSection) -> Vec<PageLine> {
    let mut lines = vec![PageLine::empty(), PageLine::new(section.title, PageTone::Heading)];
    if let (true, Some(text)) = (section.items.is_empty(), section.if_empty) {
        lines.push(PageLine::new(text, PageTone::Dim).indented(2));
    }
    let left_out = section.items.len().saturating_sub(MOST_ITEMS);
    if left_out > 0 {
        let text = format!("{left_out} earlier ones: `ralph report` has them");
        lines.push(PageLine::new(text, PageTone::Dim).indented(2));
    }
    for item in section.items.into_iter().skip(left_out) {
        let mark = match item.passed {
            Some(true) => LineMark::Good,
            Some(false) => LineMark::Bad,
            None => LineMark::Item,
        };
        lines.push(PageLine::marked(mark, &item.text, PageTone::Plain));
        let details = item.details.iter();
        lines.extend(details.map(|detail| PageLine::new(detail, PageTone::Dim).indented(4)));
    }
    lines
}

/// Renders an iteration's goal results, claims and the verdict on them.
pub fn goals_page(look: &Assessment) -> Vec<PageLine> {
    let mut lines = Vec::new();
    for result in &look.goals {
        let mark = if result.passed { LineMark::Good } else { LineMark::Bad };
        lines.push(PageLine::marked(mark, goal_in_words(result), PageTone::Plain));
        let tail = tail(result);
        lines.extend(tail.iter().map(|line| PageLine::new(line, PageTone::Dim).indented(4)));
    }
    let trial = look.trial.iter().map(trial_in_words);
    let mutants = (!look.mutants.is_empty()).then(|| mutants_in_words(&look.mutants));
    let claims = look.claims.iter().map(|claim| claim_in_words(*claim).to_owned());
    let said = trial.chain(mutants).chain(claims).chain(judged_in_words(look));
    lines.extend(said.map(|line| PageLine::marked(LineMark::Item, line, PageTone::Plain)));
    lines
}

/// Renders the subagents of an iteration, as a tree.
pub fn subagents_page(all: &Subagents) -> Vec<PageLine> {
    let count = subagents_in_words(all).map(|count| PageLine::new(&count, PageTone::Plain));
    let tree = subagent_tree(all).into_iter().map(|(level, line)| {
        let indent = u16::try_from(2 * (level - 1)).unwrap_or(u16::MAX);
        PageLine::marked(LineMark::Item, line, PageTone::Plain).indented(indent)
    });
    count.into_iter().chain(tree).collect()
}

/// Renders the messages delivered in an iteration, in full.
pub fn messages_page<'m>(messages: impl Iterator<Item = &'m Message>, iteration: u32) -> Vec<PageLine> {
    let mut lines = Vec::new();
    for message in messages {
        let delivered = message
            .delivered
            .iter()
            .find(|delivered| delivered.iteration == iteration);
        let Some(delivered) = delivered else { continue };
        let how = match delivered.how {
            Delivery::Prompt => "in the prompt",
            Delivery::Live => "while the agent worked",
        };
        let head = format!("message {}, {how}", message.id.0);
        lines.push(PageLine::marked(LineMark::Item, head, PageTone::Heading));
        let text = message.text.lines();
        lines.extend(text.map(|line| PageLine::new(line, PageTone::Plain).indented(2)));
    }
    lines
}
