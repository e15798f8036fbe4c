//! The header: project, state, task and agent on a badge; below it the progress and the figures.
//!
//! Each fact appears once on the whole screen. If space is short, the least important facts are dropped first; the
//! phase is never cut in favour of others.

use ralph_core::{
    event::{BreakerState, ChannelKind, EndKind, PermissionMode, Proof, SandboxState, StopReason},
    limits::{LIMITS, LimitScope, LimitUnit, consumption, limits_now},
    run::{GoalState, GoalStatus, Phase, RunView},
};
use ralph_text::one_line;
use ralph_words::{
    cost_in_words, counted, phase_headline, phase_word, short_count, short_duration, ticking, tool_in_words,
};
use ratatui::{layout::Rect, style::Modifier};

use crate::tui::{
    model::{Model, Silence, estimate_ms},
    panes,
    pen::{Pen, columns, shortened},
    theme::TextRole,
};

/// Minimum width for the project's name, and its maximum columns.
const PROJECT_COLS: u16 = 60;
const NAME_COLS: usize = 24;
/// Minimum columns of a task.
const TASK_COLS: u16 = 12;
/// Width of the plan's bar.
const BAR_COLS: std::ops::RangeInclusive<u16> = 8..=30;

/// A fact, in pieces with roles. Facts with the greatest weight are kept if space is short.
struct HeaderFact {
    weight: u8,
    pieces: Vec<(String, TextRole)>,
}

impl HeaderFact {
    fn new(weight: u8, text: impl Into<String>, role: TextRole) -> Self {
        Self {
            weight,
            pieces: vec![(text.into(), role)],
        }
    }

    fn columns(&self) -> u16 {
        self.pieces.iter().map(|(text, _)| columns(text)).sum()
    }
}

pub(super) fn draw(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    if area.is_empty() {
        return;
    }
    headline(model, Rect { height: 1, ..area }, pen);
    if area.height > 1 {
        progress(model, Rect::new(area.x, area.y + 1, area.width, 1), pen);
    }
}

/// The state as a block over the whole line: project, state, task and agent.
fn headline(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let is_alone = model.layout().header.height == 1;
    // A single row has to include the iteration's number.
    let words = match is_alone {
        true => phase_headline(&model.run, model.now_ms, |at_ms| model.clock(at_ms)),
        false => phase_word(&model.run, model.now_ms, |at_ms| model.clock(at_ms)),
    };
    let state = format!("{} {}", phase_sign(model, pen), one_line(&words));
    let style = pen.theme.style(look(&model.run).badge);
    let strong = style.add_modifier(Modifier::BOLD);
    pen.fill(area, style);
    let mut end = area.right().saturating_sub(1);
    let mut x = area.x + u16::from(area.width >= 40);
    let needed = columns(&state) + 2;
    let separator = format!(" {} ", pen.theme.glyphs.dot);
    if let Some(project) = project_name(model).filter(|_| area.width >= PROJECT_COLS) {
        let project = shortened(&project, NAME_COLS, pen.theme.glyphs.more) + &separator;
        if x + columns(&project) + needed <= end {
            x = pen.text(x, area.y, end, &project, style);
        }
    }
    let (done, all) = (model.run.plan.done(), model.run.plan.tasks.len());
    if is_alone && all > 0 {
        let tasks = format!("  {done}/{all}");
        end = pen.right(x + needed.min(14), area.y, end, &tasks, strong);
    }
    let agent = format!("  {}", agent_in_words(model));
    end = pen.right(x + needed, area.y, end, &agent, style);
    x = pen.text(x, area.y, end, &state, strong);
    if let Some(task) = task_with_parent(model)
        && x + TASK_COLS < end
    {
        x = pen.text(x, area.y, end, &separator, style);
        pen.text(x, area.y, end, &task, style);
    }
}

/// The name of the project's directory.
pub(super) fn project_name(model: &Model) -> Option<String> {
    let name = model.run.project.file_name()?.to_string_lossy();
    Some(one_line(&name))
}

/// The current task, with the one that it is a part of: `Lists of lists (Parse tables)`.
fn task_with_parent(model: &Model) -> Option<String> {
    let task = model.run.task()?;
    let above = model.run.plan.tasks.iter().filter(|other| other.line < task.line);
    let parent = above.rev().find(|other| other.depth < task.depth);
    Some(one_line(&match parent {
        Some(parent) => format!("{} ({})", task.text, parent.text),
        None => task.text.clone(),
    }))
}

/// The bar of the plan, followed by the run's figures.
fn progress(model: &Model, area: Rect, pen: &mut Pen<'_>) {
    let mut facts = facts(model, pen);
    let end = area.right().saturating_sub(1);
    let room = end.saturating_sub(area.x + 1);
    let taken = |facts: &[HeaderFact]| facts.iter().map(|fact| fact.columns() + 3).sum::<u16>();
    // The width depends on that of the screen alone: facts come and go.
    let bar = (area.width / 8).clamp(*BAR_COLS.start(), *BAR_COLS.end());
    while facts.len() > 1 && taken(&facts) + bar > room {
        let least = (0..facts.len()).min_by_key(|at| facts[*at].weight);
        facts.remove(least.unwrap_or_default());
    }
    let has_tasks = !model.run.plan.tasks.is_empty();
    let mut x = match has_tasks {
        true => gauge(model, Rect::new(area.x + 1, area.y, bar, 1), pen),
        false => area.x + 1,
    };
    for (at, fact) in facts.iter().enumerate() {
        let gap = match (at, has_tasks) {
            (0, true) => " ",
            (0, false) => "",
            (_, _) => &format!(" {} ", pen.theme.glyphs.dot),
        };
        x = pen.role(x, area.y, end, gap, TextRole::Dim);
        for (text, role) in &fact.pieces {
            x = pen.role(x, area.y, end, text, *role);
        }
    }
}

fn gauge(model: &Model, area: Rect, pen: &mut Pen<'_>) -> u16 {
    let plan = &model.run.plan;
    let width = usize::from(area.width);
    let full = (width * plan.done()).checked_div(plan.tasks.len()).unwrap_or(0);
    let glyphs = pen.theme.glyphs;
    // Checked tasks are not done while a goal fails.
    let done = match failing(model).next() {
        Some(_) => TextRole::Wait,
        None => TextRole::GaugeDone,
    };
    let x = pen.role(area.x, area.y, area.right(), &glyphs.full.repeat(full), done);
    pen.role(
        x,
        area.y,
        area.right(),
        &glyphs.rest.repeat(width - full),
        TextRole::GaugeRest,
    )
}

/// The facts beside the bar, in display order.
fn facts(model: &Model, pen: &Pen<'_>) -> Vec<HeaderFact> {
    let run = &model.run;
    let plan = &run.plan;
    let mut facts = Vec::new();
    if !plan.tasks.is_empty() {
        let tasks = format!("{}/{}", plan.done(), plan.tasks.len());
        facts.push(HeaderFact::new(100, tasks, TextRole::Strong));
    }
    if let Some(left_ms) = estimate_ms(run, model.now_ms) {
        facts.push(HeaderFact::new(
            50,
            format!("~{} left", rounded(left_ms)),
            TextRole::Dim,
        ));
    }
    if let Some(iteration) = run.iterations.latest() {
        let number = match run.settings.limits.max_iterations {
            // Reviews have iteration numbers but do not count towards the limit.
            Some(max) if run.settings.review.is_some() => {
                format!("iteration {} ({}/{max})", iteration.number, run.iterations.counted)
            }
            Some(max) => format!("iteration {}/{max}", iteration.number),
            None => format!("iteration {}", iteration.number),
        };
        facts.push(HeaderFact::new(90, number, TextRole::Plain));
    }
    if let Some(since_ms) = run.phase.running_since_ms() {
        let since = ticking(model.now_ms.saturating_sub(since_ms));
        facts.push(HeaderFact::new(80, since, TextRole::Plain));
    }
    facts.extend(silence(model));
    facts.extend(cost(model));
    facts.extend(budgets(model));
    // With a side bar, each goal has a row below the plan.
    if !panes::has_goal_rows(model) {
        facts.extend(goals(model, pen));
    }
    let in_background = run.background.alive().count();
    if in_background > 0 {
        let count = counted(in_background as u64, "task");
        facts.push(HeaderFact::new(54, format!("{count} in background"), TextRole::Plain));
    }
    facts.extend(match run.breaker.state {
        BreakerState::Closed => None,
        BreakerState::HalfOpen => Some(HeaderFact::new(92, "perhaps stuck", TextRole::Wait)),
        BreakerState::Open => Some(HeaderFact::new(92, "stuck", TextRole::Bad)),
    });
    facts.extend(run.sandbox.map(|sandbox| match sandbox {
        SandboxState::On => HeaderFact::new(52, "sandbox on", TextRole::Dim),
        SandboxState::Strict => HeaderFact::new(52, "sandbox strict", TextRole::Dim),
        SandboxState::Unconfined => HeaderFact::new(70, "UNCONFINED", TextRole::Wait),
    }));
    facts.extend(permissions(model));
    let elapsed_ms = run.elapsed_ms(model.now_ms);
    let elapsed = match run.is_over() {
        true => short_duration(elapsed_ms),
        false => ticking(elapsed_ms),
    };
    facts.push(HeaderFact::new(20, format!("{elapsed} total"), TextRole::Dim));
    facts
}

/// The mode for requests without a rule, and the number of rules that answers added.
fn permissions(model: &Model) -> Option<HeaderFact> {
    let mode = match model.run.permission_mode() {
        PermissionMode::Auto => None,
        PermissionMode::Ask => Some("asks".to_owned()),
        PermissionMode::Restricted => Some("restricted".to_owned()),
        PermissionMode::Readonly => Some("read-only".to_owned()),
    };
    let rules = model.run.permissions.rules.len();
    let rules = (rules > 0).then(|| format!("rules {rules}"));
    let parts: Vec<String> = mode.into_iter().chain(rules).collect();
    (!parts.is_empty()).then(|| HeaderFact::new(51, parts.join(" · "), TextRole::Dim))
}

/// The agent's current tool and its duration, for the bottom line; `None` between tools, and while the agent waits for
/// an answer.
pub(super) fn tool(model: &Model) -> Option<(String, String)> {
    let run = &model.run;
    let tool = run.tool.as_ref()?;
    if !matches!(run.phase, Phase::Running { .. }) || !run.permissions.pending.is_empty() {
        return None;
    }
    let since = ticking(model.now_ms.saturating_sub(tool.started_ms));
    Some((one_line(&tool_in_words(tool)), since))
}

fn silence(model: &Model) -> Option<HeaderFact> {
    Some(match model.activity.silence(&model.run, model.now_ms)? {
        Silence::Quiet { for_ms } => HeaderFact::new(40, format!("no output for {}", ticking(for_ms)), TextRole::Dim),
        Silence::Idle { for_ms, limit_ms } => HeaderFact::new(
            95,
            format!("idle {}/{}", ticking(for_ms), ticking(limit_ms)),
            TextRole::Wait,
        ),
        Silence::Ending { left_ms } => {
            HeaderFact::new(95, format!("idle, stops in {}", ticking(left_ms)), TextRole::Bad)
        }
    })
}

fn cost(model: &Model) -> Option<HeaderFact> {
    let usage = &model.run.usage;
    let (cost, shown) = (usage.cost_usd?, cost_in_words(usage)?);
    let (text, share) = match model.run.settings.limits.max_cost_usd {
        Some(max) => (format!("{shown}/${max}"), cost / max),
        None => (shown, 0.0),
    };
    let role = if share >= 0.75 { TextRole::Wait } else { TextRole::Plain };
    Some(HeaderFact::new(60, text, role))
}

/// Usage of the limits on cost and tokens per task and per day.
fn budgets(model: &Model) -> Vec<HeaderFact> {
    let (limits, used) = (limits_now(&model.run), consumption(&model.run, model.now_ms));
    let facts = LIMITS.iter().filter_map(|row| {
        let name = match row.scope {
            LimitScope::Task if used.task.is_some() => "task",
            LimitScope::Day => "today",
            LimitScope::Run | LimitScope::Task | LimitScope::Hour | LimitScope::Iteration => return None,
        };
        let (usage, max) = (row.usage(&used), row.max(&limits)?);
        let text = match row.unit {
            LimitUnit::Dollars => {
                let shown = cost_in_words(&usage).unwrap_or_else(|| "$0.00".to_owned());
                format!("{name} {shown}/${max}")
            }
            LimitUnit::Tokens => {
                // The limit is a whole number.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let max = short_count(max as u64);
                format!("{name} {}/{max} tokens", short_count(usage.tokens().unwrap_or(0)))
            }
            LimitUnit::Count | LimitUnit::Milliseconds => return None,
        };
        let is_near = row.share(&limits, &used).is_some_and(|share| share >= 0.75);
        let role = if is_near { TextRole::Wait } else { TextRole::Plain };
        Some(HeaderFact::new(58, text, role))
    });
    facts.collect()
}

/// Goals that failed at the last check.
fn failing(model: &Model) -> impl Iterator<Item = &GoalStatus> {
    let goals = model.run.goals.iter();
    goals.filter(|goal| matches!(&goal.state, GoalState::Checked { result } if !result.passed))
}

/// Number of goals that passed and failed at the last check.
fn goals(model: &Model, pen: &Pen<'_>) -> Option<HeaderFact> {
    let count = |is: fn(&GoalState) -> bool| model.run.goals.iter().filter(|goal| is(&goal.state)).count();
    let glyphs = pen.theme.glyphs;
    let counts = [
        (
            count(|goal| matches!(goal, GoalState::Checked { result } if result.passed)),
            glyphs.good,
            TextRole::Good,
        ),
        (failing(model).count(), glyphs.bad, TextRole::Bad),
        (count(|goal| *goal == GoalState::Running), glyphs.wait, TextRole::Wait),
        (count(|goal| *goal == GoalState::Unknown), glyphs.open, TextRole::Dim),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let mut pieces = vec![("goals".to_owned(), TextRole::Dim)];
    // A goal that fails alone is named.
    let failing = failing(model).next();
    pieces.extend(counts.map(|(count, sign, role)| match failing {
        Some(goal) if role == TextRole::Bad && count == 1 => (format!(" {sign} {}", one_line(&goal.name)), role),
        _ => (format!(" {sign}{count}"), role),
    }));
    (pieces.len() > 1).then_some(HeaderFact { weight: 55, pieces })
}

fn agent_in_words(model: &Model) -> String {
    let settings = &model.run.settings;
    let adapter = model.run.current_adapter();
    // The settings' model belongs to the settings' adapter.
    let named = model
        .run
        .model
        .as_ref()
        .or(settings.model.as_ref().filter(|_| adapter == settings.adapter));
    let named = named.map(|name| short_model(name, adapter));
    let channel = model.run.channel().map(|channel| match channel {
        ChannelKind::OneWay => "one-way",
        ChannelKind::Live => "live",
    });
    let parts: Vec<&str> = [Some(adapter), named, channel].into_iter().flatten().collect();
    one_line(&parts.join(" · "))
}

/// A model without its adapter's name and its variant: `opus-4-8` of `claude-opus-4-8[1m]`.
fn short_model<'m>(name: &'m str, adapter: &str) -> &'m str {
    let name = name.split('[').next().unwrap_or(name);
    let rest = name.strip_prefix(adapter).and_then(|rest| rest.strip_prefix('-'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(name)
}

/// How the phase of a run looks.
struct PhaseLook {
    badge: TextRole,
    sign: PhaseSign,
    /// The role of its words on a line of their own.
    words: TextRole,
}

enum PhaseSign {
    Spinner,
    Wait,
    Asks,
    Good,
    Bad,
}

/// The look of the present phase. Green only for verified results.
fn look(run: &RunView) -> PhaseLook {
    let (badge, sign, words) = match &run.phase {
        Phase::Running { .. } if !run.permissions.pending.is_empty() => {
            (TextRole::AskingBadge, PhaseSign::Spinner, TextRole::Wait)
        }
        Phase::Idle => (TextRole::BusyBadge, PhaseSign::Spinner, TextRole::Wait),
        Phase::Cancelling { .. } => (TextRole::WaitingBadge, PhaseSign::Spinner, TextRole::Wait),
        Phase::Waiting { .. } | Phase::Paused => (TextRole::WaitingBadge, PhaseSign::Wait, TextRole::Wait),
        Phase::Stopped { end } => match (&end.reason, end.reason.kind()) {
            (StopReason::Blocked { .. }, _) => (TextRole::AskingBadge, PhaseSign::Asks, TextRole::Wait),
            (
                StopReason::Done {
                    proof: Proof::Nothing, ..
                },
                _,
            )
            | (_, EndKind::Unfinished) => (TextRole::WaitingBadge, PhaseSign::Wait, TextRole::Wait),
            (_, EndKind::Good) => (TextRole::DoneBadge, PhaseSign::Good, TextRole::Good),
            (_, EndKind::Bad) => (TextRole::FailedBadge, PhaseSign::Bad, TextRole::Bad),
        },
        _ => (TextRole::BusyBadge, PhaseSign::Spinner, TextRole::Accent),
    };
    PhaseLook { badge, sign, words }
}

pub(super) fn phase_sign(model: &Model, pen: &Pen<'_>) -> &'static str {
    let glyphs = pen.theme.glyphs;
    match look(&model.run).sign {
        PhaseSign::Spinner => {
            let seconds = usize::try_from(model.run.elapsed_ms(model.now_ms) / 1000).unwrap_or(0);
            glyphs.spinner[seconds % glyphs.spinner.len()]
        }
        PhaseSign::Wait => glyphs.wait,
        PhaseSign::Asks => "?",
        PhaseSign::Good => glyphs.good,
        PhaseSign::Bad => glyphs.bad,
    }
}

/// The phase of the run, for a line of its own.
pub(super) fn phase_in_words(model: &Model) -> (String, TextRole) {
    worded(
        model,
        phase_headline(&model.run, model.now_ms, |at_ms| model.clock(at_ms)),
    )
}

/// Adds the role to the words.
fn worded(model: &Model, words: String) -> (String, TextRole) {
    (one_line(&words), look(&model.run).words)
}

/// An estimated duration, rounded to a suitable precision.
fn rounded(duration_ms: u64) -> String {
    let seconds = duration_ms / 1000;
    match seconds {
        0..60 => format!("{}s", (seconds / 10 + 1) * 10),
        60..3600 => format!("{}m", seconds.div_ceil(60)),
        3600.. => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::{Terminal, backend::TestBackend};

    use ralph_core::event::{AgentEvent, Event, IterationEvent, Problem, ProblemKind, RunEvent, TimeEvent};

    use super::*;
    use crate::tui::{
        testing::{begun, model, running, stopped},
        theme::{Depth, Palette, Theme},
    };

    /// The rows of the header.
    fn drawn(model: &Model) -> Vec<String> {
        let theme = Theme::new(Palette::Dark, Depth::True, false);
        let mut terminal = Terminal::new(TestBackend::new(model.ui.cols, model.ui.rows)).unwrap();
        terminal
            .draw(|frame| draw(model, model.layout().header, &mut Pen::new(frame.buffer_mut(), &theme)))
            .unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| (0..model.ui.cols).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..model.layout().header.height).map(row).collect()
    }

    #[test]
    fn however_a_run_ended_the_headline_is_short_enough_to_be_shown_whole() {
        let failed = |kind, text: &str| StopReason::AgentFailed {
            adapter: "codex".to_owned(),
            problem: Problem::said(kind, text),
        };
        let url = "unexpected status 401 Unauthorized: invalid api key, see https://example.org/help";
        let question = "Which key do I use, that of the project or that of the team?".to_owned();
        let ends = [
            (failed(ProblemKind::Auth, url), "✖ failed: codex is not logged in"),
            (
                StopReason::Blocked {
                    question: question.into(),
                },
                "? blocked: needs your answer",
            ),
            (
                StopReason::PlanInvalid {
                    why: "PLAN.md: 3 MiB are too much for a plan".into(),
                },
                "✖ failed: the plan cannot be read",
            ),
        ];
        for (reason, headline) in ends {
            for (cols, rows) in [(40, 12), (40, 24), (80, 24), (120, 40)] {
                let shown = drawn(&model(cols, rows, [running(), vec![stopped(reason.clone())]].concat()));
                assert!(shown[0].contains(headline), "{cols}x{rows}: {shown:?}");
                let agent = shown[0].ends_with("  codex · gpt-5.1 ");
                assert_eq!(agent, rows > 16 && cols > 40, "{cols}x{rows}: {shown:?}");
            }
        }
    }

    #[test]
    fn the_bar_has_one_width_whatever_stands_beside_it() {
        let bar = |model: &Model| {
            let row = drawn(model).remove(1);
            row.chars().filter(|sign| matches!(sign, '━' | '─')).count()
        };
        let idle = Event::Agent(AgentEvent::FoundIdle {
            quiet_ms: 300_000,
            left_ms: 300_000,
        });
        for (cols, width) in [(40, 8), (80, 10), (120, 15), (200, 25)] {
            let working = model(cols, 24, running());
            let mut idling = model(cols, 24, [running(), vec![idle.clone()]].concat());
            idling.now_ms += 12_000;
            let starting = model(cols, 24, begun());
            let over = model(cols, 24, [running(), vec![stopped(StopReason::Requested)]].concat());
            for model in [working, idling, starting, over] {
                assert_eq!(bar(&model), width, "{:?}", drawn(&model));
            }
        }
    }

    #[test]
    fn the_badge_says_what_the_run_needs_from_afar() {
        use ralph_core::event::PausedBy;

        let done = |proof| vec![stopped(StopReason::done(proof))];
        let blocked = StopReason::Blocked {
            question: "Which key?".into(),
        };
        let failed = StopReason::AgentFailed {
            adapter: "codex".to_owned(),
            problem: Problem::said(ProblemKind::Auth, "401"),
        };
        for (after, expected) in [
            (vec![], TextRole::BusyBadge),
            (
                vec![
                    Event::Time(TimeEvent::Paused { by: PausedBy::User }),
                    Event::Time(TimeEvent::Held),
                ],
                TextRole::WaitingBadge,
            ),
            (vec![ralph_core::testing::permission_asked(1)], TextRole::AskingBadge),
            (vec![stopped(blocked)], TextRole::AskingBadge),
            (vec![stopped(failed)], TextRole::FailedBadge),
            (vec![stopped(StopReason::Requested)], TextRole::WaitingBadge),
            (done(Proof::Nothing), TextRole::WaitingBadge),
            (done(Proof::Tests), TextRole::DoneBadge),
        ] {
            let model = model(80, 24, [running(), after.clone()].concat());
            assert_eq!(look(&model.run).badge, expected, "{after:?}");
            let is_good = drawn(&model)[0].contains('✔');
            assert_eq!(is_good, expected == TextRole::DoneBadge, "{after:?}");
        }
    }

    #[test]
    fn a_failing_goal_that_refuses_the_end_is_what_the_run_works_on() {
        let failing = ralph_core::testing::goal_checked(3, "tests", 1, "FAILED");
        let at_task = model(120, 30, [running(), vec![failing.clone()]].concat());
        assert!(drawn(&at_task)[0].contains("running"), "{:?}", drawn(&at_task));
        let mut last = crate::tui::testing::started(4);
        if let Event::Iteration(IterationEvent::Started { task, .. }) = &mut last {
            *task = None;
        }
        let fixing = model(120, 30, [running(), vec![failing, last]].concat());
        let shown = drawn(&fixing);
        assert!(
            shown[0].contains("project · ") && shown[0].contains("fixing goal tests"),
            "{shown:?}"
        );
    }

    #[test]
    fn an_idle_agent_is_counted_down_in_place_of_what_matters_less() {
        let idle = Event::Agent(AgentEvent::FoundIdle {
            quiet_ms: 300_000,
            left_ms: 300_000,
        });
        for cols in [60, 80, 120] {
            let mut idling = model(cols, 24, [running(), vec![idle.clone()]].concat());
            idling.now_ms += 12_000;
            assert!(drawn(&idling)[1].contains("idle 5:12/10:00"), "{:?}", drawn(&idling));
            idling.now_ms += 280_000;
            assert!(
                drawn(&idling)[1].contains("idle, stops in 0:08"),
                "{:?}",
                drawn(&idling)
            );
        }
    }

    #[test]
    fn what_a_task_and_a_day_may_cost_is_told_with_what_they_have_cost() {
        let mut events = running();
        for event in &mut events {
            if let Event::Run(RunEvent::Started { settings, .. }) = event {
                settings.limits.per_task.max_cost_usd = Some(3.0);
                settings.limits.per_day.max_tokens = Some(1_000_000);
            }
        }
        let shown = drawn(&model(120, 24, events));
        assert!(
            shown[1].contains(" · task $") && shown[1].contains("/$3 · "),
            "{shown:?}"
        );
        assert!(
            shown[1].contains(" · today ") && shown[1].contains("/1.0M tokens"),
            "{shown:?}"
        );
        let without = drawn(&model(120, 24, running()));
        assert!(
            !without[1].contains("today") && !without[1].contains("task $"),
            "{without:?}"
        );
    }

    #[test]
    fn of_the_numbers_the_least_important_go_first_at_every_width() {
        for cols in 1..=160 {
            let shown = drawn(&model(cols, 24, running()));
            let has = |text: &str| shown[1].contains(text);
            let by_weight = [
                has("2/4 "),
                has("iteration 3/50"),
                has("$0.42/$2"),
                has("goals") || cols >= 110,
                has("~"),
                has("total"),
            ];
            assert!(by_weight.is_sorted_by(|one, other| one >= other), "{cols}: {shown:?}");
            assert!(cols < 80 || by_weight[3], "{cols}: {shown:?}");
            assert!(cols < 120 || by_weight[5], "{cols}: {shown:?}");
        }
        let starting = drawn(&model(80, 24, begun()));
        assert!(!starting[1].contains("left"), "{starting:?}");
    }
}
