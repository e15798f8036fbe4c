//! The model, and opencode's own agent, are those that were asked for.

use super::{PATIENCE, assert_done, in_order, plan_one_task, ralph, work_on};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::StandIn,
};

const SCRIBE: &str = "You are the scribe of the sandbox.";

fn scenario(agent: Agent) {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let of_opencode = matches!(agent, Agent::Opencode | Agent::OpencodeServer);
    let run = ralph(agent, &sandbox);
    let run = if of_opencode {
        let config = format!(r#"{{ "agent": {{ "scribe": {{ "mode": "primary", "prompt": "{SCRIBE}" }} }} }}"#);
        sandbox.write("opencode.json", &config);
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "A scribe"]);
        run.args(["--model", "standin/stand-in", "--agent", "scribe"])
    } else {
        run.args(["--model", "anybody/stand-in"])
    };
    assert_done(&run.run(PATIENCE), 1, 1);
    for request in model.main_requests() {
        let named = match agent {
            Agent::Gemini => request.path.contains("/models/stand-in:"),
            Agent::Codex | Agent::Claude | Agent::Opencode | Agent::OpencodeServer => {
                request.body["model"] == "stand-in"
            }
        };
        assert!(named, "{} {}", request.path, request.body["model"]);
        assert!(
            !of_opencode || request.body.to_string().contains(SCRIBE),
            "{}",
            request.body
        );
    }
}

each_agent!(scenario);
