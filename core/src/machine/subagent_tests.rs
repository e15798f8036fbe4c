//! Tests of the limits on subagents.

use crate::{
    event::{
        AgentSignal, AskId, CancelReason, Decider, Decision, LimitKind, PermissionRequest, SubagentLimits,
        SubagentReport, SubagentStart, Unanswered,
    },
    run::Phase,
};

use super::permission_tests::Loop;

/// A run whose iteration may have two subagents at once and three in all, on two levels.
fn with_subagent_limits() -> Loop {
    let mut running = Loop::running(Unanswered::Deny);
    running.state.view.settings.limits.subagents = SubagentLimits {
        at_once: Some(2),
        per_iteration: Some(3),
        depth: Some(2),
    };
    running
}

impl Loop {
    fn subagent_reported(&mut self, id: &str, parent: Option<&str>, running: bool) {
        let subagent = SubagentReport {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            title: "explore".to_owned(),
            running,
            ..SubagentReport::default()
        };
        self.signal(AgentSignal::Subagent {
            subagent: Box::new(subagent),
        });
    }

    fn asks_for_subagent(&mut self, call: &str) -> Option<Decider> {
        let request = PermissionRequest {
            call: Some(call.to_owned()),
            subagent: SubagentStart::Yes,
            ..PermissionRequest::for_shell(AskId(call.to_owned()), "explore")
        };
        self.request(request, Decision::Allow);
        let answered = self.state.view.permissions.answered.last().expect("an answer");
        (answered.allowed() == Some(false)).then(|| answered.by.clone())
    }
}

#[test]
fn an_iteration_ends_when_it_has_more_subagents_than_a_limit_allows() {
    type Report = (&'static str, Option<&'static str>, bool);
    let cases: [(&[Report], LimitKind); 3] = [
        (
            &[("1", None, true), ("2", None, true), ("3", None, true)],
            LimitKind::SubagentsAtOnce,
        ),
        (
            &[
                ("1", None, true),
                ("1", None, false),
                ("2", None, true),
                ("2", None, false),
                ("3", None, true),
                ("3", None, false),
                ("4", None, true),
            ],
            LimitKind::Subagents,
        ),
        (
            &[
                ("1", None, true),
                ("1", None, false),
                ("2", Some("1"), true),
                ("3", Some("2"), true),
            ],
            LimitKind::SubagentDepth,
        ),
    ];
    for (reports, limit) in cases {
        let mut running = with_subagent_limits();
        for (id, parent, runs) in reports {
            assert!(
                matches!(running.state.view.phase, Phase::Running { .. }),
                "{limit:?} {id}"
            );
            running.subagent_reported(id, *parent, *runs);
        }
        assert!(running.is_ended_for(CancelReason::Limit(limit)), "{limit:?}");
        running.ends();
        assert!(!running.state.view.is_over(), "{limit:?}");
    }
}

#[test]
fn a_subagent_beyond_a_limit_is_denied_to_an_agent_that_asks_and_counts_for_nothing_else() {
    let mut running = with_subagent_limits();
    assert_eq!(running.asks_for_subagent("1"), None);
    assert_eq!(running.asks_for_subagent("2"), None);
    let at_once = Decider::Limit {
        limit: LimitKind::SubagentsAtOnce,
    };
    assert_eq!(
        running.asks_for_subagent("3"),
        Some(at_once),
        "allowed ones count before they are reported"
    );
    running.subagent_reported("1", None, true);
    running.subagent_reported("1", None, false);
    assert_eq!(running.asks_for_subagent("4"), None);
    let in_all = Decider::Limit {
        limit: LimitKind::Subagents,
    };
    for call in 5..50 {
        assert_eq!(running.asks_for_subagent(&call.to_string()), Some(in_all.clone()));
    }
    assert!(matches!(running.state.view.phase, Phase::Running { .. }));
    let subagents = &running.state.view.iterations.latest().expect("an iteration").subagents;
    assert_eq!((subagents.started, subagents.running()), (3, 2));
    assert_eq!(running.state.view.permissions.denied_in_a_row, 0);
}
