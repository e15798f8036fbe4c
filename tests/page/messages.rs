//! The agent's messages and the log: formatting, search, download.

use ralph_core::event::{Event, IterationEvent};
use serde_json::json;

use super::{DESK, PHONE, assert_content, browser::Browser, watched};
use crate::harness::{SOON, Sandbox, Script, http::Http, wait_until};

/// An agent that says a lot.
const TALKS: &str = r#"i=0; while [ $i -lt 1200 ]; do i=$((i + 1)); printf '{"type":"said","text":"message %s"}\n' $i; done
printf '%s\n' '{"type":"said","text":"Found:\n\n1. a **table**\n   of two\n2. <b>markup</b>\n\n| case | lines |\n|:--|--:|\n| a \\| b | 12 |\n\nDone."}'
await go; over Done."#;

#[test]
fn messages_have_lists_and_tables_and_are_searched_and_a_long_log_is_read_back_and_kept() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(TALKS));
    let running = sandbox.looping(["--max-iterations", "1"]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    wait_until(SOON, "all that it says", || {
        (sandbox.journal().len() > 1_200).then_some(())
    });
    let watched = watched(&sandbox, browser);
    let phone = watched.page(PHONE, "light", "");
    phone.clicks("Agent");
    phone.clicks("Messages");
    phone.sees("Done.");
    let part = |what: &str| {
        phone.value(&format!(
            "[...document.querySelectorAll('.talk {what}')].map(({{ innerText }}) => innerText)"
        ))
    };
    assert_eq!(part("th"), json!(["case", "lines"]));
    assert_eq!(part("td"), json!(["a | b", "12"]));
    assert_eq!(part(".points li"), json!(["1.\na table\nof two", "2.\n<b>markup</b>"]));
    assert_eq!(phone.value("document.querySelectorAll('.talk b').length"), 0);
    phone.clicks("Find in the messages");
    phone.types("message 1199");
    phone.sees("1 message");
    phone.sees_no_longer("message 1198");
    assert_content(&phone);

    let http = Http::for_socket(&sandbox.paths().socket());
    for _ in 0..300 {
        for command in ["pause", "resume"] {
            assert_eq!(http.post("/commands", &json!({"type": command})).status, 200);
        }
    }
    let desk = watched.page(DESK, "light", "");
    desk.clicks("Log");
    let first = "Number(document.querySelector('.log li')?.dataset.seq)";
    desk.waits_for(&format!("{first} > 100"));
    desk.clicks("Earlier");
    desk.waits_for(&format!("{first} < 10"));
    // The newest line stays.
    desk.sees("resuming");
    desk.sees_no_longer("Earlier");
    let kept = "const address = URL.createObjectURL.bind(URL);
        URL.createObjectURL = (blob) => { globalThis.kept = blob.text(); return address(blob); }; 0";
    desk.value(kept);
    desk.clicks("Download");
    desk.waits_for("globalThis.kept");
    let text = desk.value("globalThis.kept");
    let lines: Vec<&str> = text.as_str().expect("a text").lines().collect();
    assert!(
        lines.iter().any(|line| line.ends_with("iteration 1: Task 1")),
        "{lines:?}"
    );
    assert_content(&desk);
    drop((phone, desk));
    sandbox.release("go");
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Ended { .. }))
    });
    running.wait(SOON);
}
