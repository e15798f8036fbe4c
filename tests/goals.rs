//! Goals, as they are configured and run by the real binary.

use ralph_core::event::{
    BreakerCause, BreakerState, Event, Exit, GateEvent, GoalFailure, GoalSince, Proof, RunEvent, StopReason,
};

use crate::harness::{SOON, Sandbox, Script, events};

#[test]
fn a_goal_of_the_command_line_is_run_on_a_claim_and_its_output_is_in_the_next_prompt() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "work; if [ $n = 3 ]; then touch proof; git add --all; git commit --quiet --message Proof; fi; over Ready.",
    ));
    let goal = "proof=test -e proof || { echo 'no proof here'; false; }";
    let finished = sandbox.looping(["--goal", goal]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let checked: Vec<(u32, bool)> = events(&records)
        .filter_map(|event| match event {
            Event::Gate(GateEvent::GoalChecked { iteration, result }) => Some((*iteration, result.passed)),
            _ => None,
        })
        .collect();
    assert_eq!(checked, [(2, false), (3, true)]);
    let prompt = sandbox.prompt(3);
    assert!(
        prompt.contains("goal `proof` did not pass") && prompt.contains("no proof here"),
        "{prompt}"
    );
    let end = records.last().map(|record| &record.event);
    assert!(
        matches!(
            end,
            Some(Event::Run(RunEvent::Stopped {
                reason: StopReason::Done {
                    proof: Proof::ExitCodes,
                    ..
                },
                ..
            }))
        ),
        "{end:?}"
    );
}

/// A project whose goal runs `command`. Its only task is ticked in the first iteration; each iteration changes a file.
fn busy_on_a_goal(command: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let config =
        format!(r#"{{ "breaker": {{ "sameError": 2 }}, "goals": [{{ "name": "tests", "command": "{command}" }}] }}"#);
    sandbox.write(".ralph/config.json", &config);
    sandbox.install(&Script::jsonl("[ $n = 1 ] && work; echo $n > attempt; over ok"));
    sandbox
}

#[test]
fn a_goal_that_fails_the_same_way_at_each_claim_is_stuck_although_files_change() {
    let sandbox = busy_on_a_goal("echo 2 tests failed in 0.0$(cat attempt)s; exit 101");
    let finished = sandbox.looping(["--max-iterations", "9"]).run(SOON);
    assert_eq!(finished.code(), Some(7), "{finished:?}");
    let records = finished.records();
    let cause = |iterations| BreakerCause::SameGoalFailure {
        goal: "tests".into(),
        why: Some(GoalFailure::Exited {
            exit: Exit::Code { code: 101 },
        }),
        iterations,
        since: GoalSince::Unknown,
    };
    let moves: Vec<_> = events(&records)
        .filter_map(|event| match event {
            Event::BreakerMoved { to, why } => Some((*to, why.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        moves,
        [(BreakerState::HalfOpen, cause(2)), (BreakerState::Open, cause(4))]
    );
    let prompt = sandbox.prompt(3);
    assert!(
        prompt.contains("Goal `tests` has failed in the same way after each of the last 2 sessions"),
        "{prompt}"
    );
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    for line in [
        "\nSTOPPED: goal `tests` still fails (exit code 101), 4 times: it has never passed · ",
        "hint: run `ralph goals check` to see what `tests` prints",
        "    4  refused ",
    ] {
        assert!(report.contains(line), "{line} is not in {report}");
    }
}

#[test]
fn a_goal_that_fails_in_fewer_places_each_time_is_not_stuck() {
    let sandbox = busy_on_a_goal("echo $((9 - $(cat attempt))) tests failed; exit 101");
    let finished = sandbox.looping(["--max-iterations", "5"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let moved = |event: &Event| matches!(event, Event::BreakerMoved { .. });
    assert!(!events(&finished.records()).any(moved), "{finished:?}");
}

#[test]
fn a_plan_without_tasks_is_taken_with_a_goal_and_refused_without() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "# Make proof\n\nThere has to be a file `proof`.\n");
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox.install(&Script::jsonl("[ $n = 2 ] && touch proof; over \"$(promise)\""));
    let refused = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("--goal") && refused.stderr.contains("--promise"),
        "{}",
        refused.stderr
    );
    let finished = sandbox.looping(["--goal", "proof=test -e proof"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        sandbox
            .prompt(1)
            .contains("the plan describes the work without a task list"),
        "{}",
        sandbox.prompt(1)
    );
}

#[test]
fn goals_check_runs_the_goals_alone_and_shows_the_end_of_what_failed() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".ralph/config.json",
        r#"{ "goals": [
            { "name": "good", "command": "echo fine" },
            { "name": "bad", "command": "echo here it breaks; exit 7" },
            { "name": "score", "command": "echo 71 %", "target": 80 },
        ] }"#,
    );
    let finished = sandbox.ralph(["goals", "check"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let shown = &finished.stdout;
    assert!(shown.contains("✔ good passed in "), "{shown}");
    assert!(shown.contains(": exit code 7\n  │ here it breaks\n"), "{shown}");
    assert!(shown.contains(": 71 is below 80\n"), "{shown}");
    assert!(
        shown.ends_with("1 of 3 goals passed\n") && !shown.contains("fine"),
        "{shown}"
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn a_goal_runs_in_its_workspace_and_one_that_is_off_is_listed_and_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write("services/api/proof", "there\n");
    sandbox.write(
        ".ralph/config.json",
        r#"{ "goals": [
            { "name": "api", "command": "cat proof", "workspace": "services/api", "description": "the API works" },
            { "name": "gone", "command": "true", "workspace": "services/web" },
            { "name": "slow", "command": "false", "enabled": false },
        ] }"#,
    );
    std::os::unix::fs::symlink("/", sandbox.project().join("out")).expect("a link");
    let listed = sandbox.ralph(["goals"]).run(SOON).stdout;
    assert_eq!(
        listed,
        "api   cat proof  in services/api\n      the API works\ngone  true  in services/web (no such directory)\n\
         slow  false  off\n`ralph goals check` runs them once\n"
    );
    let checked = sandbox.ralph(["goals", "check"]).run(SOON);
    assert_eq!(checked.code(), Some(1), "{checked:?}");
    let shown = &checked.stdout;
    assert!(shown.contains("✔ api passed in "), "{shown}");
    assert!(
        shown.contains(": its workspace `services/web` is not a directory of the project\n"),
        "{shown}"
    );
    assert!(shown.ends_with("1 of 2 goals passed\n"), "{shown}");
    let leads_out = r#"{ "goals": [{ "name": "out", "command": "true", "workspace": "out" }] }"#;
    sandbox.write(".ralph/config.json", leads_out);
    let checked = sandbox.ralph(["goals", "check"]).run(SOON).stdout;
    assert!(
        checked.contains(": its workspace `out` is outside of the project\n"),
        "{checked}"
    );
}

#[test]
fn goals_check_is_content_when_all_pass_and_says_what_to_do_without_goals() {
    let sandbox = Sandbox::new();
    let finished = sandbox.ralph(["--goal", "one=true", "goals", "check"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let finished = sandbox.ralph(["goals", "check"]).run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    assert!(
        finished
            .stderr
            .starts_with("error: there are no goals to check\nhint: "),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_goal_that_takes_too_long_is_ended_with_its_processes() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".ralph/config.json",
        r#"{ "goals": [{ "name": "slow", "command": "sleep 600 & sleep 600", "timeout": "300ms" }] }"#,
    );
    let finished = sandbox.ralph(["goals", "check"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.contains("timed out after 0.3s"), "{}", finished.stdout);
    sandbox.assert_nothing_runs();
}

#[test]
fn an_adapter_to_fall_back_on_that_is_not_installed_is_left_out_and_an_unknown_one_refused() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let missing = "id = \"missing\"\ndialect = \"terminal\"\n[command]\nprogram = \"no-such-agent\"\nargs = []\nprompt = \"stdin\"\n";
    sandbox.install_adapter("missing", missing);
    let finished = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_FALLBACK", "missing")
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        finished
            .stdout
            .contains(r#"{"code":"fallback-missing","level":"warning","text":"`missing` of `fallback`"#),
        "{}",
        finished.stdout
    );
    // A finished plan would start no run.
    sandbox.write("PLAN.md", "# Plan\n\n- [ ] One more\n");
    let refused = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_FALLBACK", "nobody")
        .run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(refused.stderr.contains("`nobody`"), "{}", refused.stderr);
}

#[test]
fn variables_of_a_git_hook_reach_no_agent_goal_or_command() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        r#"env > "$HOME/agent.env"; unset GIT_DIR GIT_INDEX_FILE; work; work; over done"#,
    ));
    let config = r#"{"notify": "env > \"$HOME/notify.env\""}"#;
    std::fs::write(sandbox.config().join("ralph/config.json"), config).expect("the user's configuration");
    let finished = sandbox
        .looping(["--goal", "env=env > \"$HOME/goal.env\""])
        .env("GIT_DIR", sandbox.home().join("other.git"))
        .env("GIT_INDEX_FILE", "/nowhere/index")
        .env("GIT_PREFIX", "sub/")
        .env("GIT_SSH_COMMAND", "ssh -v")
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for told in ["agent.env", "goal.env", "notify.env"] {
        let env = sandbox.read_home(told).expect("it ran");
        let points_elsewhere = |line: &&str| {
            ["GIT_DIR=", "GIT_INDEX_FILE=", "GIT_PREFIX="]
                .iter()
                .any(|name| line.starts_with(name))
        };
        assert_eq!(env.lines().find(points_elsewhere), None, "{told}");
        assert!(env.contains("GIT_SSH_COMMAND=ssh -v"), "{told}: {env}");
    }
    assert_eq!(sandbox.commits(), 3);
}

#[test]
fn a_goal_has_the_terminal_variables_of_its_user_and_its_output_has_no_colours() {
    let goal = "see=echo \"$TERM ${NO_COLOR-none} ${COLORTERM-none}\"; test ! -t 1 && test ! -t 2 && echo piped; \
                printf '\\033[32mgreen\\033[0m\\n' >&2; printf 'no end'; exit 1";
    for (given, said) in [
        (&[("TERM", "screen")][..], "screen none none"),
        (
            &[("TERM", "vt220"), ("NO_COLOR", "1"), ("COLORTERM", "24bit")],
            "vt220 1 24bit",
        ),
        (&[("TERM", "dumb")], "dumb none none"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.plan(1);
        sandbox.install(&Script::worker());
        let program = sandbox.looping(["--goal", goal, "--max-iterations", "1"]);
        let program = given
            .iter()
            .fold(program, |program, (name, value)| program.env(name, value));
        let finished = program.run(SOON);
        let records = finished.records();
        let tail = events(&records).find_map(|event| match event {
            Event::Gate(GateEvent::GoalChecked { result, .. }) => Some(result.tail.to_string()),
            _ => None,
        });
        assert_eq!(
            tail.as_deref(),
            Some(&*format!("{said}\npiped\ngreen\nno end\n")),
            "{finished:?}"
        );
    }
}
