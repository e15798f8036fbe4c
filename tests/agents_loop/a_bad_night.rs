//! A silent model, a rate limit and a cut connection: one task is done in the end, with the requested model and agent.
//! The commits carry the user's name.

use ralph_core::event::{CancelReason, Outcome, ProblemKind};

use super::{PATIENCE, assert_done, in_order, outcomes, plan_one_task, ralph, work_on};
use crate::{
    harness::{
        Program, Sandbox,
        agent::{Agent, each_agent},
    },
    stand_in::{StandIn, http, log::ModelRequest, say, shell, silence},
};

const SCRIBE: &str = "You are the scribe of the sandbox.";

/// A repository configured for another user.
const ELSEWHERE: &str = "git init --quiet ../elsewhere && cd ../elsewhere && git config user.name Other && \
                         git config user.email other@example.invalid && \
                         git commit --quiet --allow-empty --message Theirs";

fn scenario(agent: Agent) {
    // The opencode server asks before it touches anything outside of the project, and is refused.
    let elsewhere = if agent == Agent::OpencodeServer {
        "true"
    } else {
        ELSEWHERE
    };
    let model = StandIn::start(in_order([
        &[silence()],
        &[http(429).retry_at_once().into()],
        &[shell(elsewhere).into()],
        &[say("I was about to").cut().into()],
        &work_on("hello"),
    ]));
    let Some(sandbox) = agent.sandbox(&model, 1) else {
        return;
    };
    plan_one_task(&sandbox);
    // Longer than any agent waits before a retry, or takes to start on a busy machine.
    let run = named(agent, &sandbox).args(["--idle-timeout", "20s"]);
    let finished = run.run(PATIENCE);

    let ended = outcomes(&finished.records());
    let reason = CancelReason::IdleTimeout;
    assert_eq!(ended[0], Outcome::Cancelled { reason }, "a silent model is given up");
    let is_left_to_ralph = match agent {
        // gemini waits a limit out, but does not retry once it has read the first words.
        Agent::Gemini => true,
        // kilo retries after a cut that it takes for an incomplete answer, and not after one that it takes for a lost
        // network. A busy machine decides which.
        Agent::Kilo => ended.len() == 3,
        // The agent itself retries after the limit and after the cut.
        _ => false,
    };
    if is_left_to_ralph {
        assert_done(&finished, 1, 3);
        assert!(
            matches!(&ended[1], Outcome::Failed { problem } if problem.kind == ProblemKind::Network),
            "{ended:?}"
        );
    } else {
        assert_done(&finished, 1, 2);
    }
    assert_eq!(ended.last(), Some(&Outcome::Completed));
    sandbox.assert_nothing_runs();

    let requests = model.main_requests();
    assert_eq!(requests.len(), 6);
    requests.iter().for_each(|request| assert_named(agent, request));
    assert_commits(agent, &sandbox);
}

each_agent!(
    scenario: native Native;
    codex Codex, claude Claude, gemini Gemini, opencode Opencode, opencode_server OpencodeServer,
    native_responses NativeResponses, native_messages NativeMessages, copilot Copilot, kilo Kilo, kimi Kimi, pi Pi, cline Cline
);

/// A run with a named model and, for opencode, a named agent of opencode.
fn named(agent: Agent, sandbox: &Sandbox) -> Program {
    let run = ralph(agent, sandbox);
    if !is_of_opencode(agent) {
        return run.args(["--model", model(agent)]);
    }
    let config = format!(r#"{{ "agent": {{ "scribe": {{ "mode": "primary", "prompt": "{SCRIBE}" }} }} }}"#);
    sandbox.write("opencode.json", &config);
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "A scribe"]);
    run.args(["--model", "standin/stand-in", "--agent", "scribe"])
}

/// The name of a model that the agent accepts. Most send any name to their server.
fn model(agent: Agent) -> &'static str {
    match agent {
        Agent::Kimi => "stand-in",
        Agent::Kilo | Agent::Pi => "check/stand-in",
        _ => "anybody/stand-in",
    }
}

fn is_of_opencode(agent: Agent) -> bool {
    match agent {
        Agent::Opencode | Agent::OpencodeServer => true,
        Agent::Codex | Agent::Claude | Agent::Gemini | Agent::Copilot | Agent::Kilo | Agent::Kimi => false,
        Agent::Pi | Agent::Cline | Agent::Native | Agent::NativeResponses | Agent::NativeMessages => false,
    }
}

#[track_caller]
fn assert_named(agent: Agent, request: &ModelRequest) {
    let asked = request.body["model"].as_str().unwrap_or_default();
    let model = match agent {
        Agent::Gemini => request.path.contains("/models/stand-in:"),
        // Servers of these name models as they like.
        Agent::Native | Agent::NativeResponses | Agent::NativeMessages | Agent::Cline => asked == model(agent),
        Agent::Codex | Agent::Claude | Agent::Opencode | Agent::OpencodeServer => asked == "stand-in",
        Agent::Copilot | Agent::Kilo | Agent::Kimi | Agent::Pi => asked == "stand-in",
    };
    assert!(model, "{} {}", request.path, request.body["model"]);
    assert!(
        !is_of_opencode(agent) || request.body.to_string().contains(SCRIBE),
        "{}",
        request.body
    );
}

/// Checks the author of the commits, also for an agent that hides the user's git configuration from its tools.
#[track_caller]
fn assert_commits(agent: Agent, sandbox: &Sandbox) {
    assert_eq!(
        who_committed(sandbox, "."),
        "hello: Sandbox <sandbox@example.invalid>, Sandbox <sandbox@example.invalid>"
    );
    if agent != Agent::OpencodeServer {
        assert_eq!(
            who_committed(sandbox, "../elsewhere"),
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
