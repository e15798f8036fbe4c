//! ralph's own agent, addressed directly: its tools, its reaction to a faulty model or server, and its sessions.
//! Behaviour common to all agents is tested with all of them.

mod long_task;

use std::time::Duration;

use ralph_core::testing::acp::{Side, flaw};
use serde_json::{Value, json};

use crate::{
    harness::{SOON, Sandbox, agent::Agent, running::Running, wait::wait_until},
    stand_in::{Gate, Scenario, StandIn, Step, answer, drop_connection, http, say, scenario::ModelAnswer, shell},
};

/// A client of the agent.
struct Talk {
    agent: Running,
    requests: u64,
    permissions: u64,
    session: String,
    /// Whether permission requests are allowed or denied.
    allows: bool,
    /// The methods of the requests.
    asked: Vec<String>,
    /// How many lines of the agent were compared with the schema of the protocol.
    compared: usize,
}

impl Talk {
    fn begin(sandbox: &Sandbox, variables: &[(&str, &str)]) -> Talk {
        let program = sandbox
            .program(env!("CARGO_BIN_EXE_ralph"))
            .arg("__native-agent")
            .stdin_piped();
        let program = variables
            .iter()
            .fold(program, |program, (name, value)| program.env(name, value));
        let mut talk = Talk {
            agent: program.start(),
            requests: 0,
            permissions: 0,
            session: String::new(),
            allows: true,
            asked: Vec::new(),
            compared: 0,
        };
        let greeted = talk.request("initialize", json!({"protocolVersion": 1})).unwrap();
        assert_eq!(greeted["protocolVersion"], 1);
        talk
    }

    /// Starts a session in the project.
    fn opens(sandbox: &Sandbox, variables: &[(&str, &str)]) -> Talk {
        let mut talk = Talk::begin(sandbox, variables);
        let opened = talk
            .request("session/new", json!({"cwd": sandbox.project(), "mcpServers": []}))
            .unwrap();
        talk.session = opened["sessionId"].as_str().unwrap().to_owned();
        talk
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        self.asked.push(method.to_owned());
        let message = json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params});
        self.agent.type_text(&format!("{message}\n"));
        self.requests
    }

    fn prompt(&mut self, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", json!({"sessionId": self.session, "prompt": prompt}))
    }

    /// Waits for the response to a request, and answers permission requests meanwhile.
    fn wait_for_result(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let wanted = |line: &str| {
                let message: Value = serde_json::from_str(line).unwrap();
                let is_permission = message["method"] == "session/request_permission";
                match is_permission {
                    true => message["id"] == self.permissions + 1,
                    false => message["id"] == id && message["method"].is_null(),
                }
            };
            let line = self.agent.wait_for_line(SOON, wanted);
            let mut message: Value = serde_json::from_str(&line).unwrap();
            if message["method"].is_null() {
                self.compare_lines();
                return match message["error"].take() {
                    Value::Null => Ok(message["result"].take()),
                    error => Err(error),
                };
            }
            self.permissions += 1;
            let option = if self.allows { "allow" } else { "reject" };
            let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
            let answer = json!({"jsonrpc": "2.0", "id": self.permissions, "result": outcome});
            self.agent.type_text(&format!("{answer}\n"));
        }
    }

    /// Compares what the agent has written since the last time with the schema of the protocol.
    fn compare_lines(&mut self) {
        let printed = self.agent.printed();
        for line in self.agent.so_far().lines().take(printed).skip(self.compared) {
            let message: Value = serde_json::from_str(line).unwrap();
            let request = message["id"].as_u64().filter(|_| message["method"].is_null());
            let asked = request.and_then(|id| self.asked.get(usize::try_from(id).ok()?.checked_sub(1)?));
            assert_eq!(flaw(Side::Agent, &message, asked.map(String::as_str)), None, "{line}");
            self.compared += 1;
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params);
        self.wait_for_result(id)
    }

    /// How a turn ended: its stop reason, or the code and the text of its error.
    fn turn(&mut self, text: &str) -> Result<String, (i64, String)> {
        let id = self.prompt(text);
        self.wait_for_result(id)
            .map(|result| result["stopReason"].as_str().unwrap().to_owned())
            .map_err(|error| {
                (
                    error["code"].as_i64().unwrap(),
                    error["message"].as_str().unwrap().to_owned(),
                )
            })
    }
}

fn sandbox(agent: Agent, model: &StandIn, retries: u32) -> Sandbox {
    let sandbox = agent.sandbox(model, retries).expect("it is always there");
    sandbox.set_variable("RALPH_NATIVE_MODEL", "stand-in");
    sandbox
}

#[test]
fn every_tool_works_on_every_api() {
    for (agent, wire) in [
        (Agent::Native, "openai"),
        (Agent::NativeResponses, "responses"),
        (Agent::NativeMessages, "anthropic"),
    ] {
        let looks = answer()
            .reasoning("Look first.")
            .call("todo", json!({"todos": [{"content": "Look", "status": "in_progress"}]}))
            .call("list_dir", json!({}))
            .call("grep", json!({"pattern": "Write h.*"}))
            .call("glob", json!({"pattern": "*.md"}))
            .read("PLAN.md");
        let changes = answer()
            .write("new/a.txt", "alpha\nbeta\n")
            .edit("new/a.txt", "alpha", "delta")
            .call(
                "shell",
                json!({"command": "cat new/a.txt; echo ${RALPH_NATIVE_API_KEY-no key}"}),
            );
        let mistakes = answer()
            .call("fly", json!({}))
            .call_badly("shell", "{\"command\": ")
            .read("nothing.txt");
        let steps: [Step; 4] = [looks.into(), changes.into(), mistakes.into(), say("All done.").into()];
        let model = StandIn::start(steps.into_iter().fold(Scenario::new(), Scenario::then));
        let sandbox = sandbox(agent, &model, 0);
        sandbox.write("AGENTS.md", "Use British spelling.\n");
        let mut talk = Talk::opens(&sandbox, &[("RALPH_NATIVE_WIRE", wire)]);
        let id = talk.prompt("Do it.");
        let result = talk.wait_for_result(id).unwrap();
        assert_eq!(result["stopReason"], "end_turn");
        assert!(
            result["_meta"]["usage"]["outputTokens"].as_u64() >= Some(200),
            "{result}"
        );
        assert_eq!(sandbox.read("new/a.txt").as_deref(), Some("delta\nbeta\n"));

        let requests = model.main_requests();
        assert!(
            requests[0].body.to_string().contains("British"),
            "what the project says of itself"
        );
        let results = &requests[3].tool_results;
        let expected = [
            "The list is kept.",
            "PLAN.md",
            "PLAN.md:3: - [ ] Write hello.txt",
            "PLAN.md",
            "    3\t- [ ] Write hello.txt",
            "is written: 2 lines",
            "is changed: 2 lines",
            "delta\nbeta\nno key",
            "there is no tool `fly`",
            match wire {
                "anthropic" => "does not know `input`",
                _ => "are no JSON",
            },
            "there is no such file",
        ];
        assert_eq!(results.len(), expected.len(), "{results:#?}");
        for (result, expected) in results.iter().zip(expected) {
            assert!(result.contains(expected), "{result} has no {expected}");
        }
        assert_eq!(
            talk.permissions, 8,
            "neither what makes no sense is asked for nor the list"
        );
        let said = talk.agent.so_far();
        for expected in [
            "agent_thought_chunk",
            "\"sessionUpdate\":\"plan\"",
            "\"type\":\"diff\"",
            "\"totalTokens\"",
        ] {
            assert!(said.contains(expected), "{expected}");
        }
    }
}

/// A name, a step, and how a turn of this step alone ends.
type Failing = (&'static str, Step, Result<&'static str, (i64, &'static str)>);

#[test]
fn every_failure_has_its_class_and_the_agent_goes_on() {
    ["openai", "responses"].into_iter().for_each(fail_in_every_way);
}

fn fail_in_every_way(wire: &str) {
    let error = |status: u16, code: &str, message: &str| {
        http(status).body(json!({"error": {"code": code, "message": message}}))
    };
    let failing: [Failing; 14] = [
        (
            "a refused key",
            http(401).into(),
            Err((401, "refused the key in RALPH_NATIVE_API_KEY")),
        ),
        (
            "an unknown model",
            http(404).into(),
            Err((404, "`--model` names another model")),
        ),
        (
            "a limit of an hour",
            http(429).header("retry-after", "3600").into(),
            Err((429, "retry after 3600s")),
        ),
        (
            "a limit until a day",
            http(429).header("retry-after", "Wed, 01 Jan 2053 00:00:00 GMT").into(),
            Err((429, "retry after ")),
        ),
        (
            "a short limit, twice",
            http(429).retry_at_once().into(),
            Err((429, "status 429")),
        ),
        (
            "an exhausted quota",
            error(429, "insufficient_quota", "pay").into(),
            Err((402, "quota of the API is exhausted: pay")),
        ),
        (
            "a failing server",
            http(500).retry_at_once().into(),
            Err((503, "status 500")),
        ),
        (
            "a refused request",
            error(400, "x", "no tools here").into(),
            Err((-32603, "no tools here")),
        ),
        (
            "an overflow",
            error(400, "context_length_exceeded", "too long").into(),
            Err((413, "context window")),
        ),
        (
            "an error in the stream",
            answer().error("insufficient_quota", "pay").into(),
            Err((402, "pay")),
        ),
        ("thoughts alone", answer().reasoning("Hm.").into(), Ok("end_turn")),
        (
            "the same call for ever",
            shell("echo again").into(),
            Err((-32603, "same call 6 times")),
        ),
        ("nothing at all", say("").into(), Ok("end_turn")),
        ("work after all that", say("Done.").into(), Ok("end_turn")),
    ];
    let model = StandIn::start(say("not asked yet"));
    let sandbox = sandbox(Agent::Native, &model, 1);
    let mut talk = Talk::opens(&sandbox, &[("RALPH_NATIVE_WIRE", wire)]);
    for (name, step, expected) in failing {
        model.play(step);
        let ended = talk.turn(name);
        match (&ended, expected) {
            (Ok(ended), Ok(expected)) => assert_eq!(ended, expected, "{name}"),
            (Err((code, text)), Err((expected, words))) => {
                assert!(*code == expected && text.contains(words), "{name}: {code} {text}");
            }
            (ended, expected) => panic!("{name}: {ended:?}, not {expected:?}"),
        }
    }
    let nudged = model
        .main_requests()
        .iter()
        .filter(|request| request.prompt().starts_with("You have thought"))
        .count();
    assert_eq!(nudged, 2, "once in each turn that said nothing");
}

#[test]
fn what_passes_is_tried_again() {
    let steps = [
        http(429).retry_at_once().into(),
        http(529).retry_at_once().into(),
        say("Whole.").into(),
    ];
    let steps: [Step; 3] = steps;
    let model = StandIn::start(steps.into_iter().fold(Scenario::new(), Scenario::then));
    let sandbox = sandbox(Agent::NativeMessages, &model, 2);
    let mut talk = Talk::opens(&sandbox, &[]);
    assert_eq!(talk.turn("Do it."), Ok("end_turn".to_owned()));
    // A cut stream has no header with a delay: the agent waits a second.
    for broken in [Step::from(say("Half a sen").cut()), drop_connection()] {
        model.play(Scenario::new().then(broken).then(say("Whole.")));
        let before = model.main_request_count();
        assert_eq!(talk.turn("Again."), Ok("end_turn".to_owned()));
        assert_eq!(model.main_request_count(), before + 2);
    }
    let last = model.main_requests().pop().unwrap().body.to_string();
    assert!(!last.contains("Half a sen"), "a broken answer is none: {last}");
}

#[test]
fn a_conversation_that_is_too_long_is_shortened_once() {
    let long = |number: u32| Step::from(shell(&format!("seq {number} 4000")));
    let overflow = || http(400).body(json!({"error": {"code": "context_length_exceeded", "message": "too long"}}));
    let steps = [long(1), long(2), long(3), overflow().into(), say("Done.").into()];
    let model = StandIn::start(steps.into_iter().fold(Scenario::new(), Scenario::then));
    let sandbox = sandbox(Agent::Native, &model, 0);
    let mut talk = Talk::opens(&sandbox, &[]);
    assert_eq!(talk.turn("Count."), Ok("end_turn".to_owned()));
    let [before, after] = [3, 4].map(|at| model.main_requests()[at].tool_results.clone());
    assert!(
        before[0].len() > 10_000 && after[0].starts_with("[left out"),
        "{}",
        after[0]
    );
    assert!(after[2].len() < 5000 && after[2].starts_with("3\n"), "{}", after[2]);
}

#[test]
fn no_request_is_longer_than_the_context_however_much_the_model_itself_writes() {
    for agent in [Agent::Native, Agent::NativeMessages] {
        let long = "x".repeat(4096);
        let writes = (0..30).map(|number| {
            let says = answer().text(&"I write on. ".repeat(50));
            Step::from(says.write(&format!("{number}.txt"), &long))
        });
        let model = StandIn::start(writes.fold(Scenario::new(), Scenario::then).then(say("Done.")));
        let sandbox = sandbox(agent, &model, 0);
        let mut talk = Talk::opens(&sandbox, &[("RALPH_NATIVE_CONTEXT_TOKENS", "16000")]);
        assert_eq!(talk.turn("Do it."), Ok("end_turn".to_owned()));
        let requests = model.main_requests();
        assert_eq!(requests.len(), 31);
        for request in &requests {
            let body = request.body.to_string();
            assert!(body.len() <= 16_000 * 4, "{} bytes", body.len());
            assert!(body.contains("Do it."), "the task stays: {body}");
        }
        for number in 0..30 {
            assert_eq!(sandbox.read(&format!("{number}.txt")).as_ref(), Some(&long));
        }
    }
}

#[test]
fn a_failed_edit_stops_the_changes_after_it_and_nothing_that_only_looks() {
    let wants = answer()
        .edit("PLAN.md", "nowhere", "x")
        .shell("touch made")
        .write("b.txt", "b")
        .read("PLAN.md");
    let model = StandIn::start(Scenario::new().then(wants).then(shell("touch made")).then(say("Well.")));
    let sandbox = sandbox(Agent::Native, &model, 0);
    let mut talk = Talk::opens(&sandbox, &[]);
    assert_eq!(talk.turn("Do it."), Ok("end_turn".to_owned()));
    let requests = model.main_requests();
    let starts = ["`old` is not in it", "not run: ", "not run: ", "Write hello.txt"];
    let results = &requests[1].tool_results;
    assert_eq!(results.len(), starts.len(), "{results:#?}");
    for (result, words) in results.iter().zip(starts) {
        assert!(result.contains(words), "{result} has no {words}");
    }
    assert_eq!(
        (sandbox.read("b.txt"), sandbox.read("made").as_deref()),
        (None, Some(""))
    );
}

#[test]
fn an_error_in_the_middle_of_a_text_is_told_on_a_line_of_its_own_and_by_its_cause() {
    let model = StandIn::start(
        Scenario::new()
            .then(say("hello world and all").cut())
            .then(say("Whole.")),
    );
    let sandbox = sandbox(Agent::Native, &model, 1);
    sandbox.plan(1);
    let run = sandbox.ralph(["--headless", "--adapter", "native", "--max-iterations", "1"]);
    let shown = run.run(SOON).stdout;
    let told = shown.lines().find(|line| line.contains("connection error: "));
    let told = told.unwrap_or_else(|| panic!("no error in {shown}"));
    assert!(
        told.trim_start_matches(['│', ' ']).starts_with("connection error: "),
        "{told}"
    );
    assert!(
        told.contains("trying again in 1 s") && !told.contains("decoding"),
        "{told}"
    );
}

#[test]
fn a_turn_ends_after_as_many_requests_as_it_may_make() {
    let steps = (0..4).map(|number| Step::from(shell(&format!("echo {number}"))));
    let model = StandIn::start(steps.fold(Scenario::new(), Scenario::then));
    let sandbox = sandbox(Agent::Native, &model, 0);
    let mut talk = Talk::opens(&sandbox, &[("RALPH_NATIVE_MAX_REQUESTS", "3")]);
    assert_eq!(talk.turn("Do it."), Ok("max_turn_requests".to_owned()));
    assert_eq!(model.main_request_count(), 3);
}

#[test]
fn nothing_is_asked_once_the_budget_is_spent_and_the_last_answer_is_carried_out() {
    for agent in [Agent::Native, Agent::NativeMessages] {
        let steps = (0..9).map(|number| Step::from(shell(&format!("echo {number} >> made"))));
        let model = StandIn::start(steps.fold(Scenario::new(), Scenario::then));
        let sandbox = sandbox(agent, &model, 0);
        // Each request uses more than a thousand tokens.
        let mut talk = Talk::opens(&sandbox, &[("RALPH_BUDGET", r#"{"tokens":3000}"#)]);
        let id = talk.prompt("Do it.");
        let result = talk.wait_for_result(id).unwrap();
        assert_eq!(result["stopReason"], "max_turn_requests");
        assert!(
            result["_meta"]["usage"]["totalTokens"].as_u64() >= Some(3_150),
            "{result}"
        );
        assert_eq!(sandbox.read("made").as_deref(), Some("0\n1\n2\n"));
        let requests = model.main_requests();
        assert_eq!(requests.len(), 3);
        let most = requests[2].body["max_tokens"].as_u64().unwrap();
        assert!((256..=900).contains(&most), "{most} of the 900 tokens that are left");
        // The answer that reaches the limit is reported with the end of the turn.
        let before = talk.agent.so_far().matches("usage_update").count();
        assert_eq!(before, 2);
    }
}

#[test]
fn a_run_ends_by_its_limit_with_the_work_of_the_last_answer() {
    let model = StandIn::start(
        Scenario::new()
            .then(shell("true"))
            .then(answer().write("late.txt", "kept\n")),
    );
    let sandbox = sandbox(Agent::Native, &model, 0);
    sandbox.plan(1);
    let run = sandbox.ralph(["--headless", "--adapter", "native", "--max-tokens", "2000"]);
    let finished = run.run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    assert!(finished.stdout.contains("token limit"), "{finished:?}");
    assert_eq!(model.main_request_count(), 2);
    assert_eq!(sandbox.read("late.txt").as_deref(), Some("kept\n"));
}

#[test]
fn an_answer_that_is_cut_off_is_continued_and_not_for_ever() {
    for wire in ["openai", "responses"] {
        let model = StandIn::start(Scenario::new().then(say("One half.").cut_off()).then(say("The other.")));
        let sandbox = sandbox(Agent::Native, &model, 0);
        let mut talk = Talk::opens(&sandbox, &[("RALPH_NATIVE_WIRE", wire)]);
        assert_eq!(talk.turn("Tell."), Ok("end_turn".to_owned()));
        let second = &model.main_requests()[1];
        assert!(
            second.prompt().starts_with("Your answer was cut off"),
            "{}",
            second.prompt()
        );
        model.play(say("And then").cut_off());
        assert_eq!(talk.turn("Tell all."), Ok("max_tokens".to_owned()));
        assert_eq!(model.main_request_count(), 6, "{wire}");
    }
}

#[test]
fn what_is_denied_does_not_happen_and_the_model_hears_of_it() {
    let wants = answer().write("PLAN.md", "gone").shell("touch made").read("PLAN.md");
    let model = StandIn::start(Scenario::new().then(wants).then(say("Well.")));
    let sandbox = sandbox(Agent::Native, &model, 0);
    let plan = sandbox.read("PLAN.md");
    let mut talk = Talk::opens(&sandbox, &[]);
    talk.allows = false;
    assert_eq!(talk.turn("Do it."), Ok("end_turn".to_owned()));
    assert_eq!((sandbox.read("PLAN.md"), sandbox.read("made")), (plan, None));
    let results = &model.main_requests()[1].tool_results;
    assert!(
        results.len() == 3 && results.iter().all(|result| result.starts_with("denied")),
        "{results:#?}"
    );
}

#[test]
fn a_turn_is_cancelled_anywhere_and_the_next_one_goes_on() {
    let model = StandIn::start(say("not asked yet"));
    let sandbox = sandbox(Agent::NativeMessages, &model, 0);
    let mut talk = Talk::opens(&sandbox, &[]);
    let gate = Gate::default();
    let anywhere: [(ModelAnswer, &str); 2] = [
        (say("One two three").held(&gate), "agent_message_chunk"),
        (shell("sleep 300"), "in_progress"),
    ];
    for (step, sign) in anywhere {
        model.play(step);
        let id = talk.prompt("Do it.");
        if sign == "in_progress" {
            // The permission request is answered on the way.
            talk.agent
                .wait_for_line(SOON, |line| line.contains("session/request_permission"));
            talk.permissions += 1;
            let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
            talk.agent
                .type_text(&format!("{}\n", json!({"id": talk.permissions, "result": outcome})));
            let sleeps = || {
                sandbox
                    .processes()
                    .iter()
                    .any(|process| process.command == "sleep 300")
                    .then_some(())
            };
            wait_until(SOON, "the command", sleeps);
        } else {
            talk.agent.wait_for_line(SOON, |line| line.contains(sign));
        }
        talk.agent
            .type_text("{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{}}\n");
        assert_eq!(talk.wait_for_result(id).unwrap()["stopReason"], "cancelled");
        wait_until(SOON, "end of the command", || {
            let sleeps = sandbox.processes().iter().any(|process| process.command == "sleep 300");
            (!sleeps).then_some(())
        });
    }
    model.play(say("Well."));
    assert_eq!(talk.turn("Go on."), Ok("end_turn".to_owned()));
    let results = model.main_requests().pop().unwrap().tool_results;
    assert!(results[0].starts_with("interrupted"), "{results:?}");
    talk.agent.close_stdin();
    assert_eq!(talk.agent.wait(SOON).code(), Some(0), "it ends with its client");
}

#[test]
fn a_session_goes_on_after_a_kill_and_one_that_is_not_there_is_lost() {
    let model = StandIn::start(say("not asked yet"));
    let sandbox = sandbox(Agent::Native, &model, 0);
    let mut talk = Talk::opens(&sandbox, &[]);
    model.play(Scenario::new().then(say("Remember 42.")));
    assert_eq!(talk.turn("What is it?"), Ok("end_turn".to_owned()));
    model.play(say("One two three").drip(Duration::from_secs(60)));
    talk.prompt("Once more.");
    talk.agent.wait_for_line(SOON, |line| line.contains("One "));
    talk.agent.kill();
    let session = talk.session;

    let mut talk = Talk::begin(&sandbox, &[]);
    let project = sandbox.project();
    let lost = talk
        .request("session/load", json!({"sessionId": "0123", "cwd": project}))
        .unwrap_err();
    assert!(
        lost["message"].as_str().unwrap().contains("session not found"),
        "{lost}"
    );
    talk.request("session/load", json!({"sessionId": session, "cwd": project}))
        .unwrap();
    talk.session = session;
    model.play(say("Well."));
    assert_eq!(talk.turn("Go on."), Ok("end_turn".to_owned()));
    let request = model.main_requests().pop().unwrap();
    assert_eq!(request.user_texts, ["What is it?", "Once more.", "Go on."]);
    assert!(request.body.to_string().contains("Remember 42."));
}

#[test]
fn what_is_not_set_is_said_before_anything_is_asked() {
    let model = StandIn::start(say("not asked"));
    let sandbox = Sandbox::new();
    let base = model.base_url();
    for (variables, code, word) in [
        (&[][..], 1, "not logged in"),
        (
            &[("RALPH_NATIVE_WIRE", "carrier-pigeon")][..],
            2,
            "auto, openai, responses or anthropic",
        ),
        (
            &[("RALPH_NATIVE_BASE_URL", "https://127.0.0.1:9/v1")][..],
            2,
            "without TLS",
        ),
    ] {
        if cfg!(feature = "tls") && word == "without TLS" {
            continue;
        }
        let mut talk = Talk::begin(&sandbox, variables);
        talk.send("session/new", json!({"cwd": sandbox.project()}));
        let ended = talk.agent.wait(SOON);
        assert!(ended.code() == Some(code) && ended.stderr.contains(word), "{ended:?}");
    }
    // If there is only one model, it need not be named.
    let mut talk = Talk::opens(&sandbox, &[("RALPH_NATIVE_BASE_URL", &base)]);
    assert_eq!(talk.turn("Do it."), Ok("end_turn".to_owned()));
    assert_eq!(model.main_requests()[0].body["model"], "stand-in");
    assert_eq!(model.main_requests()[0].header("authorization"), None);
}

#[test]
fn the_model_of_a_session_is_an_option() {
    let model = StandIn::start(say("Done."));
    let sandbox = sandbox(Agent::Native, &model, 0);
    let mut talk = Talk::opens(&sandbox, &[]);
    let mut set = |option: &str| {
        let params = json!({"sessionId": talk.session, "configId": option, "value": "another"});
        talk.request("session/set_config_option", params)
    };
    assert_eq!(set("model").unwrap()["configOptions"][0]["currentValue"], "another");
    assert_eq!(set("mode").unwrap_err()["code"], -32602);
    assert_eq!(talk.turn("Do it."), Ok("end_turn".to_owned()));
    assert_eq!(model.main_requests()[0].body["model"], "another");
}

#[test]
fn tools_of_servers_are_offered_asked_for_and_used_and_a_server_that_fails_is_left_out() {
    for agent in [Agent::Native, Agent::NativeMessages] {
        let calls = answer()
            .call("mcp__own__plan", json!({}))
            .call("mcp__own__progress", json!({"note": 7}));
        let steps: [Step; 2] = [calls.into(), say("All done.").into()];
        let model = StandIn::start(steps.into_iter().fold(Scenario::new(), Scenario::then));
        let sandbox = sandbox(agent, &model, 0);
        let mut talk = Talk::begin(&sandbox, &[]);
        let args = ["mcp", "--socket", "/nowhere/control.sock", "--run", "r"];
        let servers = json!([
            {"name": "own", "command": env!("CARGO_BIN_EXE_ralph"), "args": args, "env": []},
            {"name": "gone", "command": "/nowhere/server", "args": [], "env": []},
        ]);
        let opened = talk.request("session/new", json!({"cwd": sandbox.project(), "mcpServers": servers}));
        talk.session = opened.unwrap()["sessionId"].as_str().unwrap().to_owned();
        assert_eq!(talk.turn("Do it."), Ok("end_turn".to_owned()));
        let requests = model.main_requests();
        let own = |name: &&String| name.starts_with("mcp__own__");
        assert!(
            requests[0].tools.iter().filter(own).count() > 5,
            "{:?}",
            requests[0].tools
        );
        let results = &requests[1].tool_results;
        assert!(
            results[0].contains("is over") && results[1].contains("expected a string"),
            "{results:?}"
        );
        assert_eq!(talk.permissions, 2);
        let said = talk.agent.so_far();
        assert!(said.contains("mcp__own__plan__1"), "{said}");
    }
}

#[test]
fn the_agent_outlives_its_servers() {
    let model = StandIn::start(say("not asked"));
    let sandbox = sandbox(Agent::Native, &model, 0);
    let server = r#"trap ': > ended; exit' TERM
        while read -r line; do
            case $line in *'"id"'*) ;; *) continue ;; esac
            id=${line#*'"id":'}
            echo '{"jsonrpc": "2.0", "id": '"${id%%[,\}]*}"', "result": {"protocolVersion": "1", "tools": []}}'
        done"#;
    let mut talk = Talk::begin(&sandbox, &[]);
    let servers = json!([{"name": "slow", "command": "sh", "args": ["-c", server], "env": []}]);
    let opened = talk.request("session/new", json!({"cwd": sandbox.project(), "mcpServers": servers}));
    opened.unwrap();
    talk.agent.close_stdin();
    assert_eq!(talk.agent.wait(SOON).code(), Some(0));
    assert_eq!(
        sandbox.read("ended").as_deref(),
        Some(""),
        "it ended the server, and waited"
    );
}
