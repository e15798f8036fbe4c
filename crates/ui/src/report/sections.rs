//! The sections below a report's head, independent of the output format.

use ralph_core::{
    event::{
        ConfirmedBy, Decider, Delivery, GoalResult, MutantOutcome, Outcome, Proof, ReviewResult, SteeringKind,
        StopReason, Text, Usage, Wait,
    },
    run::{Assessment, ConfirmedTests, EditChecks, Iteration, TaskState, Waited, Work},
};
use ralph_text::one_line;
use ralph_words::{
    all_changes_in_words, background_end_in_words, background_state_in_words, background_went_well, broken_in_words,
    claim_in_words, command_in_words, commit_in_words, confidence_in_words, counted, findings_in_words, goal_in_words,
    guarded_change_in_words, missing_in_words, mutant_in_words, mutants_in_words, outcome_in_words, place_of_decision,
    review_in_words, run_in_words, sealed_output_in_words, short_duration, status_in_words, subagent_tree,
    subagents_in_words, task_at_limit_in_words, task_in_words, tests_in_words, tree_in_words, trial_result_in_words,
    usage_in_words, wait_cause_in_words,
};

use super::{
    CommitLine, RunReport,
    head::{end_in_words, iteration_runs, outcome_cell, shortened},
};

/// Output lines shown of a failed goal or background task.
const TAIL_LINES: usize = 10;
/// Columns of lines with arbitrary text: a question, an error.
const LINE_COLUMNS: usize = 300;

/// Headings of the sections that a screen shows in places of their own.
pub(super) const NEEDS_YOU: &str = "Needs you";
pub(super) const UNVERIFIED: &str = "Unverified";
pub(super) const ITERATIONS: &str = "Iterations";

/// A heading and its items.
pub(super) struct ReportSection {
    pub(super) title: &'static str,
    pub(super) items: Vec<SectionItem>,
    /// Text for an empty section; without it the section is omitted.
    pub(super) if_empty: Option<&'static str>,
}

/// A line and the lines that explain it. They contain neither control characters nor line breaks.
pub(super) struct SectionItem {
    /// The state of the task that the item describes.
    pub(super) task: Option<TaskState>,
    /// Whether the goal that the item describes passed.
    pub(super) passed: Option<bool>,
    pub(super) text: String,
    pub(super) details: Vec<String>,
}

impl SectionItem {
    fn new(text: impl AsRef<str>) -> Self {
        Self::with(text, Vec::new())
    }

    fn with(text: impl AsRef<str>, details: Vec<String>) -> Self {
        let details = details.iter().map(|detail| shortened(detail, LINE_COLUMNS));
        Self {
            task: None,
            passed: None,
            details: details.filter(|detail| !detail.is_empty()).collect(),
            text: shortened(text.as_ref(), LINE_COLUMNS),
        }
    }
}

/// The amount of detail for each iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetailLevel {
    Whole,
    /// Without outcomes, times and changes, which a table before it shows.
    BesideTable,
}

/// All sections that are not omitted, the most important first.
pub(super) fn sections(report: &RunReport, telling: DetailLevel) -> Vec<ReportSection> {
    let said = |title, items| ReportSection {
        title,
        items,
        if_empty: None,
    };
    let plain = |texts: &[String]| texts.iter().map(SectionItem::new).collect();
    let sections = vec![
        ReportSection {
            title: NEEDS_YOU,
            items: plain(&needs_person(report)),
            if_empty: None,
        },
        ReportSection {
            title: UNVERIFIED,
            items: plain(&report.unverified),
            if_empty: match report.view.stop_reason() {
                Some(StopReason::Done {
                    proof: Proof::ExitCodes,
                    ..
                }) => Some("whether tests ran: all goals passed, by exit code alone"),
                _ => None,
            },
        },
        said("Tasks", tasks(report)),
        said("Work tree", work_tree(report)),
        said("Goals", goals(report)),
        said("Tests", tests(report)),
        said(ITERATIONS, iterations(report, telling)),
        said("Messages", messages(report)),
        said(
            "Waits",
            report
                .view
                .incidents
                .waits
                .iter()
                .map(|wait| SectionItem::new(wait_in_words(wait)))
                .collect(),
        ),
        said("Background tasks", background(report)),
        said("Permissions", plain(&report.permissions)),
        said("Stuck detector and limits", plain(&report.troubles)),
        said("Warnings", plain(&report.warnings)),
    ];
    let says = |section: &ReportSection| !section.items.is_empty() || section.if_empty.is_some();
    sections.into_iter().filter(says).collect()
}

/// The matters that wait for the user, without the end of the run, which stands above them.
fn needs_person(report: &RunReport) -> Vec<String> {
    let end = end_in_words(report);
    let needs = report.needs_person.iter().filter(|what| **what != end);
    needs.cloned().collect()
}

/// The results of goals and tests, without their output.
pub(super) fn evidence(report: &RunReport) -> Vec<String> {
    let items = goals(report).into_iter().chain(tests(report));
    items.map(|item| item.text).collect()
}

fn tasks(report: &RunReport) -> Vec<SectionItem> {
    let tasks = report.tasks.iter().map(|task| {
        let numbers: Vec<String> = task.work.iterations.iter().map(u32::to_string).collect();
        let worked_on = match &numbers[..] {
            [] => String::new(),
            [one] => format!(" (iteration {one})"),
            several => format!(" (iterations {})", several.join(", ")),
        };
        let question = task.question.as_ref().map(|question| format!("asks: {question}"));
        let limit = task.limit.map(task_at_limit_in_words);
        let state = match task.state {
            TaskState::Done | TaskState::Open => "",
            TaskState::Blocked => "blocked: ",
            TaskState::SetAside => "set aside by you: ",
            TaskState::Vanished => "removed from the plan: ",
        };
        SectionItem {
            task: Some(task.state),
            ..SectionItem::with(
                format!("{state}{}{worked_on}", task.text),
                question
                    .into_iter()
                    .chain(limit)
                    .chain(work_on_task(report, &task.work))
                    .collect(),
            )
        }
    });
    tasks.chain(tidied(report).map(SectionItem::new)).collect()
}

/// The number of done tasks that were removed from the plan file, which is allowed.
pub(super) fn tidied(report: &RunReport) -> Option<String> {
    let removed = report.view.plan.tasks.iter().filter(|task| task.line == 0).count();
    match removed {
        0 => None,
        1 => Some("1 of the done tasks was removed from the plan file".to_owned()),
        count => Some(format!("{count} of the done tasks were removed from the plan file")),
    }
}

/// The agent's last sentence about a task, and the subjects of the commits of its last iteration.
pub(super) fn work_on_task(report: &RunReport, work: &Work) -> Vec<String> {
    let Some(last) = work.iterations.last() else {
        return Vec::new();
    };
    let mut rows = report.iterations().enumerate().rev();
    let Some((at, _)) = rows.find(|(_, row)| row.number == *last) else {
        return Vec::new();
    };
    let commits = report.commits.get(at).map_or(&[][..], Vec::as_slice);
    let commits = commits.iter().map(|commit| format!("{} {}", commit.id, commit.subject));
    report.said.get(last).cloned().into_iter().chain(commits).collect()
}

fn background(report: &RunReport) -> Vec<SectionItem> {
    let tasks = report.view.background.tasks.iter().map(|task| {
        let command = command_in_words(&task.command);
        let Some(result) = &task.result else {
            let state = match report.is_running {
                true => background_state_in_words(task),
                // Its end is recorded when the run is resumed.
                false => "ended with the run".to_owned(),
            };
            return SectionItem::new(format!("{}: {command} ({state})", task.number));
        };
        let (end, after) = (background_end_in_words(result), short_duration(result.duration_ms));
        let tail = match background_went_well(result) {
            true => Vec::new(),
            false => last_lines(&result.tail),
        };
        SectionItem::with(format!("{}: {command} ({end}, {after})", task.number), tail)
    });
    tasks.collect()
}

/// How the work tree of the run was prepared, with the end of what its commands printed.
fn work_tree(report: &RunReport) -> Vec<SectionItem> {
    let Some(tree) = &report.view.tree else {
        return Vec::new();
    };
    let took = format!("prepared in {}", short_duration(tree.duration_ms));
    let commands = tree.commands.iter().filter(|ran| !ran.output.trim().is_empty());
    let outputs = commands.map(|ran| SectionItem::with(format!("`{}` printed", ran.command), last_lines(&ran.output)));
    [SectionItem::with(took, tree_in_words(tree))]
        .into_iter()
        .chain(outputs)
        .collect()
}

/// The last result of each goal.
fn goals(report: &RunReport) -> Vec<SectionItem> {
    let later = report.iterations().map(|iteration| (iteration.number, &iteration.look));
    let looks = [(0, &report.view.iterations.at_start)].into_iter().chain(later);
    let goals = report.view.goals.iter().map(|goal| {
        let name = &goal.name;
        let last = looks.clone().rev().find_map(|(number, look)| {
            let result = look.goals.iter().find(|result| result.name == *name)?;
            Some((number, result))
        });
        match last {
            None => SectionItem::new(format!("{name}: not run")),
            Some((number, result)) => {
                let when = match number {
                    0 => "at the start".to_owned(),
                    number => format!("after iteration {number}"),
                };
                let since = goal.suspects().map(|by| format!(", {}", broken_in_words(by)));
                let text = format!("{}, {when}{}", goal_in_words(result), since.unwrap_or_default());
                SectionItem {
                    passed: Some(result.passed),
                    ..SectionItem::with(text, tail(result))
                }
            }
        }
    });
    let EditChecks { count, failed, .. } = report.view.edit_checks;
    let after_edits = (count > 0).then(|| {
        let checks = counted(u64::from(count), "check");
        SectionItem::new(format!("after edits: {checks}, {failed} of them failed"))
    });
    goals.chain(after_edits).collect()
}

/// Tests of goals at the start and now, changed test files, and mutants that tests noticed or missed.
fn tests(report: &RunReport) -> Vec<SectionItem> {
    let at_start = |name: &str| {
        let result = report
            .view
            .iterations
            .at_start
            .goals
            .iter()
            .find(|result| result.name == name)?;
        result.tests.as_ref()
    };
    let mut looks = report.iterations().rev().map(|iteration| &iteration.look);
    let Some(look) = looks.find(|look| !look.goals.is_empty()) else {
        return Vec::new();
    };
    let counts = look.goals.iter().filter_map(|result| {
        let tests = result.tests.as_ref()?;
        let before = at_start(&result.name).map(|before| format!("; at the start {}", tests_in_words(before)));
        let name = &result.name;
        let runner = &tests.runner;
        let now = tests_in_words(tests);
        let flaky = result
            .flaky
            .iter()
            .map(|flaky| format!("flaky: {}", flaky.tests.join(", ")));
        let known = known_failures(report, result);
        let known =
            (!known.is_empty()).then(|| format!("failed before the first iteration, too: {}", known.join(", ")));
        let text = format!("{name} ({runner}): {now}{}", before.unwrap_or_default());
        Some(SectionItem::with(text, flaky.chain(known).collect()))
    });
    let trial = look.trial.iter().map(|trial| {
        let changes = trial.changes.iter().map(guarded_change_in_words).collect();
        SectionItem::with(trial_result_in_words(trial), changes)
    });
    let mutants = (!look.mutants.is_empty()).then(|| {
        let missed = look
            .mutants
            .iter()
            .filter(|tried| tried.outcome == MutantOutcome::Missed);
        let missed = missed.map(|tried| format!("not caught: {}", mutant_in_words(&tried.mutant)));
        SectionItem::with(mutants_in_words(&look.mutants), missed.collect())
    });
    let confirmed = report.view.changed_tests.confirmed.iter().map(|confirmed| {
        let changes = confirmed.changes.iter().map(guarded_change_in_words).collect();
        SectionItem::with(confirmed_in_words(confirmed), changes)
    });
    counts.chain(confirmed).chain(trial).chain(mutants).collect()
}

/// `changed tests count: confirmed by you with `ralph answer`, after iteration 3`.
fn confirmed_in_words(confirmed: &ConfirmedTests) -> String {
    let after = format!(", after iteration {}", confirmed.iteration);
    match &confirmed.by {
        ConfirmedBy::User { at, .. } => {
            let by = place_of_decision(&Decider::User { at: *at });
            format!("changed tests count: confirmed {by}{after}")
        }
        ConfirmedBy::Plan { task } => format!(
            "changed tests count: the plan allows it at \"{}\"{after}",
            one_line(task)
        ),
    }
}

/// Names of tests that failed before the first iteration and still fail.
fn known_failures<'r>(report: &'r RunReport, result: &GoalResult) -> Vec<&'r str> {
    let at_start = report
        .view
        .iterations
        .at_start
        .goals
        .iter()
        .filter(|before| before.name == result.name);
    let failed = at_start.flat_map(|before| &before.failed_tests);
    let still = failed.filter(|name| result.failed_tests.contains(name));
    still.map(Text::as_str).collect()
}

pub(super) fn tail(result: &GoalResult) -> Vec<String> {
    let tail = match result.passed {
        true => Vec::new(),
        false => last_lines(&result.tail),
    };
    let output = result.sealed_output.as_ref();
    tail.into_iter()
        .chain(output.map(|output| sealed_output_in_words(output)))
        .collect()
}

/// The last lines of an output.
fn last_lines(output: &str) -> Vec<String> {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    last.iter().map(|line| format!("| {line}")).collect()
}

fn iterations(report: &RunReport, telling: DetailLevel) -> Vec<SectionItem> {
    let at_start = look_in_words(&report.view.iterations.at_start);
    let before = (!at_start.is_empty()).then(|| SectionItem::with("before the first", at_start));
    let each = iteration_runs(report, 0).into_iter().map(|run| {
        let iteration = run.last;
        let commits = report.commits.get(run.at).map_or(&[][..], Vec::as_slice);
        let outcome = match &iteration.outcome {
            Some(Outcome::Completed) if !iteration.look.refused.is_empty() => "claim refused".to_owned(),
            Some(outcome) => match outcome_cell(report, iteration) {
                "no change" => "no change".to_owned(),
                _ => outcome_in_words(outcome).1,
            },
            None if report.is_running => "running".to_owned(),
            None => "interrupted".to_owned(),
        };
        let task = task_in_words(iteration.role, iteration.task.as_deref());
        let took = short_duration(report.duration_ms(iteration));
        let model = iteration
            .shown_model()
            .map(|model| format!("/{model}"))
            .unwrap_or_default();
        let resumed = if iteration.resumed { ", session resumed" } else { "" };
        let is_plain = iteration.outcome == Some(Outcome::Completed) && !iteration.resumed;
        let is_told = telling == DetailLevel::BesideTable
            && is_plain
            && model.is_empty()
            && iteration.adapter == report.view.settings.adapter;
        let after = match &iteration.outcome {
            None if report.is_running => "for",
            Some(_) | None => "after",
        };
        let how = (!is_told).then(|| format!("{outcome} {after} {took} ({}{model}{resumed})", iteration.adapter));
        SectionItem::with(
            format!("{}: {task}", run.numbers()),
            how.into_iter()
                .chain(work_in_words(iteration, commits, telling))
                .chain(look_in_words(&iteration.look))
                .chain(review_lines(iteration))
                .collect(),
        )
    });
    before.into_iter().chain(each).collect()
}

/// The result of a review and its findings.
fn review_lines(iteration: &Iteration) -> Vec<String> {
    let Some(result) = &iteration.review else {
        return Vec::new();
    };
    let mut lines = vec![format!("review: {}", review_in_words(result).1)];
    if let ReviewResult::Findings { findings, .. } = result {
        lines.extend(findings_in_words(findings));
    }
    lines
}

fn work_in_words(iteration: &Iteration, commits: &[CommitLine], telling: DetailLevel) -> Vec<String> {
    let is_stuck = iteration.progress == Some(false);
    let stuck = match (is_stuck, iteration.undone) {
        (true, _) => ", no progress",
        (false, true) => ", undone",
        (false, false) => "",
    };
    let mut lines = Vec::new();
    let elsewhere = &iteration.elsewhere;
    let all = |changes| format!("{}{stuck}", all_changes_in_words(changes, elsewhere));
    match (&iteration.changes, telling) {
        (Some(changes), DetailLevel::Whole) => lines.push(all(changes)),
        // The table has numbers only.
        (Some(changes), DetailLevel::BesideTable) if !elsewhere.is_empty() => lines.push(all(changes)),
        (None, DetailLevel::Whole) => lines.push(format!("changes: unknown{stuck}")),
        (_, DetailLevel::BesideTable) if is_stuck => lines.push("no progress".to_owned()),
        (_, DetailLevel::BesideTable) => {}
    }
    lines.extend(commits.iter().map(|commit| format!("{} {}", commit.id, commit.subject)));
    lines.extend(iteration.committed.as_ref().map(commit_in_words));
    if iteration.outcome != Some(Outcome::Interrupted) {
        lines.push(cost_in_words(&iteration.usage));
    }
    lines.extend(subagents_in_words(&iteration.subagents));
    let tree = subagent_tree(&iteration.subagents);
    lines.extend(
        tree.into_iter()
            .map(|(level, line)| format!("{}{line}", "– ".repeat(level as usize))),
    );
    let edits = [
        ("removed from the plan", &iteration.vanished),
        ("added to the plan", &iteration.added),
    ];
    let edits = edits.into_iter().filter(|(_, tasks)| !tasks.is_empty());
    lines.extend(edits.map(|(what, tasks)| format!("{what}: {}", tasks.join(" · "))));
    lines.extend(
        iteration
            .question
            .as_ref()
            .map(|question| format!("blocked: {question}")),
    );
    lines
}

/// Tokens and cost, each as reported or unknown.
pub(super) fn cost_in_words(usage: &Usage) -> String {
    match usage_in_words(usage) {
        None => "tokens and cost: unknown".to_owned(),
        Some(known) if usage.cost_usd.is_none() => format!("{known}, cost unknown"),
        Some(known) => known,
    }
}

fn look_in_words(look: &Assessment) -> Vec<String> {
    let mut lines: Vec<String> = look
        .claims
        .iter()
        .map(|claim| claim_in_words(*claim).to_owned())
        .collect();
    lines.extend(
        look.goals
            .iter()
            .map(|result| format!("goal {}", goal_in_words(result))),
    );
    lines.extend(judged_in_words(look));
    lines
}

/// The agent's status, the confidence in its claim, and the reasons for a refusal.
pub(super) fn judged_in_words(look: &Assessment) -> Vec<String> {
    let status = look.status.iter().map(status_in_words);
    let confidence = look.confidence.iter();
    let confidence = confidence.map(|confidence| confidence_in_words(*confidence, &look.confidence_parts));
    let refused = look.refused.iter();
    let refused = refused.map(|reason| format!("refused: {}", missing_in_words(reason)));
    status.chain(confidence).chain(refused).collect()
}

fn messages(report: &RunReport) -> Vec<SectionItem> {
    let messages = report.view.messages.iter().map(|message| {
        let kind = match message.kind {
            SteeringKind::Next => "once",
            SteeringKind::Now => "at once",
            SteeringKind::Standing => "standing",
        };
        let delivered = message.delivered.iter().map(|delivered| match delivered.how {
            Delivery::Prompt => delivered.iteration.to_string(),
            Delivery::Live => format!("{} (live)", delivered.iteration),
        });
        let delivered: Vec<String> = delivered.collect();
        let mut state = match &delivered[..] {
            [] if report.is_running && !message.withdrawn => "queued".to_owned(),
            [] => "not delivered".to_owned(),
            [one] => format!("delivered in iteration {one}"),
            several => format!("delivered in iterations {}", several.join(", ")),
        };
        if message.withdrawn {
            state.push_str(", withdrawn");
        }
        SectionItem::new(format!(
            "{} ({kind}, {state}): {}",
            message.id.0,
            one_line(&message.text)
        ))
    });
    messages.collect()
}

fn wait_in_words(wait: &Waited) -> String {
    let kind = match wait.kind {
        Wait::Backoff => "after a failure",
        Wait::LimitReset => "for a limit to reset",
        Wait::Headroom => "to leave a part of the account's window free",
        Wait::Disk => "for space on a disk",
        Wait::CallBudget => "for the next hour's calls",
        Wait::DayBudget => "for the next day",
        Wait::Cooldown => "for the stuck detector",
    };
    let took = match wait.duration_ms {
        Some(duration_ms) => short_duration(duration_ms),
        None => "not over".to_owned(),
    };
    let why = wait_cause_in_words(&wait.why);
    format!("{took} {kind}, after iteration {}: {why}", wait.iteration)
}

/// `run 12 (20261120-102835-4f2a)` with its times; adapter, model and plan.
pub(super) fn origin_in_words(report: &RunReport, time: impl Fn(u64) -> String) -> Vec<String> {
    let view = &report.view;
    let model = view.settings.model.as_ref();
    let model = model.map(|model| format!(" · {model}")).unwrap_or_default();
    vec![
        format!(
            "run {}: {} to {}",
            run_in_words(view.number, view.run.as_ref()),
            time(view.clock.begun_ms),
            time(view.clock.now_ms)
        ),
        format!("{}{model} · {}", view.settings.adapter, view.settings.plan.display()),
    ]
}
