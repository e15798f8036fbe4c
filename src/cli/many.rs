//! `ralph many`: plans side by side, each in a work tree of its own, brought back one after the other.

use std::{path::PathBuf, time::Duration};

use serde_json::{Value, json};

use crate::{
    app::{self, Place, Ways, Wish},
    batch::{Batch, BatchId, BatchLimits, BatchRecord, Input, Phase, Plan, PlanName},
    config::{self, Config, Flag},
    console::{self, complain, print, print_coloured, print_json},
    control::Personal,
    driver::now_ms,
    error::{Failure, FailureKind},
    many::{self, BatchError, BatchLock, BatchPaths, Site},
    os::signals,
    proc::Supervisor,
    run::RunView,
    text::one_line,
    ui::{
        Presentation,
        headless::{Format, dated_line},
        report::Style,
    },
    words::{
        batch_hints, batch_line, batch_usage_in_words, held_in_words, plan_state_in_words, short_duration,
        usage_in_words,
    },
};

use super::{
    args::{Args, ManyArgs, ManyCommand},
    attach, many_report,
    run::{place, sources},
    table::{Cell, table},
    trust,
};

/// How long a batch may take to take note of a request.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn run(args: &Args, many: &ManyArgs, supervisor: &Supervisor) -> Result<u8, Failure> {
    match &many.command {
        None => start(args, many, supervisor),
        Some(ManyCommand::Status { json }) => status(args, *json, supervisor),
        Some(ManyCommand::Cancel { plan }) => cancel(args, plan.as_deref()),
        Some(ManyCommand::Report { format, out }) => {
            let place = place(args)?;
            let (id, batch) = last(&place)?;
            many_report::report(&place, &id, &batch, (*format, out.as_deref()), supervisor)
        }
        Some(ManyCommand::Attach { plan }) => attach_to(args, plan.as_deref(), supervisor),
        Some(ManyCommand::Resume {
            max_cost_usd,
            max_tokens,
            calls_per_hour,
        }) => {
            let values = [max_cost_usd, max_tokens, calls_per_hour];
            let given = SHARED.iter().zip(values).filter_map(|((name, key), value)| {
                let value = value.as_ref()?;
                Some(Flag::new(name, key, value.as_str()))
            });
            resume(args, given.collect(), supervisor)
        }
    }
}

fn start(args: &Args, many: &ManyArgs, supervisor: &Supervisor) -> Result<u8, Failure> {
    let given = || args.settings.given.iter().chain(&many.settings.given);
    if given().any(|flag| flag.key == "plan") {
        return Err(
            Failure::new(FailureKind::Usage, "`--plan` names one plan, and a batch has several")
                .hint("name them without it: `ralph many api.md ui.md`"),
        );
    }
    let place = trust::place_to_run(args)?;
    let mut sources = sources(args, &place);
    sources.flags.extend(many.settings.given.iter().cloned());
    let loaded = config::load(&sources)?;
    let mut arguments: Vec<String> = Vec::new();
    for flag in given().filter(|flag| !is_shared(flag)) {
        arguments.push(flag.name.clone());
        arguments.push(
            flag.value
                .as_str()
                .map_or_else(|| flag.value.to_string(), str::to_owned),
        );
    }
    if let Some(config) = &sources.extra {
        arguments.extend(["--config".to_owned(), config.to_string_lossy().into_owned()]);
    }
    let wish = Wish {
        plans: &many.plans,
        each_section: many.each_section.as_deref(),
        jobs: many.jobs,
        limits: limits(given(), &loaded.config, BatchLimits::default()),
        into: many.into.as_deref(),
        arguments,
        has_config: sources.extra.is_some(),
    };
    signals::survive_file_size_limit();
    let prepared = app::prepare_batch(&place, &loaded.config, wish, supervisor)?;
    for note in &prepared.notes {
        console::warn(note);
    }
    supervisor.become_subreaper();
    let style = Presentation::of_stdout(Format::Text).style;
    let mut told = |record: &BatchRecord, batch: &Batch| print_line(record, batch, style);
    let end = many::run(&prepared.id, prepared.start, prepared.site, supervisor, &mut told)?;
    drop(prepared.lock);
    Ok(end.exit_code())
}

/// The settings of a run that are of the batch where they are typed behind `many`: what its plans may use together.
const SHARED: [(&str, &str); 3] = [
    ("--max-cost-usd", "limits.maxCostUsd"),
    ("--max-tokens", "limits.maxTokens"),
    ("--calls-per-hour", "limits.callsPerHour"),
];

fn is_shared(flag: &Flag) -> bool {
    SHARED.iter().any(|(_, key)| flag.key == *key)
}

/// The limits `before` with those that are given, of which `config` has the values.
fn limits<'f>(given: impl Iterator<Item = &'f Flag>, config: &Config, before: BatchLimits) -> BatchLimits {
    let mut limits = before;
    for flag in given {
        match flag.name.as_str() {
            "--max-cost-usd" => limits.max_cost_usd = config.limits.max_cost_usd,
            "--max-tokens" => limits.max_tokens = config.limits.max_tokens,
            "--calls-per-hour" => limits.calls_per_hour = config.limits.calls_per_hour,
            _ => {}
        }
    }
    limits
}

/// `given` are limits that the batch goes on with.
fn resume(args: &Args, given: Vec<Flag>, supervisor: &Supervisor) -> Result<u8, Failure> {
    trust::refuse_agent(&place(args)?.paths, Personal::Many)?;
    let place = trust::place_to_run(args)?;
    let (id, batch) = last(&place)?;
    let _lock = app::lock_batches(&place)?;
    if batch
        .plans
        .iter()
        .all(|plan| matches!(plan.phase, Phase::Merged { .. }))
        && batch.end.is_some()
    {
        // What a batch has left behind that was killed at its very end; what stays is in nobody's way.
        _ = app::site_of_batch(&place, &id, false, supervisor)?.tidy();
        print(&format!(
            "batch {id}: every plan is merged; there is nothing to resume\n"
        ));
        return Ok(0);
    }
    let more = match given.is_empty() {
        true => None,
        false => {
            let mut sources = sources(args, &place);
            sources.flags.clone_from(&given);
            Some(limits(given.iter(), &config::load(&sources)?.config, batch.limits))
        }
    };
    signals::survive_file_size_limit();
    let site = site_with_goals(args, &place, &id, &batch, supervisor)?;
    supervisor.become_subreaper();
    let style = Presentation::of_stdout(Format::Text).style;
    let mut told = |record: &BatchRecord, batch: &Batch| print_line(record, batch, style);
    let end = many::resume(site, more, supervisor, &mut told)?;
    Ok(end.exit_code())
}

/// The place of a batch, with what its own command line says of goals.
fn site_with_goals(
    args: &Args,
    place: &Place,
    id: &BatchId,
    batch: &Batch,
    supervisor: &Supervisor,
) -> Result<Site, Failure> {
    let named_goals = batch.arguments.iter().any(|argument| argument == "--goal");
    let mut sources = sources(args, place);
    if let Some(at) = batch.arguments.iter().position(|argument| argument == "--config") {
        sources.extra = batch.arguments.get(at + 1).map(PathBuf::from);
    }
    let has_goals = named_goals || !config::load(&sources)?.config.goals.is_empty();
    app::site_of_batch(place, id, has_goals, supervisor)
}

/// The batch of the project that began last.
fn last(place: &Place) -> Result<(BatchId, Batch), Failure> {
    let id = many::latest(&place.paths).ok_or(BatchError::NoBatch)?;
    let paths = BatchPaths::new(&place.paths, &id);
    let records = many::read(&paths.journal()).map_err(BatchError::Journal)?;
    let batch = Batch::of(&records).ok_or(BatchError::NoBatch)?;
    Ok((id, batch))
}

fn print_line(record: &BatchRecord, batch: &Batch, style: Style) {
    if let Some(line) = batch_line(&record.event, batch) {
        print_coloured(&dated_line(record.at_ms, &line, style));
    }
    if batch.end.is_some_and(|end| end.exit_code() != 0) {
        for hint in batch_hints(batch, &batch.id) {
            complain(&format!("hint: {hint}"));
        }
    }
}

fn status(args: &Args, json: bool, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    let (id, batch) = last(&place)?;
    let site = app::site_of_batch(&place, &id, false, supervisor)?;
    let is_running = BatchLock::is_held(&place.paths);
    let usage = many::used(&site, &batch);
    let held = batch.held(now_ms()).filter(|_| is_running);
    let rows: Vec<(&Plan, Option<RunView>)> = batch
        .plans
        .iter()
        .map(|plan| (plan, many::job_view(&site, &plan.name)))
        .collect();
    if json {
        let plans: Vec<Value> = rows
            .iter()
            .map(|(plan, view)| json_of(&site, &id, plan, view.as_ref()))
            .collect();
        let value = json!({
            "batch": id, "running": is_running, "target": batch.target, "jobs": batch.jobs, "end": batch.end,
            "limits": batch.limits, "usage": usage, "held": held, "spent": batch.spent, "plans": plans,
        });
        let text = serde_json::to_string_pretty(&value).expect("a JSON value has no failing serialisers");
        print_json(&(text + "\n"));
        return Ok(0);
    }
    let style = Presentation::of_stdout(Format::Text).style;
    let how = match (is_running, batch.end) {
        (true, _) => "running",
        (false, Some(_)) => "over",
        (false, None) => "cut off; `ralph many resume` goes on",
    };
    let merged = batch
        .plans
        .iter()
        .filter(|plan| matches!(plan.phase, Phase::Merged { .. }))
        .count();
    print(&format!(
        "batch {id}: {how}; {merged} of {} merged into `{}`\n",
        batch.plans.len(),
        one_line(&batch.target)
    ));
    let spending = batch_usage_in_words(&batch.limits, &usage);
    if !spending.is_empty() {
        print(&format!("{}\n", spending.join(" · ")));
    }
    if let Some(held) = held {
        print(&format!("{}\n", one_line(&held_in_words(&held, now_ms()))));
    }
    let rows: Vec<[Cell; 5]> = rows
        .iter()
        .map(|(plan, view)| row(plan, view.as_ref(), plan_state_in_words(plan, &batch, is_running)))
        .collect();
    print_coloured(&table(["plan", " tasks", " iteration", " age", "state"], &rows, style));
    if !is_running && batch.end.is_some_and(|end| end.exit_code() != 0) {
        for hint in batch_hints(&batch, &id) {
            complain(&format!("hint: {hint}"));
        }
    }
    Ok(0)
}

/// `phase` is what the plan is at, in words.
fn row(plan: &Plan, view: Option<&RunView>, phase: String) -> [Cell; 5] {
    let tasks = view.map_or(String::new(), |view| {
        format!("{}/{}", view.plan.done(), view.plan.tasks.len())
    });
    let iteration = view.map_or(String::new(), |view| view.iterations.counted.to_string());
    let age = short_duration(now_ms().saturating_sub(plan.since_ms));
    let state = match (view, &plan.phase) {
        (Some(view), Phase::Running) => match usage_in_words(&view.usage) {
            Some(usage) => format!("{phase}, {usage}"),
            None => phase,
        },
        (_, _) => phase,
    };
    let code = match plan.phase {
        Phase::Merged { .. } => "32",
        Phase::Kept { .. } => "31",
        Phase::Waiting
        | Phase::Preparing
        | Phase::Ready
        | Phase::Running
        | Phase::Finished
        | Phase::Merging
        | Phase::Verifying { .. }
        | Phase::Moving { .. }
        | Phase::Repairing => "0",
    };
    [
        Cell::new(&plan.name.0),
        Cell::new(&tasks),
        Cell::new(&iteration),
        Cell::new(&age),
        Cell::coloured(one_line(&state), code),
    ]
}

fn json_of(site: &Site, id: &BatchId, plan: &Plan, view: Option<&RunView>) -> Value {
    let tree = site.paths.tree(&plan.name);
    json!({
        "plan": plan.name, "file": plan.file, "section": plan.section, "after": plan.after, "phase": plan.phase, "sinceMs": plan.since_ms,
        "branch": id.branch(&plan.name), "workTree": tree.exists().then_some(tree), "log": site.paths.log(&plan.name),
        "tasksGiven": plan.tasks_given, "trouble": plan.trouble,
        "tasks": view.map(|view| json!({ "done": view.plan.done(), "all": view.plan.tasks.len() })),
        "iterations": view.map(|view| view.iterations.counted), "usage": view.map(|view| &view.usage),
    })
}

/// The plan of the batch that is meant by its name or its file.
fn named(batch: &Batch, plan: &str) -> Result<PlanName, Failure> {
    let known: Vec<_> = batch
        .plans
        .iter()
        .map(|plan| (plan.name.clone(), plan.file.clone()))
        .collect();
    app::named_plan(&known, plan)
}

fn cancel(args: &Args, plan: Option<&str>) -> Result<u8, Failure> {
    let place = place(args)?;
    trust::refuse_agent(&place.paths, Personal::Many)?;
    let (id, batch) = last(&place)?;
    let plan = plan.map(|plan| named(&batch, plan)).transpose()?;
    let paths = BatchPaths::new(&place.paths, &id);
    let is_over = |batch: &Batch| {
        let chosen = batch
            .plans
            .iter()
            .filter(|known| plan.as_ref().is_none_or(|plan| known.name == *plan));
        chosen
            .into_iter()
            .all(|plan| plan.cancelled || matches!(plan.phase, Phase::Merged { .. } | Phase::Kept { .. }))
    };
    if is_over(&batch) {
        print("nothing to cancel: it is over\n");
        return Ok(0);
    }
    if BatchLock::is_held(&place.paths) {
        let refused =
            |error: std::io::Error| Failure::new(FailureKind::Failed, format!("the batch cannot be asked: {error}"));
        many::ask_to_cancel(&paths, plan.as_ref()).map_err(refused)?;
        let deadline = std::time::Instant::now() + PATIENCE;
        while !is_over(&last(&place)?.1) {
            if std::time::Instant::now() >= deadline {
                // A batch that is resumed later would do it.
                many::take_back(&paths, plan.as_ref());
                return Err(
                    Failure::new(FailureKind::Failed, "the batch has not taken note of the request yet")
                        .hint("`ralph many status` shows what it does"),
                );
            }
            std::thread::sleep(PAUSE);
        }
    } else {
        // Nobody works on it: it is recorded here, and counts when it is resumed.
        let _lock = app::lock_batches(&place)?;
        many::record(&paths, Input::Cancel { plan: plan.clone() })?;
    }
    print(&match plan {
        Some(plan) => format!("{plan}: cancelled; its branch `{}` stays\n", id.branch(&plan)),
        None => format!("batch {id}: cancelled; what is not merged stays on its branches\n"),
    });
    Ok(0)
}

/// Shows the run of a plan on this terminal.
fn attach_to(args: &Args, plan: Option<&str>, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    let (id, batch) = last(&place)?;
    let running: Vec<_> = batch.plans.iter().filter(|plan| plan.phase == Phase::Running).collect();
    let plan = match (plan, &running[..]) {
        (Some(plan), _) => named(&batch, plan)?,
        (None, [only]) => only.name.clone(),
        (None, []) => {
            return Err(Failure::new(FailureKind::Failed, "no plan of the batch runs")
                .hint("`ralph many status` shows what each of them is at"));
        }
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|plan| plan.name.0.as_str()).collect();
            return Err(Failure::new(FailureKind::Usage, "several plans run: name one of them")
                .hint(format!("`ralph many attach {}`", names.join("`, `ralph many attach "))));
        }
    };
    let site = app::site_of_batch(&place, &id, false, supervisor)?;
    let paths = many::job_state(&site, &plan).map_err(|why| Failure::new(FailureKind::Failed, why))?;
    let ways = Ways {
        again: format!("ralph many attach {plan}"),
        stop: format!("ralph many cancel {plan}"),
        resume: "ralph many resume".to_owned(),
    };
    attach::attach_to(args, &paths, None, &ways, supervisor)
}
