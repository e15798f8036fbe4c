//! Account limits and budgets of the batch, which all plans share.

use super::{assert_tidy, assert_verified, batch, many, sandbox, status};
use crate::harness::{Program, SOON, wait_until};

#[test]
fn a_limit_that_one_run_meets_holds_the_starts_of_the_others() {
    let agent = r#"
case $plan in
    api) failed '{"kind":"rate-limited","untilMs":'$(( ($(date +%s) + 3600) * 1000 ))'}' limited ;;
    *) await go; tick; tick; touch $plan.txt; over done ;;
esac"#;
    let sandbox = sandbox(agent, &["api", "ui", "docs"]);
    let running = batch(&sandbox, &["api.md", "ui.md", "docs.md", "--jobs", "2"]).start();
    let held = || status(&sandbox)["held"]["why"]["adapter"].as_str().map(str::to_owned);
    running.wait_for_line(SOON, |line| line.contains("ui: running on"));
    assert_eq!(wait_until(SOON, "a limit", held), "script");
    sandbox.release("go");
    running.wait_for_line(SOON, |line| line.contains("script is limited, for all plans"));
    running.wait_for_line(SOON, |line| line.contains("ui: merged"));
    let phases = status(&sandbox);
    assert_eq!(phases["plans"][2]["phase"]["type"], "waiting", "{phases}");
    let table = many(&sandbox, "status").run(SOON);
    assert!(table.stdout.contains("script is limited, for all plans"), "{table:?}");
    let cancelled = many(&sandbox, "cancel").run(SOON);
    assert_eq!(cancelled.code(), Some(0), "{cancelled:?}");
    assert_eq!(running.wait(SOON).code(), Some(1));
}

#[test]
fn an_agent_that_fails_is_told_with_the_reason_until_it_works_again() {
    let agent = r#"
case $n in
    1) failed '{"kind":"hung"}' "no output" ;;
    2) tick; over said ;;
    *) await go; tick; touch $plan.txt; over done ;;
esac"#;
    let sandbox = sandbox(agent, &["api"]);
    let running = batch(&sandbox, &["api.md"]).start();
    running.wait_for_line(SOON, |line| line.contains("api: stalled: no output"));
    let waits = || {
        let doing = status(&sandbox)["plans"][0]["doing"].as_str().map(str::to_owned);
        doing.filter(|doing| doing.contains("next try"))
    };
    assert_eq!(
        wait_until(SOON, "the wait", waits),
        "waiting before the next try: no output"
    );
    running.wait_for_line(SOON, |line| line.contains("api: makes progress again"));
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn the_budget_of_a_batch_counts_what_tokens_cost_by_prices() {
    let agent = r#"
echo '{"type":"usage","usage":{"inputTokens":1000000,"outputTokens":250000}}'
[ $plan = api ] || await go
tick; tick; touch $plan.txt; over done"#;
    let sandbox = sandbox(agent, &["api", "ui"]);
    let reports_tokens = r#"{"script":{"capabilities":{"cost":false}}}"#;
    let args = ["api.md", "ui.md", "--jobs", "1", "--max-cost-usd", "2.5"];
    let unpriced = batch(&sandbox, &args).env("RALPH_ADAPTERS", reports_tokens).run(SOON);
    assert_eq!(unpriced.code(), Some(3), "{unpriced:?}");
    assert!(unpriced.stderr.contains(r#""prices": { "script":"#), "{unpriced:?}");
    let prices = r#"{"script":{"input":1,"output":2}}"#;
    let priced = |program: Program| {
        program
            .env("RALPH_ADAPTERS", reports_tokens)
            .env("RALPH_PRICES", prices)
    };
    let finished = priced(batch(&sandbox, &args)).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let near = "85% of the cost limit of all plans is used";
    assert!(
        !finished.stdout.contains(near),
        "the first usage is below, the second above: {finished:?}"
    );
    let table = priced(many(&sandbox, "status")).run(SOON);
    assert!(table.stdout.contains("all plans ≈$3.00 of $2.5"), "{table:?}");
    let resumed = priced(many(&sandbox, "resume --max-cost-usd 3.5")).run(SOON);
    assert_eq!(resumed.code(), Some(6), "{resumed:?}");
    assert!(resumed.stdout.contains(near), "{resumed:?}");
    sandbox.release("go");
    let resumed = priced(many(&sandbox, "resume --max-cost-usd 50")).run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_tidy(&sandbox);
}

#[test]
fn the_budget_of_a_batch_ends_its_runs_until_it_is_resumed_with_a_larger_one() {
    let agent = r#"
echo '{"type":"usage","usage":{"costUsd":1.5}}'
[ $plan = api ] || await go
tick; tick; touch $plan.txt; over done"#;
    let sandbox = sandbox(agent, &["api", "ui", "docs"]);
    let args = ["api.md", "ui.md", "docs.md", "--jobs", "1", "--max-cost-usd", "2.5"];
    let unreported = sandbox.ralph(["--adapter", "demo", "many"]).args(args).run(SOON);
    assert_eq!(unreported.code(), Some(3), "{unreported:?}");
    assert!(unreported.stderr.contains("demo reports no cost"), "{unreported:?}");
    let finished = batch(&sandbox, &args).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    for line in [
        "the plans have reached their cost limit: ending the runs",
        "stopped: the budget is used up: 1 of 3 plans",
    ] {
        assert!(finished.stdout.contains(line), "{line}: {finished:?}");
    }
    let hint = "hint: `ralph many resume --max-cost-usd USD` continues with a larger budget";
    assert!(finished.stderr.contains(hint), "{finished:?}");
    let table = many(&sandbox, "status").run(SOON);
    assert!(table.stdout.contains("all plans $3.00 of $2.5"), "{table:?}");
    sandbox.release("go");
    let again = many(&sandbox, "resume").run(SOON);
    assert_eq!(again.code(), Some(6), "the budget is the same: {again:?}");
    let wrong = many(&sandbox, "resume --max-cost-usd much").run(SOON);
    assert_eq!(wrong.code(), Some(3), "{wrong:?}");
    let resumed = many(&sandbox, "resume --max-cost-usd 50").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_verified(&sandbox, "true", &["api", "ui", "docs"]);
    assert_tidy(&sandbox);
}
