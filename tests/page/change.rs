//! Limits, agent and permission mode, changed in the dialogs of the page.

use ralph_core::event::{AskEvent, Event, PermissionMode};

use super::{PHONE, assert_content, browser::Browser, watched};
use crate::{
    bad_input::asking::asking,
    harness::{SOON, events},
};

#[test]
fn limits_agent_and_permission_mode_of_a_run_are_changed_in_dialogs() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let (sandbox, agent) = asking(r#"{ "mode": "ask" }"#, "asks date 1\nworks\n");
    sandbox.install_as("other", &agent);
    let settings = r#"{ "permissions": { "mode": "ask" }, "fallback": ["other"] }"#;
    sandbox.write(".ralph/config.json", settings);
    let running = sandbox.looping(["--max-iterations", "12"]).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    let watched = watched(&sandbox, browser);
    let phone = watched.page(PHONE, "dark", "");
    phone.sees("Needs you");

    phone.clicks("Change…");
    phone.clicks("Limits");
    phone.sees("The new limit counts from the beginning of the run.");
    phone.clicks("24 iterations");
    phone.clicks("Plan");
    phone.sees("1 of 24");

    phone.clicks("Change…");
    phone.clicks("Agent or model");
    phone.clicks("other");
    phone.clicks("Log");
    phone.sees("other");

    phone.clicks("Change…");
    phone.clicks("Permission mode");
    phone.sees("It is ask now");
    phone.clicks("auto");
    // The request that waits is decided by the new mode.
    phone.sees("requests without a matching rule are now allowed");
    assert_content(&phone);
    drop(phone);
    running.wait(SOON);
    let records = sandbox.journal();
    let changed = |event: &Event| matches!(event, Event::Ask(AskEvent::PermissionModeChanged { mode }) if *mode == PermissionMode::Auto);
    assert!(events(&records).any(changed));
}
