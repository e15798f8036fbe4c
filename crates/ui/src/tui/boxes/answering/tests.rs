//! Tests of keys while the agent asks.

use crossterm::event::{Event as Input, MouseButton, MouseEvent, MouseEventKind};
use ralph_core::{
    event::{AskEvent, CommandRefusal, Event, Notice, Record, RunEvent},
    testing::{permission_asked, permission_decided, question_asked, question_withdrawn},
};

use crate::tui::{
    order::ScreenEvent,
    testing::{START_MS, running},
    update::{
        tests::{after, control, key, press},
        update,
    },
};

use super::*;

fn answer_order(ask: u32, answer: Answer) -> ScreenOrder {
    let at = AnswerPlace::Screen;
    ScreenOrder::by_user(UserCommand::Answer { ask, answer, at })
}

/// A screen that has shown the questions of `events` for a second.
fn asked(events: Vec<Event>) -> Model {
    let mut model = after([running(), events].concat());
    show_question(&mut model);
    model.now_ms += 1_000;
    model
}

/// Applies a record of a decision made elsewhere.
fn record(model: &mut Model, event: Event) {
    model.apply(&Record {
        seq: 100,
        at_ms: model.now_ms,
        event,
    });
    show_question(model);
}

fn told(model: &Model) -> Option<&str> {
    model.ui.toast.as_ref().map(|toast| toast.text.as_str())
}

fn decided(ask: u32, at: AnswerPlace) -> Event {
    permission_decided(Some(ask), true, Decider::User { at }, None)
}

#[test]
fn a_question_of_the_agent_is_answered_once_it_was_seen_and_can_wait() {
    let mut model = after([running(), vec![permission_asked(1), permission_asked(2)]].concat());
    show_question(&mut model);
    let asks = |model: &Model| match model.ui.mode {
        InputMode::Answering(ref answering) => Some(answering.ask),
        _ => None,
    };
    assert_eq!(asks(&model), Some(1));
    assert_eq!(press(&mut model, "y"), [], "the key was meant for something else");
    model.now_ms += 1_000;
    let answer = |ask, answer| answer_order(ask, answer);
    let no = || Answer::Deny { message: None };
    assert_eq!(press(&mut model, "xqy"), [answer(1, Answer::Allow { remember: None })]);
    assert_eq!(
        press(&mut model, "n"),
        [answer(1, no())],
        "until the loop has taken one"
    );

    update(&mut model, key(KeyCode::Esc));
    assert_eq!(asks(&model), Some(2), "the next one waits behind it");
    model.now_ms += 1_000;
    update(&mut model, key(KeyCode::Esc));
    assert_eq!(model.ui.mode, InputMode::Normal);
    assert_eq!(press(&mut model, "a"), []);
    assert_eq!(asks(&model), Some(1), "what was left for later comes back");

    let mut typing = after(running());
    typing.ui.mode = InputMode::Typing;
    typing.run.apply_event(START_MS, &permission_asked(1));
    show_question(&mut typing);
    assert_eq!(typing.ui.mode, InputMode::Typing, "keys for the agent answer nothing");
}

#[test]
fn what_no_rule_asks_about_is_allowed_for_the_rest_of_the_run_by_a_key_where_the_mode_asks() {
    let mut model = asked(vec![permission_asked(1)]);
    assert_eq!(press(&mut model, "Y"), [], "the mode allows it already");
    model.run.permissions.mode = Some(PermissionMode::Ask);
    let mode = PermissionMode::Auto;
    let all = [
        answer_order(1, Answer::Allow { remember: None }),
        ScreenOrder::by_user(UserCommand::SetPermissionMode { mode }),
    ];
    assert_eq!(press(&mut model, "Y"), all);
}

#[test]
fn a_key_takes_the_deadline_of_a_question_away_and_means_nothing_without_one() {
    let mut model = asked(vec![permission_asked(1)]);
    let wait = ScreenOrder::by_user(UserCommand::WaitForAnswer { ask: 1 });
    assert_eq!(press(&mut model, "w"), [wait]);
    model.run.permissions.pending[0].until_ms = None;
    assert_eq!(press(&mut model, "w"), []);
}

#[test]
fn a_no_takes_a_message_of_several_lines_and_never_a_paste_for_keys() {
    let mut model = after([running(), vec![permission_asked(1)]].concat());
    show_question(&mut model);
    model.now_ms += 1_000;
    update(&mut model, ScreenEvent::Input(Input::Paste("yyy".to_owned())));
    assert_eq!(press(&mut model, "Nuse a branch"), []);
    let newline = KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT);
    update(&mut model, ScreenEvent::Input(Input::Key(newline)));
    update(&mut model, ScreenEvent::Input(Input::Paste("called y".to_owned())));
    let denied = |message: Option<&str>| {
        let answer = Answer::Deny {
            message: message.map(str::to_owned),
        };
        vec![answer_order(1, answer)]
    };
    let entered = update(&mut model, key(KeyCode::Enter));
    assert_eq!(entered, denied(Some("use a branch\ncalled y")));
    update(&mut model, key(KeyCode::Esc));
    assert_eq!(
        press(&mut model, "n"),
        denied(None),
        "Esc leaves the message for the keys"
    );
}

#[test]
fn a_yes_for_more_shows_the_rule_first_and_what_is_refused_can_be_corrected() {
    let mut model = after([running(), vec![permission_asked(1)]].concat());
    show_question(&mut model);
    model.now_ms += 1_000;
    let allowed = |scope, rules: &[&str]| {
        let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let answer = Answer::Allow {
            remember: Some(Remember { scope, rules }),
        };
        vec![answer_order(1, answer)]
    };
    let offered = ["Bash(git add *)", "Bash(git commit *)", "Bash(git push *)"];
    assert_eq!(
        press(&mut model, "a"),
        [],
        "nothing is allowed before the rule was seen"
    );
    assert_eq!(
        update(&mut model, key(KeyCode::Enter)),
        allowed(RuleScope::Run, &offered)
    );

    update(&mut model, key(KeyCode::Esc));
    assert_eq!(press(&mut model, "e"), [], "nor everything of its kind");
    assert_eq!(
        update(&mut model, key(KeyCode::Enter)),
        allowed(RuleScope::Run, &["Bash"])
    );

    update(&mut model, key(KeyCode::Esc));
    press(&mut model, "A");
    update(&mut model, control('u'));
    press(&mut model, "Bsah");
    let edited = allowed(RuleScope::Project, &["Bash(git add *)", "Bash(git commit *)", "Bsah"]);
    assert_eq!(update(&mut model, key(KeyCode::Enter)), edited);
    let refusal = CommandRefusal::Rule {
        ask: 1,
        why: "there is no tool `Bsah`".into(),
    };
    model.apply(&Record {
        seq: 100,
        at_ms: model.now_ms,
        event: Event::Run(RunEvent::CommandRefused {
            refusal,
            notice: Notice::warning("command-refused", "question 1 is still open"),
        }),
    });
    let shown = |model: &Model| match &model.ui.mode {
        InputMode::Answering(answering) => answering.refused.clone(),
        _ => None,
    };
    assert_eq!(shown(&model).as_deref(), Some("there is no tool `Bsah`"));
    assert_eq!(
        update(&mut model, key(KeyCode::Enter)),
        edited,
        "what was typed is still there"
    );
    press(&mut model, "x");
    assert_eq!(shown(&model), None);
    update(&mut model, control('u'));
    press(&mut model, "Bash(git push *)");
    assert_eq!(
        update(&mut model, key(KeyCode::Enter)),
        allowed(RuleScope::Project, &offered)
    );
}

#[test]
fn what_is_asked_is_scrolled_as_far_as_it_goes() {
    let mut asked = permission_asked(1);
    if let Event::Ask(AskEvent::Asked { ask }) = &mut asked {
        ask.request.command = Some((0..100).map(|n| format!("echo {n}\n")).collect());
    }
    let mut model = after([running(), vec![asked]].concat());
    show_question(&mut model);
    model.now_ms += 1_000;
    let top = |model: &Model| match &model.ui.mode {
        InputMode::Answering(answering) => answering.top,
        _ => usize::MAX,
    };
    press(&mut model, "jj");
    assert_eq!(top(&model), 2);
    press(&mut model, "G");
    let last = top(&model);
    assert!((60..100).contains(&last), "{last}");
    press(&mut model, "jjk");
    assert_eq!(top(&model), last - 1);
    press(&mut model, "g");
    assert_eq!(top(&model), 0);
}

#[test]
fn a_question_in_words_is_answered_by_the_number_of_a_choice_or_in_words_of_ones_own() {
    let asked = |several| {
        let mut model = after([running(), vec![question_asked(1, several)]].concat());
        show_question(&mut model);
        model.now_ms += 1_000;
        model
    };
    let words = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let answer = Answer::Words { words };
        answer_order(1, answer)
    };
    let mut one = asked(false);
    assert_eq!(press(&mut one, "y3"), [], "neither is an answer");
    assert_eq!(press(&mut one, "2"), [words(&["2"])]);
    let mut own = asked(false);
    assert_eq!(press(&mut own, "odark green"), []);
    assert_eq!(update(&mut own, key(KeyCode::Enter)), [words(&["dark green"])]);
    let mut several = asked(true);
    assert_eq!(press(&mut several, "2"), []);
    update(&mut several, ScreenEvent::Input(Input::Paste("\n1,2".to_owned())));
    assert_eq!(update(&mut several, key(KeyCode::Enter)), [words(&["2", "1,2"])]);
    let mut declined = asked(false);
    let no = Answer::Deny { message: None };
    let order = answer_order(1, no);
    assert_eq!(press(&mut declined, "n"), [order]);
}

#[test]
fn a_box_that_closes_under_ones_fingers_says_who_answered() {
    let mut elsewhere = asked(vec![permission_asked(1)]);
    record(&mut elsewhere, decided(1, AnswerPlace::CommandLine));
    assert_eq!(elsewhere.ui.mode, InputMode::Normal);
    let fate = "question 1 was allowed by you with `ralph answer`: Bash: git push";
    assert_eq!(told(&elsewhere), Some(fate));

    let mut withdrawn = asked(vec![permission_asked(1), permission_asked(2)]);
    record(&mut withdrawn, question_withdrawn(1));
    assert!(matches!(&withdrawn.ui.mode, InputMode::Answering(answering) if answering.ask == 2));
    let fate = "question 1 is closed: the agent withdrew it";
    assert_eq!(told(&withdrawn), Some(fate));

    let mut here = asked(vec![permission_asked(1)]);
    record(&mut here, decided(1, AnswerPlace::Screen));
    assert!(
        !told(&here).unwrap_or_default().contains("question 1"),
        "{:?}",
        told(&here)
    );
}

#[test]
fn keys_of_an_answer_that_comes_too_late_are_no_commands_and_its_words_are_kept() {
    let mut model = asked(vec![permission_asked(1)]);
    press(&mut model, "Nuse a branch");
    record(&mut model, decided(1, AnswerPlace::CommandLine));
    assert_eq!(
        press(&mut model, " please, quickly Sy"),
        [],
        "no key skips or stops anything"
    );
    let InputMode::TooLate(shown) = &model.ui.mode else {
        panic!("{:?}", model.ui.mode)
    };
    assert!(
        shown.kept && shown.fate.contains("allowed by you with `ralph answer`"),
        "{shown:?}"
    );
    update(&mut model, key(KeyCode::Enter));
    assert!(
        matches!(model.ui.mode, InputMode::TooLate(_)),
        "Enter was meant for the answer"
    );
    model.now_ms += 1_000;
    update(&mut model, key(KeyCode::Enter));
    assert_eq!(model.ui.mode, InputMode::Normal);
    press(&mut model, ":");
    update(&mut model, key(KeyCode::Up));
    assert_eq!(model.ui.steering.text(), "use a branch");

    let mut rule = asked(vec![permission_asked(1), permission_asked(2)]);
    press(&mut rule, "a");
    record(&mut rule, question_withdrawn(1));
    assert!(
        matches!(&rule.ui.mode, InputMode::TooLate(shown) if !shown.kept),
        "{:?}",
        rule.ui.mode
    );
    update(&mut rule, key(KeyCode::Esc));
    assert!(matches!(&rule.ui.mode, InputMode::Answering(answering) if answering.ask == 2));
}

fn words(words: &[&str]) -> Vec<ScreenOrder> {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    vec![answer_order(1, Answer::Words { words })]
}

/// A screen with a changed version of the colour question.
fn asking_for(change: impl Fn(&mut Question)) -> Model {
    let mut event = question_asked(1, false);
    if let Event::Ask(AskEvent::Asked { ask }) = &mut event {
        change(&mut ask.request.questions[0]);
    }
    asked(vec![event])
}

fn refused(model: &Model) -> Option<&str> {
    match &model.ui.mode {
        InputMode::Answering(answering) => answering.refused.as_deref(),
        _ => None,
    }
}

#[test]
fn arrows_point_at_a_choice_and_enter_takes_it() {
    let mut model = asked(vec![question_asked(1, false)]);
    assert_eq!(
        press(&mut model, "jjk j"),
        [],
        "a space takes nothing where one choice is the answer"
    );
    assert_eq!(update(&mut model, key(KeyCode::Enter)), words(&["2"]));
    update(&mut model, key(KeyCode::Up));
    update(&mut model, key(KeyCode::Up));
    assert_eq!(
        update(&mut model, key(KeyCode::Enter)),
        words(&["1"]),
        "what is pointed at now"
    );
}

#[test]
fn several_choices_are_taken_by_space_and_enter_goes_on_to_the_next_question() {
    let mut model = asked(vec![question_asked(1, true)]);
    assert_eq!(update(&mut model, key(KeyCode::Enter)), [], "the sizes are open");
    assert_eq!(press(&mut model, " j "), []);
    assert_eq!(update(&mut model, key(KeyCode::Enter)), words(&["1", "1,2"]));
    press(&mut model, " ");
    assert_eq!(
        update(&mut model, key(KeyCode::Enter)),
        words(&["1", "1"]),
        "the second was left again"
    );
    press(&mut model, "kk");
    press(&mut model, " ");
    assert_eq!(update(&mut model, key(KeyCode::Enter)), words(&["2", "1"]));
}

#[test]
fn a_question_without_choices_among_others_is_answered_in_words() {
    let mut event = question_asked(1, true);
    if let Event::Ask(AskEvent::Asked { ask }) = &mut event {
        ask.request.questions[1].choices.clear();
    }
    let mut model = asked(vec![event]);
    press(&mut model, "j");
    assert_eq!(update(&mut model, key(KeyCode::Enter)), []);
    press(&mut model, "large");
    assert_eq!(update(&mut model, key(KeyCode::Enter)), words(&["2", "large"]));
}

#[test]
fn a_choice_whose_label_is_the_number_of_another_is_named_by_its_label() {
    let mut model = asking_for(|question| {
        question.choices[0].label = "2".to_owned();
        question.choices[1].label = "1".to_owned();
    });
    assert_eq!(
        press(&mut model, "1"),
        words(&["2"]),
        "the first choice, which is called 2"
    );
    press(&mut model, "j");
    assert_eq!(update(&mut model, key(KeyCode::Enter)), words(&["1"]));
}

#[test]
fn words_that_are_no_answer_are_refused_in_the_box_with_what_would_be_one() {
    let mut model = asking_for(|question| question.free_text = false);
    press(&mut model, "ogreen");
    assert_eq!(update(&mut model, key(KeyCode::Enter)), []);
    let why = "`green` is not a choice of question 1: 1 red · 2 blue";
    assert_eq!(refused(&model), Some(why));
    press(&mut model, "x");
    assert_eq!(refused(&model), None);
}

#[test]
fn a_line_that_is_typed_as_the_deadline_passes_stays_and_answers_late() {
    let overdue = |ask| permission_decided(Some(ask), false, Decider::Deadline, None);
    let mut model = asked(vec![permission_asked(1)]);
    press(&mut model, "Nuse a branch");
    record(&mut model, overdue(1));
    assert!(
        told(&model).is_some_and(|told| told.contains("yours goes into the next prompt")),
        "{:?}",
        told(&model)
    );
    let no = Answer::Deny {
        message: Some("use a branch".to_owned()),
    };
    assert_eq!(update(&mut model, key(KeyCode::Enter)), [answer_order(1, no)]);

    let mut untouched = asked(vec![permission_asked(1), permission_asked(2)]);
    record(&mut untouched, overdue(1));
    assert!(matches!(&untouched.ui.mode, InputMode::Answering(answering) if answering.ask == 2));
    let fate = "P answers it late: question 1 was denied by the time limit: Bash: git push";
    assert_eq!(told(&untouched), Some(fate));
}

#[test]
fn the_wheel_scrolls_what_is_asked_and_no_click_goes_through_the_box() {
    let mut event = permission_asked(1);
    if let Event::Ask(AskEvent::Asked { ask }) = &mut event {
        ask.request.command = Some("echo\n".repeat(100));
    }
    let mut model = asked(vec![event]);
    let mouse = |kind| {
        ScreenEvent::Input(Input::Mouse(MouseEvent {
            kind,
            column: 10,
            row: 5,
            modifiers: KeyModifiers::NONE,
        }))
    };
    let top = |model: &Model| match &model.ui.mode {
        InputMode::Answering(answering) => answering.top,
        _ => usize::MAX,
    };
    update(&mut model, mouse(MouseEventKind::ScrollDown));
    assert_eq!(top(&model), 3);
    press(&mut model, "N");
    update(&mut model, mouse(MouseEventKind::ScrollDown));
    update(&mut model, mouse(MouseEventKind::ScrollUp));
    assert_eq!(top(&model), 3, "also while a reason is typed");
    let pane = model.ui.pane;
    for column in 0..100 {
        let click = MouseEvent {
            kind: MouseEventKind::Down(MouseButton::Left),
            column,
            row: model.layout().title.y,
            modifiers: KeyModifiers::NONE,
        };
        update(&mut model, ScreenEvent::Input(Input::Mouse(click)));
    }
    assert_eq!(model.ui.pane, pane);
}
