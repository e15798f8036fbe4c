//! The live channel of the real agents: what they are told while they work, and what they ask.

mod one_process;

use std::time::Duration;

use ralph::event::{AgentSignal, Delivery, Event, ProblemKind, Record, SteeringId, StopReason, Usage};

use crate::{
    agents_loop::{assert_done, in_order, plan_one_task, ralph, stopped, work_on},
    harness::{
        Program, SOON, Sandbox,
        agent::{Agent, each_live_agent},
        events,
    },
    stand_in::{Scenario, StandIn, Step, http, log::Request, say, shell},
};

fn live(agent: Agent, sandbox: &Sandbox) -> Program {
    ralph(agent, sandbox).args(["--channel", "live"])
}

fn a_tool_runs(event: &Event) -> bool {
    matches!(
        event,
        Event::AgentReported {
            signal: AgentSignal::ToolStarted { .. },
            ..
        }
    )
}

fn steer(sandbox: &Sandbox, text: &str) {
    let steered = sandbox.ralph(["steer", "--now", text]).run(SOON);
    assert_eq!(steered.code(), Some(0), "{}", steered.stderr);
}

/// The messages that were delivered, each with how that was.
fn deliveries(records: &[Record]) -> Vec<(u32, Delivery)> {
    events(records)
        .filter_map(|event| match event {
            Event::SteeringDelivered {
                id: SteeringId(id),
                how,
                ..
            } => Some((*id, *how)),
            _ => None,
        })
        .collect()
}

#[test]
fn an_adapter_of_your_own_with_nothing_but_a_live_channel_works_a_plan_off() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let Some(sandbox) = Agent::Opencode.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let reference = include_str!("../adapters/README.md");
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

/// A plan is worked off, in two sessions.
fn a_message_reaches_the_turn_that_runs(agent: Agent) {
    let [work, done] = work_on("hello");
    let waits = shell("while [ ! -e go ]; do sleep 0.05; done; rm go");
    let model = StandIn::start(in_order([&[waits.into(), work, done], &work_on("world")]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let running = live(agent, &sandbox).start();
    running.wait_for_record(SOON, a_tool_runs);
    steer(&sandbox, "Use British spelling.");
    sandbox.write("go", "");
    let finished = running.wait(SOON);
    assert_done(&finished, 2, 2);
    sandbox.assert_nothing_runs();
    assert_eq!(deliveries(&finished.records()), [(1, Delivery::Live)]);
    let requests = model.main_requests();
    assert_eq!(requests.len(), 5);
    assert_first_task(&requests);
    let has_it = |request: &Request| request.body.to_string().contains("Use British spelling.");
    assert_eq!(
        requests.iter().position(has_it),
        Some(1),
        "the request after the tool has it"
    );
}

#[track_caller]
fn assert_first_task(requests: &[Request]) {
    let prompt = requests[0].prompt();
    assert!(prompt.contains("Write hello.txt"), "{prompt}");
}

each_live_agent!(a_message_reaches_the_turn_that_runs: claude Claude, codex Codex, opencode Opencode);

/// gemini would end its turn for a message. A plan is worked off, in two sessions.
fn a_message_waits_for_the_next_prompt_where_the_turn_takes_none(agent: Agent) {
    let [work, done] = work_on("hello");
    let waits = shell("while [ ! -e go ]; do sleep 0.05; done; rm go");
    let model = StandIn::start(in_order([&[waits.into(), work, done], &work_on("world")]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let running = live(agent, &sandbox).start();
    running.wait_for_record(SOON, a_tool_runs);
    let steered = sandbox.ralph(["steer", "Use British spelling."]).run(SOON);
    assert_eq!(steered.code(), Some(0), "{}", steered.stderr);
    sandbox.write("go", "");
    let finished = running.wait(SOON);
    assert_done(&finished, 2, 2);
    sandbox.assert_nothing_runs();
    assert_eq!(deliveries(&finished.records()), [(1, Delivery::Prompt)]);
    let requests = model.main_requests();
    assert_eq!(requests.len(), 5);
    assert_first_task(&requests);
    let first = requests
        .iter()
        .position(|request| request.body.to_string().contains("Use British spelling."));
    assert_eq!(first, Some(3), "the turn was not disturbed");
}

each_live_agent!(a_message_waits_for_the_next_prompt_where_the_turn_takes_none: gemini Gemini);

/// What each of two iterations used, as its agent told.
fn used(records: &[Record]) -> [Usage; 2] {
    [1, 2].map(|wanted| {
        let told = events(records).filter_map(|event| match event {
            Event::AgentReported {
                iteration,
                signal: AgentSignal::Usage { usage },
            } if *iteration == wanted => Some(*usage),
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

// gemini cannot continue a session there, and opencode does not tell what the whole turn used.
each_live_agent!(a_session_is_continued_and_each_turn_counts_for_itself: claude Claude, codex Codex);

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

each_live_agent!(a_refused_key_ends_the_run);

/// Fifty messages, each sent about when the turn says its last word.
fn messages_at_the_very_end_of_a_turn_are_neither_lost_nor_doubled(agent: Agent) {
    const MESSAGES: u32 = 50;
    // The answer comes from just before the message is there to just after.
    let ends =
        (0..1000_u64).map(|turn| Step::from(say("So far, so good.")).after(Duration::from_millis(turn % 10 * 5)));
    let model = StandIn::start(ends.fold(Scenario::new(), Scenario::then));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let running = live(agent, &sandbox).args(["--max-iterations", "200"]).start();
    for message in 1..=MESSAGES {
        model.wait_for_request(model.main_requests().len().max(1), SOON);
        steer(&sandbox, &format!("message-{message}-of-fifty"));
    }
    // A message that comes while an answer is written has codex throw that answer away and ask again.
    running.wait_for_record(
        SOON,
        |event| matches!(event, Event::SteeringDelivered { id, .. } if *id == SteeringId(MESSAGES)),
    );
    let [work, done] = work_on("hello");
    model.play(in_order([&[work, done]]));
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    let mut delivered: Vec<_> = deliveries(&finished.records()).into_iter().map(|(id, _)| id).collect();
    delivered.sort_unstable();
    assert_eq!(delivered, (1..=MESSAGES).collect::<Vec<_>>(), "each is delivered once");
    let requests = model.main_requests();
    for message in 1..=MESSAGES {
        let text = format!("message-{message}-of-fifty");
        let most = requests
            .iter()
            .map(|request| request.body.to_string().matches(&text).count())
            .max();
        assert_eq!(most, Some(1), "{text} reaches the model, and never twice");
    }
}

// The others take seconds to start, and this starts them many times.
each_live_agent!(messages_at_the_very_end_of_a_turn_are_neither_lost_nor_doubled: claude Claude, codex Codex);
