//! The scenarios.

use super::{Reported, VandalScenario};
use crate::harness::Script;

/// A short cooldown: the default is half an hour.
pub(super) const QUICK: &str = r#"{ "breaker": { "cooldown": "100ms" } }"#;
/// A goal that passes once `real.txt` exists.
pub(super) const GOAL: &str =
    r#"{ "breaker": { "cooldown": "100ms" }, "goals": [ { "name": "real", "command": "test -f real.txt" } ] }"#;

/// Ticks every box and does nothing else.
pub(super) const TICK_ALL: &str = r#"sed -i 's/- \[ \]/- [x]/' "$RALPH_PLAN""#;
/// A rate-limit signal whose limit ends an hour from now, in milliseconds.
const LIMITED: &str =
    r#"failed "{\"kind\":\"rate-limited\",\"untilMs\":$(($(date +%s) * 1000 + 3600000))}" "too many requests""#;

pub(super) fn jsonl(
    name: &'static str,
    body: &str,
    code: i32,
    iterations: u32,
    because: &'static str,
) -> VandalScenario {
    VandalScenario {
        name,
        script: Script::jsonl(body),
        plan: "- [ ] Task 1\n- [ ] Task 2\n",
        config: QUICK,
        args: &["--max-iterations", "20"],
        code: Some(code),
        iterations,
        because,
        never: "nothing",
        reported: Reported::Yes,
        quota_blocks: None,
    }
}

pub(super) fn terminal(
    name: &'static str,
    body: &str,
    code: i32,
    iterations: u32,
    because: &'static str,
) -> VandalScenario {
    VandalScenario {
        script: Script::terminal(body),
        ..jsonl(name, body, code, iterations, because)
    }
}

/// Every scenario, one row each.
pub(super) fn all() -> Vec<VandalScenario> {
    let mut all = lies();
    all.extend(stalls());
    all.extend(vandals());
    all
}

fn lies() -> Vec<VandalScenario> {
    vec![
        jsonl(
            "claims done with open tasks",
            "touch .ralph-done; over \"$(promise)\"",
            7,
            6,
            "BreakerOpen",
        ),
        terminal(
            "echoes the prompt with its nonce",
            "printf '%s\\n' \"$prompt\"",
            7,
            6,
            "BreakerOpen",
        ),
        VandalScenario {
            config: GOAL,
            ..jsonl(
                "ticks boxes while a goal fails",
                &format!("{TICK_ALL}; over \"$(promise)\""),
                7,
                8,
                "BreakerOpen",
            )
        },
        VandalScenario {
            config: GOAL,
            ..jsonl(
                "mends what the goal found",
                "[ $n = 3 ] && touch real.txt; work; over ok",
                0,
                3,
                "proof: ExitCodes",
            )
        },
        jsonl(
            "deletes the plan",
            "rm PLAN.md; over \"$(promise)\"",
            7,
            7,
            "BreakerOpen",
        ),
        jsonl(
            "empties the plan",
            ": > PLAN.md; over \"$(promise)\"",
            8,
            2,
            "does not put them back: Task 1; Task 2",
        ),
        jsonl(
            "takes open tasks out of the plan",
            "printf -- '- [x] Task 1\\n' > PLAN.md; over \"$(promise)\"",
            8,
            2,
            "does not put them back: Task 2",
        ),
        VandalScenario {
            args: &["--max-iterations", "6"],
            ..jsonl(
                "adds tasks for ever",
                "work; echo \"- [ ] More of iteration $n\" >> PLAN.md; over ok",
                6,
                6,
                "MaxIterations",
            )
        },
        jsonl(
            "says rate limit in ordinary text",
            "said 'HTTP 429: rate limit exceeded, resets 6pm'; work; over 'You have hit your usage limit.'",
            0,
            2,
            "Done",
        ),
        jsonl(
            "is blocked on one task",
            "if [ $n = 1 ]; then over '---RALPH_STATUS---\\nSTATUS: BLOCKED\\nREASON: which key?\\n---END_RALPH_STATUS---'; \
             else sed -i 's/- \\[ \\] Task 2/- [x] Task 2/' PLAN.md; over ok; fi",
            8,
            2,
            "which key?",
        ),
    ]
}

fn stalls() -> Vec<VandalScenario> {
    vec![
        jsonl("changes nothing", "over 'Nothing to do.'", 7, 6, "BreakerOpen"),
        jsonl(
            "toggles one file",
            "if [ -f t ]; then rm t; else echo t > t; fi; over ok",
            7,
            8,
            "BreakerOpen",
        ),
        jsonl(
            "fails in the same way",
            "failed '{\"kind\":\"other\"}' \"broken at step $n\"",
            7,
            11,
            "BreakerOpen",
        ),
        VandalScenario {
            args: &["--max-iterations", "12"],
            ..jsonl(
                "fails each time differently",
                "w=$(echo $n | tr 0-9 a-j); failed '{\"kind\":\"other\"}' \"broken by $w\"",
                6,
                12,
                "MaxIterations",
            )
        },
        jsonl("exits at once", "exit 0", 7, 11, "BreakerOpen"),
        terminal("exits at once, without messages", "exit 0", 7, 6, "BreakerOpen"),
        VandalScenario {
            args: &["--idle-timeout", "300ms", "--max-iterations", "20"],
            ..jsonl("hangs without a word", "exec sleep 600", 7, 11, "BreakerOpen")
        },
        VandalScenario {
            args: &["--idle-timeout", "2s"],
            ..jsonl(
                "is silent but busy",
                "\"$FAKE_AGENT\" 'cpu 3500'; work; over ok",
                0,
                2,
                "Done",
            )
        },
        VandalScenario {
            args: &["--iteration-timeout", "2s", "--max-iterations", "4"],
            ..jsonl(
                "ignores every signal",
                "trap '' INT TERM HUP; [ $n = 1 ] && while :; do sleep 600; done; work; over ok",
                0,
                3,
                "Done",
            )
        },
        VandalScenario {
            args: &["--max-time", "3s"],
            ..jsonl("is limited for an hour", LIMITED, 6, 1, "MaxTime")
        },
        jsonl(
            "overflows its context",
            "[ $n = 1 ] && { failed '{\"kind\":\"context-overflow\"}' 'too long'; exit 1; }; work; over ok",
            0,
            3,
            "Done",
        ),
        jsonl(
            "asks through its own channel",
            r#"echo '{"type":"question-asked","id":"1","text":"Which colour?"}'; over 'I could not go on.'"#,
            8,
            2,
            "Which colour?",
        ),
        jsonl(
            "asks a question",
            "over 'Which of the two do you want?'",
            8,
            2,
            "Which of the two",
        ),
    ]
}

fn vandals() -> Vec<VandalScenario> {
    vec![
        terminal("floods", "\"$FAKE_AGENT\" 'flood 20000000'; work", 0, 2, "Done"),
        jsonl(
            "deletes .git",
            "rm -rf .git; sed -i '0,/- \\[ \\]/s//- [x]/' PLAN.md; over ok",
            1,
            1,
            "RepositoryLost",
        ),
        jsonl(
            "resets what it did",
            "echo x > x; git add -A; git commit -qm x; git reset --quiet --hard HEAD~1; over ok",
            7,
            7,
            "BreakerOpen",
        ),
        VandalScenario {
            args: &["--max-iterations", "5"],
            ..jsonl(
                "commits garbage",
                "date +%N > garbage; git add -A; git commit -qm garbage; over ok",
                6,
                5,
                "MaxIterations",
            )
        },
        VandalScenario {
            config: GOAL,
            args: &["--max-iterations", "3"],
            ..jsonl(
                "rewrites the configuration",
                "mkdir -p .ralph; echo '{ \"goals\": [], \"limits\": { \"maxIterations\": \"unlimited\" } }' > .ralph/config.json; \
                 date +%N > f; sed -i 's/- \\[ \\]/- [x]/' PLAN.md; over \"$(promise)\"",
                6,
                3,
                "MaxIterations",
            )
        },
        VandalScenario {
            quota_blocks: Some(100),
            ..jsonl(
                "fills the state directory",
                "i=0; while [ $i -lt 4000 ]; do said \"$(printf '%0200d' $i)\"; i=$((i + 1)); done; sleep 600",
                1,
                1,
                "journal",
            )
        },
    ]
}
