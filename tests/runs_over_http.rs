//! The output of the commands over HTTP, for the current run and earlier ones.

use base64::{Engine, engine::general_purpose::STANDARD};
use ralph_state::http_client::SentEvent;
use serde_json::{Value, json};

use crate::{
    harness::{SOON, Sandbox, Script, http::Http},
    loop_behaviour::said,
};

/// The terminal bytes carried by the events.
fn shown(events: &[SentEvent]) -> String {
    let data = |event: &SentEvent| {
        let data: Value = serde_json::from_str(&event.data).expect("JSON");
        STANDARD.decode(data["data"].as_str().expect("bytes")).expect("base64")
    };
    let bytes = events.iter().filter(|event| event.event == "output").flat_map(data);
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

#[test]
fn the_run_that_goes_on_and_those_before_it_are_read_under_their_names_and_only_the_first_takes_commands() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal(
        "echo first; [ -e \"$HOME/past\" ] && await go; echo second; work; touch .ralph-done",
    ));
    assert_eq!(sandbox.looping::<[&str; 0]>([]).run(SOON).code(), Some(0));
    let past = sandbox.the_run();
    let old = sandbox.paths().run_ids().remove(0).0;
    let records = sandbox.journal().len();
    sandbox.release("past");
    sandbox.plan(1);
    let running = sandbox.looping::<[&str; 0]>([]).start();
    running.wait_for_record(SOON, |event| {
        matches!(
            event,
            ralph_core::event::Event::Iteration(ralph_core::event::IterationEvent::Started { .. })
        )
    });
    let http = Http::for_socket(&sandbox.paths().socket());

    let runs = http.get("/runs").json();
    let new = runs[0]["run"].as_str().expect("a name").to_owned();
    let glance = |run: &Value| {
        json!([
            run["run"],
            run["standing"],
            run["live"],
            run["tasksDone"],
            run["tasksOpen"],
            run["exitCode"]
        ])
    };
    assert_eq!(glance(&runs[0]), json!([new, "running", true, 0, 1, null]));
    assert_eq!(glance(&runs[1]), json!([old, "over", false, 2, 0, 0]));
    assert_eq!(runs.as_array().map(Vec::len), Some(2));
    assert_eq!(http.get(&format!("/runs/{old}")).json(), runs[1]);

    // The current run.
    let plan = http.get(&format!("/runs/{new}/plan")).json();
    assert_eq!(
        plan["tasks"],
        json!([{"text": "Task 1", "done": false, "line": 1, "depth": 0}])
    );
    assert_eq!(http.get("/plan").json(), plan);
    assert_eq!(http.get(&format!("/runs/{new}/status")).json()["run"], new.as_str());
    let mut terminal = http.events("/terminal");
    let size = terminal.wait_for(|_| true);
    assert_eq!((&*size.event, size.data.contains("cols")), ("resized", true));
    terminal.wait_for(|event| shown(std::slice::from_ref(event)).contains("first"));
    let steer = json!({"type": "steer", "kind": "next", "text": "look"});
    assert_eq!(http.post(&format!("/runs/{new}/commands"), &steer).status, 200);

    // A finished run.
    let at = |route: &str| format!("/runs/{old}{route}");
    let print = |args: &[&str]| sandbox.ralph(args).run(SOON).stdout;
    let diff = http.get(&at("/diff/1"));
    assert_eq!(
        (diff.kind.as_str(), diff.text()),
        ("text/x-diff", print(&["diff", "1", "--run", &old]))
    );
    assert!(http.get(&at("/diff/1?stat=true")).text().contains("2 files changed"));
    assert_eq!(
        http.get(&at("/diff/2?since=1")).text(),
        print(&["diff", "2", "--since", "1", "--run", &old])
    );
    assert_eq!(http.get(&at("/diff/1?since=2")).status, 400);
    let report = http.get(&at("/report?format=text")).text();
    assert_eq!(report, print(&["report", &old]));
    assert_eq!(http.get(&at("/report")).json()["end"]["exitCode"], 0);
    let recording = http.get(&at("/recording/1"));
    assert_eq!(recording.kind, "application/x-asciicast");
    assert_eq!(recording.body, std::fs::read(past.recording(1)).expect("a recording"));
    assert_eq!(http.get(&at("/run")).json()["view"]["records"], records);
    assert_eq!(http.get(&at("/plan")).json()["tasks"][1]["done"], true);
    let told = http.events(&at("/events?from=0")).rest();
    assert_eq!(told.len(), records + 1);
    assert_eq!(
        told.last().map(|over| (&*over.event, &*over.data)),
        Some(("over", r#"{"exitCode":0}"#))
    );
    let rest = http.events(&at(&format!("/events?after={}", records - 3))).rest();
    assert_eq!(rest[..], told[records - 2..]);
    let seen = http.events(&at("/terminal?iteration=1")).rest();
    assert_eq!(shown(&seen), "first\r\nsecond\r\n");
    let rest = http.events(&at("/terminal?iteration=1&from=5")).rest();
    assert_eq!(shown(&rest), "\r\nsecond\r\n");
    let refused = http.post(&at("/commands"), &steer);
    assert_eq!(refused.status, 409);
    assert!(
        refused.text().contains("is not active (read-only)"),
        "{}",
        refused.text()
    );

    // Unknown routes and runs.
    for route in ["/diff/7", "/recording/7", "/terminal?iteration=7", "/nothing"] {
        assert_eq!(http.get(&at(route)).status, 404, "{route}");
    }
    for name in ["nobody", "..%2f..", &format!("..%2f{old}")] {
        assert_eq!(http.get(&format!("/runs/{name}/run")).status, 404, "{name}");
    }
    for route in [
        "/diff/x",
        "/report?format=html",
        "/events?after=99999",
        "/terminal?from=x",
    ] {
        assert_eq!(http.get(&at(route)).status, 400, "{route}");
    }

    sandbox.release("go");
    let shown = shown(&terminal.rest());
    assert!(shown.contains("second"), "{shown}");
    assert_eq!(running.wait(SOON).code(), Some(0));
}

#[test]
fn of_the_iteration_that_runs_one_sees_what_it_has_changed_so_far_and_that_it_runs() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "echo half > half.txt; echo kept > kept.o; said ready; await go; work; touch .ralph-done; over done",
    ));
    sandbox.write(".gitignore", "*.o\n");
    sandbox.write(".ralph/config.json", r#"{ "checkpoint": { "include": ["kept.o"] } }"#);
    sandbox.write("kept.o", "there before\n");
    let running = sandbox.looping::<[&str; 0]>([]).start();
    running.wait_for_record(SOON, said("ready"));
    let http = Http::for_socket(&sandbox.paths().socket());
    let print = |args: &[&str]| sandbox.ralph(args).run(SOON).stdout;

    let diff = http.get("/diff/1");
    assert_eq!(diff.status, 200, "{}", diff.text());
    assert!(diff.text().contains("+half\n"), "{}", diff.text());
    assert!(diff.text().contains("-there before\n+kept\n"), "{}", diff.text());
    assert_eq!(print(&["diff", "1"]), diff.text());
    assert_eq!(print(&["diff"]), diff.text());
    assert_eq!(http.get("/diff/2").status, 404);

    let steer = json!({"type": "steer", "kind": "next", "text": "use tabs"});
    assert_eq!(http.post("/commands", &steer).status, 200);
    let report = http.get("/report?format=text").text();
    for said in ["still running · ", "running for ", "(once, queued): use tabs"] {
        assert!(report.contains(said), "{said}: {report}");
    }
    assert!(!report.contains("not delivered"), "{report}");
    assert_eq!(http.get("/report").json()["running"], true);

    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
    assert!(!print(&["report"]).contains("still running"));
}
