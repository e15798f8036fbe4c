//! Comments on lines, written on the page.

use ralph_core::{
    event::{CommentEvent, Event},
    run::{Comment, CommentState, RunView},
};

use super::{PHONE, assert_content, browser::Browser, watched};
use crate::{
    harness::{SOON, Sandbox, Script, wait_until},
    web::{serving, start::web},
};

/// Changes a file, then waits; the second iteration changes the commented line.
const WORK: &str = r#"
case $n in
1) printf 'fn one() {\n    first();\n}\n' > a.rs; work; said ready; await go; over Done.;;
*) sed -i 's/first()/better()/' a.rs; work; over Done.;;
esac"#;

fn comments(sandbox: &Sandbox) -> Vec<Comment> {
    RunView::of(&sandbox.journal()).comments.list
}

#[track_caller]
fn waits_for(sandbox: &Sandbox, what: &str, is_so: impl Fn(&[Comment]) -> bool) {
    wait_until(SOON, what, || is_so(&comments(sandbox)).then_some(()));
}

/// Has a line of the diff tapped, as a thumb does.
fn taps(page: &super::browser::Page, text: &str) {
    let line =
        format!("[...document.querySelectorAll('[data-line]')].find((line) => line.textContent.includes('{text}'))");
    page.waits_for(&format!("Boolean({line})"));
    page.value(&format!("{line}.click()"));
}

#[test]
fn a_phone_taps_a_line_drafts_sends_and_resolves_a_comment() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::jsonl(WORK));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready\""));
    let watched = watched(&sandbox, browser);
    let phone = watched.page(PHONE, "light", "");
    phone.clicks("Changes");
    phone.sees("+    first();");
    taps(&phone, "first()");
    phone.sees("Save draft");
    phone.types("Name <b>it</b> better");
    phone.clicks("Save draft");
    phone.sees("comment 1 on a.rs:2 is a draft");
    phone.sees("Name <b>it</b> better");
    // A line without a pointer: its number is typed.
    phone.clicks("Comment on a line of a.rs");
    phone.types("And this");
    phone.clicks("Save draft");
    waits_for(&sandbox, "two drafts", |comments| comments.len() == 2);
    phone.clicks("Withdraw comment 2");
    waits_for(&sandbox, "one draft", |comments| comments.len() == 1);
    let found = comments(&sandbox).remove(0);
    assert_eq!((&*found.file, found.line, found.place.iteration), ("a.rs", 2, Some(1)));
    assert_eq!(found.place.quote.len(), 1);
    assert_eq!(found.place.quote[0].as_str(), "    first();");
    phone.clicks("Edit comment 1");
    phone.clicks("Text of comment 1");
    phone.types("!");
    phone.clicks("Save");
    waits_for(&sandbox, "the edit", |comments| comments[0].text.contains('!'));
    // The buttons below move when the form goes.
    phone.sees("Name <b>it</b> better!");
    phone.clicks("Send 1 draft");
    phone.sees("open");
    assert_content(&phone);
    sandbox.release("go");
    phone.sees("changed in iteration 2");
    phone.sees("Done (not verified)");
    assert_content(&phone);
    drop(phone);
    assert_eq!(running.wait(SOON).code(), Some(0));
    assert_eq!(comments(&sandbox)[0].state(), CommentState::Changed { iteration: 2 });
    let sent = |event: &Event| matches!(event, Event::Comment(CommentEvent::Sent { .. }));
    assert_eq!(sandbox.journal().iter().filter(|record| sent(&record.event)).count(), 1);
}

#[test]
fn an_ended_run_takes_comments_from_its_user_alone() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("printf 'one\\ntwo\\n' > a.txt; work; over Done."));
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    let server = web(&sandbox);
    let served = serving(&server, &sandbox, &[]);
    let run = sandbox.paths().run_ids().remove(0).0;
    let route = format!("/runs/{run}/commands");
    let http = crate::harness::http::Http::for_address(&served.base, &served.token);
    let place = |file: &str, line: u32| serde_json::json!({"file": file, "line": line, "iteration": 1});
    let write = |file: &str, line: u32| {
        let body = serde_json::json!({"type": "write-comment", "place": place(file, line), "text": "Why?"});
        http.post(&route, &body)
    };
    for (file, line) in [("a.txt", 3), ("none", 1), ("../a.txt", 1), ("/etc/passwd", 1)] {
        let refused = write(file, line);
        assert!(
            refused.status == 409 && refused.text().contains("not known"),
            "{file}: {}",
            refused.text()
        );
    }
    let written = write("a.txt", 2);
    assert_eq!(written.status, 200, "{}", written.text());
    assert_eq!(comments(&sandbox)[0].place.quote[0].as_str(), "two");
    let looks = sandbox.ralph(["token", "--web", "--read-only"]).run(SOON);
    let looking = crate::harness::http::Http::for_address(&served.base, looks.stdout.trim());
    let send = serde_json::json!({"type": "send-comments", "kind": "next"});
    assert_eq!(looking.post(&route, &send).status, 403);
    assert_eq!(http.post(&route, &serde_json::json!({"type": "pause"})).status, 409);
    let sent = http.post(&route, &send);
    assert!(
        sent.text().contains("`ralph continue` resumes the run"),
        "{}",
        sent.text()
    );
}
