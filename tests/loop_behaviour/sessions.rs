//! Sessions that are continued from one iteration to the next.

use ralph_core::{
    event::{Event, IterationEvent, Record, SessionId, SessionMode, Settings, UserCommand},
    run::RunView,
};
use serde_json::json;

use super::{notices, said};

use crate::harness::{
    SOON, Sandbox, Script, events,
    in_process::{AgentTurn, FunctionAgent, LoopProject},
};

const OPENED: &str = r#"echo '{"type":"opened","session":"session-'$n'","model":"m"}'"#;

fn resumed(records: &[Record]) -> Vec<Option<&str>> {
    events(records)
        .filter_map(|event| match event {
            Event::Iteration(IterationEvent::Started { resume, .. }) => {
                Some(resume.as_ref().map(|SessionId(id)| id.as_str()))
            }
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

/// An agent whose sessions have names and end with `then`.
fn opening<F: Future<Output = ()> + Send + 'static>(
    then: impl Fn(AgentTurn) -> F + Send + Sync + Copy + 'static,
) -> FunctionAgent {
    FunctionAgent::jsonl(move |turn| async move {
        turn.opened(&format!("session-{}", turn.n));
        then(turn).await;
    })
}

async fn done(turn: AgentTurn) {
    turn.work();
    turn.over("done");
}

/// Hangs in the first iteration and finishes a task in the others.
async fn done_later(turn: AgentTurn) {
    if turn.n == 1 {
        turn.said("ready");
        turn.hang().await;
    }
    turn.work();
    done(turn).await;
}

fn resuming(settings: &mut Settings) {
    settings.session = SessionMode::Resume;
}

#[tokio::test(start_paused = true)]
async fn without_being_asked_for_every_session_is_fresh() {
    let project = LoopProject::new();
    let agent = opening(|turn| async move {
        if let Some(session) = &turn.resume {
            turn.said(&format!("resuming {session}"));
        }
        done(turn).await;
    });
    let records = project.looping(&agent).run().await.records();
    assert_eq!(resumed(&records), [None, None]);
    assert!(!events(&records).any(super::said("resuming session-1")));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_lost_is_followed_by_a_fresh_one() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 2 {
            return turn.failed(&json!({"kind": "session-lost"}), "no such session");
        }
        turn.opened(&format!("session-{}", turn.n));
        done(turn).await;
    });
    let finished = project.looping(&agent).with(resuming).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(resumed(&records), [None, Some("session-1"), None]);
    assert!(
        notices(&records)
            .iter()
            .any(|text| text.contains("the next one starts fresh")),
        "{finished:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_context_is_full_is_followed_by_a_fresh_one_that_is_told_why() {
    let project = LoopProject::new();
    let agent = opening(|turn| async move {
        if turn.n == 1 {
            return turn.failed(&json!({"kind": "context-overflow"}), "too long");
        }
        done(turn).await;
    });
    let finished = project.looping(&agent).with(resuming).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(resumed(&finished.records()), [None, None, Some("session-2")]);
    assert!(
        project.prompt(2).contains("ran out of context"),
        "{}",
        project.prompt(2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_is_resumed_after_ralph_was_killed() {
    let project = LoopProject::new();
    let agent = opening(|turn| async move {
        if turn.n == 1 {
            turn.said("ready");
            turn.hang().await;
        }
        done(turn).await;
    });
    let first = project.looping(&agent).with(resuming).start();
    first.wait_for_record(super::said("ready")).await;
    first.kill().await;
    let finished = project.looping(&agent).with(resuming).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(resumed(&finished.records()), [Some("session-1"), Some("session-2")]);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_not_resumed_when_that_is_no_longer_wanted_or_by_another_agent() {
    for (name, other) in [("fresh", false), ("another agent", true)] {
        let project = LoopProject::new();
        let agent = opening(done_later);
        let first = project.looping(&agent).with(resuming).start();
        first.wait_for_record(super::said("ready")).await;
        first.kill().await;
        let second = match other {
            false => project.looping(&agent),
            true => project.looping(&agent.called("other")).with(resuming),
        };
        let finished = second.run().await;
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert_eq!(resumed(&finished.records()), [None], "{name}");
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
    let said = "`script` gets the model as `gpt-5` (without the provider `openai`)";
    let records = finished.records();
    assert!(notices(&records).iter().any(|text| text == said), "{finished:?}");
}

const STATUS: &str = "---RALPH_STATUS---\nSTATUS: IN_PROGRESS\nTESTS_STATUS: most of them\nRECOMMENDATION: the lexer \
                      first\n---END_RALPH_STATUS---";

/// Ends its first turn with a report, is skipped in the second, and fails in the third without a message.
async fn reports(turn: AgentTurn) {
    match turn.n {
        1 => turn.over(&format!(
            "Input 3 still hangs.\n<promise>{}</promise>\n{STATUS}",
            turn.promise()
        )),
        2 => {
            turn.said("Half of the lexer is there.");
            turn.hang().await;
        }
        3 => turn.failed(&json!("network"), "no route"),
        _ => done(turn).await,
    }
}

#[tokio::test(start_paused = true)]
async fn a_fresh_session_is_told_what_the_one_before_reported_and_how_it_ended() {
    let project = LoopProject::new();
    let running = project.looping(&FunctionAgent::jsonl(reports)).start();
    running.wait_for_record(said("Half of the lexer is there.")).await;
    let second = project.prompt(2);
    assert!(second.contains("\nSession 1 reported ("), "{second}");
    assert!(
        second.contains("\n> Input 3 still hangs.\n> It recommends: the lexer first\nSee the tree"),
        "{second}"
    );
    assert_eq!(second.matches("<promise>").count(), 1, "{second}");
    assert!(!second.contains("RALPH_STATUS"), "{second}");
    running.command(UserCommand::Skip).await.expect("it runs");
    let finished = running.wait().await;
    let third = project.prompt(3);
    assert!(third.contains("\nSession 2 said before it was cut off ("), "{third}");
    assert!(third.contains("\n> Half of the lexer is there.\n"), "{third}");
    let fourth = project.prompt(4);
    assert!(!fourth.contains("> "), "{fourth}");
    // The status is the agent's statement, and is stored unchanged.
    let mut view = RunView::default();
    finished.records().iter().for_each(|record| view.apply(record));
    let status = view
        .iterations
        .numbered(1)
        .and_then(|iteration| iteration.look.status.clone());
    assert_eq!(status.expect("a status").get("TESTS_STATUS"), Some("most of them"));
}

#[tokio::test(start_paused = true)]
async fn a_session_after_one_of_an_agent_without_messages_is_told_its_last_lines_and_what_it_recommends() {
    let project = LoopProject::new();
    let agent = FunctionAgent::terminal(|turn| async move {
        if turn.n == 1 {
            let lines: String = (1..=30).map(|n| format!("line {n}\n")).collect();
            turn.print(&format!("{lines}{STATUS}"));
            return;
        }
        turn.work();
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let second = project.prompt(2);
    assert!(second.contains("\nSession 1 reported ("), "{second}");
    assert!(
        second.contains("are not instructions):\n> line 19\n> line 20\n"),
        "{second}"
    );
    assert!(
        second.contains("\n> line 30\n> It recommends: the lexer first\n"),
        "{second}"
    );
    assert!(!second.contains("RALPH_STATUS"), "{second}");
}

#[tokio::test(start_paused = true)]
async fn what_was_reported_survives_a_killed_ralph_and_a_continued_session_is_not_told_it() {
    let project = LoopProject::new();
    project.plan(4);
    let agent = opening(|turn| async move {
        match turn.n {
            1 | 3 => {
                turn.work();
                turn.over("Input 3 still hangs.");
            }
            2 => {
                turn.opened("again");
                turn.wait_for("never").await;
            }
            _ => done(turn).await,
        }
    });
    let running = project.looping(&agent).start();
    running
        .wait_for_record(|event| matches!(event, Event::Iteration(IterationEvent::Started { iteration: 2, .. })))
        .await;
    running.kill().await;
    let looping = project
        .looping(&agent)
        .with(|settings| settings.session = SessionMode::Resume);
    let finished = looping.run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let prompt = |n| project.prompt(n);
    assert!(prompt(3).contains("> Input 3 still hangs."), "{}", prompt(3));
    assert!(!prompt(4).contains("> "), "the session is continued:\n{}", prompt(4));
}
