//! The plan, changed on the page.

use ralph_core::event::{Event, IterationEvent};
use serde_json::json;

use super::{PHONE, assert_content, browser::Browser, watched};
use crate::{
    harness::{SOON, Sandbox, Script, http::Http, skipped, wait_until},
    web::{serving, start::web},
};

const PLAN: &str =
    "# Shop\n\n- [ ] Draw the cart\n- [ ] Count the stock\n  - [ ] Read the list\n\n## Later\n\n- [ ] Print\n";

#[test]
fn the_plan_of_a_run_is_ticked_reordered_and_added_to_and_what_changed_meanwhile_is_left_alone() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", PLAN);
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox.install(&Script::jsonl("said working; await go; over Done."));
    let running = sandbox.looping(["--max-iterations", "1"]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let watched = watched(&sandbox, browser);
    let phone = watched.page(PHONE, "light", "");
    phone.clicks("Plan");
    phone.clicks("Edit");
    phone.clicks("Draw the cart");
    let plan = || std::fs::read_to_string(sandbox.project().join("PLAN.md")).expect("a plan");
    let reads = |with: &str| {
        wait_until(SOON, "the change", || (plan() == with).then_some(()));
    };
    let ticked = PLAN.replace("[ ] Draw", "[x] Draw");
    reads(&ticked);
    phone.clicks("Move down: Draw the cart");
    let moved =
        "# Shop\n\n- [ ] Count the stock\n  - [ ] Read the list\n- [x] Draw the cart\n\n## Later\n\n- [ ] Print\n";
    reads(moved);
    phone.clicks("New task");
    phone.types("Sell");
    phone.clicks("Add");
    reads(&format!("{moved}- [ ] Sell\n"));
    phone.sees("Sell");

    // The agent writes the plan: the page still has the one before.
    let rewritten = moved.replace("- [ ] Print", "- [ ] Paint\n- [ ] Print");
    sandbox.write("PLAN.md", &rewritten);
    phone.clicks("Print");
    phone.sees("was changed meanwhile");
    phone.sees("Paint");
    assert_eq!(plan(), rewritten);
    assert_content(&phone);
    phone.clicks("Close the editor");
    drop(phone);
    sandbox.release("go");
    running.wait(SOON);
}

#[test]
fn only_the_user_changes_a_plan_and_only_one_in_the_project() {
    if which::which("curl").is_err() {
        return skipped("a request of an agent: curl is not installed");
    }
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let request = r#"--json '{"type":"add","task":"More work"}' http://ralph/plan/file"#;
    let socket = sandbox.paths().socket();
    sandbox.install(&Script::jsonl(&format!(
        "curl --silent --unix-socket '{}' {request} > \"$HOME/answer\"; work; over Done.",
        socket.display()
    )));
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    let answer = sandbox.read_home("answer").expect("an answer");
    assert!(answer.contains(r#""status":403"#), "{answer}");

    let server = web(&sandbox);
    let served = serving(&server, &sandbox, &[]);
    let run = sandbox.paths().run_ids().remove(0).0;
    let route = format!("/runs/{run}/plan/file");
    let looks = sandbox.ralph(["token", "--web", "--read-only"]).run(SOON);
    let looking = Http::for_address(&served.base, looks.stdout.trim());
    let http = Http::for_address(&served.base, &served.token);
    let add = json!({"type": "add", "task": "More work"});
    assert_eq!(looking.post(&route, &add).status, 403);
    assert_eq!(looking.get(&route).json()["tasks"][0]["text"], "Task 1");
    let two = http.post(&route, &json!({"type": "add", "task": "a\nb"}));
    assert!(two.status == 409 && two.text().contains("one line"), "{}", two.text());
    let added = http.post(&route, &add);
    assert_eq!(added.json()["tasks"][1]["text"], "More work", "{}", added.text());

    std::fs::remove_file(sandbox.project().join("PLAN.md")).expect("a plan");
    std::fs::write(sandbox.home().join("plan.md"), "- [ ] Elsewhere\n").expect("a file");
    std::os::unix::fs::symlink(sandbox.home().join("plan.md"), sandbox.project().join("PLAN.md")).expect("a link");
    let outside = http.post(&route, &add);
    assert!(
        outside.status == 409 && outside.text().contains("outside of the project"),
        "{}",
        outside.text()
    );
    assert_eq!(sandbox.read_home("plan.md").as_deref(), Some("- [ ] Elsewhere\n"));
}
