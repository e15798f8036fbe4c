//! Two accounts of one agent: the second works while the first is limited.

use std::fs;

use ralph_core::event::{Event, IterationEvent};
use ralph_state::store::accounts::AccountFile;
use ralph_system::os::now_ms;
use serde_json::json;

use super::{PATIENCE, outcomes, plan_one_task, ralph, work_on};
use crate::{
    harness::{agent::Agent, connect::connect_codex_at, events},
    stand_in::{Scenario, StandIn, http},
};

#[test]
fn the_second_account_of_codex_works_while_the_first_is_used_up_and_each_has_its_own_windows() {
    let resets_at = now_ms() / 1000 + 3600;
    let used_up = json!({"error": {"type": "usage_limit_reached", "message": "used up", "resets_at": resets_at}});
    let limited = http(429)
        .header("x-codex-primary-used-percent", "100")
        .header("x-codex-primary-window-minutes", "300")
        .header("x-codex-primary-reset-at", &resets_at.to_string())
        .body(used_up);
    let first = StandIn::start(limited);
    let Some(sandbox) = Agent::Codex.sandbox(&first, 0) else {
        return;
    };
    let worked = work_on("hello").into_iter();
    let second = StandIn::start(worked.fold(Scenario::new(), Scenario::then));
    let work = sandbox.home().join(".codex-work");
    fs::create_dir(&work).expect("a directory for the second account");
    connect_codex_at(&work, &second, 0);
    plan_one_task(&sandbox);
    let account = json!({"codex-work": {"base": "codex", "command": {"env": {"CODEX_HOME": work}}}});
    let finished = ralph(Agent::Codex, &sandbox)
        .env("RALPH_ADAPTERS", account.to_string())
        .env("RALPH_FALLBACK", "codex-work")
        .env("RALPH_HEADROOM_FIVE_HOUR", "5")
        .run(PATIENCE);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let adapters = events(&records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started { adapter, .. }) => Some(adapter.as_str()),
        _ => None,
    });
    assert_eq!(adapters.collect::<Vec<_>>(), ["codex", "codex-work"]);
    assert!(outcomes(&records)[0].was_limited(), "{records:?}");
    assert!(
        second.main_request_count() > 0,
        "the second account has its own settings"
    );
    let states = sandbox.paths().states();
    let used = |home: &str| {
        let windows = AccountFile::new(&states, home).windows();
        windows.iter().map(|sample| sample.window.used_percent).max()
    };
    assert_eq!(used(sandbox.codex_home().to_str().expect("a name")), Some(100));
    assert_eq!(used(work.to_str().expect("a name")), None);
    sandbox.assert_nothing_runs();
}
