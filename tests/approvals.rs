//! What a real agent is allowed: rules decide, somebody answers, or nobody does.

use ralph::event::{Decider, Event, Record};
use serde_json::{Value, json};

use crate::{
    agents_loop::{assert_done, in_order, plan_one_task, ralph, work_on},
    harness::{Program, SOON, Sandbox, agent::Agent, events, running::Running},
    stand_in::{StandIn, answer as model_answer, shell},
};

/// A sandbox with claude, which wants to run `rm precious.txt` before it does its work.
fn destructive() -> Option<(StandIn, Sandbox)> {
    let [work, done] = work_on("hello");
    let model = StandIn::start(in_order([&[shell("rm precious.txt").into(), work, done]]));
    let sandbox = Agent::Claude.sandbox(&model, 0)?;
    plan_one_task(&sandbox);
    sandbox.write("precious.txt", "years of work\n");
    Some((model, sandbox))
}

fn with_permissions(sandbox: &Sandbox, permissions: &str) -> Program {
    sandbox.write(".ralph/config.json", &format!("{{ \"permissions\": {permissions} }}"));
    ralph(Agent::Claude, sandbox)
}

fn decisions(records: &[Record]) -> Vec<(String, bool, Decider)> {
    events(records)
        .filter_map(|event| match event {
            Event::PermissionDecided { title, allowed, by, .. } => Some((title.clone(), *allowed, by.clone())),
            _ => None,
        })
        .collect()
}

fn wait_for_a_question(running: &Running) {
    running.wait_for_record(SOON, |event| matches!(event, Event::PermissionAsked { .. }));
}

fn answer(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String) {
    let finished = sandbox.ralph(["answer"]).args(args).run(SOON);
    (finished.code(), finished.stdout + &finished.stderr)
}

#[test]
fn what_a_rule_denies_is_not_run_and_the_agent_is_told_and_goes_on() {
    let Some((model, sandbox)) = destructive() else { return };
    let finished = with_permissions(&sandbox, r#"{ "deny": ["Bash(rm *)"] }"#).run(SOON);
    assert_done(&finished, 1, 1);
    assert_eq!(sandbox.read("precious.txt").as_deref(), Some("years of work\n"));
    let decided = decisions(&finished.records());
    let (title, allowed, by) = &decided[0];
    assert!(title.contains("rm precious.txt") && !allowed, "{decided:?}");
    assert!(
        matches!(by, Decider::Rule { rule, .. } if rule == "Bash(rm *)"),
        "{decided:?}"
    );
    assert!(decided[1..].iter().all(|(_, allowed, _)| *allowed), "{decided:?}");
    let told = model.main_requests()[1].tool_results.join("\n");
    assert!(told.contains("The rule `Bash(rm *)`"), "{told}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("denied 1 time by `Bash(rm *)`"), "{report}");
}

#[test]
fn what_a_rule_asks_waits_for_an_answer_and_a_no_carries_its_reason() {
    let Some((model, sandbox)) = destructive() else { return };
    let running = with_permissions(&sandbox, r#"{ "ask": ["Bash(rm *)"] }"#).start();
    wait_for_a_question(&running);
    let asks = sandbox.ralph(["asks"]).run(SOON).stdout;
    assert!(asks.starts_with("1: Bash: rm precious.txt ("), "{asks}");
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("waits for an answer"), "{status}");
    assert_eq!(answer(&sandbox, &["7", "yes"]).0, Some(1), "there is no such question");
    let (code, said) = answer(&sandbox, &["1", "no", "move", "it", "to", "attic/"]);
    assert_eq!(code, Some(0), "{said}");
    let finished = running.wait(SOON);
    assert_done(&finished, 1, 1);
    assert!(sandbox.read("precious.txt").is_some());
    assert_eq!(decisions(&finished.records())[0].2, Decider::User);
    let told = model.main_requests()[1].tool_results.join("\n");
    assert!(told.contains("The user says: move it to attic/"), "{told}");
}

#[test]
fn a_yes_lets_the_tool_run_and_is_given_once() {
    let Some((_model, sandbox)) = destructive() else { return };
    let running = with_permissions(
        &sandbox,
        r#"{ "mode": "ask", "allow": ["Bash(echo *)", "Bash(awk *)", "Bash(mv *)", "Bash(git *)"] }"#,
    )
    .start();
    wait_for_a_question(&running);
    assert_eq!(answer(&sandbox, &["1", "yes"]).0, Some(0));
    let (code, said) = answer(&sandbox, &["1", "no"]);
    assert!(
        code == Some(1) && said.contains("question 1 was allowed by you"),
        "{said}"
    );
    // The rules do not name what the plan's work writes to; whatever else is asked is allowed, too.
    let mut asked = 1;
    let finished = loop {
        let next = running.wait_for_record(SOON, |event| {
            matches!(event, Event::RunStopped { .. })
                || matches!(event, Event::PermissionAsked { ask, .. } if *ask > asked)
        });
        match next.event {
            Event::PermissionAsked { ask, .. } => {
                asked = ask;
                answer(&sandbox, &[&ask.to_string(), "yes"]);
            }
            _ => break running.wait(SOON),
        }
    };
    assert_done(&finished, 1, 1);
    assert_eq!(sandbox.read("precious.txt"), None);
}

#[test]
fn nobody_there_the_run_goes_on_after_the_deadline_and_the_report_says_so() {
    let Some((_model, sandbox)) = destructive() else { return };
    let finished = with_permissions(&sandbox, r#"{ "ask": ["Bash(rm *)"], "timeout": "300ms" }"#).run(SOON);
    assert_done(&finished, 1, 1);
    assert!(sandbox.read("precious.txt").is_some());
    assert_eq!(decisions(&finished.records())[0].2, Decider::Deadline);
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("denied 1 time since nobody answered"), "{report}");
}

#[test]
fn an_agent_that_is_stopped_while_it_asks_leaves_nothing_behind() {
    let Some((_model, sandbox)) = destructive() else { return };
    let running = with_permissions(&sandbox, r#"{ "ask": ["Bash(rm *)"] }"#).start();
    wait_for_a_question(&running);
    let stopped = sandbox.ralph(["stop"]).run(SOON);
    assert_eq!(stopped.code(), Some(0), "{}", stopped.stderr);
    running.wait(SOON);
    assert!(sandbox.read("precious.txt").is_some());
    sandbox.assert_nothing_runs();
}

#[test]
fn a_run_that_is_killed_while_the_agent_asks_begins_the_iteration_anew() {
    let Some((model, sandbox)) = destructive() else { return };
    let running = with_permissions(&sandbox, r#"{ "ask": ["Bash(rm *)"] }"#).start();
    wait_for_a_question(&running);
    running.kill();
    running.wait(SOON);
    assert!(sandbox.read("precious.txt").is_some(), "unanswered is not allowed");
    let asks = sandbox.ralph(["asks"]).run(SOON).stdout;
    assert!(asks.contains("1: Bash: rm precious.txt (nobody answered"), "{asks}");
    let (code, said) = answer(&sandbox, &["1", "no", "move", "it"]);
    assert_eq!(code, Some(0), "{said}");
    let [work, done] = work_on("hello");
    model.play(in_order([&[work, done]]));
    let asked = model.main_requests().len();
    let finished = ralph(Agent::Claude, &sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    let prompt = model.main_requests()[asked].prompt().to_owned();
    let told = "You asked: Bash: rm precious.txt\n  The user answers: no: move it";
    assert_eq!(prompt.matches(told).count(), 1, "{prompt}");
    let asks = sandbox.ralph(["asks"]).run(SOON);
    assert_ne!(asks.code(), Some(0), "no run, no questions");
}

#[test]
fn rules_that_an_agent_cannot_be_held_to_refuse_the_run() {
    let Some((_model, sandbox)) = destructive() else { return };
    let finished = with_permissions(&sandbox, r#"{ "deny": ["Bash(rm *)"] }"#)
        .args(["--channel", "one-way"])
        .run(SOON);
    assert_ne!(finished.code(), Some(0));
    assert!(
        finished.stderr.contains("`claude` cannot be held to"),
        "{}",
        finished.stderr
    );
    assert!(sandbox.read("precious.txt").is_some());
}

#[test]
fn without_rules_nothing_is_asked_and_nothing_is_recorded() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let Some(sandbox) = Agent::Claude.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let finished = ralph(Agent::Claude, &sandbox).args(["--channel", "live"]).run(SOON);
    assert_done(&finished, 1, 1);
    assert!(decisions(&finished.records()).is_empty());
}

#[test]
fn questions_in_words_are_listed_with_their_choices_and_the_answers_reach_the_agent() {
    let question = json!({ "questions": [
        { "question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [
            { "label": "red", "description": "like fire" }, { "label": "blue", "description": "like the sea" } ] },
        { "question": "Which sizes?", "header": "Size", "multiSelect": true, "options": [
            { "label": "S", "description": "small" }, { "label": "L", "description": "large" } ] },
    ] });
    let [work, done] = work_on("hello");
    let ask = model_answer().call("AskUserQuestion", question);
    let model = StandIn::start(in_order([&[ask.into(), work, done]]));
    let Some(sandbox) = Agent::Claude.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let running = ralph(Agent::Claude, &sandbox).args(["--channel", "live"]).start();
    wait_for_a_question(&running);
    let asks = sandbox.ralph(["asks"]).run(SOON).stdout;
    for line in [
        "1: AskUserQuestion: Which colour?",
        "Colour: Which colour?",
        "2 blue (like the sea)",
        "several with commas",
    ] {
        assert!(asks.contains(line), "{line} in {asks}");
    }
    let asked: Value = serde_json::from_str(&sandbox.ralph(["asks", "--json"]).run(SOON).stdout).expect("JSON");
    assert_eq!(asked[0]["request"]["questions"][1]["choices"][0]["label"], "S");
    let (code, said) = answer(&sandbox, &["1", "blue"]);
    assert!(code == Some(1) && said.contains("asks 2 things"), "{said}");
    let (code, said) = answer(&sandbox, &["1", "dark green", "2,1"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = answer(&sandbox, &["1", "no"]);
    assert!(
        code == Some(1) && said.contains("question 1 was answered by you"),
        "{said}"
    );
    let finished = running.wait(SOON);
    assert_done(&finished, 1, 1);
    let told = model.main_requests()[1].tool_results.join("\n");
    assert!(
        told.contains("\"Which colour?\"=\"dark green\", \"Which sizes?\"=\"L, S\""),
        "{told}"
    );
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("answered by you: Which colour? → dark green"),
        "{report}"
    );
}
