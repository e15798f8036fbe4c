//! What to read first: at most twelve lines, by risk, from the facts of the run. Pure.

use std::collections::BTreeMap;

use ralph_core::{
    event::{BreakerCause, GuardedChangeKind, Missing, MutantOutcome, MutantTarget, StopReason, Usage},
    run::{GoalState, GoalStatus, Iteration, standing_refusal},
};
use ralph_text::one_line;
use ralph_words::{broken_in_words, cost_in_words, counted, head_in_words, listed, refusal_in_words};
use serde::Serialize;

use super::{
    RunReport,
    check::UNVERIFIED as NOT_VERIFIED,
    head::{end_in_words, shortened, verdict_in_words},
};

/// Most characters of a line.
const LINE: usize = 240;
/// How many times the median an iteration is to stand out, and among how many.
const OUTLIER: f64 = 5.0;
const ENOUGH: usize = 4;
/// Lines that an iteration changes at least to stand out.
const MANY_LINES: f64 = 100.0;

/// What a line is about, in the order of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstSubject {
    Verdict,
    /// Work that a person looks at before the rest.
    Review,
    /// What the sandbox kept from the agent.
    Refused,
    /// Processes that the agent left and ralph ended.
    Ended,
    Cost,
    NeedsYou,
}

impl FirstSubject {
    pub fn label(self) -> &'static str {
        match self {
            FirstSubject::Verdict => "",
            FirstSubject::Review => "review first",
            FirstSubject::Refused => "refused",
            FirstSubject::Ended => "ended",
            FirstSubject::Cost => "cost",
            FirstSubject::NeedsYou => "needs you",
        }
    }

    /// Whether the line is about the work alone, and says nothing of the machine or the user.
    pub fn is_public(self) -> bool {
        matches!(self, FirstSubject::Verdict | FirstSubject::Review)
    }
}

/// A line of what to read first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::JsonSchema)]
pub struct FirstLine {
    pub subject: FirstSubject,
    pub text: String,
}

impl FirstLine {
    /// The line with its subject: `review first: deleted: LICENSE`.
    pub fn in_words(&self) -> String {
        match self.subject.label() {
            "" => self.text.clone(),
            label => format!("{label}: {}", self.text),
        }
    }
}

/// The files that a run changed, as git has them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, crate::JsonSchema)]
pub struct ChangedFiles {
    /// The files that differ from the first checkpoint, without the plan.
    pub files: Vec<ChangedFile>,
    /// The iterations that changed no file but the plan.
    pub idle: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::JsonSchema)]
pub struct ChangedFile {
    pub path: String,
    pub change: GuardedChangeKind,
    pub role: FileRole,
    /// The last iteration that changed it.
    pub iteration: u32,
    /// The lines that iterations removed from an older test.
    pub removed: Vec<RemovedLines>,
}

/// The lines that an iteration removed from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::JsonSchema)]
pub struct RemovedLines {
    pub iteration: u32,
    pub lines: u64,
}

/// What a changed file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileRole {
    Work,
    Test,
    /// It tells tools, hosts or agents what to do: configuration, CI, hooks, instructions.
    Tools,
}

/// Returns what to read first of a run, the verdict before all else.
pub(super) fn first_lines(report: &RunReport) -> Vec<FirstLine> {
    lines(report, with_its_task)
}

/// Returns the lines to read first that are about the work alone: nothing of the machine, the user, the prompt or of tasks,
/// which agents and prompts add to the plan.
pub(super) fn public_lines(report: &RunReport) -> Vec<String> {
    let lines = lines(report, numbered);
    let public = lines.iter().filter(|line| line.subject.is_public());
    public.map(FirstLine::in_words).collect()
}

/// Returns what to read first, with iterations that ticked a task without work as `ticked`.
fn lines(report: &RunReport, ticked: fn(&Iteration) -> String) -> Vec<FirstLine> {
    let line = |subject| {
        move |text: String| FirstLine {
            subject,
            text: shortened(&text, LINE),
        }
    };
    let mut review: Vec<String> = review(report, ticked);
    if review.is_empty() && report.files.is_some() {
        review.push(
            "nothing stands out: no file was deleted, no older test, configuration or hook was changed, and no task was ticked \
             without work"
                .to_owned(),
        );
    }
    let mut lines = vec![line(FirstSubject::Verdict)(verdict(report))];
    lines.extend(review.into_iter().map(line(FirstSubject::Review)));
    lines.extend(refused(report).map(line(FirstSubject::Refused)));
    lines.extend(ended(report).map(line(FirstSubject::Ended)));
    lines.extend(cost(report).map(line(FirstSubject::Cost)));
    lines.extend(needs(report).map(line(FirstSubject::NeedsYou)));
    lines
}

/// The verdict, and since when each failing goal fails.
fn verdict(report: &RunReport) -> String {
    let since = |goal: &GoalStatus| match (&goal.state, goal.suspects(), goal.passed_with) {
        (_, Some(by), _) => Some(format!("{}: {}", goal.name, broken_in_words(by))),
        (GoalState::Checked { result }, None, None) if !result.passed => {
            Some(format!("{} has never passed", goal.name))
        }
        _ => None,
    };
    // The end by a goal or a refusal says this itself.
    let is_told = matches!(
        report.view.stop_reason(),
        Some(StopReason::BreakerOpen {
            why: BreakerCause::SameGoalFailure { .. } | BreakerCause::ClaimRefused { .. }
        })
    );
    let is_for_user = |reason: &Missing| reason.may_be_confirmed() || matches!(reason, Missing::OutOfScope { .. });
    let refused = standing_refusal(&report.view).filter(|refusal| !is_told && is_for_user(refusal.reason));
    let refused = refused.map(|refusal| refusal_in_words(refusal.reason, &refusal.files, refusal.iteration));
    let since = report.view.goals.iter().filter(|_| !is_told).filter_map(since);
    let parts: Vec<String> = [verdict_in_words(report)]
        .into_iter()
        .chain(refused)
        .chain(since)
        .collect();
    parts.join(" · ")
}

fn review(report: &RunReport, ticked: fn(&Iteration) -> String) -> Vec<String> {
    let head = report.view.head.as_ref().map(|place| head_in_words(place));
    let files = report
        .files
        .as_ref()
        .map(|changed| &changed.files[..])
        .unwrap_or_default();
    let named = |wanted: &dyn Fn(&ChangedFile) -> bool| -> Option<String> {
        let named: Vec<String> = files
            .iter()
            .filter(|file| wanted(file))
            .map(|file| match file.change {
                GuardedChangeKind::Deleted => format!("{} (deleted, iteration {})", file.path, file.iteration),
                GuardedChangeKind::Added => format!("{} (new, iteration {})", file.path, file.iteration),
                GuardedChangeKind::Changed => format!("{} ({})", file.path, changed_in_words(file)),
            })
            .collect();
        (!named.is_empty()).then(|| listed(&named))
    };
    let is_deleted = |file: &ChangedFile| file.change == GuardedChangeKind::Deleted;
    let deleted = named(&|file| is_deleted(file) && file.role != FileRole::Test);
    let tests = named(&|file| file.role == FileRole::Test && file.change != GuardedChangeKind::Added);
    let tools = named(&|file| file.role == FileRole::Tools && !is_deleted(file));
    let run_unasked: Vec<String> = noticed(report, "autorun-changed", "path")
        .into_iter()
        .filter(|path| !files.iter().any(|file| file.path == *path))
        .collect();
    let tools: Vec<String> = tools
        .into_iter()
        .chain((!run_unasked.is_empty()).then(|| listed(&run_unasked)))
        .collect();
    [
        head,
        deleted.map(|files| format!("deleted: {}", files.replace("(deleted, ", "("))),
        tests.map(|files| format!("tests: {files}")),
        (!tools.is_empty()).then(|| format!("configuration, CI, hooks, instructions, data: {}", tools.join(", "))),
        unnoticed(report),
        ticked_without_work(report, ticked),
        outliers(report),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The iterations that changed a file, or removed lines of a test.
fn changed_in_words(file: &ChangedFile) -> String {
    let removed = file.removed.iter();
    let removed: Vec<String> = removed
        .map(|removed| format!("−{} in iteration {}", removed.lines, removed.iteration))
        .collect();
    match (file.role, removed.is_empty()) {
        (FileRole::Test, true) => format!("only added to, iteration {}", file.iteration),
        (_, true) => format!("iteration {}", file.iteration),
        (_, false) => listed(&removed),
    }
}

/// Lines of the work that no test notices, by the latest deliberate bugs.
fn unnoticed(report: &RunReport) -> Option<String> {
    let tried = &report.view.iterations.latest_assessment().mutants;
    let missed = tried.iter().filter(|tried| tried.outcome == MutantOutcome::Missed);
    if missed.clone().any(|tried| tried.mutant.target == MutantTarget::Whole) {
        return Some("the tests pass even without the new code".to_owned());
    }
    let places = missed.map(|tried| format!("{}:{}", tried.mutant.path, tried.mutant.line));
    let places: Vec<String> = places.collect();
    (!places.is_empty()).then(|| format!("no test notices a bug at {}", listed(&places)))
}

/// The iterations that ticked a task and changed nothing, each as `named`.
fn ticked_without_work(report: &RunReport, named: fn(&Iteration) -> String) -> Option<String> {
    let idle = &report.files.as_ref()?.idle;
    let rows = report.iterations();
    let ticked = rows.filter(|row| row.closed > 0 && row.elsewhere.is_empty() && idle.contains(&row.number));
    let ticked: Vec<String> = ticked.map(named).collect();
    (!ticked.is_empty()).then(|| format!("ticked without a change: {}", listed(&ticked)))
}

fn numbered(row: &Iteration) -> String {
    format!("iteration {}", row.number)
}

fn with_its_task(row: &Iteration) -> String {
    match &row.task {
        Some(task) => format!("\"{}\" ({})", shortened(task, 60), numbered(row)),
        None => numbered(row),
    }
}

/// The iterations that changed or cost far more than the others.
fn outliers(report: &RunReport) -> Option<String> {
    let size = |row: &Iteration| {
        #[allow(clippy::cast_precision_loss)] // compared, not counted
        let lines = row
            .changes
            .map_or(0.0, |changes| (changes.added + changes.removed) as f64);
        lines
    };
    let cost = |row: &Iteration| row.usage.cost_usd.unwrap_or_default();
    let in_lines = |row: &Iteration| {
        let changes = row.changes.unwrap_or_default();
        format!("iteration {} (+{} −{})", row.number, changes.added, changes.removed)
    };
    let in_dollars = |row: &Iteration| {
        let cost = cost_in_words(&row.usage).unwrap_or_default();
        format!("iteration {} ({cost})", row.number)
    };
    let large = standing_out(report, size, MANY_LINES).into_iter().map(in_lines);
    let dear = standing_out(report, cost, 0.0).into_iter().map(in_dollars);
    let found: Vec<String> = large.chain(dear).collect();
    (!found.is_empty()).then(|| format!("far more than the others: {}", listed(&found)))
}

/// The iterations whose value is at least `least`, and some times the median of those that have any.
fn standing_out(report: &RunReport, value: impl Fn(&Iteration) -> f64, least: f64) -> Vec<&Iteration> {
    let mut values: Vec<f64> = report.iterations().map(&value).filter(|value| *value > 0.0).collect();
    if values.len() < ENOUGH {
        return Vec::new();
    }
    values.sort_by(f64::total_cmp);
    let bound = (values[values.len() / 2] * OUTLIER).max(least);
    report.iterations().filter(|row| value(row) > bound).collect()
}

/// The values of notices with a code, each once.
fn noticed(report: &RunReport, code: &str, name: &str) -> Vec<String> {
    let notices = report.view.incidents.notices.iter().map(|noticed| &noticed.notice);
    let mut found: Vec<String> = Vec::new();
    for value in notices
        .filter(|notice| *notice.code == *code)
        .filter_map(|notice| notice.data.get(name))
        .flat_map(|values| values.lines())
    {
        let value = one_line(value);
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// What the sandbox kept from the agent: hidden places, which hold keys, come first.
fn refused(report: &RunReport) -> Option<String> {
    let kinds = [
        ("sandbox-hides", "place", "to read"),
        ("socket-refused", "path", "to connect to"),
        ("connection-refused", "host", "to connect to"),
        ("sandbox-denied", "path", "to write"),
    ];
    let kinds = kinds.into_iter().filter_map(|(code, name, what)| {
        let found = noticed(report, code, name);
        (!found.is_empty()).then(|| format!("{what} {}", listed(&found)))
    });
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| format!("by the sandbox: {}", kinds.join("; ")))
}

/// The processes that sessions left, the rarest first.
fn ended(report: &RunReport) -> Option<String> {
    let notices = report.view.incidents.notices.iter().map(|noticed| &noticed.notice);
    let mut commands: BTreeMap<String, u64> = BTreeMap::new();
    let left = notices.filter(|notice| *notice.code == *"processes-ended");
    for command in left
        .filter_map(|notice| notice.data.get("commands"))
        .flat_map(|commands| commands.lines())
    {
        *commands.entry(one_line(command)).or_default() += 1;
    }
    let mut commands: Vec<(u64, String)> = commands.into_iter().map(|(command, times)| (times, command)).collect();
    commands.sort();
    let named = commands.into_iter().map(|(times, command)| match times {
        1 => format!("`{}`", shortened(&command, 80)),
        _ => format!("`{}` ×{times}", shortened(&command, 80)),
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| format!("processes that sessions left: {}", listed(&named)))
}

/// The cost, as far as it is known, of a task, and of the tasks that are left.
fn cost(report: &RunReport) -> Option<String> {
    let worked = report.iterations().filter(|row| row.outcome.is_some());
    let (all, unknown) = worked.fold((0_u64, 0_u64), |(all, unknown), row| {
        (all + 1, unknown + u64::from(row.usage.cost_usd.is_none()))
    });
    if all == 0 {
        return None;
    }
    let usage = match report.totals.usage.cost_usd {
        Some(_) => report.totals.usage,
        None => report
            .iterations()
            .fold(Usage::default(), |sum, row| sum.plus(row.usage)),
    };
    let Some(known) = cost_in_words(&usage) else {
        return Some("unknown: the agent reports none".to_owned());
    };
    let total = usage.cost_usd.unwrap_or_default();
    // Tasks that were done before the run cost nothing of it.
    let done: u32 = report.iterations().map(|row| row.closed).sum();
    let open = report.totals.tasks_open;
    let each = total / f64::from(done);
    let each = match (done, open) {
        (0, _) | (1, 0) => String::new(),
        (_, 0) => format!(", ${each:.2} a task"),
        (_, open) => format!(
            ", ${each:.2} a task, at this rate ${:.2} for {}",
            each * f64::from(open),
            counted(open.into(), "open task")
        ),
    };
    let idle = report.iterations().filter(|row| row.progress == Some(false));
    let (rows, idle) = idle.fold((0_u64, 0.0), |(rows, sum), row| {
        (rows + 1, sum + row.usage.cost_usd.unwrap_or_default())
    });
    let idle = (idle > 0.0).then(|| format!(", ${idle:.2} of it in {} without progress", counted(rows, "iteration")));
    let each = each + &idle.unwrap_or_default();
    Some(match unknown {
        0 => format!("{known}{each}"),
        _ => format!(
            "at least {known}{each}: {unknown} of {} reported none",
            counted(all, "iteration")
        ),
    })
}

/// The first matter that waits for the user, and the number of the others.
fn needs(report: &RunReport) -> Option<String> {
    let (verdict, head) = (
        end_in_words(report),
        report.view.head.as_ref().map(|place| one_line(&head_in_words(place))),
    );
    let needs = report.needs_person.iter();
    let mut needs = needs.filter(|what| **what != verdict && **what != NOT_VERIFIED && Some(*what) != head.as_ref());
    let first = needs.next()?;
    Some(match needs.count() {
        0 => first.clone(),
        more => format!("{} (and {more} more)", shortened(first, LINE - 40)),
    })
}
