//! The board of a batch as users have it: the real binary in a terminal.

use nix::{sys::signal::kill, unistd::Pid};

use serde_json::json;

use super::*;
use crate::{
    bad_input::asking,
    harness::{
        http::Http,
        processes::{Process, is_stopped},
    },
    tui::Terminal,
    web::serving,
};

/// An agent that waits to be released, one task per iteration.
const PATIENT: &str = r#"said "reading $plan"; await "go-$plan"; echo "$n" >> "$plan.txt"; tick; over done"#;

/// The keys of the board of a finished batch. The last plan ends before its batch, and `q` asks until then.
const OVER: &str = "Enter open  ? help  q quit";

fn on_terminal(program: &Program, size: (u16, u16)) -> Terminal {
    Terminal::start(program, size.0, size.1)
}

/// The process that runs the batch, as opposed to its screens.
fn batch_process(sandbox: &Sandbox) -> i32 {
    let found = sandbox
        .processes()
        .into_iter()
        .find(|process| process.command.contains("--__loop"));
    found.expect("a batch at work").pid
}

#[test]
fn a_batch_has_a_board_that_opens_its_runs_and_can_be_left_and_come_back_to() {
    let sandbox = sandbox(PATIENT, &["api", "ui", "docs"]);
    let args = ["api.md", "ui.md", "docs.md", "--jobs", "2"];
    let mut terminal = on_terminal(&batch(&sandbox, &args), (100, 30));
    terminal.sees("2 running · 1 waiting");
    terminal.sees("reading ui");
    terminal.sees("One of api");
    // The run has its own screen, and leaving it returns to the board.
    terminal.press("j\r");
    terminal.sees("1 agent");
    terminal.press("qd");
    terminal.sees("0/3 merged");
    terminal.press("q");
    terminal.sees("leave the batch?");
    terminal.press("d");
    assert_eq!(terminal.ends(), 0);
    assert!(terminal.written().contains("detached: the batch continues"));
    assert_eq!(status(&sandbox)["running"], true);

    let mut terminal = on_terminal(&many(&sandbox, "attach"), (80, 24));
    terminal.sees("2 running · 1 waiting");
    terminal.press("jc");
    terminal.sees("cancel ui?");
    terminal.press("y");
    terminal.sees("cancelled");
    sandbox.release("go-api");
    sandbox.release("go-docs");
    terminal.sees("2/3 merged");
    terminal.sees("run `ralph many resume` to continue");
    // A finished run is replayed.
    terminal.press("g\r");
    terminal.sees("replay");
    terminal.press("q");
    terminal.sees("2/3 merged");
    terminal.press("q");
    assert_eq!(terminal.ends(), 1);
    assert!(terminal.written().contains("over: 2 of 3 plans merged into"));
    assert_eq!(sandbox.git(["branch", "--list", "ralph/*/ui"]).lines().count(), 1);
    sandbox.waits_until_nothing_runs();
}

#[test]
fn a_run_in_a_tree_of_its_own_is_shown_at_once_and_its_merge_on_the_board() {
    let sandbox = sandbox(PATIENT, &["api"]);
    let args = ["--tree", "work", "--adapter", "script", "--plan", "api.md"];
    let program = sandbox.ralph(args).env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"));
    let mut terminal = on_terminal(&program, (100, 30));
    terminal.sees("1 agent");
    terminal.sees("reading api");
    terminal.press("qd");
    terminal.sees("0/1 merged");
    sandbox.release("go-api");
    terminal.sees("1/1 merged");
    terminal.sees(OVER);
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(sandbox.git(["show", "work:api.txt"]), "1\n2\n");
    sandbox.waits_until_nothing_runs();
}

#[test]
fn ctrl_z_in_a_run_that_the_board_opened_leads_to_the_shell_and_back_into_the_run_at_any_size() {
    let sandbox = sandbox(PATIENT, &["api"]);
    let mut terminal = on_terminal(&batch(&sandbox, &["api.md"]), (100, 30));
    terminal.sees("reading api");
    terminal.press("\r");
    terminal.sees("1 agent");
    terminal.press("\x1a");
    terminal.is_stopped();
    // Both processes stop: the board that opened the run, and the run's screen.
    let is_shown = |process: &Process| process.command.contains("many attach");
    let shows = || {
        sandbox
            .processes()
            .into_iter()
            .find(is_shown)
            .map(|process| process.pid)
    };
    let shown = shows().expect("it is stopped, and there");
    wait_until(SOON, "the run's screen", || is_stopped(shown).then_some(()));
    terminal.resize(80, 24);
    kill(Pid::from_raw(terminal.pid()), Signal::SIGCONT).expect("it is there");
    terminal.sees("back after");
    terminal.sees("1 agent");
    terminal.press("qd");
    terminal.sees("0/1 merged");
    terminal.press("\x1a");
    terminal.is_stopped();
    kill(Pid::from_raw(terminal.pid()), Signal::SIGCONT).expect("it is there");
    terminal.sees("0/1 merged");
    sandbox.release("go-api");
    terminal.sees(OVER);
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    sandbox.waits_until_nothing_runs();
}

#[test]
fn ctrl_c_on_the_board_stops_the_runs_and_what_kills_the_batch_is_told() {
    let sandbox = sandbox(PATIENT, &["api", "ui"]);
    let mut terminal = on_terminal(&batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]), (80, 24));
    terminal.sees("reading ui");
    terminal.press("\x03");
    terminal.sees("the batch?");
    terminal.press("\x03");
    terminal.sees("stopped");
    terminal.sees(OVER);
    terminal.press("q");
    assert_eq!(terminal.ends(), 130);

    let mut terminal = on_terminal(&many(&sandbox, "resume"), (80, 24));
    terminal.sees("2 running");
    kill(Pid::from_raw(batch_process(&sandbox)), Signal::SIGKILL).expect("a process");
    terminal.sees("interrupted");
    terminal.press("q");
    assert_eq!(terminal.ends(), 1);
    assert!(terminal.written().contains("the batch was interrupted"));

    sandbox.release("go-api");
    sandbox.release("go-ui");
    let mut terminal = on_terminal(&many(&sandbox, "resume"), (80, 24));
    terminal.sees("2/2 merged");
    terminal.sees(OVER);
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    sandbox.waits_until_nothing_runs();
}

#[test]
fn what_agents_ask_is_answered_on_the_board_and_in_a_browser() {
    let (sandbox, _) = asking::asking(r#"{ "ask": ["Bash"] }"#, "asks date 1\nasks id 2\nworks\n");
    sandbox.git(["add", "--all", "--force"]);
    sandbox.git(["commit", "--quiet", "--message", "Plan"]);
    let mut terminal = on_terminal(&batch(&sandbox, &["PLAN.md"]), (100, 30));
    terminal.sees("1 question for you");
    terminal.sees("Bash: date");
    terminal.press("a");
    terminal.sees("plan asks");
    terminal.press("y");
    terminal.sees("Bash: id");

    let web = sandbox.ralph(["web", "--listen", "127.0.0.1:0"]).start();
    let served = serving(&web, &sandbox, &[]);
    let http = Http::for_address(&served.base, &served.token);
    let listed = http.get("/batches").json();
    let board = &listed[0]["board"];
    let row = &board["plans"][0];
    assert_eq!(
        (&row["plan"], &row["state"], &row["asks"], &board["running"]),
        (&json!("plan"), &json!("needs answer"), &json!(1), &json!(true)),
        "{listed}"
    );
    let ask = &board["asks"][0];
    assert_eq!((&ask["plan"], &ask["ask"]["number"]), (&json!("plan"), &json!(2)));
    let id = board["batch"].as_str().expect("a name");
    assert_eq!(http.get(&format!("/batches/{id}")).json(), listed[0]);
    assert_eq!(http.get("/batches/other").status, 404);
    let run = row["run"].as_str().expect("a run");
    let yes = json!({"type": "allow", "remember": null});
    assert_eq!(http.post(&format!("/runs/{run}/asks/2"), &yes).status, 200);
    terminal.sees("1/1 merged");
    wait_until(SOON, "the end of the batch in the browser", || {
        let over = http.get(&format!("/batches/{id}")).json();
        (over["board"]["end"]["type"] == "merged").then_some(())
    });
    terminal.sees(OVER);
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    web.signal(Signal::SIGINT);
    assert_eq!(web.wait(SOON).code(), Some(0));
    sandbox.waits_until_nothing_runs();
}
