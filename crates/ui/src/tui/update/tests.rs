//! Tests of keys, pastes and the mouse.

use crossterm::event::{MouseButton, MouseEvent};
use ralph_core::{
    event::{
        Event, PausedBy, Proof, RunEvent, SteeringEvent, SteeringId, SteeringKind, StopReason, TaskEvent, TimeEvent,
        Wait,
    },
    testing::Dice,
};

use crate::tui::{
    model::{DiffState, IterationPart, Overlay, ReplayState},
    order::MatchTarget,
    panes::{show_end, tab_at},
    patch::Patch,
    search_query::SearchDirection,
    testing::{START_MS, begun, model, queued, running, stopped},
};

use super::*;

pub(in crate::tui) fn key(code: KeyCode) -> ScreenEvent {
    ScreenEvent::Input(Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn moused(kind: MouseEventKind, column: u16, row: u16) -> ScreenEvent {
    ScreenEvent::Input(Input::Mouse(MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    }))
}

pub(in crate::tui) fn clicked(column: u16, row: u16) -> ScreenEvent {
    moused(MouseEventKind::Down(MouseButton::Left), column, row)
}

pub(in crate::tui) fn control(character: char) -> ScreenEvent {
    ScreenEvent::Input(Input::Key(KeyEvent::new(
        KeyCode::Char(character),
        KeyModifiers::CONTROL,
    )))
}

pub(in crate::tui) fn press(model: &mut Model, keys: &str) -> Vec<ScreenOrder> {
    let pressed = |character| update(model, key(KeyCode::Char(character)));
    keys.chars().flat_map(pressed).collect()
}

pub(in crate::tui) fn watching() -> Model {
    model(100, 30, running())
}

pub(in crate::tui) fn after(events: Vec<Event>) -> Model {
    model(100, 30, events)
}

#[test]
fn a_slash_in_the_help_finds_an_action_by_its_name() {
    let mut model = model(80, 24, running());
    press(&mut model, "?/theme");
    assert!(matches!(model.ui.mode, InputMode::Palette(_)), "{:?}", model.ui.mode);
}

#[test]
fn keys_ask_the_loop_only_for_what_makes_sense_now() {
    let mut model = watching();
    assert_eq!(press(&mut model, "p"), [ScreenOrder::by_user(UserCommand::Pause)]);
    assert_eq!(press(&mut model, "S"), []);
    assert_eq!(press(&mut model, "y"), [ScreenOrder::by_user(UserCommand::Skip)]);
    assert_eq!(
        press(&mut model, "s"),
        [ScreenOrder::stop(StopRequest::AfterIteration, RequestedBy::User)]
    );
    assert_eq!(press(&mut model, "r"), []);
    assert!(model.ui.toast.is_some(), "the user is told why nothing happens");

    let mut paused = after(
        [
            begun(),
            vec![
                Event::Time(TimeEvent::Paused { by: PausedBy::File }),
                Event::Time(TimeEvent::Held),
            ],
        ]
        .concat(),
    );
    assert_eq!(press(&mut paused, "p"), [ScreenOrder::by_user(UserCommand::Resume)]);
    assert_eq!(press(&mut paused, "ni"), []);
    assert_eq!(paused.ui.mode, InputMode::Normal);

    let wait = Event::Time(TimeEvent::WaitStarted {
        wait: Wait::Backoff,
        until_ms: START_MS + 60_000,
        attempt: 1,
        why: ralph_core::event::WaitCause::BegunBefore,
    });
    let mut waiting = after([begun(), vec![wait]].concat());
    assert_eq!(press(&mut waiting, "r"), [ScreenOrder::by_user(UserCommand::RetryNow)]);
}

#[test]
fn leaving_a_run_that_outlives_its_screen_detaches_unless_it_is_to_stop() {
    let mut model = watching();
    model.ui.detaches = true;
    for keys in ["qd", "qq"] {
        assert_eq!(press(&mut model, keys), [ScreenOrder::Detach], "{keys}");
        assert_eq!(model.ui.mode, InputMode::Normal);
    }
    let stop = ScreenOrder::stop(StopRequest::Graceful, RequestedBy::User);
    assert_eq!(press(&mut model, "qy"), [stop]);
    assert_eq!(press(&mut model, "qn"), []);
}

#[test]
fn leaving_asks_until_the_run_is_over() {
    let mut model = watching();
    assert_eq!(press(&mut model, "q"), []);
    assert_eq!(model.ui.mode, InputMode::Asking(Confirmation::Quit));
    assert_eq!(press(&mut model, "x"), []);
    assert_eq!(
        model.ui.mode,
        InputMode::Asking(Confirmation::Quit),
        "no answer is none"
    );
    assert_eq!(press(&mut model, "n"), []);
    assert_eq!(model.ui.mode, InputMode::Normal);
    assert_eq!(
        press(&mut model, "qy"),
        [ScreenOrder::stop(StopRequest::Graceful, RequestedBy::User)]
    );
    assert_eq!(
        press(&mut model, "qa"),
        [ScreenOrder::stop(StopRequest::AfterIteration, RequestedBy::User)]
    );
    let mut over = after([running(), vec![stopped(StopReason::done(Proof::Tests))]].concat());
    assert_eq!(press(&mut over, "q"), [ScreenOrder::Leave]);
    assert_eq!(update(&mut over, control('c')), [ScreenOrder::Leave]);
}

#[test]
fn ctrl_c_asks_whatever_is_shown_but_closes_a_line_first_and_stops_when_it_is_pressed_again() {
    let interrupt = [ScreenOrder::stop(StopRequest::Graceful, RequestedBy::Interrupt)];
    let asked = InputMode::Asking(Confirmation::Quit);
    for keys in ["", "?", "S", "l", "h"] {
        let mut model = watching();
        press(&mut model, keys);
        assert_eq!(update(&mut model, control('c')), [], "after {keys:?}");
        assert_eq!(model.ui.mode, asked, "after {keys:?}");
        assert_eq!(update(&mut model, control('c')), interrupt, "after {keys:?}");
    }
    let mut model = watching();
    press(&mut model, "q");
    assert_eq!(update(&mut model, control('c')), interrupt, "it is asked already");
    let mut model = watching();
    press(&mut model, ":half a message");
    assert_eq!(update(&mut model, control('c')), []);
    assert_eq!((&model.ui.mode, model.ui.steering.text()), (&InputMode::Normal, ""));

    let requested = |stop| {
        let by = RequestedBy::User;
        after([running(), vec![Event::Run(RunEvent::StopRequested { stop, by })]].concat())
    };
    let mut stopping = requested(StopRequest::Graceful);
    assert_eq!(update(&mut stopping, control('c')), interrupt, "it is forced");
    let mut later = requested(StopRequest::AfterIteration);
    assert_eq!(update(&mut later, control('c')), []);
    assert_eq!(later.ui.mode, asked);
}

#[test]
fn enter_with_a_modifier_begins_a_line_of_the_message() {
    for modifiers in [KeyModifiers::ALT, KeyModifiers::SHIFT, KeyModifiers::CONTROL] {
        let mut model = watching();
        press(&mut model, ":one");
        let enter = KeyEvent::new(KeyCode::Enter, modifiers);
        assert_eq!(update(&mut model, ScreenEvent::Input(Input::Key(enter))), []);
        press(&mut model, "two");
        assert_eq!(model.ui.steering.text(), "one\ntwo", "{modifiers:?}");
    }
}

#[test]
fn the_prompt_of_the_latest_iteration_and_of_the_chosen_one_is_read_from_its_beginning() {
    let mut model = watching();
    let latest = Overlay::Prompt { iteration: 3 };
    assert_eq!(press(&mut model, "I"), [ScreenOrder::Unfold(latest.clone())]);
    assert!(!model.ui.shows_cells(), "it is not there yet");
    let loaded = |overlay| ScreenEvent::Unfolded {
        overlay,
        result: Ok(()),
    };
    assert_eq!(
        update(&mut model, loaded(Overlay::Prompt { iteration: 2 })),
        [],
        "of another one"
    );
    assert_eq!(update(&mut model, loaded(latest)), [ScreenOrder::Scroll(Scroll::Top)]);
    assert!(model.ui.shows_cells());
    update(&mut model, key(KeyCode::Esc));
    assert_eq!((model.ui.pane, &model.ui.unfolded), (Pane::Terminal, &None));

    press(&mut model, "hk");
    update(&mut model, key(KeyCode::Enter));
    let chosen = Overlay::Prompt { iteration: 2 };
    assert_eq!(press(&mut model, "I"), [ScreenOrder::Unfold(chosen)]);
    assert_eq!(model.ui.history.open, None);
    update(&mut model, key(KeyCode::Esc));
    assert_eq!(model.ui.pane, Pane::History);
}

#[test]
fn a_message_is_sent_as_what_its_first_character_says() {
    for (typed, kind, text) in [
        ("mind the gap", SteeringKind::Next, "mind the gap"),
        ("! now", SteeringKind::Now, "now"),
        ("+tabs", SteeringKind::Standing, "tabs"),
    ] {
        let mut model = watching();
        press(&mut model, &format!(":{typed}"));
        let orders = update(&mut model, key(KeyCode::Enter));
        let command = UserCommand::Steer {
            kind,
            text: text.to_owned(),
        };
        assert_eq!(orders, [ScreenOrder::by_user(command), ScreenOrder::RememberMessages]);
        assert_eq!(model.ui.recall.texts().collect::<Vec<_>>(), [typed]);
    }
    for nothing in ["", "  ", "!", "+ "] {
        let mut model = watching();
        press(&mut model, &format!(":{nothing}"));
        assert_eq!(update(&mut model, key(KeyCode::Enter)), [], "{nothing:?}");
    }
}

#[test]
fn keys_of_a_line_are_text_and_leave_keeps_the_draft() {
    let mut model = watching();
    assert_eq!(press(&mut model, ":q p n s"), []);
    update(&mut model, key(KeyCode::Esc));
    assert_eq!(model.ui.mode, InputMode::Normal);
    press(&mut model, ":");
    assert_eq!(model.ui.steering.text(), "q p n s");
    let mut model = watching();
    assert_eq!(
        press(&mut model, "/qpns"),
        vec![ScreenOrder::Find(MatchTarget::First); 4]
    );
    assert_eq!(model.ui.search.query.text(), "qpns");
}

#[test]
fn alt_enter_breaks_the_line() {
    let mut model = watching();
    press(&mut model, ":a");
    update(
        &mut model,
        ScreenEvent::Input(Input::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT))),
    );
    press(&mut model, "b");
    assert_eq!(model.ui.steering.text(), "a\nb");
}

#[test]
fn a_paste_is_never_taken_for_keys() {
    let mut model = watching();
    let orders = update(&mut model, ScreenEvent::Input(Input::Paste("q\ny".to_owned())));
    assert_eq!(orders, []);
    assert_eq!(
        (&model.ui.mode, model.ui.steering.text()),
        (&InputMode::Steering, "q\ny")
    );
}

#[test]
fn typing_gives_every_key_to_the_agent_but_the_one_that_leaves() {
    let mut model = watching();
    assert_eq!(press(&mut model, "i"), [ScreenOrder::Scroll(Scroll::Bottom)]);
    for event in [key(KeyCode::Char('q')), key(KeyCode::Esc), control('c')] {
        let ScreenEvent::Input(input) = event.clone() else {
            unreachable!("keys are inputs")
        };
        assert_eq!(
            update(&mut model, event),
            [ScreenOrder::Type(input), ScreenOrder::Scroll(Scroll::Bottom)]
        );
    }
    assert_eq!(update(&mut model, control('5')), []);
    assert_eq!(model.ui.mode, InputMode::Normal);
}

#[test]
fn panes_are_shown_by_key_and_by_click() {
    let mut model = watching();
    press(&mut model, "l");
    assert_eq!(model.ui.pane, Pane::Log);
    assert_eq!(press(&mut model, "d"), [ScreenOrder::LoadDiff]);
    update(&mut model, key(KeyCode::Esc));
    assert_eq!(model.ui.pane, Pane::Terminal);
    let title = model.layout().title;
    let history = (title.left()..title.right())
        .find(|column| tab_at(&model, title, *column) == Some(Pane::History))
        .unwrap();
    update(&mut model, clicked(history, title.y));
    assert_eq!(model.ui.pane, Pane::History);
    let below_title = model.layout().main.y + 1;
    update(&mut model, clicked(5, below_title));
    assert_eq!(model.ui.history.selected, 2, "the first row is the oldest iteration");
    assert_eq!(
        update(&mut model, key(KeyCode::Enter)),
        [ScreenOrder::Play { iteration: 1 }]
    );
    assert_eq!(press(&mut model, "d"), [ScreenOrder::LoadDiff]);
}

#[test]
fn scrolling_stays_within_what_there_is() {
    let mut model = watching();
    assert_eq!(press(&mut model, "k"), [ScreenOrder::Scroll(Scroll::Up(1))]);
    press(&mut model, "lgg");
    assert_eq!(model.ui.log_below, model.log.len() - 1);
    press(&mut model, "kkkk");
    assert_eq!(model.ui.log_below, model.log.len() - 1);
    press(&mut model, "Gjj");
    assert_eq!(model.ui.log_below, 0);
    press(&mut model, "hkkkkkk");
    assert_eq!(model.ui.history.selected, 2);
}

#[test]
fn only_a_message_that_is_due_is_taken_back() {
    let queued = |id, kind| queued(id, kind, "x");
    let delivered = Event::Steering(SteeringEvent::Delivered {
        id: SteeringId(1),
        iteration: 3,
        how: ralph_core::event::Delivery::Prompt,
    });
    let events = vec![queued(1, SteeringKind::Next), delivered, queued(2, SteeringKind::Next)];
    let mut model = after([running(), events].concat());
    assert_eq!(press(&mut model, "x"), [], "not while something else is shown");
    let withdraw = ScreenOrder::by_user(UserCommand::Withdraw { id: SteeringId(2) });
    assert_eq!(press(&mut model, "mx"), [withdraw]);
    assert_eq!(press(&mut model, "jx"), [], "the older one is below, and was delivered");
    let again = ScreenOrder::by_user(UserCommand::Withdraw { id: SteeringId(2) });
    assert_eq!(press(&mut model, "kx"), [again]);
}

#[test]
fn a_replay_asks_no_loop_for_anything() {
    let mut model = watching();
    model.ui.replay = Some(ReplayState {
        speed: 1.0,
        paused: false,
        over: false,
    });
    assert_eq!(press(&mut model, ":srix"), []);
    assert_eq!(
        press(&mut model, "p+"),
        [
            ScreenOrder::Replay(Replay::PauseOrResume),
            ScreenOrder::Replay(Replay::Faster)
        ]
    );
    assert_eq!(press(&mut model, "q"), [ScreenOrder::Leave]);
}

#[test]
fn no_key_in_any_state_panics() {
    let mut dice = Dice::new(0x2545_f491_4f6c_dd1d);
    let mut roll = |sides: usize| dice.index(sides);
    let codes = [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Home,
        KeyCode::End,
    ];
    let mut model = watching();
    for _ in 0..20_000 {
        let code = match roll(3) {
            0 => codes[roll(codes.len())],
            _ => KeyCode::Char(char::from(b' ' + u8::try_from(roll(95)).unwrap())),
        };
        let modifiers = [KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT][roll(3)];
        update(
            &mut model,
            ScreenEvent::Input(Input::Key(KeyEvent::new(code, modifiers))),
        );
        if roll(500) == 0 {
            let size = ScreenEvent::Input(Input::Resize(1 + roll(200) as u16, 1 + roll(60) as u16));
            update(&mut model, size);
        }
    }
}

#[test]
fn skipping_asks_and_the_key_of_the_next_match_never_skips() {
    let mut model = watching();
    assert_eq!(press(&mut model, "S"), []);
    assert_eq!(model.ui.mode, InputMode::Asking(Confirmation::Skip { iteration: 3 }));
    assert_eq!(press(&mut model, "xn"), []);
    assert_eq!(model.ui.mode, InputMode::Normal);
    assert_eq!(press(&mut model, "SS"), [ScreenOrder::by_user(UserCommand::Skip)]);
    // As in `less`: after a search, `n` and `N` go from match to match.
    assert_eq!(
        press(&mut model, "/cas").last(),
        Some(&ScreenOrder::Find(MatchTarget::First))
    );
    press(&mut model, "e");
    assert_eq!(update(&mut model, key(KeyCode::Enter)), []);
    assert_eq!(
        press(&mut model, "n"),
        [ScreenOrder::Find(MatchTarget::Next(SearchDirection::Up))]
    );
    assert_eq!(
        press(&mut model, "N"),
        [ScreenOrder::Find(MatchTarget::Next(SearchDirection::Down))]
    );
    assert_eq!(model.ui.search.query.text(), "case");
    assert_eq!(update(&mut model, key(KeyCode::Esc)), []);
    assert_eq!(press(&mut model, "nN"), [], "there is nothing to look for");
}

#[test]
fn an_iteration_that_ended_while_it_was_asked_about_is_not_followed_by_a_skip_of_the_next() {
    let mut model = watching();
    press(&mut model, "S");
    model.run.phase = Phase::Running {
        iteration: 4,
        started_ms: model.now_ms,
        live_steering: false,
    };
    assert_eq!(press(&mut model, "y"), []);
}

#[test]
fn a_run_that_ended_at_a_limit_is_continued_with_more_after_a_question_where_it_was_started() {
    let limit = ralph_core::event::LimitKind::MaxIterations;
    let over = || {
        let mut model = after([running(), vec![stopped(StopReason::LimitReached { limit })]].concat());
        model.run.settings.limits.max_iterations = Some(3);
        model
    };
    let mut elsewhere = over();
    assert_eq!(press(&mut elsewhere, "r"), []);
    let said = elsewhere.ui.toast.expect("why not").text;
    assert!(said.contains("`ralph continue --iterations 3`"), "{said}");

    let mut model = over();
    model.ui.continues = true;
    assert_eq!(press(&mut model, "r"), []);
    assert_eq!(model.ui.mode, InputMode::Asking(Confirmation::More));
    assert_eq!(press(&mut model, "xn"), []);
    assert_eq!(model.ui.mode, InputMode::Normal);
    assert_eq!(press(&mut model, "ry"), [ScreenOrder::Continue]);
}

#[test]
fn a_run_that_is_over_takes_a_message_unless_a_limit_is_used_up() {
    let mut over = after([running(), vec![stopped(StopReason::done(Proof::Tests))]].concat());
    press(&mut over, ":one more thing");
    let command = UserCommand::Steer {
        kind: SteeringKind::Next,
        text: "one more thing".to_owned(),
    };
    assert_eq!(
        update(&mut over, key(KeyCode::Enter)),
        [ScreenOrder::by_user(command), ScreenOrder::RememberMessages]
    );
    over.run.settings.limits.max_iterations = Some(3);
    press(&mut over, ":");
    assert_eq!(over.ui.mode, InputMode::Normal);
    let told = over.ui.toast.as_ref().map(|toast| toast.text.as_str());
    assert!(
        told.is_some_and(|text| text.contains("reached its iteration limit")),
        "{told:?}"
    );
}

#[test]
fn keys_are_typed_only_to_an_agent_that_reads_its_terminal() {
    let mut model = watching();
    model.ui.transcript = true;
    assert_eq!(press(&mut model, "i"), []);
    assert_eq!(model.ui.mode, InputMode::Normal);
    let told = model.ui.toast.as_ref().map(|toast| toast.text.as_str());
    assert_eq!(told, Some("codex does not read its terminal; use `:`"));
}

#[test]
fn a_message_that_is_too_long_is_refused_whole_and_said_so() {
    let mut model = watching();
    press(&mut model, ":mind the ");
    update(&mut model, ScreenEvent::Input(Input::Paste("gap ".repeat(20_000))));
    assert_eq!(model.ui.steering.text(), "mind the ", "half of it may say the contrary");
    let told = model.ui.toast.as_ref().map(|toast| toast.text.as_str());
    assert!(told.is_some_and(|text| text.contains("at most 64 KiB")), "{told:?}");
    update(
        &mut model,
        ScreenEvent::Input(Input::Paste(format!("{}x", "x\n".repeat(32 * 1024 - 5)))),
    );
    assert_eq!(model.ui.steering.text().len(), 64 * 1024);
    model.ui.toast = None;
    press(&mut model, "y");
    assert!(model.ui.toast.is_some(), "nor is a key dropped in silence");
}

#[test]
fn the_plan_takes_the_keys_and_gives_them_back() {
    let mut model = watching();
    let current = model.task_at().unwrap();
    assert_eq!(update(&mut model, key(KeyCode::Tab)), []);
    assert_eq!(KeyFocus::from_ui(&model.ui), KeyFocus::Plan);
    assert_eq!(press(&mut model, "jjjjjjjj"), [], "nothing of the terminal is scrolled");
    assert_eq!(model.ui.task, Some(model.run.plan.tasks.len() - 1));
    press(&mut model, "g");
    assert_eq!(model.task_at(), Some(0));
    let (pane, shared) = (model.pane(), model.layout());
    press(&mut model, "z");
    assert_eq!(
        (model.layout().main.area(), model.pane()),
        (0, pane),
        "the agent is not told"
    );
    update(&mut model, key(KeyCode::Esc));
    assert_eq!(model.layout(), shared);
    update(&mut model, key(KeyCode::Esc));
    assert_eq!(
        (KeyFocus::from_ui(&model.ui), model.task_at()),
        (KeyFocus::View(Pane::Terminal), Some(current))
    );
    // If the plan has no room of its own, it is zoomed.
    (model.ui.cols, model.ui.rows) = (60, 12);
    press(&mut model, "0");
    assert!(model.layout().tasks.height > 3);
    press(&mut model, "t");
    assert_eq!(
        (KeyFocus::from_ui(&model.ui), model.ui.zoomed),
        (KeyFocus::View(Pane::Terminal), true)
    );
    // The wheel scrolls the area under the pointer, and a click focuses it.
    (model.ui.cols, model.ui.rows, model.ui.zoomed) = (120, 40, false);
    let (plan, main) = (model.layout().tasks, model.layout().main);
    let at = |kind, area: ratatui::layout::Rect| moused(kind, area.x + 2, area.y + 2);
    assert_eq!(update(&mut model, at(MouseEventKind::ScrollUp, plan)), []);
    assert_eq!(
        update(&mut model, at(MouseEventKind::ScrollUp, main)),
        [ScreenOrder::Scroll(Scroll::Up(3))]
    );
    update(&mut model, at(MouseEventKind::Down(MouseButton::Left), plan));
    assert_eq!(model.ui.focus, Focus::Plan);
    update(&mut model, at(MouseEventKind::Down(MouseButton::Left), main));
    assert_eq!(model.ui.focus, Focus::Main);
}

#[test]
fn the_end_of_a_run_is_shown_by_itself_once_nothing_is_typed_and_goes_when_the_run_resumes() {
    let end = || stopped(StopReason::done(Proof::Nothing));
    let apply = |model: &mut Model, event: Event| {
        let record = ralph_core::event::Record {
            seq: 99,
            at_ms: model.now_ms,
            event,
        };
        model.apply(&record);
        show_end(model);
    };
    let mut model = watching();
    press(&mut model, "l");
    apply(&mut model, end());
    assert_eq!(model.ui.pane, Pane::Report);
    update(&mut model, key(KeyCode::Down));
    assert!(model.ui.report.rows.len() > 10, "{:?}", model.ui.report.rows);
    let mut left = model.clone();
    update(&mut left, key(KeyCode::Esc));
    assert_eq!(left.ui.pane, Pane::Log, "back to where one was");
    apply(
        &mut model,
        Event::Run(RunEvent::Reopened {
            by: RequestedBy::User,
            continued: false,
        }),
    );
    assert_eq!(model.ui.pane, Pane::Log);

    let mut typing = watching();
    press(&mut typing, ":half");
    apply(&mut typing, end());
    assert_eq!(
        (typing.ui.pane, &typing.ui.mode),
        (Pane::Terminal, &InputMode::Steering)
    );
    update(&mut typing, key(KeyCode::Esc));
    assert_eq!(typing.ui.pane, Pane::Report);
    update(&mut typing, key(KeyCode::Esc));
    assert_eq!(typing.ui.pane, Pane::Terminal, "and does not come again");
    press(&mut typing, "R");
    apply(
        &mut typing,
        Event::Run(RunEvent::Reopened {
            by: RequestedBy::User,
            continued: false,
        }),
    );
    assert_eq!(typing.ui.pane, Pane::Report, "whoever asked for it keeps it");

    for question in ["q", "S"] {
        let mut asked = watching();
        press(&mut asked, question);
        assert_ne!(asked.ui.mode, InputMode::Normal, "{question}");
        apply(&mut asked, end());
        assert_eq!(
            (asked.ui.pane, &asked.ui.mode),
            (Pane::Report, &InputMode::Normal),
            "there is nothing left to stop after {question:?}"
        );
    }

    let mut replay = watching();
    replay.ui.replay = Some(ReplayState {
        speed: 1.0,
        paused: false,
        over: false,
    });
    apply(&mut replay, end());
    assert_eq!(replay.ui.pane, Pane::Terminal);
}

#[test]
fn what_blocks_a_run_is_answered_below_the_report_of_its_end() {
    let blocked = Event::Task(TaskEvent::Blocked {
        iteration: 3,
        task: Some("Write the parser".to_owned()),
        question: "Which key?".into(),
    });
    let reason = StopReason::Blocked {
        question: "Which key?".into(),
    };
    let mut model = after([running(), vec![blocked, stopped(reason)]].concat());
    show_end(&mut model);
    assert_eq!(press(&mut model, "q"), [], "a key is a part of the answer");
    update(&mut model, key(KeyCode::Esc));
    assert_eq!((model.ui.pane, &model.ui.mode), (Pane::Report, &InputMode::Normal));
    press(&mut model, "athe blue one");
    let orders = update(&mut model, key(KeyCode::Enter));
    let number = model.run.blocks.last().map(|block| block.number);
    assert!(
        matches!(
            &orders[..],
            [ScreenOrder::Command { command: UserCommand::Answer { ask, answer: ralph_core::event::Answer::Words { words }, .. }, .. }]
                if Some(*ask) == number && *words == ["the blue one"]
        ),
        "{orders:?}"
    );
    // A resumption elsewhere closes the answer line, unless it contains text.
    for (typed, left) in [("", false), ("the bl", true)] {
        let mut shown = model.clone();
        shown.ui.mode = InputMode::Normal;
        press(&mut shown, &format!("a{typed}"));
        shown.ui.report.instead_of = Some(Pane::Log);
        shown.apply(&ralph_core::event::Record {
            seq: 100,
            at_ms: shown.now_ms,
            event: Event::Run(RunEvent::Reopened {
                by: RequestedBy::User,
                continued: false,
            }),
        });
        assert_eq!(matches!(shown.ui.mode, InputMode::Answering(_)), left, "{typed}");
    }
    // With a limit reached, an answer would have no effect.
    model.ui.mode = InputMode::Normal;
    model.run.settings.limits.max_iterations = Some(3);
    press(&mut model, "a");
    assert_eq!(model.ui.mode, InputMode::Normal);
}

#[test]
fn a_diff_is_gone_through_by_files_and_compared_with_any_earlier_iteration() {
    let mut model = watching();
    assert_eq!(press(&mut model, "d"), [ScreenOrder::LoadDiff]);
    let of = |model: &Model| (model.ui.diff.since, model.ui.diff.iteration);
    let loaded = |since, text: &str| ScreenEvent::DiffLoaded {
        since,
        iteration: 3,
        patch: Ok(Patch::parse(text)),
    };
    let text = "diff --git a/a b/a\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/b b/b\n@@ -1 +1 @@\n-a\n+b\n";
    update(&mut model, loaded(3, text));
    press(&mut model, "]");
    assert_eq!(model.ui.diff.top, 4, "also where everything fits");
    press(&mut model, "[[");
    assert_eq!(model.ui.diff.top, 0);
    (model.ui.cols, model.ui.rows) = (200, 60);
    let main = model.layout().main;
    let mut click = |row: u16| {
        update(&mut model, clicked(main.x + 1, main.y + row));
        model.ui.diff.top
    };
    assert_eq!([click(1), click(2), click(0)], [4, 4, 0], "its name goes to a file");
    update(&mut model, key(KeyCode::Right));
    press(&mut model, "w");
    assert_eq!((model.ui.diff.wrap, model.ui.diff.left), (true, 0));

    assert_eq!(press(&mut model, "b"), [ScreenOrder::LoadDiff]);
    assert_eq!(of(&model), (Some(2), Some(3)));
    press(&mut model, "bb");
    assert_eq!(
        of(&model),
        (None, Some(3)),
        "behind the first comes the iteration alone"
    );
    press(&mut model, "B");
    assert_eq!(of(&model), (Some(1), Some(3)), "the whole run");
    let late = update(&mut model, loaded(2, text));
    assert_eq!(
        late,
        [ScreenOrder::LoadDiff],
        "what was asked for meanwhile is made next"
    );
    update(&mut model, loaded(1, text));
    assert!(matches!(&model.ui.diff.state, DiffState::Loaded(patch) if patch.files.len() == 2));

    // In a replay, the same keys select files in the diff and iterations elsewhere.
    model.ui.replay = Some(ReplayState {
        speed: 1.0,
        paused: false,
        over: false,
    });
    assert_eq!(press(&mut model, "]"), []);
    press(&mut model, "t");
    assert_eq!(press(&mut model, "]"), [ScreenOrder::Replay(Replay::NextIteration)]);
}

#[test]
fn an_iteration_is_seen_whole_part_by_part_and_a_replay_goes_by_ten_seconds() {
    let mut model = watching();
    press(&mut model, "hk");
    assert_eq!(
        update(&mut model, key(KeyCode::Enter)),
        [ScreenOrder::Play { iteration: 2 }]
    );
    assert_eq!(update(&mut model, key(KeyCode::Enter)), [], "it is open");
    let part = |model: &Model| model.ui.history.open.as_ref().map(|open| open.part);
    assert_eq!(update(&mut model, key(KeyCode::Right)), [ScreenOrder::LoadDiff]);
    assert_eq!(
        (part(&model), model.ui.diff.iteration),
        (Some(IterationPart::Diff), Some(2))
    );
    press(&mut model, "jj");
    update(&mut model, key(KeyCode::Left));
    update(&mut model, key(KeyCode::Left));
    assert_eq!(
        part(&model),
        Some(IterationPart::Subagents),
        "behind the first is the last"
    );
    press(&mut model, "jj");
    update(&mut model, key(KeyCode::Esc));
    assert_eq!((model.ui.pane, part(&model)), (Pane::History, None));

    model.ui.replay = Some(ReplayState {
        speed: 1.0,
        paused: false,
        over: false,
    });
    assert_eq!(
        update(&mut model, key(KeyCode::Right)),
        [],
        "nothing is open, and nothing is sought"
    );
    press(&mut model, "t");
    let sought = [ScreenOrder::Replay(Replay::Seek(Seek::Backward))];
    assert_eq!(update(&mut model, key(KeyCode::Left)), sought);
}

#[test]
fn what_has_the_focus_is_opened_in_the_editor() {
    let mut model = watching();
    assert_eq!(press(&mut model, "e"), [ScreenOrder::Edit(EditTarget::Terminal)]);
    assert_eq!(press(&mut model, "0e"), [ScreenOrder::Edit(EditTarget::Plan)]);
    let log = press(&mut model, "le");
    assert!(
        matches!(&log[..], [ScreenOrder::Edit(EditTarget::Text { name: "log.txt", text })] if text.lines().count() == model.log.len()),
        "{log:?}"
    );
    assert_eq!(press(&mut model, "me"), []);
    assert!(model.ui.toast.is_some(), "the user is told why nothing happens");
    press(&mut model, "d");
    model.ui.diff.state = DiffState::Loaded(Patch::parse("diff --git a/a b/a\n@@ -1 +1 @@\n-old\n+new"));
    let text = "diff --git a/a b/a\n@@ -1 +1 @@\n-old\n+new\n".to_owned();
    let name = "changes.diff";
    assert_eq!(
        press(&mut model, "e"),
        [ScreenOrder::Edit(EditTarget::Text { name, text })]
    );

    // A replay shows the plan as it was, not the file.
    model.ui.replay = Some(ReplayState {
        speed: 1.0,
        paused: false,
        over: false,
    });
    let plan = press(&mut model, "0e");
    assert!(
        matches!(
            &plan[..],
            [ScreenOrder::Edit(EditTarget::Text { name: "plan.txt", .. })]
        ),
        "{plan:?}"
    );
}
