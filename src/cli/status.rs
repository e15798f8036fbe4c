//! `ralph status`: the state of the running loop, or of the last run.

use std::fmt::Write as _;

use ralph_core::{
    event::{BreakerState, Question, RunId, SteeringKind},
    run::{GoalState, GoalStatus, RunView, TESTS},
};
use ralph_state::{
    control::{
        self, BreakerStatus, ControlError, ControlReply, ControlRequest, PendingAsk, Quiet, Reviewer, RunStatus,
    },
    store::paths::ProjectPaths,
};
use ralph_text::{
    console::{print, print_coloured, print_json},
    one_line, pretty_json,
};
use ralph_words::{
    asked_in_words, background_progress_in_words, background_state_in_words, breaker_state_word, changes_in_words,
    command_in_words, counted, goal_in_words, short_duration, spent_in_words, stop_in_words, task_at_limit_in_words,
    tool_in_words, usage_in_words,
};

use crate::{
    driver::{now_ms, read_view, status_of},
    error::{Failure, FailureKind},
    ui::{
        Presentation,
        headless::{OutputFormat, limits_in_words},
        report::OutputStyle,
        tui::model::estimate_ms,
    },
};

use super::{args::Args, restore::no_runs, run::place};

/// Prints the status as JSON, with the whole view of the records.
fn print_whole(view: RunView, pid: u32, quiet: Option<Quiet>, listen: Option<String>) {
    let mut status = status_of(&view, pid, quiet);
    status.listen = listen;
    status.view = Some(Box::new(view));
    print_json(&pretty_json(&status));
}

fn print_last(view: RunView, json: bool) {
    if json {
        return print_whole(view, 0, None, None);
    }
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let how = match view.stop_reason() {
        Some(reason) => format!("not running; the last run: {}", stop_in_words(reason)),
        None => "not running; `ralph continue` resumes the last run".to_owned(),
    };
    let mut status = status_of(&view, 0, None);
    status.view = Some(Box::new(view));
    print_coloured(&in_words(&status, &how, now_ms(), style));
}

pub(super) fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let place = place(args)?;
    match control::ask(&place.paths.socket(), &ControlRequest::Status) {
        // From the journal, so that the loop need not copy a long run.
        Ok(ControlReply::Status { status }) if json => {
            let view = read_view(&place.paths, &status.run)?;
            print_whole(view, status.pid, status.quiet, status.listen);
            Ok(0)
        }
        Ok(ControlReply::Status { mut status }) => {
            let style = Presentation::for_stdout(OutputFormat::Text).style;
            // The short form works without a readable journal.
            status.view = read_view(&place.paths, &status.run).ok().map(Box::new);
            print_coloured(&in_words(&status, &how_it_runs(&status), now_ms(), style));
            Ok(0)
        }
        Ok(ControlReply::Done { .. } | ControlReply::Started { .. } | ControlReply::Tool { .. }) => Err(Failure::new(
            FailureKind::Failed,
            "unexpected answer from the running ralph",
        )),
        Ok(ControlReply::Refused { why } | ControlReply::Forbidden { why }) => {
            Err(Failure::new(FailureKind::Failed, why))
        }
        Err(ControlError::NotRunning) => {
            let Some(run) = place.paths.latest_run() else {
                return Err(no_runs());
            };
            let view = read_view(&place.paths, &run)?;
            print_last(view, json);
            Ok(0)
        }
        Err(error) => Err(error.into()),
    }
}

/// The state of a run whose ralph answers.
pub(super) fn how_it_runs(status: &RunStatus) -> String {
    match status.over {
        false => format!("running (pid {}): {}", status.pid, status.phase),
        true => format!("{}; screen still open (pid {})", status.phase, status.pid),
    }
}

/// Lists the open requests of the agent, and those that were never answered.
pub(super) fn asks(args: &Args, json: bool) -> Result<u8, Failure> {
    let paths = place(args)?.paths;
    let (run, asks) = match control::ask(&paths.socket(), &ControlRequest::Status) {
        Ok(ControlReply::Status { status }) => (status.run, status.asks),
        Ok(
            ControlReply::Done { .. }
            | ControlReply::Started { .. }
            | ControlReply::Refused { .. }
            | ControlReply::Forbidden { .. }
            | ControlReply::Tool { .. },
        ) => {
            let text = "unexpected answer from the running ralph";
            return Err(Failure::new(FailureKind::Failed, text));
        }
        Err(ControlError::NotRunning) => match left_open(&paths)? {
            Some(left) => left,
            None => return Err(ControlError::NotRunning.into()),
        },
        Err(error) => return Err(error.into()),
    };
    if json {
        // From the journal, so that the loop need not copy a long request.
        let view = read_view(&paths, &run)?;
        print_json(&pretty_json(&control::asks_json(&view)));
    } else if asks.is_empty() {
        print("no open questions\n");
    } else {
        let now_ms = now_ms();
        let lines = asks.iter().map(|ask| {
            let questions: String = ask.questions.iter().map(question_in_words).collect();
            let (asked, offer) = (ask_in_words(ask, now_ms), offer_in_words(ask));
            format!("{asked}\n{offer}{questions}")
        });
        print(&lines.collect::<String>());
    }
    Ok(0)
}

/// The requests that the last run left open, `None` if it left none. No agent waits for their answers any more.
fn left_open(paths: &ProjectPaths) -> Result<Option<(RunId, Vec<PendingAsk>)>, Failure> {
    let Some(run) = paths.latest_run() else {
        return Ok(None);
    };
    let view = read_view(paths, &run)?;
    let mut asks = status_of(&view, 0, None).asks;
    for ask in &mut asks {
        ask.missed = true;
    }
    Ok(Some((run, asks)).filter(|(_, asks)| !asks.is_empty()))
}

fn ask_in_words(ask: &PendingAsk, now_ms: u64) -> String {
    if ask.missed {
        let asked = match ask.tool.as_str() {
            "" => one_line(&ask.title),
            tool => one_line(&asked_in_words(tool, &ask.title)),
        };
        let how = match ask.tool.as_str() {
            TESTS if ask.cut => {
                "they count unchanged until you accept them; `ralph confirm` shows the beginning of the difference, \
                 `ralph diff --since 1` all of it"
            }
            TESTS => "they count unchanged until you accept them; `ralph confirm` shows the difference",
            _ => "unanswered; your answer goes into the next prompt",
        };
        return format!("{}: {asked} ({how})", ask.number);
    }
    let left = match ask.until_ms {
        Some(until_ms) => format!("{} left", short_duration(until_ms.saturating_sub(now_ms))),
        None => "waits without end".to_owned(),
    };
    one_line(&format!(
        "{}: {} ({left})",
        ask.number,
        asked_in_words(&ask.tool, &ask.title)
    ))
}

/// A question with its numbered choices, each on a line of its own.
fn question_in_words(question: &Question) -> String {
    let header = match question.header.as_str() {
        "" => String::new(),
        header => format!("{header}: "),
    };
    let mut text = format!("   {}\n", one_line(&format!("{header}{}", question.text)));
    for (index, choice) in question.choices.iter().enumerate() {
        let description = match choice.description.as_str() {
            "" => String::new(),
            description => format!(" ({description})"),
        };
        let line = one_line(&format!("{}{description}", choice.label));
        text.push_str(&format!("     {} {line}\n", index + 1));
    }
    let how = match (question.multiple, question.free_text) {
        (true, true) => "several with commas, or in your own words",
        (true, false) => "several with commas",
        (false, true) if !question.choices.is_empty() => "or in your own words",
        (false, _) => return text,
    };
    text.push_str(&format!("     {how}\n"));
    text
}

/// The rules that `ralph answer N always` would add.
fn offer_in_words(ask: &PendingAsk) -> String {
    match &ask.rules[..] {
        [] => String::new(),
        rules => format!("   always: {}\n", one_line(&rules.join(", "))),
    }
}

/// The status at `now_ms`, a line for each fact.
pub(super) fn in_words(status: &RunStatus, how: &str, now_ms: u64, style: OutputStyle) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let label = style.paint("2", &format!("{name:<10}"));
        let value = one_line(value);
        let value = if name == "state" {
            style.paint("1", &value)
        } else {
            value
        };
        writeln!(text, "{label}{value}").expect("a string takes every write");
    };
    line("state", how);
    let view = status.view.as_deref();
    // Activities of a killed ralph (pid 0) have ended, even if the records lack their end.
    let running = view.filter(|_| status.pid != 0);
    if let Some(since_ms) = running.and_then(|view| view.phase.running_since_ms()) {
        line(
            "iteration",
            &format!(
                "{} for {}",
                status.totals.iterations,
                short_duration(now_ms.saturating_sub(since_ms))
            ),
        );
    }
    if let Some(tool) = &status.tool {
        let since = short_duration(now_ms.saturating_sub(tool.started_ms));
        line("tool", &format!("{} ({since})", tool_in_words(tool)));
    }
    if let Some(until_ms) = status.until_ms {
        line("left", &short_duration(until_ms.saturating_sub(now_ms)));
    }
    if let Some(quiet) = status.quiet {
        let (since, left) = (
            now_ms.saturating_sub(quiet.since_ms),
            quiet.until_ms.saturating_sub(now_ms),
        );
        let text = format!(
            "for {}; the iteration ends in {} unless the agent writes or computes",
            short_duration(since),
            short_duration(left)
        );
        line("quiet", &text);
    }
    if let Some(url) = &status.listen {
        line("listen", url);
    }
    line("run", &status.run.0);
    line("adapter", &status.adapter);
    if let Some(Reviewer {
        adapter,
        model,
        reviews,
    }) = &status.reviewer
    {
        let model = model.as_ref().map_or_else(String::new, |model| format!("/{model}"));
        let now = if *reviews { ", reviews now" } else { "" };
        line("reviewer", &format!("{adapter}{model}{now}"));
    }
    for (adapter, until_ms) in status.limited.iter().filter(|(_, until_ms)| **until_ms > now_ms) {
        let text = format!("{adapter} is limited for {}", short_duration(until_ms - now_ms));
        line("limit", &text);
    }
    line("plan", &status.plan.display().to_string());
    let totals = &status.totals;
    let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
    line("tasks", &format!("{} of {all} done", totals.tasks_done));
    if let Some(task) = &status.task {
        line("current", task);
    }
    let mut work = vec![
        counted(u64::from(totals.iterations), "iteration"),
        short_duration(running.map_or(totals.elapsed_ms, |view| view.elapsed_ms(now_ms))),
    ];
    work.extend(totals.changes.as_ref().map(changes_in_words));
    work.extend(usage_in_words(&totals.usage));
    line("work", &work.join(" · "));
    if let Some(view) = view {
        if let Some(left_ms) = running.and_then(|view| estimate_ms(view, now_ms)) {
            line("ready in", &format!("about {}", short_duration(left_ms)));
        }
        for goal in &view.goals {
            line("goal", &goal_state_in_words(goal));
        }
        let spent = spent_in_words(view);
        if !spent.is_empty() {
            line("spent", &spent.join(" · "));
        }
        line("limits", &limits_in_words(&view.settings.limits));
        for (task, limit) in view.tasks_at_limit() {
            line("set aside", &format!("{task}: {}", task_at_limit_in_words(limit)));
        }
    }
    // Background tasks end with their ralph, which is gone if the pid is 0.
    for task in view
        .iter()
        .flat_map(|view| view.background.alive())
        .filter(|_| status.pid != 0)
    {
        let (command, state) = (command_in_words(&task.command), background_state_in_words(task));
        let age = short_duration(task.age_ms(now_ms));
        let far = task
            .progress
            .as_ref()
            .map(background_progress_in_words)
            .unwrap_or_default();
        line("bg task", &format!("{}: {command} ({state}, {age}){far}", task.number));
    }
    if let Some(breaker) = breaker_in_words(&status.breaker) {
        line("stuck", &breaker);
    }
    for ask in &status.asks {
        line("asks", &ask_in_words(ask, now_ms));
    }
    for steering in &status.steering {
        let when = match steering.kind {
            SteeringKind::Next => "next prompt",
            SteeringKind::Now => "now",
            SteeringKind::Standing => "every prompt",
        };
        line("message", &format!("{} ({when}): {}", steering.id.0, steering.text));
    }
    text
}

/// The state of a goal, in words.
fn goal_state_in_words(goal: &GoalStatus) -> String {
    match &goal.state {
        GoalState::Unknown => format!("{}: not checked yet", goal.name),
        GoalState::Running => format!("{}: is being checked", goal.name),
        GoalState::Checked { result } => goal_in_words(result),
    }
}

/// The state of the stuck detector and its reason, or its counts. `None` if it has counted nothing.
fn breaker_in_words(breaker: &BreakerStatus) -> Option<String> {
    let counted = [
        (breaker.no_progress, "without progress"),
        (breaker.same_error, "failed in the same way"),
        (breaker.same_goal_failure, "with the same failure of a goal"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counted
        .map(|(count, what)| format!("{} {what}", self::counted(u64::from(count), "iteration")))
        .collect();
    match breaker.state {
        BreakerState::Closed if counted.is_empty() => None,
        BreakerState::Closed => Some(format!("no; {}", counted.join(", "))),
        BreakerState::HalfOpen | BreakerState::Open => {
            Some(format!("{}: {}", breaker_state_word(breaker.state), breaker.why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{
        event::{
            AgentSignal, Event, Goal, PlanSnapshot, PlanTask, ReviewSettings, ReviewWhen, Role, Settings, SteeringId,
            StopReason, Worker,
        },
        testing::{goal_checked, iteration_ended, iteration_started, permission_asked},
    };

    use crate::review::RunEntry;

    const MINUTE_MS: u64 = 60_000;

    fn started(settings: Settings) -> Event {
        Event::RunStarted {
            project: "/project".into(),
            pid: 7,
            settings: Box::new(settings),
            promise: String::new(),
            earlier_starts_ms: Vec::new(),
            earlier_spending: Vec::new(),
        }
    }

    fn plan(done: usize) -> Event {
        let tasks = (0..4).map(|at| PlanTask {
            text: format!("Task {at}"),
            done: at < done,
            line: 1,
            depth: 0,
            heading: None,
            settings: Default::default(),
        });
        Event::PlanRead {
            plan: PlanSnapshot { tasks: tasks.collect() },
        }
    }

    #[test]
    fn a_run_that_gets_somewhere_says_when_it_will_be_ready_and_one_that_does_not_run_does_not() {
        let mut view = RunView::default();
        for (minute, event) in [
            (0, started(Settings::default())),
            (0, plan(0)),
            (0, iteration_started(1, Some("Task 0"), None)),
            (4, iteration_ended(1)),
            (4, plan(1)),
            (4, iteration_started(2, Some("Task 1"), None)),
            (8, iteration_ended(2)),
            (8, plan(2)),
            (8, iteration_started(3, Some("Task 2"), None)),
        ] {
            view.apply_event(minute * MINUTE_MS, &event);
        }
        let said = |view: &RunView| {
            let mut status = status_of(view, 7, None);
            status.view = Some(Box::new(view.clone()));
            let text = in_words(&status, "running (pid 7)", 8 * MINUTE_MS, OutputStyle::PLAIN);
            text.lines()
                .find(|line| line.starts_with("ready in"))
                .map(str::to_owned)
        };
        let line = said(&view).expect("two tasks have told how long the others take");
        assert!(line.starts_with("ready in  about "), "{line}");
        view.apply_event(8 * MINUTE_MS, &Event::Held);
        assert_eq!(said(&view), None, "nobody works");
    }

    #[test]
    fn the_author_is_the_adapter_and_the_reviewer_is_named_beside_it() {
        let settings = Settings {
            adapter: "claude".to_owned(),
            review: Some(ReviewSettings {
                by: Worker {
                    adapter: "codex".to_owned(),
                    model: Some("sharp".to_owned()),
                },
                when: ReviewWhen::Task,
                rounds: 2,
            }),
            ..Settings::default()
        };
        let by = |number, of: &str, of_role| {
            let mut event = iteration_started(number, Some("Task 0"), None);
            if let Event::IterationStarted { adapter, role, .. } = &mut event {
                of.clone_into(adapter);
                *role = of_role;
            }
            event
        };
        let mut view = RunView::default();
        view.apply_event(0, &started(settings));
        view.apply_event(0, &by(1, "claude", Role::Work));
        let lines = |view: &RunView| {
            let text = in_words(&status_of(view, 7, None), "running", 0, OutputStyle::PLAIN);
            let named = |line: &&str| line.starts_with("adapter") || line.starts_with("reviewer");
            text.lines().filter(named).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lines(&view), ["adapter   claude", "reviewer  codex/sharp"]);
        view.apply_event(1, &iteration_ended(1));
        view.apply_event(1, &by(2, "codex", Role::Review { round: 1 }));
        let listed = RunEntry::from_view(&RunId("one".to_owned()), &view, true);
        assert_eq!(listed.adapter, "claude", "in a list of runs, too");
        assert_eq!(lines(&view), ["adapter   claude", "reviewer  codex/sharp, reviews now"]);
        view.apply_event(2, &iteration_ended(2));
        let totals = view.totals();
        let reason = StopReason::Requested;
        let hints = Vec::new();
        view.apply_event(3, &Event::RunStopped { reason, hints, totals });
        assert_eq!(lines(&view), ["adapter   claude", "reviewer  codex/sharp"]);
    }

    #[test]
    fn a_status_has_a_line_for_each_thing_there_is_to_say() {
        let settings = Settings {
            adapter: "codex".to_owned(),
            plan: "/project/PLAN.md".into(),
            goals: vec![Goal {
                name: "tests".to_owned(),
                command: "cargo test".to_owned(),
                target: None,
                timeout_ms: 1,
                on_edit: false,
                ..Goal::default()
            }],
            ..Settings::default()
        };
        let message = |id, kind, text: &str| Event::SteeringQueued {
            id: SteeringId(id),
            kind,
            text: text.to_owned(),
            answers: None,
        };
        let tool = Event::AgentReported {
            iteration: 2,
            signal: AgentSignal::ToolStarted {
                call: "1".to_owned(),
                tool: "shell".to_owned(),
                input: "cargo test\ncargo clippy".to_owned(),
            },
        };
        let mut view = RunView::default();
        for (minute, event) in [
            (0, started(settings)),
            (0, plan(0)),
            (0, iteration_started(1, Some("Task 0"), None)),
            (3, goal_checked(1, "tests", 1, "")),
            (4, iteration_ended(1)),
            (4, plan(1)),
            (5, iteration_started(2, Some("Task 1"), None)),
            (6, tool),
            (6, permission_asked(3)),
            (6, message(1, SteeringKind::Next, "use tabs")),
            (6, message(2, SteeringKind::Standing, "be brief")),
        ] {
            view.apply_event(minute * MINUTE_MS, &event);
        }
        let mut status = status_of(&view, 7, None);
        status.run = RunId("one".to_owned());
        status.quiet = Some(Quiet {
            since_ms: 6 * MINUTE_MS,
            until_ms: 12 * MINUTE_MS,
        });
        status.until_ms = Some(9 * MINUTE_MS);
        status.limited.insert("claude".to_owned(), 20 * MINUTE_MS);
        status.limited.insert("gemini".to_owned(), MINUTE_MS);
        status.listen = Some("http://127.0.0.1:4180".to_owned());
        status.asks[0].until_ms = Some(10 * MINUTE_MS);
        status.breaker.no_progress = 2;
        status.breaker.same_error = 1;
        status.view = Some(Box::new(view));
        let text = in_words(&status, "running (pid 7)", 8 * MINUTE_MS, OutputStyle::PLAIN);
        insta::assert_snapshot!(text);
        status.breaker.state = BreakerState::Open;
        status.breaker.why = "no progress in 3 iterations".to_owned();
        let text = in_words(&status, "running", 8 * MINUTE_MS, OutputStyle::PLAIN);
        assert!(text.contains(": no progress in 3 iterations\n"), "{text}");
        // The process that served it is gone.
        status.pid = 0;
        let text = in_words(&status, "not running", 8 * MINUTE_MS, OutputStyle::PLAIN);
        assert!(!text.contains("\niteration "), "{text}");
    }
}
