//! What keys do while the agent asks.

use super::{
    super::tests::{after, control, key, press},
    *,
};
use crate::{
    event::{AskId, CommandRefusal, Event, Notice, Record},
    testing::{permission_asked, question_asked},
    ui::tui::{
        testing::{START_MS, running},
        update::{Input, ScreenEvent, update},
    },
};

fn answer_order(ask: u32, answer: Answer) -> Order {
    let at = AnswerPlace::Screen;
    Order::by_user(UserCommand::Answer { ask, answer, at })
}

/// A screen on which the agent has asked this for a while.
fn asked(events: Vec<Event>) -> Model {
    let mut model = after([running(), events].concat());
    show_question(&mut model);
    model.now_ms += 1_000;
    model
}

/// Takes a record of what was decided elsewhere.
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
    Event::PermissionDecided {
        iteration: 3,
        id: AskId(format!("request-{ask}")),
        ask: Some(ask),
        tool: "Bash".to_owned(),
        title: "git push".to_owned(),
        allowed: true,
        by: Decider::User { at: Some(at) },
        message: None,
        waited_ms: 1,
        denials: 0,
    }
}

#[test]
fn a_question_of_the_agent_is_answered_once_it_was_seen_and_can_wait() {
    let mut model = after([running(), vec![permission_asked(1), permission_asked(2)]].concat());
    show_question(&mut model);
    let asks = |model: &Model| match model.ui.mode {
        Mode::Answering(ref answering) => Some(answering.ask),
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
    assert_eq!(model.ui.mode, Mode::Normal);
    assert_eq!(press(&mut model, "a"), []);
    assert_eq!(asks(&model), Some(1), "what was left for later comes back");

    let mut typing = after(running());
    typing.ui.mode = Mode::Typing;
    typing.run.apply_event(START_MS, &permission_asked(1));
    show_question(&mut typing);
    assert_eq!(typing.ui.mode, Mode::Typing, "keys for the agent answer nothing");
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
    press(&mut model, "A");
    update(&mut model, control('u'));
    press(&mut model, "Bsah");
    let edited = allowed(RuleScope::Project, &["Bash(git add *)", "Bash(git commit *)", "Bsah"]);
    assert_eq!(update(&mut model, key(KeyCode::Enter)), edited);
    let refusal = CommandRefusal::Rule {
        ask: 1,
        why: "there is no tool `Bsah`".to_owned(),
    };
    model.apply(&Record {
        seq: 100,
        at_ms: model.now_ms,
        event: Event::Noticed {
            notice: Notice::CommandRefused { refusal },
        },
    });
    let shown = |model: &Model| match &model.ui.mode {
        Mode::Answering(answering) => answering.refused.clone(),
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
    if let Event::PermissionAsked { request, .. } = &mut asked {
        request.command = Some((0..100).map(|n| format!("echo {n}\n")).collect());
    }
    let mut model = after([running(), vec![asked]].concat());
    show_question(&mut model);
    model.now_ms += 1_000;
    let top = |model: &Model| match &model.ui.mode {
        Mode::Answering(answering) => answering.top,
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
    assert_eq!(elsewhere.ui.mode, Mode::Normal);
    let fate = "question 1 was allowed by you with `ralph answer`: Bash: git push";
    assert_eq!(told(&elsewhere), Some(fate));

    let mut withdrawn = asked(vec![permission_asked(1), permission_asked(2)]);
    record(&mut withdrawn, Event::PermissionWithdrawn { iteration: 3, ask: 1 });
    assert!(matches!(&withdrawn.ui.mode, Mode::Answering(answering) if answering.ask == 2));
    let fate = "question 1 waits no more: the agent withdrew it";
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
    let Mode::TooLate(shown) = &model.ui.mode else {
        panic!("{:?}", model.ui.mode)
    };
    assert!(
        shown.kept && shown.fate.contains("allowed by you with `ralph answer`"),
        "{shown:?}"
    );
    update(&mut model, key(KeyCode::Enter));
    assert!(
        matches!(model.ui.mode, Mode::TooLate(_)),
        "Enter was meant for the answer"
    );
    model.now_ms += 1_000;
    update(&mut model, key(KeyCode::Enter));
    assert_eq!(model.ui.mode, Mode::Normal);
    press(&mut model, ":");
    update(&mut model, key(KeyCode::Up));
    assert_eq!(model.ui.steering.text(), "use a branch");

    let mut rule = asked(vec![permission_asked(1), permission_asked(2)]);
    press(&mut rule, "a");
    record(&mut rule, Event::PermissionWithdrawn { iteration: 3, ask: 1 });
    assert!(
        matches!(&rule.ui.mode, Mode::TooLate(shown) if !shown.kept),
        "{:?}",
        rule.ui.mode
    );
    update(&mut rule, key(KeyCode::Esc));
    assert!(matches!(&rule.ui.mode, Mode::Answering(answering) if answering.ask == 2));
}
