//! Tests that agents changed on purpose, and which changes are accepted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Recent;
use crate::event::{
    AgentCall, AgentEvent, Ask, AskId, AskKind, ConfirmedBy, Event, GateEvent, GuardedChange, PermissionRequest,
    TestsChange, ToolKind,
};

const CONFIRMED: usize = 100;

/// Changes to tests that agents made on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedTests {
    /// The agent's reason; `None` once the user or the plan has decided.
    pub why: Option<String>,
    /// Confirmed changes, oldest first.
    pub confirmed: Recent<ConfirmedTests, CONFIRMED>,
}

/// Accepted changes to tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmedTests {
    /// The iteration after which the tests had their accepted form.
    pub iteration: u32,
    pub changes: Vec<GuardedChange>,
    pub by: ConfirmedBy,
}

/// Creates the question whether to accept changed tests.
pub fn tests_question(number: u32, iteration: u32, change: &TestsChange) -> Ask {
    let paths: BTreeSet<&str> = change.changes.iter().map(|change| &*change.path).collect();
    let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
    let title = format!("accept the changed tests? {}", paths.join(", "));
    let request = PermissionRequest {
        reason: (!change.why.is_empty()).then(|| change.why.to_string()),
        paths,
        diff: Some(change.diff.to_string()),
        ..PermissionRequest::new(AskId(String::new()), "tests", ToolKind::Other, title)
    };
    Ask {
        kind: AskKind::Tests,
        changes: change.changes.clone(),
        cut: change.cut,
        ..Ask::requested(number, iteration, request)
    }
}

impl ChangedTests {
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Agent(AgentEvent::Stated {
                tests_changed: Some(why),
                ..
            }) => self.why = Some(why.clone()),
            Event::Agent(AgentEvent::Called {
                call: AgentCall::TestsChanged { why },
                ..
            }) => self.why = Some(why.to_string()),
            Event::Gate(GateEvent::TestsConfirmed { iteration, changes, by }) => {
                self.close();
                self.confirmed.push(ConfirmedTests {
                    iteration: *iteration,
                    changes: changes.to_vec(),
                    by: by.clone(),
                });
            }
            _ => {}
        }
    }

    /// The iteration after which the tests had their accepted form; `None` for the start of the run.
    pub fn count_from(&self) -> Option<u32> {
        self.confirmed.iter().next_back().map(|confirmed| confirmed.iteration)
    }

    /// Closes the question after it was answered.
    pub(super) fn close(&mut self) {
        self.why = None;
    }
}
