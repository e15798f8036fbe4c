//! The scopes of tasks: files that a task may change, compared in the tree by the real binary.

use nix::sys::signal::Signal;
use ralph_core::event::{ClaimEvent, Event, IterationEvent, Missing, Record, StopReason, TaskEvent};

use crate::harness::{SOON, Sandbox, Script, events, running::Finished, wait_until};

/// Ticks the task of its prompt, which is the only line that is indented by two blanks.
const TICK: &str = r#"task=$(printf '%s\n' "$prompt" | sed -n '/^  [A-Z]/{s/^  //p;q}')
tick() { sed -i "s/- \[ \] ${1:-$task}/- [x] ${1:-$task}/" "$RALPH_PLAN"; }
put() { mkdir -p "$(dirname "$1")"; echo "$2" > "$1"; }
"#;

fn sandbox(plan: &str, agent: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", plan);
    for file in ["src/parser/lexer.rs", "src/printer.rs", "lib/old name.rs", "Cargo.lock"] {
        sandbox.write(file, "old\n");
    }
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Plan"]);
    sandbox.install(&Script::jsonl(&format!("{TICK}{agent}\nover Ready.")));
    sandbox
}

fn ran(sandbox: &Sandbox, args: &[&str]) -> Finished {
    sandbox.looping(["--max-iterations", "9"]).args(args).run(SOON)
}

/// The task of each iteration.
fn tasks(records: &[Record]) -> Vec<&str> {
    let tasks = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started { task, .. }) => Some(task.as_deref().unwrap_or("none")),
        _ => None,
    });
    tasks.collect()
}

/// The refused ticks: the iteration, the task, and the files.
fn refused(records: &[Record]) -> Vec<(u32, String, String)> {
    let refused = events(records).filter_map(|event| match event {
        Event::Claim(ClaimEvent::Refused { iteration, reasons }) => Some((*iteration, reasons)),
        _ => None,
    });
    let reasons = refused.flat_map(|(iteration, reasons)| reasons.iter().map(move |reason| (iteration, reason)));
    let of_scope = reasons.filter_map(|(iteration, reason)| match reason {
        Missing::OutOfScope { task, files, .. } => {
            let files: Vec<&str> = files.iter().map(|file| file.as_str()).collect();
            Some((iteration, task.to_string(), files.join(" | ")))
        }
        _ => None,
    });
    of_scope.collect()
}

fn refusal(iteration: u32, task: &str, files: &str) -> (u32, String, String) {
    (iteration, task.to_owned(), files.to_owned())
}

#[track_caller]
fn assert_done(finished: &Finished) {
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

const PLAN: &str = "- [ ] Write the parser {only=src/parser/**}\n- [ ] Write the printer\n";

#[test]
fn a_tick_with_changes_outside_of_the_scope_is_refused_until_they_are_put_back() {
    let sandbox = sandbox(
        PLAN,
        r#"case $n in
        1) put src/parser/lexer.rs new; put src/printer.rs new; put src/new.rs x; tick ;;
        2) git checkout --quiet HEAD src/printer.rs; rm src/new.rs ;;
        3) put src/printer.rs new; tick ;;
        esac"#,
    );
    let finished = ran(&sandbox, &[]);
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(
        tasks(&records),
        ["Write the parser", "Write the parser", "Write the printer"]
    );
    assert_eq!(
        refused(&records),
        [refusal(1, "Write the parser", "src/new.rs | src/printer.rs")]
    );
    let (first, second) = (sandbox.prompt(1), sandbox.prompt(2));
    let told = "change no other files than those that match src/parser/**, tests, and the plan";
    assert!(first.contains(told), "{first}");
    for words in [
        told,
        "A tick in the plan was refused: the task \"Write the parser\" changed files outside of its scope: src/new.rs, src/printer.rs. \
         The task counts as open, whatever its box says. Put these files back",
    ] {
        assert!(second.contains(words), "{words} is not in {second}");
    }
    let third = sandbox.prompt(3);
    assert!(
        !third.contains("scope") && !third.contains("change no other files"),
        "{third}"
    );
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("the task \"Write the parser\" changed files outside of its scope: src/new.rs, src/printer.rs"),
        "{report}"
    );
    // The question is withdrawn with the changes.
    assert!(!report.contains("ralph confirm"), "{report}");
    assert_eq!(sandbox.ralph(["confirm"]).run(SOON).code(), Some(1));
}

#[test]
fn the_user_accepts_changes_outside_of_the_scope() {
    let sandbox = sandbox(
        "- [ ] Write the parser {only=src/parser/**}\n",
        "[ $n = 1 ] && { put src/parser/lexer.rs new; put Cargo.lock new; tick; }",
    );
    let finished = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    let hint = "`ralph confirm` shows the changes outside of the scope";
    assert!(report.contains(hint), "{report}");
    let asks = sandbox.ralph(["asks"]).run(SOON).stdout;
    let question = "accept changes outside of the scope of \"Write the parser\"? Cargo.lock";
    assert!(asks.contains(question), "{asks}");
    let shown = sandbox.ralph(["confirm"]).run(SOON);
    assert_eq!(shown.code(), Some(1), "{shown:?}");
    assert!(
        shown.stdout.contains(question) && shown.stdout.contains("ralph diff 1"),
        "{shown:?}"
    );
    let confirmed = sandbox.ralph(["confirm", "--yes"]).run(SOON);
    assert_eq!(confirmed.code(), Some(0), "{confirmed:?}");
    assert!(confirmed.stdout.contains("the tick counts"), "{confirmed:?}");
    assert_eq!(sandbox.ralph(["confirm"]).run(SOON).code(), Some(1));
    let again = sandbox.ralph(["continue", "--headless", "--iterations", "1"]).run(SOON);
    assert_eq!(again.code(), Some(0), "{again:?}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(!report.contains("ralph confirm"), "{report}");
}

#[test]
fn changes_that_are_accepted_while_the_run_goes_on_count() {
    let sandbox = sandbox(
        PLAN,
        r#"case $n in
        1) put Cargo.lock new; tick ;;
        2) until [ -e go ]; do sleep 0.05; done; rm -f go ;;
        *) tick ;;
        esac"#,
    );
    let running = sandbox.looping(["--max-iterations", "9"]).start();
    wait_until(SOON, "the question", || {
        let answered = sandbox.ralph(["answer", "1", "yes"]).run(SOON);
        (answered.code() == Some(0)).then_some(())
    });
    sandbox.write("go", "");
    let finished = running.wait(SOON);
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(
        tasks(&records),
        ["Write the parser", "Write the parser", "Write the printer"]
    );
    let accepted = |event: &Event| matches!(event, Event::Task(TaskEvent::ScopeConfirmed { files, .. }) if files.iter().all(|file| *file == "Cargo.lock"));
    assert!(events(&records).any(accepted), "{finished:?}");
}

#[test]
fn a_no_goes_to_the_agent() {
    let sandbox = sandbox(
        PLAN,
        r#"case $n in
        1) put Cargo.lock new; tick ;;
        2) until [ -e go ]; do sleep 0.05; done; rm -f go ;;
        3) git checkout --quiet Cargo.lock ;;
        *) tick ;;
        esac"#,
    );
    let running = sandbox.looping(["--max-iterations", "9"]).start();
    wait_until(SOON, "the question", || {
        let answered = sandbox.ralph(["answer", "1", "no", "no new packages"]).run(SOON);
        (answered.code() == Some(0)).then_some(())
    });
    sandbox.write("go", "");
    let finished = running.wait(SOON);
    assert_done(&finished);
    assert!(sandbox.prompt(3).contains("no new packages"), "{}", sandbox.prompt(3));
}

#[test]
fn a_heading_has_the_scope_of_its_tasks_and_a_task_its_own() {
    let sandbox = sandbox(
        "# Parser {only=src/parser/**}\n- [ ] Read\n- [ ] Print {only=src/printer.rs}\n# All\n- [ ] Rest\n",
        r#"case $n in
        1) put src/printer.rs 1; tick ;;
        2) git checkout --quiet src/printer.rs ;;
        3) put src/printer.rs 3; put src/parser/lexer.rs 3; tick ;;
        4) git checkout --quiet src/parser ;;
        5) put lib/any 5; tick ;;
        esac"#,
    );
    let finished = ran(&sandbox, &[]);
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(tasks(&records), ["Read", "Read", "Print", "Print", "Rest"]);
    assert_eq!(
        refused(&records),
        [
            refusal(1, "Read", "src/printer.rs"),
            refusal(3, "Print", "src/parser/lexer.rs")
        ]
    );
}

#[test]
fn tests_and_the_plan_belong_to_every_scope_and_nothing_else_does() {
    let sandbox = sandbox(
        "- [ ] Write the parser {only=src/parser/**}\n",
        r#"case $n in
        1) put src/parser/lexer.rs new; put tests/parser.rs x; put src/test_lexer.py x; put web/a.spec.ts x
           git mv 'lib/old name.rs' tests/moved.rs; put conftest.py x; ln -s /etc src/link; chmod +x src/printer.rs; rm Cargo.lock
           git init --quiet sub; git -C sub -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m x; tick ;;
        *) git add --all; git commit --quiet --message "All of it" ;;
        esac"#,
    );
    let finished = sandbox.looping(["--max-iterations", "2"]).run(SOON);
    let files = "Cargo.lock | conftest.py | lib/old name.rs | src/link | src/printer.rs | sub";
    assert_eq!(
        refused(&finished.records()),
        // A commit changes nothing about that.
        [
            refusal(1, "Write the parser", files),
            refusal(2, "Write the parser", files)
        ],
        "{finished:?}"
    );
}

#[test]
fn changes_of_earlier_iterations_of_a_task_count_and_those_of_the_user_and_of_other_tasks_do_not() {
    let sandbox = sandbox(
        "- [ ] First {only=src/**}\n- [ ] Second {only=lib/**}\n",
        r#"case $n in
        1) put lib/first 1 ;;
        2) tick ;;
        3) rm lib/first ;;
        4) put lib/second 1; tick ;;
        esac"#,
    );
    // As the user may, between iterations.
    sandbox.write(
        ".ralph/config.json",
        r#"{"hooks": {"afterIteration": "date +%N > Cargo.lock"}}"#,
    );
    let finished = ran(&sandbox, &["--trust-project"]);
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(tasks(&records), ["First", "First", "First", "Second"]);
    assert_eq!(refused(&records), [refusal(2, "First", "lib/first")]);
    let second = sandbox.prompt(2);
    assert!(
        second.contains("About the task: the task \"First\" changed files outside of its scope: lib/first."),
        "{second}"
    );
}

#[test]
fn tasks_that_are_ticked_together_may_change_the_files_of_each() {
    let sandbox = sandbox(
        "- [ ] First {only=src/**}\n- [ ] Second {only=lib/**}\n- [ ] Third {only=docs/**}\n",
        r#"case $n in
        1) put src/a 1; put lib/a 1; tick First; tick Second ;;
        2) put docs/a 1; put src/a 2; tick ;;
        3) put src/a 1 ;;
        esac"#,
    );
    let finished = ran(&sandbox, &[]);
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(tasks(&records), ["First", "Third", "Third"]);
    assert_eq!(refused(&records), [refusal(2, "Third", "src/a")]);
}

#[test]
fn a_box_that_is_ticked_before_the_end_of_an_iteration_counts_for_it() {
    let sandbox = sandbox(
        "- [ ] First {only=src/**}\n- [ ] Second\n",
        "put lib/a 1; tick Second; until [ -e .git/go ]; do sleep 0.05; done; put src/a 1; tick First",
    );
    let running = sandbox.looping(["--max-iterations", "1"]).start();
    wait_until(SOON, "the box", || {
        let status = sandbox.ralph(["status", "--json"]).run(SOON).stdout;
        status.contains(r#""done": true"#).then_some(())
    });
    sandbox.write(".git/go", "");
    let finished = running.wait(SOON);
    assert_done(&finished);
    assert_eq!(refused(&finished.records()), []);
}

#[test]
fn an_agent_gains_nothing_by_changing_the_scopes_or_by_adding_a_done_task() {
    let sandbox = sandbox(
        "# Parser {only=src/parser/**}\n- [ ] First\n- [ ] Second {only=lib/**}\n",
        r#"case $n in
        1) sed -i 's/ {only=.*//' "$RALPH_PLAN"; put Cargo.lock 1; tick First
           echo '- [x] Also mended Cargo.lock' >> "$RALPH_PLAN" ;;
        2) sed -i 's/First/First (done in 1a2b) {only=**}/' "$RALPH_PLAN" ;;
        3) git checkout --quiet Cargo.lock ;;
        4) put lib/a 1; tick ;;
        esac"#,
    );
    let finished = ran(&sandbox, &[]);
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(
        refused(&records),
        [refusal(1, "First", "Cargo.lock"), refusal(2, "First", "Cargo.lock")]
    );
    assert!(
        finished
            .stdout
            .contains("the scope with which the run began still counts: src/parser/**"),
        "{finished:?}"
    );
}

#[test]
fn a_killed_ralph_still_knows_what_a_task_changed() {
    let sandbox = sandbox(
        "- [ ] First {only=src/**}\n",
        r#"case $n in
        1) put lib/first 1 ;;
        2) if [ -e .git/again ]; then tick; else touch .git/again; put lib/second 2; said ready; await go; fi ;;
        3) tick ;;
        4) rm lib/first lib/second ;;
        esac"#,
    );
    let running = sandbox.looping(["--max-iterations", "9"]).start();
    wait_until(SOON, "the second iteration", || sandbox.read("lib/second").map(drop));
    running.signal(Signal::SIGKILL);
    running.wait(SOON);
    let finished = ran(&sandbox, &[]);
    assert_done(&finished);
    let records = finished.records();
    let refused = refused(&records);
    assert_eq!(
        refused
            .iter()
            .map(|(_, task, files)| (task.as_str(), files.as_str()))
            .collect::<Vec<_>>(),
        [("First", "lib/first | lib/second")]
    );
}

#[test]
fn a_scope_and_a_check_have_to_pass_both() {
    let sandbox = sandbox(
        "- [ ] First {only=src/** check=\"test -e src/done\"}\n",
        r#"case $n in
        1) put lib/first 1; tick ;;
        2) rm lib/first ;;
        3) put src/done 1 ;;
        esac"#,
    );
    let finished = ran(&sandbox, &["--trust-project"]);
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(tasks(&records), ["First", "First", "First"]);
    assert_eq!(refused(&records), [refusal(1, "First", "lib/first")]);
    assert!(sandbox.prompt(3).contains("did not pass"), "{}", sandbox.prompt(3));
}

#[test]
fn a_story_of_a_prd_has_a_scope_as_well() {
    let sandbox = sandbox("- [ ] Other\n", "");
    let prd = |passes: bool| format!(r#"[{{"title": "One", "only": ["src/**", "docs/*.md"], "passes": {passes}}}]"#);
    sandbox.write("prd.json", &prd(false));
    let script = format!(
        "{TICK}case $n in 1) put lib/a 1; put docs/a.md 1 ;; 2) rm lib/a ;; esac; echo '{}' > \"$RALPH_PLAN\"; over Ready.",
        prd(true)
    );
    sandbox.install(&Script::jsonl(&script));
    let finished = ran(&sandbox, &["--plan", "prd.json"]);
    assert_done(&finished);
    assert_eq!(refused(&finished.records()), [refusal(1, "One", "lib/a")]);
    assert!(sandbox.prompt(1).contains("src/**, docs/*.md"), "{}", sandbox.prompt(1));
}

#[test]
fn a_scope_that_cannot_be_enforced_or_is_written_wrongly_is_refused_before_the_start() {
    for (plan, words) in [
        (
            "- [ ] a\n- [ ] One {only=src\\parser}\n",
            "PLAN.md: line 2, column 12: `only` has the pattern `src\\parser`: separate directories by `/`",
        ),
        ("- [ ] One {only=../x}\n", "`..` is outside of the project"),
        (
            "- [ ] One {only: src/**}\n",
            "`only` names no files; write only=src/parser/**",
        ),
    ] {
        let sandbox = sandbox(plan, "");
        let refused = sandbox.looping_as("text", [] as [&str; 0]).run(SOON);
        assert_eq!(refused.code(), Some(3), "{refused:?}");
        assert!(refused.stderr.contains(words), "{words}: {refused:?}");
    }
    let sandbox = sandbox(PLAN, "");
    std::fs::remove_dir_all(sandbox.project().join(".git")).expect("a repository");
    let refused = sandbox.looping_as("text", [] as [&str; 0]).run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("cannot be enforced: the project is in no repository of git"),
        "{refused:?}"
    );
}

#[test]
fn a_run_ends_as_stuck_where_the_agent_does_not_put_the_files_back() {
    let sandbox = sandbox(PLAN, "[ $n = 1 ] && { put Cargo.lock new; tick; }");
    let finished = ran(&sandbox, &[]);
    let records = finished.records();
    let end = records.last().map(|record| &record.event);
    let stuck = |event: &Event| {
        matches!(
            event,
            Event::Run(ralph_core::event::RunEvent::Stopped {
                reason: StopReason::BreakerOpen { .. },
                ..
            })
        )
    };
    assert!(end.is_some_and(stuck), "{finished:?}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    for words in ["outside of its scope: Cargo.lock", "`ralph confirm`"] {
        assert!(report.contains(words), "{words} is not in {report}");
    }
}
