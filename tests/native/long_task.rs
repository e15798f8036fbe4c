//! A long task in a small window, on every API: the server refuses a request that exceeds the window, or in which a call and
//! its result are not together.

use serde_json::json;

use super::{Talk, sandbox};
use crate::{
    harness::{SOON, Sandbox, agent::Agent},
    stand_in::{RequestKind, Scenario, StandIn, Step, answer, http, say, shell},
};

const WINDOW: usize = 16_000;
const CALLS: usize = 200;
const TASK: &str = "Do what docs/notes.md says.";
const SUMMARY: &str = "The first steps are done.";

/// The APIs, with the tokens that the server counts for a request.
const APIS: [(Agent, &str, u64); 3] = [
    (Agent::Native, "openai", 1050),
    (Agent::Native, "responses", 1050),
    (Agent::NativeMessages, "anthropic", 1170),
];

/// A call of each kind in turn: a long output, a file that is written, a file that is read, a short one.
fn step(number: usize) -> Step {
    let answer = answer().reasoning("Next.").text(&format!("Step {number}."));
    let answer = match number % 4 {
        0 => answer.shell(&format!("echo {number} >> made; seq {number} {}", number + 600)),
        1 => answer.write(&format!("{number}.txt"), &"A line.\n".repeat(200)),
        2 => answer.read(&format!("{}.txt", number - 1)),
        _ => answer.read("docs/notes.md"),
    };
    answer.into()
}

fn long_task() -> Scenario {
    let steps = (0..CALLS).map(step).fold(Scenario::new(), Scenario::then);
    steps.then(say("Done.")).side(say(SUMMARY)).window(WINDOW)
}

fn with_notes(agent: Agent, model: &StandIn) -> Sandbox {
    let sandbox = sandbox(agent, model, 0);
    std::fs::create_dir_all(sandbox.project().join("docs")).unwrap();
    std::fs::write(sandbox.project().join("docs/notes.md"), "Count.\n").unwrap();
    sandbox
}

fn begin(sandbox: &Sandbox, wire: &str, more: &[(&str, &str)]) -> Talk {
    let variables = [
        ("RALPH_NATIVE_WIRE", wire),
        ("RALPH_NATIVE_CONTEXT_TOKENS", "16000"),
        ("RALPH_NATIVE_MAX_REQUESTS", "400"),
    ];
    Talk::opens(sandbox, &[&variables, more].concat())
}

#[test]
fn two_hundred_calls_fit_a_small_window_on_every_api() {
    for (agent, wire, _) in APIS {
        let model = StandIn::start(long_task());
        let sandbox = with_notes(agent, &model);
        let mut talk = begin(&sandbox, wire, &[]);
        assert_eq!(
            talk.turn(TASK),
            Ok("end_turn".to_owned()),
            "{wire}: {:?}",
            model.flaws()
        );
        assert_eq!(model.flaws(), [] as [&str; 0], "{wire}");
        let requests = model.main_requests();
        assert_eq!(requests.len(), CALLS + 1, "{wire}");
        let made = (0..CALLS).step_by(4).map(|number| format!("{number}\n"));
        assert_eq!(sandbox.read("made"), Some(made.collect()), "{wire}");
        for request in &requests {
            let body = request.body.to_string();
            assert!(
                body.contains(TASK) && body.contains("You are a coding agent"),
                "{wire}: {body}"
            );
        }
        let summed = model
            .exchanges()
            .iter()
            .filter(|exchange| exchange.request.kind == RequestKind::Side)
            .count();
        assert!((3..CALLS / 4).contains(&summed), "{wire}: {summed} summaries");
        assert!(requests[CALLS].body.to_string().contains(SUMMARY), "{wire}");
        let told = talk.agent.so_far().matches("\"text\":\"compacted ").count();
        assert_eq!(told, summed, "{wire}");
        let back = match wire {
            "openai" => "\"reasoning_content\":\"Next.\"",
            "responses" => "\"encrypted_content\":\"c3RhbmQtaW4=\"",
            _ => "\"signature\":\"c3RhbmQtaW4=\"",
        };
        assert!(
            requests[CALLS].body.to_string().contains(back),
            "{wire}: reasoning is sent back"
        );
    }
}

#[test]
fn a_long_task_ends_with_the_request_that_reaches_its_budget_on_every_api() {
    const BUDGET: u64 = 80_000;
    for (agent, wire, tokens) in APIS {
        let model = StandIn::start(long_task());
        let sandbox = with_notes(agent, &model);
        let mut talk = begin(&sandbox, wire, &[("RALPH_BUDGET", r#"{"tokens":80000}"#)]);
        let id = talk.prompt(TASK);
        let result = talk.wait_for_result(id).unwrap();
        assert_eq!(result["stopReason"], "max_turn_requests", "{wire}");
        let requests = model.exchanges().len() as u64;
        let used = result["_meta"]["usage"]["totalTokens"].as_u64();
        assert_eq!(used, Some(requests * tokens), "{wire}: summaries count as well");
        assert_eq!(requests, BUDGET.div_ceil(tokens), "{wire}");
        assert_eq!(model.flaws(), [] as [&str; 0], "{wire}");
    }
}

#[test]
fn without_a_summary_the_oldest_results_are_left_out_and_the_work_goes_on() {
    let failing = long_task().side(http(400).body(json!({"error": {"message": "no summaries"}})));
    let model = StandIn::start(failing);
    let sandbox = with_notes(Agent::Native, &model);
    let mut talk = begin(&sandbox, "openai", &[]);
    assert_eq!(talk.turn(TASK), Ok("end_turn".to_owned()), "{:?}", model.flaws());
    assert_eq!(model.flaws(), [] as [&str; 0]);
    let last = model.main_requests().pop().unwrap();
    assert!(
        last.tool_results.iter().any(|result| result.starts_with("[left out")),
        "{last:?}"
    );
}

#[test]
fn reasoning_that_the_api_does_not_take_back_is_left_out() {
    let refused = json!({"error": {
        "code": "invalid_encrypted_content", "message": "The encrypted content for item rs_1 could not be verified.",
    }});
    let thought = answer().reasoning("Next.").shell("true");
    let steps = [Step::from(thought), http(400).body(refused).into(), say("Done.").into()];
    let model = StandIn::start(steps.into_iter().fold(Scenario::new(), Scenario::then));
    let sandbox = sandbox(Agent::Native, &model, 0);
    let mut talk = begin(&sandbox, "responses", &[]);
    assert_eq!(talk.turn("Do it."), Ok("end_turn".to_owned()));
    let sent = |at: usize| model.main_requests()[at].body["input"].to_string();
    assert!(sent(1).contains("encrypted_content"), "{}", sent(1));
    assert!(
        !sent(2).contains("encrypted_content") && sent(2).contains("function_call_output"),
        "{}",
        sent(2)
    );
}

#[test]
fn a_window_that_only_the_server_knows_is_learned_from_its_refusal() {
    let steps = (0..12).map(|number| Step::from(shell(&format!("seq {number} 2000"))));
    let scenario = steps.fold(Scenario::new(), Scenario::then).then(say("Done."));
    let model = StandIn::start(scenario.side(say(SUMMARY)).window(9_000));
    let sandbox = sandbox(Agent::Native, &model, 0);
    let mut talk = Talk::opens(&sandbox, &[]);
    assert_eq!(talk.turn("Count."), Ok("end_turn".to_owned()));
    let [flaw] = &model.flaws()[..] else {
        panic!("one refusal teaches the window: {:?}", model.flaws())
    };
    assert!(flaw.contains("context window of 9000"), "{flaw}");
}

#[test]
fn a_run_over_responses_does_its_plan_and_tells_of_compactions() {
    let work = |number: u32| Step::from(shell(&format!("seq {number} 1800")));
    let done = answer().edit("PLAN.md", "- [ ] Task 1", "- [x] Task 1");
    let steps = (0..6).map(work).fold(Scenario::new(), Scenario::then);
    let steps = steps
        .then(answer().write("hello.txt", "hello\n"))
        .then(done)
        .then(say("Done."));
    let model = StandIn::start(steps.side(say(SUMMARY)).window(9_000));
    let sandbox = sandbox(Agent::Native, &model, 0);
    sandbox.plan(1);
    let run = sandbox.ralph(["--headless", "--adapter", "native", "--format", "jsonl"]);
    let run = run
        .env("RALPH_NATIVE_WIRE", "responses")
        // The budget of a run around this one is not the budget of this one.
        .env("RALPH_BUDGET", r#"{"tokens":1}"#)
        .env("RALPH_NATIVE_CONTEXT_TOKENS", "9000");
    let finished = run.run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?} {:?}", model.flaws());
    assert_eq!(model.flaws(), [] as [&str; 0]);
    assert!(
        model
            .main_requests()
            .iter()
            .all(|request| request.path == "/v1/responses")
    );
    assert!(finished.stdout.contains("compacted "), "{finished:?}");
}
