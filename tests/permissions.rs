//! The rules on what agents may do, by the real binary.

use ralph_core::event::{AskEvent, Decider, Event, PermissionMode};

use crate::{
    bad_input::asking::{CHANNEL, asking, decided},
    harness::{SOON, Sandbox, Script, running::Finished},
};

const RULES: &str = r#"{
  "permissions": {
    "deny": ["Bash(git push *)", "Edit(secret/**)", "Read(~/.ssh/**)"],
    "ask": ["Bash(npm publish *)", "WebFetch(domain:example.org)"],
    "allow": ["Bash(npm run test:*)"]
  }
}"#;

fn with(rules: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".ralph/config.json", rules);
    sandbox
}

fn permissions(sandbox: &Sandbox, args: &[&str]) -> Finished {
    sandbox.ralph([&["permissions"], args].concat()).run(SOON)
}

#[test]
fn each_part_of_a_command_is_decided_by_a_rule_of_a_file() {
    let sandbox = with(RULES);
    let denied = permissions(&sandbox, &["test", "git push && ls"]);
    assert_eq!(denied.code(), Some(1), "{denied:?}");
    let lines: Vec<&str> = denied.stdout.lines().collect();
    assert!(
        lines[0].starts_with("git push  denied   `Bash(git push *)` of `deny` (")
            && lines[0].ends_with("config.json:3:14)"),
        "{}",
        denied.stdout
    );
    assert_eq!(lines[1..], ["ls        allowed  no rule; mode `auto`", "denied"]);
    let asked = permissions(&sandbox, &["test", "npm run test && npm publish"]);
    assert_eq!(asked.code(), Some(8), "{asked:?}");
    let unclear = permissions(&sandbox, &["test", "$X push"]);
    assert_eq!(unclear.code(), Some(8), "{unclear:?}");
    let allowed = permissions(&sandbox, &["test", "npm run test -- --watch"]);
    assert_eq!((allowed.code(), allowed.stderr.as_str()), (Some(0), ""), "{allowed:?}");
}

#[test]
fn own_tools_are_decided_as_a_run_does() {
    let sandbox = with(r#"{"permissions": {"mode": "ask", "deny": ["mcp__ralph__task_add"]}}"#);
    for (tool, code) in [
        ("mcp__ralph__plan", 0),
        ("mcp__ralph__task_add", 1),
        ("mcp__other__plan", 8),
    ] {
        let verdict = permissions(&sandbox, &["test", "--tool", tool]);
        assert_eq!(verdict.code(), Some(code), "{verdict:?}");
    }
}

#[test]
fn files_and_addresses_are_decided_as_they_really_are() {
    let sandbox = with(RULES);
    sandbox.write("secret/key", "");
    std::os::unix::fs::symlink(sandbox.project().join("secret"), sandbox.project().join("link")).expect("a link");
    for (args, code) in [
        (&["--tool", "Edit", "--path", "secret/key"][..], 1),
        (&["--tool", "apply_patch", "--path", "src/../secret/new"], 1),
        (&["--path", "link/key"], 1),
        (&["--path", "link/new/file"], 1),
        (&["--path", "src/main.rs"], 0),
        (&["--tool", "read_file", "--path", "~/.ssh/id_rsa"], 1),
        (&["--url", "https://example.org/x"], 8),
        (&["--url", "https://example.com/x"], 0),
        (&["--tool", "mcp__db__read"], 0),
        (&["echo x > link/key"], 1),
    ] {
        let finished = permissions(&sandbox, &[&["test"], args].concat());
        assert_eq!(finished.code(), Some(code), "{args:?} {finished:?}");
    }
}

#[test]
fn verdicts_and_rules_are_there_for_programs() {
    let sandbox = with(RULES);
    let verdict = permissions(&sandbox, &["test", "--json", "git push; eval ls"]);
    let verdict: serde_json::Value = serde_json::from_str(&verdict.stdout).expect("JSON");
    assert_eq!(verdict["decision"], "deny");
    assert_eq!(verdict["because"]["rule"], "Bash(git push *)");
    assert_eq!(verdict["parts"][1]["because"]["why"]["type"], "runs");
    let list = permissions(&sandbox, &["--json"]);
    let list: serde_json::Value = serde_json::from_str(&list.stdout).expect("JSON");
    assert_eq!((&list["mode"], &list["timeoutMs"]), (&"auto".into(), &300_000.into()));
    assert_eq!(list["ask"][0]["rule"], "Bash(npm publish *)");
}

#[test]
fn rules_of_the_user_and_the_project_are_listed_with_their_origins() {
    let sandbox = with(RULES);
    let user = sandbox.config().join("ralph").join("config.json");
    std::fs::create_dir_all(user.parent().expect("a directory")).expect("created");
    std::fs::write(&user, r#"{ "permissions": { "deny": ["Task"], "mode": "ask" } }"#).expect("written");
    let list = permissions(&sandbox, &[]);
    assert_eq!(list.code(), Some(0), "{list:?}");
    let lines: Vec<&str> = list.stdout.lines().collect();
    assert_eq!(lines[0], "mode       ask");
    assert!(
        lines[1].starts_with("deny       Task") && lines[1].contains("ralph/config.json:1:29"),
        "{lines:?}"
    );
    assert!(lines[2].starts_with("deny       Bash(git push *)"), "{lines:?}");
    assert_eq!(lines.last(), Some(&"no answer  deny after 5m"));
}

#[test]
fn a_rule_without_effect_is_refused_with_its_place_and_what_to_type() {
    for (rules, told) in [
        (
            r#"{ "deny": ["Bsah(git push)"] }"#,
            "config.json:1:29: `permissions.deny[0]`",
        ),
        (r#"{ "deny": ["Bsah(git push)"] }"#, "did you mean `Bash`?"),
        (r#"{ "deny": ["Bash(  )"] }"#, "write `Bash` for all of it"),
        (r#"{ "deny": ["git push)"] }"#, "write `Bash(git push)`"),
        (r#"{ "deny": ["Bash(src/**)"] }"#, "write `Edit(src/**)`"),
        (
            r#"{ "deny": ["Bash"], "allow": ["Bash(ls)"] }"#,
            "`Bash(ls)` can never decide: `Bash` of `permissions.deny`",
        ),
        (r#"{ "deny": ["Task", "Task"] }"#, "a second time"),
        (r#"{ "mode": "yolo" }"#, "`permissions.mode` is the text \"yolo\""),
        (r#"{ "defualt": "deny" }"#, "unknown setting `permissions.defualt`"),
    ] {
        let sandbox = with(&format!("{{ \"permissions\": {rules} }}"));
        for args in [&[][..], &["test", "ls"]] {
            let refused = permissions(&sandbox, args);
            assert_eq!(refused.code(), Some(3), "{rules} {refused:?}");
            assert!(refused.stderr.contains(told), "{rules}: {}", refused.stderr);
        }
    }
}

#[test]
fn odd_commands_get_a_verdict() {
    let sandbox = with(RULES);
    let long = format!("echo {}", "x".repeat(100_000));
    let deep = "(".repeat(5_000);
    for command in [&long, &deep, "echo \"", "ls\r\ngit push", "git\u{a0}push"] {
        let asked = permissions(&sandbox, &["test", command]);
        assert_eq!(asked.code(), Some(8), "{:.40}", asked.stdout);
        assert!(
            asked.stdout.len() < 2_000 && !asked.stdout.contains('\r'),
            "{}",
            asked.stdout
        );
    }
    let broken = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"git \xff push");
    let refused = sandbox
        .ralph(["permissions".as_ref(), "test".as_ref(), broken])
        .run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(refused.stderr.contains("is not valid UTF-8"), "{}", refused.stderr);
    for args in [
        &["test"][..],
        &["test", "--tool", "Edti", "--path", "x"],
        &["test", "--tool", "Edit", "ls"],
    ] {
        let refused = permissions(&sandbox, args);
        assert_eq!(refused.code(), Some(2), "{args:?} {refused:?}");
        assert!(
            refused.stderr.contains("hint: `ralph permissions test 'git push'`"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_run_whose_agent_cannot_be_held_to_the_rules_is_refused() {
    for (rules, told) in [
        (
            r#"{ "deny": ["Bash(git push *)", "Task"] }"#,
            "cannot enforce `Bash(git push *)` of `permissions.deny` (",
        ),
        (
            r#"{ "ask": ["WebFetch"] }"#,
            "cannot enforce `WebFetch` of `permissions.ask` (",
        ),
        (r#"{ "mode": "readonly" }"#, "cannot enforce the mode `readonly`"),
    ] {
        let sandbox = with(&format!("{{ \"permissions\": {rules} }}"));
        sandbox.install(&Script::jsonl("work; over Done."));
        let refused = sandbox.looping([] as [&str; 0]).run(SOON);
        assert_eq!(refused.code(), Some(3), "{rules} {refused:?}");
        assert!(
            refused.stderr.contains("error: adapter `") && refused.stderr.contains(told),
            "{}",
            refused.stderr
        );
    }
    let sandbox = with(r#"{ "permissions": { "allow": ["Bash(ls *)"], "onTimeout": "allow" } }"#);
    sandbox.install(&Script::jsonl("work; over Done."));
    let finished = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_ne!(finished.code(), Some(3), "{finished:?}");
}

#[test]
fn the_user_sets_the_mode_of_a_run_that_asks_and_what_waits_is_decided_anew() {
    let asks = r#"
asks "date" "first-$$"
asks "rm -f precious.txt" "second-$$"
asks "git push" "third-$$"
works
"#;
    let (sandbox, _) = asking(r#"{ "mode": "ask", "deny": ["Bash(git push *)"] }"#, asks);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    let set = sandbox.ralph(["continue", "--permission-mode", "auto"]).run(SOON);
    let told = "permission mode `auto`: requests without a matching rule are now allowed\n";
    assert_eq!((set.code(), set.stdout.as_str()), (Some(0), told), "{set:?}");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let mode = PermissionMode::Auto;
    let records = sandbox.journal();
    let decisions = decided(&records);
    let by_mode = (true, Decider::Mode { mode });
    assert_eq!(decisions[..2], [by_mode.clone(), by_mode]);
    assert!(
        matches!(decisions[2], (false, Decider::Rule { .. })),
        "rules stay what they are"
    );
    let changed = |event: &Event| *event == Event::Ask(AskEvent::PermissionModeChanged { mode });
    assert!(records.iter().any(|record| changed(&record.event)));
}

#[test]
fn a_run_that_began_in_auto_asks_from_its_next_session_on_and_until_it_is_auto_again() {
    let (sandbox, _) = asking("{}", "asks date 1\nworks\n");
    sandbox.plan(3);
    let one_way = Script::jsonl("[ $n = 1 ] && { said ready; await go; }; work; over done");
    sandbox.install(&one_way.live_over("claude-stream-json", CHANNEL));
    let set = |mode: &str| sandbox.ralph(["continue", "--permission-mode", mode]).run(SOON);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready\""));
    let tightened = set("ask");
    let told = "permission mode `ask`: requests without a matching rule are now put to you; a session that began in mode \
                `auto` goes on without asking, and `ralph skip` ends it\n";
    assert_eq!(
        (tightened.code(), tightened.stdout.as_str()),
        (Some(0), told),
        "{tightened:?}"
    );
    sandbox.release("go");
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    assert_eq!(set("auto").code(), Some(0));
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = sandbox.journal();
    let by = Decider::Mode {
        mode: PermissionMode::Auto,
    };
    // The second iteration alone asked.
    assert_eq!(decided(&records), [(true, by)]);
}

#[test]
fn a_run_whose_agent_cannot_ask_stays_in_auto() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready\""));
    let refused = sandbox.ralph(["continue", "--permission-mode", "restricted"]).run(SOON);
    assert_ne!(refused.code(), Some(0), "{refused:?}");
    assert!(
        refused.stderr.contains("cannot be told to ask now; `ralph stop`"),
        "{refused:?}"
    );
    sandbox.release("go");
    running.wait(SOON);
}
