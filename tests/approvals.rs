//! Permissions of the real agents: rules decide, the user answers, or the question times out.

mod each_agent;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ralph_core::event::{AskEvent, Decider, Event, Record};
use serde_json::{Value, json};

use crate::{
    agents_loop::{assert_done, in_order, plan_one_task, ralph, work_on},
    harness::{Program, SOON, Sandbox, agent::Agent, events, running::Running, wait::wait_until},
    stand_in::{StandIn, Step, answer as model_answer, shell},
    tui::Terminal,
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

fn with_permissions(agent: Agent, sandbox: &Sandbox, permissions: &str) -> Program {
    sandbox.write(".ralph/config.json", &format!("{{ \"permissions\": {permissions} }}"));
    ralph(agent, sandbox)
}

fn decisions(records: &[Record]) -> Vec<(String, bool, Decider)> {
    events(records)
        .filter_map(|event| match event {
            Event::Ask(AskEvent::Answered { answered }) => {
                let by = answered.by.clone();
                Some((answered.title.clone(), answered.allowed()?, by))
            }
            _ => None,
        })
        .collect()
}

fn wait_for_question(running: &Running, number: u32) {
    running.wait_for_record(
        SOON,
        |event| matches!(event, Event::Ask(AskEvent::Asked { ask }) if ask.number == number),
    );
}

fn answer(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String) {
    let finished = sandbox.ralph(["answer"]).args(args).run(SOON);
    (finished.code(), finished.stdout + &finished.stderr)
}

/// Whether a question has been decided on.
fn decided_by_now(sandbox: &Sandbox, number: u32) -> bool {
    let decided =
        |event: &Event| matches!(event, Event::Ask(AskEvent::Answered { answered }) if answered.ask == Some(number));
    events(&sandbox.journal()).any(decided)
}

/// The questions that were asked so far.
fn asked(records: &[Record]) -> usize {
    events(records)
        .filter(|event| matches!(event, Event::Ask(AskEvent::Asked { .. })))
        .count()
}

#[test]
fn an_answer_that_is_remembered_asks_no_more_in_this_run_or_this_project_and_outlives_a_kill() {
    let [work, done] = work_on("hello");
    let tag = |name: &str| Step::from(shell(&format!("git tag {name}")));
    let model = StandIn::start(in_order([&[
        tag("one"),
        tag("two"),
        shell("rm precious.txt").into(),
        shell("date").into(),
    ]]));
    let Some(sandbox) = Agent::Claude.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    sandbox.write("precious.txt", "years of work\n");
    let rules = r#"{ "ask": ["Bash(git tag *)", "Bash(rm *)", "Bash(date *)"] }"#;
    sandbox.write(".ralph/config.json", &format!("{{ \"permissions\": {rules} }}"));
    let screen = sandbox.ralph(["--adapter", "claude", "--plan", "PLAN.md"]);
    let mut terminal = Terminal::start(&screen, 100, 30);
    terminal.sees("git tag one");
    terminal.sees("matches your rule Bash(git tag *)");
    terminal.sees("a    allow in this run: Bash(git tag *)");
    // For its first moments a box accepts no key.
    wait_until(SOON, "a line for the rule", || {
        terminal.press("a");
        terminal.text().contains("add a rule in this run:").then_some(())
    });
    terminal.press("\x15Bsah\r");
    terminal.sees("there is no tool `Bsah`");
    terminal.press("\x15Bash(git tag *)\r");
    terminal.sees("matches your rule Bash(rm *)");
    let refused = answer(&sandbox, &["2", "project", "--rule", "Bash(ls)"]);
    assert_eq!(refused.0, Some(1), "{refused:?}");
    assert!(
        refused
            .1
            .contains("question 2 is still open: Bash(ls) does not allow `rm precious.txt`"),
        "{refused:?}"
    );
    let asks = sandbox.ralph(["asks"]).run(SOON).stdout;
    assert!(asks.contains("always: Bash(rm precious.txt)"), "{asks}");
    let (code, said) = answer(&sandbox, &["2", "project"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("from now on in this project: Bash(rm precious.txt)"),
        "{said}"
    );
    terminal.sees("matches your rule Bash(date *)");
    let list = sandbox.ralph(["permissions"]).run(SOON).stdout;
    let kept: Vec<&str> = list.lines().filter(|line| line.starts_with("answer")).collect();
    assert!(
        kept[0].contains("Bash(rm precious.txt)") && kept[0].contains("rules.json"),
        "{list}"
    );
    assert!(
        kept[1].contains("Bash(git tag *)")
            && kept[1].contains("question 1, in this run; before `Bash(git tag *)` of `ask`"),
        "{list}"
    );
    assert_eq!(asked(&sandbox.journal()), 3, "the second tag was allowed by the rule");
    kill(Pid::from_raw(sandbox.loop_pid()), Signal::SIGKILL).expect("it runs");
    terminal.ends();

    sandbox.write("precious.txt", "years of work\n");
    model.play(in_order([&[tag("three"), shell("rm precious.txt").into(), work, done]]));
    let finished = ralph(Agent::Claude, &sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    assert_eq!(sandbox.read("precious.txt"), None);
    let journal = sandbox.journal();
    assert_eq!(asked(&journal), 3, "neither is asked any more");
    let by_answer = |wanted: &str| {
        decisions(&journal).into_iter().any(|(_, allowed, by)| {
            allowed && matches!(&by, Decider::Rule { rule, origin } if rule == wanted && origin.starts_with("your answer to"))
        })
    };
    assert!(
        by_answer("Bash(git tag *)") && by_answer("Bash(rm precious.txt)"),
        "{:?}",
        decisions(&journal)
    );
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("now allowed in this project: Bash(rm precious.txt) (question 2)"),
        "{report}"
    );
    for (code, words) in [(0, "forgotten: Bash(rm precious.txt)"), (1, "no answer has added")] {
        let forgotten = sandbox
            .ralph(["permissions", "forget", "Bash(rm precious.txt)"])
            .run(SOON);
        assert_eq!(forgotten.code(), Some(code), "{forgotten:?}");
        assert!((forgotten.stdout + &forgotten.stderr).contains(words));
    }
    let tested = sandbox.ralph(["permissions", "test", "rm precious.txt"]).run(SOON);
    assert_eq!(tested.code(), Some(8), "{tested:?}");
}

#[test]
fn a_run_that_is_killed_while_the_agent_asks_begins_the_iteration_anew() {
    let Some((model, sandbox)) = destructive() else { return };
    let running = with_permissions(Agent::Claude, &sandbox, r#"{ "ask": ["Bash(rm *)"] }"#).start();
    wait_for_question(&running, 1);
    running.kill();
    running.wait(SOON);
    assert!(sandbox.read("precious.txt").is_some(), "unanswered is not allowed");
    let asks = sandbox.ralph(["asks"]).run(SOON).stdout;
    assert!(asks.contains("1: Bash: rm precious.txt (unanswered"), "{asks}");
    let (code, said) = answer(&sandbox, &["1", "no", "move", "it"]);
    assert_eq!(code, Some(0), "{said}");
    let [work, done] = work_on("hello");
    model.play(in_order([&[work, done]]));
    let asked = model.main_request_count();
    let finished = ralph(Agent::Claude, &sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    let prompt = model.main_requests()[asked].prompt().to_owned();
    let told = "You asked: Bash: rm precious.txt\n  The user answers: no: move it";
    assert_eq!(prompt.matches(told).count(), 1, "{prompt}");
    let asks = sandbox.ralph(["asks"]).run(SOON);
    assert_ne!(asks.code(), Some(0), "no run, no questions");
}

#[test]
fn commands_that_codex_was_allowed_for_ever_refuse_the_run() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let Some(sandbox) = Agent::Codex.sandbox(&model, 0) else {
        return;
    };
    let rules = sandbox.codex_home().join("rules");
    std::fs::create_dir_all(&rules).expect("a directory");
    std::fs::write(rules.join("default.rules"), "# none yet\n\n").expect("written");
    std::fs::write(rules.join("other.rules"), "prefix_rule(pattern = [\"rm\"])\n").expect("written");
    let finished = with_permissions(Agent::Codex, &sandbox, r#"{ "deny": ["Bash(rm *)"] }"#).run(SOON);
    assert_eq!(finished.code(), Some(3), "{}", finished.stderr);
    let told = finished.stderr;
    assert!(
        told.contains("other.rules lets it run commands without asking"),
        "{told}"
    );
    assert!(told.contains("`permissions.allow`"), "{told}");
    assert!(model.main_requests().is_empty());
}

#[test]
fn a_rule_for_tools_that_an_agent_does_not_ask_for_refuses_the_run() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let Some(sandbox) = Agent::Codex.sandbox(&model, 0) else {
        return;
    };
    for (permissions, told) in [
        (
            r#"{ "deny": ["Bash(rm *)", "Read(~/.ssh/**)"] }"#,
            "adapter `codex` cannot enforce `Read(~/.ssh/**)` of `permissions.deny` (",
        ),
        (
            r#"{ "ask": ["WebFetch", "Task"] }"#,
            "cannot enforce `WebFetch` of `permissions.ask` (",
        ),
    ] {
        let refused = with_permissions(Agent::Codex, &sandbox, permissions).run(SOON);
        assert_eq!(refused.code(), Some(3), "{permissions} {}", refused.stderr);
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("of these kinds: shell, edit, mcp"),
            "{}",
            refused.stderr
        );
    }
    let resumed = with_permissions(
        Agent::Codex,
        &sandbox,
        r#"{ "mode": "restricted", "deny": ["WebSearch"] }"#,
    );
    let finished = resumed.args(["--max-iterations", "1"]).run(SOON);
    assert_ne!(finished.code(), Some(3), "{}", finished.stderr);
    let Some(request) = model.main_requests().into_iter().next() else {
        panic!("{}", finished.stdout)
    };
    assert!(
        !request
            .tools
            .iter()
            .any(|tool| tool == "web_search" || tool == "view_image"),
        "{:?}",
        request.tools
    );
}

#[test]
fn rules_that_an_agent_cannot_be_held_to_refuse_the_run() {
    let Some((_model, sandbox)) = destructive() else { return };
    let finished = with_permissions(Agent::Claude, &sandbox, r#"{ "deny": ["Bash(rm *)"] }"#)
        .args(["--channel", "one-way"])
        .run(SOON);
    assert_ne!(finished.code(), Some(0));
    assert!(
        finished.stderr.contains("`claude` cannot enforce"),
        "{}",
        finished.stderr
    );
    assert!(sandbox.read("precious.txt").is_some());
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
    wait_for_question(&running, 1);
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
    assert!(code == Some(1) && said.contains("needs 2 answers"), "{said}");
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
