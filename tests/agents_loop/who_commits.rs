//! What an agent commits is the user's, also where the agent keeps the user's git configuration from its tools.

use super::{PATIENCE, assert_done, in_order, plan_one_task, ralph, work_on};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::{StandIn, shell},
};

fn scenario(agent: Agent) {
    let elsewhere = "git init --quiet ../elsewhere && cd ../elsewhere && git config user.name Other && \
                     git config user.email other@example.invalid && git commit --quiet --allow-empty --message Theirs";
    let model = StandIn::start(in_order([&[shell(elsewhere).into()], &work_on("hello")]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    assert_done(&ralph(agent, &sandbox).run(PATIENCE), 1, 1);
    let who = "--format=%s: %an <%ae>, %cn <%ce>";
    assert_eq!(
        sandbox.git(["log", "-1", who]).trim(),
        "hello: Sandbox <sandbox@example.invalid>, Sandbox <sandbox@example.invalid>"
    );
    let theirs = sandbox.git(["-C", "../elsewhere", "log", "-1", who]);
    assert_eq!(
        theirs.trim(),
        "Theirs: Other <other@example.invalid>, Other <other@example.invalid>",
        "another repository has its own"
    );
}

each_agent!(scenario: codex Codex, claude Claude, gemini Gemini, opencode Opencode);
