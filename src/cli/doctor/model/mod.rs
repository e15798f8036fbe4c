//! The findings of `ralph doctor`, as text for people and as JSON: whether ralph can run here, and what to type if not.
//!
//! A [`FindingState::Fatal`] finding stops every run; a missing agent that is not configured does not.

mod text;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::error::Failure;

pub(super) use text::CheckupText;

/// All findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Checkup {
    /// The version of ralph.
    pub version: &'static str,
    /// The directory that a run would work in.
    pub project: String,
    pub sections: Vec<DoctorSection>,
}

/// Findings about one topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DoctorSection {
    pub title: &'static str,
    pub findings: Vec<DoctorFinding>,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DoctorFinding {
    pub name: String,
    pub state: FindingState,
    pub text: String,
    /// The next steps: a sentence or a command each.
    pub todo: Vec<String>,
    /// Further details, for programs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<&'static str, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingState {
    Good,
    /// Missing, but not needed.
    Absent,
    /// Works, but not as well as it could; or may fail later.
    Weak,
    /// No run can start.
    Fatal(Fatal),
}

/// Serialised as its name alone; the exit code says the kind of a fatal one.
impl Serialize for FindingState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            FindingState::Good => "good",
            FindingState::Absent => "absent",
            FindingState::Weak => "weak",
            FindingState::Fatal(_) => "fatal",
        })
    }
}

/// Why ralph cannot run. The smallest of several chooses the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fatal {
    Configuration,
    Agent,
    Machine,
}

impl DoctorFinding {
    pub(super) fn new(name: impl Into<String>, state: FindingState, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            state,
            text: text.into(),
            todo: Vec::new(),
            details: BTreeMap::new(),
        }
    }

    /// The finding for an error that would end a run.
    pub(super) fn fatal(name: &str, why: Fatal, failure: &Failure) -> Self {
        Self::new(name, FindingState::Fatal(why), failure.message.as_str()).todos(failure.hints.iter().cloned())
    }

    #[must_use]
    pub(super) fn todo(mut self, todo: impl Into<String>) -> Self {
        self.todo.push(todo.into());
        self
    }

    #[must_use]
    pub(super) fn todos(mut self, todos: impl IntoIterator<Item = String>) -> Self {
        self.todo.extend(todos);
        self
    }

    #[must_use]
    pub(super) fn detail(mut self, name: &'static str, value: Option<String>) -> Self {
        self.details.extend(value.map(|value| (name, value)));
        self
    }
}

impl Checkup {
    /// The reason why ralph cannot run here, `None` if it can.
    pub(super) fn fatal(&self) -> Option<Fatal> {
        let states = self.findings().map(|finding| finding.state);
        states
            .filter_map(|state| match state {
                FindingState::Fatal(why) => Some(why),
                FindingState::Good | FindingState::Absent | FindingState::Weak => None,
            })
            .min()
    }

    fn findings(&self) -> impl Iterator<Item = &DoctorFinding> {
        self.sections.iter().flat_map(|section| &section.findings)
    }
}

/// The checkup as one JSON object, with an additional `canRun`.
pub(super) fn json(checkup: &Checkup) -> serde_json::Value {
    let mut value = serde_json::to_value(checkup).expect("a checkup has no failing serialisers");
    value["canRun"] = checkup.fatal().is_none().into();
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkup(states: &[FindingState]) -> Checkup {
        let findings = states
            .iter()
            .map(|state| DoctorFinding::new("x", *state, "y"))
            .collect();
        Checkup {
            version: "0.0.0",
            project: "/p".to_owned(),
            sections: vec![DoctorSection { title: "all", findings }],
        }
    }

    #[test]
    fn only_what_is_fatal_keeps_ralph_from_running_and_a_broken_configuration_comes_first() {
        assert_eq!(
            checkup(&[FindingState::Good, FindingState::Absent, FindingState::Weak]).fatal(),
            None
        );
        let fatal = [Fatal::Machine, Fatal::Configuration, Fatal::Agent].map(FindingState::Fatal);
        assert_eq!(checkup(&fatal).fatal(), Some(Fatal::Configuration));
    }

    #[test]
    fn programs_read_states_by_name() {
        let json = json(&checkup(&[FindingState::Weak, FindingState::Fatal(Fatal::Agent)]));
        assert_eq!(json["canRun"], false);
        assert_eq!(json["sections"][0]["findings"][0]["state"], "weak");
        assert_eq!(json["sections"][0]["findings"][1]["state"], "fatal");
    }
}
