//! Clients generated from `docs/openapi.json` are type-checked, and follow, answer, steer and stop a run.

use std::{fs, path::Path};

use ralph_core::event::{Decider, Event, IterationEvent, RunEvent, SteeringEvent, StopRequest};
use serde_json::{Value, json};

use crate::{
    bad_input::asking,
    harness::{Program, SOON, Sandbox, events, languages},
};

/// Runs `program`, such as a type checker of many modules, in the directory of the client to its end.
#[track_caller]
fn prepare(sandbox: &Sandbox, program: Program) {
    let finished = program.current_dir(sandbox.home()).run(SOON * 3);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

/// A run that is about to be followed, with the client's text and the document in its home.
fn served(name: &str, text: &str) -> Sandbox {
    let asks = "asks 'git tag one' one\nasks 'rm precious' two\nworks\n";
    let (sandbox, _) = asking::asking(r#"{ "ask": ["Bash"] }"#, asks);
    sandbox.plan(3);
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    fs::copy(document, sandbox.home().join("openapi.json")).expect("a copy");
    fs::write(sandbox.home().join(name), text).expect("written");
    sandbox
}

/// Starts the run and the client, and checks what both did.
#[track_caller]
fn follows(sandbox: &Sandbox, client: Program) {
    let run = sandbox.looping(["--listen", "127.0.0.1:0"]).start();
    let listens = |event: &Event| event.notice().is_some_and(|notice| notice.code == "listening");
    run.wait_for_record(SOON, listens);
    let status = sandbox.ralph(["status", "--json"]).run(SOON).stdout;
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let token = sandbox.ralph(["token"]).run(SOON).stdout;
    let client = client
        .env("RALPH", status["listen"].as_str().expect("an address"))
        .env("TOKEN", token.trim())
        .run(SOON);
    let run = run.wait(SOON);
    let code = run.code().expect("an exit code");
    assert_eq!(client.code(), Some(0), "{client:?}");
    let said: Vec<&str> = client.stdout.lines().collect();
    assert!(said.contains(&format!("exit code {code}").as_str()), "{said:?}");
    assert!(said.iter().any(|line| line.starts_with("3 tasks, ")), "{said:?}");
    let refusal = "refused: question 1 was allowed by you over HTTP: Bash: git tag one";
    assert!(said.contains(&refusal), "{said:?}");

    let records = sandbox.journal();
    let by_the_user = asking::decided(&records)
        .into_iter()
        .map(|(allowed, by)| (allowed, matches!(by, Decider::User { .. })));
    assert_eq!(by_the_user.collect::<Vec<_>>(), [(true, true), (false, true)]);
    let steered = |event: &Event| matches!(event, Event::Steering(SteeringEvent::Queued { text, .. }) if text == "Mind the tests.");
    let stopped = |event: &Event| {
        matches!(
            event,
            Event::Run(RunEvent::StopRequested {
                stop: StopRequest::AfterIteration,
                ..
            })
        )
    };
    let ended = |event: &Event| matches!(event, Event::Iteration(IterationEvent::Ended { iteration: 1, .. }));
    for what in [&steered as &dyn Fn(&Event) -> bool, &stopped, &ended] {
        assert_eq!(events(&records).filter(|event| what(event)).count(), 1, "{said:?}");
    }
    sandbox.assert_nothing_runs();
}

#[test]
fn a_client_generated_in_typescript_follows_answers_steers_and_stops() {
    let Some(packages) = languages::node_modules(include_str!("clients/package.json")) else {
        return;
    };
    let sandbox = served("follow.mts", include_str!("clients/follow.ts"));
    let home = sandbox.home();
    std::os::unix::fs::symlink(packages.join("node_modules"), home.join("node_modules")).expect("a link");
    let options = json!({
        "compilerOptions": {
            "strict": true,
            "exactOptionalPropertyTypes": true,
            "noUncheckedIndexedAccess": true,
            "target": "es2022",
            "module": "nodenext",
            "types": ["node"],
        },
        "files": ["follow.mts"],
    });
    fs::write(home.join("tsconfig.json"), options.to_string()).expect("written");
    let tool = |name: &str| sandbox.program("node").arg(packages.join("node_modules").join(name));
    let generator = tool("openapi-typescript/bin/cli.js").args([
        "openapi.json",
        "--output",
        "ralph.d.ts",
        "--default-non-nullable=false",
    ]);
    prepare(&sandbox, generator);
    prepare(&sandbox, tool("typescript/bin/tsc"));
    follows(&sandbox, sandbox.program("node").arg(home.join("follow.mjs")));
}

#[test]
fn a_client_generated_in_python_follows_answers_steers_and_stops() {
    let Some(packages) = languages::python_packages(include_str!("clients/requirements.txt")) else {
        return;
    };
    let sandbox = served("follow.py", include_str!("clients/follow.py"));
    let home = sandbox.home();
    // The generator knows no recordings.
    let config = r#"{ "content_type_overrides": { "application/x-asciicast": "application/octet-stream" }, "literal_enums": true, "post_hooks": [] }"#;
    fs::write(home.join("generator.json"), config).expect("written");
    let python = |args: &[&str]| sandbox.program("python3").env("PYTHONPATH", &packages).args(args);
    let generator = [
        "-m",
        "openapi_python_client",
        "generate",
        "--path",
        "openapi.json",
        "--config",
        "generator.json",
        "--meta",
        "none",
        "--output-path",
        "ralph_client",
        "--fail-on-warning",
    ];
    prepare(&sandbox, python(&generator));
    // The generator answers for its own code.
    prepare(
        &sandbox,
        python(&["-m", "mypy", "--strict", "--follow-imports=silent", "follow.py"]),
    );
    follows(&sandbox, python(&[]).arg(home.join("follow.py")));
}
