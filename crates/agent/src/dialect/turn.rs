//! The state of a turn that most dialects keep, and the signals that follow from it.

use std::collections::HashMap;

use ralph_core::event::{AgentSignal, Problem, clip, clip_start};
use serde_json::Value;

use super::{
    TEXT_CAP_BYTES,
    calls::{path_in, tool_input},
    head,
    lines::UnknownReports,
    verdict,
};

/// Most calls that are remembered. Further open calls are not recorded.
const CALLS_CAP: usize = 1024;

/// The turn so far: its last message, and the tool calls that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct TurnSoFar {
    /// The last complete message of the agent itself.
    pub(super) message: Option<String>,
    calls: HashMap<String, OpenCall>,
    unknown: UnknownReports,
}

/// Data from the beginning of a call that the events of its end do not repeat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct OpenCall {
    pub(super) tool: String,
    /// The file that the call concerns, if any.
    pub(super) path: Option<String>,
    started_ms: Option<u64>,
}

impl TurnSoFar {
    /// Reports a complete message, unless it is empty.
    pub(super) fn said(&mut self, text: &str, out: &mut Vec<AgentSignal>) {
        if !text.is_empty() {
            let text = clip_start(text, TEXT_CAP_BYTES);
            self.message = Some(text.clone());
            out.push(AgentSignal::Said { text });
        }
    }

    /// Reports the beginning of a call with the arguments `input`.
    pub(super) fn tool_started(
        &mut self,
        (call, tool): (&str, &str),
        input: &Value,
        now_ms: u64,
        out: &mut Vec<AgentSignal>,
    ) {
        self.call_began((call, tool), path_in(input), now_ms);
        out.push(AgentSignal::ToolStarted {
            call: call.to_owned(),
            tool: tool.to_owned(),
            input: tool_input(input),
        });
    }

    /// Remembers a call.
    pub(super) fn call_began(&mut self, (call, tool): (&str, &str), path: Option<&str>, now_ms: u64) {
        if self.calls.len() < CALLS_CAP {
            let open = OpenCall {
                tool: tool.to_owned(),
                path: path.map(str::to_owned),
                started_ms: Some(now_ms),
            };
            self.calls.insert(call.to_owned(), open);
        }
    }

    /// Forgets a call. Returns what is known of its beginning: nothing if that was not reported.
    pub(super) fn call_ended(&mut self, call: &str) -> OpenCall {
        self.calls.remove(call).unwrap_or_default()
    }

    /// Reports the end of a call. Returns the same as `call_ended`.
    pub(super) fn tool_ended(
        &mut self,
        call: &str,
        (ok, output): (bool, &str),
        now_ms: u64,
        out: &mut Vec<AgentSignal>,
    ) -> OpenCall {
        let open = self.call_ended(call);
        out.push(AgentSignal::ToolEnded {
            call: call.to_owned(),
            tool: open.tool.clone(),
            ok,
            output: head(output),
            duration_ms: open.duration_ms(now_ms),
        });
        open
    }

    /// Reports an event of an unknown kind, once for each kind.
    pub(super) fn unknown(&mut self, kind: &str, event: &Value, out: &mut Vec<AgentSignal>) {
        self.unknown.report(kind, || format!("unknown event {event}"), out);
    }

    /// Reports the end of the turn, with its last message.
    pub(super) fn end(&mut self, problem: Option<Problem>, out: &mut Vec<AgentSignal>) {
        verdict::end(problem, self.message.take(), out);
    }
}

impl OpenCall {
    /// The duration until `ended_ms`; 0 if the clock was set back.
    pub(super) fn duration_ms(&self, ended_ms: u64) -> Option<u64> {
        Some(ended_ms.saturating_sub(self.started_ms?))
    }
}

/// Reports a thought, unless it is empty.
pub(super) fn thought(text: &str, out: &mut Vec<AgentSignal>) {
    let text = clip(text, TEXT_CAP_BYTES);
    out.extend((!text.is_empty()).then_some(AgentSignal::Thought { text }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_takes_no_time_if_the_clock_is_set_back_and_ends_once() {
        let mut turn = TurnSoFar::default();
        turn.call_began(("1", "shell"), None, 1000);
        let mut ended = |now_ms| {
            let mut out = Vec::new();
            let open = turn.tool_ended("1", (true, ""), now_ms, &mut out);
            let [AgentSignal::ToolEnded { duration_ms, tool, .. }] = &out[..] else {
                panic!("{out:?}");
            };
            assert_eq!(*tool, open.tool);
            (open.tool, *duration_ms)
        };
        assert_eq!(ended(900), ("shell".to_owned(), Some(0)));
        assert_eq!(ended(901), (String::new(), None), "it ends once");
    }
}
