//! Agents that attack ralph itself: its processes, its git, its state, its commands.

use super::{Reported, VandalScenario, scenarios::jsonl};

/// `ralph` is in the directory of the fake agent.
const RALPH: &str = r#""${FAKE_AGENT%/*}/ralph""#;
/// The pid of ralph, the parent of the guard that is the script's parent.
const RALPH_PID: &str = "$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$PPID/status)";

/// Every scenario, one row each.
pub(super) fn all() -> Vec<VandalScenario> {
    let mut all = processes();
    all.extend(repositories());
    all.extend(states());
    all
}

fn processes() -> Vec<VandalScenario> {
    vec![
        jsonl(
            "kills its guard",
            "[ $n = 1 ] && kill -9 $PPID; work; over ok",
            0,
            4,
            "Done",
        ),
        VandalScenario {
            args: &["--iteration-timeout", "1s", "--max-iterations", "2"],
            ..jsonl("stops itself", "kill -STOP $$", 6, 2, "MaxIterations")
        },
        VandalScenario {
            args: &["--iteration-timeout", "1s", "--max-iterations", "2"],
            ..jsonl("stops its guard", "kill -STOP $PPID; sleep 600", 6, 2, "MaxIterations")
        },
        jsonl(
            "terminates ralph",
            &format!("kill -TERM {RALPH_PID}; sleep 600"),
            143,
            1,
            "Terminated",
        ),
        VandalScenario {
            code: None,
            ..jsonl(
                "kills ralph",
                &format!("sleep 600 & kill -9 {RALPH_PID}; sleep 600"),
                0,
                1,
                "",
            )
        },
        jsonl(
            "leaves daemons",
            "(setsid sleep 600 &); nohup sleep 600 & (trap '' TERM INT HUP; setsid sh -c '(sleep 600 &)'); work; over ok",
            0,
            2,
            "Done",
        ),
        jsonl(
            "forks until it is ended",
            r#"i=0; while [ $i -lt 300 ]; do (trap '' TERM; sleep 600) & i=$((i + 1)); done; work; over ok"#,
            0,
            2,
            "Done",
        ),
        jsonl(
            "tries to stop the loop itself",
            &format!("{RALPH} stop > \"$HOME/said\" 2>&1 || work; over ok"),
            0,
            2,
            "Done",
        ),
        jsonl(
            "starts a ralph of its own",
            &format!("{RALPH} --adapter script --headless > \"$HOME/said\" 2>&1; [ $? = 5 ] && work; over ok"),
            0,
            2,
            "Done",
        ),
        VandalScenario {
            args: &["--max-iterations", "9"],
            ..jsonl(
                "tries to close the breaker itself",
                &format!("{RALPH} reset-circuit > \"$HOME/said\" 2>&1; over ok"),
                7,
                6,
                "BreakerOpen",
            )
        },
    ]
}

fn repositories() -> Vec<VandalScenario> {
    vec![
        jsonl(
            "detaches HEAD and changes branches",
            "git checkout -q --detach; work; git checkout -q -b b$n; over ok",
            0,
            2,
            "Done",
        ),
        jsonl(
            "begins a history without a past",
            "git checkout -q --orphan o$n; work; over ok",
            0,
            2,
            "Done",
        ),
        VandalScenario {
            never: "ran",
            ..jsonl(
                "puts hooks and a monitor into git's configuration",
                r#"mkdir -p hooks; printf '#!/bin/sh\ntouch "$HOME/ran"\n' > hooks/reference-transaction; chmod +x hooks/*
                cp hooks/reference-transaction hooks/post-index-change; cp hooks/post-index-change monitor
                sed -i '0,/- \[ \]/s//- [x]/' PLAN.md
                git config core.hooksPath "$PWD/hooks"; git config core.fsmonitor "$PWD/monitor"; git config core.bare true; over ok"#,
                0,
                2,
                "Done",
            )
        },
        jsonl(
            "has git itself start a daemon",
            r#"echo '* filter=evil' > .gitattributes; git config filter.evil.clean "(setsid sh -c 'exec sleep 600' > /dev/null 2>&1 &); cat"
            echo $n > f; sed -i '0,/- \[ \]/s//- [x]/' PLAN.md; over ok"#,
            0,
            2,
            "Done",
        ),
        jsonl(
            "deletes .git and changes nothing else",
            "rm -rf .git; over ok",
            1,
            1,
            "RepositoryLost",
        ),
        jsonl(
            "leaves the index locked",
            r#"touch .git/index.lock .git/HEAD.lock; echo $n > f; sed -i '0,/- \[ \]/s//- [x]/' PLAN.md; over ok"#,
            0,
            2,
            "Done",
        ),
        jsonl(
            "breaks the repository",
            r#"echo garbage > .git/HEAD; : > .git/index; sed -i '0,/- \[ \]/s//- [x]/' PLAN.md; over ok"#,
            1,
            1,
            "RepositoryLost",
        ),
        jsonl(
            "puts a repository into the repository",
            "git init -q in; (cd in && echo x > x && git add x && git commit -qm x); [ $n = 2 ] && git add in 2> /dev/null; work; over ok",
            0,
            2,
            "Done",
        ),
        jsonl(
            "ignores everything it writes",
            "echo '*' > .gitignore; echo $n > f; over ok",
            7,
            7,
            "BreakerOpen",
        ),
        jsonl(
            "leaves files of every kind",
            r#"mkfifo pipe$n; ln -s /dev/zero endless$n; ln -s nowhere$n dangling$n; head -c 40000000 /dev/zero > big$n; printf x > "$(printf 'a\nb\033c')"; work; over ok"#,
            0,
            2,
            "Done",
        ),
    ]
}

fn states() -> Vec<VandalScenario> {
    let taken = |name, how: &str| VandalScenario {
        reported: Reported::No,
        ..jsonl(name, &format!("{how}; work; over ok"), 1, 1, "another process")
    };
    vec![
        VandalScenario {
            // The journal is left as that of an interrupted run, without the agent's line.
            reported: Reported::Yes,
            ..taken(
                "writes the end into the journal itself",
                r#"echo '{"seq":99,"atMs":1,"event":{"type":"held"}}' >> "$(echo "$XDG_STATE_HOME"/ralph/*/runs/*/events.jsonl)""#,
            )
        },
        taken(
            "empties the journal",
            r#": > "$(echo "$XDG_STATE_HOME"/ralph/*/runs/*/events.jsonl)""#,
        ),
        taken("deletes the state directory", r#"rm -rf "$XDG_STATE_HOME/ralph""#),
        jsonl(
            "puts a pipe where the next prompt goes",
            r#"mkfifo "$(echo "$XDG_STATE_HOME"/ralph/*/runs/*)"/prompts/000$((n + 1)).md "$(echo "$XDG_STATE_HOME"/ralph/*/runs/*)"/iterations/000$((n + 1)).cast; work; over ok"#,
            0,
            2,
            "Done",
        ),
        jsonl(
            "takes away all of the state but the journal",
            r#"rm "$XDG_STATE_HOME"/ralph/*/control.sock; rm -rf "$XDG_STATE_HOME"/ralph/*/runs/*/[!e]*; work; over ok"#,
            0,
            2,
            "Done",
        ),
    ]
}
