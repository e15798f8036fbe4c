//! Snapshots of the board of a batch: in many states, with many plans, and once it is over.

use ralph_plan::batch::{BatchEnd, BatchEvent, KeptReason, PullRequest};

use crate::{
    board::{Board, PlanRuns},
    tui::{
        model::{BoardFocus, BoardMode, BoardModel, BoardSpot},
        testing::{at_work, batch, board_model, busy_board, job_done, merged, plan_name},
    },
};

use super::*;

fn drawn_board(model: &BoardModel, theme: &Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(model.cols, model.rows)).unwrap();
    terminal.draw(|frame| draw_board(model, theme, frame)).unwrap();
    terminal.backend().buffer().clone()
}

/// A drawn board with plans in many states.
pub(super) fn busy(size: (u16, u16), theme: &Theme) -> Buffer {
    let mut model = board_model(busy_board(), size);
    model.plan = 1;
    drawn_board(&model, theme)
}

fn shown(model: &BoardModel) -> String {
    rows(&drawn_board(model, &DARK))
}

fn over() -> Board {
    let kept = |name: &str, why: KeptReason| BatchEvent::PlanKept {
        plan: plan_name(name),
        why,
    };
    let trouble = ralph_plan::batch::MergeTrouble::Goals {
        output: "test tests::orders ... FAILED".to_owned(),
    };
    let events = [
        merged("api"),
        job_done("ui"),
        vec![kept("ui", KeptReason::NotMerged { trouble })],
        at_work("docs").to_vec(),
        vec![kept("docs", KeptReason::Cancelled)],
        vec![BatchEvent::BatchEnded {
            end: BatchEnd::Incomplete,
        }],
    ];
    let batch = batch(&["api", "ui", "docs"], events.concat());
    Board::new(
        &batch,
        (START_MS, START_MS + 754_000),
        false,
        (|_| None::<&PlanRuns>, |_| None),
    )
}

#[test]
fn a_board_while_everything_goes_on_at_once() {
    let mut text = String::new();
    for size in [(40, 12), (80, 24), (200, 60)] {
        let mut model = board_model(busy_board(), size);
        model.plan = 2;
        text += &format!("=== {} x {}\n{}", size.0, size.1, shown(&model));
    }
    let ascii = Theme::new(Palette::Mono, Depth::None, true);
    let drawn = rows(&drawn_board(&board_model(busy_board(), (80, 24)), &ascii));
    text += &format!("=== 80 x 24 without colours and Unicode\n{drawn}");
    assert_snapshot!(text);
}

#[test]
fn a_board_names_the_engine_that_runs_its_plans() {
    let here = shown(&board_model(busy_board(), (80, 24)));
    assert!(!here.contains(" by "), "{here}");
    let board = Board {
        engine: "slurm".to_owned(),
        ..busy_board()
    };
    let there = shown(&board_model(board, (120, 24)));
    assert!(there.contains(" · by slurm"), "{there}");
}

#[test]
fn a_board_once_the_batch_is_over() {
    let mut text = String::new();
    for size in [(80, 24), (200, 60)] {
        text += &format!("=== {} x {}\n{}", size.0, size.1, shown(&board_model(over(), size)));
    }
    assert_snapshot!(text);
}

#[test]
fn a_batch_with_nothing_left_but_closed_pull_requests_is_not_resumed() {
    let hints = |why: KeptReason| {
        let kept = BatchEvent::PlanKept {
            plan: plan_name("ui"),
            why,
        };
        let ended = BatchEvent::BatchEnded {
            end: BatchEnd::Incomplete,
        };
        let events = [merged("api"), job_done("ui"), vec![kept, ended]];
        let batch = batch(&["api", "ui"], events.concat());
        ralph_words::batch_hints(&batch, &batch.id).join("\n")
    };
    let request = PullRequest {
        number: 7,
        url: "https://example.org/7".to_owned(),
    };
    assert!(!hints(KeptReason::Closed { request }).contains("ralph many resume"));
    assert!(hints(KeptReason::Cancelled).contains("ralph many resume"));
}

#[test]
fn boxes_over_a_board() {
    let mut model = board_model(busy_board(), (80, 24));
    let modes = [
        BoardMode::Quit,
        BoardMode::Cancel(plan_name("ui")),
        BoardMode::Help { top: 0 },
    ];
    let mut text = String::new();
    for mode in modes {
        model.mode = mode;
        text += &format!("===\n{}", shown(&model));
    }
    assert_snapshot!(text);
}

#[test]
fn of_fifty_plans_the_chosen_one_is_in_view_at_every_size() {
    let names: Vec<String> = (0..50).map(|at| format!("plan-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let board = Board::new(
        &batch(&names, []),
        (START_MS, START_MS),
        true,
        (|_| None::<&PlanRuns>, |_| None),
    );
    for rows in 3..60 {
        for plan in [0, 1, 24, 49] {
            let mut model = board_model(board.clone(), (80, rows));
            model.plan = plan;
            let is_shown = shown(&model).contains(&format!("plan-{plan} "));
            assert_eq!(is_shown, model.layout().plans.height >= 2, "{plan} in {rows} rows");
        }
    }
}

/// No size breaks the layout, and a click hits the row that is drawn there.
#[test]
fn a_row_that_is_clicked_on_is_the_one_that_is_there() {
    for (cols, rows) in (1..220).step_by(7).zip((1..70).cycle()) {
        let mut model = board_model(busy_board(), (cols, rows));
        model.focus = BoardFocus::Asks;
        let buffer = drawn_board(&model, &DARK);
        let text = super::rows(&buffer);
        for (y, line) in text.lines().enumerate() {
            let y = u16::try_from(y).unwrap();
            if let Some(BoardSpot::Plan(at)) = model.spot_at(0, y)
                && model.layout().rows_each == 1
                && cols > 20
            {
                assert!(line.contains(&model.board.plans[at].plan.0), "{cols}x{rows}: {line}");
            }
        }
    }
}
