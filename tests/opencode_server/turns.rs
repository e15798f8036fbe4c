//! Events within a turn, with the real server. It takes seconds to start, so several runs share one.

use std::fs;

use ralph_core::event::{
    AgentEvent, AgentSignal, AskEvent, Claim, ClaimEvent, Decider, Delivery, Event, Outcome, ProblemKind, Record,
    SteeringEvent, SteeringId, StopReason,
};
use serde_json::{Value, json};

use super::{proxy::Forwarder, ralph, serve};
use crate::{
    agents_loop::{assert_done, in_order, outcomes, plan_one_task, signals, stopped, work_on},
    harness::{Program, SOON, Sandbox, agent::Agent, http::plain, running::Running, wait_until},
    stand_in::{Gate, Scenario, StandIn, answer, http, log::ModelRequest, say, shell},
};

/// A server that ralph did not start, for one run after the other in the same project.
struct ExternalServer {
    sandbox: Sandbox,
    server: Running,
    port: u16,
    model: StandIn,
    /// Number of main requests of earlier runs.
    asked: usize,
}

impl ExternalServer {
    /// Starts the server in a project with a plan of one task; `prepare` may change the configuration first.
    fn new(prepare: impl FnOnce(&Sandbox)) -> Option<ExternalServer> {
        let model = StandIn::start(say("Not asked yet."));
        let sandbox = sandbox(&model)?;
        prepare(&sandbox);
        sandbox.git(["tag", "start"]);
        let (server, port) = serve(&sandbox, "");
        Some(ExternalServer {
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

    /// A run in the project as it was at the beginning, with a model that plays `scenario`.
    fn ralph(&mut self, scenario: impl Into<Scenario>) -> Program {
        let url = self.url();
        self.ralph_over(&url, scenario)
    }

    fn ralph_over(&mut self, url: &str, scenario: impl Into<Scenario>) -> Program {
        self.asked = self.model.main_request_count();
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
    fn requests(&self) -> Vec<ModelRequest> {
        self.model.main_requests().split_off(self.asked)
    }

    /// Waits, since the server may still be busy with its own work after a turn.
    fn assert_only_the_server_runs(&self) {
        wait_until(SOON, "nothing but the server runs", || {
            let mut left = self.sandbox.processes().into_iter().map(|process| process.pid);
            left.all(|pid| pid == self.server.pid()).then_some(())
        });
    }
}

#[test]
#[ignore = "part of the full matrix"]
fn a_server_that_asks_before_commands() {
    let Some(mut served) = ExternalServer::new(ask_before_commands) else {
        return;
    };
    a_permission_that_nobody_answers_is_denied_and_the_turn_goes_on(&mut served);
    permissions_are_given_where_that_is_wanted(&mut served);
    a_session_that_is_stopped_while_it_asks_waits_no_more(&mut served);
    rules_need_a_server_that_nobody_else_has_told_what_to_ask(&mut served);
    served.assert_only_the_server_runs();
}

#[test]
#[ignore = "part of the full matrix"]
fn a_server_that_is_asked_for_all_kinds_of_turns() {
    let Some(mut served) = ExternalServer::new(|_| {}) else {
        return;
    };
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

/// Configures opencode to ask before it runs a command.
fn ask_before_commands(sandbox: &Sandbox) {
    let path = sandbox.config().join("opencode/opencode.json");
    let text = std::fs::read_to_string(&path).expect("opencode's configuration");
    let mut config: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    config["permission"] = json!({ "bash": "ask" });
    std::fs::write(&path, config.to_string()).expect("opencode's configuration");
}

/// The permission decisions: the request's title, whether it was allowed, and who decided.
fn decisions(records: &[Record]) -> Vec<(String, bool, Decider)> {
    let decided = records.iter().filter_map(|record| match &record.event {
        Event::Ask(AskEvent::Answered { answered }) => {
            let by = answered.by.clone();
            Some((answered.title.clone(), answered.allowed()?, by))
        }
        _ => None,
    });
    decided.collect()
}

fn a_permission_that_nobody_answers_is_denied_and_the_turn_goes_on(served: &mut ExternalServer) {
    let [_, done] = work_on("hello");
    let ralph = served.ralph(in_order([&[shell("touch x").into(), done]]));
    let ralph = ralph.env("RALPH_PERMISSIONS_TIMEOUT", "200ms");
    let finished = ralph.args(["--max-iterations", "1"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{}", finished.stdout);
    let records = finished.records();
    assert_eq!(outcomes(&records), [Outcome::Completed]);
    assert_eq!(decisions(&records), [("touch x".to_owned(), false, Decider::Deadline)]);
    assert_eq!(served.sandbox.read("x"), None);
    let second = &served.requests()[1];
    assert!(
        second.tool_results[0].contains("No user was available"),
        "{:?}",
        second.tool_results
    );
    served.assert_only_the_server_runs();
}

fn permissions_are_given_where_that_is_wanted(served: &mut ExternalServer) {
    let ralph = served.ralph(in_order([&work_on("hello")]));
    let ralph = ralph.env("RALPH_PERMISSIONS_TIMEOUT", "1ms");
    let finished = ralph.env("RALPH_PERMISSIONS_ON_TIMEOUT", "allow").run(SOON);
    assert_done(&finished, 1, 1);
    let decided = decisions(&finished.records());
    assert!(!decided.is_empty());
    let given = |(_, allowed, by): &(String, bool, Decider)| *allowed && *by == Decider::Deadline;
    assert!(decided.iter().all(given), "{decided:?}");
}

fn a_session_that_is_stopped_while_it_asks_waits_no_more(served: &mut ExternalServer) {
    let running = served.ralph(in_order([&[shell("touch x").into()]])).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    assert_eq!(served.sandbox.ralph(["stop"]).run(SOON).code(), Some(0));
    running.wait(SOON);
    assert_eq!(served.sandbox.read("x"), None);
    served.assert_only_the_server_runs();
}

fn rules_need_a_server_that_nobody_else_has_told_what_to_ask(served: &mut ExternalServer) {
    let ralph = served
        .ralph(say("never asked"))
        .env("RALPH_PERMISSIONS_DENY", "Bash(rm *)");
    let finished = ralph.run(SOON);
    assert_eq!(finished.code(), Some(3), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("`opencode-server` cannot enforce"),
        "{}",
        finished.stderr
    );
    assert_eq!(served.requests().len(), 0);
}

/// Configures opencode itself to allow everything, deny one command, and have a subagent that may run any command.
fn allow_everything(sandbox: &Sandbox) {
    let path = sandbox.config().join("opencode/opencode.json");
    let text = std::fs::read_to_string(&path).expect("opencode's configuration");
    let mut config: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    config["permission"] = json!({ "*": "allow", "bash": { "*": "allow", "touch *": "deny" } });
    config["agent"]["free"] = json!({ "mode": "subagent", "description": "free", "permission": { "bash": "allow" } });
    std::fs::write(&path, config.to_string()).expect("opencode's configuration");
}

#[test]
#[ignore = "part of the full matrix"]
fn rules_hold_for_everything_that_a_server_of_ones_own_does() {
    let model = StandIn::start(say("Not asked yet."));
    let Some(sandbox) = sandbox(&model) else { return };
    allow_everything(&sandbox);
    sandbox.write("precious.txt", "years of work\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "precious"]);
    let permissions = r#"{ "deny": ["Bash(rm *)"], "ask": ["Bash(git push *)", "Bash(git notes *)"] }"#;
    sandbox.write(".ralph/config.json", &format!("{{ \"permissions\": {permissions} }}"));

    // Killed while it asks: an unanswered request is not allowed, and the iteration starts again.
    model.play(in_order([&[shell("git push origin main").into()]]));
    let running = ralph(&sandbox).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    running.kill();
    running.wait(SOON);
    let asked = model.main_request_count();

    // opencode withdraws all other questions of a session once one is refused, so these are in separate steps.
    let refused = answer().shell("rm precious.txt").shell("touch by-its-own-settings");
    let asked_for = answer()
        .shell("git push origin main")
        .shell("git notes add --message noted");
    let task = |agent: &str| {
        let task = json!({ "description": "tidy up", "prompt": "Tidy up.", "subagent_type": agent });
        answer().call("task", task)
    };
    let [work, done] = work_on("hello");
    model.play(in_order([&[
        refused.into(),
        asked_for.into(),
        task("general").into(),
        shell("rm -f precious.txt").into(),
        say("Tidied up.").into(),
        task("free").into(),
        work,
        done,
    ]]));
    let running = ralph(&sandbox).start();
    running.wait_for_record(
        SOON,
        |event| matches!(event, Event::Ask(AskEvent::Asked { ask }) if ask.number == 3),
    );
    // The server decides which of the two asks first.
    let asks = sandbox.ralph(["asks"]).run(SOON).stdout;
    let of_push = |line: &&str| line.contains("git push");
    let push = asks.lines().find(of_push).and_then(|line| line.split(':').next());
    let (push, notes) = if push == Some("2") { ("2", "3") } else { ("3", "2") };
    for args in [&[notes, "yes"][..], &[push, "no", "use", "a", "branch"]] {
        let answered = sandbox.ralph(["answer"]).args(args).run(SOON);
        assert_eq!(answered.code(), Some(0), "{}", answered.stderr);
    }
    let finished = running.wait(SOON);
    assert_done(&finished, 1, 2);
    assert!(sandbox.read("precious.txt").is_some());
    assert_eq!(sandbox.read("by-its-own-settings"), None);
    assert_eq!(sandbox.git(["notes", "list"]).lines().count(), 1);
    let requests = model.main_requests().split_off(asked);
    let told = requests[1].tool_results.join("\n");
    assert!(told.contains("The rule `Bash(rm *)`"), "{told}");
    let told = requests[2].tool_results.join("\n");
    assert!(told.contains("The user says: use a branch"), "{told}");
    let subagent = requests[4].tool_results.join("\n");
    assert!(subagent.contains("The rule `Bash(rm *)`"), "{subagent}");
    let decided = decisions(&finished.records());
    let denied: Vec<&str> = decided
        .iter()
        .filter(|(_, allowed, _)| !allowed)
        .map(|(title, ..)| title.as_str())
        .collect();
    assert_eq!(
        denied,
        ["rm precious.txt", "git push origin main", "rm -f precious.txt"],
        "{decided:?}"
    );
    assert!(
        decided
            .iter()
            .any(|(_, allowed, by)| *allowed && matches!(by, Decider::Mode { .. })),
        "{decided:?}"
    );
    let told = signals(&finished.records());
    let without = |signal: &AgentSignal| matches!(signal, AgentSignal::Noted { text } if text.ends_with(": free"));
    assert!(told.iter().any(without), "{told:#?}");
    sandbox.assert_nothing_runs();
}

#[test]
#[ignore = "part of the full matrix"]
fn an_agent_that_allows_itself_what_it_asks_for_ends_the_run() {
    let model = StandIn::start(say("Not asked yet."));
    let Some(sandbox) = sandbox(&model) else { return };
    let permissions = r#"{ "permissions": { "ask": ["Bash(git push *)"] } }"#;
    sandbox.write(".ralph/config.json", permissions);
    // The server's tools inherit the credentials that its clients need.
    let tells = r#"printf %s "$OPENCODE_SERVER_USERNAME:$OPENCODE_SERVER_PASSWORD" > "$HOME/password"
        tr '\0' '\n' < /proc/$PPID/cmdline > "$HOME/server""#;
    let both = answer().shell("git push origin main").shell(tells);
    model.play(in_order([&[both.into(), say("Not asked for any more.").into()]]));
    let running = ralph(&sandbox).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    let server = wait_until(SOON, "the server's command line", || {
        sandbox
            .read_home("server")
            .filter(|text| text.lines().any(|line| line == "--port"))
    });
    let port = server.lines().skip_while(|line| *line != "--port").nth(1);
    let url = format!("http://127.0.0.1:{}", port.expect("a port"));
    let password = sandbox.read_home("password").expect("the password");
    let directory = sandbox.project().display().to_string();
    allow_all(&url, &password, &directory);
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let (reason, ..) = stopped(&finished);
    assert!(
        matches!(&reason, StopReason::AgentFailed { problem, .. } if problem.text.contains("another client")),
        "{reason:?}"
    );
    sandbox.assert_nothing_runs();
}

/// Allows every waiting request of a server, as its clients can.
fn allow_all(url: &str, password: &str, directory: &str) {
    let (user, password) = password.split_once(':').expect("a user and a password");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let client = plain(reqwest::Client::builder());
        let send = async |request: reqwest::RequestBuilder| {
            let request = request
                .basic_auth(user, Some(password))
                .query(&[("directory", directory)]);
            request
                .send()
                .await
                .expect("an answer")
                .error_for_status()
                .expect("a yes")
        };
        let listed = send(client.get(format!("{url}/permission"))).await.json::<Vec<Value>>();
        for request in listed.await.expect("a list") {
            let path = format!("{url}/permission/{}/reply", request["id"].as_str().expect("an id"));
            send(client.post(path).json(&json!({ "reply": "once" }))).await;
        }
    });
}

fn a_question_is_answered_and_the_turn_goes_on(served: &mut ExternalServer) {
    let question = json!({ "questions": [{ "question": "Which colour?", "header": "Colour", "options": [
        { "label": "red", "description": "like fire" }, { "label": "blue", "description": "like the sea" },
    ] }] });
    let ask = || answer().call("question", question.clone());
    let [work, done] = work_on("hello");
    let running = served.ralph(in_order([&[ask().into(), work, done]])).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    let answered = served.sandbox.ralph(["answer", "1", "2"]).run(SOON);
    assert_eq!(answered.code(), Some(0), "{}", answered.stderr);
    assert_done(&running.wait(SOON), 1, 1);
    let told = &served.requests()[1].tool_results[0];
    assert!(told.contains("\"Which colour?\"=\"blue\""), "{told}");

    let [work, done] = work_on("hello");
    let nobody = served.ralph(in_order([&[ask().into(), work, done]]));
    let finished = nobody.env("RALPH_PERMISSIONS_TIMEOUT", "200ms").run(SOON);
    assert_done(&finished, 1, 1);
    let told = &served.requests()[1].tool_results[0];
    assert!(
        told.contains("No user is available to answer. Decide yourself"),
        "{told}"
    );
    let report = served.sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("not answered by the time limit: Which colour?"),
        "{report}"
    );
}

fn a_message_reaches_the_turn_that_runs(served: &mut ExternalServer) {
    let [work, done] = work_on("hello");
    let waits = shell("while [ ! -e go ]; do sleep 0.05; done; rm go");
    let gate = Gate::default();
    let writes = say("Nearly there, only the work is left.").held(&gate);
    let running = served
        .ralph(in_order([&[waits.into(), writes.into(), work, done]]))
        .start();
    running.wait_for_record(SOON, |event| {
        matches!(
            event,
            Event::Agent(AgentEvent::Reported {
                signal: AgentSignal::ToolStarted { .. },
                ..
            })
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
            Event::Steering(SteeringEvent::Delivered {
                how: Delivery::Live,
                iteration: 1,
                ..
            })
        )
    });
    served.sandbox.write("go", "");
    // Text is shown while it is written, and another message arrives meanwhile.
    wait_until(SOON, "the first word", || {
        let recording = served.sandbox.recording(1);
        recording.contains("Nearly").then_some(())
    });
    let steered = served.sandbox.ralph(["steer", "--now", "Be brief."]).run(SOON);
    assert_eq!(steered.code(), Some(0), "{}", steered.stderr);
    running.wait_for_record(SOON, |event| {
        matches!(
            event,
            Event::Steering(SteeringEvent::Delivered {
                id: SteeringId(2),
                how: Delivery::Live,
                ..
            })
        )
    });
    gate.open();
    let finished = running.wait(SOON);
    assert_done(&finished, 1, 1);
    let requests = served.requests();
    assert_eq!(requests[1].prompt(), "Use British spelling.");
    assert_eq!(requests[2].prompt(), "Be brief.");
}

fn a_wire_that_is_cut_in_the_middle_of_a_turn_costs_nothing(served: &mut ExternalServer) {
    let [work, done] = work_on("hello");
    let waits = answer()
        .text("I wait.")
        .shell("while [ ! -e go ]; do sleep 0.05; done; rm go");
    let proxy = Forwarder::to(served.port);
    let scenario = in_order([&[waits.into(), work, done]]);
    let running = served.ralph_over(&proxy.url(), scenario).start();
    running.wait_for_record(SOON, |event| {
        matches!(
            event,
            Event::Agent(AgentEvent::Reported {
                signal: AgentSignal::ToolStarted { .. },
                ..
            })
        )
    });
    assert!(proxy.cut() > 0);
    // ralph has not reconnected yet: no event reports what happens now.
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
        count(&|signal| matches!(signal, AgentSignal::Noted { text } if text.ends_with("is re-established"))),
        1,
        "{told:#?}"
    );
}

fn a_promise_in_the_last_message_is_a_claim(served: &mut ExternalServer) {
    let ralph = served.ralph(say("It is done.\n\n<promise>ALL DONE</promise>"));
    let finished = ralph.args(["--promise", "ALL DONE", "--max-iterations", "1"]).run(SOON);
    let claimed = finished.records().into_iter().any(|record| {
        matches!(
            record.event,
            Event::Claim(ClaimEvent::Made {
                claim: Claim::Promise,
                ..
            })
        )
    });
    assert!(claimed, "{}", finished.stdout);
}

/// The problem that ends a run whose agent cannot start with these arguments.
fn refused(served: &mut ExternalServer, args: &[&str]) -> ProblemKind {
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

fn a_model_that_the_server_does_not_know_ends_the_run(served: &mut ExternalServer) {
    assert_eq!(refused(served, &["--model", "standin/nope"]), ProblemKind::ModelUnknown);
}

fn an_agent_that_the_server_does_not_know_ends_the_run(served: &mut ExternalServer) {
    assert_eq!(refused(served, &["--agent", "nope"]), ProblemKind::Usage);
}

fn model_and_agent_are_those_that_were_asked_for(served: &mut ExternalServer) {
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

fn a_session_that_overflows_again_and_again_is_given_up(served: &mut ExternalServer) {
    let body = json!({ "error": { "message": "prompt is too long: 250000 tokens > 200000 maximum" } });
    let ralph = served.ralph(http(400).body(body));
    let finished = ralph.args(["--max-iterations", "1"]).run(SOON);
    let ends = outcomes(&finished.records());
    assert!(
        matches!(&ends[..], [Outcome::Failed { problem }] if problem.kind == ProblemKind::ContextOverflow),
        "{ends:?}"
    );
}
