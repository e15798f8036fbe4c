//! Every real agent by itself against the stand-in model server, each in its own protocol.

use crate::{
    harness::{
        SOON, Sandbox,
        agent::{Agent, each_agent},
    },
    stand_in::{Kind, Outcome, Scenario, StandIn, answer, say},
};

mod every_tool_works {
    use super::*;

    fn scenario(agent: Agent) {
        let model = StandIn::start(say("not asked yet"));
        let Some(sandbox) = agent.sandbox(&model, 0) else {
            return;
        };
        // claude wants whole paths.
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
        assert_all_answered(&model);
        sandbox.assert_nothing_runs();
    }

    each_agent!(scenario);
}

fn assert_all_answered(model: &StandIn) {
    for exchange in model.exchanges() {
        let seen = &exchange.request;
        eprintln!(
            "{:?} {} {} {:?} {:?}",
            seen.kind, seen.method, seen.path, seen.tools, exchange.outcome
        );
    }
}
