//! The live channel of the real agents: messages to them while they work, and their questions.

mod one_process;

use std::{fs, time::Duration};

use nix::sys::signal::Signal;
use ralph_core::event::{
    AgentEvent, AgentSignal, AskEvent, Delivery, Event, GateEvent, ProblemKind, Record, SteeringEvent, SteeringId,
    StopReason, Usage,
};
use serde_json::json;

use crate::{
    agents_loop::{
        assert_done, assert_own_tools_answered, in_order, plan_one_task, ralph, stopped, use_own_tools, work_on,
    },
    harness::{
        Program, SOON, Sandbox,
        agent::{Agent, each_live_agent},
        events,
        wait::wait_until,
    },
    stand_in::{Scenario, StandIn, Step, answer, http, log::ModelRequest, say, shell},
};

fn live(agent: Agent, sandbox: &Sandbox) -> Program {
    ralph(agent, sandbox).args(["--channel", "live"])
}

fn a_tool_runs(event: &Event) -> bool {
    matches!(
        event,
        Event::Agent(AgentEvent::Reported {
            signal: AgentSignal::ToolStarted { .. },
            ..
        })
    )
}

fn steer(sandbox: &Sandbox, text: &str) {
    let steered = sandbox.ralph(["steer", "--now", text]).run(SOON);
    assert_eq!(steered.code(), Some(0), "{}", steered.stderr);
}

/// The delivered messages, each with its kind of delivery.
fn deliveries(records: &[Record]) -> Vec<(u32, Delivery)> {
    events(records)
        .filter_map(|event| match event {
            Event::Steering(SteeringEvent::Delivered {
                id: SteeringId(id),
                how,
                ..
            }) => Some((*id, *how)),
            _ => None,
        })
        .collect()
}

#[test]
fn servers_of_the_user_are_handed_on_by_the_live_channel_and_without_it_the_start_says_that_they_are_missing() {
    let model = StandIn::start(in_order([&work_on("hello"), &work_on("world")]));
    let Some(sandbox) = Agent::Gemini.sandbox(&model, 0) else {
        return;
    };
    let server = json!({"command": env!("CARGO_BIN_EXE_ralph"), "args": ["mcp"]});
    let settings = json!({"mcp": {"mine": server}}).to_string();
    fs::create_dir_all(sandbox.config().join("ralph")).expect("a directory");
    fs::write(sandbox.config().join("ralph/config.json"), settings).expect("the user's configuration");
    let one_way = ralph(Agent::Gemini, &sandbox)
        .args(["--channel", "one-way", "--max-iterations", "1"])
        .run(4 * SOON);
    let left_out = |event: &Event| {
        let notice = event.notice().filter(|notice| notice.code == "servers-left-out")?;
        Some(notice.text.contains("--channel live"))
    };
    let records = one_way.records();
    assert_eq!(events(&records).filter_map(left_out).collect::<Vec<_>>(), [true]);
    let has_servers = |request: &ModelRequest| request.body.to_string().contains("mcp_mine_");
    assert!(!model.main_requests().iter().any(has_servers));

    let finished = ralph(Agent::Gemini, &sandbox).run(4 * SOON);
    assert_done(&finished, 2, 1);
    assert_eq!(events(&finished.records()).filter_map(left_out).count(), 0);
    assert!(model.main_requests().iter().any(has_servers));
}

#[test]
fn an_adapter_of_your_own_with_nothing_but_a_live_channel_works_a_plan_off() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let Some(sandbox) = Agent::Opencode.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let reference = include_str!("../docs/guide/adapters.md");
    let name = "# ~/.config/ralph/adapters/opencode-acp.toml";
    let (_, example) = reference.split_once(name).expect("the example");
    let (example, _) = example.split_once("```").expect("its end");
    sandbox.install_adapter("opencode-acp", example);
    let args = ["--adapter", "opencode-acp", "--model", "standin/stand-in"];
    let finished = sandbox
        .ralph(args)
        .args(["--plan", "PLAN.md", "--headless", "--format", "jsonl"])
        .run(SOON);
    assert_done(&finished, 1, 1);
    sandbox.assert_nothing_runs();
}

/// A command left running in the background, in each agent's own way.
fn in_the_background(agent: Agent, command: &str) -> Step {
    let described = |key: &str| json!({ "command": command, "description": "wait", key: true });
    match agent {
        Agent::Codex => answer().call("exec_command", json!({ "cmd": command, "yield_time_ms": 250 })),
        Agent::Claude => answer().call("Bash", described("run_in_background")),
        Agent::Gemini => answer().call("run_shell_command", described("is_background")),
        Agent::Opencode
        | Agent::OpencodeServer
        | Agent::Pi
        | Agent::Native
        | Agent::NativeResponses
        | Agent::NativeMessages => shell(&format!("{command} > /dev/null 2>&1 &")),
        agent => unreachable!("{agent:?} is not among these"),
    }
    .into()
}

/// In the first session a message comes while a tool runs, a command is left running, the agent uses ralph's own tools if
/// it takes MCP servers, and a goal fails after an edit. In the second the run is interrupted while a tool runs. No
/// question is asked.
fn a_message_comes_while_a_tool_runs_and_no_command_outlives_its_session(agent: Agent) {
    let [work, done] = work_on("hello");
    let waits = shell("while [ ! -e go ]; do sleep 0.05; done; rm go");
    let left = in_the_background(agent, "sleep 301");
    let has_tools = agent != Agent::Pi;
    let tools = match has_tools {
        true => use_own_tools(agent),
        false => shell("true").into(),
    };
    let edits = shell("touch edited");
    // If the edit were undone now, ralph could report it after the last answer and the model would be asked once more.
    let waits_on = shell("while [ ! -e on ]; do sleep 0.05; done; rm on");
    // codex was seen to drop an answer of the model that came together with a message, and to ask again.
    let may_be_dropped = shell("sleep 0.5");
    let model = StandIn::start(in_order([
        &[
            waits.into(),
            left,
            tools,
            edits.into(),
            waits_on.into(),
            may_be_dropped.into(),
            work,
            done,
        ],
        &[shell("echo begun && sleep 300").into()],
    ]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let goal = json!([{"name": "g", "command": "test ! -e edited", "onEdit": true}]);
    let running = live(agent, &sandbox).env("RALPH_GOALS", goal.to_string()).start();
    running.wait_for_record(SOON, a_tool_runs);
    // A message would end gemini's turn.
    let takes = agent != Agent::Gemini;
    let now: &[&str] = if takes { &["--now"] } else { &[] };
    let steered = sandbox
        .ralph(["steer"])
        .args(now)
        .arg("Use British spelling.")
        .run(SOON);
    assert_eq!(steered.code(), Some(0), "{}", steered.stderr);
    sandbox.write("go", "");
    let fails = |event: &Event| matches!(event, Event::Gate(GateEvent::EditsChecked { news, .. }) if !news.is_empty());
    let checked = running.wait_for_record(SOON, fails).event;
    assert!(
        matches!(checked, Event::Gate(GateEvent::EditsChecked { live, .. }) if live == takes),
        "{checked:?}"
    );
    sandbox.write("on", "");
    let runs = |command: &str| sandbox.processes().iter().any(|process| process.command == command);
    wait_until(SOON, "the tool of the second session", || {
        runs("sleep 300").then_some(())
    });
    assert!(!runs("sleep 301"), "it outlived the first session");
    running.signal(Signal::SIGINT);
    let finished = running.wait(SOON);
    let (reason, _, totals) = stopped(&finished);
    assert_eq!((reason, totals.tasks_done), (StopReason::Interrupted, 1));
    sandbox.assert_nothing_runs();
    let how = if takes { Delivery::Live } else { Delivery::Prompt };
    let records = finished.records();
    assert_eq!(deliveries(&records), [(1, how)]);
    let recording = sandbox.recording(1);
    let shown = recording.contains("you") && recording.contains("Use British spelling.");
    assert_eq!(
        shown, takes,
        "what the user says stands in the conversation: {recording}"
    );
    let asked = |event: &Event| matches!(event, Event::Ask(AskEvent::Asked { .. } | AskEvent::Answered { .. }));
    assert!(!events(&records).any(asked), "there are no rules");
    let requests = model.main_requests();
    assert_eq!(requests.len(), 9);
    if has_tools {
        assert_own_tools_answered(&requests[3], &records);
    }
    let prompt = requests[0].prompt();
    assert!(prompt.contains("Write hello.txt"), "{prompt}");
    let is_told = |request: &ModelRequest| request.body.to_string().contains("goal g failed");
    assert_eq!(
        requests[..8].iter().any(is_told),
        takes,
        "the goal that failed after an edit"
    );
    let next = requests[8].prompt();
    assert!(next.contains("After the last edits of that session"), "{next}");
    let has_it = |request: &ModelRequest| request.body.to_string().contains("Use British spelling.");
    assert_eq!(
        requests.iter().position(has_it),
        Some(if takes { 1 } else { 8 }),
        "it is in the request after the tool, or in the next prompt"
    );
}

// gemini speaks ACP without being ralph's own agent, as native is.
each_live_agent!(
    a_message_comes_while_a_tool_runs_and_no_command_outlives_its_session: claude Claude, codex Codex, gemini Gemini, native Native;
    opencode Opencode, native_responses NativeResponses, native_messages NativeMessages, pi Pi
);

/// The usage of each of two iterations, as its agent reported it.
fn used(records: &[Record]) -> [Usage; 2] {
    [1, 2].map(|wanted| {
        let told = events(records).filter_map(|event| match event {
            Event::Agent(AgentEvent::Reported {
                iteration,
                signal: AgentSignal::Usage { usage },
            }) if *iteration == wanted => Some(*usage),
            _ => None,
        });
        told.fold(Usage::default(), Usage::plus)
    })
}

fn a_session_is_continued_and_each_turn_counts_for_itself(agent: Agent) {
    let model = StandIn::start(in_order([&work_on("hello"), &work_on("world")]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let finished = live(agent, &sandbox).args(["--session", "resume"]).run(SOON);
    assert_done(&finished, 2, 2);
    let third = &model.main_requests()[2];
    assert!(third.prompt().contains("Write world.txt"), "{}", third.prompt());
    let remembered = third.user_texts.iter().any(|text| text.contains("Write hello.txt"));
    assert!(remembered, "{:#?}", third.user_texts);
    let [first, second] = used(&finished.records());
    assert!(first.input_tokens > Some(0), "{first:?}");
    assert_eq!(
        second,
        Usage {
            cost_usd: second.cost_usd,
            ..first
        },
        "both asked as often"
    );
}

// gemini cannot continue a session here, and opencode does not report the usage of the whole turn.
each_live_agent!(
    a_session_is_continued_and_each_turn_counts_for_itself: claude Claude, codex Codex, native Native;
    native_responses NativeResponses, native_messages NativeMessages, pi Pi
);

fn a_refused_key_ends_the_run(agent: Agent) {
    let model = StandIn::start(Scenario::from(http(401)).side(http(401)));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let finished = live(agent, &sandbox).run(SOON);
    let (reason, _, totals) = stopped(&finished);
    assert!(
        matches!(&reason, StopReason::AgentFailed { problem, .. } if problem.kind == ProblemKind::Auth),
        "{reason:?}"
    );
    assert_eq!(totals.iterations, 1);
    sandbox.assert_nothing_runs();
}

each_live_agent!(
    a_refused_key_ends_the_run: claude Claude, native Native;
    codex Codex, gemini Gemini, opencode Opencode, native_responses NativeResponses, native_messages NativeMessages, pi Pi
);

/// Sends fifty messages, each at about the time of the turn's last word.
fn messages_at_the_very_end_of_a_turn_are_neither_lost_nor_doubled(agent: Agent) {
    const MESSAGES: u32 = 50;
    // The answer arrives between just before and just after the message.
    let ends =
        (0..1000_u64).map(|turn| Step::from(say("So far, so good.")).after(Duration::from_millis(turn % 10 * 5)));
    let model = StandIn::start(ends.fold(Scenario::new(), Scenario::then));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    // Between two messages a quick agent has several iterations without progress.
    let running = live(agent, &sandbox)
        .args(["--max-iterations", "200"])
        .env("RALPH_BREAKER_NO_PROGRESS", "unlimited")
        .start();
    for message in 1..=MESSAGES {
        model.wait_for_request(model.main_request_count().max(1), SOON);
        steer(&sandbox, &text_of(message));
    }
    // A message that arrives during an answer makes codex discard that answer and ask again.
    running.wait_for_record(
        SOON,
        |event| matches!(event, Event::Steering(SteeringEvent::Delivered { id, .. }) if *id == SteeringId(MESSAGES)),
    );
    let [work, done] = work_on("hello");
    model.play(in_order([&[work, done]]));
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    let mut delivered: Vec<_> = deliveries(&finished.records()).into_iter().map(|(id, _)| id).collect();
    delivered.sort_unstable();
    assert_eq!(delivered, (1..=MESSAGES).collect::<Vec<_>>(), "each is delivered once");
    let bodies = bodies(&model);
    for message in 1..=MESSAGES {
        let text = text_of(message);
        assert_eq!(
            most_often(&text, &bodies),
            1,
            "{text} reaches the model, and never twice"
        );
    }
}

fn text_of(message: u32) -> String {
    format!("message-{message}-of-fifty")
}

/// The requests that the model received.
fn bodies(model: &StandIn) -> Vec<String> {
    let requests = model.main_requests();
    requests.iter().map(|request| request.body.to_string()).collect()
}

/// The largest number of occurrences of `text` in one body.
fn most_often(text: &str, bodies: &[String]) -> usize {
    bodies.iter().map(|body| body.matches(text).count()).max().unwrap_or(0)
}

// Other agents take seconds to start, and this test starts them many times.
each_live_agent!(
    messages_at_the_very_end_of_a_turn_are_neither_lost_nor_doubled: claude Claude, codex Codex, native Native;
    pi Pi
);
