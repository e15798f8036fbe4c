//! Snapshots of every pane and every main state, at five sizes, in both palettes and in ASCII.
//!
//! `RALPH_TEST_WRITE=1 cargo test --lib the_main_states` writes them to `target/pictures`. From there,
//! `cargo run --example screenshot -- target/pictures/*.ansi` makes pictures for inspection.

use std::{env, fs, path::Path};

use ralph_core::event::{BackgroundEnd, BackgroundResult, Delivery, Exit, Hint, Requester, TestCounts, Usage};
use ratatui::{
    backend::{Backend, CrosstermBackend},
    style::Style,
};

use super::*;
use ralph_core::event::{
    AgentEvent, BackgroundEvent, GateEvent, IterationEvent, PlanEvent, RunEvent, SteeringEvent, TaskEvent, TimeEvent,
};

const SIZES: [(u16, u16); 5] = [(40, 12), (80, 24), (100, 30), (120, 40), (200, 60)];
/// The sizes of the pictures.
const PICTURES: [(u16, u16); 5] = [(120, 36), (40, 12), (80, 24), (120, 40), (200, 60)];

const TASKS: [(&str, u8); 9] = [
    ("Read the file, or say why not", 0),
    ("Parse tables and lists, with tests", 0),
    ("Nested tables", 1),
    ("Lists of lists", 1),
    ("Report errors with line and column", 0),
    ("Say what was expected", 1),
    ("Point at it, as compilers do", 1),
    ("Describe each option in the manual", 0),
    ("Measure how long 100 MB take, and say so", 0),
];

/// Output of an agent, as rendered by ralph.
const OUTPUT: &str = "\x1b[1mNested tables need a stack.\x1b[0m The tests come first, as always.\r\n\r\n\
    \x1b[36m▸ \x1b[1mshell\x1b[0m cargo test parser::\r\n\
    \x1b[2m  running 14 tests\r\n  test result: ok. 14 passed; 0 failed\x1b[0m\r\n\
    \x1b[2m  took 3.2s\x1b[0m\r\n\r\n\
    \x1b[36m▸ \x1b[1medit\x1b[0m src/parser.rs\r\n\
    \x1b[31m  -    let table = self.table()?;\x1b[0m\r\n\
    \x1b[32m  +    let table = self.nested(depth + 1)?;\x1b[0m\r\n\
    \x1b[32m  +    self.depth = depth;\x1b[0m\r\n\r\n\
    Lists of lists are next. Two of their tests fail for now:\r\n\r\n  \
    • an empty list of tables\r\n  • a list of empty lists\r\n";

const PATCH: &str = " src/parser.rs | 6 +++---\n src/lib.rs    | 2 ++\n 2 files changed, 5 insertions(+), 3 deletions(-)\n\n\
diff --git a/src/parser.rs b/src/parser.rs\n--- a/src/parser.rs\n+++ b/src/parser.rs\n\
@@ -41,7 +41,7 @@ impl Parser {\n     fn table(&mut self, depth: usize) -> Result<Table, Error> {\n         self.expect('[')?;\n\
-        let table = self.rows()?;\n+        let table = self.nested(depth + 1)?;\n+        self.depth = depth;\n         Ok(table)\n     }\n\
diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1 +1,3 @@\n //! Reads configuration.\n\
+\n+mod parser;";

fn snapshot(done: usize) -> Event {
    let tasks = TASKS.iter().enumerate().map(|(at, (text, depth))| PlanTask {
        text: (*text).to_owned(),
        done: at < done,
        line: u32::try_from(at).unwrap() + 3,
        depth: *depth,
        heading: None,
        settings: Default::default(),
        ..PlanTask::default()
    });
    Event::Plan(PlanEvent::Read {
        plan: PlanSnapshot { tasks: tasks.collect() },
    })
}

fn on(iteration: u32, task: usize) -> Event {
    let mut started = started(iteration);
    if let Event::Iteration(IterationEvent::Started { task: current, .. }) = &mut started {
        *current = Some(TASKS[task].0.to_owned());
    }
    started
}

fn goal(iteration: u32, passed: bool) -> Event {
    let code = i32::from(!passed);
    ralph_core::testing::goal_checked(iteration, "tests", code, "test lists::empty ... FAILED")
}

/// Four iterations: two that completed tasks, one without changes, one that runs.
fn at_work() -> Vec<Event> {
    let nothing = Event::Iteration(IterationEvent::Settled {
        iteration: 2,
        checkpoint: None,
        changes: None,
        totals: None,
        progress: Some(false),
        undone: false,
        committed: None,
        elsewhere: ralph_core::event::Elsewhere::default(),
    });
    let mut idle = crate::tui::testing::ended(2, Outcome::Completed);
    idle.truncate(2);
    [
        begun(),
        vec![snapshot(0), on(1, 0)],
        crate::tui::testing::ended(1, Outcome::Completed),
        vec![snapshot(1), on(2, 2)],
        idle,
        vec![nothing, on(3, 2)],
        crate::tui::testing::ended(3, Outcome::Completed),
        vec![snapshot(3), goal(3, false), on(4, 3)],
        vec![
            queued(1, SteeringKind::Standing, "Use tabs, not blanks"),
            delivered(1, 4),
        ],
        vec![Event::Agent(AgentEvent::Reported {
            iteration: 4,
            signal: AgentSignal::ToolStarted {
                call: "1".to_owned(),
                tool: "shell".to_owned(),
                input: "cargo test parser::".to_owned(),
            },
        })],
    ]
    .concat()
}

fn no_tasks() -> Event {
    Event::Plan(PlanEvent::Read {
        plan: PlanSnapshot { tasks: Vec::new() },
    })
}

fn started_without_task(iteration: u32) -> Event {
    let mut started = started(iteration);
    if let Event::Iteration(IterationEvent::Started { task, .. }) = &mut started {
        *task = None;
    }
    started
}

/// A finished run with four iterations.
fn over(done: u32, reason: StopReason, hints: Vec<Hint>) -> Vec<Event> {
    let mut events = at_work();
    events.extend(crate::tui::testing::ended(4, Outcome::Completed));
    events.push(snapshot(done as usize));
    match reason {
        StopReason::Done {
            proof: Proof::Tests, ..
        } => {
            let mut passed = goal(4, true);
            if let Event::Gate(GateEvent::GoalChecked { result, .. }) = &mut passed {
                result.tests = Some(TestCounts {
                    runner: "cargo".to_owned(),
                    passed: 214,
                    ..TestCounts::default()
                });
            }
            events.push(passed);
        }
        StopReason::Done {
            proof: Proof::ExitCodes,
            ..
        } => events.push(goal(4, true)),
        // There was no goal to check.
        StopReason::Done {
            proof: Proof::Nothing, ..
        } => {
            events.retain(|event| !matches!(event, Event::Gate(GateEvent::GoalChecked { .. })));
            for event in &mut events {
                if let Event::Run(RunEvent::Started { settings, .. }) = event {
                    settings.goals.clear();
                }
            }
        }
        _ => {}
    }
    if let StopReason::Blocked { question } = &reason {
        events.push(Event::Task(TaskEvent::Blocked {
            iteration: 4,
            task: Some(TASKS[5].0.to_owned()),
            question: question.clone(),
        }));
    }
    let mut end = stopped(reason);
    if let Event::Run(RunEvent::Stopped {
        totals, hints: told, ..
    }) = &mut end
    {
        (totals.tasks_done, totals.tasks_open) = (done, TASKS.len() as u32 - done);
        totals.usage = Usage {
            cost_usd: Some(0.84),
            ..Usage::default()
        };
        *told = hints.into();
    }
    events.push(end);
    events
}

fn waiting() -> Vec<Event> {
    let wait = limit_reset();
    [at_work(), crate::tui::testing::ended(4, Outcome::Completed), vec![wait]].concat()
}

fn delivered(id: u32, iteration: u32) -> Event {
    Event::Steering(SteeringEvent::Delivered {
        id: SteeringId(id),
        iteration,
        how: Delivery::Prompt,
    })
}

fn messages() -> Vec<Event> {
    [
        at_work(),
        vec![
            queued(2, SteeringKind::Now, "Stop that"),
            delivered(2, 4),
            queued(3, SteeringKind::Next, "Mind the gap\nand the other one"),
        ],
    ]
    .concat()
}

/// Four background tasks: failed, cancelled, ending and running.
fn in_background() -> Vec<Event> {
    let started = |number, by, command: &str| {
        Event::Background(BackgroundEvent::Started {
            number,
            by,
            command: command.to_owned(),
            cwd: "/project".into(),
        })
    };
    let ended = |number, end, tail: &str| {
        Event::Background(BackgroundEvent::Ended {
            number,
            result: BackgroundResult {
                end,
                duration_ms: 65_000,
                output_bytes: 900,
                tail: tail.into(),
            },
        })
    };
    let exit = Exit::Code { code: 101 };
    let tasks = vec![
        started(1, Requester::Agent, "cargo test --workspace"),
        ended(
            1,
            BackgroundEnd::Exited { exit },
            "running 14 tests\ntest result: FAILED",
        ),
        started(2, Requester::User, "npm run dev"),
        started(3, Requester::Agent, "sleep 600"),
        Event::Background(BackgroundEvent::Cancelled {
            number: 3,
            by: Requester::Agent,
        }),
        ended(3, BackgroundEnd::Cancelled, ""),
        started(4, Requester::Agent, "cd web\nnpx vite build --watch"),
        Event::Background(BackgroundEvent::Cancelled {
            number: 4,
            by: Requester::User,
        }),
    ];
    [at_work(), tasks].concat()
}

/// The model of a named state, on a screen of this size.
fn state(name: &str, cols: u16, rows: u16) -> Model {
    let at = |events| with(model(cols, rows, events), |_| {});
    let pane = |pane, events| with(model(cols, rows, events), |model| model.ui.show(pane));
    let mode = |mode, events| with(model(cols, rows, events), |model| model.ui.mode = mode);
    let failed = StopReason::AgentFailed {
        adapter: "codex".to_owned(),
        problem: Problem::said(ProblemKind::Auth, "401 Unauthorized: invalid api key"),
    };
    let log_in = Hint::LogIn {
        how: "run `codex login`, or set CODEX_API_KEY".into(),
    };
    let blocked = StopReason::Blocked {
        question: "Shall an empty list be an error?".into(),
    };
    match name {
        "agent" => at(at_work()),
        "starting" => at([begun(), vec![snapshot(0), on(1, 2)]].concat()),
        // A plan of prose has no tasks.
        "empty" => at([begun(), vec![no_tasks(), started_without_task(1)]].concat()),
        "log" => pane(Pane::Log, at_work()),
        "diff" => with(pane(Pane::Diff, at_work()), |model| {
            model.ui.diff.iteration = Some(4);
            model.ui.diff.state = DiffState::Loaded(Patch::parse(PATCH));
        }),
        "history" => pane(Pane::History, at_work()),
        "messages" => pane(Pane::Messages, messages()),
        "asks" => pane(Pane::Asks, asks()),
        "background" => pane(Pane::Background, in_background()),
        "limits" => pane(Pane::Limits, at_work()),
        "paused" => at([at_work(), vec![Event::Time(TimeEvent::Paused { by: PausedBy::User })]].concat()),
        "waiting" => at(waiting()),
        "question" => with(asking(cols, rows), |_| {}),
        "message" => with(mode(InputMode::Steering, at_work()), |model| {
            model.ui.steering = Editor::with_text("!Stop that,\nand this");
        }),
        "search" => with(mode(InputMode::Searching, at_work()), |model| {
            model.ui.search.query = Editor::with_text("tests");
        }),
        "leaving" => mode(InputMode::Asking(Confirmation::Quit), at_work()),
        "help" => mode(InputMode::Help { top: 0 }, at_work()),
        "done" => at(over(9, StopReason::done(Proof::Tests), Vec::new())),
        "unverified" => at(over(9, StopReason::done(Proof::Nothing), vec![Hint::SetGoal])),
        "failed" => at(over(5, failed, vec![log_in])),
        "blocked" => at(over(5, blocked, vec![Hint::Answer])),
        other => panic!("{other}: no such state"),
    }
}

const STATES: [&str; 21] = [
    "agent",
    "starting",
    "empty",
    "log",
    "diff",
    "history",
    "messages",
    "asks",
    "background",
    "limits",
    "paused",
    "waiting",
    "question",
    "message",
    "search",
    "leaving",
    "help",
    "done",
    "unverified",
    "failed",
    "blocked",
];

fn at_size(name: &str, (cols, rows): (u16, u16), theme: &Theme) -> Buffer {
    let model = state(name, cols, rows);
    let output = if matches!(name, "starting" | "empty") {
        ""
    } else {
        OUTPUT
    };
    buffer(&model, &live(&model, output), theme)
}

#[test]
fn without_unicode_every_sign_of_every_state_is_plain() {
    let theme = Theme::new(Palette::Sixteen, Depth::Sixteen, true);
    for name in STATES {
        for size in SIZES {
            let model = state(name, size.0, size.1);
            let text = rows(&buffer(&model, &live(&model, "plain\r\n"), &theme));
            assert!(text.is_ascii(), "{name}:\n{text}");
        }
    }
}

/// Pairs of a cell's styles in the dark and the light palette, each identified by a letter.
#[derive(Default)]
struct Styles(Vec<(Style, Style)>);

impl Styles {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    fn letter(&mut self, pair: (Style, Style)) -> char {
        let known = self.0.iter().position(|known| *known == pair);
        let at = known.unwrap_or_else(|| {
            self.0.push(pair);
            self.0.len() - 1
        });
        Self::LETTERS.chars().nth(at).expect("a letter for each pair of styles")
    }

    fn legend(&self) -> String {
        let pairs = Self::LETTERS.chars().zip(&self.0);
        pairs
            .map(|(letter, (dark, light))| format!("{letter}: {} | {}\n", in_words(dark), in_words(light)))
            .collect()
    }
}

fn in_words(style: &Style) -> String {
    let colour = |colour: Option<Color>| colour.map_or_else(String::new, |colour| colour.to_string());
    format!("{} on {} {:?}", colour(style.fg), colour(style.bg), style.add_modifier)
}

/// The styles of a screen as run lengths of letters; equal rows are merged.
fn in_letters(dark: &Buffer, light: &Buffer, styles: &mut Styles) -> String {
    let row = |y: u16| {
        let cells = (0..dark.area.width).map(|x| (dark[(x, y)].style(), light[(x, y)].style()));
        let letters: Vec<char> = cells.map(|pair| styles.letter(pair)).collect();
        let runs = letters.chunk_by(|one, other| one == other);
        runs.map(|run| format!("{}{} ", run[0], run.len())).collect::<String>()
    };
    let drawn: Vec<String> = (0..dark.area.height).map(row).collect();
    let same = drawn.chunk_by(|one, other| one == other);
    same.map(|rows| format!("{:>2} × {}\n", rows.len(), rows[0].trim_end()))
        .collect()
}

/// The text is the same in both palettes.
#[test]
fn every_state_at_five_sizes_in_two_palettes_and_without_unicode() {
    let themes = [Palette::Dark, Palette::Light].map(|palette| Theme::new(palette, Depth::True, false));
    let ascii = Theme::new(Palette::Sixteen, Depth::Sixteen, true);
    for name in STATES {
        let mut styles = Styles::default();
        let mut text = String::new();
        for size in SIZES {
            let [dark, light] = themes.each_ref().map(|theme| at_size(name, size, theme));
            assert_eq!(rows(&dark), rows(&light), "{name}");
            text += &format!("=== {} x {}\n{}", size.0, size.1, rows(&dark));
            text += &format!("--- styles\n{}", in_letters(&dark, &light, &mut styles));
        }
        text += &format!(
            "=== {} x {} without Unicode\n{}",
            SIZES[1].0,
            SIZES[1].1,
            rows(&at_size(name, SIZES[1], &ascii))
        );
        text += &format!("=== styles, dark | light\n{}", styles.legend());
        assert_snapshot!(format!("state_{name}"), text);
    }
}

#[test]
fn the_main_states() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/pictures");
    let themes = [
        ("dark", Theme::new(Palette::Dark, Depth::True, false)),
        ("light", Theme::new(Palette::Light, Depth::True, false)),
        ("sixteen", Theme::new(Palette::Sixteen, Depth::Sixteen, false)),
        ("none", Theme::new(Palette::Mono, Depth::None, false)),
    ];
    let is_written = env::var_os("RALPH_TEST_WRITE").is_some();
    // Without pictures, one size shows that each of them can be drawn.
    let sizes: &[(u16, u16)] = if is_written { &PICTURES } else { &PICTURES[..1] };
    for (theme_name, theme) in themes {
        for size in sizes {
            let of_runs = STATES.iter().map(|name| (*name, at_size(name, *size, &theme)));
            for (name, buffer) in of_runs.chain([("board", super::board::busy(*size, &theme))]) {
                if is_written {
                    fs::create_dir_all(&directory).unwrap();
                    let file = format!("{name}.{}x{}.{theme_name}.ansi", size.0, size.1);
                    fs::write(directory.join(file), written(&buffer)).unwrap();
                }
            }
        }
    }
}

/// The bytes that draw the cells in a terminal.
fn written(buffer: &Buffer) -> Vec<u8> {
    let mut bytes = Vec::new();
    let cells = buffer.content().iter().enumerate().map(|(at, cell)| {
        let (x, y) = buffer.pos_of(at);
        (x, y, cell)
    });
    CrosstermBackend::new(&mut bytes).draw(cells).unwrap();
    bytes
}
