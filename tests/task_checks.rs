//! Checks of tasks: commands that have to pass before a tick counts, run by the real binary.

use ralph_core::event::{Event, GateEvent, IterationEvent, Proof, Record, RunEvent, StopReason};

use crate::harness::{SOON, Sandbox, Script, events, running::Finished};

/// A plan with a check in the group of a task, one on a line of its own, and a task without.
const PLAN: &str = "# Plan\n\n- [ ] Write the parser {check=\"echo looks for parser.txt; test -e parser.txt\"}\n\
                    - [ ] Write the printer\n\n  check: test -e printer.txt && echo \"*found*\"\n- [ ] Write the notes\n";

/// Ticks the first open box.
const TICK: &str = r#"tick() { sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"; }
"#;

fn sandbox(plan: &str, agent: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", plan);
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox.install(&Script::jsonl(&format!("{TICK}{agent}")));
    sandbox
}

fn ran(sandbox: &Sandbox, args: &[&str]) -> Finished {
    sandbox.looping(args).args(["--trust-project"]).run(SOON)
}

/// The checks that were run, with the iteration and whether they passed.
fn checked(records: &[Record]) -> Vec<(u32, &str, bool)> {
    let checks = events(records).filter_map(|event| match event {
        Event::Gate(GateEvent::GoalChecked { iteration, result }) => {
            Some((*iteration, result.name.as_str(), result.passed))
        }
        _ => None,
    });
    checks.collect()
}

/// The task of each iteration.
fn tasks(records: &[Record]) -> Vec<&str> {
    let tasks = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started { task, .. }) => Some(task.as_deref().unwrap_or("none")),
        _ => None,
    });
    tasks.collect()
}

#[track_caller]
fn assert_passed(finished: &Finished) {
    let records = finished.records();
    let end = records.last().map(|record| &record.event);
    assert!(
        matches!(
            end,
            Some(Event::Run(RunEvent::Stopped {
                reason: StopReason::Done {
                    proof: Proof::ExitCodes,
                    ..
                },
                ..
            }))
        ),
        "{finished:?}"
    );
}

const PARSER: &str = "check of Write the parser";
const PRINTER: &str = "check of Write the printer";

#[test]
fn a_tick_without_the_work_is_not_accepted_and_the_agent_is_told_why() {
    let sandbox = sandbox(
        PLAN,
        r#"case $n in
        1) tick ;;
        2) touch parser.txt ;;
        3) touch printer.txt; tick ;;
        *) tick ;;
        esac
        over Ready."#,
    );
    let finished = ran(&sandbox, &["--max-iterations", "9"]);
    assert_passed(&finished);
    let records = finished.records();
    assert_eq!(
        tasks(&records),
        [
            "Write the parser",
            // Its box is ticked, and it is not done.
            "Write the parser",
            "Write the printer",
            "Write the notes"
        ]
    );
    assert_eq!(
        checked(&records),
        [
            (1, PARSER, false),
            (2, PARSER, true),
            (3, PRINTER, true),
            (4, PARSER, true),
            (4, PRINTER, true)
        ]
    );
    let prompt = sandbox.prompt(2);
    for words in [
        "the check of the task \"Write the parser\" did not pass: exit code 1. The task counts as open, whatever its box says",
        "`echo looks for parser.txt; test -e parser.txt`",
        "A tick in the plan was refused:",
        "It ended with:\n  looks for parser.txt",
        "0 of 3",
    ] {
        assert!(prompt.contains(words), "{words} is not in {prompt}");
    }
    assert!(!sandbox.prompt(3).contains("did not pass"));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    for words in [PARSER, PRINTER, "refused"] {
        assert!(report.contains(words), "{words} is not in {report}");
    }
}

#[test]
fn an_agent_gains_nothing_by_changing_the_checks_of_the_plan() {
    let sandbox = sandbox(
        "- [ ] One {check=\"test -e one\"}\n- [ ] Two {check=\"test -e two\"}\n- [ ] Three\n",
        r#"case $n in
        1) printf -- '- [x] One {check="true"}\n- [x] Two (done in 1a2b)\n- [x] Three {check="touch planted"}\n' > "$RALPH_PLAN" ;;
        2) touch one ;;
        *) touch two ;;
        esac
        over Ready."#,
    );
    let finished = ran(&sandbox, &["--max-iterations", "9"]);
    assert_passed(&finished);
    let (one, two) = ("check of One", "check of Two");
    assert_eq!(
        checked(&finished.records()),
        [
            (1, one, false),
            (1, two, false),
            (2, one, true),
            (2, two, false),
            (3, two, true),
            (3, one, true),
            (3, two, true)
        ]
    );
    assert_eq!(sandbox.read("planted"), None, "a command that the agent wrote was run");
    for words in [
        "the check with which the run began still counts: test -e one",
        "a check that was added after the start is not run",
    ] {
        assert!(finished.stdout.contains(words), "{words} is not in {finished:?}");
    }
}

#[test]
fn work_that_breaks_an_earlier_task_is_found_at_the_end() {
    let sandbox = sandbox(
        "- [ ] One {check=\"test -e one\"}\n- [ ] Two\n",
        r#"case $n in
        1) touch one; tick ;;
        2) rm one; tick ;;
        *) touch one ;;
        esac
        over Ready."#,
    );
    let finished = ran(&sandbox, &["--max-iterations", "9"]);
    assert_passed(&finished);
    assert_eq!(
        checked(&finished.records()),
        [
            (1, "check of One", true),
            (2, "check of One", false),
            (3, "check of One", true),
            (3, "check of One", true)
        ]
    );
    assert_eq!(tasks(&finished.records()), ["One", "Two", "One"]);
}

#[test]
fn a_false_tick_of_an_earlier_run_does_not_end_the_next_one() {
    let sandbox = sandbox("- [ ] One {check=\"test -e one\"}\n", "tick; over Ready.");
    let limited = ran(&sandbox, &["--max-iterations", "1"]);
    assert_eq!(limited.code(), Some(6), "{limited:?}");
    sandbox.install(&Script::jsonl("touch one; over Ready."));
    let finished = ran(&sandbox, &[]);
    assert_passed(&finished);
    assert_eq!(tasks(&finished.records()), ["One"]);
}

#[test]
fn a_story_of_a_prd_has_a_check_as_well() {
    let sandbox = Sandbox::new();
    let prd = |passes: bool| format!(r#"[{{"title": "One", "check": "test -e one", "passes": {passes}}}]"#);
    sandbox.write("prd.json", &prd(false));
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Plan"]);
    let script = format!(
        "[ $n = 2 ] && touch one; echo '{}' > \"$RALPH_PLAN\"; over Ready.",
        prd(true)
    );
    sandbox.install(&Script::jsonl(&script));
    let finished = ran(&sandbox, &["--max-iterations", "9", "--plan", "prd.json"]);
    assert_passed(&finished);
    let one = "check of One";
    assert_eq!(
        checked(&finished.records()),
        [(1, one, false), (2, one, true), (2, one, true)]
    );
}

#[test]
fn a_plan_of_many_is_merged_only_with_its_checks() {
    let sandbox = Sandbox::new();
    for plan in ["api", "ui"] {
        let text = format!("- [ ] Write {plan} {{check=\"test -e {plan}.txt\"}}\n");
        sandbox.write(&format!("{plan}.md"), &text);
    }
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Plans"]);
    let script = format!("{TICK}[ $n = 2 ] && touch \"$(basename \"$RALPH_PLAN\" .md).txt\"; tick; over Ready.");
    sandbox.install(&Script::jsonl(&script));
    let batch = sandbox.ralph(["many", "--adapter", "script", "api.md", "ui.md"]);
    let finished = batch.env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent")).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for words in ["api: done (passed)", "ui: done (passed)"] {
        assert!(finished.stdout.contains(words), "{words}: {finished:?}");
    }
}

#[test]
fn a_plan_with_checks_is_trusted_before_it_is_run() {
    let sandbox = sandbox("- [ ] One {check=\"touch $HOME/checked\"}\n", "tick; over Ready.");
    let start = || sandbox.untrusting_ralph(["--headless", "--adapter", "script"]);
    let start = || start().env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"));
    sandbox.untrusting_ralph(["trust"]).run(SOON);
    assert_eq!(start().run(SOON).code(), Some(0));
    assert!(sandbox.read_home("checked").is_some());
    // A tick and a note change nothing; another command does.
    sandbox.write("PLAN.md", "- [ ] One (again) {check=\"touch $HOME/checked\"}\n");
    assert_eq!(start().run(SOON).code(), Some(0));
    sandbox.write("PLAN.md", "- [ ] One {check=\"touch evil\"}\n");
    let refused = start().run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(refused.stderr.contains("PLAN.md (changed)"), "{refused:?}");
    let shown = sandbox.untrusting_ralph(["trust", "--show"]).run(SOON);
    assert!(
        shown.stdout.contains("+ touch evil") && shown.stdout.contains("- touch $HOME/checked"),
        "{shown:?}"
    );
    assert_eq!(sandbox.read("evil"), None);
}
