//! `ralph import --with-agent`: an agent's text becomes the plan only if it is a plan, if it loses no requirement, and
//! if the user agrees. Every other change of the agent is undone.

use nix::sys::signal::Signal;

use crate::harness::{Program, SOON, Sandbox, Script, wait_until};

const SPEC: &str = "# Accounts\n\n- Log in\n- Log out\n- Dark mode\n";
const GOOD: &str = "printf '# Plan\\n\\n- [ ] Sessions, with tests (R1, R2)\\n\\n## Left out\\n\\n- R3: it is there already\\n' > PLAN.md";
const WAS: &str = "# Plan\n\n- [ ] Write hello.txt\n- [ ] Write world.txt\n";

/// An agent that runs `writes` and says that its task is done.
fn agent(writes: &str) -> Script {
    let done = r#"sed -i '0,/\[ \]/s//[x]/' "$RALPH_PLAN"; over Written."#;
    Script::jsonl(&format!("said writing\n{writes}\n{done}"))
}

fn sandbox(writes: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("spec.md", SPEC);
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Requirements"]);
    sandbox.install(&agent(writes));
    sandbox
}

fn import(sandbox: &Sandbox, before: &[&str], after: &[&str]) -> Program {
    let program = sandbox.untrusting_ralph(["-a", "script"]).args(before);
    let program = program.args(["import", "spec.md", "--with-agent"]).args(after);
    program.env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
}

#[test]
fn what_the_agent_writes_is_shown_as_a_difference_and_is_the_plan_once_somebody_wants_it() {
    let sandbox = sandbox(&format!("{GOOD}; cp ASSIGNMENT.md \"$HOME/assignment\""));
    let refused = import(&sandbox, &[], &[]).run(SOON);
    assert_eq!(refused.code(), Some(2), "{refused:?}");
    assert!(refused.stderr.contains("`--yes`"), "{refused:?}");
    assert_eq!(
        sandbox.read_home("assignment"),
        None,
        "it is not asked before somebody is there"
    );

    let done = import(&sandbox, &[], &["--yes"]).run(SOON);
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(
        done.stdout.contains("-- [ ] Write hello.txt\n")
            && done.stdout.contains("+- [ ] Sessions, with tests (R1, R2)\n"),
        "{done:?}"
    );
    assert!(done.stderr.contains("wrote PLAN.md"), "{done:?}");
    let asked = sandbox.read_home("assignment").unwrap();
    for part in [
        "* R1: Log in\n",
        "* R3: Dark mode\n",
        sandbox.project().to_str().unwrap(),
    ] {
        assert!(asked.contains(part), "{asked}");
    }
    let plan = sandbox.read("PLAN.md").unwrap();
    assert!(plan.starts_with("# Plan\n\n- [ ] Sessions"), "{plan}");
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M PLAN.md\n");
    assert_eq!(
        sandbox.store_git(["for-each-ref", "refs/ralph"]),
        "",
        "no checkpoint is left"
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn what_an_agent_writes_that_is_no_plan_or_loses_a_requirement_is_refused_and_what_it_changed_is_put_back() {
    let meddles = format!(
        "{GOOD}; cd \"$HOME/../project\"; echo mine > spec.md; echo new > new.txt; rm PLAN.md; cd - > /dev/null"
    );
    let lost = "printf -- '- [ ] Sessions (R1)\\n' > PLAN.md";
    for (writes, before, code, part) in [
        (":", &[][..], 7, "the agent did not finish the plan"),
        ("printf '\\377\\376' > PLAN.md", &[], 7, "not UTF-8"),
        ("echo 'All is well.' > PLAN.md", &[], 7, "no task found"),
        ("echo '- [x] Done (R1, R2, R3)' > PLAN.md", &[], 7, "no open task"),
        (
            "head -c 9000000 /dev/zero | tr '\\0' x > PLAN.md",
            &[],
            7,
            "larger than",
        ),
        (lost, &[], 7, "missing from the plan: \"Log out\", \"Dark mode\""),
        (
            "\"$FAKE_AGENT\" \"wait-file $HOME/never\"",
            &["--max-time", "1s"],
            6,
            "the agent did not finish the plan",
        ),
        (
            &meddles,
            &[],
            0,
            "the agent changed the project; its changes were undone",
        ),
    ] {
        let sandbox = sandbox(writes);
        let done = import(&sandbox, before, &["--yes"]).run(SOON);
        assert_eq!(done.code(), Some(code), "{writes}: {done:?}");
        assert!(done.stderr.contains(part), "{writes}: {done:?}");
        // The agent's run is gone with its directory.
        for gone in ["ralph continue", "ralph.log"] {
            assert!(!done.stdout.contains(gone), "{writes}: {done:?}");
        }
        sandbox.assert_nothing_runs();
        match code {
            0 => assert!(sandbox.read("PLAN.md").unwrap().contains("Sessions")),
            _ => assert_eq!(sandbox.read("PLAN.md").as_deref(), Some(WAS), "{writes}"),
        }
        assert_eq!(sandbox.read("spec.md").as_deref(), Some(SPEC), "{writes}");
        assert_eq!(sandbox.read("new.txt"), None, "{writes}");
        let kept = sandbox.project().join("PLAN.refused.md");
        assert_eq!(
            kept.exists(),
            done.stderr.contains("is kept in PLAN.refused.md"),
            "{writes}: {done:?}"
        );
        if writes == lost {
            assert_eq!(
                sandbox.read("PLAN.refused.md").as_deref(),
                Some("- [ ] Sessions (R1)\n")
            );
        }
    }
}

#[test]
fn an_agent_hears_what_its_plan_lacks_and_equal_words_need_no_number() {
    let sandbox = sandbox(
        "if test -e \"$HOME/began\"; then printf -- '- [ ] Log in\\n- [ ] Log out\\n- [ ] Dark mode!\\n' > PLAN.md; printf %s \"$prompt\" > \"$HOME/prompt\"; \
         else touch \"$HOME/began\"; printf -- '- [ ] Log in\\n' > PLAN.md; fi",
    );
    let done = import(&sandbox, &[], &["--yes"]).run(SOON);
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert_eq!(
        sandbox.read("PLAN.md").as_deref(),
        Some("- [ ] Log in\n- [ ] Log out\n- [ ] Dark mode!\n")
    );
    let heard = sandbox.read_home("prompt").unwrap();
    assert!(
        heard.contains("missing from the plan: \"Log out\", \"Dark mode\""),
        "{heard}"
    );
}

#[test]
fn an_interrupted_agent_leaves_nothing_running_and_nothing_written() {
    let sandbox = sandbox("echo mine > \"$HOME/../project/spec.md\"; touch \"$HOME/began\"; await never");
    let running = import(&sandbox, &[], &["--yes"]).start();
    wait_until(SOON, "the agent works", || {
        sandbox.home().join("began").exists().then_some(())
    });
    running.signal(Signal::SIGINT);
    let done = running.wait(SOON);
    assert_eq!(done.code(), Some(130), "{done:?}");
    sandbox.assert_nothing_runs();
    assert_eq!(sandbox.read("PLAN.md").as_deref(), Some(WAS));
    assert_eq!(sandbox.read("spec.md").as_deref(), Some(SPEC));
}
