//! `ralph many`: runs plans in parallel, each in its own work tree, and merges them one after the other.

use std::{ffi::OsString, path::Path};

use clap::Subcommand;
use ralph_many::{BatchError, BatchLock, BatchPaths, Engine, Site};
use ralph_plan::batch::{
    Batch, BatchEvent, BatchId, BatchInput, BatchLimits, BatchPlan, BatchRecord, LOCAL, PlanName, PlanPhase, Resumption,
};
use ralph_state::{control::UserOnlyAction, store::lock};
use ralph_system::{
    os::{now_ms, signals},
    paths::create_anew,
    proc::{Starter, Supervisor},
};
use ralph_text::{
    console::{self, complain, print, print_coloured, print_json},
    one_line, pretty_json,
};
use ralph_ui::{
    board::{Board, BoardRow},
    report::OutputStyle,
    tui::ScreenExit,
};
use ralph_words::{
    EventLine, Tone, batch_hints, batch_line, batch_usage_in_words, counted, held_in_words, short_duration,
    usage_in_words,
};
use serde_json::{Value, json};

use crate::{
    app::{
        self, FollowUpCommands, ProjectPlace,
        many::{BatchBegan, BatchRequest, OversizedCopy, PreparedBatch},
    },
    config::{self, Config, Flag},
    error::{Failure, FailureKind},
    ui::{
        Presentation, ScreenOptions,
        headless::{
            OutputFormat,
            text::{code_and_sign, moment},
        },
        signals::code_of,
    },
};

use super::{
    super::{
        args::Args,
        attach,
        confirm::is_confirmed,
        removed, replay,
        run::{place, presentation, screen, sources, starter},
        setting_flags::SettingFlags,
        table::{TableCell, table},
        trust,
    },
    batch_settings::{arguments_of, changes, is_shared, limits, refuse_plan},
    board, change, clean,
    flags::{ManyArgs, ManyCommand, Resuming},
    last_batch::{last, named, unsent, wait_until_done},
    report,
};

/// Carries out `many`. `given` is the whole command line.
pub(super) fn run(args: &Args, many: &ManyArgs, given: &[OsString], supervisor: &Supervisor) -> Result<u8, Failure> {
    match &many.command {
        None => start(args, many, given, supervisor),
        Some(ManyCommand::Status { json }) => status(args, *json, supervisor),
        Some(ManyCommand::Cancel { plan }) => cancel(args, plan.as_deref(), supervisor),
        Some(ManyCommand::Add { plans }) => change::add(args, plans, supervisor),
        Some(ManyCommand::Clean(flags)) => clean::clean(args, flags.older_ms, supervisor),
        Some(ManyCommand::Report { format, out }) => {
            let place = place(args)?;
            let (id, batch) = last(&place)?;
            report::report(&place, &id, &batch, (*format, out.as_deref()), supervisor)
        }
        Some(ManyCommand::Attach { plan: None }) => show_board(args, supervisor),
        Some(ManyCommand::Attach { plan: Some(plan) }) => attach_to(args, plan, supervisor),
        Some(ManyCommand::Resume(resuming)) => resume(args, resuming, given, supervisor),
    }
}

/// Returns the subcommand that was parsed as a plan, because an option of `ralph many` stands before it.
fn misplaced(plan: &Path) -> Option<&str> {
    let name = plan.to_str()?;
    (ManyCommand::has_subcommand(name) && !plan.exists()).then_some(name)
}

/// Runs one plan in a work tree of its own, and merges it into `branch`, which is created if it does not exist.
pub(in crate::cli) fn in_tree(
    args: &Args,
    branch: &str,
    command_line: &[OsString],
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    if args.command.is_some() {
        let why = "`--tree` starts a run, so it goes with no command";
        return Err(Failure::new(FailureKind::Usage, why).hint("ralph --tree BRANCH PLAN.md"));
    }
    let place = trust::place_to_look(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let (plan, _) = app::chosen_plan(&place, &loaded.config)?;
    let is_other = |flag: &&Flag| flag.key != "plan";
    let many = ManyArgs {
        command: None,
        plans: vec![plan],
        each_section: None,
        jobs: Some(1),
        engine: LOCAL.to_owned(),
        into: Some(branch.to_owned()),
        headless: args.show.headless,
        settings: SettingFlags {
            given: args.settings.given.iter().filter(is_other).cloned().collect(),
        },
    };
    start(args, &many, command_line, supervisor)
}

fn start(args: &Args, many: &ManyArgs, command_line: &[OsString], supervisor: &Supervisor) -> Result<u8, Failure> {
    start_batch(args, many, false, command_line, supervisor)
}

/// Starts a batch. `watches` tells whether it goes on once all of its plans are over.
pub(super) fn start_batch(
    args: &Args,
    many: &ManyArgs,
    watches: bool,
    command_line: &[OsString],
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    if let Some(command) = many.plans.iter().find_map(|plan| misplaced(plan)) {
        return Err(Failure::new(
            FailureKind::Usage,
            format!("put `{command}` first: `ralph many {command} …`"),
        )
        .hint(format!("ralph many {command} --help")));
    }
    let first = many.plans.first().filter(|plan| !plan.exists());
    if let Some(removed) = first.and_then(|plan| removed::failure(["many", plan.to_str()?])) {
        return Err(removed);
    }
    let of_run = args.settings.given.iter().filter(|_| args.tree.is_none());
    let given = || of_run.clone().chain(&many.settings.given);
    refuse_plan(given(), "ralph many api.md ui.md")?;
    let starter = starter(args)?;
    let place = trust::place_to_run(args)?;
    let mut sources = sources(args, &place);
    // With `--tree` the flags are those of `args`, and a goal that is given twice is refused.
    let of_batch = many.settings.given.iter().filter(|_| args.tree.is_none());
    sources.flags.extend(of_batch.cloned());
    let loaded = config::load(&sources)?;
    // A starter with a screen has asked already.
    if starter.is_none() || many.headless {
        accept_copies(&place, &loaded.config, supervisor)?;
    }
    if starter.is_none()
        && let Some(screen) = own_screen(args, many.headless, &place)
    {
        return board::run(args, &place, screen, command_line, supervisor)
            .and_then(|began| leave_board(&place, &began));
    }
    let arguments = arguments_of(given().filter(|flag| !is_shared(flag)), sources.extra.as_deref());
    let wish = BatchRequest {
        plans: &many.plans,
        each_section: many.each_section.as_deref(),
        jobs: many.jobs,
        limits: limits(given(), &loaded.config, BatchLimits::default()),
        engine: &many.engine,
        into: many.into.as_deref(),
        creates_target: args.tree.is_some(),
        arguments,
        watches,
        has_config: sources.extra.is_some(),
    };
    signals::survive_file_size_limit();
    let prepared = app::many::prepare_batch(&place, &loaded.config, wish, supervisor)?;
    for note in &prepared.notes {
        console::warn(note);
    }
    adopt(supervisor, &prepared.engine);
    let paths = prepared.site.paths.clone();
    let mut told = record_printer(starter.as_ref(), paths);
    let PreparedBatch {
        id,
        start,
        engine,
        site,
        lock,
        ..
    } = prepared;
    let end = ralph_many::run(&id, start, engine, site, supervisor, &mut told)?;
    drop(lock);
    Ok(end.exit_code())
}

/// Asks whether the work trees may get copies that are larger than the settings allow.
///
/// # Errors
/// A [`Failure`] if they may not, or if the settings for work trees have a mistake.
fn accept_copies(place: &ProjectPlace, config: &Config, supervisor: &Supervisor) -> Result<(), Failure> {
    let Some(OversizedCopy { what }) = app::many::check_tree_settings(place, &config.tree, supervisor)? else {
        return Ok(());
    };
    if console::is_answered() {
        complain(&what);
        if is_confirmed("Copy them?")? {
            return Ok(());
        }
    }
    Err(Failure::new(FailureKind::Configuration, what)
        .hint("`tree.copyMiB` allows more; `tree.link` shares a directory instead"))
}

fn resume(args: &Args, resuming: &Resuming, command_line: &[OsString], supervisor: &Supervisor) -> Result<u8, Failure> {
    let typed = || args.settings.given.iter().chain(&resuming.settings.given);
    refuse_plan(typed(), "ralph many resume api")?;
    let starter = starter(args)?;
    // The process that started this one behind its screen is a ralph and has made this check.
    if starter.is_none() {
        trust::refuse_agent(&place(args)?.paths, UserOnlyAction::Many)?;
    }
    let place = trust::place_to_run(args)?;
    let (id, batch) = last(&place)?;
    let plans = resuming.plans.iter().map(|plan| named(&batch, plan));
    let plans: Vec<PlanName> = plans.collect::<Result<_, _>>()?;
    if starter.is_none() && BatchLock::is_held(&place.paths) && batch.end.is_none() {
        return change::running(args, &place, (&id, &batch), (resuming, &plans), supervisor);
    }
    let is_left = |plan: &BatchPlan| plan.merged_as().is_none() && (plans.is_empty() || plans.contains(&plan.name));
    let is_over = batch.end.is_some() && !batch.plans.iter().any(is_left);
    if starter.is_none()
        && let Some(screen) = own_screen(args, resuming.headless, &place).filter(|_| !is_over)
    {
        return board::run(args, &place, screen, command_line, supervisor)
            .and_then(|began| leave_board(&place, &began));
    }
    let _lock = app::many::lock(&place, supervisor)?;
    if is_over {
        return nothing_to_resume(&place, &id, &batch, &plans, supervisor);
    }
    let (changes, config) = changes(args, &place, &batch, typed(), supervisor)?;
    let changes = Resumption {
        jobs: resuming.jobs,
        plans,
        ..changes
    };
    signals::survive_file_size_limit();
    let engine = app::many::engine(&place, &batch.engine)?;
    let site = app::many::site_to_resume(&place, &id, &config, batch.delivery.is_some(), supervisor)?;
    adopt(supervisor, &engine);
    let mut told = record_printer(starter.as_ref(), site.paths.clone());
    let end = ralph_many::resume(engine, site, changes, supervisor, &mut told)?;
    Ok(end.exit_code())
}

fn nothing_to_resume(
    place: &ProjectPlace,
    id: &BatchId,
    batch: &Batch,
    plans: &[PlanName],
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    if batch.plans.iter().all(|plan| plan.merged_as().is_some()) {
        // A batch that was killed at its very end has left files. Those that cannot be removed do no harm.
        _ = app::many::site_of_batch(place, id, false, supervisor)?.tidy(id);
    }
    let what = match plans {
        [] => "every plan is merged".to_owned(),
        [plan] => format!("{plan} is merged"),
        _ => "these plans are merged".to_owned(),
    };
    print(&format!("batch {id}: {what}; there is nothing to resume\n"));
    Ok(0)
}

/// Makes ralph the parent of orphans of its jobs. Processes that an engine starts on this machine are not ralph's to
/// end.
fn adopt(supervisor: &Supervisor, engine: &Engine) {
    match engine {
        Engine::Local => supervisor.become_subreaper(),
        Engine::Described { .. } => supervisor.adopt_no_orphans(),
    }
}

/// The screen for the batch on this terminal, unless it runs in the foreground or without one.
pub(super) fn own_screen(args: &Args, is_headless: bool, place: &ProjectPlace) -> Option<ScreenOptions> {
    let screen = presentation(&args.show, screen(args, place)).screen;
    screen.filter(|_| !args.show.foreground && !is_headless)
}

/// Prints records of the batch; to a file once the batch works behind the screen of a `starter`.
fn record_printer(starter: Option<&Starter>, paths: BatchPaths) -> impl FnMut(&BatchRecord, &Batch) {
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let mut waiting = starter;
    move |record, batch| {
        // Before this event there is no batch to show.
        if let BatchEvent::BatchStarted { .. } | BatchEvent::BatchResumed { .. } = record.event
            && let Some(starter) = waiting.take()
            // If this fails, no screen is left to report it to.
            && let Ok(output) = create_anew(&paths.output())
        {
            _ = starter.ready(&batch.id.0, &output, || {});
        }
        print_line(record, batch, style);
    }
}

fn print_line(record: &BatchRecord, batch: &Batch, style: OutputStyle) {
    if let Some(line) = batch_line(&record.event, batch) {
        print_coloured(&dated_line(record.at_ms, &line, style));
    }
    if batch.end.is_some_and(|end| end.exit_code() != 0) {
        for hint in batch_hints(batch, &batch.id) {
            complain(&format!("hint: {hint}"));
        }
    }
}

/// Prints how a batch ended: the same last line as without a screen.
fn print_end(place: &ProjectPlace, id: &BatchId) {
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let records = ralph_many::read(&BatchPaths::new(&place.paths, id).journal()).unwrap_or_default();
    if let (Some(batch), Some(last)) = (Batch::from_records(&records), records.last()) {
        print_line(last, &batch, style);
    }
}

fn status(args: &Args, json: bool, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    let (id, batch) = last(&place)?;
    let site = app::many::site_of_batch(&place, &id, false, supervisor)?;
    let usage = ralph_many::used(&site, &batch);
    let board = app::many::follow_batch(&site, &id).look().ok_or(BatchError::NoBatch)?;
    let held = batch.held(now_ms()).filter(|_| board.running);
    if json {
        let mut value = json_of(&board, &site);
        value["limits"] = json!(batch.limits);
        value["usage"] = json!(usage);
        value["held"] = json!(held);
        value["spent"] = json!(batch.spent);
        value["paused"] = json!(batch.paused);
        let rows = value["plans"].as_array_mut().into_iter().flatten();
        for (row, plan) in rows.zip(&batch.plans) {
            row["job"] = json!(plan.job);
        }
        print_json(&pretty_json(&value));
        return Ok(0);
    }
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let how = match (board.running, board.end) {
        (true, _) if batch.paused => "paused; `ralph many resume` goes on",
        (true, _) => "running",
        (false, Some(_)) => "over",
        (false, None) => "interrupted; `ralph many resume` continues it",
    };
    print(&format!(
        "batch {id}: {how}; {} of {} merged into `{}`\n",
        board.counts.merged,
        board.plans.len(),
        one_line(&board.target)
    ));
    let spending = batch_usage_in_words(&batch.limits, &usage);
    if !spending.is_empty() {
        print(&format!("{}\n", spending.join(" · ")));
    }
    if let Some(held) = held {
        print(&format!("{}\n", one_line(&held_in_words(&held, now_ms()))));
    }
    let rows: Vec<[TableCell; 5]> = board.plans.iter().map(row).collect();
    print_coloured(&table(["plan", " tasks", " iteration", " age", "state"], &rows, style));
    if !board.asks.is_empty() {
        let asks = counted(board.asks.len() as u64, "question");
        complain(&format!(
            "hint: {asks} for you: `ralph many attach` shows and answers them"
        ));
    }
    if board.end.is_some() {
        for hint in &board.hints {
            complain(&format!("hint: {hint}"));
        }
    }
    Ok(0)
}

fn row(row: &BoardRow) -> [TableCell; 5] {
    let tasks = row
        .tasks
        .map_or(String::new(), |tasks| format!("{}/{}", tasks.done, tasks.all));
    let iteration = row.iterations.map_or(String::new(), |count| count.to_string());
    let age = short_duration(now_ms().saturating_sub(row.since_ms));
    let usage = row.usage.as_ref().filter(|_| row.live).and_then(usage_in_words);
    let state = match usage {
        Some(usage) => format!("{} · {usage}", row.doing),
        None => row.doing.clone(),
    };
    let code = match row.tone {
        Tone::Good => "32",
        Tone::Bad => "31",
        Tone::User => "35",
        Tone::Wait | Tone::Warning => "33",
        Tone::Start | Tone::Note => "0",
    };
    [
        TableCell::new(&row.plan.0),
        TableCell::new(&tasks),
        TableCell::new(&iteration),
        TableCell::new(&age),
        TableCell::coloured(one_line(&state), code),
    ]
}

/// The board as JSON, with the paths of each plan's files on this machine.
fn json_of(board: &Board, site: &Site) -> Value {
    let mut value = serde_json::to_value(board).expect("a board has no failing serialisers");
    let plans = value["plans"].as_array_mut().into_iter().flatten();
    for (plan, row) in plans.zip(&board.plans) {
        let tree = site.paths.tree(&row.plan);
        plan["workTree"] = json!(tree.exists().then_some(tree));
        plan["log"] = json!(site.paths.log(&row.plan));
    }
    value
}

fn cancel(args: &Args, plan: Option<&str>, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    trust::refuse_agent(&place.paths, UserOnlyAction::Many)?;
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
            .all(|plan| plan.cancelled || matches!(plan.phase, PlanPhase::Merged { .. } | PlanPhase::Kept { .. }))
    };
    if is_over(&batch) {
        print("nothing to cancel: the batch is over\n");
        return Ok(0);
    }
    if BatchLock::is_held(&place.paths) {
        ralph_many::ask_to_cancel(&paths, plan.as_ref()).map_err(|error| unsent(&error))?;
        wait_until_done(&place, is_over, || ralph_many::take_back(&paths, plan.as_ref()))?;
    } else {
        // No process works on the batch, so the request is recorded here and counts when the batch is resumed.
        let _lock = app::many::lock(&place, supervisor)?;
        ralph_many::record(&paths, BatchInput::Cancel { plan: plan.clone() })?;
        cancel_jobs(&place, &id, &batch, plan.as_ref(), supervisor)?;
    }
    print(&match plan {
        Some(plan) => format!("{plan}: cancelled; its branch `{}` is kept\n", id.branch(&plan)),
        None => format!("batch {id}: cancelled; unmerged work is kept on its branches\n"),
    });
    Ok(0)
}

/// Ends the jobs of cancelled plans that an engine still runs.
fn cancel_jobs(
    place: &ProjectPlace,
    id: &BatchId,
    batch: &Batch,
    plan: Option<&PlanName>,
    supervisor: &Supervisor,
) -> Result<(), Failure> {
    let chosen = |known: &&BatchPlan| known.job.is_some() && plan.is_none_or(|plan| *plan == known.name);
    if !batch.plans.iter().any(|known| chosen(&known)) {
        return Ok(());
    }
    let engine = app::many::engine(place, &batch.engine)?;
    let site = app::many::site_of_batch(place, id, false, supervisor)?;
    for known in batch.plans.iter().filter(chosen) {
        engine.cancel(supervisor, &site, known).map_err(|why| {
            let job = known.job.as_ref().and_then(|job| job.id.as_deref()).unwrap_or("?");
            Failure::new(
                FailureKind::Failed,
                format!("{}: job {job} may still run: {} {why}", known.name, batch.engine),
            )
            .hint(
                "cancel it there, or run the same command again once it answers; `ralph many resume` cancels it as well",
            )
        })?;
    }
    Ok(())
}

/// Shows the last batch of the project, whichever process started it.
fn show_board(args: &Args, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    // The board has keys that cancel and stop.
    trust::refuse_agent(&place.paths, UserOnlyAction::Many)?;
    let (id, _) = last(&place)?;
    let watched = board::attach(args, &place, &id, supervisor)?;
    leave_board(&place, &BatchBegan::Watched(Box::new(watched)))
}

/// Prints, after the screen is gone, how the batch ended or that it continues.
fn leave_board(place: &ProjectPlace, began: &BatchBegan) -> Result<u8, Failure> {
    let watched = match began {
        BatchBegan::Watched(watched) => watched,
        BatchBegan::Ended(code) => return Ok(*code),
    };
    let board = &watched.board;
    match (watched.left, board.end) {
        (ScreenExit::Signalled(by), _) if !board.is_over() => return Ok(code_of(by)),
        (_, _) if !board.is_over() => {
            print(
                "detached: the batch continues · `ralph many attach` shows it again, `ralph many cancel` cancels it\n",
            );
            return Ok(0);
        }
        (_, Some(end)) => {
            print_end(place, &board.batch);
            return Ok(end.exit_code());
        }
        (_, None) => {}
    }
    let output = app::many::output_of_batch(&BatchPaths::new(&place.paths, &board.batch)).unwrap_or_default();
    let errors = output.lines().filter(|line| line.starts_with("error: "));
    errors.for_each(complain);
    Err(
        Failure::new(FailureKind::Failed, "the batch was interrupted: its process has ended")
            .hint("`ralph many resume` continues it"),
    )
}

/// Shows the run of a plan on this terminal: live, or as a replay once it is over.
fn attach_to(args: &Args, plan: &str, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    let (id, batch) = last(&place)?;
    let plan = named(&batch, plan)?;
    let site = app::many::site_of_batch(&place, &id, false, supervisor)?;
    let paths = ralph_many::job_state(&site, &plan).map_err(|why| Failure::new(FailureKind::Failed, why))?;
    if lock::is_held(&paths) {
        let commands = FollowUpCommands {
            again: format!("ralph many attach {plan}"),
            stop: format!("ralph many cancel {plan}"),
            resume: "ralph many resume".to_owned(),
        };
        return attach::attach_to(args, &paths, None, &commands, supervisor);
    }
    match paths.latest_run() {
        Some(run) => replay::replay(args, &place, &paths, &run, 1.0, supervisor),
        None => Err(Failure::new(
            FailureKind::Failed,
            format!("there is no run of {plan}: it has not begun, or its records were removed"),
        )
        .hint("`ralph many status` shows the status of each plan")),
    }
}

/// A dated line, as a run without a screen prints it.
fn dated_line(at_ms: u64, line: &EventLine, style: OutputStyle) -> String {
    let (code, sign) = code_and_sign(line.tone);
    let text = style.paint(code, &format!("{sign} {}", one_line(&line.text)));
    format!("{} {text}\n", style.paint("2", &moment(at_ms, at_ms)))
}
