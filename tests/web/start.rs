//! Runs and batches that are started over HTTP.

use std::fs;

use nix::sys::signal::Signal;
use ralph_core::event::{Event, RunEvent};
use serde_json::{Value, json};

use super::{BLOCKED, serving};
use crate::{
    bad_input::asking::CHANNEL,
    harness::{
        SOON, Sandbox, Script,
        batches::{batch, sandbox_in},
        http::Http,
        running::Running,
        wait_until,
    },
};

/// `ralph web` for the scripted agents of a sandbox.
pub fn web(sandbox: &Sandbox) -> Running {
    sandbox
        .ralph(["web", "--listen", "127.0.0.1:0"])
        .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
        .start()
}

/// Waits until the run is over, and returns its entry.
fn ended(http: &Http, run: &str) -> Value {
    wait_until(SOON, "the end of the run", || {
        let entry = http.get(&format!("/runs/{run}")).json();
        (entry["live"] == false && entry["standing"] == "over").then_some(entry)
    })
}

#[test]
fn a_run_is_started_by_its_user_alone_and_outlives_the_server_that_started_it() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    sandbox.plan(1);
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    sandbox.install(&Script::jsonl("said working; await go; work; over Done."));
    let project = sandbox.project().display().to_string();
    let server = web(&sandbox);
    let served = serving(&server, &sandbox, &[]);
    let http = Http::for_address(&served.base, &served.token);

    let offers = http.get(&format!("/start?project={project}")).json();
    let plan = json!({"path": "PLAN.md", "done": 1, "open": 0, "default": true});
    assert_eq!(offers["plans"], json!([plan]));
    let adapters = offers["agents"]["adapters"].as_array().expect("a list");
    assert!(adapters.iter().any(|adapter| adapter["id"] == "script"), "{offers}");

    let wish = |plan: &str, adapter: &str| {
        let settings = json!({"adapter": adapter, "limits": {"maxIterations": "3"}});
        json!({"project": project, "plan": plan, "settings": settings})
    };
    let looks = sandbox.ralph(["token", "--web", "--read-only"]).run(SOON);
    let looking = Http::for_address(&served.base, looks.stdout.trim());
    assert_eq!(looking.post("/runs", &wish("PLAN.md", "script")).status, 403);
    let outside = sandbox.project().join("PLAN.md").display().to_string();
    let elsewhere = json!({"project": sandbox.home().display().to_string()});
    for (body, status, said) in [
        (
            wish("PLAN.md", "script"),
            409,
            "nothing to do: the task of PLAN.md is done",
        ),
        (wish("../project/PLAN.md", "script"), 422, "by its path in the project"),
        (wish(&outside, "script"), 422, "by its path in the project"),
        (wish("NONE.md", "script"), 422, "no such file"),
        (elsewhere, 404, "no run was ever started in"),
        (
            json!({"project": project, "continues": "another"}),
            409,
            "only the last run",
        ),
    ] {
        let refused = http.post("/runs", &body);
        assert_eq!(refused.status, status, "{body}: {}", refused.text());
        assert_eq!(refused.kind, "application/problem+json");
        let detail = refused.json()["detail"].as_str().expect("a text").to_owned();
        assert!(detail.contains(said) && !detail.contains("error:"), "{body}: {detail}");
    }
    assert_eq!(sandbox.paths().run_ids().len(), 1, "nothing was started");

    sandbox.plan(1);
    let unknown = http.post("/runs", &wish("PLAN.md", "--foreground"));
    assert!(
        unknown.status == 409 && unknown.text().contains("no adapter `--foreground`"),
        "{}",
        unknown.text()
    );
    let started = http.post("/runs", &wish("PLAN.md", "script"));
    assert_eq!(started.status, 200, "{}", started.text());
    let run = started.json()["run"].as_str().expect("a name").to_owned();
    let limits = http.get(&format!("/runs/{run}/run")).json()["view"]["settings"]["limits"].clone();
    assert_eq!(limits["maxIterations"], 3);
    let again = http.post("/runs", &wish("PLAN.md", "script"));
    assert!(
        again.status == 409 && again.text().contains("has not ended"),
        "{}",
        again.text()
    );
    server.signal(Signal::SIGINT);
    assert_eq!(server.wait(SOON).code(), Some(0));

    let server = web(&sandbox);
    let served = serving(&server, &sandbox, &[]);
    let http = Http::for_address(&served.base, &served.token);
    assert_eq!(http.get(&format!("/runs/{run}")).json()["live"], true);
    sandbox.release("go");
    let entry = ended(&http, &run);
    assert_eq!((&entry["tasksDone"], &entry["exitCode"]), (&json!(1), &json!(0)));
}

#[test]
fn a_run_of_one_task_that_the_page_starts_has_its_goal_and_an_agent_that_can_ask() {
    const SESSION: &str = r#"
while read -r line; do
    case $line in
    *'"initialize"'*) echo '{"type":"control_response","response":{"subtype":"success","request_id":"initialize"}}' ;;
    *) break ;;
    esac
done
[ -n "$RALPH_PLAN" ] || exit 0
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo work > "work-$RALPH_ITERATION.txt"; sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"; git add --all; git commit --quiet --message Work
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
"#;
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("exit 1").live_over("claude-stream-json", CHANNEL));
    fs::write(sandbox.home().join("asking.sh"), SESSION).expect("a script");
    let first = sandbox.looping(["--channel", "live"]).run(SOON);
    assert_eq!(first.code(), Some(0), "{first:?}");
    let server = web(&sandbox);
    let served = serving(&server, &sandbox, &[]);
    let http = Http::for_address(&served.base, &served.token);
    let project = sandbox.project().display().to_string();
    let wish = |plan: Option<&str>, goal: &str| {
        let settings = json!({"adapter": "script", "goal": goal});
        json!({"project": project, "plan": plan, "task": "Write the parser", "settings": settings})
    };
    for (body, said) in [
        (wish(Some("PLAN.md"), "files=test -d .git"), "a plan or a task"),
        (wish(None, "no command"), "NAME=COMMAND"),
    ] {
        let refused = http.post("/runs", &body);
        assert!(refused.text().contains(said), "{body}: {}", refused.text());
    }
    let started = http.post("/runs", &wish(None, "files=test -d .git"));
    assert_eq!(started.status, 200, "{}", started.text());
    let run = started.json()["run"].as_str().expect("a name").to_owned();
    // Without its live channel this agent fails.
    let entry = ended(&http, &run);
    assert_eq!(
        (&entry["tasksDone"], &entry["exitCode"]),
        (&json!(1), &json!(0)),
        "{entry}"
    );
    let view = http.get(&format!("/runs/{run}/run")).json()["view"].clone();
    assert_eq!(view["settings"]["goals"][0]["command"], "test -d .git");
    assert_eq!(view["plan"]["tasks"][0]["text"], "Write the parser");
}

#[test]
fn a_blocked_run_goes_on_from_the_page_and_leaves_no_process_behind() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(BLOCKED));
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(8));
    let project = sandbox.project().display().to_string();
    let server = web(&sandbox);
    let served = serving(&server, &sandbox, &[]);
    let http = Http::for_address(&served.base, &served.token);
    let run = sandbox.paths().run_ids().remove(0).0;
    let ask = http.get(&format!("/runs/{run}/asks")).json()[0]["number"].clone();
    let answer = json!({"type": "words", "words": ["the blue one"]});
    assert_eq!(http.post(&format!("/runs/{run}/asks/{ask}"), &answer).status, 200);
    let continued = http.post("/runs", &json!({"project": project, "continues": run}));
    assert_eq!(continued.status, 200, "{}", continued.text());
    assert_eq!(continued.json()["run"], run.as_str());
    let entry = ended(&http, &run);
    assert_eq!(entry["exitCode"], 0, "{entry}");
    assert!(sandbox.prompt(2).contains("the blue one"));
    let resumed = sandbox
        .journal()
        .into_iter()
        .rev()
        .find_map(|record| match record.event {
            Event::Run(RunEvent::Resumed { .. }) => Some(()),
            _ => None,
        });
    assert_eq!(resumed, Some(()));
    // Also no zombie.
    server.signal(Signal::SIGINT);
    assert_eq!(server.wait(SOON).code(), Some(0));
    sandbox.waits_until_nothing_runs();
}

#[cfg(feature = "batch")]
#[test]
fn a_batch_that_was_killed_is_resumed() {
    let agent = "[ $plan = PLAN ] || await go; tick; over done";
    let sandbox = sandbox_in(Sandbox::new(), agent, &["api", "ui"]);
    sandbox.plan(1);
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    let killed = batch(&sandbox, &["--headless", "api.md", "ui.md"]).start();
    let server = web(&sandbox);
    let served = serving(&server, &sandbox, &[]);
    let http = Http::for_address(&served.base, &served.token);
    let id = wait_until(SOON, "a run of the batch", || {
        let board = http.get("/batches").json()[0]["board"].clone();
        let is_live = board["plans"][0]["live"] == true;
        is_live.then(|| board["batch"].as_str().expect("a name").to_owned())
    });
    let resume = || http.post(&format!("/batches/{id}/resume"), &json!({}));
    assert_eq!(resume().status, 409);
    assert_eq!(http.post("/batches/another/resume", &json!({})).status, 404);
    killed.kill();
    killed.wait(SOON);
    let resumed = wait_until(SOON, "the lock of the batch", || {
        Some(resume()).filter(|resumed| resumed.status != 409)
    });
    assert_eq!(resumed.json()["batch"], id.as_str(), "{}", resumed.text());
    sandbox.release("go");
    let board = wait_until(SOON, "the end of the batch", || {
        let board = http.get(&format!("/batches/{id}")).json()["board"].clone();
        (board["running"] == false && !board["end"].is_null()).then_some(board)
    });
    assert_eq!(board["end"]["type"], "merged", "{board:#}");
}

#[cfg(feature = "batch")]
#[test]
fn plans_are_started_as_a_batch() {
    let sandbox = sandbox_in(Sandbox::new(), "tick; over done", &["api", "ui"]);
    sandbox.plan(1);
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    let project = sandbox.project().display().to_string();
    let server = web(&sandbox);
    let served = serving(&server, &sandbox, &[]);
    let http = Http::for_address(&served.base, &served.token);
    let settings = json!({"adapter": "script"});
    let wish = |plans: &[&str]| json!({"project": project, "plans": plans, "jobs": 2, "settings": settings});
    for plans in [&[][..], &["api.md", "../ui.md"]] {
        let refused = http.post("/batches", &wish(plans));
        assert_eq!(refused.status, 422, "{}", refused.text());
    }
    let started = http.post("/batches", &wish(&["api.md", "ui.md"]));
    assert_eq!(started.status, 200, "{}", started.text());
    let batch = started.json()["batch"].as_str().expect("a name").to_owned();
    let board = wait_until(SOON, "the end of the batch", || {
        let board = http.get(&format!("/batches/{batch}")).json()["board"].clone();
        (board["running"] == false && !board["end"].is_null()).then_some(board)
    });
    assert_eq!(board["end"]["type"], "merged", "{board:#}");
    assert_eq!(board["plans"].as_array().map(Vec::len), Some(2));
}
