//! What an agent says about being done, and what ralph makes of it.

use ralph::event::{Claim, Event, Record, StopReason};

use super::{notices, reason};
use crate::harness::{SOON, Sandbox, Script, events, running::Finished};

fn claims(records: &[Record]) -> Vec<(u32, Claim)> {
    events(records)
        .filter_map(|event| match event {
            Event::ClaimMade { iteration, claim } => Some((*iteration, *claim)),
            _ => None,
        })
        .collect()
}

fn refusals(records: &[Record]) -> usize {
    events(records)
        .filter(|event| matches!(event, Event::ClaimRefused { .. }))
        .count()
}

fn ran(sandbox: &Sandbox, script: &Script) -> Finished {
    sandbox.install(script);
    let finished = sandbox.looping(["--max-iterations", "5"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished
}

#[test]
fn a_done_file_with_open_tasks_is_refused_and_the_next_prompt_says_why() {
    let sandbox = Sandbox::new();
    let records = ran(&sandbox, &Script::terminal("work; touch .ralph-done")).records();
    assert_eq!(
        claims(&records),
        [(1, Claim::DoneFile), (2, Claim::DoneFile), (2, Claim::PlanComplete)]
    );
    assert_eq!(refusals(&records), 1);
    assert_eq!(*reason(&records), StopReason::Done { verified: false });
    let prompt = sandbox.prompt(2);
    assert!(
        prompt.contains("refused") && prompt.contains("one task is still open: Write world.txt"),
        "{prompt}"
    );
    assert!(!sandbox.prompt(1).contains("refused"));
}

#[test]
fn the_done_file_of_an_agent_is_taken_away_and_the_tree_is_clean() {
    let sandbox = Sandbox::new();
    ran(&sandbox, &Script::terminal("work; touch .ralph-done"));
    assert_eq!(sandbox.read(".ralph-done"), None);
    sandbox.assert_clean();
}

#[test]
fn a_done_file_that_was_there_at_start_claims_nothing_and_is_said_to_be_removed() {
    let sandbox = Sandbox::new();
    sandbox.write(".ralph-done", "from yesterday");
    let records = ran(&sandbox, &Script::worker()).records();
    assert_eq!(claims(&records), [(2, Claim::PlanComplete)]);
    let said = notices(&records)
        .iter()
        .filter(|text| text.contains(".ralph-done"))
        .count();
    assert_eq!(said, 1, "{:?}", notices(&records));
}

#[test]
fn a_directory_in_place_of_the_done_file_claims_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".ralph-done/file", "");
    let records = ran(&sandbox, &Script::worker()).records();
    assert_eq!(claims(&records), [(2, Claim::PlanComplete)]);
}

#[test]
fn a_promise_in_the_final_message_is_a_claim() {
    let sandbox = Sandbox::new();
    let script = Script::jsonl(r#"work; over "All is well.\\n$(promise)""#);
    let records = ran(&sandbox, &script).records();
    assert_eq!(
        claims(&records),
        [(1, Claim::Promise), (2, Claim::Promise), (2, Claim::PlanComplete)]
    );
    assert_eq!(refusals(&records), 1);
}

#[test]
fn a_promise_in_an_earlier_message_or_in_a_tools_output_is_no_claim() {
    let sandbox = Sandbox::new();
    let script = Script::jsonl(
        r#"work; said "$(promise)"
        printf '{"type":"tool-ended","call":"1","tool":"shell","ok":true,"output":"%s"}\n' "$(promise)"
        over 'One task less.'"#,
    );
    let records = ran(&sandbox, &script).records();
    assert_eq!(claims(&records), [(2, Claim::PlanComplete)]);
}

#[test]
fn a_promise_on_the_last_line_of_a_terminal_is_a_claim_and_one_above_it_is_not() {
    let sandbox = Sandbox::new();
    let records = ran(
        &sandbox,
        &Script::terminal("work; promise; [ $n = 1 ] && echo 'That was a quote.'; true"),
    )
    .records();
    assert_eq!(claims(&records), [(2, Claim::Promise), (2, Claim::PlanComplete)]);
}

#[test]
fn an_agent_that_repeats_its_prompt_claims_nothing() {
    for (name, script) in [
        ("terminal", Script::terminal(r#"work; printf '%s\n' "$prompt""#)),
        (
            "ralph-jsonl",
            Script::jsonl(
                r#"work; text=$(printf '%s' "$prompt" | sed 's/\\/\\\\/g; s/"/\\"/g' | awk '{printf "%s\\n", $0}'); over "$text""#,
            ),
        ),
    ] {
        let sandbox = Sandbox::new();
        let finished = ran(&sandbox, &script);
        assert_eq!(claims(&finished.records()), [(2, Claim::PlanComplete)], "{name}");
        assert!(
            finished.stdout.contains("on a line of its own"),
            "{name} does not repeat it"
        );
    }
}

#[test]
fn the_promise_of_an_earlier_run_claims_nothing() {
    let sandbox = Sandbox::new();
    let script = Script::terminal(r#"work; [ -e "$HOME/promise" ] || promise > "$HOME/promise"; cat "$HOME/promise""#);
    ran(&sandbox, &script);
    sandbox.write("PLAN.md", "- [ ] One\n- [ ] Two\n");
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(claims(&finished.records()), [(2, Claim::PlanComplete)]);
}

#[test]
fn the_users_own_promise_counts_in_its_tag_only() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(
        "work; if [ $n = 1 ]; then echo COMPLETE; else echo '<promise>COMPLETE</promise>'; fi",
    ));
    let finished = sandbox.looping(["--promise", "COMPLETE"]).run(SOON);
    assert_eq!(
        claims(&finished.records()),
        [(2, Claim::Promise), (2, Claim::PlanComplete)],
        "{finished:?}"
    );
}

#[test]
fn a_promise_of_an_agent_that_failed_is_no_claim() {
    let sandbox = Sandbox::new();
    let script = Script::terminal("work; promise; [ $n = 2 ]");
    let records = ran(&sandbox, &script).records();
    assert_eq!(claims(&records), [(2, Claim::Promise), (2, Claim::PlanComplete)]);
}

#[test]
fn the_last_box_ticked_by_a_session_that_was_cut_off_is_looked_at_once_more() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal("work; exit $((n == 2))"));
    let records = sandbox.looping([] as [&str; 0]).run(SOON).records();
    assert_eq!(claims(&records), [(3, Claim::PlanComplete)]);
    let third = events(&records).find(|event| matches!(event, Event::IterationStarted { iteration: 3, .. }));
    assert!(
        matches!(third, Some(Event::IterationStarted { task: None, .. })),
        "{third:?}"
    );
}

#[test]
fn a_plan_without_tasks_and_goals_is_done_when_the_same_is_claimed_in_two_iterations_running() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "# Make it pretty\n\nAll of it.\n");
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox.install(&Script::jsonl(
        r#"date +%N > f; case $n in 2|4|5) over "$(promise)";; *) over 'Not yet.';; esac"#,
    ));
    let finished = sandbox.looping(["--promise", "PRETTY"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(
        claims(&records),
        [(2, Claim::Promise), (4, Claim::Promise), (5, Claim::Promise)]
    );
    assert_eq!(*reason(&records), StopReason::Done { verified: false });
    let prompt = sandbox.prompt(3);
    assert!(
        prompt.contains("nothing proves it: if it is true, claim it once more"),
        "{prompt}"
    );
}

/// The final message of a status block with `lines`, as a string of JSON.
fn block(lines: &str) -> String {
    format!(r"Task 1 is done.\n---RALPH_STATUS---\n{lines}\n---END_RALPH_STATUS---")
}

#[test]
fn an_explicit_not_done_refuses_the_end_though_every_box_is_ticked() {
    for (words, reason_given) in [
        (block("EXIT_SIGNAL: false"), "EXIT_SIGNAL: false"),
        (block("STATUS: IN_PROGRESS"), "STATUS: IN_PROGRESS"),
        (
            block(r"STATUS: COMPLETE\nTESTS_STATUS: FAILING"),
            "TESTS_STATUS: FAILING",
        ),
        (
            r"Nearly.\nRALPH NOT DONE: the README is missing".to_owned(),
            "the README is missing",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.plan(1);
        let script = format!("if [ $n = 1 ]; then work; over '{words}'; else over 'All well.'; fi");
        let records = ran(&sandbox, &Script::jsonl(&script)).records();
        assert_eq!(
            claims(&records).last(),
            Some(&(2, Claim::PlanComplete)),
            "{reason_given}"
        );
        assert_eq!(refusals(&records), 1, "{reason_given}");
        assert_eq!(*reason(&records), StopReason::Done { verified: false });
        let prompt = sandbox.prompt(2);
        assert!(
            prompt.contains("the last message said that the work is not done") && prompt.contains(reason_given),
            "{prompt}"
        );
    }
}

#[test]
fn goals_are_not_run_for_an_agent_that_says_that_it_is_not_done() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let words = block("EXIT_SIGNAL: false");
    sandbox.install(&Script::jsonl(&format!(
        "if [ $n = 1 ]; then work; over '{words}'; else over 'All well.'; fi"
    )));
    let finished = sandbox.looping(["--goal", "tests=true"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let checked: Vec<u32> = events(&finished.records())
        .filter_map(|event| match event {
            Event::VerificationStarted { iteration, .. } => Some(*iteration),
            _ => None,
        })
        .collect();
    assert_eq!(checked, [2]);
}

#[test]
fn an_agent_that_says_not_done_for_ever_is_stopped_by_the_breaker() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let words = block("EXIT_SIGNAL: false");
    sandbox.install(&Script::jsonl(&format!("[ $n = 1 ] && work; over '{words}'")));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(7), "{finished:?}");
}

#[test]
fn ten_points_believe_the_first_claim_where_nothing_proves_it() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "# Make it pretty\n\nAll of it.\n");
    sandbox.install(&Script::jsonl(r#"over "$(promise)""#));
    let finished = sandbox
        .looping(["--promise", "PRETTY"])
        .env("RALPH_COMPLETION_MIN_CONFIDENCE", "10")
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(claims(&finished.records()), [(1, Claim::Promise)]);
}

#[test]
fn sixty_points_want_the_agents_word_besides_the_boxes() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(
        r#"if [ $n = 1 ]; then work; over 'One less.'; else over "$(promise)"; fi"#,
    ));
    let finished = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_COMPLETION_MIN_CONFIDENCE", "60")
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(refusals(&records), 1);
    let prompt = sandbox.prompt(2);
    assert!(
        prompt.contains("nothing in your last message says that all is done"),
        "{prompt}"
    );
}

#[test]
fn a_confidence_that_no_claim_can_reach_is_refused_before_the_start() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let finished = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_COMPLETION_MIN_CONFIDENCE", "90")
        .run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    assert!(
        finished
            .stderr
            .contains("`completion.minConfidence` is 90, and no claim can reach more than 60")
            && finished.stderr.contains("hint: "),
        "{finished:?}"
    );
}

#[test]
fn a_setting_that_is_gone_is_a_warning_that_names_its_replacement() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(
        ".ralph/config.json",
        r#"{"completion": {"requireDualCondition": false}}"#,
    );
    let records = ran(&sandbox, &Script::worker()).records();
    let notices = notices(&records);
    assert!(
        notices
            .iter()
            .any(|text| text.contains("requireDualCondition") && text.contains("completion.minConfidence")),
        "{notices:?}"
    );
}
