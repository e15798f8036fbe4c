//! `ralph many report`: the work of each plan of a batch, read from its runs and from git.

use std::{fmt::Write as _, fs, path::Path};

use ralph_core::{
    event::{Proof, Usage},
    run::{GoalState, RunView},
};
use ralph_git::Branches;
use ralph_many::BatchLock;
use ralph_plan::batch::{Batch, BatchEnd, BatchId, BatchPlan, GoalTests, PlanPhase};
use ralph_review::{changed_files, date_time};
use ralph_system::{os::now_ms, proc::Supervisor};
use ralph_text::{
    console::{print, print_coloured, print_json},
    one_line, pretty_json,
};
use ralph_ui::report::{CommitLine, FirstSubject, OutputStyle, RunReport, escaped};
use ralph_words::{
    batch_usage_in_words, counted, kept_in_words, log_command, merge_hint, plan_state_in_words, proof_word,
    short_duration, tests_in_words, tree_in_words, trouble_in_words, usage_in_words, user_hint,
};
use serde::Serialize;

use crate::{
    app::{self, ProjectPlace},
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use crate::cli::{
    listing_args::ReportFormatArg,
    table::{TableCell, table},
};

/// The report of a whole batch.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BatchReport {
    batch: BatchId,
    target: String,
    /// The evidence for the last merge. `None` before a merge, or without goals that verify merges.
    proof: Option<Proof>,
    /// The commit of the target when the batch began.
    base: String,
    running: bool,
    end: Option<BatchEnd>,
    usage: Usage,
    plans: Vec<PlanReport>,
    /// The command that brings the merged plans into the user's branch, in words.
    #[serde(skip)]
    merge: Option<String>,
    /// Use of the shared limits, in words.
    #[serde(skip)]
    limits: Vec<String>,
}

/// The report of one plan.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanReport {
    plan: String,
    file: String,
    section: Option<String>,
    phase: PlanPhase,
    /// The phase in words.
    state: String,
    /// Why the last merge failed, in words.
    trouble: Option<String>,
    /// The evidence for the end of the last run. `None` if that is not done.
    proof: Option<Proof>,
    /// The evidence for the merge. `None` if the plan is not merged, or without goals that verify merges.
    merge_proof: Option<Proof>,
    /// The tests that the goals ran on the merged tree.
    merge_tests: GoalTests,
    /// The hint for a plan that waits for its user.
    #[serde(skip)]
    waits: Option<String>,
    /// The command that shows the changes of a plan that is not merged.
    shows: Option<String>,
    tasks_done: usize,
    tasks: usize,
    iterations: u32,
    elapsed_ms: u64,
    usage: Usage,
    /// The goals as they were last run on the plan's branch.
    goals: Vec<GoalReport>,
    commits: Vec<CommitLine>,
    /// The runs of the plan, each as in `ralph report`.
    runs: Vec<RunReport>,
}

#[derive(Serialize)]
struct GoalReport {
    name: String,
    /// `None` if the goal was not run.
    passed: Option<bool>,
}

/// Writes the report of a batch to stdout or a file.
pub(super) fn report(
    place: &ProjectPlace,
    id: &BatchId,
    batch: &Batch,
    (format, out): (ReportFormatArg, Option<&Path>),
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let site = app::many::site_of_batch(place, id, false, supervisor)?;
    let usage = ralph_many::used(&site, batch);
    let is_running = BatchLock::is_held(&place.paths);
    let plans = batch.plans.iter().map(|plan| {
        let views = ralph_many::job_views(&site, &plan.name);
        let state_dir = ralph_many::job_state(&site, &plan.name).ok();
        let files = state_dir
            .zip(views.last())
            .and_then(|(paths, view)| changed_files(&paths, view, supervisor));
        let state = plan_state_in_words(plan, batch, is_running);
        let mut plan = plan_report(batch, plan, (&views[..], state), commits(&site.branches, batch, plan));
        plan.runs = match plan.runs.pop() {
            Some(last) => plan.runs.into_iter().chain([last.with_files(files)]).collect(),
            None => Vec::new(),
        };
        plan
    });
    let report = BatchReport {
        batch: id.clone(),
        target: batch.target.clone(),
        proof: batch.target_proof.as_ref().map(|merge| merge.proof),
        base: batch.base.clone(),
        running: is_running,
        end: batch.end,
        merge: merge_hint(batch),
        limits: batch_usage_in_words(&batch.limits, &usage),
        usage,
        plans: plans.collect(),
    };
    let style = match out {
        None => Presentation::for_stdout(OutputFormat::Text).style,
        Some(_) => OutputStyle::PLAIN,
    };
    let text = match format {
        ReportFormatArg::Text => in_text(&report, style),
        ReportFormatArg::Markdown => in_markdown(&report),
        ReportFormatArg::Json => pretty_json(&report),
    };
    match (out, format) {
        (Some(path), _) => fs::write(path, text).map_err(|error| {
            let what = format!("{}: the report cannot be written: {error}", path.display());
            Failure::new(FailureKind::Failed, what).hint("name another file with `--out`, or leave it out")
        })?,
        (None, ReportFormatArg::Json) => print_json(&text),
        // Text of others is on one line each, without control characters.
        (None, ReportFormatArg::Text) => print_coloured(&text),
        (None, ReportFormatArg::Markdown) => print(&text),
    }
    Ok(0)
}

/// The commits of a plan: those of its merge, or those that the target lacks. Empty if git no longer has them.
fn commits(branches: &Branches, batch: &Batch, plan: &BatchPlan) -> Vec<CommitLine> {
    let found = match &plan.phase {
        PlanPhase::Merged { commit } => branches.commits_between(&format!("{commit}^1"), &format!("{commit}^2")),
        _ => branches.commits_between(&batch.target, &batch.id.branch(&plan.name)),
    };
    let found = found.unwrap_or_default().into_iter();
    let lines = found.map(|commit| CommitLine {
        id: commit.id,
        subject: one_line(&commit.subject),
    });
    lines.collect()
}

/// Builds the report of a plan. `views` are its runs, `state` is its state in words.
fn plan_report(
    batch: &Batch,
    plan: &BatchPlan,
    (views, state): (&[RunView], String),
    commits: Vec<CommitLine>,
) -> PlanReport {
    let last = views.last();
    let goals = last
        .map_or(&[][..], |view| &view.goals[..])
        .iter()
        .map(|goal| GoalReport {
            name: goal.name.clone(),
            passed: match &goal.state {
                GoalState::Checked { result } => Some(result.passed),
                GoalState::Unknown | GoalState::Running => None,
            },
        });
    let is_merged = matches!(plan.phase, PlanPhase::Merged { .. });
    PlanReport {
        plan: plan.name.0.clone(),
        file: plan.file.clone(),
        section: plan.section.clone(),
        state: match &plan.phase {
            PlanPhase::Kept { why } => format!("not merged: {}", kept_in_words(why)),
            _ => state,
        },
        trouble: plan.trouble.as_ref().filter(|_| !is_merged).map(trouble_in_words),
        proof: plan.proof,
        merge_proof: plan.merge_proof.as_ref().map(|merge| merge.proof),
        merge_tests: plan
            .merge_proof
            .as_ref()
            .map(|merge| merge.tests.clone())
            .unwrap_or_default(),
        waits: user_hint(plan),
        shows: (!is_merged && !commits.is_empty()).then(|| log_command(batch, &batch.id, &plan.name)),
        phase: plan.phase.clone(),
        tasks_done: last.map_or(0, |view| view.plan.done()),
        tasks: last.map_or(0, |view| view.plan.tasks.len()),
        iterations: views.iter().map(|view| view.iterations.counted).sum(),
        elapsed_ms: views.iter().map(|view| view.elapsed_ms(now_ms())).sum(),
        usage: views.iter().fold(Usage::default(), |sum, view| sum.plus(view.usage)),
        goals: goals.collect(),
        commits,
        runs: views.iter().cloned().map(RunReport::from_view).collect(),
    }
}

impl BatchReport {
    /// The state of the batch and its totals, in words.
    fn head(&self) -> String {
        let merged = self
            .plans
            .iter()
            .filter(|plan| matches!(plan.phase, PlanPhase::Merged { .. }))
            .count();
        let how = match (self.running, self.end) {
            (true, _) => "running",
            (false, Some(BatchEnd::Merged)) => "done",
            (false, Some(BatchEnd::Incomplete)) => "over",
            (false, Some(BatchEnd::Stopped { .. })) => "stopped",
            (false, None) => "interrupted",
        };
        let iterations: u32 = self.plans.iter().map(|plan| plan.iterations).sum();
        let plans = counted(self.plans.len() as u64, "plan");
        let mut parts = vec![
            format!("{how}: {merged} of {plans} merged"),
            counted(u64::from(iterations), "iteration"),
        ];
        parts.extend(self.proof.map(|proof| format!("the target is {}", proof_word(proof))));
        parts.extend(usage_in_words(&self.usage));
        parts.extend(self.limits.iter().cloned());
        parts.join(" · ")
    }

    /// The lines to read first of each plan, and the command that brings the work home.
    fn first(&self) -> Vec<String> {
        let of_plan = |plan: &PlanReport| -> Vec<String> {
            let lines = plan.runs.last().map(|run| &run.first[..]).unwrap_or_default();
            let risky = lines
                .iter()
                .filter(|line| !matches!(line.subject, FirstSubject::Verdict | FirstSubject::Cost));
            let named = risky.map(|line| format!("{}: {}", one_line(&plan.plan), line.in_words()));
            named.take(FIRST_OF_PLAN).collect()
        };
        let plans = self.plans.iter().flat_map(of_plan);
        plans.chain(self.merge.clone()).collect()
    }

    fn began(&self) -> String {
        let started = self
            .plans
            .iter()
            .flat_map(|plan| &plan.runs)
            .map(|run| run.view.clock.begun_ms)
            .min();
        let began = started.map_or_else(String::new, |started_ms| {
            format!(", first run {}", date_time(started_ms))
        });
        let base = self.base.get(..10).unwrap_or(&self.base);
        format!(
            "batch {} into {} from {base}{began}",
            self.batch,
            one_line(&self.target)
        )
    }
}

impl PlanReport {
    /// The cells of the plan's table row.
    fn cells(&self) -> [String; 6] {
        [
            self.plan.clone(),
            format!("{}/{}", self.tasks_done, self.tasks),
            self.iterations.to_string(),
            short_duration(self.elapsed_ms),
            usage_in_words(&self.usage).unwrap_or_else(|| "unknown".to_owned()),
            one_line(&self.state),
        ]
    }

    /// The lines about the plan below the table.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(
            self.trouble
                .iter()
                .map(|trouble| format!("last merge: {}", one_line(trouble))),
        );
        let trees = self.runs.iter().filter_map(|run| run.view.tree.as_ref());
        lines.extend(trees.map(|tree| format!("work tree: {}", one_line(&tree_in_words(tree).join(", ")))));
        for goal in &self.goals {
            let how = match goal.passed {
                Some(true) => "passed",
                Some(false) => "failed",
                None => "was not run",
            };
            lines.push(format!("goal {}: {how}", one_line(&goal.name)));
        }
        lines.extend(self.merge_lines());
        lines.extend(
            self.commits
                .iter()
                .map(|commit| format!("{} {}", commit.id, commit.subject)),
        );
        lines.extend(self.waits.clone());
        let needs = self.runs.last().into_iter().flat_map(|run| &run.needs_person);
        lines.extend(needs.map(|what| format!("needs you: {}", one_line(what))));
        lines
    }

    /// The tests that the goals ran on the merged tree, in words.
    fn merge_lines(&self) -> Vec<String> {
        let tests = self.merge_tests.iter();
        tests
            .map(|(goal, tests)| format!("merged tree: goal {} ran {}", one_line(goal), tests_in_words(tests)))
            .collect()
    }

    /// The command that shows the changes, in words.
    fn shows(&self) -> Option<String> {
        let command = self.shows.as_ref()?;
        Some(format!("`{}` shows what it did", one_line(command)))
    }

    fn title(&self) -> String {
        match &self.section {
            Some(section) => format!("{} ({}, {section})", self.plan, self.file),
            None => format!("{} ({})", self.plan, self.file),
        }
    }
}

/// Most lines to read first of a plan.
const FIRST_OF_PLAN: usize = 3;
const TITLES: [&str; 6] = ["plan", " tasks", " iterations", " time", "used", "state"];

fn in_text(report: &BatchReport, style: OutputStyle) -> String {
    let rows: Vec<[TableCell; 6]> = report
        .plans
        .iter()
        .map(|plan| plan.cells().map(TableCell::new))
        .collect();
    let mut text = format!("{}\n{}\n\n", style.paint("2", &report.began()), report.head());
    for line in report.first() {
        text += &format!("  {line}\n");
    }
    if !report.first().is_empty() {
        text.push('\n');
    }
    text += &table(TITLES, &rows, style);
    for plan in report.plans.iter().filter(|plan| !plan.lines().is_empty()) {
        text += &format!("\n{}\n", style.paint("1", &one_line(&plan.title())));
        for line in plan.lines().into_iter().chain(plan.shows()) {
            text += &format!("  {line}\n");
        }
    }
    text
}

fn in_markdown(report: &BatchReport) -> String {
    let mut text = format!(
        "# ralph many: {}\n\n{}\n\n",
        escaped(&report.head()),
        escaped(&report.began())
    );
    let mut line = |line: String| writeln!(text, "{line}").expect("a string takes every write");
    for first in report.first() {
        line(format!("- {}", escaped(&first)));
    }
    if !report.first().is_empty() {
        line(String::new());
    }
    line(format!("| {} |", TITLES.map(str::trim).join(" | ")));
    line("|---|--:|--:|--:|---|---|".to_owned());
    for plan in &report.plans {
        line(format!("| {} |", plan.cells().map(|cell| escaped(&cell)).join(" | ")));
    }
    for plan in report.plans.iter().filter(|plan| !plan.lines().is_empty()) {
        line(format!("\n## {}\n", escaped(&one_line(&plan.title()))));
        for item in plan.lines() {
            line(format!("- {}", escaped(&item)));
        }
        plan.shows().into_iter().for_each(|shows| line(format!("- {shows}")));
    }
    text
}
