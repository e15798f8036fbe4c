//! Real agents that work by their entry of the ACP registry alone: no adapter knows how they are run.

use nix::sys::signal::Signal;
use ralph_core::event::{ProblemKind, StopReason};

use super::{PATIENCE, assert_done, in_order, stopped, work_on};
use crate::{
    confinement::can_be_strict,
    harness::{Program, Sandbox, agent::Agent, agents, languages, wait_until},
    registry::written_adapter,
    stand_in::{Scenario, StandIn, http, say, shell},
};

const PACKAGE: &str = include_str!("../agents/registry/package.json");

/// A sandbox with the agents of [`PACKAGE`] and a Node that they run with.
fn sandbox() -> Option<Sandbox> {
    let mut sandbox = Sandbox::outside_of_tmp();
    let installed = languages::lean_node_modules(PACKAGE)?;
    sandbox.add_agent(&installed.join("node_modules/.bin/pi-acp"));
    // Its directory has Node 22 as well.
    sandbox.add_agent(&agents::program("pi")?);
    Some(sandbox)
}

/// The real ralph with the adapter `id`, confined as strictly as this machine can.
fn ralph(sandbox: &Sandbox, model: &StandIn, id: &str) -> Program {
    let mode = if can_be_strict(sandbox) { "strict" } else { "on" };
    let args = ["--adapter", id, "--headless", "--format", "jsonl", "--sandbox", mode];
    let host = model.origin().replace("http://", "");
    sandbox
        .ralph(args)
        .env("RALPH_BACKOFF_BASE", "10ms")
        .env("RALPH_SANDBOX_HOSTS", host)
}

/// Two tasks, each in a session of its own.
fn plan() -> Scenario {
    in_order([&work_on("hello"), &work_on("world")])
}

#[track_caller]
fn works_a_plan(sandbox: &Sandbox, model: &StandIn, id: &str) {
    let finished = ralph(sandbox, model, id).run(PATIENCE);
    assert_done(&finished, 2, 2);
    assert_eq!(sandbox.commits(), 3, "one commit for each task");
    assert_eq!(sandbox.read("hello.txt").as_deref(), Some("hello\n"));
    assert_eq!(sandbox.read("world.txt").as_deref(), Some("world\n"));
    assert_eq!(model.main_requests().len(), 4);
    sandbox.assert_nothing_runs();
}

fn claude(model: &StandIn) -> Option<(Sandbox, &'static str)> {
    let sandbox = sandbox()?;
    sandbox.connect_claude(model, 0);
    sandbox.set_variable("CLAUDE_CODE_EXECUTABLE", agents::program("claude")?);
    // Otherwise it asks the model for the user's next prompt after each turn.
    sandbox.set_variable("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false");
    Some((sandbox, "acp:claude-acp"))
}

fn codex(model: &StandIn) -> Option<(Sandbox, &'static str)> {
    let sandbox = sandbox()?;
    sandbox.connect_codex(model, 0);
    sandbox.set_variable("CODEX_PATH", agents::codex()?);
    Some((sandbox, "acp:codex-acp"))
}

fn pi(model: &StandIn) -> Option<(Sandbox, &'static str)> {
    let sandbox = sandbox()?;
    sandbox.connect_pi(model);
    let added = sandbox.ralph(["adapters", "add", "pi-acp", "--yes"]).run(PATIENCE);
    assert_eq!(added.code(), Some(0), "{added:?}");
    Some((sandbox, "pi-acp"))
}

/// The registry does not list it, and no adapter of ralph's knows where it keeps its state: the adapter is written by hand.
fn nanocoder(model: &StandIn) -> Option<(Sandbox, &'static str)> {
    let sandbox = sandbox()?;
    sandbox.connect_nanocoder(model);
    let file = sandbox.config().join("ralph/adapters/nanocoder.toml");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("the directory");
    std::fs::write(&file, written_adapter()).expect("the adapter");
    Some((sandbox, "nanocoder"))
}

/// A sandbox with an agent that uses the model, and the id of its adapter.
type Prepare = fn(&StandIn) -> Option<(Sandbox, &'static str)>;

/// Makes a test of a scenario for each of these agents.
macro_rules! each {
    ($scenario:ident: $($agent:ident),+) => {
        mod $scenario {
            $(
                #[test]
                #[ignore = "part of the full matrix"]
                fn $agent() {
                    super::$scenario(super::$agent);
                }
            )+
        }
    };
}

fn a_plan(agent: Prepare) {
    let model = StandIn::start(plan());
    let Some((sandbox, id)) = agent(&model) else { return };
    works_a_plan(&sandbox, &model, id);
}

each!(a_plan: claude, codex, nanocoder, pi);

fn a_refused_key(agent: Prepare) {
    let model = StandIn::start(Scenario::from(http(401)).side(http(401)));
    let Some((sandbox, id)) = agent(&model) else { return };
    let finished = ralph(&sandbox, &model, id).run(PATIENCE);
    let (reason, _, totals) = stopped(&finished);
    assert!(
        matches!(&reason, StopReason::AgentFailed { problem, .. } if problem.kind == ProblemKind::Auth),
        "{reason:?}"
    );
    assert_eq!(totals.iterations, 1);
    sandbox.assert_nothing_runs();
}

// pi ends the turn as if it had succeeded.
each!(a_refused_key: claude, codex, nanocoder);

fn an_interrupt(agent: Prepare) {
    let model = StandIn::start(
        Scenario::new()
            .then(shell("echo begun && sleep 300"))
            .then(say("Slept.")),
    );
    let Some((sandbox, id)) = agent(&model) else { return };
    let running = ralph(&sandbox, &model, id).start();
    let sleeps = || {
        let mut processes = sandbox.processes().into_iter();
        processes.find(|process| process.command == "sleep 300")
    };
    wait_until(PATIENCE, "tool call", sleeps);
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait(PATIENCE).code(), Some(130));
    sandbox.assert_nothing_runs();
}

each!(an_interrupt: claude, codex, nanocoder, pi);

/// Agents that ralph has adapters for, by their entries.
fn by_its_entry(agent: Agent, entry: &str) {
    let model = StandIn::start(plan());
    let Some(sandbox) = agent.sandbox_as_installed(&model, 0) else {
        return;
    };
    works_a_plan(&sandbox, &model, entry);
}

#[test]
#[ignore = "part of the full matrix"]
fn copilot() {
    by_its_entry(Agent::Copilot, "acp:github-copilot-cli");
}

#[test]
#[ignore = "part of the full matrix"]
fn gemini() {
    by_its_entry(Agent::Gemini, "acp:gemini");
}

#[test]
#[ignore = "part of the full matrix"]
fn kilo() {
    by_its_entry(Agent::Kilo, "acp:kilo");
}

#[test]
#[ignore = "part of the full matrix"]
fn kimi() {
    by_its_entry(Agent::Kimi, "acp:kimi");
}

#[test]
#[ignore = "part of the full matrix"]
fn opencode() {
    by_its_entry(Agent::Opencode, "acp:opencode");
}
