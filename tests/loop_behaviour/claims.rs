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
