//! Sessions that go on from one iteration to the next.

use ralph::event::{Event, Record, SessionId};

use crate::harness::{SOON, Sandbox, Script, events};

const OPENED: &str = r#"echo '{"type":"opened","session":"session-'$n'","model":"m"}'"#;

fn resumed(records: &[Record]) -> Vec<Option<&str>> {
    events(records)
        .filter_map(|event| match event {
            Event::IterationStarted { resume, .. } => Some(resume.as_ref().map(|SessionId(id)| id.as_str())),
            _ => None,
        })
        .collect()
}

fn script(rest: &str) -> Script {
    let body = format!(r#"echo "$n: $*" >> "$HOME/args"; {rest}"#);
    Script::jsonl(&body).resumed_with("--resume={session}")
}

#[test]
fn a_session_is_resumed_by_its_own_id() {
    let sandbox = Sandbox::new();
    sandbox.install(&script(&format!("{OPENED}; work; over done")));
    let finished = sandbox.looping(["--session", "resume"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(resumed(&finished.records()), [None, Some("session-1")]);
    assert_eq!(sandbox.read_home("args").unwrap(), "1: \n2: --resume=session-1\n");
}

#[test]
fn without_being_asked_for_every_session_is_fresh() {
    let sandbox = Sandbox::new();
    sandbox.install(&script(&format!("{OPENED}; work; over done")));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(resumed(&finished.records()), [None, None]);
    assert_eq!(sandbox.read_home("args").unwrap(), "1: \n2: \n");
}

#[test]
fn a_session_that_is_lost_is_followed_by_a_fresh_one() {
    let sandbox = Sandbox::new();
    let lost = r#"failed '{"kind":"session-lost"}' 'no such session'"#;
    sandbox.install(&script(&format!(
        "if [ $n = 2 ]; then {lost}; else {OPENED}; work; over done; fi"
    )));
    let finished = sandbox.looping(["--session", "resume"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(resumed(&records), [None, Some("session-1"), None]);
    let said =
        |event: &Event| matches!(event, Event::Noticed { text, .. } if text.contains("the next one starts fresh"));
    assert!(events(&records).any(said), "{finished:?}");
}

#[test]
fn a_session_whose_context_is_full_is_followed_by_a_fresh_one_that_is_told_why() {
    let sandbox = Sandbox::new();
    let full = r#"failed '{"kind":"context-overflow"}' 'too long'"#;
    sandbox.install(&script(&format!(
        "{OPENED}; if [ $n = 1 ]; then {full}; else work; over done; fi"
    )));
    let finished = sandbox.looping(["--session", "resume"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(resumed(&finished.records()), [None, None, Some("session-2")]);
    assert!(
        sandbox.prompt(2).contains("ran out of context"),
        "{}",
        sandbox.prompt(2)
    );
}

#[test]
fn a_session_is_resumed_after_ralph_was_killed() {
    let sandbox = Sandbox::new();
    sandbox.install(&script(&format!(
        "{OPENED}; [ $n = 1 ] && {{ said ready; exec sleep 600; }}; work; over done"
    )));
    let first = sandbox.looping(["--session", "resume"]).start();
    first.wait_for_record(SOON, super::said("ready"));
    first.kill();
    first.wait(SOON);
    let finished = sandbox.looping(["--session", "resume"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(resumed(&finished.records()), [Some("session-1"), Some("session-2")]);
}

#[test]
fn a_session_is_not_resumed_when_that_is_no_longer_wanted_or_by_another_agent() {
    for args in [
        &["--session", "fresh"][..],
        &["--session", "resume", "--adapter", "other"],
    ] {
        let sandbox = Sandbox::new();
        let agent = script(&format!(
            "{OPENED}; [ $n = 1 ] && {{ said ready; exec sleep 600; }}; work; work; over done"
        ));
        sandbox.install(&agent);
        sandbox.install_as("other", &agent);
        let first = sandbox.looping(["--session", "resume"]).start();
        first.wait_for_record(SOON, super::said("ready"));
        first.kill();
        first.wait(SOON);
        let finished = sandbox.looping(args).run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert_eq!(resumed(&finished.records()), [None], "{args:?}");
    }
}

#[test]
fn a_model_is_named_as_the_agent_wants_it_and_what_was_taken_off_is_said() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let manifest = r#"
dialect = "terminal"
[command]
program = "sh"
args = ["-c", "echo \"$0\" > \"$HOME/model\"; sed -i 's/- \\[ \\]/- [x]/' \"$RALPH_PLAN\"", "{model}"]
model = ["{model}"]
prompt = "stdin"
"#;
    sandbox.install_adapter("script", manifest);
    let finished = sandbox.looping(["--model", "openai/gpt-5"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.read_home("model").unwrap(), "gpt-5\n");
    let said = "`script` is given the model `gpt-5`: it takes names without the provider `openai`";
    let records = finished.records();
    assert!(
        events(&records).any(|event| matches!(event, Event::Noticed { text, .. } if text == said)),
        "{finished:?}"
    );
}
