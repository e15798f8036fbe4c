//! Subagents: of agents that report them, and of those that report only the tools which start them.

use std::collections::HashMap;

use ralph_core::event::{AgentSignal, SubagentReport, SubagentStart, TEXT_CAP_BYTES, Usage, clip};

/// Most subagents that are followed.
const KNOWN_CAP: usize = 4096;
/// The time between two reports on the usage of a subagent.
const USAGE_EVERY_MS: u64 = 10_000;

/// The subagents that an agent reports, by its names for them.
#[derive(Debug, Default)]
pub(super) struct FollowedSubagents {
    known: HashMap<String, FollowedSubagent>,
}

#[derive(Debug)]
struct FollowedSubagent {
    report: SubagentReport,
    told_ms: u64,
}

impl FollowedSubagents {
    pub(super) fn get(&self, name: &str) -> Option<&SubagentReport> {
        self.known.get(name).map(|found| &found.report)
    }

    /// The id of a subagent in reports.
    pub(super) fn id(&self, name: &str) -> Option<String> {
        self.get(name).map(|report| report.id.clone())
    }

    /// Follows a subagent that runs, and tells of it. Does nothing if it is known.
    pub(super) fn begin(
        &mut self,
        name: &str,
        (id, parent, title): (&str, Option<String>, &str),
        now_ms: u64,
        out: &mut Vec<AgentSignal>,
    ) {
        if name.is_empty() || self.known.contains_key(name) || self.known.len() == KNOWN_CAP {
            return;
        }
        let report = SubagentReport {
            id: id.to_owned(),
            parent,
            title: clip(title, TEXT_CAP_BYTES),
            running: true,
            usage: Usage::default(),
        };
        out.push(told(&report));
        let told_ms = now_ms;
        self.known.insert(name.to_owned(), FollowedSubagent { report, told_ms });
    }

    /// Changes what is known of a subagent, and tells of it if it is another.
    pub(super) fn change(&mut self, name: &str, out: &mut Vec<AgentSignal>, change: impl FnOnce(&mut SubagentReport)) {
        if let Some(FollowedSubagent { report, .. }) = self.known.get_mut(name) {
            let before = report.clone();
            change(report);
            if *report != before {
                out.push(told(report));
            }
        }
    }

    /// Changes the usage of a subagent, and tells of it if that was last told some time ago.
    pub(super) fn spend(
        &mut self,
        name: &str,
        now_ms: u64,
        out: &mut Vec<AgentSignal>,
        spend: impl FnOnce(Usage) -> Usage,
    ) {
        if let Some(FollowedSubagent { report, told_ms }) = self.known.get_mut(name) {
            report.usage = spend(report.usage);
            if now_ms.saturating_sub(*told_ms) >= USAGE_EVERY_MS {
                *told_ms = now_ms;
                out.push(told(report));
            }
        }
    }
}

fn told(report: &SubagentReport) -> AgentSignal {
    AgentSignal::Subagent {
        subagent: Box::new(report.clone()),
    }
}

/// The uses of the tools that start subagents.
#[derive(Debug, Default)]
pub(super) struct SubagentTools {
    /// Their names.
    pub(super) names: Vec<String>,
    /// Whether the agent reports its subagents itself.
    pub(super) are_reported: bool,
}

impl SubagentTools {
    /// Marks requests for these tools, and adds a report of the subagent to each use of them.
    pub(super) fn follow(&self, signals: Vec<AgentSignal>) -> Vec<AgentSignal> {
        if self.names.is_empty() {
            return signals;
        }
        let followed = signals.into_iter().flat_map(|mut signal| {
            if let AgentSignal::PermissionRequested { request } = &mut signal
                && request.subagent.is_no()
                && self.names.contains(&request.tool)
            {
                request.subagent = SubagentStart::Yes;
            }
            let report = self.report(&signal);
            [Some(signal), report].into_iter().flatten()
        });
        followed.collect()
    }

    fn report(&self, signal: &AgentSignal) -> Option<AgentSignal> {
        let (call, tool, title, running) = match signal {
            AgentSignal::ToolStarted { call, tool, input } if !self.are_reported => (call, tool, input.as_str(), true),
            // The agent reports no end of one that did not start.
            AgentSignal::ToolEnded { call, tool, ok, .. } if !(self.are_reported && *ok) => (call, tool, "", false),
            _ => return None,
        };
        self.names.contains(tool).then(|| {
            told(&SubagentReport {
                id: call.clone(),
                title: title.to_owned(),
                running,
                ..SubagentReport::default()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(are_reported: bool, tool: &str, ok: bool) -> Vec<(String, bool)> {
        let tools = SubagentTools {
            names: vec!["task".to_owned()],
            are_reported,
        };
        let (call, tool) = ("1".to_owned(), tool.to_owned());
        let signals = vec![
            AgentSignal::ToolStarted {
                call: call.clone(),
                tool: tool.clone(),
                input: "explore".to_owned(),
            },
            AgentSignal::ToolEnded {
                call,
                tool,
                ok,
                output: String::new(),
                duration_ms: None,
            },
        ];
        let reports = tools.follow(signals).into_iter().filter_map(|signal| match signal {
            AgentSignal::Subagent { subagent } => Some((subagent.title, subagent.running)),
            _ => None,
        });
        reports.collect()
    }

    #[test]
    fn a_tool_that_starts_subagents_stands_for_one_unless_the_agent_reports_it() {
        let (begun, over) = (("explore".to_owned(), true), (String::new(), false));
        assert_eq!(reports(false, "task", true), [begun, over.clone()]);
        assert_eq!(reports(false, "bash", true), []);
        assert_eq!(reports(true, "task", true), []);
        assert_eq!(reports(true, "task", false), [over]);
    }
}
