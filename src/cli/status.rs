//! `ralph status`: the state of the running loop, or of the last run.

use std::fmt::Write as _;

use ralph_core::{
    event::{BreakerState, Question, ReviewSettings, SteeringKind, Wait},
    run::{Breaker, GoalState, GoalStatus, OpenAsk, Phase, RunView},
};
use ralph_driver::{status_of, whole_status};
use ralph_state::{
    control::{self, ControlError, RunStatus},
    store::journal::read_view,
};
use ralph_system::{os::now_ms, paths::ProjectPaths};
use ralph_text::{
    console::{print, print_coloured, print_json},
    one_line, pretty_json,
};
use ralph_ui::{report::OutputStyle, tui::model::estimate_ms};
use ralph_words::{
    asked_in_words, background_progress_in_words, background_state_in_words, breaker_in_words, broken_in_words,
    changes_in_words, command_in_words, counted, goal_in_words, left_in_words, run_in_words, short_duration,
    spent_in_words, stop_in_words, task_at_limit_in_words, tool_in_words, usage_in_words, wait_cause_in_words,
};

use crate::{
    error::Failure,
    ui::{
        Presentation,
        headless::{OutputFormat, limits_in_words},
    },
};

use super::{args::Args, restore::no_runs, run::place};

pub(super) fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let paths = place(args)?.paths;
    // The view is read from the journal, so that the loop need not copy a long run.
    let (status, view) = match ask_status(&paths)? {
        Some(status) => {
            let view = read_view(&paths, &status.run)?;
            (status, view)
        }
        None => {
            let view = read_view(&paths, &paths.latest_run().ok_or_else(no_runs)?)?;
            (status_of(&view, 0, None), view)
        }
    };
    if json {
        let RunStatus { pid, quiet, listen, .. } = status;
        let status = RunStatus {
            listen,
            ..whole_status(view, pid, quiet)
        };
        print_json(&pretty_json(&status));
    } else {
        let style = Presentation::for_stdout(OutputFormat::Text).style;
        print_coloured(&in_words(&status, &view, now_ms(), style));
    }
    Ok(0)
}

/// Asks the running loop for its status; `None` if no loop runs.
fn ask_status(paths: &ProjectPaths) -> Result<Option<RunStatus>, Failure> {
    match control::status(&paths.socket()) {
        Ok(status) => Ok(Some(status)),
        Err(ControlError::NotRunning) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The state of a run and of its process.
fn state_in_words(status: &RunStatus, view: &RunView) -> String {
    let RunStatus { pid, phase, over, .. } = status;
    match (pid, view.stop_reason()) {
        (0, Some(reason)) => format!(
            "not running; the last run: {}{}",
            stop_in_words(reason),
            left_in_words(view)
        ),
        (0, None) => "not running; `ralph continue` resumes the last run".to_owned(),
        (pid, _) if *over => format!("{phase}; screen still open (pid {pid})"),
        (pid, _) => format!("running (pid {pid}): {phase}"),
    }
}

/// Lists the open requests of the agent, and those that were never answered.
pub(super) fn asks(args: &Args, json: bool) -> Result<u8, Failure> {
    let paths = place(args)?.paths;
    let running = ask_status(&paths)?.map(|status| status.run);
    let is_running = running.is_some();
    let run = running.or_else(|| paths.latest_run()).ok_or(ControlError::NotRunning)?;
    let view = read_view(&paths, &run)?;
    let asks = view.open_asks();
    if asks.is_empty() && !is_running {
        return Err(ControlError::NotRunning.into());
    }
    if json {
        print_json(&pretty_json(&asks));
    } else if asks.is_empty() {
        print("no open questions\n");
    } else {
        let now_ms = now_ms();
        let lines = asks.iter().map(|ask| {
            let questions: String = ask.questions().iter().map(question_in_words).collect();
            let (asked, offer) = (ask_in_words(*ask, is_running, now_ms), offer_in_words(*ask));
            format!("{asked}\n{offer}{questions}")
        });
        print(&lines.collect::<String>());
    }
    Ok(0)
}

/// A request or question on one line. No agent waits for an answer if no loop `is_running`.
fn ask_in_words(open: OpenAsk<'_>, is_running: bool, now_ms: u64) -> String {
    let (asked, how) = match open {
        OpenAsk::Waits(ask) if is_running => {
            let left = match ask.until_ms {
                Some(until_ms) => format!("{} left", short_duration(until_ms.saturating_sub(now_ms))),
                None => "waits without end".to_owned(),
            };
            (asked_in_words(&ask.request.tool, &ask.request.title), left)
        }
        OpenAsk::Waits(ask) | OpenAsk::Missed(ask) if ask.is_about_tests() => {
            let shown = match ask.cut {
                true => {
                    "they count unchanged until you accept them; `ralph confirm` shows the beginning of the \
                     difference, `ralph diff --since 1` all of it"
                }
                false => "they count unchanged until you accept them; `ralph confirm` shows the difference",
            };
            (asked_in_words(&ask.request.tool, &ask.request.title), shown.to_owned())
        }
        OpenAsk::Waits(_) | OpenAsk::Missed(_) if open.is_decision() => {
            let how = "the tick does not count until you accept them, or the agent puts them back";
            (open.text(), how.to_owned())
        }
        OpenAsk::Waits(_) | OpenAsk::Missed(_) | OpenAsk::Blocks(_) => {
            let how = "unanswered; your answer goes into the next prompt";
            (open.text(), how.to_owned())
        }
    };
    one_line(&format!("{}: {asked} ({how})", open.number()))
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

/// The rules that `ralph answer N always` would add. The missing part of a truncated request could be what they allow.
fn offer_in_words(open: OpenAsk<'_>) -> String {
    match open.ask() {
        Some(ask) if !ask.cut && !ask.offer.rules.is_empty() => {
            format!("   always: {}\n", one_line(&ask.offer.rules.join(", ")))
        }
        Some(_) | None => String::new(),
    }
}

/// The status at `now_ms`, a line for each fact.
pub(super) fn in_words(status: &RunStatus, view: &RunView, now_ms: u64, style: OutputStyle) -> String {
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
    line("state", &state_in_words(status, view));
    // Activities of a killed ralph have ended, even if the records lack their end.
    let is_running = status.pid != 0;
    if let Some(since_ms) = view.phase.running_since_ms().filter(|_| is_running) {
        let since = short_duration(now_ms.saturating_sub(since_ms));
        line("iteration", &format!("{} for {since}", view.iterations.number));
    }
    if let Some(tool) = view.tool.as_ref().filter(|_| is_running) {
        let since = short_duration(now_ms.saturating_sub(tool.started_ms));
        line("tool", &format!("{} ({since})", tool_in_words(tool)));
    }
    if let Phase::Waiting {
        wait: Wait::Disk, why, ..
    } = &view.phase
    {
        line("why", &wait_cause_in_words(why));
    }
    if let Some(until_ms) = view.phase.waits_until_ms() {
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
    line("run", &run_in_words(view.number, Some(&status.run)));
    line("adapter", view.author());
    if let Some(ReviewSettings { by, .. }) = &view.settings.review {
        let model = by.model.as_ref().map_or_else(String::new, |model| format!("/{model}"));
        let reviews = !view.role.is_work() && view.is_busy();
        let now = if reviews { ", reviews now" } else { "" };
        line("reviewer", &format!("{}{model}{now}", by.adapter));
    }
    for (adapter, until_ms) in view.limited.iter().filter(|(_, until_ms)| **until_ms > now_ms) {
        let text = format!("{adapter} is limited for {}", short_duration(until_ms - now_ms));
        line("limit", &text);
    }
    line("plan", &view.settings.plan.display().to_string());
    let totals = view.totals();
    let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
    line("tasks", &format!("{} of {all} done", totals.tasks_done));
    if let Some(task) = view.task() {
        line("current", &task.text);
    }
    let elapsed_ms = match is_running {
        true => view.elapsed_ms(now_ms),
        false => totals.elapsed_ms,
    };
    let mut work = vec![
        counted(u64::from(totals.iterations), "iteration"),
        short_duration(elapsed_ms),
    ];
    work.extend(totals.changes.as_ref().map(changes_in_words));
    work.extend(usage_in_words(&totals.usage));
    line("work", &work.join(" · "));
    if let Some(left_ms) = estimate_ms(view, now_ms).filter(|_| is_running) {
        line("ready in", &format!("about {}", short_duration(left_ms)));
    }
    for goal in &view.goals {
        line("goal", &goal_state_in_words(goal));
    }
    let spent = spent_in_words(view, now_ms);
    if !spent.is_empty() {
        line("spent", &spent.join(" · "));
    }
    line("limits", &limits_in_words(&view.settings.limits));
    for (task, limit) in view.tasks_at_limit() {
        line("set aside", &format!("{task}: {}", task_at_limit_in_words(limit)));
    }
    for task in view.background.alive().filter(|_| is_running) {
        let (command, state) = (command_in_words(&task.command), background_state_in_words(task));
        let age = short_duration(task.age_ms(now_ms));
        let far = task
            .progress
            .as_ref()
            .map(background_progress_in_words)
            .unwrap_or_default();
        line("bg task", &format!("{}: {command} ({state}, {age}){far}", task.number));
    }
    if let Some(breaker) = stuck_in_words(&view.breaker) {
        line("stuck", &breaker);
    }
    for ask in view.open_asks() {
        line("asks", &ask_in_words(ask, is_running, now_ms));
    }
    for message in view.messages.iter().filter(|message| message.is_due()) {
        let when = match message.kind {
            SteeringKind::Next => "next prompt",
            SteeringKind::Now => "now",
            SteeringKind::Standing => "every prompt",
        };
        line("message", &format!("{} ({when}): {}", message.id.0, message.text));
    }
    text
}

/// The state of a goal, in words.
fn goal_state_in_words(goal: &GoalStatus) -> String {
    match &goal.state {
        GoalState::Unknown => format!("{}: not checked yet", goal.name),
        GoalState::Running => format!("{}: is being checked", goal.name),
        GoalState::Checked { result } => {
            let since = goal.suspects().map(|by| format!(", {}", broken_in_words(by)));
            goal_in_words(result) + &since.unwrap_or_default()
        }
    }
}

/// The state of the stuck detector and its reason, or its counts. `None` if it has counted nothing.
fn stuck_in_words(breaker: &Breaker) -> Option<String> {
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
        BreakerState::HalfOpen | BreakerState::Open => Some(breaker_in_words(breaker.state, breaker.why.as_ref())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{
        event::{
            AgentEvent, AgentSignal, BreakerCause, Event, Goal, IterationEvent, PlanEvent, PlanSnapshot, PlanTask,
            ReviewSettings, ReviewWhen, Role, RunEvent, RunId, Settings, SteeringEvent, SteeringId, StopReason,
            TimeEvent, Wait, WaitCause, Worker,
        },
        testing::{goal_checked, iteration_ended, iteration_started, permission_asked},
    };

    use ralph_state::control::Quiet;

    use ralph_review::RunEntry;

    const MINUTE_MS: u64 = 60_000;

    fn started(settings: Settings) -> Event {
        Event::Run(RunEvent::Started {
            project: "/project".into(),
            pid: 7,
            settings: Box::new(settings),
            promise: String::new(),
            number: 1,
            earlier_starts_ms: Vec::new(),
            earlier_spending: Vec::new(),
        })
    }

    fn plan(done: usize) -> Event {
        let tasks = (0..4).map(|at| PlanTask {
            text: format!("Task {at}"),
            done: at < done,
            line: 1,
            depth: 0,
            heading: None,
            settings: Default::default(),
            ..PlanTask::default()
        });
        Event::Plan(PlanEvent::Read {
            plan: PlanSnapshot { tasks: tasks.collect() },
        })
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
            let text = in_words(&status_of(view, 7, None), view, 8 * MINUTE_MS, OutputStyle::PLAIN);
            text.lines()
                .find(|line| line.starts_with("ready in"))
                .map(str::to_owned)
        };
        let line = said(&view).expect("two tasks have told how long the others take");
        assert!(line.starts_with("ready in  about "), "{line}");
        view.apply_event(8 * MINUTE_MS, &Event::Time(TimeEvent::Held));
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
            if let Event::Iteration(IterationEvent::Started { adapter, role, .. }) = &mut event {
                of.clone_into(adapter);
                *role = of_role;
            }
            event
        };
        let mut view = RunView::default();
        view.apply_event(0, &started(settings));
        view.apply_event(0, &by(1, "claude", Role::Work));
        let lines = |view: &RunView| {
            let text = in_words(&status_of(view, 7, None), view, 0, OutputStyle::PLAIN);
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
        view.apply_event(
            3,
            &Event::Run(RunEvent::Stopped {
                reason,
                hints: hints.into(),
                totals,
            }),
        );
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
        let message = |id, kind, text: &str| {
            Event::Steering(SteeringEvent::Queued {
                id: SteeringId(id),
                kind,
                text: text.to_owned(),
                answers: None,
            })
        };
        let tool = Event::Agent(AgentEvent::Reported {
            iteration: 2,
            signal: AgentSignal::ToolStarted {
                call: "1".to_owned(),
                tool: "shell".to_owned(),
                input: "cargo test\ncargo clippy".to_owned(),
            },
        });
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
        view.limited.insert("claude".to_owned(), 20 * MINUTE_MS);
        view.limited.insert("gemini".to_owned(), MINUTE_MS);
        view.permissions.pending[0].until_ms = Some(10 * MINUTE_MS);
        view.breaker.no_progress = 2;
        view.breaker.same_error = 1;
        let mut status = status_of(&view, 7, None);
        status.run = RunId("one".to_owned());
        status.quiet = Some(Quiet {
            since_ms: 6 * MINUTE_MS,
            until_ms: 12 * MINUTE_MS,
        });
        status.listen = Some("http://127.0.0.1:4180".to_owned());
        let at_eight = |status: &RunStatus, view: &RunView| in_words(status, view, 8 * MINUTE_MS, OutputStyle::PLAIN);
        insta::assert_snapshot!(at_eight(&status, &view));
        view.breaker.state = BreakerState::Open;
        view.breaker.why = Some(BreakerCause::NoProgress { iterations: 3 });
        let text = at_eight(&status, &view);
        assert!(text.contains(": 3 consecutive iterations without changes\n"), "{text}");
        // The process that served it is gone, and the agent waits no longer.
        status.pid = 0;
        let text = at_eight(&status, &view);
        assert!(!text.contains("\niteration ") && !text.contains("left)"), "{text}");
        view.apply_event(
            8 * MINUTE_MS,
            &Event::Time(TimeEvent::WaitStarted {
                wait: Wait::Backoff,
                until_ms: 9 * MINUTE_MS,
                attempt: 1,
                why: WaitCause::BegunBefore,
            }),
        );
        let text = at_eight(&status, &view);
        assert!(text.contains("\nleft      1m00s\n"), "{text}");
    }
}
