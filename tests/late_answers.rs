//! Answers to questions that timed out, and second answers.

use ralph_core::event::{AskEvent, Decider, Event};

use crate::{
    bad_input::asking::{asking, decided},
    harness::{SOON, Sandbox, wait_until},
};

fn answer(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String) {
    let finished = sandbox.ralph(["answer"]).args(args).run(SOON);
    (finished.code(), finished.stdout + &finished.stderr)
}

/// Whether the decision number `at` allowed, by a rule.
fn is_allowed_by_a_rule(sandbox: &Sandbox, at: usize) -> bool {
    matches!(decided(&sandbox.journal()).get(at), Some((true, Decider::Rule { .. })))
}

#[test]
fn a_late_always_adds_its_rule_to_the_project_or_the_run_and_says_so_and_the_second_answer_reads_the_first() {
    let asks = r#"
asks "git tag late" "tag-$$"
asks "rm -f precious.txt" "first-$$"
while [ ! -e "$HOME/go" ]; do sleep 0.02; done
asks "rm -f precious.txt" "second-$$"
works
"#;
    let rules = r#""ask": ["Bash(git tag *)", "Bash(rm *)"]"#;
    let (sandbox, _) = asking(&format!("{{ {rules} }}"), asks);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    running.kill();
    running.wait(SOON);
    let (code, said) = answer(&sandbox, &["1", "project", "--rule", "Bash(ls)"]);
    assert!(
        code == Some(1) && said.contains("question 1 is still open: Bash(ls) does not allow"),
        "{said}"
    );
    let (code, said) = answer(&sandbox, &["1", "project"]);
    let rule = "allowed from now on in this project: Bash(git tag *)";
    assert!(
        code == Some(0) && said.contains("message 1 is queued") && said.contains(rule),
        "{said}"
    );
    let (code, said) = answer(&sandbox, &["1", "no"]);
    assert!(
        code == Some(1) && said.contains("question 1 was answered by you with `ralph answer`, in message 1: yes"),
        "{said}"
    );

    let impatient = format!(r#"{{ "permissions": {{ {rules}, "timeout": "200ms" }} }}"#);
    sandbox.write(".ralph/config.json", &impatient);
    let running = sandbox.looping([] as [&str; 0]).start();
    wait_until(SOON, "two decisions", || {
        (decided(&sandbox.journal()).len() >= 2).then_some(())
    });
    assert!(is_allowed_by_a_rule(&sandbox, 0), "the tag is not asked again");
    assert!(matches!(decided(&sandbox.journal())[1], (false, Decider::Deadline)));
    let (code, said) = answer(&sandbox, &["2", "always"]);
    let rule = "allowed from now on in this run: Bash(rm -f precious.txt)";
    assert!(
        code == Some(0) && said.contains("goes into the next prompt") && said.contains(rule),
        "{said}"
    );
    std::fs::write(sandbox.home().join("go"), "").expect("written");
    let finished = running.wait(SOON);
    assert!(is_allowed_by_a_rule(&sandbox, 2), "{:?}", decided(&sandbox.journal()));
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    sandbox.assert_nothing_runs();
}
