//! Every real agent alone against the stand-in model server, each in its own protocol.
//!
//! No guard watches the agent, so its children may outlive it by a moment, such as the shell of which codex takes a
//! snapshot.

use crate::{
    harness::{
        SOON,
        agent::{Agent, each_agent},
    },
    stand_in::{ExchangeOutcome, RequestKind, Scenario, StandIn, answer, http, say},
};

mod every_tool_works {
    use super::*;

    fn scenario(agent: Agent) {
        let model = StandIn::start(say("not asked yet"));
        let Some(sandbox) = agent.sandbox(&model, 0) else {
            return;
        };
        // claude requires absolute paths.
        let path = sandbox.project().join("by_write.txt");
        let path = path.to_str().unwrap();
        model.play(
            Scenario::new()
                .then(
                    answer()
                        .reasoning("Look first.")
                        .text("I look around.")
                        .shell("echo hello > by_shell.txt && ls"),
                )
                .then(answer().write(path, "alpha\nbeta\n"))
                .then(answer().read(path))
                .then(answer().edit(path, "alpha", "gamma"))
                .then(say("All done.")),
        );
        let finished = agent.alone(&sandbox, "Make two files.").run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert!(finished.stdout.contains("All done."), "{finished:?}");
        assert_eq!(sandbox.read("by_shell.txt").as_deref(), Some("hello\n"));
        assert_eq!(
            sandbox.read("by_write.txt").as_deref(),
            Some("gamma\nbeta\n"),
            "{finished:?}"
        );

        let requests = model.main_requests();
        assert_eq!(requests.len(), 5);
        assert!(
            requests[0].prompt().contains("Make two files."),
            "{}",
            requests[0].prompt()
        );
        assert!(
            requests[1].tool_results[0].contains("by_shell.txt"),
            "{:?}",
            requests[1].tool_results
        );
        assert!(
            requests[3].tool_results[2].contains("alpha"),
            "{:?}",
            requests[3].tool_results
        );
        let key = match agent {
            Agent::Codex | Agent::Opencode | Agent::OpencodeServer => ("authorization", "Bearer sk-stand-in"),
            Agent::Claude => ("x-api-key", "sk-ant-stand-in"),
            Agent::Gemini => ("x-goog-api-key", "stand-in"),
            agent => unreachable!("{agent:?} is not among these"),
        };
        assert_eq!(requests[0].header(key.0), Some(key.1));
        let beside: &[_] = match agent {
            // A request for the session's title.
            Agent::Opencode | Agent::OpencodeServer => &[(RequestKind::Side, "/v1/chat/completions")],
            _ => &[],
        };
        assert_answered_beside_steps(&model, beside);
        sandbox.waits_until_nothing_runs();
    }

    each_agent!(scenario: ; codex Codex, claude Claude, gemini Gemini, opencode Opencode);
}

mod a_refused_key_is_told_by_the_exit_code {
    use super::*;

    fn scenario(agent: Agent) {
        let model = StandIn::start(Scenario::from(http(401)).side(http(401)));
        let Some(sandbox) = agent.sandbox(&model, 0) else {
            return;
        };
        let finished = agent.alone(&sandbox, "Anything.").run(SOON);
        let code = match agent {
            Agent::Codex | Agent::Claude | Agent::Opencode | Agent::OpencodeServer => 1,
            // The HTTP status, truncated to an exit code.
            Agent::Gemini => 401 % 256,
            agent => unreachable!("{agent:?} is not among these"),
        };
        assert_eq!(finished.code(), Some(code), "{finished:?}");
        assert_eq!(model.main_request_count(), 1, "{finished:?}");
        sandbox.waits_until_nothing_runs();
    }

    each_agent!(scenario: ; codex Codex, claude Claude, gemini Gemini, opencode Opencode);
}

mod an_error_within_the_stream_is_repeated {
    use super::*;

    fn scenario(agent: Agent) {
        let overloaded = answer().error("overloaded_error", "too much at once (stand-in)");
        let model = StandIn::start(Scenario::new().then(overloaded).then(say("Whole.")));
        let Some(sandbox) = agent.sandbox(&model, 1) else {
            return;
        };
        let finished = agent.alone(&sandbox, "Anything.").run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert!(finished.stdout.contains("Whole."), "{finished:?}");
        assert_eq!(model.main_request_count(), 2);
    }

    each_agent!(scenario: ; codex Codex, claude Claude, gemini Gemini, opencode Opencode);
}

/// Checks that every request was answered, and that `expected` are the requests besides those that take a step.
#[track_caller]
fn assert_answered_beside_steps(model: &StandIn, expected: &[(RequestKind, &str)]) {
    // The agent may exit before the server has noted the outcome of its last request.
    let exchanges = model.wait_for(SOON, "end of every request", |exchanges| {
        exchanges
            .iter()
            .all(|exchange| exchange.outcome.is_some())
            .then(|| exchanges.to_vec())
    });
    let unanswered = exchanges
        .iter()
        .find(|exchange| exchange.outcome != Some(ExchangeOutcome::Answered));
    assert!(unanswered.is_none(), "{unanswered:?}");
    let beside: Vec<_> = exchanges
        .iter()
        .map(|exchange| (exchange.request.kind, exchange.request.path.as_str()))
        .filter(|(kind, _)| *kind != RequestKind::Main)
        .collect();
    assert_eq!(beside, expected);
}
