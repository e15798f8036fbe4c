//! The tree of subagents on the page.

use ralph_core::event::{AgentEvent, AgentSignal, Event};
use serde_json::json;

use super::{PHONE, assert_content, browser::Browser, watched};
use crate::harness::{SOON, Sandbox, Script};

/// Reports subagents in three levels, one of them with text that looks like markup, and waits before the last ends.
const WORK: &str = r#"
reports() { printf '{"type":"subagent","subagent":{"id":"%s","parent":%s,"title":"%s","running":%s,"usage":{"inputTokens":%s,"outputTokens":10}}}\n' "$@"; }
reports a null "read the code" true 100
reports b '"a"' "<img src=x onerror=pwned=1>" true 200
reports c '"b"' "count lines" true 3000
reports c '"b"' "count lines" false 4000
reports d null "" true 0
await go
reports a null "read the code" false 500
work; over Done.
"#;

/// The titles of a list, each with the titles below it.
const TREE: &str = r#"(() => {
    const titles = (list) => [...list.children].map((item) => [
        item.firstElementChild.textContent, ...titles(item.querySelector("ul")),
    ]);
    return titles(document.querySelector(".subagents > ul"));
})()"#;

#[test]
fn subagents_are_a_tree_with_their_tokens_that_grows_while_they_run() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(WORK));
    let running = sandbox.looping(["--max-subagent-depth", "3"]).start();
    let is_last = |event: &Event| matches!(event, Event::Agent(AgentEvent::Reported { signal: AgentSignal::Subagent { subagent }, .. }) if subagent.id == "d");
    running.wait_for_record(SOON, is_last);
    let watched = watched(&sandbox, browser);
    let phone = watched.page(PHONE, "dark", "");
    phone.clicks("History");
    phone.clicks("4 subagents");
    let tree = json!([
        ["read the code", ["<img src=x onerror=pwned=1>", ["count lines"]]],
        ["subagent"]
    ]);
    assert_eq!(phone.value(TREE), tree);
    phone.sees("running, 110 tokens");
    phone.sees("ended, 4.0k tokens");
    sandbox.release("go");
    phone.sees("Done (not verified)");
    phone.sees("ended, 510 tokens");
    assert_eq!(phone.value(TREE), tree);
    assert_content(&phone);
    drop(phone);
    assert_eq!(running.wait(SOON).code(), Some(0));
}
