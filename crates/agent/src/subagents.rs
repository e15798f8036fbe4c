//! Subagents of agents that report only the tools which start them.

use ralph_core::event::{AgentSignal, SubagentReport, SubagentStart};

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
        self.names.contains(tool).then(|| AgentSignal::Subagent {
            subagent: Box::new(SubagentReport {
                id: call.clone(),
                title: title.to_owned(),
                running,
                ..SubagentReport::default()
            }),
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
