//! Comments on lines of the work: drafts, messages, and ends that wait for them.

use ralph_core::{
    event::{ClaimEvent, CommentAuthor, Event, Missing, Record, StopReason},
    run::{Comment, CommentState, RunView},
};

use crate::harness::{SOON, Sandbox, Script, events, running::Finished};

const SOURCE: &str = "fn one() {\n    first();\n}\n\nfn two() {\n    second();\n    third();\n}\n";

/// Ticks the first open task once it is told to go on, after `changes`, a case for each iteration.
fn worker(changes: &str) -> Script {
    Script::jsonl(&format!(
        "said \"ready $n\"; await go-$n\ncase $n in\n{changes}\nesac\nwork; over \"${{last:-Ready.}}\""
    ))
}

fn sandbox(changes: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", SOURCE);
    sandbox.write("PLAN.md", "- [ ] Write\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Start"]);
    sandbox.install(&worker(changes));
    sandbox
}

#[track_caller]
fn comment(sandbox: &Sandbox, args: &[&str]) -> Finished {
    let done = sandbox.ralph(["comment"]).args(args).run(SOON);
    assert_eq!(done.code(), Some(0), "{args:?}: {done:?}");
    done
}

#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], why: &str) {
    let done = sandbox.ralph(["comment"]).args(args).run(SOON);
    assert!(
        done.code() != Some(0) && done.stderr.contains(why),
        "{args:?}: {done:?}"
    );
}

fn comments(sandbox: &Sandbox) -> Vec<Comment> {
    RunView::of(&sandbox.journal()).comments.list
}

fn refusals(records: &[Record]) -> Vec<u32> {
    let open = events(records).filter_map(|event| match event {
        Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(reasons.to_vec()),
        _ => None,
    });
    let open = open.flatten().filter_map(|reason| match reason {
        Missing::CommentOpen { comment, .. } => Some(comment),
        _ => None,
    });
    open.collect()
}

fn release(sandbox: &Sandbox, iterations: std::ops::RangeInclusive<u32>) {
    iterations.for_each(|n| sandbox.release(&format!("go-{n}")));
}

#[test]
fn an_open_comment_keeps_the_run_from_ending_until_an_iteration_changes_its_lines() {
    let sandbox = sandbox("3) sed -i 's/second()/better()/' src/a.rs;;");
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready 1\""));
    let written = comment(&sandbox, &["src/a.rs:6", "Name", "it"]);
    assert!(
        written.stdout.contains("comment 1 on src/a.rs:6 is a draft"),
        "{written:?}"
    );
    comment(&sandbox, &["src/a.rs:1-3", "Drop this"]);
    comment(&sandbox, &["--withdraw", "2"]);
    comment(&sandbox, &["--edit", "1", "Name it better"]);
    let sent = comment(&sandbox, &["--send"]);
    assert!(sent.stdout.contains("1 comment sent in one message"), "{sent:?}");
    refused(&sandbox, &["--send"], "there is no draft to send");
    refused(&sandbox, &["--withdraw", "1"], "sent already");
    release(&sandbox, 1..=3);
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");

    let prompt = sandbox.prompt(2);
    for text in [
        "Comment 1 on src/a.rs:6, checkpoint ",
        ">     second();",
        "Name it better",
    ] {
        assert!(prompt.contains(text), "{text}: {prompt}");
    }
    let told = "comment 1 on src/a.rs:6 is open (Name it better): change these lines, or say why they stay";
    assert!(sandbox.prompt(3).contains(told), "{}", sandbox.prompt(3));
    let records = sandbox.journal();
    assert_eq!(refusals(&records), [1, 1], "after the first and the second iteration");
    assert_eq!(comments(&sandbox)[0].state(), CommentState::Changed { iteration: 3 });
    let listed = comment(&sandbox, &[]);
    assert!(
        listed.stdout.contains("1  src/a.rs:6  changed in iteration 3"),
        "{listed:?}"
    );
}

#[test]
fn a_comment_follows_its_lines_through_edits_a_rename_and_the_death_of_ralph() {
    let sandbox = sandbox(
        "2) sed -i '1i use std::fmt;' src/a.rs; echo 'fn last() {}' >> src/a.rs;;\n\
         3) git mv src/a.rs src/b.rs;;\n\
         4) sed -i 's/third();/fourth();/' src/b.rs;;",
    );
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready 1\""));
    comment(&sandbox, &["src/a.rs:7", "Count on"]);
    running.kill();
    _ = running.wait(SOON);
    assert_eq!(
        comments(&sandbox)[0].state(),
        CommentState::Draft,
        "it survives the death of ralph"
    );

    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready 2\""));
    comment(&sandbox, &["--send"]);
    release(&sandbox, 2..=3);
    running.wait_for_line(SOON, |line| line.contains("\"ready 4\""));
    let found = &comments(&sandbox)[0];
    assert_eq!(
        (&*found.file, found.line, found.state()),
        ("src/b.rs", 8, CommentState::Open)
    );
    sandbox.release("go-4");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let found = &comments(&sandbox)[0];
    assert_eq!(
        (&*found.file, found.state()),
        ("src/b.rs", CommentState::Changed { iteration: 4 })
    );
}

#[test]
fn a_reason_ends_the_run_blocked_and_the_user_resolves_the_comment() {
    let sandbox = sandbox("2) last='I looked.\\nRALPH COMMENT 1: the API needs it';;");
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready 1\""));
    comment(&sandbox, &["src/a.rs:2", "Drop it", "--send"]);
    release(&sandbox, 1..=3);
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(8), "{finished:?}");
    let question = "src/a.rs:2: the API needs it".into();
    let end = RunView::of(&sandbox.journal()).stop_reason().cloned();
    assert_eq!(end, Some(StopReason::Blocked { question }));
    let listed = comment(&sandbox, &[]).stdout;
    assert!(
        listed.contains("answered, not resolved") && listed.contains("in iteration 2: the API needs it"),
        "{listed}"
    );
    comment(&sandbox, &["--resolve", "1"]);
    refused(&sandbox, &["--resolve", "1"], "comment 1 is resolved already");
    let continued = sandbox.ralph(["continue", "--headless"]);
    let continued = continued.env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent")).run(SOON);
    assert_eq!(continued.code(), Some(0), "{continued:?}");
    assert_eq!(comments(&sandbox)[0].state(), CommentState::Resolved);
}

#[test]
fn comments_on_an_ended_run_resume_it_and_outdated_ones_say_so() {
    let sandbox = sandbox("2) sed -i 's/second();/renamed();/' src/a.rs;;");
    sandbox.release("go-1");
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    comment(&sandbox, &["src/a.rs:6", "Name it"]);
    comment(&sandbox, &["src/a.rs:2", "And this"]);
    // The user's own edit takes the line away.
    sandbox.write("src/a.rs", &SOURCE.replace("    first();\n", "    again();\n"));
    let listed = comment(&sandbox, &[]).stdout;
    assert!(
        listed.contains("2  src/a.rs:2  draft, outdated: its lines are gone"),
        "{listed}"
    );
    assert!(listed.contains("1  src/a.rs:6  draft\n"), "{listed}");
    comment(&sandbox, &["--withdraw", "2"]);
    let sent = comment(&sandbox, &["--send"]).stdout;
    assert!(sent.contains("`ralph continue` resumes the run"), "{sent}");
    sandbox.release("go-2");
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(comments(&sandbox)[0].state(), CommentState::Changed { iteration: 2 });
}

#[test]
fn a_place_that_is_none_is_refused_with_what_to_type() {
    let sandbox = sandbox("");
    refused(&sandbox, &["src/a.rs:6", "text"], "no runs in this project yet");
    sandbox.release("go-1");
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    std::fs::write(sandbox.home().join("outside"), "secret\n").expect("a file");
    std::os::unix::fs::symlink(sandbox.home().join("outside"), sandbox.project().join("link")).expect("a link");
    for (args, why) in [
        (&["src/a.rs", "text"][..], "names no line: write FILE:LINE"),
        (&["src/a.rs:99", "text"], "it has 8 lines"),
        (&["src/a.rs:0", "text"], "it has 8 lines"),
        (&["src/a.rs:7-6", "text"], "it has 8 lines"),
        (&["src/a.rs:1-4000000000", "text"], "20 lines at most"),
        (&["src/none.rs:1", "text"], "src/none.rs: "),
        (&["link:1", "text"], "it is not in this project"),
        (&["src:1", "text"], "src: "),
        (&["src/a.rs:1"], "the comment is empty"),
        (&["--resolve", "7"], "there is no comment 7"),
    ] {
        refused(&sandbox, args, why);
    }
}

#[test]
fn findings_of_a_review_that_name_a_place_are_comments_beside_those_of_the_user() {
    let sandbox = sandbox("");
    sandbox.install_as(
        "critic",
        &Script::jsonl("over 'REVIEW: findings\\n1. src/a.rs:6: a stub\\n2. no place'"),
    );
    sandbox.release("go-1");
    sandbox.release("go-3");
    sandbox.release("go-5");
    let finished = sandbox.looping(["--review", "critic"]).run(SOON);
    assert_eq!(
        comments(&sandbox).len(),
        1,
        "the second review finds the same: {finished:?}"
    );
    let found = &comments(&sandbox)[0];
    assert_eq!(
        (&*found.file, found.line, &*found.text),
        ("src/a.rs", 6, "src/a.rs:6: a stub")
    );
    assert!(matches!(found.by, CommentAuthor::Reviewer { .. }), "{found:?}");
    assert_eq!(
        finished.code(),
        Some(0),
        "a finding keeps no run from ending: {finished:?}"
    );
    comment(&sandbox, &["src/a.rs:2", "Mine"]);
    let listed = comments(&sandbox);
    assert!(matches!(listed[0].by, CommentAuthor::Reviewer { .. }), "{listed:?}");
    let last = listed.last().expect("comments");
    assert_eq!((last.by, &*last.text), (CommentAuthor::User, "Mine"));
}
