//! The forge is down, slow, limited or refuses; ralph is killed at any step. Nothing is lost, and nothing is there twice.

use std::{fs, thread};

use super::{
    Shop,
    stand_in::{Fault, Pull, TOKEN},
};
use crate::harness::{SOON, running::Running, wait_until};

const WORKER: &str = r#"
if open 'Pull request'; then echo changed >> "$plan.txt"; else echo "$plan" > "$plan.txt"; fi
tick; commit "Work of $plan"; over done"#;

fn pull_of(shop: &Shop, plan: &str) -> Pull {
    wait_until(SOON, "a pull request", || shop.forge.pull_of(plan))
}

fn is_watched(running: &Running) {
    running.wait_for_line(SOON, |line| line.contains("pull request https://"));
}

/// Merges the only pull request and waits for the end.
fn assert_merged_once(shop: &Shop, running: Running) {
    let pull = pull_of(shop, "issue-42");
    wait_until(SOON, "a look", || (shop.forge.count("query Request") > 0).then_some(()));
    shop.forge.merge(&pull);
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(shop.forge.pulls().len(), 1, "{:?}", shop.forge.requests());
    assert!(shop.forge.has_failed(), "{:?}", shop.forge.requests());
}

#[test]
fn a_forge_that_is_down_limited_or_in_trouble_is_asked_again() {
    let Some(shop) = Shop::new(WORKER) else { return };
    shop.forge.add_issue(42, "Stock", "", &[]);
    for (text, fault) in [
        ("GET /repos/team/shop/pulls?state=all", Fault::Silence),
        (
            "GET /repos/team/shop/pulls?state=all",
            Fault::Answer(403, "retry-after: 1\r\n", "{}"),
        ),
        ("POST /repos/team/shop/pulls", Fault::Answer(502, "", "<html>")),
        // The pull request is there, and ralph does not know.
        ("POST /repos/team/shop/pulls", Fault::DoneInSilence),
        (
            "query Request",
            Fault::Answer(200, "", r#"{"errors": [{"type": "RATE_LIMITED"}]}"#),
        ),
    ] {
        shop.forge.fail_next(text, fault);
    }
    let running = shop.take("42 --deliver pr").start();
    running.wait_for_line(SOON, |line| {
        line.contains("waits for the forge: github.com does not answer")
    });
    running.wait_for_line(SOON, |line| {
        line.contains("waits for the forge: github.com allows no more requests")
    });
    running.wait_for_line(SOON, |line| {
        line.contains("waits for the forge: github.com has its own trouble (HTTP 502)")
    });
    is_watched(&running);
    running.wait_for_line(SOON, |line| line.contains("issue-42: the forge answers again"));
    assert_merged_once(&shop, running);
}

#[test]
fn half_an_answer_and_one_of_a_stranger_are_asked_for_again_and_open_nothing_twice() {
    let Some(shop) = Shop::new(WORKER) else { return };
    shop.forge.add_issue(42, "Stock", "", &[]);
    for (text, fault) in [
        ("GET /repos/team/shop/pulls?state=all", Fault::DoneByHalf),
        (
            "GET /repos/team/shop/pulls?state=all",
            Fault::Answer(429, "retry-after: 1\r\n", ""),
        ),
        (
            "GET /repos/team/shop/pulls?state=all",
            Fault::Answer(200, "", "<html>login</html>"),
        ),
        ("POST /repos/team/shop/pulls", Fault::Answer(500, "", "{}")),
        ("POST /repos/team/shop/pulls", Fault::DoneByHalf),
        ("query Request", Fault::DoneByHalf),
        ("query Request", Fault::Answer(504, "", "")),
    ] {
        shop.forge.fail_next(text, fault);
    }
    let running = shop.take("42 --deliver pr").start();
    is_watched(&running);
    assert_merged_once(&shop, running);
}

#[test]
fn a_token_that_expires_leaves_the_plan_and_a_new_one_goes_on() {
    let Some(shop) = Shop::new(WORKER) else { return };
    shop.forge.add_issue(42, "Stock", "", &[]);
    let running = shop.take("42 --deliver pr").start();
    is_watched(&running);
    shop.log_in("expired");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let line = "`gh auth refresh --hostname github.com`, then `ralph many resume`";
    assert!(finished.stdout.contains(line), "{finished:?}");
    shop.log_in(TOKEN);
    let running = shop.ralph("many resume --headless").start();
    is_watched(&running);
    assert_merged_once(&shop, running);
}

#[test]
fn a_branch_that_somebody_else_pushed_to_is_left_alone() {
    let Some(shop) = Shop::new(WORKER) else { return };
    shop.forge.add_issue(42, "Stock", "", &[]);
    let running = shop.take("42 --deliver pr").start();
    is_watched(&running);
    let pull = pull_of(&shop, "issue-42");
    let theirs = shop
        .sandbox
        .git(["commit-tree", "-p", "HEAD", "-m", "Theirs", "HEAD^{tree}"]);
    let refspec = format!("+{}:refs/heads/{}", theirs.trim(), pull.head);
    shop.sandbox.git(["push", "--quiet", "origin", &refspec]);
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.contains("somebody else has pushed to"), "{finished:?}");
    let again = shop.ralph("many resume --headless").run(SOON);
    assert!(again.stdout.contains("was moved by somebody else"), "{again:?}");
    assert_eq!(shop.forge.head(&pull), theirs.trim(), "their commit stays");
}

#[test]
fn a_push_that_is_refused_says_why_and_loses_nothing() {
    let Some(shop) = Shop::new(WORKER) else { return };
    shop.forge.add_issue(42, "Stock", "", &[]);
    let hook = shop.forge.bare.join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let finished = shop.take("42 --deliver pr").run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.contains("the remote refuses `ralph/"), "{finished:?}");
    assert!(finished.stdout.contains("pre-receive hook declined"), "{finished:?}");
    fs::remove_file(&hook).unwrap();
    let running = shop.ralph("many resume --headless").start();
    is_watched(&running);
    assert_merged_once(&shop, running);
}

/// Kills ralph at the moment of a request, resumes it, and expects one pull request and one answer.
fn killed_at(text: &str) {
    let Some(shop) = Shop::new(WORKER) else { return };
    shop.forge.add_issue(42, "Stock", "", &[]);
    let mut running = Some(shop.take("42 --deliver pr").start());
    let mut asked = None;
    let mut is_killed = false;
    let answered = wait_until(SOON, "an answered thread", || {
        if !is_killed && shop.forge.count(text) > 0 {
            is_killed = true;
            let killed = running.take()?;
            killed.kill();
            killed.wait(SOON);
            running = Some(shop.ralph("many resume --headless").start());
        }
        let pull = shop.forge.pull_of("issue-42")?;
        // A push that is not recorded yet is no delivery: the comment comes after the first look.
        if asked.is_none() && shop.forge.count("query Request") > 0 {
            asked = Some(shop.forge.comment(&pull, "OWNER", "Change it"));
        }
        let thread = pull.threads.into_iter().next()?;
        thread.resolved.then_some(thread)
    });
    assert!(is_killed, "{text}: {:?}", shop.forge.requests());
    assert_eq!(answered.comments.len(), 2, "{text}: {answered:?}");
    assert_merged_once(&shop, running.expect("it was resumed"));
    let again = shop.forge.pull_of("issue-42").unwrap();
    assert_eq!(again.threads[0].comments.len(), 2, "{text}: {again:?}");
}

#[test]
fn killed_at_any_step_there_is_one_pull_request_and_one_answer() {
    let steps = [
        "GET /repos/team/shop/pulls?state=all",
        "POST /repos/team/shop/pulls",
        "query Request",
        "query Thread",
        "mutation Answer",
        "mutation Resolve",
    ];
    // Each of them mostly waits.
    thread::scope(|scope| {
        for step in steps {
            scope.spawn(move || killed_at(step));
        }
    });
}
