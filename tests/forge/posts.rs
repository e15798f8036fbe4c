//! Agents propose issues and comments; ralph posts those that are let through, each once.

use std::{fs, thread};

use ralph_core::{
    event::Event,
    run::{PostState, RunView},
};
use serde_json::{Value, json};

use super::{
    Shop,
    stand_in::{Fault, TOKEN},
};
use crate::harness::{SOON, Sandbox, events, running::Running, wait_until};

const WORKER: &str = "said ready; await go; work; over done";
const ASK: &str = r#"{ "forge": { "issues": "ask", "comments": "ask" } }"#;
const ALLOW: &str = r#"{ "forge": { "issues": "allow", "comments": "allow", "commentsOn": "any",
    "repositories": ["github.com/team/shop"], "titlePrefix": "[agent]", "labels": ["bug"] } }"#;

/// A project with these settings of its user, and a plan.
fn shop(settings: &str) -> Option<Shop> {
    let shop = Shop::new(WORKER)?;
    configure(&shop.sandbox, settings);
    shop.sandbox.plan(1);
    Some(shop)
}

fn configure(sandbox: &Sandbox, settings: &str) {
    let directory = sandbox.config().join("ralph");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.json"), settings).unwrap();
}

/// Starts a run whose agent works.
fn at_work(shop: &Shop) -> Running {
    let running = shop.sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready\""));
    running
}

/// Ends the agent's work, and the run.
fn finish(shop: &Shop, running: Running) {
    shop.sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

/// Calls a tool as the agent does. Returns the reply, and whether it is a refusal.
fn call(shop: &Shop, tool: &str, arguments: &Value) -> (String, bool) {
    let call = json!({"id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let path = shop.sandbox.home().join("calls");
    fs::write(
        &path,
        format!("{{\"id\":0,\"method\":\"initialize\",\"params\":{{}}}}\n{call}\n"),
    )
    .unwrap();
    let served = shop.sandbox.ralph(["mcp"]).stdin_from(&path).run(SOON);
    let reply: Value = serde_json::from_str(served.stdout.lines().nth(1).expect("a reply")).unwrap();
    let result = &reply["result"];
    let text = result["content"][0]["text"].as_str().expect("a text");
    (text.to_owned(), result["isError"] == true)
}

#[track_caller]
fn propose(shop: &Shop, title: &str) -> String {
    let (reply, is_refused) = call(
        shop,
        "propose_issue",
        &json!({"title": title, "body": "See `src/cart.rs`, @bea."}),
    );
    assert!(!is_refused, "{reply}");
    reply
}

#[track_caller]
fn answer(shop: &Shop, words: &str) -> String {
    let done = shop.ralph(&format!("answer {words}")).run(SOON);
    assert_eq!(done.code(), Some(0), "{words}: {done:?}");
    done.stdout
}

fn state(shop: &Shop, ask: u32) -> Option<PostState> {
    let view = RunView::of(&shop.sandbox.journal());
    Some(view.posts.numbered(ask)?.state.clone())
}

fn wait_until_posted(shop: &Shop, ask: u32) {
    wait_until(SOON, "a post", || {
        matches!(state(shop, ask)?, PostState::Made { .. }).then_some(())
    });
}

#[test]
fn what_the_user_lets_through_is_posted_once_and_what_is_refused_is_not() {
    let Some(shop) = shop(ASK) else { return };
    let running = at_work(&shop);
    let reply = propose(&shop, "Prices lack VAT");
    assert!(reply.contains("proposal 1. The user decides"), "{reply}");
    propose(&shop, "Buy this");
    propose(&shop, "Later");
    let asks = shop.ralph("asks").run(SOON).stdout;
    for text in [
        "1: post this issue on https://github.com/team/shop? Prices lack VAT (`ralph answer 1 yes` posts it",
        "   | See `src/cart.rs`, @bea.\n",
        "3: post this issue",
    ] {
        assert!(asks.contains(text), "{text}: {asks}");
    }
    assert_eq!(shop.forge.opened().len(), 0, "nothing is posted before");
    let unclear = shop.ralph("answer 1 perhaps").run(SOON);
    assert!(
        unclear.code() != Some(0) && unclear.stderr.contains("`ralph answer 1 yes`"),
        "{unclear:?}"
    );
    assert!(answer(&shop, "1 yes").contains("proposal 1: ralph posts it"));
    answer(&shop, "2 no not here");
    wait_until_posted(&shop, 1);
    let (told, _) = call(&shop, "question", &json!({"ticket": 1}));
    assert!(told.contains("https://github.com/team/shop/issues/101"), "{told}");
    let (told, _) = call(&shop, "question", &json!({"ticket": 2}));
    assert!(told.contains("refused by the user: not here"), "{told}");
    // An open proposal keeps no run from ending.
    finish(&shop, running);
    let report = shop.ralph("report").run(SOON).stdout;
    assert!(
        report.contains("a decision (`ralph answer 3 yes`, or `no`)"),
        "{report}"
    );
    let again = shop.ralph("answer 1 yes").run(SOON);
    assert!(
        again.code() != Some(0) && again.stderr.contains("issues/101"),
        "{again:?}"
    );
    let late = answer(&shop, "3 yes");
    assert!(
        late.contains("proposal 3 is posted: https://github.com/team/shop/issues/102"),
        "{late}"
    );
    let opened = shop.forge.opened();
    let titles: Vec<&Value> = opened.iter().map(|issue| &issue["title"]).collect();
    assert_eq!(titles, ["Prices lack VAT", "Later"]);
    let body = opened[0]["body"].as_str().unwrap();
    assert!(
        body.starts_with("See `src/cart.rs`, @\u{2060}bea.\n\n<!-- ralph proposal "),
        "{body}"
    );
    let status = shop.ralph("status").run(SOON).stdout;
    assert!(
        status.contains("proposal 2, issue \"Buy this\": refused by the user"),
        "{status}"
    );
    shop.sandbox.assert_clean();
}

#[test]
fn a_setting_lets_posts_through_in_the_repository_that_it_names() {
    let Some(shop) = shop(ALLOW) else { return };
    shop.forge.add_issue(42, "Stock", "", &[]);
    let running = at_work(&shop);
    let arguments = json!({"title": "A", "body": "b", "labels": ["bug"]});
    let (reply, is_refused) = call(&shop, "propose_issue", &arguments);
    assert!(!is_refused && reply.contains("ralph posts it"), "{reply}");
    call(
        &shop,
        "propose_comment",
        &json!({"number": 42, "body": "Closes #42. It is counted."}),
    );
    wait_until_posted(&shop, 2);
    let opened = shop.forge.opened();
    assert_eq!(
        (&opened[0]["title"], &opened[0]["labels"][0]["name"]),
        (&json!("[agent] A"), &json!("bug"))
    );
    let comments = shop.forge.comments_on(42);
    assert!(
        comments[0].starts_with("Closes\u{2060} #42. It is counted.\n"),
        "{comments:?}"
    );
    assert!(shop.ralph("asks").run(SOON).stdout.contains("no open questions"));
    finish(&shop, running);
    assert!(!shop.forge.is_closed(42));
}

#[test]
fn an_agent_that_means_harm_gets_nothing_to_the_forge() {
    let settings =
        r#"{ "forge": { "issues": "allow", "comments": "allow", "repositories": ["github.com/other/shop"] } }"#;
    let Some(shop) = shop(settings) else { return };
    shop.forge.add_issue(42, "Stock", "", &[]);
    shop.sandbox.set_variable("SHOP_PASSWORD", "correct horse battery");
    let running = at_work(&shop);
    let refused = |tool: &str, arguments: Value, why: &str| {
        let (reply, is_refused) = call(&shop, tool, &arguments);
        assert!(is_refused && reply.contains(why), "{arguments}: {reply}");
    };
    let issue = |title: &str, body: &str| json!({"title": title, "body": body});
    let token = format!("ghp_{}", "a1B2".repeat(9));
    refused(
        "propose_issue",
        issue("A", &format!("It is {token}.")),
        "what looks like a key",
    );
    refused("propose_issue", issue(&token, "b"), "what looks like a key");
    refused(
        "propose_issue",
        issue("A", "It is correct horse battery."),
        "what looks like a key",
    );
    refused("propose_issue", issue("A", &"x".repeat(100_000)), "8192");
    refused("propose_issue", issue(&"x".repeat(300), "b"), "200");
    refused(
        "propose_issue",
        json!({"title": "A", "body": "b", "labels": ["ralph"]}),
        "no label is allowed",
    );
    refused(
        "propose_issue",
        json!({"title": "A", "body": "b", "labels": vec!["bug"; 11]}),
        "at most 10",
    );
    refused(
        "propose_comment",
        json!({"number": 42, "body": "b"}),
        "your plan is of no issue",
    );
    for n in 0..50 {
        let (reply, is_refused) = call(&shop, "propose_issue", &issue(&format!("Issue {n}"), "b"));
        assert_eq!(is_refused, n >= 3, "{n}: {reply}");
    }
    let journal = fs::read_to_string(shop.sandbox.the_run().journal()).unwrap();
    assert!(
        !journal.contains(&token) && !journal.contains("correct horse"),
        "no key is recorded"
    );
    assert_eq!(journal.matches("post-proposed").count(), 3);
    finish(&shop, running);
    // The setting names another repository, so the user would have been asked.
    assert_eq!(shop.forge.opened().len() + shop.forge.comments_on(42).len(), 0);
    assert_eq!(shop.forge.count("POST"), 0, "{:?}", shop.forge.requests());
}

#[test]
fn a_file_of_the_project_turns_nothing_on() {
    let Some(shop) = shop("{}") else { return };
    let running = at_work(&shop);
    let (reply, is_refused) = call(&shop, "propose_issue", &json!({"title": "A", "body": "b"}));
    assert!(is_refused && reply.contains("posts nothing"), "{reply}");
    finish(&shop, running);
    shop.sandbox
        .write(".ralph/config.json", r#"{ "forge": { "issues": "ask" } }"#);
    let refused = shop.ralph("--headless --adapter script --trust-project").run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("`forge.issues` cannot be set by a project"),
        "{refused:?}"
    );
}

#[test]
fn a_forge_in_trouble_is_asked_again_and_gets_each_post_once() {
    let Some(shop) = shop(ALLOW) else { return };
    for (text, fault) in [
        ("GET /repos/team/shop/issues?state=all", Fault::Silence),
        (
            "POST /repos/team/shop/issues",
            Fault::Answer(403, "retry-after: 1\r\n", "{}"),
        ),
        // The issue is there, and ralph does not know.
        ("POST /repos/team/shop/issues", Fault::DoneInSilence),
    ] {
        shop.forge.fail_next(text, fault);
    }
    let running = at_work(&shop);
    propose(&shop, "A");
    running.wait_for_line(SOON, |line| line.contains("github.com does not answer"));
    running.wait_for_line(SOON, |line| line.contains("github.com allows no more requests"));
    wait_until_posted(&shop, 1);
    finish(&shop, running);
    assert!(shop.forge.has_failed(), "{:?}", shop.forge.requests());
    assert_eq!(shop.forge.opened().len(), 1, "{:?}", shop.forge.requests());
}

#[test]
fn a_post_that_the_forge_refuses_says_why_and_is_let_through_again() {
    let Some(shop) = shop(ASK) else { return };
    shop.log_in("expired");
    let running = at_work(&shop);
    propose(&shop, "A");
    answer(&shop, "1 yes");
    running.wait_for_line(SOON, |line| line.contains("gh auth refresh --hostname github.com"));
    let asks = shop.ralph("asks").run(SOON).stdout;
    assert!(
        asks.contains("not posted yet: github.com does not accept the token"),
        "{asks}"
    );
    finish(&shop, running);
    let late = shop.ralph("answer 1 yes").run(SOON);
    assert!(
        late.code() == Some(1) && late.stderr.contains("then `ralph answer 1 yes`"),
        "{late:?}"
    );
    shop.log_in(TOKEN);
    assert!(answer(&shop, "1 yes").contains("proposal 1 is posted"));
    assert_eq!(shop.forge.opened().len(), 1);
}

#[test]
fn without_a_remote_the_answer_says_what_to_type() {
    let Some(shop) = shop(ASK) else { return };
    shop.sandbox.git(["remote", "remove", "origin"]);
    let running = at_work(&shop);
    propose(&shop, "A");
    answer(&shop, "1 yes");
    running.wait_for_line(SOON, |line| line.contains("git remote add origin"));
    finish(&shop, running);
    shop.sandbox
        .git(["remote", "add", "origin", "https://github.com/team/shop.git"]);
    assert!(answer(&shop, "1 yes").contains("issues/101"));
}

#[test]
fn a_plan_of_an_issue_comments_on_that_issue_from_its_work_tree() {
    let Some(shop) = Shop::new("said ready; await go; tick; commit Work; over done") else {
        return;
    };
    configure(&shop.sandbox, ASK);
    shop.forge.add_issue(42, "Stock", "", &[]);
    shop.forge.add_issue(43, "Prices", "", &[]);
    let running = shop.take("42").start();
    let tree = wait_until(SOON, "a run in a work tree", || {
        let trees = shop.sandbox.git(["worktree", "list", "--porcelain"]);
        let paths = trees.lines().filter_map(|line| line.strip_prefix("worktree "));
        paths.map(str::to_owned).find(|path| path.ends_with("/issue-42"))
    });
    let tree_call = |number: u64| {
        let call = json!({"id": 1, "method": "tools/call", "params": {"name": "propose_comment", "arguments": {"number": number, "body": "b"}}});
        let path = shop.sandbox.home().join("calls");
        fs::write(
            &path,
            format!("{{\"id\":0,\"method\":\"initialize\",\"params\":{{}}}}\n{call}\n"),
        )
        .unwrap();
        let program = shop.sandbox.ralph(["mcp"]).current_dir(&tree);
        program.stdin_from(&path).run(SOON).stdout
    };
    wait_until(SOON, "an agent at work", || {
        tree_call(43)
            .contains("#42, the issue of your plan, and not on #43")
            .then_some(())
    });
    assert!(tree_call(42).contains("proposal 1"));
    let answered = shop.sandbox.ralph(["answer", "1", "yes"]).current_dir(&tree).run(SOON);
    assert_eq!(answered.code(), Some(0), "{answered:?}");
    wait_until(SOON, "a comment", || {
        (!shop.forge.comments_on(42).is_empty()).then_some(())
    });
    shop.sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(
        (shop.forge.comments_on(42).len(), shop.forge.comments_on(43).len()),
        (1, 0)
    );
}

#[test]
fn doctor_asks_the_forge_if_the_settings_use_it() {
    let Some(shop) = shop("{}") else { return };
    let doctor = || shop.ralph("doctor --format json").run(SOON).stdout;
    assert!(!doctor().contains("\"forge\""));
    configure(&shop.sandbox, ASK);
    let said = doctor();
    assert!(
        said.contains("github.com/team/shop answers, with the branch main"),
        "{said}"
    );
    shop.log_in("expired");
    assert!(doctor().contains("gh auth refresh --hostname github.com"));
}

/// Kills ralph at the moment of a request, resumes the run, and expects one issue.
fn killed_at(text: &str) {
    let Some(shop) = shop(ALLOW) else { return };
    let running = at_work(&shop);
    propose(&shop, "A");
    wait_until(SOON, "the request", || (shop.forge.count(text) > 0).then_some(()));
    running.kill();
    running.wait(SOON);
    let resumed = at_work(&shop);
    wait_until_posted(&shop, 1);
    finish(&shop, resumed);
    assert_eq!(shop.forge.opened().len(), 1, "{text}: {:?}", shop.forge.requests());
    let records = shop.sandbox.journal();
    let made = events(&records).filter(|event| matches!(event, Event::PostMade { .. }));
    assert_eq!(made.count(), 1, "{text}");
}

#[test]
fn killed_at_any_request_there_is_one_issue() {
    thread::scope(|scope| {
        for text in ["GET /repos/team/shop/issues?state=all", "POST /repos/team/shop/issues"] {
            scope.spawn(move || killed_at(text));
        }
    });
}
