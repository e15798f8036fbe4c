//! Snapshots of the panes at several sizes.

use std::cell::RefCell;

use insta::assert_snapshot;
use ralph_core::{
    event::{
        AgentEvent, AgentSignal, AnswerPlace, AskEvent, BreakerCause, BreakerState, Decider, Event, Exit, GateEvent,
        GoalFailure, GoalResult, Hint, Outcome, PausedBy, PlanEvent, PlanSnapshot, PlanTask, Problem, ProblemKind,
        Proof, RuleScope, RunEvent, SteeringEvent, SteeringId, SteeringKind, StopReason, TaskEvent, TimeEvent, Wait,
        WaitCause,
    },
    testing::{Dice, permission_asked, permission_decided, question_answered, question_asked, question_withdrawn},
};
use ralph_system::proc::{
    Size,
    screen::{Screen, Scrollback},
};
use ralph_words::Tone;
use ratatui::{
    Terminal,
    backend::TestBackend,
    buffer::Buffer,
    style::{Color, Modifier},
};

use crate::tui::{
    editor::Editor,
    model::{
        ActionSearch, AnswerBox, AnswerStep, Confirmation, DiffState, IterationPart, LogFilter, Pane, Playback,
        PlaybackState, ReplayState, SettledMeanwhile, Timeline,
    },
    panes::{refresh_report, show_end},
    patch::Patch,
    testing::{START_MS, begun, model, queued, running, started, stopped},
    theme::{Depth, Palette, TextRole},
};

use super::*;

mod board;
mod messages;
mod restoring;
mod search;
mod sides;
mod sizes;
mod states;

#[test]
fn a_frame_in_which_only_time_has_passed_has_the_cells_of_any_other() {
    let mut model = model(100, 30, running());
    let shown = live(
        &model,
        "\x1b[1;31mred\x1b[0m \u{65e5}\u{672c} and\r\n\x1b[7mmore\x1b[0m",
    );
    let kept = RefCell::default();
    for _ in 0..3 {
        let clocks = buffer_with(Some(&kept), &model, &shown, &DARK);
        assert_eq!(clocks, buffer(&model, &shown, &DARK));
        model.now_ms += 1000;
    }
    model.ui.cols += 20;
    let wider = buffer_with(Some(&kept), &model, &shown, &DARK);
    assert_eq!(wider, buffer(&model, &shown, &DARK));
}

const DARK: Theme = Theme::new(Palette::Dark, Depth::True, false);

/// A terminal of the size of its pane that shows `output`.
fn live(model: &Model, output: &str) -> Screen {
    let mut screen = Screen::new(
        ScreenLayout::new(model.ui.cols, model.ui.rows, 4).pane(),
        Scrollback::Cells(100),
    );
    screen.process(output.as_bytes());
    screen
}

fn buffer(model: &Model, screen: &Screen, theme: &Theme) -> Buffer {
    buffer_with(None, model, screen, theme)
}

fn buffer_with(kept: Option<&RefCell<Option<KeptCells>>>, model: &Model, screen: &Screen, theme: &Theme) -> Buffer {
    buffer_after(&[], kept, model, screen, theme)
}

/// As [`buffer_with`], with the last rows of the agent before.
fn buffer_after(
    before: &[String],
    kept: Option<&RefCell<Option<KeptCells>>>,
    model: &Model,
    screen: &Screen,
    theme: &Theme,
) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(model.ui.cols, model.ui.rows)).unwrap();
    let screens = ShownTerminals {
        live: screen,
        before,
        kept,
        played: Some(screen),
    };
    terminal.draw(|frame| draw(model, &screens, theme, frame)).unwrap();
    terminal.backend().buffer().clone()
}

fn failed_tests() -> GoalResult {
    GoalResult {
        name: "tests".to_owned(),
        passed: false,
        exit: None,
        score: None,
        target: None,
        duration_ms: 26_000,
        why: Some(GoalFailure::Exited {
            exit: Exit::Code { code: 101 },
        }),
        tail: "".into(),
        tests: None,
        doubt: None,
        failed_tests: Vec::new().into(),
        flaky: None,
        newly_skipped: Default::default(),
        sealed_output: None,
    }
}

/// A wait of an hour because of a rate limit.
fn limit_reset() -> Event {
    Event::Time(TimeEvent::WaitStarted {
        wait: Wait::LimitReset,
        until_ms: START_MS + 3_600_000,
        attempt: 0,
        why: WaitCause::Failure {
            problem: Problem::said(ProblemKind::RateLimited { until_ms: None }, "5-hour limit"),
        },
    })
}

/// The rows of the drawn screen, without colours.
fn drawn(model: &Model) -> String {
    let screen = live(model, "I will run the tests.\r\n\x1b[36m▸ shell\x1b[0m cargo test\r\n");
    rows(&buffer(model, &screen, &DARK))
}

fn rows(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut row = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += unicode_width::UnicodeWidthStr::width(symbol).max(1) as u16;
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

fn with(mut model: Model, change: impl FnOnce(&mut Model)) -> Model {
    model.ui.toast = None;
    show_end(&mut model);
    change(&mut model);
    refresh_report(&mut model);
    model
}

#[test]
fn every_size_class() {
    for (cols, rows) in [(20, 6), (40, 12), (80, 24), (120, 30), (200, 50), (400, 120)] {
        let model = with(model(cols, rows, running()), |_| {});
        assert_snapshot!(format!("size_{cols}x{rows}"), drawn(&model));
    }
}

#[test]
fn the_log() {
    let mut events = running();
    events.push(Event::Agent(AgentEvent::Reported {
        iteration: 3,
        signal: AgentSignal::ToolStarted {
            call: "1".to_owned(),
            tool: "shell".to_owned(),
            input: "cargo test --all-features && cargo clippy --all-targets -- -D warnings".to_owned(),
        },
    }));
    let mut model = with(model(80, 24, events), |model| model.ui.show(Pane::Log));
    assert_snapshot!(drawn(&model));
    model.log.show(LogFilter::Tools, 0);
    assert_snapshot!("the_log_of_one_kind", drawn(&model));
}

/// A patch of three files: changed words, a long line, a missing line end, a binary file.
const PATCH: &str = " src/parser.rs      |   5 +++--\n README.md          |   2 +-\n assets/logo-in-a-directory-with-a-long-name.png | Bin 0 -> 12 bytes\n\
diff --git a/src/parser.rs b/src/parser.rs\nindex 1..2 100644\n--- a/src/parser.rs\n+++ b/src/parser.rs\n@@ -98,4 +98,5 @@ fn parse\n \
 let mut line = String::new();\n-    reader.read_line(&mut line);\n+    reader.read_line(&mut line)?;\n+    // A line that is longer than any \
terminal that is likely to be used for it is wide, and so a line that has to be cut, or wrapped.\n     Ok(line)\n }\n\
diff --git a/README.md b/README.md\nindex 1..2 100644\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Parse\r\n+# Parser\n\\ No newline at end of file\n\
diff --git a/assets/logo-in-a-directory-with-a-long-name.png b/assets/logo-in-a-directory-with-a-long-name.png\nnew file mode 100644\n\
Binary files /dev/null and b/assets/logo-in-a-directory-with-a-long-name.png differ\n";

fn with_patch(cols: u16, rows: u16) -> Model {
    with(model(cols, rows, running()), |model| {
        model.ui.show(Pane::Diff);
        model.ui.diff.iteration = Some(3);
        model.ui.diff.state = DiffState::Loaded(Patch::parse(PATCH));
    })
}

#[test]
fn the_diff() {
    let mut narrow = with_patch(80, 30);
    assert_snapshot!("the_diff_80x30", drawn(&narrow));
    narrow.ui.diff.left = 16;
    assert!(drawn(&narrow).contains("is longer than any terminal"));
    let mut wide = with_patch(160, 40);
    (wide.ui.diff.wrap, wide.ui.diff.since, wide.ui.diff.top) = (true, Some(2), 4);
    assert_snapshot!("the_diff_160x40", drawn(&wide));
    let screen = live(&wide, "");
    let buffer = buffer(&wide, &screen, &DARK);
    let lit = buffer
        .content()
        .iter()
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED));
    let lit: String = lit.map(ratatui::buffer::Cell::symbol).collect();
    assert!(
        lit.contains('?') && !lit.contains("reader"),
        "the words that changed: {lit:?}"
    );
}

#[test]
fn the_history() {
    let mut events = running();
    let problem = Problem::said(ProblemKind::Network, "connection reset");
    events.extend(crate::tui::testing::ended(3, Outcome::Failed { problem }));
    events.push(started(4));
    let model = with(model(100, 24, events), |model| {
        model.ui.show(Pane::History);
        model.ui.history.selected = 1;
    });
    assert_snapshot!(drawn(&model));
}

#[test]
fn a_transcript_of_the_history() {
    let model = with(model(80, 24, running()), |model| {
        model.ui.show(Pane::History);
        model.ui.history.open = Some(Playback {
            state: PlaybackState::Loaded,
            ..Playback::new(1)
        });
    });
    assert_snapshot!(drawn(&model));
}

#[test]
fn an_iteration_whole_has_its_goals_and_its_messages() {
    let mut events = running();
    let failed = GoalResult {
        tail: "test parses_nothing ... FAILED\ntest result: FAILED. 41 passed; 1 failed".into(),
        ..failed_tests()
    };
    events.push(Event::Gate(GateEvent::GoalChecked {
        iteration: 3,
        result: failed,
    }));
    events.push(queued(1, SteeringKind::Next, "Mind the gap\nand the other one"));
    events.push(Event::Steering(SteeringEvent::Delivered {
        id: SteeringId(1),
        iteration: 3,
        how: ralph_core::event::Delivery::Prompt,
    }));
    let mut model = with(model(80, 24, events), |model| {
        model.ui.show(Pane::History);
        model.ui.history.open = Some(Playback {
            part: IterationPart::Goals,
            ..Playback::new(3)
        });
    });
    assert_snapshot!("whole_goals_80x24", drawn(&model));
    model.ui.history.open = Some(Playback {
        part: IterationPart::Messages,
        ..Playback::new(3)
    });
    assert!(drawn(&model).contains("and the other one"));
}

#[test]
fn a_replay_has_a_line_of_its_time() {
    let model = with(model(80, 24, running()), |model| {
        model.ui.replay = Some(ReplayState {
            speed: 4.0,
            paused: true,
            over: false,
        });
        let at = |second: u64| START_MS + second * 1000;
        model.ui.timeline = Some(Timeline {
            from_ms: at(0),
            until_ms: at(40),
            iterations: vec![(1, at(3)), (2, at(8)), (3, at(20))],
            ..Timeline::default()
        });
    });
    assert_snapshot!("replay_line_80x24", drawn(&model));
}

#[test]
fn the_messages() {
    let mut events = running();
    events.push(queued(1, SteeringKind::Now, "Stop that"));
    events.push(Event::Steering(SteeringEvent::Delivered {
        id: SteeringId(1),
        iteration: 3,
        how: ralph_core::event::Delivery::Prompt,
    }));
    events.push(queued(2, SteeringKind::Standing, "Use tabs"));
    events.push(queued(3, SteeringKind::Next, "Mind the gap\nand the other one"));
    let model = with(model(80, 24, events), |model| model.ui.show(Pane::Messages));
    assert_snapshot!(drawn(&model));
}

#[test]
fn limits_goals_and_breaker() {
    let mut events = running();
    events.push(Event::Gate(GateEvent::GoalChecked {
        iteration: 2,
        result: failed_tests(),
    }));
    events.push(Event::BreakerMoved {
        to: BreakerState::HalfOpen,
        why: BreakerCause::NoProgress { iterations: 3 },
    });
    let model = with(model(100, 30, events), |model| model.ui.show(Pane::Limits));
    assert_snapshot!(drawn(&model));
}

/// A run with a plan of four tasks that has ended.
fn over(reason: StopReason, hints: Vec<Hint>) -> Vec<Event> {
    let mut events = running();
    events.extend(crate::tui::testing::ended(3, Outcome::Completed));
    if let StopReason::Blocked { question } = &reason {
        events.push(Event::Task(TaskEvent::Blocked {
            iteration: 3,
            task: Some("Describe the format in README.md".to_owned()),
            question: question.clone(),
        }));
    }
    let mut end = stopped(reason);
    if let Event::Run(RunEvent::Stopped { hints: given, .. }) = &mut end {
        *given = hints.into();
    }
    events.push(end);
    events
}

#[test]
fn an_end_is_a_page_that_says_why_and_what_to_type() {
    let login = Problem::said(
        ProblemKind::Auth,
        "unexpected status 401 Unauthorized: invalid api key, url: http://127.0.0.1:1/v1/responses",
    );
    let ends = [
        ("unverified", StopReason::done(Proof::Nothing), vec![Hint::SetGoal]),
        (
            "blocked",
            StopReason::Blocked {
                question: "Which of the two formats is meant: the old one, or the one of version 2?".into(),
            },
            vec![Hint::Answer],
        ),
        (
            "login",
            StopReason::AgentFailed {
                adapter: "codex".to_owned(),
                problem: login,
            },
            vec![
                Hint::LogIn {
                    how: "run `codex login`, or set CODEX_API_KEY".into(),
                },
                Hint::Resume,
            ],
        ),
    ];
    for (name, reason, hints) in ends {
        for (cols, rows) in [(80, 24), (120, 40)] {
            let model = with(model(cols, rows, over(reason.clone(), hints.clone())), |_| {});
            assert_snapshot!(format!("end_{name}_{cols}x{rows}"), drawn(&model));
        }
    }
}

#[test]
fn the_help() {
    for (cols, rows) in [(80, 24), (120, 40)] {
        let model = with(model(cols, rows, running()), |model| {
            model.ui.mode = InputMode::Help { top: 0 }
        });
        assert_snapshot!(format!("the_help_{cols}x{rows}"), drawn(&model));
    }
}

#[test]
fn the_palette() {
    let model = with(model(80, 24, running()), |model| {
        model.ui.mode = InputMode::Palette(ActionSearch {
            query: Editor::with_text("it"),
            chosen: 1,
        });
    });
    assert_snapshot!(drawn(&model));
}

#[test]
fn the_help_on_a_small_terminal() {
    let model = with(model(40, 10, running()), |model| {
        model.ui.mode = InputMode::Help { top: 5 }
    });
    assert_snapshot!(drawn(&model));
}

/// A screen with a permission request.
fn asking(cols: u16, rows: u16) -> Model {
    let mut asked = model(cols, rows, [running(), vec![permission_asked(1)]].concat());
    if let Some(ask) = asked.run.permissions.pending.first_mut() {
        ask.until_ms = Some(asked.now_ms + 272_000);
    }
    let shown_ms = asked.now_ms;
    asked.ui.mode = InputMode::Answering(AnswerBox::new(1, shown_ms));
    asked
}

#[test]
fn a_question_of_the_agent() {
    assert_snapshot!(drawn(&asking(100, 30)));
}

#[test]
fn a_question_of_the_agent_on_a_small_terminal() {
    assert_snapshot!(drawn(&asking(40, 10)));
}

#[test]
fn questions_in_words_with_their_choices() {
    let mut asked = model(100, 30, [running(), vec![question_asked(1, true)]].concat());
    if let Some(ask) = asked.run.permissions.pending.first_mut() {
        ask.until_ms = Some(asked.now_ms + 272_000);
    }
    let shown_ms = asked.now_ms;
    asked.ui.mode = InputMode::Answering(AnswerBox::new(1, shown_ms));
    assert_snapshot!(drawn(&asked));
}

#[test]
fn the_rule_of_an_answer_is_edited_where_its_mistake_is_said() {
    let model = with(asking(80, 24), |model| {
        let rules = model.run.permissions.pending[0].offer.rules.join("\n");
        model.ui.mode = InputMode::Answering(AnswerBox {
            step: AnswerStep::Remembering(RuleScope::Run, Editor::with_text(&rules)),
            refused: Some("Bash(git add *) does not allow `git push origin main` (no rule; mode `ask`)".to_owned()),
            ..AnswerBox::new(1, START_MS)
        });
    });
    assert_snapshot!(drawn(&model));
}

#[test]
fn the_question_before_leaving() {
    let model = with(model(80, 24, running()), |model| {
        model.ui.mode = InputMode::Asking(Confirmation::Quit);
    });
    assert_snapshot!(drawn(&model));
}

#[test]
fn a_paused_run_is_not_said_to_continue_without_its_screen() {
    let by = ralph_core::event::PausedBy::User;
    let model = with(
        model(
            100,
            30,
            [running(), vec![Event::Time(TimeEvent::Paused { by })]].concat(),
        ),
        |model| {
            model.ui.detaches = true;
            model.ui.mode = InputMode::Asking(Confirmation::Quit);
        },
    );
    assert!(drawn(&model).contains("the run stays paused"), "{}", drawn(&model));
}

#[test]
fn the_steering_line_says_what_becomes_of_the_message() {
    let model = with(model(80, 24, running()), |model| {
        model.ui.mode = InputMode::Steering;
        model.ui.steering = Editor::with_text("!Stop that,\nand this");
    });
    assert_snapshot!(drawn(&model));
}

#[test]
fn a_search_marks_what_it_finds() {
    let model = with(model(80, 24, running()), |model| {
        model.ui.mode = InputMode::Searching;
        model.ui.search.query = Editor::with_text("tests");
    });
    let screen = live(&model, "I will run the \x1b[2mTests.\r\n");
    let buffer = buffer(&model, &screen, &DARK);
    let main = model.layout().main;
    let marked: String = (main.left()..main.right())
        .map(|x| &buffer[(x, main.y)])
        .filter(|cell| Some(cell.bg) == DARK.style(TextRole::Match).bg && !cell.modifier.contains(Modifier::DIM))
        .map(ratatui::buffer::Cell::symbol)
        .collect();
    assert_eq!(marked, "Tests", "and dim text is legible on the mark");
}

#[test]
fn the_last_words_of_an_agent_stay_dim_until_the_next_one_speaks() {
    let model = model(80, 24, running());
    let before: Vec<String> = (1..40).map(|row| format!("{row} {}", "日本語 👍🏽 ".repeat(9))).collect();
    let buffer = buffer_after(&before, None, &model, &live(&model, ""), &DARK);
    let text = rows(&buffer);
    assert!(text.contains("starting") && text.contains("39 日本語"), "{text}");
    assert!(!text.contains("\n 1 日本語"), "the last rows are shown:\n{text}");
    let area = model.content_area();
    let last = (area.top()..area.bottom())
        .rfind(|y| buffer[(area.x + 1, *y)].symbol() == "3")
        .unwrap();
    assert_eq!(buffer[(area.x + 1, last)].fg, DARK.style(TextRole::Dim).fg.unwrap());
    let frame = rows(&buffer_after(&[], None, &model, &live(&model, ""), &DARK));
    let edges = |text: &str| text.lines().filter(|row| row.contains('│')).count();
    assert_eq!(edges(&text), edges(&frame), "the frame holds:\n{text}");

    let speaks = rows(&buffer_after(&before, None, &model, &live(&model, "I begin."), &DARK));
    assert!(speaks.contains("I begin.") && !speaks.contains("39 日本語"), "{speaks}");
}

#[test]
fn every_phase_has_its_words() {
    let wait = limit_reset();
    let pause = |by| Event::Time(TimeEvent::Paused { by });
    let phases: [(&str, Vec<Event>); 8] = [
        ("starting", begun()),
        ("running", running()),
        ("pausing", [running(), vec![pause(PausedBy::User)]].concat()),
        (
            "held",
            [begun(), vec![pause(PausedBy::User), Event::Time(TimeEvent::Held)]].concat(),
        ),
        (
            "held by file",
            [begun(), vec![pause(PausedBy::File), Event::Time(TimeEvent::Held)]].concat(),
        ),
        ("waiting", [begun(), vec![wait]].concat()),
        (
            "done",
            [begun(), vec![stopped(StopReason::done(Proof::Tests))]].concat(),
        ),
        (
            "failed",
            [
                begun(),
                vec![stopped(StopReason::AgentFailed {
                    adapter: "claude".to_owned(),
                    problem: Problem::said(ProblemKind::Auth, "401"),
                })],
            ]
            .concat(),
        ),
    ];
    let lines: Vec<String> = phases
        .into_iter()
        .map(|(name, events)| {
            let model = with(model(80, 24, events), |_| {});
            let head = drawn(&model).lines().next().unwrap_or_default().to_owned();
            format!("{name:<13}|{head}|{}", window_title(&model))
        })
        .collect();
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_toast_and_an_end_take_the_footer() {
    let model = with(model(80, 24, running()), |model| {
        model
            .ui
            .toast(Tone::User, "message 1 for the next prompt", model.now_ms);
    });
    assert!(drawn(&model).contains("» message 1 for the next prompt"));
    let done = with(
        crate::tui::testing::model(
            80,
            24,
            [begun(), vec![stopped(StopReason::done(Proof::Nothing))]].concat(),
        ),
        |_| {},
    );
    assert!(
        !drawn(&done).contains("✔ done (not verified) · 4 of"),
        "the report says it"
    );
    let done = with(done, |model| model.ui.show(Pane::Terminal));
    assert!(drawn(&done).contains("… done (not verified) · 4 of 4 tasks · 4 iterations"));
}

/// Requests with each kind of outcome, and two that wait.
fn asks() -> Vec<Event> {
    let decided = |ask: Option<u32>, allowed, by, message: Option<&str>| {
        let mut event = permission_decided(ask, allowed, by, message);
        if let Event::Ask(AskEvent::Answered { answered }) = &mut event {
            (answered.title, answered.waited_ms) = ("rm -rf build".to_owned(), 42_000);
        }
        event
    };
    let rule = Decider::Rule {
        rule: "Bash(rm -rf *)".to_owned(),
        origin: ".ralph/config.json:3:5".to_owned(),
    };
    let user = |at| Decider::User { at };
    let answered = question_answered(2, &["red"], user(AnswerPlace::CommandLine), 3_000);
    let mut waits = question_asked(5, true);
    if let Event::Ask(AskEvent::Asked { ask }) = &mut waits {
        ask.until_ms = Some(START_MS + 300_000);
    }
    let said = Some("move it to attic/");
    let asked = vec![
        permission_asked(1),
        decided(Some(1), false, user(AnswerPlace::Screen), said),
        question_asked(2, false),
        answered,
        decided(None, false, rule, None),
        permission_asked(3),
        question_withdrawn(3),
        permission_asked(4),
        decided(Some(4), false, Decider::Deadline, None),
        waits,
    ];
    [running(), asked].concat()
}

#[test]
fn the_list_of_what_was_asked() {
    for (cols, rows) in [(80, 24), (50, 16)] {
        let model = with(model(cols, rows, asks()), |model| {
            model.ui.show(Pane::Asks);
            model.ui.asks.selected = Some(2);
        });
        assert_snapshot!(format!("the_asks_{cols}x{rows}"), drawn(&model));
    }
}

#[test]
fn what_was_asked_is_shown_whole_with_what_became_of_it() {
    let shown = |place| {
        drawn(&with(model(80, 24, asks()), |model| {
            model.ui.show(Pane::Asks);
            model.ui.asks.reading = Some(place);
        }))
    };
    assert_snapshot!(shown(0));
    assert_snapshot!(shown(1));
}

#[test]
fn how_much_of_a_change_is_left_out_is_said_at_its_end() {
    let mut asked = permission_asked(1);
    if let Event::Ask(AskEvent::Asked { ask }) = &mut asked {
        ask.request.command = None;
        ask.request.diff = Some("@@ a.rs @@\n-old\n+new\n[… 2950]".to_owned());
    }
    let mut model = model(80, 24, [running(), vec![asked]].concat());
    model.ui.mode = InputMode::Answering(AnswerBox::new(1, 0));
    let text = drawn(&model);
    assert!(
        text.contains("│ +new ") && text.contains("│ … and 2950 more lines "),
        "{text}"
    );
}

#[test]
fn without_unicode_every_sign_is_plain() {
    let theme = Theme::new(Palette::Sixteen, Depth::Sixteen, true);
    let check = |model: &Model| {
        let text = rows(&buffer(model, &live(model, "plain\r\n"), &theme));
        assert!(text.is_ascii(), "{text}");
    };
    for pane in [Pane::Terminal, Pane::Log, Pane::History, Pane::Asks, Pane::Limits] {
        check(&with(model(120, 30, asks()), |model| model.ui.show(pane)));
    }
    let mut asking = model(120, 30, asks());
    asking.ui.mode = InputMode::Answering(AnswerBox::new(5, 0));
    check(&asking);
    asking.ui.mode = InputMode::TooLate(SettledMeanwhile {
        fate: "question 1 was answered by you on the screen: Which colour? → red".to_owned(),
        since_ms: 0,
        kept: true,
    });
    check(&asking);
}

#[test]
fn without_colours_there_is_none() {
    let theme = Theme::new(Palette::Mono, Depth::None, false);
    let panes = [
        Pane::Terminal,
        Pane::Log,
        Pane::Diff,
        Pane::History,
        Pane::Asks,
        Pane::Limits,
    ];
    for pane in panes {
        let model = with(model(120, 30, asks()), |model| {
            model.ui.show(pane);
            model.ui.mode = InputMode::Answering(AnswerBox::new(5, 0));
        });
        let screen = live(&model, "\x1b[31;48;2;1;2;3mred\x1b[0m");
        let buffer = buffer(&model, &screen, &theme);
        assert!(
            buffer
                .content()
                .iter()
                .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
        );
    }
}

#[test]
fn an_agents_cells_are_drawn_as_they_are() {
    let model = with(model(80, 24, running()), |_| {});
    let screen = live(&model, "\x1b[1;38;2;10;20;30mbold\x1b[0m 漢字\x1b[7mx");
    let buffer = buffer(&model, &screen, &DARK);
    let main = model.layout().terminal();
    let cell = &buffer[(main.x, main.y)];
    assert_eq!((cell.symbol(), cell.fg), ("b", Color::Rgb(10, 20, 30)));
    assert!(cell.modifier.contains(ratatui::style::Modifier::BOLD));
    assert_eq!(buffer[(main.x + 5, main.y)].symbol(), "漢");
    assert_eq!(buffer[(main.x + 7, main.y)].symbol(), "字");
    assert!(
        buffer[(main.x + 9, main.y)]
            .modifier
            .contains(ratatui::style::Modifier::REVERSED)
    );
}

/// Random bytes as agents write them, including malformed ones.
fn bytes(dice: &mut Dice, count: usize) -> Vec<u8> {
    const PIECES: [&str; 12] = [
        "\x1b[",
        "\x1b]0;",
        "漢",
        "🦀",
        "\u{200d}",
        "\u{fe0f}",
        "\t",
        "\r\n",
        "e\u{301}",
        "\x1b[?1049h",
        ";5H",
        "\x1b[2J",
    ];
    let mut bytes = Vec::new();
    while bytes.len() < count {
        match dice.roll(3) {
            0 => bytes.push(dice.roll(256) as u8),
            _ => bytes.extend_from_slice(PIECES[dice.index(PIECES.len())].as_bytes()),
        }
    }
    bytes
}

#[test]
fn whatever_agents_write_and_whatever_the_size_every_cell_stays_in_its_place() {
    let mut dice = Dice::new(0x9e37_79b9_7f4a_7c15);
    for round in 0..400 {
        let (cols, rows) = (1 + dice.roll(130) as u16, 1 + dice.roll(45) as u16);
        let evil = String::from_utf8_lossy(&bytes(&mut dice, 60)).into_owned();
        let mut events = running();
        events.push(Event::Plan(PlanEvent::Read {
            plan: PlanSnapshot {
                tasks: (0..dice.roll(40))
                    .map(|n| PlanTask {
                        text: format!("{n} {evil}"),
                        done: dice.roll(2) == 0,
                        line: 1,
                        depth: dice.roll(9) as u8,
                        heading: (dice.roll(4) == 0).then(|| evil.clone()),
                        settings: Default::default(),
                        ..PlanTask::default()
                    })
                    .collect(),
            },
        }));
        events.push(queued(1, SteeringKind::Next, &evil));
        for mut asked in [permission_asked(1), question_asked(2, true)] {
            if let Event::Ask(AskEvent::Asked { ask }) = &mut asked {
                ask.request.command = ask.request.command.as_ref().map(|_| evil.clone());
                ask.request.title.clone_from(&evil);
                ask.request.questions.iter_mut().for_each(|asked| {
                    asked.text.clone_from(&evil);
                    asked
                        .choices
                        .iter_mut()
                        .for_each(|choice| choice.label.clone_from(&evil));
                });
            }
            events.push(asked);
        }
        events.push(Event::Agent(AgentEvent::Reported {
            iteration: 3,
            signal: AgentSignal::Said { text: evil.clone() },
        }));
        let mut model = model(cols, rows, events);
        let panes = [
            Pane::Terminal,
            Pane::Log,
            Pane::Diff,
            Pane::History,
            Pane::Messages,
            Pane::Asks,
            Pane::Limits,
        ];
        model.ui.show(panes[dice.roll(7) as usize]);
        model.ui.asks.reading = (dice.roll(2) == 0).then_some(0);
        model.ui.opened_top = 1;
        model.ui.mode = match dice.roll(8) {
            5 => InputMode::Answering(AnswerBox::new(1 + dice.roll(2) as u32, 0)),
            6 => InputMode::TooLate(SettledMeanwhile {
                fate: evil.clone(),
                since_ms: 0,
                kept: true,
            }),
            0 => InputMode::Steering,
            1 => InputMode::Searching,
            2 => InputMode::Typing,
            3 => InputMode::Asking(Confirmation::Quit),
            4 => InputMode::Help {
                top: dice.roll(60) as usize,
            },
            _ => InputMode::Normal,
        };
        model.ui.steering = Editor::with_text(&evil);
        model.ui.search.query = Editor::with_text(&evil.replace('\n', ""));
        model.ui.diff.state = DiffState::Loaded(Patch::parse(&format!("diff --git {evil}\n{evil}\n")));
        let size = Size {
            cols: 2 + dice.roll(140) as u16,
            rows: 2 + dice.roll(50) as u16,
        };
        let mut screen = Screen::new(size, Scrollback::Cells(50));
        screen.process(&bytes(&mut dice, 800));
        screen.scroll_to(dice.roll(20) as usize);
        let buffer = buffer(&model, &screen, &DARK);
        for cell in buffer.content() {
            let symbol = cell.symbol();
            assert!(!symbol.contains(char::is_control), "round {round}: {symbol:?}");
            let width = unicode_width::UnicodeWidthStr::width(symbol);
            assert!(
                (1..=2).contains(&width),
                "round {round}: {symbol:?} takes {width} columns"
            );
        }
    }
}
