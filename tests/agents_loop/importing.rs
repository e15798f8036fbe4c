//! A real agent turns requirements into a plan.

use super::PATIENCE;
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{Scenario, StandIn, say, shell},
};

fn scenario(agent: Agent) {
    let write = "printf -- '# Plan\\n\\n- [ ] Log in and out, with tests (R1, R2)\\n' > PLAN.md && \
                 awk '!t && sub(/- \\[ \\]/, \"- [x]\") { t = 1 } { print }' ASSIGNMENT.md > A && mv A ASSIGNMENT.md";
    let model = StandIn::start(Scenario::new().then(shell(write)).then(say("Wrote the plan.")));
    let Some(sandbox) = agent.sandbox_as_installed(&model, 0) else {
        return;
    };
    sandbox.write("spec.md", "- Log in\n- Log out\n");
    let args = [
        "--adapter",
        agent.adapter(),
        "import",
        "spec.md",
        "--with-agent",
        "--yes",
    ];
    let done = sandbox.ralph(args).run(PATIENCE);
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(model.main_requests()[0].prompt().contains("ASSIGNMENT.md"));
    let plan = sandbox.read("PLAN.md").unwrap();
    assert!(plan.contains("- [ ] Log in and out, with tests (R1, R2)"), "{plan}");
    sandbox.assert_nothing_runs();
}

each_agent!(scenario: codex Codex);
