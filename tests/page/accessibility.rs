//! The page for people who do not see it, or use no mouse: axe in every state, and a run by keys alone.

use std::fs;

use ralph_core::event::{AskEvent, Event, SteeringEvent, SteeringKind};
use serde_json::json;

use super::{
    DESK, PHONE, PLAN, asking_project,
    browser::{Browser, Page},
    enters,
    gallery::gallery,
    watched,
};
use crate::harness::{SOON, events, languages::node_modules};

const PACKAGE: &str = include_str!("../agents/page/package.json");

/// The violations that axe finds, one line for each rule. A page of which it checks nothing is one, too.
const VIOLATIONS: &str = r#"axe.run(document).then(({ violations, passes }) => [...(passes.length < 10 ? [`${passes.length} rules`] : []), ...violations.map(({ id, nodes }) =>
    `${id}: ${nodes.map(({ html, any }) => `${html.slice(0, 160)} (${any.map(({ message }) => message).join(", ")})`).join("; ")}`)])"#;

#[track_caller]
fn assert_accessible(page: &Page, axe: &str, state: &str) {
    if page.value("typeof axe") == "undefined" {
        page.value(&format!("{axe}; 0"));
    }
    assert_eq!(page.value(VIOLATIONS), json!([]), "{state}");
}

#[test]
fn axe_finds_nothing_wrong_on_any_page_and_in_any_dialog() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let Some(directory) = node_modules(PACKAGE) else {
        return;
    };
    let axe = fs::read_to_string(directory.join("node_modules/axe-core/axe.min.js")).expect("axe");
    let gallery = gallery();
    for size in [PHONE, DESK] {
        for scheme in ["light", "dark"] {
            let page = browser.page(size, scheme);
            page.opens(&gallery.served.base);
            page.sees("Code or token");
            assert_accessible(&page, &axe, "login");
            enters(&page, &gallery.served.token);
            page.sees("All runs of project, and new ones");
            for state in &gallery.states {
                state.enter(&page);
                assert_accessible(&page, &axe, &format!("{} {size:?} {scheme}", state.name));
                state.leave(&page);
            }
        }
    }
}

#[test]
fn a_request_is_answered_a_message_sent_and_the_run_stopped_by_keys_alone() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = asking_project(PLAN);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    let watched = watched(&sandbox, browser);
    let page = watched.page(DESK, "light", "");
    page.sees("git push origin parser && rm -rf target/old");
    page.waits_for("document.querySelector('.ask') && !document.querySelector('.ask').inert");
    page.tabs_to("Allow once");
    page.presses(&["Enter"]);
    page.sees("How are columns counted?");
    page.waits_for("!document.querySelector('.ask').inert");
    page.tabs_to("in bytes");
    page.presses(&["Space"]);
    page.tabs_to("Answer");
    page.presses(&["Enter"]);
    page.sees_no_longer("How are columns counted?");
    page.tabs_to("Message to the agent");
    page.types("Give an example");
    page.tabs_to("Send");
    page.presses(&["Enter"]);
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Steering(SteeringEvent::Queued { .. }))
    });
    page.tabs_to("Stop…");
    page.presses(&["Enter"]);
    page.sees("Stop the run?");
    page.tabs_to("Now");
    page.presses(&["Enter"]);
    page.sees("Stopped by user");
    drop(page);
    assert_eq!(running.wait(SOON).code(), Some(130));
    let records = sandbox.journal();
    let steered = |event: &Event| matches!(event, Event::Steering(SteeringEvent::Queued { kind: SteeringKind::Next, text, .. }) if text == "Give an example");
    assert!(events(&records).any(steered));
    let answers = sandbox.read_home("answers").expect("the answer");
    assert!(answers.contains("in bytes"), "{answers}");
}
