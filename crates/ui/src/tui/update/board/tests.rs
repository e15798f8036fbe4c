use ralph_core::event::{Answer, AnswerPlace};

use crate::tui::testing::{board_model, busy_board, plan_name};

use super::*;

fn busy() -> BoardModel {
    board_model(busy_board(), (100, 30))
}

fn press(model: &mut BoardModel, code: KeyCode) -> Vec<BoardOrder> {
    update_board(model, Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn typed(model: &mut BoardModel, keys: &str) -> Vec<BoardOrder> {
    let orders = keys.chars().map(|key| press(model, KeyCode::Char(key)));
    orders.collect::<Vec<_>>().concat()
}

#[test]
fn a_plan_that_has_run_is_opened_and_one_that_waits_says_why_not() {
    let mut model = busy();
    typed(&mut model, "jj");
    assert_eq!(press(&mut model, KeyCode::Enter), [BoardOrder::Open(plan_name("docs"))]);
    typed(&mut model, "G");
    assert_eq!(press(&mut model, KeyCode::Enter), []);
    let said = model.toast.expect("a reason").text;
    assert!(said.contains("audit has not run yet"), "{said}");
}

#[test]
fn a_plan_is_cancelled_once_that_is_confirmed() {
    let mut model = busy();
    typed(&mut model, "j");
    assert_eq!(typed(&mut model, "c"), []);
    assert_eq!(typed(&mut model, "x"), [], "no answer");
    assert_eq!(typed(&mut model, "y"), [BoardOrder::Cancel(plan_name("ui"))]);
    assert_eq!(typed(&mut model, "cn"), []);
    typed(&mut model, "gc");
    assert!(
        matches!(model.mode, BoardMode::Normal),
        "what is merged is not cancelled"
    );
}

#[test]
fn leaving_asks_whether_the_batch_goes_on_unless_it_is_over() {
    let mut model = busy();
    assert_eq!(typed(&mut model, "qd"), [BoardOrder::Detach]);
    assert_eq!(typed(&mut model, "qy"), [BoardOrder::Stop]);
    assert_eq!(typed(&mut model, "qn"), []);
    let interrupt = Input::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    typed(&mut model, "q");
    let mut over = busy_board();
    over.running = false;
    take_board(&mut model, over);
    assert!(matches!(model.mode, BoardMode::Normal));
    assert_eq!(typed(&mut model, "q"), [BoardOrder::Leave]);
    assert_eq!(update_board(&mut model, interrupt), [BoardOrder::Leave]);
}

#[test]
fn what_a_run_asks_is_answered_on_the_board() {
    let mut model = busy();
    let allow = |ask| UserCommand::Answer {
        ask,
        answer: Answer::Allow { remember: None },
        at: AnswerPlace::Screen,
    };
    // The selected plan has no question, so the first question is opened.
    typed(&mut model, "a");
    let orders = typed(&mut model, "y");
    let answered = BoardOrder::Answer {
        plan: plan_name("docs"),
        command: allow(1),
    };
    assert_eq!(orders, [answered]);
    let mut board = busy_board();
    board.asks.retain(|asked| asked.plan != plan_name("docs"));
    take_board(&mut model, board);
    assert!(matches!(model.mode, BoardMode::Normal));
    assert_eq!(model.toast, None, "it was meant");
    // A question can also be selected in the list.
    press(&mut model, KeyCode::Tab);
    press(&mut model, KeyCode::Enter);
    let orders = typed(&mut model, "2");
    let [BoardOrder::Answer { plan, command }] = &orders[..] else {
        panic!("{orders:?}")
    };
    assert_eq!(*plan, plan_name("mail"));
    let words = Answer::Words {
        words: vec!["2".to_owned()],
    };
    assert!(
        matches!(command, UserCommand::Answer { answer, .. } if *answer == words),
        "{command:?}"
    );
}

#[test]
fn a_question_that_somebody_else_answers_takes_its_box_away() {
    let mut model = busy();
    typed(&mut model, "a");
    // Keys typed meanwhile are not commands of the board.
    assert_eq!(typed(&mut model, "N"), []);
    assert_eq!(typed(&mut model, "cq"), []);
    let mut board = busy_board();
    board.asks.clear();
    take_board(&mut model, board);
    assert!(matches!(model.mode, BoardMode::Normal));
    assert!(
        model
            .toast
            .as_ref()
            .expect("a word")
            .text
            .contains("the question is closed")
    );
    assert_eq!(typed(&mut model, "a"), []);
    assert!(model.toast.as_ref().expect("a word").text.contains("no open questions"));
}

#[test]
fn ctrl_c_asks_before_it_stops_all_runs() {
    let interrupt = |model: &mut BoardModel| {
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        update_board(model, Input::Key(key))
    };
    for keys in ["", "?", "jc"] {
        let mut model = busy();
        typed(&mut model, keys);
        assert_eq!(interrupt(&mut model), [], "after {keys:?}");
        assert_eq!(interrupt(&mut model), [BoardOrder::Stop], "after {keys:?}");
    }
    let mut stopping = busy();
    stopping.board.stopping = true;
    assert_eq!(interrupt(&mut stopping), [BoardOrder::Stop], "once more forces");
}

#[test]
fn a_hint_of_the_footer_is_clicked_and_a_key_without_a_meaning_says_so() {
    let mut model = busy();
    let quit = hints::of_board(&model).pop().expect("there are hints");
    let click = MouseEvent {
        kind: MouseEventKind::Down(crossterm::event::MouseButton::Left),
        column: quit.start,
        row: model.rows - 1,
        modifiers: KeyModifiers::NONE,
    };
    assert_eq!(update_board(&mut model, Input::Mouse(click)), []);
    assert!(matches!(model.mode, BoardMode::Quit));
    typed(&mut model, "nx");
    let said = model.toast.expect("a reason").text;
    assert_eq!(said, "x: no action here (? lists keys)");
}
