//! The model, and opencode's own agent, are those that were asked for; and what an agent commits is the user's, also where
//! the agent keeps the user's git configuration from its tools.

use super::{PATIENCE, assert_done, in_order, plan_one_task, ralph, work_on};
use crate::{
    harness::{
        Sandbox,
        agent::{Agent, each_agent},
    },
    stand_in::{StandIn, shell},
};

const SCRIBE: &str = "You are the scribe of the sandbox.";

/// A repository that knows another user.
const ELSEWHERE: &str = "git init --quiet ../elsewhere && cd ../elsewhere && git config user.name Other && \
                         git config user.email other@example.invalid && \
                         git commit --quiet --allow-empty --message Theirs";

fn scenario(agent: Agent) {
    let elsewhere = [shell(ELSEWHERE).into()];
    // A server asks before anything outside of the project, and is refused.
    let elsewhere = if agent == Agent::OpencodeServer {
        &[]
    } else {
        &elsewhere[..]
    };
    let model = StandIn::start(in_order([elsewhere, &work_on("hello")]));
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
    assert_eq!(
        who_committed(&sandbox, "."),
        "hello: Sandbox <sandbox@example.invalid>, Sandbox <sandbox@example.invalid>"
    );
    if !elsewhere.is_empty() {
        assert_eq!(
            who_committed(&sandbox, "../elsewhere"),
            "Theirs: Other <other@example.invalid>, Other <other@example.invalid>",
            "another repository has its own"
        );
    }
}

/// The last commit of a repository, its author and its committer.
fn who_committed(sandbox: &Sandbox, repository: &str) -> String {
    let commit = sandbox.git(["-C", repository, "log", "-1", "--format=%s: %an <%ae>, %cn <%ce>"]);
    commit.trim().to_owned()
}

each_agent!(scenario);
