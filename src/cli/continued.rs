//! `ralph continue`, and the question at a terminal whether to continue the last run.
//!
//! Both replace the command line with the one that started the last run, overridden by the options typed now.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use ralph_core::{
    event::{GivenSetting, Hint, LimitKind, Limits, PlanTask, RunId, StopReason},
    limits::{Consumption, LimitScope, consumption, reached},
    run::{RunView, is_message_left},
};
use ralph_driver::{Taskless, read_plan};
use ralph_state::{control, store::journal::read_view};
use ralph_system::files::is_same_file;
use ralph_text::console::{complain, is_answered};
use ralph_words::{
    hint_for, limit_use_in_words, limit_word, raise_option, run_in_words, stop_in_words, sufficient_raise,
};

use crate::{
    app::{self, ProjectPlace},
    config::{self, Flag},
    error::{Failure, FailureKind},
};

use super::{
    args::{Args, CliCommand, Continuing, FormatArg},
    confirm::is_agreed,
    run::{place, sources},
    trust,
};

/// Tells the loop's own process that the user was already asked here.
const CONTINUES: &str = "--__continue";
pub(super) const PLAN: &str = "plan";
const MAX_ITERATIONS: &str = "limits.maxIterations";
/// Settings of which only one may be given.
const PROMPTS: [&str; 2] = ["prompt", "promptFile"];

/// Changes `args`, which were parsed from `given`, to continue the last run if the command line or the user at the
/// terminal says so.
///
/// # Errors
/// A [`Failure`] if no run can be continued, or if the continued run would end at once.
pub(super) fn resolve(args: &mut Args, given: &mut Vec<OsString>) -> Result<(), Failure> {
    if let Some(CliCommand::Continue(continuing)) = args
        .command
        .take_if(|command| matches!(command, CliCommand::Continue(_)))
    {
        let Continuing {
            iterations,
            settings,
            show,
        } = *continuing;
        args.settings.given.extend(settings.given);
        args.show = show;
        args.continues = true;
        refuse_running(args)?;
        let last = LastRun::read(args)?;
        return continued(args, last, iterations);
    }
    let starts = args.command.is_none();
    if starts && args.continues {
        let last = LastRun::read(args)?;
        return continued(args, last, None);
    }
    if !starts || args.behind_screen {
        return Ok(());
    }
    // Mistakes in the settings and a broken last run are reported by the start; no question is asked first.
    if !can_start(args) {
        return Ok(());
    }
    let Ok(Some(last)) = LastRun::read(args) else {
        return Ok(());
    };
    if is_wanted(args, &last)? {
        // Tells the process of the loop what the user answered.
        given.insert(1, OsString::from(CONTINUES));
        args.continues = true;
        return continued(args, Some(last), None);
    }
    Ok(())
}

/// Refuses to continue a run that has not ended, and hints at the command for its state.
fn refuse_running(args: &Args) -> Result<(), Failure> {
    let socket = place(args)?.paths.socket();
    // A run that does not answer still holds the lock, which the start reports.
    let Ok(status) = control::status(&socket) else {
        return Ok(());
    };
    let (state, hint) = match (status.over, status.paused) {
        (true, _) => return Ok(()),
        (false, true) => ("paused", "`ralph resume` ends the pause"),
        (false, false) => (
            "running",
            "`ralph attach` shows it on this terminal, `ralph stop` stops it",
        ),
    };
    let why = format!("run {} has not ended: it is {state}", status.run);
    Err(Failure::new(FailureKind::Locked, why).hint(hint))
}

/// The last run of the project, read from its journal.
pub(super) struct LastRun {
    run: RunId,
    view: RunView,
    project: PathBuf,
}

impl LastRun {
    /// Returns `None` if the project has no run, or if the last one never began.
    pub(super) fn read(args: &Args) -> Result<Option<Self>, Failure> {
        let ProjectPlace { project, paths, .. } = place(args)?;
        let Some(run) = paths.latest_run().filter(|run| paths.run(run).journal().exists()) else {
            return Ok(None);
        };
        let view = read_view(&paths, &run)?;
        let last = Self { run, view, project };
        Ok(Some(last).filter(|last| last.view.settings.plan != Path::new("")))
    }

    pub(super) fn is_of(&self, plan: &Path) -> bool {
        is_same_file(plan, &self.view.settings.plan)
    }

    /// Whether nothing is left to be done: neither work nor a message.
    pub(super) fn is_done(&self) -> bool {
        self.view.stop_reason().is_some_and(StopReason::is_success) && !is_message_left(&self.view.messages)
    }

    /// The plan typed now, if it differs from that of this run.
    fn other_plan(&self, args: &Args) -> Option<PathBuf> {
        let flag = args.settings.given.iter().rev().find(|flag| flag.key == PLAN)?;
        let typed = PathBuf::from(flag.value.as_str()?);
        (!self.is_of(&self.project.join(&typed))).then_some(typed)
    }
}

/// Whether a new run could start with these settings and plan.
fn can_start(args: &Args) -> bool {
    let Ok((place, _)) = trust::place_and_what_is_left_out(args) else {
        return false;
    };
    let Ok(loaded) = config::load(&sources(args, &place)) else {
        return false;
    };
    let config = &loaded.config;
    let is_known = |id: &String| app::catalog(&place, config).manifest(id).is_ok();
    config.adapter.as_ref().is_none_or(is_known)
        && app::chosen_plan(&place, config).is_ok()
        && app::nothing_to_do(&place, config).is_none()
}

/// Asks whether to continue the last run, if that is possible and a user is there to answer.
fn is_wanted(args: &Args, last: &LastRun) -> Result<bool, Failure> {
    let LastRun { run, view, .. } = last;
    let Some(reason) = view.stop_reason().filter(|reason| reason.can_be_continued()) else {
        return Ok(false);
    };
    // A run for which a message was left resumes unasked.
    if !view.settings.plan.is_file() || last.other_plan(args).is_some() || is_message_left(&view.messages) {
        return Ok(false);
    }
    let done = format!("{} of {} tasks done", view.plan.done(), view.plan.tasks.len());
    let name = run_in_words(view.number, Some(run));
    let how = format!("last run, {name}: {} ({done})", stop_in_words(reason));
    if let Some((_, hint)) = used_up(args, view) {
        complain(&format!("{how}\nhint: {hint}; a new run starts now"));
        return Ok(false);
    }
    if args.show.format == FormatArg::Jsonl || !is_answered() {
        complain(&format!(
            "{how}\nhint: `ralph continue` continues it; a new run starts now"
        ));
        return Ok(false);
    }
    complain(&how);
    is_agreed("Continue it? `n` starts a new run.")
}

/// Replaces `args` with those of the last run, overridden by what was typed now.
fn continued(args: &mut Args, last: Option<LastRun>, iterations: Option<u32>) -> Result<(), Failure> {
    let Some(last) = last else {
        return Err(Failure::new(
            FailureKind::Failed,
            "no run in this project yet, so there is nothing to continue",
        )
        .hint("`ralph` starts one"));
    };
    let LastRun { run, view, .. } = &last;
    let name = run_in_words(view.number, Some(run));
    let over =
        |why: &str| Failure::new(FailureKind::Failed, format!("run {name} {why}")).hint("`ralph` starts a new run");
    match view.stop_reason() {
        Some(reason) if reason.is_success() && !is_message_left(&view.messages) => {
            return Err(over("is done, so there is nothing to continue"));
        }
        Some(StopReason::Superseded) => return Err(over("was followed by a run of another plan")),
        Some(_) | None => {}
    }
    if let Some(plan) = last.other_plan(args) {
        let why = format!(
            "run {name} is not of the plan {}, but of {}",
            plan.display(),
            view.settings.plan.display()
        );
        return Err(Failure::new(FailureKind::Usage, why).hint("`ralph` starts a new run of another plan"));
    }
    merge(args, view);
    if let Some(more) = iterations {
        let most = view.iterations.counted.saturating_add(more).to_string();
        set(
            &mut args.settings.given,
            Flag::new("--iterations", MAX_ITERATIONS, most),
        );
    }
    if let Some((why, hint)) = used_up(args, view) {
        return Err(Failure::new(
            FailureKind::Failed,
            format!("run {name} {why}, so it would end at once"),
        )
        .hint(hint));
    }
    if matches!(view.stop_reason(), Some(StopReason::Blocked { .. }))
        && !view.messages.iter().any(|message| message.is_queued())
    {
        complain(&format!(
            "the questions that blocked the run are not answered: its tasks are tried again unchanged\nhint: {}",
            hint_for(&Hint::Answer, view)
        ));
    }
    Ok(())
}

/// Adds the settings of the last run that were not typed now.
fn merge(args: &mut Args, view: &RunView) {
    let typed = args.settings.given.clone();
    let is_typed = |key: &str| {
        let same = |flag: &Flag| flag.key == key || PROMPTS.contains(&key) && PROMPTS.contains(&flag.key.as_str());
        typed.iter().any(same)
    };
    for GivenSetting { flag, key, value } in &view.settings.given {
        if key.is_empty() {
            args.config.get_or_insert_with(|| PathBuf::from(value));
        } else if !is_typed(key) {
            args.settings.given.push(Flag::new(flag, key, value.as_str()));
        }
    }
    let plan = view.settings.plan.to_string_lossy().into_owned();
    set(&mut args.settings.given, Flag::new("--plan", PLAN, plan));
}

fn set(given: &mut Vec<Flag>, flag: Flag) {
    given.retain(|known| known.key != flag.key);
    given.push(flag);
}

/// The limit of the first open task, if every open task has used up one. Reads the plan as it is now; `None` if it
/// cannot be read.
fn used_up_by_tasks(limits: &Limits, view: &RunView) -> Option<LimitKind> {
    let settings = &view.settings;
    let taskless = Taskless::with(&settings.plan, &settings.goals, None);
    let plan = read_plan(&settings.plan, settings.section.as_deref(), taskless)
        .ok()?
        .plan;
    let mut open = plan.tasks.iter().filter(|task| !task.done);
    let reached = |task: &PlanTask| view.iterations.work.get(&task.text)?.limit_reached(limits);
    let first = reached(open.next()?)?;
    open.all(|task| reached(task).is_some()).then_some(first)
}

/// The limit that would end the continued run at once: a clause that says so, and the command that allows more.
/// Mistakes in the settings are ignored here, since the start reports them.
fn used_up(args: &Args, view: &RunView) -> Option<(String, String)> {
    let (place, _) = trust::place_and_what_is_left_out(args).ok()?;
    let limits = config::load(&sources(args, &place)).ok()?.config.limits;
    let used = Consumption {
        elapsed_ms: view.totals().elapsed_ms,
        ..consumption(view, view.clock.now_ms)
    };
    // Daily and hourly limits depend on the time, which is not known here.
    let limit = reached(LimitScope::Run, &limits, &used).or_else(|| used_up_by_tasks(&limits, view))?;
    Some(match sufficient_raise(limit, &limits, &used) {
        Some(option) => (
            format!(
                "has reached its {} limit, {}",
                limit_word(limit),
                limit_use_in_words(limit.row(), &limits, &used)
            ),
            format!("`ralph continue {}` continues it", option.join(" ")),
        ),
        None => (
            format!("has only open tasks at their {} limit", limit_word(limit)),
            format!("`ralph continue {}` allows each of them more", raise_option(limit)),
        ),
    })
}
