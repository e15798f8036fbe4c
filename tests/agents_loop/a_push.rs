//! A plan with commits and a push over ssh, worked in the sandbox that is on by default: the first push is refused, and
//! the setting that the refusal names is all that the next one needs.

use super::{PATIENCE, in_order, outcomes, ralph, stopped, work_on};
use crate::{
    confinement::{
        has_landlock,
        ssh::{SshOrigin, refused_sockets},
    },
    harness::agent::{Agent, each_agent},
    stand_in::{StandIn, Step, say, shell},
};

/// A task whose work is committed and pushed.
fn pushed(name: &str) -> [Step; 3] {
    let [work, _] = work_on(name);
    [
        work,
        shell("git push --quiet origin HEAD:refs/heads/made").into(),
        say("Pushed.").into(),
    ]
}

fn scenario(agent: Agent) {
    let model = StandIn::start(in_order([&pushed("hello"), &pushed("world")]));
    let Some(sandbox) = agent.sandbox_as_installed(&model, 0) else {
        return;
    };
    let Some(origin) = has_landlock(&sandbox).then(|| SshOrigin::serve(&sandbox)).flatten() else {
        return;
    };
    let run = |sockets: &str, tasks: u32| {
        let finished = origin
            .known_to(ralph(agent, &sandbox), sockets)
            .args(["--max-iterations", "1"])
            .run(PATIENCE);
        let (reason, _, totals) = stopped(&finished);
        assert_eq!(
            totals.tasks_done,
            tasks,
            "{reason:?}: {:?}",
            outcomes(&finished.records())
        );
        finished.records()
    };
    let refused = run("", 1);
    assert_eq!(
        refused_sockets(&refused),
        ["ssh-agent"],
        "{}",
        serde_json::to_string(&refused).unwrap()
    );
    assert_eq!(origin.commit("made"), None);

    let granted = run("ssh-agent", 2);
    assert!(refused_sockets(&granted).is_empty(), "{granted:#?}");
    let head = sandbox.git(["rev-parse", "HEAD"]);
    assert_eq!(origin.commit("made").as_deref().map(str::trim), Some(head.trim()));
    sandbox.assert_clean();
    sandbox.assert_nothing_runs();
}

each_agent!(scenario);
