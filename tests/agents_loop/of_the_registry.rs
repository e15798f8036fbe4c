//! Real agents that work by their entry of the ACP registry alone: no adapter knows how they are run.

use serde_json::json;

use super::{PATIENCE, assert_done, in_order, work_on};
use crate::{
    confinement::can_be_strict,
    harness::{Program, Sandbox, agent::Agent, agents, languages},
    stand_in::{Scenario, StandIn},
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

#[test]
#[ignore = "part of the full matrix"]
fn claude_agent_acp() {
    let model = StandIn::start(plan());
    let (Some(sandbox), Some(claude)) = (sandbox(), agents::program("claude")) else {
        return;
    };
    sandbox.connect_claude(&model, 0);
    sandbox.set_variable("CLAUDE_CODE_EXECUTABLE", claude);
    // Otherwise it asks the model for the user's next prompt after each turn.
    sandbox.set_variable("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false");
    works_a_plan(&sandbox, &model, "acp:claude-acp");
}

#[test]
#[ignore = "part of the full matrix"]
fn codex_acp() {
    let model = StandIn::start(plan());
    let (Some(sandbox), Some(codex)) = (sandbox(), agents::codex()) else {
        return;
    };
    sandbox.connect_codex(&model, 0);
    sandbox.set_variable("CODEX_PATH", codex);
    works_a_plan(&sandbox, &model, "acp:codex-acp");
}

#[test]
#[ignore = "part of the full matrix"]
fn pi_acp_once_it_is_added() {
    let model = StandIn::start(plan());
    let Some(sandbox) = sandbox() else { return };
    sandbox.connect_pi(&model);
    let added = sandbox.ralph(["adapters", "add", "pi-acp", "--yes"]).run(PATIENCE);
    assert_eq!(added.code(), Some(0), "{added:?}");
    works_a_plan(&sandbox, &model, "pi-acp");
}

/// The registry does not list it, and no adapter knows where it keeps its state.
#[test]
#[ignore = "part of the full matrix"]
fn nanocoder_by_an_entry_in_a_file() {
    let model = StandIn::start(plan());
    let Some(sandbox) = sandbox() else { return };
    sandbox.connect_nanocoder(&model);
    let npx = json!({ "package": "@nanocollective/nanocoder@1.30.0", "args": ["--acp"] });
    let entry = json!({ "id": "nanocoder", "name": "Nanocoder", "version": "1.30.0", "distribution": { "npx": npx } });
    let file = sandbox.home().join("agent.json");
    std::fs::write(&file, entry.to_string()).expect("the entry");
    let args = ["adapters", "add", file.to_str().expect("a path of a test"), "--yes"];
    let added = sandbox.ralph(args).run(PATIENCE);
    assert_eq!(added.code(), Some(0), "{added:?}");
    works_a_plan(&sandbox, &model, "nanocoder");
}

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
