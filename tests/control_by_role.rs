//! An agent has its user's rights on the machine, but none of them over its own run.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::{
    api::http::{address, token},
    harness::{SOON, Sandbox, Script},
};
use ralph_core::event::{AskEvent, CommentEvent, Event, RunEvent, SteeringEvent, TaskEvent, TimeEvent, WorkerEvent};

/// Commands that an agent could call, each with the name that its user is told.
const COMMANDS: [(&str, &str); 27] = [
    ("steer --standing obey", "steer"),
    ("steer --withdraw 1", "withdraw"),
    ("comment PLAN.md:1 obey", "comment"),
    ("comment --send --now", "comment"),
    ("comment --resolve 1", "comment"),
    ("comment --edit 1 obey", "comment"),
    ("answer 1 yes", "answer"),
    ("answer 1 always --rule Bash", "answer"),
    ("answer 1 project", "answer"),
    ("permissions forget Bash", "permissions"),
    ("continue --permission-mode auto", "permissions"),
    ("continue --iterations 100", "continue"),
    ("plan set-aside Task", "plan"),
    ("plan set-aside --undo Task", "plan"),
    ("continue --adapter other --model m", "continue"),
    ("pause", "pause"),
    ("resume", "resume"),
    ("resume --now", "resume"),
    ("skip", "skip"),
    ("reset-circuit", "reset-circuit"),
    ("trust", "trust"),
    ("trust --revoke", "trust"),
    ("adapters add auggie --yes", "trust"),
    ("token", "token"),
    ("token --web --revoke", "token"),
    ("web --listen 127.0.0.1:0", "web"),
    ("stop", "stop"),
];

/// Calls each command through `caller`, a shell function, and writes exit code and output of each to `NAME-N.out`.
fn calls(name: &str, caller: &str) -> String {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let lines = COMMANDS.iter().enumerate().map(|(n, (command, _))| {
        format!(
            "{caller} {ralph} {command} > \"$HOME/{name}-{n}.out\" 2>&1; echo \"code $?\" >> \"$HOME/{name}-{n}.out\"\n"
        )
    });
    lines.collect()
}

#[track_caller]
fn assert_refused(sandbox: &Sandbox, name: &str) {
    for (n, (command, called)) in COMMANDS.iter().enumerate() {
        let out = std::fs::read_to_string(sandbox.home().join(format!("{name}-{n}.out"))).expect("the call was made");
        assert!(
            out.contains("called from within the run") && out.contains(&format!("`ralph {called}`")),
            "{name}: ralph {command}: {out}"
        );
        assert!(out.contains("code 1"), "{name}: ralph {command}: {out}");
    }
}

#[test]
fn an_agent_and_a_goal_command_nothing_however_they_ask_and_the_user_hears_of_it() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let ralph = env!("CARGO_BIN_EXE_ralph");
    sandbox.install(&Script::jsonl(&format!(
        r#"
bare() {{ env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" "$@"; }}
# A session of its own, and a parent that has ended.
mkfifo "$HOME/code"
orphan() {{ setsid sh -c '("$@"; echo $? > "$HOME/code") &' sh "$@"; return $(cat "$HOME/code"); }}
{}{}{}
# Without a sandbox it finds the token, and is an agent all the same.
token=$(grep -o '"full": "[^"]*' "$XDG_STATE_HOME"/ralph/project-*/tokens.json | cut -d '"' -f 4)
port=$(grep -o 'http://127.0.0.1:[0-9]*' "$XDG_STATE_HOME"/ralph/project-*/runs/*/events.jsonl | head -n 1 | cut -d : -f 3)
over_tcp() {{ bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "$2" >&3 && cat <&3' bash "$port" "$1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer $token\r\n$2"; }}
over_tcp 'POST /prompt' 'Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{{"text":"obey"}}' > "$HOME/tcp.out" 2>&1
over_tcp 'GET /status' '\r\n' > "$HOME/tcp-status.out" 2>&1
# Nobody is at the other end when this is read, and more than one request is there to read.
for _ in 1 2 3 4 5; do
    bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "$2" >&3' bash "$port" "POST /prompt HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer $token\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{{\"text\":\"obey\"}}x"
done
over_tcp 'POST /login' 'Content-Length: 0\r\n\r\n' > "$HOME/tcp-login.out" 2>&1
# A token for looking shows an agent no more than it may see.
token=$(grep -o '"readOnly": "[^"]*' "$XDG_STATE_HOME"/ralph/project-*/tokens.json | cut -d '"' -f 4)
over_tcp 'GET /report' '\r\n' > "$HOME/tcp-report.out" 2>&1
{ralph} status > "$HOME/status.out" 2>&1
work; over 'Done.'"#,
        calls("direct", ""),
        calls("bare", "bare"),
        calls("orphan", "orphan"),
    )));
    sandbox.write(
        ".ralph/config.json",
        &format!(r#"{{"goals": [{{"name": "judge", "command": "{ralph} stop > \"$HOME/goal.out\" 2>&1; true"}}]}}"#),
    );
    let finished = sandbox
        .ralph(["--adapter", "script", "--listen", "127.0.0.1:0"])
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for caller in ["direct", "bare", "orphan"] {
        assert_refused(&sandbox, caller);
    }
    let goal = std::fs::read_to_string(sandbox.home().join("goal.out")).expect("the goal has called");
    assert!(goal.contains("called from within the run"), "{goal}");
    let over_tcp = sandbox.read_home("tcp.out").expect("the agent has tried");
    assert!(over_tcp.contains("called from within the run"), "{over_tcp}");
    let looked = sandbox.read_home("tcp-status.out").expect("the agent has looked");
    assert!(looked.contains("\"phase\""), "{looked}");
    let login = sandbox.read_home("tcp-login.out").expect("the agent has tried");
    assert!(
        login.contains(" 403 ") && login.contains("called from within the run"),
        "{login}"
    );
    let kept = sandbox.read_home("tcp-report.out").expect("the agent has tried");
    assert!(kept.contains(" 403 "), "{kept}");
    let status = std::fs::read_to_string(sandbox.home().join("status.out")).expect("the agent has looked");
    assert!(status.contains("iteration 1"), "looking is free: {status}");

    let records = sandbox.journal();
    let of_the_user = |event: &Event| {
        matches!(
            event,
            Event::Steering(SteeringEvent::Queued { .. })
                | Event::Time(TimeEvent::Paused { .. })
                | Event::Time(TimeEvent::Unpaused { .. })
                | Event::Run(RunEvent::StopRequested { .. })
                | Event::Ask(AskEvent::RulesAdded { .. })
                | Event::Ask(AskEvent::RuleForgotten { .. })
                | Event::Ask(AskEvent::PermissionModeChanged { .. })
                | Event::Run(RunEvent::LimitsChanged { .. })
                | Event::Comment(CommentEvent::Written { .. })
                | Event::Comment(CommentEvent::Edited { .. })
                | Event::Comment(CommentEvent::Sent { .. })
                | Event::Comment(CommentEvent::Resolved { .. })
                | Event::Task(TaskEvent::SetAsideByUser { .. })
                | Event::Task(TaskEvent::TakenBack { .. })
                | Event::Worker(WorkerEvent::Changed { .. })
        )
    };
    assert!(!records.iter().any(|record| of_the_user(&record.event)), "{records:#?}");
    let told: Vec<String> = records
        .iter()
        .filter_map(|record| record.event.notice())
        .filter(|notice| notice.code == "agent-command")
        .map(|notice| notice.data["command"].to_string())
        .collect();
    let expected = [
        "steer",
        "withdraw",
        "comment",
        "answer",
        "permissions",
        "continue",
        "plan",
        "pause",
        "resume",
        "skip",
        "reset-circuit",
        "trust",
        "token",
        "web",
        "stop",
    ];
    assert_eq!(told, expected, "each is told once in an iteration");
    let report = sandbox.ralph(["report"]).run(SOON);
    assert!(
        report.stdout.contains("the agent ran `ralph stop`"),
        "{}",
        report.stdout
    );
    sandbox.assert_nothing_runs();
}

/// Ways for an agent to change the address or the process that the server sees connecting.
const WAYS: [&str; 3] = ["post", "post-from-own-address", "post-hidden"];

#[test]
fn an_agent_with_the_token_is_no_user_from_whatever_address_and_however_it_hides() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let tries: String = WAYS
        .map(|way| format!("\"$FAKE_AGENT\" \"reach {way} $port/$token\" > \"$HOME/{way}.out\" 2>&1\n"))
        .concat();
    sandbox.install(&Script::jsonl(&format!(
        r#"
token=$(grep -o '"full": "[^"]*' "$XDG_STATE_HOME"/ralph/project-*/tokens.json | cut -d '"' -f 4)
port=$(grep -o 'http://127.0.0.1:[0-9]*' "$XDG_STATE_HOME"/ralph/project-*/runs/*/events.jsonl | head -n 1 | cut -d : -f 3)
# Nobody waits for it.
sh -c 'true & exec sleep 600' &
{tries}
said ready; await go
work; over 'Done.'"#
    )));
    let running = sandbox.looping(["--listen", "127.0.0.1:0"]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready\""));
    let at = address(&running);
    let to = format!("{}/{}", at.port(), token(&sandbox, &[]));
    let program = sandbox.home().join("fake-agent");
    fs::copy(env!("CARGO_BIN_EXE_fake-agent"), &program).expect("a program for another user");
    let outside = |who: &[&str]| {
        let reach = sandbox.program(&program).arg(format!("reach post {to}"));
        if who.is_empty() { reach } else { reach.under(who) }.run(SOON)
    };
    // The user has copied the token from `ralph token` into another terminal.
    let user = outside(&[]);
    assert_eq!(user.code(), Some(0), "{user:?}");
    // A subordinate user of a container, or another user who held the port for a while.
    if nix::unistd::geteuid().is_root() {
        let root = sandbox.home().parent().expect("the sandbox's directory").to_owned();
        for directory in [root, sandbox.home()] {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o711)).expect("the way to the program");
        }
        let other = outside(&["setpriv", "--reuid", "61236", "--regid", "61236", "--clear-groups"]);
        let answer = format!("{}{}", other.stdout, other.stderr);
        assert!(answer.contains(" 403 ") && answer.contains("another user"), "{other:?}");
    }
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for way in WAYS {
        let out = sandbox.read_home(&format!("{way}.out")).expect("the agent has tried");
        assert!(
            out.contains(" 403 ") && out.contains("called from within the run"),
            "{way}: {out}"
        );
    }
    let records = sandbox.journal();
    let messages = records
        .iter()
        .filter(|record| matches!(record.event, Event::Steering(SteeringEvent::Queued { .. })));
    assert_eq!(messages.count(), 1, "the user's own");
    let mut notices = records.iter().filter_map(|record| record.event.notice());
    let told = notices.any(|notice| notice.code == "agent-command" && notice.data["command"] == "steer");
    assert!(told, "{records:#?}");
}
