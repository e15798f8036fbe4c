//! What happens within a turn, with the real server. It takes seconds to start, so one serves several runs.

use std::fs;

use ralph::event::{AgentSignal, Claim, Delivery, Event, Outcome, ProblemKind, StopReason};
use serde_json::json;

use super::{proxy::Proxy, ralph, serve};
use crate::{
    agents_loop::{assert_done, in_order, outcomes, plan_one_task, signals, stopped, work_on},
    harness::{Program, SOON, Sandbox, agent::Agent, running::Running, wait_until},
    stand_in::{Scenario, StandIn, answer, http, log::Request, say, shell},
};

/// A server that somebody else has started, for one run after the other in the same project.
struct Served {
    sandbox: Sandbox,
    server: Running,
    port: u16,
    model: StandIn,
    /// The main requests of the runs before.
    asked: usize,
}

impl Served {
    /// Starts it in a project with a plan of one task; `prepare` has a say in its configuration.
    fn new(prepare: impl FnOnce(&Sandbox)) -> Option<Served> {
        let model = StandIn::start(say("Not asked yet."));
        let sandbox = sandbox(&model)?;
        prepare(&sandbox);
        sandbox.git(["tag", "start"]);
        let (server, port) = serve(&sandbox, "");
        Some(Served {
            sandbox,
            server,
            port,
            model,
            asked: 0,
        })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The first run in the project as it was in the beginning, with a model that plays `scenario`.
    fn ralph(&mut self, scenario: impl Into<Scenario>) -> Program {
        let url = self.url();
        self.ralph_over(&url, scenario)
    }

    fn ralph_over(&mut self, url: &str, scenario: impl Into<Scenario>) -> Program {
        self.asked = self.model.main_requests().len();
        self.model.play(scenario);
        self.sandbox.git(["reset", "--quiet", "--hard", "start"]);
        self.sandbox.git(["clean", "--quiet", "--force", "-d"]);
        let runs = self.sandbox.state().join("ralph");
        if runs.exists() {
            fs::remove_dir_all(runs).expect("the state of the run before");
        }
        ralph(&self.sandbox).args(["--server", url])
    }

    /// The main requests of this run.
    fn requests(&self) -> Vec<Request> {
        self.model.main_requests().split_off(self.asked)
    }

    /// The server may still be busy with what it does by itself after a turn.
    fn assert_only_the_server_runs(&self) {
        wait_until(SOON, "nothing but the server runs", || {
            let mut left = self.sandbox.processes().into_iter().map(|process| process.pid);
            left.all(|pid| pid == self.server.pid()).then_some(())
        });
    }
}

#[test]
fn a_server_that_asks_before_commands() {
    let Some(mut served) = Served::new(ask_before_commands) else {
        return;
    };
    a_permission_that_is_asked_for_is_denied_and_the_turn_goes_on(&mut served);
    permissions_are_given_where_that_is_wanted(&mut served);
    served.assert_only_the_server_runs();
}

#[test]
fn a_server_that_is_asked_for_all_kinds_of_turns() {
    let Some(mut served) = Served::new(|_| {}) else { return };
    a_question_is_answered_and_the_turn_goes_on(&mut served);
    a_message_reaches_the_turn_that_runs(&mut served);
    a_wire_that_is_cut_in_the_middle_of_a_turn_costs_nothing(&mut served);
    a_promise_in_the_last_message_is_a_claim(&mut served);
    a_model_that_the_server_does_not_know_ends_the_run(&mut served);
    an_agent_that_the_server_does_not_know_ends_the_run(&mut served);
    model_and_agent_are_those_that_were_asked_for(&mut served);
    a_session_that_overflows_again_and_again_is_given_up(&mut served);
    served.assert_only_the_server_runs();
}

/// A sandbox with a plan of one task, in which opencode asks `model`.
fn sandbox(model: &StandIn) -> Option<Sandbox> {
    let sandbox = Agent::OpencodeServer.sandbox(model, 0)?;
    plan_one_task(&sandbox);
    Some(sandbox)
}

/// Makes opencode ask before it runs a command.
fn ask_before_commands(sandbox: &Sandbox) {
    let path = sandbox.config().join("opencode/opencode.json");
    let text = std::fs::read_to_string(&path).expect("opencode's configuration");
    let mut config: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    config["permission"] = json!({ "bash": "ask" });
    std::fs::write(&path, config.to_string()).expect("opencode's configuration");
}

fn permissions(told: &[AgentSignal]) -> Vec<&str> {
    let asked = told.iter().filter_map(|signal| match signal {
        AgentSignal::PermissionAsked { text, .. } => Some(text.as_str()),
        _ => None,
    });
    asked.collect()
}

fn a_permission_that_is_asked_for_is_denied_and_the_turn_goes_on(served: &mut Served) {
    let [_, done] = work_on("hello");
    let ralph = served.ralph(in_order([&[shell("touch x").into(), done]]));
    let finished = ralph.args(["--max-iterations", "1"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{}", finished.stdout);
    let records = finished.records();
    assert_eq!(outcomes(&records), [Outcome::Completed]);
    assert_eq!(permissions(&signals(&records)), ["bash (touch x): denied"]);
    assert_eq!(served.sandbox.read("x"), None);
    let second = &served.requests()[1];
    assert!(
        second.tool_results[0].contains("this runs unattended"),
        "{:?}",
        second.tool_results
    );
    served.assert_only_the_server_runs();
}

fn permissions_are_given_where_that_is_wanted(served: &mut Served) {
    let ralph = served.ralph(in_order([&work_on("hello")]));
    let finished = ralph.env("RALPH_PERMISSIONS", "allow").run(SOON);
    assert_done(&finished, 1, 1);
    let told = signals(&finished.records());
    let permissions = permissions(&told);
    assert!(!permissions.is_empty());
    assert!(
        permissions.iter().all(|text| text.ends_with(": allowed")),
        "{permissions:?}"
    );
    assert!(
        !told
            .iter()
            .any(|signal| matches!(signal, AgentSignal::PermissionAsked { allowed: false, .. })),
        "{told:?}"
    );
}

fn a_question_is_answered_and_the_turn_goes_on(served: &mut Served) {
    let question = json!({ "questions": [{ "question": "Which colour?", "header": "Colour", "options": [
        { "label": "red", "description": "like fire" }, { "label": "blue", "description": "like the sea" },
    ] }] });
    let ask = answer().call("question", question);
    let [work, done] = work_on("hello");
    let finished = served.ralph(in_order([&[ask.into(), work, done]])).run(SOON);
    assert_done(&finished, 1, 1);
    let told = signals(&finished.records());
    let asked = |signal: &AgentSignal| matches!(signal, AgentSignal::QuestionAsked { text, .. } if text.starts_with("Which colour?"));
    assert!(told.iter().any(asked), "{told:#?}");
    let second = &served.requests()[1];
    assert!(
        second.tool_results[0].contains("decide yourself"),
        "{:?}",
        second.tool_results
    );
}

fn a_message_reaches_the_turn_that_runs(served: &mut Served) {
    let [work, done] = work_on("hello");
    let waits = shell("while [ ! -e go ]; do sleep 0.05; done; rm go");
    let running = served.ralph(in_order([&[waits.into(), work, done]])).start();
    running.wait_for_record(SOON, |event| {
        matches!(
            event,
            Event::AgentReported {
                signal: AgentSignal::ToolStarted { .. },
                ..
            }
        )
    });
    let steered = served
        .sandbox
        .ralph(["steer", "--now", "Use", "British", "spelling."])
        .run(SOON);
    assert_eq!(steered.code(), Some(0), "{}", steered.stderr);
    running.wait_for_record(SOON, |event| {
        matches!(
            event,
            Event::SteeringDelivered {
                how: Delivery::Live,
                iteration: 1,
                ..
            }
        )
    });
    served.sandbox.write("go", "");
    let finished = running.wait(SOON);
    assert_done(&finished, 1, 1);
    let second = &served.requests()[1];
    assert_eq!(second.prompt(), "Use British spelling.");
}

fn a_wire_that_is_cut_in_the_middle_of_a_turn_costs_nothing(served: &mut Served) {
    let [work, done] = work_on("hello");
    let waits = answer()
        .text("I wait.")
        .shell("while [ ! -e go ]; do sleep 0.05; done; rm go");
    let proxy = Proxy::to(served.port);
    let scenario = in_order([&[waits.into(), work, done]]);
    let running = served.ralph_over(&proxy.url(), scenario).start();
    running.wait_for_record(SOON, |event| {
        matches!(
            event,
            Event::AgentReported {
                signal: AgentSignal::ToolStarted { .. },
                ..
            }
        )
    });
    assert!(proxy.cut() > 0);
    // Before ralph can be back: what happens now is told to nobody.
    served.sandbox.write("go", "");
    let finished = running.wait(SOON);
    assert_done(&finished, 1, 1);
    let told = signals(&finished.records());
    let count = |wanted: &dyn Fn(&AgentSignal) -> bool| told.iter().filter(|signal| wanted(signal)).count();
    assert_eq!(
        count(&|signal| matches!(signal, AgentSignal::ToolStarted { .. })),
        2,
        "{told:#?}"
    );
    assert_eq!(
        count(&|signal| matches!(signal, AgentSignal::ToolEnded { ok: true, .. })),
        2,
        "{told:#?}"
    );
    assert_eq!(
        count(&|signal| matches!(signal, AgentSignal::Said { .. })),
        2,
        "{told:#?}"
    );
    assert_eq!(
        count(&|signal| matches!(signal, AgentSignal::Usage { .. })),
        3,
        "{told:#?}"
    );
    assert_eq!(
        count(&|signal| matches!(signal, AgentSignal::Unknown { text } if text.ends_with("is back"))),
        1,
        "{told:#?}"
    );
}

fn a_promise_in_the_last_message_is_a_claim(served: &mut Served) {
    let ralph = served.ralph(say("It is done.\n\n<promise>ALL DONE</promise>"));
    let finished = ralph.args(["--promise", "ALL DONE", "--max-iterations", "1"]).run(SOON);
    let claimed = finished.records().into_iter().any(|record| {
        matches!(
            record.event,
            Event::ClaimMade {
                claim: Claim::Promise,
                ..
            }
        )
    });
    assert!(claimed, "{}", finished.stdout);
}

/// How a run ends that its agent cannot begin, with these arguments.
fn refused(served: &mut Served, args: &[&str]) -> ProblemKind {
    let finished = served.ralph(say("ok")).args(args).run(SOON);
    let (reason, _, totals) = stopped(&finished);
    let StopReason::AgentFailed { problem, .. } = reason else {
        panic!("{}", finished.stdout)
    };
    assert_eq!(finished.code(), Some(1));
    assert_eq!(totals.iterations, 1);
    assert_eq!(served.requests().len(), 0);
    problem.kind
}

fn a_model_that_the_server_does_not_know_ends_the_run(served: &mut Served) {
    assert_eq!(refused(served, &["--model", "standin/nope"]), ProblemKind::ModelUnknown);
}

fn an_agent_that_the_server_does_not_know_ends_the_run(served: &mut Served) {
    assert_eq!(refused(served, &["--agent", "nope"]), ProblemKind::Usage);
}

fn model_and_agent_are_those_that_were_asked_for(served: &mut Served) {
    let ralph = served.ralph(in_order([&work_on("hello")]));
    let finished = ralph
        .args(["--model", "standin/stand-in", "--agent", "general"])
        .run(SOON);
    let told = signals(&finished.records());
    let opened = told.iter().find_map(|signal| match signal {
        AgentSignal::Opened { model, .. } => model.as_deref(),
        _ => None,
    });
    assert_eq!(opened, Some("standin/stand-in"));
    assert_eq!(served.requests()[0].body["model"], "stand-in");
}

fn a_session_that_overflows_again_and_again_is_given_up(served: &mut Served) {
    let body = json!({ "error": { "message": "prompt is too long: 250000 tokens > 200000 maximum" } });
    let ralph = served.ralph(http(400).body(body));
    let finished = ralph.args(["--max-iterations", "1"]).run(SOON);
    let ends = outcomes(&finished.records());
    assert!(
        matches!(&ends[..], [Outcome::Failed { problem }] if problem.kind == ProblemKind::ContextOverflow),
        "{ends:?}"
    );
}
