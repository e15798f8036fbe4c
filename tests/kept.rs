//! One process of an agent for the sessions of a run: what is kept, what is not, and what is left of it.

use std::fs;

use nix::sys::signal::Signal;
use ralph_core::event::{AgentEvent, AgentSignal, Event, IterationEvent, Outcome, ProblemKind, Record};

use crate::harness::{
    SOON, Sandbox, events,
    processes::{is_running, is_stopped},
    running::{Finished, Running},
    wait_until,
};

/// The adapter of an agent whose process is kept. It is a shell script that speaks ACP.
const ADAPTER: &str = r#"
id = "script"
[command]
program = "sh"
[live]
protocol = "acp"
args = ["SCRIPT"]
steering = "never"
process = "kept"
[stop]
first = "terminate"
grace_ms = 200
"#;

/// The beginning of the script. The session's number in the process is in `$n`. A test may replace `opens`, which answers
/// `session/new`, and `turn`, which answers `session/prompt`.
const HEAD: &str = r#"
n=0
echo $$ >> "$HOME/processes"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
fail() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"; }
work() {
    sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"
    git add --all && git commit --quiet --message "Work"
    answer '{"stopReason":"end_turn"}'
}
await() { "$FAKE_AGENT" "wait-file $HOME/$1"; }
opens() { answer "{\"sessionId\":\"s$n\"}"; }
turn() { work; }
"#;

const TAIL: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | grep -o '"id":[0-9]*' | head -n 1 | cut -d : -f 2)
    case $line in
    *'"method":"initialize"'*)
        answer '{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}' ;;
    *'"method":"session/close"'*) echo "close $line" >> "$HOME/closed"; answer '{}' ;;
    *'"method":"session/new"'*) n=$((n + 1)); echo "$$ $n" >> "$HOME/sessions"; opens ;;
    *'"method":"session/prompt"'*) turn ;;
    esac
done
"#;

/// A project with `tasks` tasks and such an agent, changed by `changes`.
fn sandbox(tasks: usize, changes: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plan(tasks);
    install(&sandbox, changes);
    sandbox
}

fn install(sandbox: &Sandbox, changes: &str) {
    let script = sandbox.home().join("acp.sh");
    fs::write(&script, format!("{HEAD}{changes}{TAIL}")).expect("the agent's script");
    sandbox.install_adapter("script", &ADAPTER.replace("SCRIPT", &script.display().to_string()));
}

/// Runs a hook before each iteration but the first.
fn between(sandbox: &Sandbox, command: &str) {
    let command = format!("[ $RALPH_ITERATION = 1 ] || {command}");
    let hooks = serde_json::json!({"hooks": {"beforeIteration": command}});
    sandbox.write(".ralph/config.json", &hooks.to_string());
}

fn lines(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let text = sandbox.read_home(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The number of each session in its process, in order.
fn sessions(sandbox: &Sandbox) -> Vec<u32> {
    let numbers = lines(sandbox, "sessions").into_iter();
    numbers
        .map(|line| line.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number"))
        .collect()
}

fn pids(sandbox: &Sandbox, file: &str) -> Vec<i32> {
    let pids = lines(sandbox, file).into_iter();
    pids.map(|pid| pid.trim().parse().expect("a pid")).collect()
}

#[track_caller]
fn assert_done(sandbox: &Sandbox, finished: &Finished, tasks: usize) {
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let ended = outcomes(&finished.records());
    assert_eq!(ended, vec![Outcome::Completed; tasks], "{finished:?}");
    sandbox.assert_nothing_runs();
}

fn outcomes(records: &[Record]) -> Vec<Outcome> {
    let ended = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Ended { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    });
    ended.collect()
}

fn opened(iteration: u32) -> impl Fn(&Event) -> bool {
    move |event| match event {
        Event::Agent(AgentEvent::Reported {
            iteration: reported,
            signal: AgentSignal::Opened { .. },
        }) => *reported == iteration,
        _ => false,
    }
}

#[test]
fn the_iterations_of_a_run_have_one_process_which_stands_still_between_them() {
    let changes = r#"turn() { echo "${RALPH_ITERATION-none} ${RALPH_BUDGET-none}" >> "$HOME/variables"; work; }"#;
    let sandbox = sandbox(3, changes);
    // A busy system takes a while to stop it.
    between(
        &sandbox,
        "{ state=/proc/$(cat ~/processes)/status; \
         for i in $(seq 200); do grep -q 'T (stopped)' $state && break; sleep 0.05; done; \
         grep State $state >> ~/states; }",
    );
    let finished = sandbox.looping([""; 0]).run(SOON);
    assert_done(&sandbox, &finished, 3);
    assert_eq!(lines(&sandbox, "processes").len(), 1);
    assert_eq!(sessions(&sandbox), [1, 2, 3]);
    assert_eq!(lines(&sandbox, "states"), ["State:\tT (stopped)"; 2]);
    assert_eq!(lines(&sandbox, "variables"), ["none none"; 3]);
    let closed = lines(&sandbox, "closed");
    assert!(
        closed[0].contains(r#""sessionId":"s1""#) && closed.len() == 2,
        "{closed:?}"
    );
}

#[test]
fn what_an_iteration_leaves_running_is_ended_with_it_although_the_process_is_kept() {
    let changes = r#"
turn() {
    if [ $n = 1 ]; then
        (cd "$HOME" && "$FAKE_AGENT" 'spawn plain' 'spawn setsid' 'spawn daemon' </dev/null >/dev/null 2>&1)
        cat "$HOME"/*.pid > "$HOME/left"
    else await go; fi
    work
}"#;
    let sandbox = sandbox(2, changes);
    let running = sandbox.looping([""; 0]).start();
    running.wait_for_record(SOON, opened(2));
    let left = pids(&sandbox, "left");
    assert_eq!(left.len(), 3);
    assert!(!left.iter().any(|pid| is_running(*pid)), "{left:?}");
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_done(&sandbox, &finished, 2);
    assert_eq!(sessions(&sandbox), [1, 2]);
}

#[test]
fn an_agent_that_dies_between_two_iterations_is_started_anew() {
    let sandbox = sandbox(3, "");
    between(&sandbox, "[ $RALPH_ITERATION = 3 ] || kill -9 $(cat ~/processes)");
    let finished = sandbox.looping([""; 0]).run(SOON);
    assert_done(&sandbox, &finished, 3);
    assert_eq!(sessions(&sandbox), [1, 1, 2]);
}

/// A process that does not open its second session, in one way or another.
#[track_caller]
fn opens_no_second_session(how: &str) {
    let changes = format!("opens() {{ if [ $n = 2 ]; then {how}; else answer '{{\"sessionId\":\"s\"}}'; fi; }}");
    let sandbox = sandbox(2, &changes);
    let finished = sandbox.looping([""; 0]).run(SOON);
    assert_done(&sandbox, &finished, 2);
    assert_eq!(sessions(&sandbox), [1, 2, 1]);
}

#[test]
fn an_agent_that_refuses_a_second_session_is_started_anew() {
    opens_no_second_session("fail -32603 'one session is enough'");
}

#[test]
fn an_agent_that_dies_of_a_second_session_is_started_anew() {
    opens_no_second_session("kill -9 $$");
}

#[test]
fn an_agent_that_hangs_at_a_second_session_is_started_anew() {
    opens_no_second_session("exec sleep 600");
}

#[test]
fn an_agent_whose_turn_has_failed_is_started_anew() {
    let changes = r#"
turn() {
    if [ $n = 1 ] || [ -e "$HOME/failed" ]; then work; return; fi
    touch "$HOME/failed"
    fail 500 'the server is overloaded'
}"#;
    let sandbox = sandbox(3, changes);
    let finished = sandbox.looping([""; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sessions(&sandbox), [1, 2, 1, 2]);
    let failed = outcomes(&finished.records());
    assert!(
        matches!(&failed[1], Outcome::Failed { problem } if problem.kind == ProblemKind::Overloaded),
        "{failed:?}"
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn an_agent_that_uses_much_memory_is_not_kept() {
    // Helpers that have 38 MiB each.
    let changes = r#"
for helper in 1 2 3; do
    (big=$(head -c 40000000 /dev/zero | tr '\0' x); touch "$HOME/$$-$helper"; sleep 600; :) &
    await "$$-$helper"
done"#;
    let sandbox = sandbox(2, changes);
    let finished = sandbox.looping([""; 0]).env("RALPH_LIMITS_MEMORY", "200MiB").run(SOON);
    assert_done(&sandbox, &finished, 2);
    assert_eq!(sessions(&sandbox), [1, 1]);
}

/// A run whose second iteration does not end by itself.
fn stuck_in_the_second() -> (Sandbox, Running) {
    let sandbox = sandbox(2, r#"turn() { [ $n = 1 ] || [ -e "$HOME/go" ] || sleep 600; work; }"#);
    let running = sandbox.looping([""; 0]).start();
    running.wait_for_record(SOON, opened(2));
    (sandbox, running)
}

#[test]
fn an_interrupt_in_the_middle_of_a_later_turn_leaves_nothing_running() {
    let (sandbox, running) = stuck_in_the_second();
    running.signal(Signal::SIGINT);
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(130), "{finished:?}");
    sandbox.assert_nothing_runs();
}

#[test]
fn a_run_that_is_killed_leaves_nothing_running_and_is_resumed_with_a_new_process() {
    let (sandbox, running) = stuck_in_the_second();
    running.kill();
    drop(running);
    sandbox.waits_until_nothing_runs();
    sandbox.release("go");
    let finished = sandbox.looping([""; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sessions(&sandbox), [1, 2, 1]);
    sandbox.assert_nothing_runs();
}

#[test]
fn a_process_that_stands_still_ends_with_a_run_that_is_killed() {
    let sandbox = sandbox(2, "");
    between(&sandbox, "\"$FAKE_AGENT\" \"wait-file $HOME/go\"");
    let running = sandbox.looping([""; 0]).start();
    let pid = wait_until(SOON, "a process that stands still", || {
        pids(&sandbox, "processes").into_iter().find(|pid| is_stopped(*pid))
    });
    running.kill();
    drop(running);
    wait_until(SOON, "its end", || (!is_running(pid)).then_some(()));
    sandbox.waits_until_nothing_runs();
}

#[test]
fn two_agents_that_alternate_keep_a_process_each() {
    let sandbox = sandbox(1, "");
    let script = fs::read_to_string(sandbox.config().join("ralph/adapters/script.toml")).expect("an adapter");
    sandbox.install_adapter("other", &script.replace("\"script\"", "\"other\""));
    sandbox.write(
        "PLAN.md",
        "- [ ] One\n- [ ] Two {adapter=other}\n- [ ] Three\n- [ ] Four {adapter=other}\n",
    );
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan for two"]);
    let finished = sandbox.looping([""; 0]).run(SOON);
    assert_done(&sandbox, &finished, 4);
    assert_eq!(sessions(&sandbox), [1, 1, 2, 2]);
    assert_eq!(lines(&sandbox, "processes").len(), 2);
}

#[test]
fn sixty_iterations_take_two_processes_and_ralph_opens_nothing_that_it_does_not_close() {
    let sandbox = sandbox(60, r#"turn() { case $n in 3 | 45) await "go-$n" ;; esac; work; }"#);
    let running = sandbox.looping(["--max-iterations", "70"]).start();
    let [before, after] = [3, 45].map(|iteration| {
        running.wait_for_record(4 * SOON, opened(iteration));
        let open = fs::read_dir(format!("/proc/{}/fd", running.pid())).expect("ralph's descriptors");
        let count = open.count();
        sandbox.release(&format!("go-{iteration}"));
        count
    });
    let finished = running.wait(4 * SOON);
    assert_done(&sandbox, &finished, 60);
    let expected: Vec<u32> = (1..=50).chain(1..=10).collect();
    assert_eq!(sessions(&sandbox), expected);
    // A helper of ralph's may run at either moment.
    assert!(after < before + 10, "{before} descriptors, later {after}");
}
